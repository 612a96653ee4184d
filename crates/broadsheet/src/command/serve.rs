//! `broadsheet serve`: the daemon.

use std::io::Write;

use crate::daemon;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};

/// The table.
pub static COMMAND: Command = Command {
    words: &["serve"],
    also: &[],
    summary: "serve news over NNTP, file what comes, and do what is due",
    about: "\
Stays in the foreground. Peers and readers are served over NNTP where [nntp] or --listen says; [[access]] says who
may do what, and without it this machine alone. It files what peers send and readers post, batches that rnews hands
over, and those that appear in in.coming/. It starts expire and sendbatches as [schedule] says. All other commands work beside it as
without it: it lends them the lock.

It tells systemd when it is ready (Type=notify), and writes what an administrator should know on
standard error. SIGTERM ends it: the batch in hand is filed to its end first. SIGHUP reads the settings
again.

  broadsheet serve --dir /var/spool/news
  broadsheet serve --dir /var/spool/news --listen '[::1]:1119' --listen 127.0.0.1:1119",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new(
            "listen",
            "Listen here too, besides nntp.listen; may be given more than once. *:119 means all addresses.",
        )
        .value("ADDRESS:PORT"),
        Flag::new(
            "listen-tls",
            "Listen here too with TLS from the first byte on, besides nntp.listen_tls.",
        )
        .value("ADDRESS:PORT"),
    ],
    exits: &[Meaning {
        status: Status::OK,
        when: "it was told to stop",
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
    daemon::serve(NewsDirectory::meant(given)?, &listen)
}
