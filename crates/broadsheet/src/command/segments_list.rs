//! `broadsheet segments list`

use std::io::{self, Write};

use serde_json::{Value, json};
use store::offload::{self, SegmentPlace};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["segments", "list"],
    also: &[],
    summary: "list the segments and where their articles are",
    about: "\
Lists the segments of the log, the oldest first: number, time of the newest article, bytes, bytes on
this disk, and the object that has the articles of a segment in the object store. The last one is
filed into.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "check",
            "Ask the object store whether it has each object with its length. (`broadsheet fsck' reads them.)",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "a segment has a damaged header; with --check: the object store lacks an object",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::to_read(given)?;
    directory.settings()?;
    let snapshot = directory.snapshot()?;
    let mut places = offload::list(&snapshot)?;
    let lost = match given.has("check") {
        true => offload::check(directory.root(), &mut places)?,
        false => Vec::new(),
    };
    let status = match lost.is_empty() && places.iter().all(|place| place.fault.is_none()) {
        true => Status::OK,
        false => Status::NO,
    };
    given.print(&Listed { places, lost }, out)?;
    Ok(status)
}

struct Listed {
    places: Vec<SegmentPlace>,
    /// The segments whose objects are missing.
    lost: Vec<u64>,
}

impl Answer for Listed {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for place in &self.places {
            let newest = place.newest.map_or_else(|| "-".to_owned(), text::utc);
            let object = match (&place.object, &place.fault) {
                (Some(object), _) if self.lost.contains(&place.base) => &format!("LOST: {object}"),
                (Some(object), Some(fault)) => &format!("UNUSABLE: {object}: {fault}"),
                (Some(object), None) => object,
                (None, Some(fault)) => &format!("DAMAGED: {fault}"),
                (None, None) if place.is_current => "current",
                (None, None) => "here",
            };
            let (base, bytes) = (place.base, text::rough_bytes(place.bytes));
            let local = text::rough_bytes(place.local_bytes);
            writeln!(out, "{base}  {newest}  {bytes}  {local} here  {object}")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let segments = self.places.iter().map(|place| {
            json!({
                "base": place.base, "newest": place.newest, "bytes": place.bytes,
                "local_bytes": place.local_bytes, "object": place.object, "current": place.is_current,
                "lost": self.lost.contains(&place.base), "fault": place.fault,
            })
        });
        json!({ "segments": segments.collect::<Vec<_>>() })
    }
}
