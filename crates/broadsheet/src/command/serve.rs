//! `broadsheet serve`: the daemon.

use std::io::Write;

use crate::daemon;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["serve"],
    also: &[],
    summary: "keep the news directory open, and do what is due",
    about: "\
Stays in the foreground and files what comes: batches that rnews hands over, and those that appear in
in.coming/. It starts expire and sendbatches as [schedule] says. All other commands work beside it as
without it: it lends them the lock.

It tells systemd when it is ready (Type=notify), and writes what an administrator should know on
standard error. SIGTERM ends it: the batch in hand is filed to its end first. SIGHUP reads the settings
again.

  broadsheet serve --dir /var/spool/news",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::OK,
        when: "it was told to stop",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    daemon::serve(NewsDirectory::meant(given)?)
}
