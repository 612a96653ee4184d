//! `broadsheet batchsm`

use std::io::Write;

use feed::ihave::{Endpoints, Sendme};

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use crate::ihave;

/// The table.
pub static COMMAND: Command = Command {
    words: &["batchsm"],
    also: &[],
    summary: "make a batch of sendme messages",
    about: "\
Reads the ids in ihave messages from standard input, one a line (the list for the site SITE.ihave in
sys), and prints a batch of control messages that request from SITE the articles that are not in
history.",
    operands: Operands {
        shown: "SITE",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let (host, peer) = ihave::ends(given, &directory)?;
    let ends = Endpoints {
        host: host.as_bytes(),
        peer: peer.as_bytes(),
    };
    let snapshot = directory.snapshot()?;
    ihave::print_batches(&snapshot, &mut Sendme::new(ends, &snapshot), out)?;
    Ok(Status::OK)
}
