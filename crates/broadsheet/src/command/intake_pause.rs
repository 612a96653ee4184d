//! `broadsheet intake pause`

use std::io::Write;

use crate::asked;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use daemon::client;

/// The table.
pub static COMMAND: Command = Command {
    words: &["intake", "pause"],
    also: &[],
    summary: "reject all articles over NNTP for a while",
    about: "\
Peers and posters are asked to retry later, with the reason: the reply to CHECK is 431, to IHAVE
436, to TAKETHIS 400 (and the connection is closed), to POST 440. Reading, rnews and in.coming/ (see
newsrunning) are not affected. The pause lasts until `intake resume', or until the daemon exits.

  broadsheet intake pause moving to the new disk",
    operands: Operands {
        shown: "REASON...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR],
    exits: &[asked::NO_DAEMON],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let words = given.operands.iter().map(|word| word.to_string_lossy());
    let why = words.collect::<Vec<_>>().join(" ");
    asked::told_none(
        directory.root(),
        client::pause(directory.root(), Some(&why))?,
    )
}
