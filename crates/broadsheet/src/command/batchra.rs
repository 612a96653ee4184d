//! `broadsheet batchra`

use std::cell::Cell;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use feed::ihave::{Allowed, Requested};
use store::Record;

use super::batcher::check_left_out;
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
its subscription. Articles that came without their bodies (headers_only) are left out, with an error.",
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
    let snapshot = directory.snapshot()?;
    let mut allowed: Allowed<'_> = match given.operands.first() {
        Some(site) => {
            let sites = directory.sys(&directory.settings()?.settings)?;
            serving::allowed(&snapshot, sites, site.as_bytes())
        }
        None => Box::new(|_| true),
    };
    let bodiless = Cell::new(0);
    let whole = |record: &Record<'_>| {
        let is_allowed = allowed(record);
        if is_allowed && record.head.header_only {
            bodiless.set(bodiless.get() + 1);
        }
        is_allowed && !record.head.header_only
    };
    let mut builder = Requested::new(&snapshot, Box::new(whole), ihave::PIECE_BYTES);
    ihave::print_batches(&snapshot, &mut builder, |_, _| Ok(true), out)?;
    check_left_out(&directory, bodiless.get())?;
    Ok(Status::OK)
}
