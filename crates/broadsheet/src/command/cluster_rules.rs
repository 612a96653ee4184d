//! `broadsheet cluster rules`

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use cluster::entry::{Entry, Kind};
use cluster::jetstream::{Log, LogEvent, LogOptions};
use store::AppliedEntry;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::joining;

/// Longest wait for the servers.
const PATIENCE: Duration = Duration::from_secs(60);

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "rules"],
    also: &[],
    summary: "let the cluster decide by the settings of this node from now on",
    about: "\
All nodes of a cluster decide about articles by the same settings: the limits, the sites, control.ctl,
controlperm, the trusted keys and a few more, which `broadsheet cluster status' lists. To change one,
stop all nodes, change it on all of them, run this command on one, and start them again. A node with
other settings stops at this point of the log, and says so.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::OK,
        when: "the log has the new settings",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let (options, rules) = joining::node_settings(&directory)?;
    let place = AppliedEntry::read(directory.root())?;
    if place.log.is_empty() {
        bail!("{} is no node of a cluster", directory.root().display());
    }
    let options = LogOptions {
        log: place.log,
        ..options
    };
    let (sender, events) = channel();
    let tell = move |event| drop(sender.send(event));
    let log = Log::open(options, place.sequence, tell, &|work| {
        std::thread::Builder::new().spawn(work).map(drop)
    })?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let name = joining::random_name()?;
    let entry = Entry {
        kind: Kind::Rules,
        origin: u64::from_str_radix(name.get(..16).unwrap_or_default(), 16)?,
        counter: 1,
        arrival: i64::try_from(since.as_micros())?,
        rules,
        payload: b"",
    };
    log.append(1, name, entry.to_bytes().into());
    loop {
        match events
            .recv_timeout(PATIENCE)
            .context("the NATS servers do not answer")?
        {
            LogEvent::Appended(_) => break,
            LogEvent::Refused(_, why) | LogEvent::Stopped(why) => bail!(why),
            LogEvent::Down(why) => eprintln!("broadsheet: {why}"),
            LogEvent::Entry(_, bytes) => log.applied(bytes.len()),
            LogEvent::Ready(_) => {}
        }
    }
    writeln!(
        out,
        "all nodes decide by the settings {rules:016x} from now on"
    )?;
    Ok(Status::OK)
}
