//! `broadsheet sendbatches`, also by its classic name: makes batches of what waits for sites, and hands them over.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use feed::Sent;
use feed::batch_log::{BatchLog, Line, State};
use groups::sites::Via;
use relay::Now;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;
use feed::feeds;
use feed::serving::{Served, Serving, why_it_waits};

/// Log of batch runs.
const BATCHLOG: &str = "batchlog";

/// Where UUCP keeps its jobs.
pub const UUCP_SPOOL: Flag = Flag::new(
    "uucp-spool",
    "Directory of UUCP jobs, to count those of a site; default /var/spool/uucp.",
)
.value("DIR");

/// The longest timeout of a command, seconds.
const YEAR_SECONDS: u64 = 365 * 86_400;

/// The table.
pub static COMMAND: Command = Command {
    words: &["sendbatches"],
    also: &[],
    summary: "make batches for sites, and send them",
    about: "\
For each site that is fed in batches, or each SITE: makes batches of the waiting articles in the
size set for the site, compresses them, and passes them to the site's command or directory, until no
article waits or the site's queue is full. The settings are in the site's [[site]] table, and for
keys absent there in its line of batchparms.

An article is done when the command that got its batch exited with 0, or when the file with its
batch was on the disk. If that fails the batch is retried: the next run sends it first.

The result for each site is written to `batchlog' in the news directory, in the format of C News.",
    operands: Operands {
        shown: "SITE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic('c', "class", "Only batches of this class, a letter of batchparms. The default is the site's own class, or u.")
            .value("CLASS"),
        Flag::new("unscheduled", "Skip sites whose `via' has a schedule of its own, as the daemon does."),
        Flag::new("batches", "Send at most N batches to each site.").value("N"),
        Flag::new(
            "command-seconds",
            "Timeout of a command, instead of 3600 seconds. It is then killed, and the batch is retried later.",
        )
        .value("N"),
        UUCP_SPOOL,
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "no article waits any more, or the number of batches asked for was sent",
        },
        Meaning {
            status: Status::NO,
            when: "articles wait: a command failed, a queue or a disk is full, a site is paused or busy",
        },
        Meaning {
            status: Status::ATTENTION,
            when: "articles wait that the disk cannot read; all others were sent",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let permit = crate::cluster_feeds::may_feed(&directory, &settings)?;
    let class = match given.value("class").map(|word| word.as_bytes()) {
        None => None,
        Some([letter]) if letter.is_ascii_alphabetic() => Some(*letter),
        Some(_) => return Err(given.usage("-c needs one letter").into()),
    };
    let sites = directory.sys(&settings)?;
    let mut snapshot = directory.snapshot()?;
    crate::tell_all(feeds::introduce(directory.root(), &sites, snapshot.end())?);
    let log = BatchLog::read(&directory.file(BATCHLOG))?;
    let mut serving = Serving::new(directory.root(), &sites, Path::new(OWN_PROGRAM));
    serving.class = class;
    serving.batches_max = given.number("batches")?.unwrap_or(u64::MAX);
    if let Some(seconds) = given.number("command-seconds")? {
        if seconds > YEAR_SECONDS {
            return Err(given.usage("--command-seconds: at most a year").into());
        }
        serving.limit = Duration::from_secs(seconds).into();
    }
    if let Some(permit) = &permit {
        serving.limit = serving.limit.within(permit);
    }
    if let Some(place) = given.value("uucp-spool") {
        serving.uucp_spool = place.into();
    }
    let began = Now::read().seconds;
    serving.batchparms()?;
    let (mut status, mut lines, mut unreadable) = (Status::OK, Vec::new(), 0);
    let mut turns = Vec::new();
    for (name, site) in feeds::chosen(&sites, &given.operands)? {
        match &site.via {
            Via::Batch(via) if given.has("unscheduled") && via.schedule.is_some() => {}
            Via::Batch(via) if serving.is_of_class(site, via)? => turns.push((name, site)),
            Via::Batch(_) => {}
            other if !given.operands.is_empty() => {
                let (name, word) = (groups::shown(name), other.word());
                eprintln!("broadsheet: {name} is not fed in batches, but by {word}");
                status = Status::NO;
            }
            _ => {}
        }
    }
    let names: Vec<&[u8]> = turns.iter().map(|(name, _)| *name).collect();
    serving.plan(&names, &snapshot);
    for (name, site) in turns {
        let sent = match serving.serve(name, site, &mut snapshot) {
            Ok(Served::Sent(sent)) => sent,
            Ok(other) => {
                let why = why_it_waits(&other).unwrap_or_default();
                eprintln!("broadsheet: {}: {why}", groups::shown(name));
                status = Status::NO;
                continue;
            }
            Err(error) => {
                eprintln!("broadsheet: {}: {error}", groups::shown(name));
                status = Status::NO;
                continue;
            }
        };
        let line = Line {
            site: name.to_vec(),
            backlog: sent.backlog,
            state: State::after(&sent, log.last(name)),
        };
        let (moved, waits) = (sent.batches > 0, sent.backlog > 0);
        let batched = Batched {
            site: groups::shown(name),
            state: line.state.words(),
            why: sent.why_it_waits(),
            sent,
        };
        given.print(&batched, out)?;
        unreadable += batched.sent.unreadable;
        if batched.why.is_some() {
            status = Status::NO;
        }
        if moved || waits {
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        BatchLog::append(
            &directory.file(BATCHLOG),
            began,
            &lines,
            Now::read().seconds,
        )?;
    }
    Ok(match unreadable {
        0 => status,
        _ => Status::ATTENTION,
    })
}

/// The batches of one site; the text says nothing when there were none.
struct Batched {
    site: String,
    sent: Sent,
    /// The word for the outcome in the batch log.
    state: &'static str,
    /// The reason why articles still wait.
    why: Option<String>,
}

impl Answer for Batched {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (name, sent) = (&self.site, &self.sent);
        if sent.batches > 0 {
            let articles = text::counted(sent.articles, "article");
            let batches = text::counted(sent.batches, "batch");
            let (bytes, packed) = (
                text::rough_bytes(sent.bytes),
                text::rough_bytes(sent.packed_bytes),
            );
            writeln!(out, "{name}: {articles} in {batches}, {bytes} as {packed}")?;
        }
        if sent.oversize > 0 {
            let oversize = sent.oversize;
            writeln!(
                out,
                "{name}: {oversize} articles are larger than a batch and were sent alone"
            )?;
        }
        if let Some(why) = &self.why {
            let backlog = sent.backlog;
            eprintln!("broadsheet: {name}: about {backlog} batches wait: {why}");
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let sent = &self.sent;
        json!({
            "site": self.site,
            "batches": sent.batches,
            "articles": sent.articles,
            "bytes": sent.bytes,
            "packed_bytes": sent.packed_bytes,
            "oversize": sent.oversize,
            "backlog": sent.backlog,
            "unreadable": sent.unreadable,
            "state": self.state,
            "why": self.why,
        })
    }
}
