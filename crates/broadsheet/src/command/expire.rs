//! `broadsheet expire`

use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use expire::{Archiving, Explist, Order, Tables};
use settings::Read;

use crate::command::init;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::{archive_report, expiry_report};

/// The table.
pub static COMMAND: Command = Command {
    words: &["expire"],
    also: &["doexpire"],
    summary: "remove articles that are old enough to go",
    about: "\
Goes by the [[expire]] tables of broadsheet.toml, or, without any, by `explist' (or CTLFILE), as C
News did. Decides without looking at what is kept; rnews and readers go on meanwhile. Without a
policy that covers every group nothing is removed.

With [expiry] keep_free or max_size in broadsheet.toml more goes when the disk is too full: all lives are shortened by the
same factor, the largest that gives enough, but never below the least life of a rule. What `never' goes stays.

The table at the end counts an article once, when it leaves the last of its groups, in the hierarchy of the first group it
still was in; links are articles counted in each group. `oldest kept' is the arrival of the oldest article that stays in
the hierarchy.

What goes from a group whose rule names an archive is copied there first: to files as in a classic
spool, or, with archive = \"segments\", into a second news directory. What cannot be copied stays, and
after three failures everything that should be archived does; see docs/operations.md.",
    operands: Operands {
        shown: "[CTLFILE]",
        least: 0,
        most: 1,
    },
    flags: FLAGS,
    exits: EXITS,
    run,
};

/// The flags, of `expire-if-low` too.
pub const FLAGS: &[Flag] = &[
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
        "Remove even more than [expiry] max_fraction of all links.",
    ),
    Flag::new(
        "what-if",
        "Print what would go by this policy file, beside what would go by the one in force, and remove nothing.",
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
        't',
        "trace",
        "Print each removal on standard error, `copy N DIR ; remove N' or `remove N', and remove nothing.",
    ),
    Flag::classic('v', "verbose", "Print counters on standard error at the end."),
    Flag::classic(
        'l',
        "leader-last",
        "Changes nothing: no name of an article leads the others here.",
    ),
    Flag::classic('r', "no-rebuild", "Changes nothing: history is not rewritten."),
    Flag::classic(
        'p',
        "print-index",
        "Print a line for each archived copy: path, id, date of arrival, subject, a tab between them.",
    ),
    Flag::new(
        "hold",
        "Hold what should be archived: it stays, and nothing is copied. (C News said -h.)",
    ),
    Flag::classic(
        'g',
        "complain",
        "Tell of each article whose Expires cannot be read, on standard error; the default life counts for it.",
    ),
];

/// What it may end with.
pub const EXITS: &[Meaning] = &[
    Meaning {
        status: Status::NO,
        when: "what could go went, but more space was asked for",
    },
    Meaning {
        status: Status::ATTENTION,
        when: "something could not be archived and stays, or needs attention otherwise: the message says what",
    },
];

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let file = given.operands.first().map(|file| file.as_os_str());
    carry_out(given, file, 0, out)
}

/// Expire by a policy file, or by the policy in force; at least so many bytes are to be free after it.
pub fn carry_out(
    given: &Given,
    file: Option<&OsStr>,
    free_bytes_least: u64,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let Read {
        settings, expiry, ..
    } = directory.settings()?;
    let tables = expiry?;
    let options = settings.store_options();
    let what_if = given.value("what-if");
    let list = policy(given, what_if.or(file), &directory, &tables)?;
    let mut space = tables.space;
    if given.has("check") {
        let (policy, warnings) = expire::Policy::compile(list, &directory.active()?)?;
        for warning in warnings {
            eprintln!("broadsheet: {warning}");
        }
        return Ok(archive_report::faults(&expire::archiving::unusable(
            &policy,
            directory.root(),
        )));
    }
    if free_bytes_least > 0 {
        space.keep_free = Some(space.keep_free.unwrap_or(0).max(free_bytes_least));
    }
    let now = match given.number("now")? {
        Some(now) => {
            i64::try_from(now).map_err(|_| given.usage(format!("--now wants a time, not {now}")))?
        }
        None => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |age| age.as_secs() as i64),
    };
    let order = Order {
        now,
        dry: given.has("dry-run") || what_if.is_some(),
        trace: given.has("trace"),
        force: given.has("force"),
        space,
        room: None,
        options,
    };
    let hold = given.has("hold");
    let make = |root: &Path, active: &[u8]| Ok(init::make_archive(root, &settings, active)?);
    let archiving = Archiving {
        hold,
        make: &make,
        index: given.has("print-index").then_some(&mut *out),
    };
    let outcome = expire::run(directory.root(), list, &order, archiving)?;
    if given.has("complain") {
        expiry_report::complain(&outcome.plan.unreadable)?;
    }
    let json = given.has("json");
    if order.trace {
        let mut told = BufWriter::new(std::io::stderr());
        for removal in &outcome.removals {
            writeln!(told, "{removal}")?;
        }
        told.flush()?;
    } else if what_if.is_some() {
        let in_force = policy(given, file, &directory, &tables).and_then(|list| {
            let archiving = Archiving {
                hold,
                make: &make,
                index: None,
            };
            Ok(expire::run(directory.root(), list, &order, archiving)?)
        });
        match in_force {
            Ok(in_force) => expiry_report::compare(&in_force, &outcome, json, out)?,
            Err(error) => {
                eprintln!("broadsheet: there is no policy in force to compare with: {error:#}");
                expiry_report::tell(&outcome, true, json, out)?;
            }
        }
    } else {
        expiry_report::tell(&outcome, order.dry, json, out)?;
    }
    if given.has("verbose") {
        expiry_report::count(&outcome);
    }
    let missing = outcome.shortage.is_some_and(|told| told.missing > 0);
    let archived = archive_report::faults(&outcome.archived.faults);
    Ok(match outcome.reclaimed.faults.is_empty() {
        true if archived != Status::OK => archived,
        false => Status::ATTENTION,
        true if missing => Status::NO,
        true => Status::OK,
    })
}

/// The policy in force: a file that was named, the tables of broadsheet.toml, or explist, the first of these that is there.
fn policy(
    given: &Given,
    named: Option<&OsStr>,
    directory: &NewsDirectory,
    tables: &Tables,
) -> anyhow::Result<Explist> {
    let archive = given.value("archive").map(|path| path.as_encoded_bytes());
    Ok(match named {
        Some(file) => Explist::read(Path::new(file), archive)?,
        None if tables.rules.is_empty() => Explist::read(&directory.file("explist"), archive)?,
        None => {
            let file = directory.file(settings::FILE);
            tables.explist(&file.display().to_string(), archive)?
        }
    })
}
