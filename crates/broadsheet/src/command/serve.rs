//! `broadsheet serve`: the daemon.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command as Process;

use daemon::{Daemon, Ended};

use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};
use crate::reseed;

/// The table.
pub static COMMAND: Command = Command {
    words: &["serve"],
    also: &[],
    summary: "run the daemon: serve NNTP, file articles, run scheduled tasks",
    about: "\
Runs in the foreground. Serves peers and readers over NNTP at the addresses in [nntp] and --listen;
[[access]] sets their permissions, and without it only clients on this machine have any. Files the
articles that peers send and readers post, batches that rnews passes on, and batches in in.coming/.
Runs expire and sendbatches at the times in [schedule]. All other commands work with or without the
daemon: it lends them the lock.

Notifies systemd when it is ready (Type=notify), and logs to standard error. SIGTERM stops it: it
files the current batch to its end first. SIGHUP reloads the settings.

  broadsheet serve --dir /var/spool/news
  broadsheet serve --dir /var/spool/news --listen '[::1]:1119' --listen 127.0.0.1:1119",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new(
            "listen",
            "Listen here as well as at nntp.listen; may be repeated. *:119 means all addresses.",
        )
        .value("ADDRESS:PORT"),
        Flag::new(
            "listen-tls",
            "Listen here with TLS from the first byte, as well as at nntp.listen_tls.",
        )
        .value("ADDRESS:PORT"),
    ],
    exits: &[Meaning {
        status: Status::OK,
        when: "the daemon was stopped",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let words = |name| -> Result<Vec<String>, UsageError> {
        let values = given.values(name).map(|value| value.to_string_lossy());
        values
            .map(|value| match server::socket::addresses(&value) {
                Ok(_) => Ok(value.into_owned()),
                Err(fault) => Err(given.usage(format!("--{name}: {fault}"))),
            })
            .collect()
    };
    let listen = daemon::Listen {
        plain: words("listen")?,
        tls: words("listen-tls")?,
    };
    let options = daemon::Options {
        listen: &listen,
        program: Path::new(OWN_PROGRAM),
        takes_signals: true,
        before_open: &reseed::take_up,
    };
    if let Some(daemon) = Daemon::start((*NewsDirectory::meant(given)?).clone(), &options)?
        && daemon.run()? == Ended::CopyIsWhole
    {
        return Err(start_again());
    }
    Ok(Status::OK)
}

/// Puts a new process of this program in the place of this one, with the same id: nothing of the old state lives on. Returns the error if
/// that is impossible.
fn start_again() -> anyhow::Error {
    let mut arguments = std::env::args_os();
    let error = Process::new(OWN_PROGRAM)
        .arg0(arguments.next().unwrap_or_default())
        .args(arguments)
        .exec();
    anyhow::Error::new(error).context("cannot start again by itself: start the daemon")
}
