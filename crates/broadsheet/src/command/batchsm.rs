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
Reads ids from standard input, one a line, and prints a batch of control messages that request from
SITE the articles that are not in history: of an ihave message that is here (the list for the site
SITE.ihave in sys) the articles that it names, of any other id the article itself (bad/lost.ids).",
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
    let mut builder = Sendme::new(ends, &snapshot);
    ihave::print_batches(&snapshot, &mut builder, Sendme::put_id, out)?;
    Ok(Status::OK)
}
