//! `broadsheet segments fetch`

use std::io::{self, Write};

use anyhow::Context;
use serde_json::{Value, json};
use store::offload;

use super::expire;
use super::segments_offload::{self, Moved, SEGMENTS_MAX};
use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["segments", "fetch"],
    also: &[],
    summary: "bring the articles of segments back from the object store",
    about: "\
Brings the articles of the segments with these numbers (`broadsheet segments list' shows them) back to
this disk, and deletes their objects. The next run of `segments offload' moves old ones away again:
change [offload] first.",
    operands: Operands {
        shown: "[SEGMENT...]",
        least: 0,
        most: SEGMENTS_MAX,
    },
    flags: &[DIR, JSON, Flag::new("all", "All segments.")],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let mut bases = segments_offload::bases(given)?;
    let mut faults = Vec::new();
    match (bases.is_empty(), given.has("all")) {
        (true, true) => {
            let places = offload::list(&directory.snapshot()?)?;
            let away = places.iter().filter(|place| place.object.is_some());
            bases.extend(away.map(|place| place.base));
            faults.extend(places.into_iter().filter_map(|place| place.fault));
        }
        (false, false) => {}
        _ => return Err(given.usage("name segments, or --all").into()),
    }
    expire::tell_of_wait(directory.root());
    let mut moved = Moved::default();
    let options = segments_offload::store_options(&settings);
    let done = offload::bring_back(directory.root(), options, &bases, |segment| {
        moved.0.push(segment);
    });
    let left = offload::count_undeleted(&directory.snapshot()?)?;
    given.print(&Fetched { moved, left }, out)?;
    match left {
        0 => done?,
        _ => done.with_context(|| {
            let objects = text::counted(left as u64, "object");
            format!("not deleted: {objects} (see objects.unnamed); `segments fetch --all' and `segments offload' try again")
        })?,
    }
    segments_offload::must_be_known(&directory, &bases)?;
    if !faults.is_empty() {
        anyhow::bail!("{}; run `broadsheet fsck'", faults.join("; "));
    }
    Ok(Status::OK)
}

/// The segments that came back, and the number of objects that could not be deleted.
struct Fetched {
    moved: Moved,
    left: usize,
}

impl Answer for Fetched {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.moved.write_text(out)
    }

    fn json(&self) -> Value {
        let mut fields = self.moved.json();
        if let Value::Object(fields) = &mut fields {
            fields.insert("undeleted".to_owned(), json!(self.left));
        }
        fields
    }
}
