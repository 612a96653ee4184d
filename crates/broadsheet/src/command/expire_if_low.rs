//! `broadsheet expire-if-low`, classic `expireiflow`

use std::io::{self, Write};

use ::expire::DiskSpace;
use anyhow::Context;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::command::expire;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, Given, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["expire-if-low"],
    also: &["expireiflow"],
    summary: "run expire if the disk is nearly full",
    about: "\
Does nothing if MEGABYTES (of 1,048,576 bytes) are free on the file system of segments/. Otherwise
runs `expire' with that as its keep_free: if removing the expired articles is not enough, all lives
are shortened, as with [expiry] keep_free.",
    operands: Operands {
        shown: "MEGABYTES [CTLFILE]",
        least: 1,
        most: 2,
    },
    flags: expire::FLAGS,
    exits: expire::EXITS,
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let word = given.operands.first().and_then(|word| word.to_str());
    let wanted = word
        .and_then(|word| word.parse::<u64>().ok()?.checked_mul(1 << 20))
        .ok_or_else(|| given.usage("MEGABYTES must be a whole number"))?;
    let segments = directory.file("segments");
    let room = DiskSpace::of(&segments)
        .with_context(|| format!("cannot read the free space of {}", segments.display()))?;
    if room.free.is_none_or(|free| free >= wanted) {
        given.print(&EnoughSpace { free: room.free }, out)?;
        return Ok(Status::OK);
    }
    let file = given.operands.get(1).map(|file| file.as_os_str());
    expire::carry_out(given, file, wanted, out)
}

/// Expire was not needed.
struct EnoughSpace {
    /// Free space, bytes; `None` where the file system does not report its size.
    free: Option<u64>,
}

impl Answer for EnoughSpace {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let free = match self.free {
            Some(free) => format!("{} are free", text::rough_bytes(free)),
            None => "the file system does not report its size".to_owned(),
        };
        writeln!(out, "{free}: expire is not needed")
    }

    fn json(&self) -> Value {
        json!({ "ran": false, "free": self.free })
    }
}
