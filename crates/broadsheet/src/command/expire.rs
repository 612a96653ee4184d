//! `broadsheet expire`

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use expire::{Archiving, Explist, Order, Outcome, Space, Tables};

use crate::command::init;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::{settings, text};

mod archive;

/// The table.
pub static COMMAND: Command = Command {
    words: &["expire"],
    also: &["doexpire"],
    summary: "remove articles that are old enough to go",
    about: "\
Goes by the [[expire]] tables of broadsheet.toml, or, without any, by `explist' (or CTLFILE), as C
News did. Decides without looking at what is kept; rnews and readers go on meanwhile. Without a
policy that covers every group nothing is removed.

What goes from a group whose rule names an archive is copied there first: to files as in a classic
spool, or, with archive = \"segments\", into a second news directory. What cannot be copied stays, and
after three failures everything that should be archived does; see docs/operations.md.",
    operands: Operands {
        shown: "[CTLFILE]",
        least: 0,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic(
            'n',
            "dry-run",
            "Print what would go, by hierarchy, and remove nothing. (C News gave a time with -n: that is --now.)",
        ),
        Flag::new("now", "Decide as if it were this time, seconds since 1970.").value("TIME"),
        Flag::new(
            "force",
            "Remove even more than [expiry] max_fraction of all articles.",
        ),
        Flag::new(
            "what-if",
            "Print what would go by this policy file, and remove nothing.",
        )
        .value("FILE"),
        Flag::classic(
            'a',
            "archive",
            "The archive directory for `@' in the policy.",
        )
        .value("ARCHIVE"),
        Flag::classic('c', "check", "Check the policy only."),
        Flag::classic(
            'p',
            "print-index",
            "Print a line for each archived copy: path, id, date of arrival, subject, a tab between them.",
        ),
        Flag::new(
            "hold",
            "Hold what should be archived: it stays, and nothing is copied. (C News said -h.)",
        ),
        Flag::refused('t', "trace", "say -n"),
        Flag::refused(
            'l',
            "leader-last",
            "no name of an article leads the others here",
        ),
        Flag::refused('v', "verbose", "the summary is always printed"),
        Flag::refused(
            'g',
            "complain",
            "an Expires that cannot be read is told by `broadsheet explain'",
        ),
        Flag::refused('r', "no-rebuild", "history is not rewritten"),
    ],
    exits: &[Meaning {
        status: Status::ATTENTION,
        when: "something could not be archived and stays, or needs attention otherwise: the message says what",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let options = settings.store_options();
    let (list, space) = policy(given, &directory)?;
    if given.has("check") {
        let (policy, warnings) = expire::Policy::compile(list, &directory.active()?)?;
        for warning in warnings {
            eprintln!("broadsheet: {warning}");
        }
        return Ok(archive::faults(&expire::archiving::unusable(
            &policy,
            directory.root(),
        )));
    }
    let now = match given.number("now")? {
        Some(now) => i64::try_from(now)?,
        None => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |age| age.as_secs() as i64),
    };
    let order = Order {
        now,
        dry: given.has("dry-run") || given.has("what-if"),
        force: given.has("force"),
        max_fraction: space.max_fraction,
        dead_fraction: space.dead_fraction,
        options,
    };
    let archiving = Archiving {
        hold: given.has("hold"),
        make: &|root, active| Ok(init::make_archive(root, &settings, active)?),
        index: given.has("print-index").then_some(&mut *out),
    };
    let outcome = expire::run(directory.root(), list, &order, archiving)?;
    tell(&outcome, order.dry, given.has("json"), out)?;
    let archived = archive::faults(&outcome.archived.faults);
    Ok(match outcome.reclaimed.faults.is_empty() {
        true => archived,
        false => Status::ATTENTION,
    })
}

/// The policy meant: `--what-if`, CTLFILE, the tables of broadsheet.toml, or explist, the first of these that there is.
fn policy(given: &Given, directory: &NewsDirectory) -> anyhow::Result<(Explist, Space)> {
    let archive = given.value("archive").map(|path| path.as_encoded_bytes());
    let path = directory.file(settings::FILE);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.display().to_string();
    let tables = Tables::read(&text, &name)?;
    let named = given
        .value("what-if")
        .or(given.operands.first().map(|file| file.as_os_str()));
    let list = match named {
        Some(file) => Explist::read(Path::new(file), archive)?,
        None if tables.has_rules() => tables.explist(&text, &name, archive)?,
        None => Explist::read(&directory.file("explist"), archive)?,
    };
    Ok((list, tables.space()))
}

fn tell(outcome: &Outcome, dry: bool, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    for warning in &outcome.warnings {
        eprintln!("broadsheet: {warning}");
    }
    let (plan, freed) = (&outcome.plan, &outcome.reclaimed);
    let ms = |took: std::time::Duration| (took.as_secs_f64() * 1e6).round() / 1e3;
    for fault in &freed.faults {
        eprintln!("broadsheet: {fault}");
    }
    if freed.no_holes {
        eprintln!(
            "broadsheet: this file system makes no holes: long runs of dead articles wait for the rest of their segments"
        );
    }
    if json {
        let by_hierarchy: serde_json::Map<String, serde_json::Value> = plan
            .hierarchies
            .iter()
            .map(|(name, going)| {
                let told = serde_json::json!({ "articles": going.links, "bytes": going.bytes });
                (String::from_utf8_lossy(name).into_owned(), told)
            })
            .collect();
        let answer = serde_json::json!({
            "dry": dry, "articles": plan.going, "of": plan.live, "bytes": plan.bytes, "hierarchies": by_hierarchy,
            "in_future": plan.in_future, "archived": outcome.archived.copies,
            "archive_failed": outcome.archived.failed, "archive_missing": outcome.archived.missing,
            "held": outcome.archived.held, "segments_removed": freed.segments,
            "segments_repacked": freed.repacked, "holes": freed.holes, "bytes_freed": freed.bytes, "bytes_held": freed.held,
            "faults": freed.faults, "decided_ms": ms(outcome.deciding), "reclaimed_ms": ms(outcome.reclaiming),
        });
        writeln!(out, "{answer}")?;
        return Ok(());
    }
    archive::tell(&outcome.archived, dry, out)?;
    if plan.in_future > 0 {
        eprintln!(
            "broadsheet: {} articles arrived in the future and stay: was the clock set back?",
            plan.in_future
        );
    }
    for (name, going) in &plan.hierarchies {
        let size = text::rough_bytes(going.bytes);
        writeln!(
            out,
            "{:24} {:>10} {:>12}",
            String::from_utf8_lossy(name),
            going.links,
            size
        )?;
    }
    let word = if dry { "would go" } else { "gone" };
    let size = text::rough_bytes(plan.bytes);
    writeln!(
        out,
        "{} of {} articles {word} ({size}), counted in each group",
        plan.going, plan.live
    )?;
    if freed.bytes > 0 {
        writeln!(
            out,
            "{} given back: {} segments removed, {} written anew, {} holes",
            text::rough_bytes(freed.bytes),
            freed.segments,
            freed.repacked,
            freed.holes
        )?;
    }
    Ok(())
}
