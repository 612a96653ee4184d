//! What expire did or would do, for people and for programs.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use expire::{Lifetime, RemovalCount, RunReport, Shortage, UnreadableExpires};
use report::day::Day;
use report::figures::{self, ExpireFigures, Figures};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::archive_report;
use crate::directory::NewsDirectory;
use crate::terminal::Output;
use crate::text::{rough_bytes, utc};

/// Lines of the policy whose shortened lives are told one by one.
const SHORTENED_RULES_SHOWN: usize = 20;

/// Keeps the figures of a run for the daily report, and removes those that are older than so many days. An error is reported: no article
/// depends on it.
pub fn record(directory: &NewsDirectory, outcome: &RunReport, took: Duration, days: u64) {
    let to = relay::Now::read().seconds;
    let seconds = took.as_secs();
    let day = Day::of(to);
    let from = to.saturating_sub(i64::try_from(seconds).unwrap_or(i64::MAX));
    let total = &outcome.plan.total;
    let missing = outcome.shortage.as_ref().map(|shortage| shortage.missing);
    let problems = outcome.archived.errors.len() + outcome.reclaimed.faults.len();
    let figures = Figures {
        // A run over midnight belongs to the day of its end.
        from: from.max(day.start()),
        to,
        daemon: None,
        task: None,
        expire: Some(ExpireFigures {
            articles: total.articles,
            links: total.links,
            bytes: total.bytes,
            returned_bytes: outcome.reclaimed.bytes,
            problems: problems as u64,
            missing_bytes: missing.unwrap_or_default(),
            seconds,
        }),
    };
    let oldest = day.plus(i64::try_from(days).map_or(i64::MIN, |days| -days));
    let root = directory.root();
    let done = figures::append(root, &figures).and_then(|()| figures::remove_before(root, oldest));
    if let Err(error) = done {
        eprintln!(
            "broadsheet: {}: {error}; the daily report lacks this run",
            directory.file(figures::DIRECTORY).display()
        );
    }
}

/// How many articles go, and when the oldest of the rest came: the columns after the first.
const HEADING: &str = "  articles        bytes  oldest kept";

/// A run of expire, or what it would do.
pub struct Expired<'a> {
    /// The run.
    pub outcome: &'a RunReport,
    /// Whether it removed nothing.
    pub dry: bool,
}

impl Answer for Expired<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Expired { outcome, dry } = *self;
        write_space(outcome.shortage.as_ref(), dry, out)?;
        archive_report::tell(&outcome.archived, dry, out)?;
        let plan = &outcome.plan;
        if plan.total.links > 0 {
            writeln!(out, "{:24}{HEADING}", "hierarchy")?;
            for (name, going) in plan.hierarchies.iter().filter(|(_, going)| going.links > 0) {
                let name = String::from_utf8_lossy(name);
                writeln!(out, "{name:24}{}", columns(going))?;
            }
            writeln!(out, "{:24}{}", "total", columns(&plan.total))?;
        }
        let word = if dry { "would be removed" } else { "removed" };
        let (articles, links, live) = (plan.total.articles, plan.total.links, plan.live);
        writeln!(out, "{articles} articles {word}, {links} of {live} links")?;
        let freed = &outcome.reclaimed;
        if freed.bytes == 0 {
            return Ok(());
        }
        writeln!(
            out,
            "{} freed: {} segments removed, {} rewritten, {} holes",
            rough_bytes(freed.bytes),
            freed.segments,
            freed.repacked,
            freed.holes
        )
    }

    fn json(&self) -> Value {
        as_json(self.outcome, self.dry)
    }
}

/// Compares the policy in force with another one: what each would remove.
pub struct Comparison<'a> {
    /// By the policy in force.
    pub in_force: &'a RunReport,
    /// By the other policy.
    pub other: &'a RunReport,
}

impl Answer for Comparison<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Comparison { in_force, other } = *self;
        for (name, outcome) in [("in force", in_force), ("what-if", other)] {
            if outcome.shortage.is_some() {
                write!(out, "{name}: ")?;
                write_space(outcome.shortage.as_ref(), true, out)?;
            }
        }
        let (old, new) = (&in_force.plan.hierarchies, &other.plan.hierarchies);
        let names: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        writeln!(out, "{:24} {:10}{HEADING}", "hierarchy", "policy")?;
        for name in names {
            let old = old.get(name).copied().unwrap_or_default();
            let new = new.get(name).copied().unwrap_or_default();
            if old.links > 0 || new.links > 0 {
                beside(&String::from_utf8_lossy(name), &old, &new, out)?;
            }
        }
        beside("total", &in_force.plan.total, &other.plan.total, out)?;
        let links = |outcome: &RunReport| (outcome.plan.total.links, outcome.plan.live);
        let ((old, live), (new, _)) = (links(in_force), links(other));
        writeln!(
            out,
            "{old} of {live} links would be removed by the policy in force, {new} by the other"
        )
    }

    fn json(&self) -> Value {
        json!({ "in_force": as_json(self.in_force, true), "what_if": as_json(self.other, true) })
    }
}

/// Counters on standard error, as `expire -v` of C News gave them.
pub fn count(outcome: &RunReport) {
    let (total, live) = (&outcome.plan.total, outcome.plan.live);
    eprintln!(
        "broadsheet: {} links kept, {} removed ({} articles); {} ids in history; {} segments, {} removed",
        live.saturating_sub(total.links),
        total.links,
        total.articles,
        outcome.ids,
        outcome.segments,
        outcome.reclaimed.segments
    );
}

/// Articles whose Expires cannot be read, on standard error (`-g`).
pub fn complain(unreadable: &UnreadableExpires) -> io::Result<()> {
    let mut errors = BufWriter::new(Output::new(io::stderr(), true));
    for complaint in &unreadable.listed {
        writeln!(errors, "broadsheet: {complaint}")?;
    }
    let more = unreadable
        .count
        .saturating_sub(unreadable.listed.len() as u64);
    if more > 0 {
        writeln!(
            errors,
            "broadsheet: and {more} more articles with an unreadable Expires"
        )?;
    }
    errors.flush()
}

fn beside(
    name: &str,
    old: &RemovalCount,
    new: &RemovalCount,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{name:24} {:10}{}", "in force", columns(old))?;
    writeln!(out, "{:24} {:10}{}", "", "what-if", columns(new))?;
    if (old.articles, old.bytes) == (new.articles, new.bytes) {
        return Ok(());
    }
    let sign = |old: u64, new: u64| if new < old { "-" } else { "+" };
    let articles = format!(
        "{}{}",
        sign(old.articles, new.articles),
        old.articles.abs_diff(new.articles)
    );
    let bytes = format!(
        "{}{}",
        sign(old.bytes, new.bytes),
        rough_bytes(old.bytes.abs_diff(new.bytes))
    );
    writeln!(
        out,
        "{:24} {:10}{articles:>10} {bytes:>12}",
        "", "difference"
    )
}

fn columns(going: &RemovalCount) -> String {
    let oldest = going.oldest_kept.map_or_else(|| "-".to_owned(), utc);
    let size = rough_bytes(going.bytes);
    format!("{:>10} {size:>12}  {oldest}", going.articles)
}

/// Reports on standard error what needs attention.
pub fn warn(outcome: &RunReport) {
    for warning in &outcome.warnings {
        eprintln!("broadsheet: {warning}");
    }
    if let Some(refusal) = &outcome.refusal {
        eprintln!("broadsheet: a run without -n refuses this: {refusal}");
    }
    for fault in &outcome.reclaimed.faults {
        eprintln!("broadsheet: {fault}");
    }
    if outcome.reclaimed.no_holes {
        eprintln!(
            "broadsheet: this file system does not support holes: the space of removed articles is freed only with their whole segments"
        );
    }
    if outcome.plan.in_future > 0 {
        eprintln!(
            "broadsheet: {} articles have an arrival time in the future and stay: check whether the clock was set back",
            outcome.plan.in_future
        );
    }
    if let Some(told) = outcome.shortage.as_ref().filter(|told| told.missing > 0) {
        let why = match (told.spares_object_store, &told.refusal) {
            (_, Some(refusal)) => refusal,
            (true, None) => {
                "the oldest articles are in the object store, free nothing here, and stay: set offload.keep_local lower, and run `broadsheet segments offload'"
            }
            (false, None) => {
                "the remaining articles are younger than their lowest life, or never expire"
            }
        };
        eprintln!(
            "broadsheet: space: {} are still missing: {why}",
            rough_bytes(told.missing)
        );
    }
}

fn write_space(shortage: Option<&Shortage>, dry: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(told) = shortage else {
        return Ok(());
    };
    if told.spares_object_store || told.refusal.is_some() {
        return writeln!(
            out,
            "space: {} more needed; lives stay as they are",
            rough_bytes(told.wanted)
        );
    }
    let are = if dry { "would be" } else { "were" };
    writeln!(
        out,
        "space: {} more needed; lives {are} shortened to {:.1} %",
        rough_bytes(told.wanted),
        told.share.percent()
    )?;
    for line in told.shortened_rules.iter().take(SHORTENED_RULES_SHOWN) {
        let patterns = String::from_utf8_lossy(&line.patterns);
        writeln!(
            out,
            "space: {patterns} {} -> {}",
            days(line.from),
            days(line.to)
        )?;
    }
    let more = told
        .shortened_rules
        .len()
        .saturating_sub(SHORTENED_RULES_SHOWN);
    if more > 0 {
        writeln!(out, "space: and {more} more lines of the policy")?;
    }
    Ok(())
}

/// `9.9 days`; short lives to more places.
fn days(life: Lifetime) -> String {
    let Some(days) = days_of(life) else {
        return "never".to_owned();
    };
    let places = match days {
        whole if whole.fract() == 0.0 => 0,
        short if short < 1.0 => 3,
        _ => 1,
    };
    format!("{days:.places$} days")
}

fn days_of(life: Lifetime) -> Option<f64> {
    match life {
        Lifetime::Never => None,
        Lifetime::Seconds(seconds) => Some(seconds as f64 / expire::life::DAY_SECONDS as f64),
    }
}

fn as_json(outcome: &RunReport, dry: bool) -> Value {
    let (plan, freed, archived) = (&outcome.plan, &outcome.reclaimed, &outcome.archived);
    let ms = |took: std::time::Duration| (took.as_secs_f64() * 1e6).round() / 1e3;
    let told = plan.hierarchies.iter().filter(|(_, going)| going.links > 0);
    let by_hierarchy: serde_json::Map<String, Value> = told
        .map(|(name, going)| {
            let name = groups::escaped(name);
            (name, of_going(going))
        })
        .collect();
    let mut answer = of_going(&plan.total);
    let rest = json!({
        "dry": dry, "of_links": plan.live, "hierarchies": by_hierarchy, "in_future": plan.in_future,
        "expires_unreadable": plan.unreadable.count,
        "archived": archived.copies, "archive_failed": archived.failed, "archive_missing": archived.missing,
        "held": archived.held, "segments_removed": freed.segments, "segments_repacked": freed.repacked,
        "holes": freed.holes, "bytes_freed": freed.bytes, "bytes_held": freed.held, "faults": freed.faults,
        "decided_ms": ms(outcome.deciding), "reclaimed_ms": ms(outcome.reclaiming),
        "space": outcome.shortage.as_ref().map(of_shortage),
    });
    if let (Some(answer), Value::Object(rest)) = (answer.as_object_mut(), rest) {
        answer.extend(rest);
    }
    answer
}

fn of_going(going: &RemovalCount) -> Value {
    json!({
        "articles": going.articles, "links": going.links, "bytes": going.bytes, "oldest_kept": going.oldest_kept,
    })
}

fn of_shortage(told: &Shortage) -> Value {
    let lives: Vec<Value> = told
        .shortened_rules
        .iter()
        .map(|line| {
            json!({
                "patterns": groups::escaped(&line.patterns), "days": days_of(line.from),
                "days_left": days_of(line.to),
            })
        })
        .collect();
    json!({
        "bytes_wanted": told.wanted, "bytes_missing": told.missing,
        "lives_percent": told.share.percent(), "lives": lives, "spares_object_store": told.spares_object_store,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_told_in_days() {
        for (seconds, want) in [
            (14 * 86_400, "14 days"),
            (855_360, "9.9 days"),
            (864, "0.010 days"),
            (0, "0 days"),
        ] {
            assert_eq!(days(Lifetime::Seconds(seconds)), want);
        }
        assert_eq!(days(Lifetime::Never), "never");
    }
}
