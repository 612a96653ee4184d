//! `broadsheet batchih`

use std::io::Write;

use feed::ihave::{Endpoints, Ihave};

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use crate::ihave;

/// The table.
pub static COMMAND: Command = Command {
    words: &["batchih"],
    also: &[],
    summary: "make a batch of ihave messages",
    about: "\
Reads Message-IDs from standard input, the first of each line, and prints a batch of control
messages that offer these articles to SITE. SITE requests the ones it wants with sendme, which
`batchra' answers.",
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
    let mut builder = Ihave::new(ends, ihave::PIECE_BYTES);
    ihave::each_id(|id| {
        while !builder.put_id(id) {
            ihave::print(&mut builder, out)?;
        }
        Ok(())
    })?;
    ihave::print(&mut builder, out)?;
    Ok(Status::OK)
}
