//! The report of a day as text of at most about 100 columns, for a terminal or a mail.

use std::io::{self, Write};

use groups::size::rough_bytes;

use crate::daily::{DailyReport, DayRow, Neighbour, TaskRun};
use crate::day::clock;
use crate::figures::TaskFigures;
use crate::forecast::Forecast;
use crate::log_fold::Fate;

/// Lines of a list; `--html` and `--json` have more.
pub const SHOWN: usize = 20;

/// Writes the report.
///
/// # Errors
/// An error of `out`.
pub fn write(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", title(report))?;
    for line in notes(report) {
        writeln!(out, "{line}")?;
    }
    days(report, out)?;
    articles(report, out)?;
    server(report, out)?;
    readers(report, out)?;
    feeds(report, out)?;
    filing(report, out)?;
    expire(report, out)?;
    tasks(report, out)?;
    section(out, "Disk")?;
    writeln!(out, "{}", disk(report))
}

/// `News at news.example.com on 2026-11-22`.
pub fn title(report: &DailyReport) -> String {
    let site = match report.site.as_str() {
        "" => "this site",
        site => site,
    };
    if report.days.is_empty() {
        format!("News at {site} on {} (UTC)", report.day)
    } else {
        format!("News at {site} from {} (UTC)", report.day)
    }
}

/// Sentences about gaps in the report itself.
pub fn notes(report: &DailyReport) -> Vec<String> {
    let mut notes = Vec::new();
    let whole = crate::day::DAY_SECONDS.saturating_mul(report.days.len().max(1) as i64);
    let (the_day, that_day) = if report.days.is_empty() {
        ("The day", "that day")
    } else {
        ("The last day", "these days")
    };
    if report.to - report.from < whole {
        notes.push(format!(
            "{the_day} is not over: up to {}.",
            clock(report.to)
        ));
    }
    if report.articles.log_files == 0 {
        notes.push(format!(
            "No file `log' of {that_day} is there: articles by neighbour are missing."
        ));
    }
    let counted = report.counted_seconds / 60;
    if report.counted_seconds == 0 {
        notes.push(format!(
            "The daemon counted nothing {that_day}: readers, feeds and commits are missing."
        ));
    } else {
        notes.push(format!(
            "The daemon counted in {} h {} min of {}; it does not count while nothing happens.",
            counted / 60,
            counted % 60,
            if report.days.is_empty() {
                "the day"
            } else {
                that_day
            }
        ));
    }
    notes.extend(report.failed_tasks.iter().map(|failed| {
        format!(
            "The last scheduled run of {} failed ({}): its messages are in the journal, or in what the daemon prints.",
            failed.task, failed.how
        )
    }));
    notes.extend(
        report
            .problems
            .iter()
            .map(|problem| format!("Cannot read {problem}.")),
    );
    notes
}

/// The head of the table of days.
pub const DAY_COLUMNS: [&str; 7] = [
    "filed",
    "refused",
    "posted",
    "connected",
    "log",
    "expired",
    "free",
];

/// The columns of a day.
pub fn day_columns(day: &DayRow) -> Vec<String> {
    let counts = [day.filed, day.refused, day.posted, day.connected];
    let mut columns = numbers(&counts);
    columns.push(rough_bytes(day.bytes));
    columns.push(day.expired.to_string());
    columns.push(match day.free_bytes {
        0 => "-".to_owned(),
        free => rough_bytes(free),
    });
    columns
}

fn days(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.days.is_empty() {
        return Ok(());
    }
    section(out, "By day")?;
    row(out, "", &texts(&DAY_COLUMNS))?;
    for day in &report.days {
        row(out, &day.day, &day_columns(day))?;
    }
    Ok(())
}

/// The runs of backup and fsck, a line each: the time, the name and the result.
pub fn task_lines(report: &DailyReport) -> Vec<String> {
    let line = |run: &TaskRun| {
        let TaskFigures {
            name,
            result,
            seconds,
        } = &run.figures;
        let (at, took) = (report.clock(run.at), duration(*seconds));
        format!("{at}  {name}: {result}, in {took}")
    };
    report.tasks.iter().map(line).collect()
}

fn tasks(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let lines = task_lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    section(out, "Backup and fsck")?;
    for line in lines.iter().take(SHOWN) {
        writeln!(out, "{line}")?;
    }
    more(out, lines.len())
}

fn section(out: &mut dyn Write, name: &str) -> io::Result<()> {
    writeln!(out, "\n{name}\n{}", "-".repeat(name.len()))
}

/// `(others)` for the row without a name.
pub fn named(name: &str) -> &str {
    match name {
        "" => "(others)",
        name => name,
    }
}

fn row(out: &mut dyn Write, name: &str, columns: &[String]) -> io::Result<()> {
    write!(out, "{name:28}")?;
    for column in columns {
        write!(out, " {column:>9}")?;
    }
    writeln!(out)
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn numbers(counts: &[u64]) -> Vec<String> {
    counts.iter().map(u64::to_string).collect()
}

/// `and 12 more`.
fn more(out: &mut dyn Write, all: usize) -> io::Result<()> {
    match all.checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => writeln!(out, "and {more} more (--html and --json have them)"),
        None => Ok(()),
    }
}

/// The columns of a neighbour.
pub fn fates(neighbour: &Neighbour) -> Vec<u64> {
    let each = Fate::ALL.iter().map(|fate| neighbour.fate(*fate));
    [neighbour.articles].into_iter().chain(each).collect()
}

fn articles(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.articles.log_files == 0 {
        return Ok(());
    }
    section(out, "Articles by neighbour, from all sources")?;
    row(
        out,
        "",
        &texts(&["articles", "filed", "junked", "duplicate", "refused"]),
    )?;
    let count = |neighbour: &Neighbour| {
        let duplicate = neighbour.fate(Fate::Duplicate);
        numbers(&[
            neighbour.articles,
            neighbour.fate(Fate::Filed),
            neighbour.fate(Fate::Junked),
            duplicate,
            neighbour.refused() - duplicate,
        ])
    };
    let all = &report.articles.neighbours;
    for neighbour in all.iter().take(SHOWN) {
        row(out, named(&neighbour.name), &count(neighbour))?;
    }
    more(out, all.len())?;
    let total = &report.articles.total;
    let refused = Fate::ALL.iter().skip(3).filter_map(|fate| {
        let count = total.get(fate.name()).filter(|count| **count > 0)?;
        Some((*count, fate.name()))
    });
    let mut refused: Vec<(u64, &str)> = refused.collect();
    refused.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let refused: Vec<String> = refused
        .iter()
        .map(|(count, name)| format!("{name} {count}"))
        .collect();
    let sum = Neighbour {
        name: String::new(),
        articles: total.values().sum(),
        fates: total.clone(),
    };
    row(out, "total", &count(&sum))?;
    if !refused.is_empty() {
        writeln!(out, "refused by reason: {}", refused.join(", "))?;
    }
    for one in report.articles.reasons.iter().take(SHOWN) {
        writeln!(out, "{:>9}  {}", one.articles, named(&one.reason))?;
    }
    writeln!(out, "filed by hour (UTC):")?;
    for half in report.articles.hours.chunks(12) {
        let hours: Vec<String> = half
            .iter()
            .map(|[filed, _]| format!("{filed:>7}"))
            .collect();
        writeln!(out, "{}", hours.join(" "))?;
    }
    Ok(())
}

/// The columns of an access entry: their names, and the names of the counts.
pub const ENTRY_COLUMNS: &[(&str, &str)] = &[
    ("offered", "offered"),
    ("accepted", "accepted"),
    ("duplicate", "duplicates"),
    ("deferred", "deferred"),
    ("posted", "posted"),
    ("read", "articles_sent"),
];

fn server(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let nntp = &report.nntp;
    if nntp.connected + nntp.rejected == 0 {
        return Ok(());
    }
    section(out, "NNTP server, by entry of [[access]]")?;
    let columns = ENTRY_COLUMNS.iter().map(|(name, _)| *name);
    let columns: Vec<&str> = columns.chain(["refused"]).collect();
    row(out, "", &texts(&columns))?;
    for (name, counts) in nntp.entries.iter().take(SHOWN) {
        let name = if name.is_empty() { "(no entry)" } else { name };
        let count = |key: &str| counts.get(key).copied().unwrap_or_default();
        let each = ENTRY_COLUMNS.iter().map(|(_, key)| count(key));
        let each: Vec<u64> = each.chain([refused(counts)]).collect();
        row(out, name, &numbers(&each))?;
    }
    more(out, nntp.entries.len())?;
    writeln!(
        out,
        "connections {}, at most {} at the ends of the quarters of an hour, {} rejected, {} timed out; {} logins succeeded, {} failed; {} posts",
        nntp.connected,
        nntp.connections_most,
        nntp.rejected,
        nntp.timed_out,
        nntp.logins,
        nntp.logins_failed,
        nntp.posted
    )
}

/// The sum of the refusals of an entry.
pub fn refused(counts: &std::collections::BTreeMap<String, u64>) -> u64 {
    let refusals = counts
        .iter()
        .filter(|(name, _)| name.starts_with("refused_"));
    refusals.map(|(_, count)| count).sum()
}

fn readers(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let readers = &report.readers;
    if !readers.networks.is_empty() {
        section(out, "Readers by network (addresses are shortened)")?;
        row(
            out,
            "",
            &texts(&["articles", "connects", "commands", "sent"]),
        )?;
        for network in readers.networks.iter().take(SHOWN) {
            let mut columns = numbers(&[network.articles, network.connections, network.commands]);
            columns.push(rough_bytes(network.bytes));
            row(out, named(&network.name), &columns)?;
        }
        more(out, readers.networks.len())?;
    }
    if !readers.groups.is_empty() {
        section(out, "Requests by group")?;
        for group in readers.groups.iter().take(SHOWN) {
            row(out, named(&group.name), &numbers(&[group.requests]))?;
        }
        more(out, readers.groups.len())?;
    }
    Ok(())
}

fn feeds(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.feeds.is_empty() {
        return Ok(());
    }
    section(out, "Feeds to other sites, the longest lag first")?;
    let columns = [
        "lag most", "waiting", "offered", "accepted", "refused", "deferred",
    ];
    row(out, "", &texts(&columns))?;
    for feed in report.feeds.iter().take(SHOWN) {
        let figures = &feed.figures;
        let mut columns = vec![duration(feed.lag_seconds_most)];
        columns.extend(numbers(&[
            figures.waiting,
            figures.offered,
            figures.accepted,
            figures.refused,
            figures.deferred,
        ]));
        row(out, &figures.site, &columns)?;
        if !figures.why.is_empty() {
            writeln!(out, "    {}", figures.why)?;
        }
    }
    more(out, report.feeds.len())
}

fn filing(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let filing = &report.filing;
    if filing.commits > 0 {
        section(out, "Filing by the daemon")?;
        writeln!(
            out,
            "{} articles, {} in {} commits; half of them within {}, 99 % within {}",
            filing.articles,
            rough_bytes(filing.bytes),
            filing.commits,
            within(filing.p50_micros),
            within(filing.p99_micros)
        )?;
    }
    if !report.slow.is_empty() || !report.intake_closed.is_empty() {
        section(out, "Slow moments")?;
    }
    for slow in &report.slow {
        writeln!(
            out,
            "{}-{}  {} of {} commits took longer than 250 ms, the longest up to {}",
            report.clock(slow.from),
            clock(slow.to),
            slow.slow_commits,
            slow.commits,
            within(slow.within_micros)
        )?;
    }
    for closed in report.intake_closed.iter().take(SHOWN) {
        writeln!(
            out,
            "{}  the intake was {}",
            report.clock(closed.at),
            closed.state
        )?;
    }
    more(out, report.intake_closed.len())
}

fn expire(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.expire.is_empty() {
        return Ok(());
    }
    section(out, "Expire")?;
    for run in report.expire.iter().take(SHOWN) {
        let figures = &run.figures;
        write!(
            out,
            "{}  {} articles ({}) removed, {} returned to the disk, in {}",
            report.clock(run.at),
            figures.articles,
            rough_bytes(figures.bytes),
            rough_bytes(figures.returned_bytes),
            duration(figures.seconds)
        )?;
        if figures.missing_bytes > 0 {
            write!(
                out,
                "; {} still missing",
                rough_bytes(figures.missing_bytes)
            )?;
        }
        if figures.problems > 0 {
            write!(out, "; {} problems", figures.problems)?;
        }
        writeln!(out)?;
    }
    more(out, report.expire.len())
}

/// The disk and its forecast, a sentence.
pub fn disk(report: &DailyReport) -> String {
    let disk = &report.disk;
    if disk.disk_bytes == 0 {
        return "Nothing is known about the disk of that day.".to_owned();
    }
    let free = format!(
        "{} of {} free",
        rough_bytes(disk.free_bytes),
        rough_bytes(disk.disk_bytes)
    );
    match disk.forecast {
        Forecast::Unknown => format!("{free}. A forecast needs figures of three days."),
        Forecast::Steady => format!(
            "{free}. In the last {} days the free space did not shrink.",
            disk.days.len()
        ),
        Forecast::Shrinking { bytes_a_day, days } => format!(
            "{free}. If the last {} days go on ({} less a day), it is full in {days} days.",
            disk.days.len(),
            rough_bytes(bytes_a_day)
        ),
    }
}

/// A bound on a duration: `5 ms`, `10 s`.
pub fn within(micros: Option<u64>) -> String {
    match micros {
        None => "more than 10 s".to_owned(),
        Some(micros) if micros < 1_000 => format!("{} ms", micros as f64 / 1_000.0),
        Some(micros) if micros < 1_000_000 => format!("{} ms", micros / 1_000),
        Some(micros) => format!("{} s", micros as f64 / 1_000_000.0),
    }
}

/// `45 s`, `12 min`, `3 h`.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
