//! `broadsheet batchra`

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use feed::ihave::{Allowed, Requested};
use store::Snapshot;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use crate::ihave;
use feed::serving;

/// The table.
pub static COMMAND: Command = Command {
    words: &["batchra"],
    also: &[],
    summary: "make a batch of requested articles",
    about: "\
Reads the ids in sendme messages from standard input, one a line (the list for the site SITE.sendme
in sys), and prints a batch of the requested articles that exist; with SITE, only those that match
its subscription.",
    operands: Operands {
        shown: "[SITE]",
        least: 0,
        most: 1,
    },
    flags: &[DIR],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let snapshot = Snapshot::open(directory.root())?;
    let allowed: Allowed<'_> = match given.operands.first() {
        Some(site) => {
            let sites = directory.sys(&directory.settings()?.settings)?;
            serving::allowed(&snapshot, sites, site.as_bytes())
        }
        None => Box::new(|_| true),
    };
    let mut builder = Requested::new(&snapshot, allowed, ihave::PIECE_BYTES);
    ihave::print_batches(&snapshot, &mut builder, out)?;
    Ok(Status::OK)
}
