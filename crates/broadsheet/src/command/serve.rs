//! `broadsheet serve`: the daemon.

use std::io::Write;
use std::path::Path;

use daemon::Daemon;

use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};

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
    };
    if let Some(daemon) = Daemon::start((*NewsDirectory::meant(given)?).clone(), &options)? {
        daemon.run()?;
    }
    Ok(Status::OK)
}
