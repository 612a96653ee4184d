//! `broadsheet intake pause`

use std::io::Write;

use crate::daemon::client;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["intake", "pause"],
    also: &[],
    summary: "take no articles over NNTP for a while",
    about: "\
Peers and people who post are told to come again later, and the reason: CHECK is answered with 431, IHAVE with
436, TAKETHIS with 400 and the end of the connection, POST with 440. Reading goes on, and so do rnews and
in.coming/ (see newsrunning). It lasts until `intake resume', or until the daemon ends.

  broadsheet intake pause moving to the new disk",
    operands: Operands {
        shown: "REASON...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR],
    exits: &[client::NO_DAEMON],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let words = given.operands.iter().map(|word| word.to_string_lossy());
    let why = words.collect::<Vec<_>>().join(" ");
    client::told_none(
        directory.root(),
        client::pause(directory.root(), Some(&why))?,
    )
}
