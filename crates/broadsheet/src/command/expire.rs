//! `broadsheet expire`

use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use expire::{Archiving, Explist, RunOptions, RunReport, SpaceLimits, Tables};
use groups::sites::{Site, Via};
use settings::{Read, Settings};

use anyhow::Context;
use inject::posts_log;

use crate::cluster_log::ClusterLog;
use crate::command::init;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::expiry_report::{Comparison, Expired};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::terminal::Output;
use crate::{archive_report, expiry_report, operand};

/// The table.
pub static COMMAND: Command = Command {
    words: &["expire"],
    also: &["doexpire"],
    summary: "remove expired articles",
    about: "\
Uses the [[expire]] tables of broadsheet.toml, or, if there are none, `explist' (or CTLFILE), as in
C News. A CTLFILE whose name ends in .toml is a whole broadsheet.toml. Expire does not read the
articles that stay, and does not block rnews and readers. If the policy does not cover every group,
nothing is removed.

With [expiry] keep_free or max_size in broadsheet.toml more articles are removed if the disk is too
full: all lives are shortened by the same factor, the largest that frees enough, but never below the
lowest life in a rule. Articles with the life `never' stay.

The table at the end counts an article once, when it leaves the last of its groups, in the hierarchy
of its first remaining group; links are articles counted in each group. `oldest kept' is the arrival
of the oldest article that stays in the hierarchy.

Articles of a group whose rule names an archive are copied there first: to files as in a C News
spool, or, with archive = \"segments\", to a second news directory. Articles that could not be copied
stay. After three failures nothing more is copied, and all articles that should be archived stay;
see docs/book/archives.md.",
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
        "Print the articles to remove, by hierarchy, and remove nothing. (In C News -n took a time: that is \
            --now.)",
    ),
    Flag::new(
        "now",
        "Use this time, in seconds since 1970, as the current time.",
    )
    .value("TIME"),
    Flag::new(
        "force",
        "Remove even more than [expiry] max_fraction of all links.",
    ),
    Flag::new(
        "what-if",
        "Compare the results of this policy file and of the policy in force, and remove nothing. FILE has the \
            form of explist, or is a whole broadsheet.toml if its name ends in .toml.",
    )
    .value("FILE"),
    Flag::classic(
        'a',
        "archive",
        "The archive directory for `@' in the policy.",
    )
    .value("ARCHIVE"),
    Flag::classic('c', "check", "Only check the policy."),
    Flag::classic(
        't',
        "trace",
        "Print each removal on standard error, `copy N DIR ; remove N' or `remove N', and remove nothing.",
    ),
    Flag::classic(
        'v',
        "verbose",
        "Print counters on standard error at the end.",
    ),
    Flag::classic(
        'l',
        "leader-last",
        "Accepted without effect: articles are not stored by name.",
    ),
    Flag::classic(
        'r',
        "no-rebuild",
        "Accepted without effect: history is not rewritten.",
    ),
    Flag::classic(
        'p',
        "print-index",
        "Print a line for each archived copy: path, id, date of arrival, subject, separated by tabs. Everything \
            else goes to standard error.",
    ),
    Flag::classic(
        'h',
        "hold",
        "Archive nothing, and keep the articles that should be archived.",
    ),
    Flag::classic(
        'g',
        "complain",
        "Report each article with an unreadable Expires on standard error; the default life applies to it.",
    ),
];

/// The exit statuses.
pub const EXITS: &[Meaning] = &[
    Meaning {
        status: Status::NO,
        when: "all expired articles were removed, but more space is needed",
    },
    Meaning {
        status: Status::ATTENTION,
        when: "an article could not be archived and stays, or another error occurred: the message says which",
    },
];

/// Tells that another program holds `lock.expire`, for which this one waits next.
pub fn tell_of_wait(root: &Path) {
    if let Err(store::Error::Locked(_)) = store::Lock::take_named(root, "lock.expire", false) {
        eprintln!(
            "broadsheet: an expire, a backup, fsck, history rebuild or a command of segments is under way: this run waits for its end"
        );
    }
}

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
    let run = Run::of(given, file, free_bytes_least)?;
    let log = ClusterLog::of(&run.directory)?;
    let (list, space) = run.policy(run.what_if.or(file))?;
    if given.has("check") {
        return run.check(list);
    }
    let order = run.order(space, log.as_ref())?;
    let removes = !order.dry && !order.trace;
    let root = run.directory.root();
    if removes {
        tell_of_wait(root);
    }
    let began = Instant::now();
    let index: Option<&mut dyn Write> = if given.has("print-index") {
        Some(&mut *out)
    } else {
        None
    };
    let outcome = run.expire(list, &order, index, log.as_ref())?;
    if removes {
        let settings = &run.settings;
        expiry_report::record(
            &run.directory,
            &outcome,
            began.elapsed(),
            settings.report.days,
        );
        posts_log::rotate(root, order.now, settings.post.log_seconds())
            .with_context(|| format!("cannot renew {}", posts_log::POSTS))?;
    }
    if given.has("complain") {
        expiry_report::complain(&outcome.plan.unreadable)?;
    }
    // Standard output is the index's.
    let mut errors = Output::new(std::io::stderr(), true);
    let out: &mut dyn Write = if given.has("print-index") {
        &mut errors
    } else {
        out
    };
    run.print(&outcome, &order, out)?;
    if given.has("verbose") {
        expiry_report::count(&outcome);
    }
    if removes && outcome.plan.total.links > 0 {
        run.serve_feeds();
    }
    Ok(status_of(&outcome))
}

/// A run of the command.
struct Run<'a> {
    given: &'a Given,
    /// The policy file of the command line.
    file: Option<&'a OsStr>,
    /// The policy file to compare with, which removes nothing.
    what_if: Option<&'a OsStr>,
    /// Free space after the run, at least, bytes.
    free_bytes_least: u64,
    directory: NewsDirectory,
    settings: Settings,
    /// The tables of expire in broadsheet.toml.
    tables: Tables,
}

impl<'a> Run<'a> {
    fn of(
        given: &'a Given,
        file: Option<&'a OsStr>,
        free_bytes_least: u64,
    ) -> anyhow::Result<Run<'a>> {
        let directory = NewsDirectory::meant(given)?;
        let Read {
            settings, expiry, ..
        } = directory.settings()?;
        Ok(Run {
            given,
            file,
            what_if: given.value("what-if"),
            free_bytes_least,
            directory,
            settings,
            tables: expiry?,
        })
    }

    fn policy(&self, named: Option<&OsStr>) -> anyhow::Result<(Explist, SpaceLimits)> {
        policy(self.given, named, &self.directory, &self.tables)
    }

    /// Checks the policy and its archives (`-c`).
    fn check(&self, list: Explist) -> anyhow::Result<Status> {
        let (policy, warnings) = expire::Policy::compile(list, &self.directory.active()?)?;
        for warning in warnings {
            eprintln!("broadsheet: {warning}");
        }
        let archives = expire::archiving::check_archives(&policy, self.directory.root());
        Ok(archive_report::faults(&archives))
    }

    fn order(
        &self,
        space: SpaceLimits,
        log: Option<&ClusterLog<'_>>,
    ) -> anyhow::Result<RunOptions> {
        let given = self.given;
        let now = match given.number("now")? {
            Some(now) => i64::try_from(now).map_err(|_| {
                given.usage(format!(
                    "--now needs a time in seconds since 1970, not {now}"
                ))
            })?,
            None => relay::Now::read().seconds,
        };
        Ok(RunOptions {
            now,
            dry: given.has("dry-run") || self.what_if.is_some(),
            trace: given.has("trace"),
            force: given.has("force"),
            space: self.with_least(space),
            disk: None,
            store: store::Options {
                follows_log: log.is_some(),
                ..self.settings.store_options()
            },
        })
    }

    fn with_least(&self, space: SpaceLimits) -> SpaceLimits {
        let least = (self.free_bytes_least > 0).then_some(self.free_bytes_least);
        SpaceLimits {
            keep_free: space.keep_free.max(least),
            ..space
        }
    }

    /// Removes the articles, or decides only. In a cluster all nodes remove them.
    fn expire(
        &self,
        list: Explist,
        order: &RunOptions,
        index: Option<&mut dyn Write>,
        log: Option<&ClusterLog<'_>>,
    ) -> anyhow::Result<RunReport> {
        let make =
            |root: &Path, active: &[u8]| Ok(init::make_archive(root, &self.settings, active)?);
        let archiving = Archiving {
            hold: self.given.has("hold"),
            make: &make,
            notice: &daemon::say,
            index: index.map(|index| index as &mut dyn Write),
        };
        let root = self.directory.root();
        Ok(match log {
            Some(log) => {
                let apply = |decision: &_| log.expire(decision);
                expire::run_with(root, list, order, archiving, &apply)?
            }
            None => expire::run(root, list, order, archiving)?,
        })
    }

    /// Prints what was removed, or would be.
    fn print(
        &self,
        outcome: &RunReport,
        order: &RunOptions,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        if order.trace {
            let mut errors = BufWriter::new(Output::new(std::io::stderr(), true));
            for removal in &outcome.removals {
                writeln!(errors, "{removal}")?;
            }
            errors.flush()?;
            return Ok(());
        }
        let in_force = self.what_if.map(|_| self.in_force(order));
        expiry_report::warn(outcome);
        match in_force {
            Some(Ok(in_force)) => {
                let (in_force, other) = (&in_force, outcome);
                self.given.print(&Comparison { in_force, other }, out)?;
                return Ok(());
            }
            Some(Err(error)) => eprintln!(
                "broadsheet: the policy in force cannot be read for the comparison: {error:#}"
            ),
            None => {}
        }
        let expired = Expired {
            outcome,
            dry: order.dry,
        };
        self.given.print(&expired, out)?;
        Ok(())
    }

    /// The same run by the policy in force, for the comparison (`--what-if`).
    fn in_force(&self, order: &RunOptions) -> anyhow::Result<RunReport> {
        let (list, space) = self.policy(self.file)?;
        let order = RunOptions {
            space: self.with_least(space),
            ..*order
        };
        self.expire(list, &order, None, None)
    }

    /// The daemon removes the files of expired articles in trees of feeds, when it gets its lock back.
    fn serve_feeds(&self) {
        let is_tree = |site: &Site| matches!(site.via, Via::Tree { .. });
        let sites = self.directory.sys(&self.settings);
        let are_trees = sites.is_ok_and(|sites| sites.feeds().any(|(_, site)| is_tree(site)));
        daemon::after_filing(self.directory.root(), OWN_PROGRAM, are_trees);
    }
}

fn status_of(outcome: &RunReport) -> Status {
    let archived = archive_report::faults(&outcome.archived.errors);
    let is_short = outcome
        .shortage
        .as_ref()
        .is_some_and(|shortage| shortage.missing > 0);
    if !outcome.reclaimed.faults.is_empty() {
        Status::ATTENTION
    } else if archived != Status::OK {
        archived
    } else if is_short {
        Status::NO
    } else {
        Status::OK
    }
}

/// Reads the policy, and the limits on space that go with it: of a file that was named, of the tables of broadsheet.toml, or of explist, the first of
/// these that is there.
fn policy(
    given: &Given,
    named: Option<&OsStr>,
    directory: &NewsDirectory,
    tables: &Tables,
) -> anyhow::Result<(Explist, SpaceLimits)> {
    let archive = given.value("archive").map(|path| path.as_encoded_bytes());
    let of_tables = |tables: &Tables, path: &Path| {
        let list = tables.explist(&path.display().to_string(), archive)?;
        Ok((list, tables.space))
    };
    let named = named.map(Path::new);
    if let Some(file) = named.filter(|file| file.extension().is_some_and(|end| end == "toml")) {
        let text = operand::read(file)?;
        let tables = Read::parse(file, text)?.expiry?;
        if tables.rules.is_empty() {
            let archive = archive.or_else(|| tables.archive_directory());
            let list = Explist::read(&directory.file("explist"), archive)?;
            return Ok((list, tables.space));
        }
        return of_tables(&tables, file);
    }
    if named.is_none() && !tables.rules.is_empty() {
        return of_tables(tables, &directory.file(settings::FILE));
    }
    let archive = archive.or_else(|| tables.archive_directory());
    let list = match named {
        Some(file) => Explist::read_named(file, archive)?,
        None => Explist::read(&directory.file("explist"), archive)?,
    };
    Ok((list, tables.space))
}
