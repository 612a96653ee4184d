//! `broadsheet expire-if-low`, classic `expireiflow`

use std::io::Write;

use ::expire::DiskSpace;
use anyhow::Context;

use crate::command::expire;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, Given, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["expire-if-low"],
    also: &["expireiflow"],
    summary: "expire, if little of the disk is free",
    about: "\
Does nothing when MEGABYTES (of 1,048,576 bytes) are free on the file system of segments/. Otherwise it is an `expire' that
keeps at least so much free: when what is old enough does not suffice, all lives are shortened, as [expiry] keep_free does.",
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
        .ok_or_else(|| given.usage("wants a whole number of megabytes"))?;
    let segments = directory.file("segments");
    let room = DiskSpace::of(&segments)
        .with_context(|| format!("cannot learn how much is free for {}", segments.display()))?;
    if room.free >= wanted {
        if given.has("json") {
            let answer = serde_json::json!({ "ran": false, "free": room.free });
            writeln!(out, "{answer}")?;
        } else {
            let free = text::rough_bytes(room.free);
            writeln!(out, "{free} are free: nothing to do")?;
        }
        return Ok(Status::OK);
    }
    let file = given.operands.get(1).map(|file| file.as_os_str());
    expire::carry_out(given, file, wanted, out)
}
