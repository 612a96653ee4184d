//! `broadsheet segments offload`

use std::io::{self, Write};

use relay::Now;
use serde_json::{Value, json};
use settings::Settings;
use store::offload::{self, Offloaded, Wanted};

use crate::answer::Answer;
use crate::command::expire;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// Segments that one command moves by their numbers at most.
pub const SEGMENTS_MAX: usize = 10_000;

/// The table.
pub static COMMAND: Command = Command {
    words: &["segments", "offload"],
    also: &[],
    summary: "move the articles of old segments to the object store",
    about: "\
Moves the articles of the segments that [offload] in broadsheet.toml chooses, by age and by space, or
of those with these numbers (`broadsheet segments list' shows them), to the object store. History,
overview and index stay here; readers, feeds and commands read the articles through a local cache. An
object is read back before the local articles go. The daemon runs this by [schedule] offload.",
    operands: Operands {
        shown: "[SEGMENT...]",
        least: 0,
        most: SEGMENTS_MAX,
    },
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let bases = bases(given)?;
    let wanted = match bases.as_slice() {
        [] => settings.offloaded_segments(Now::read().seconds),
        bases => Wanted::Bases(bases),
    };
    expire::tell_of_wait(directory.root());
    let mut moved = Moved::default();
    let options = store_options(&settings);
    let done = offload::move_away(directory.root(), options, wanted, |segment| {
        moved.0.push(segment);
    });
    given.print(&moved, out)?;
    done?;
    // Expire may have removed it since it was listed.
    if let Err(unknown) = must_be_known(&directory, &bases) {
        eprintln!("broadsheet: {unknown}");
    }
    for base in &bases {
        if moved.0.iter().all(|segment| segment.base != *base) {
            eprintln!(
                "broadsheet: segment {base} was not moved: it is filed into, its articles are in the object store already, or expire has removed it"
            );
        }
    }
    Ok(Status::OK)
}

/// The options of the store: a node of a cluster moves its own segments, which changes nothing that nodes agree on.
pub fn store_options(settings: &Settings) -> store::Options {
    store::Options {
        follows_log: settings.is_node(),
        ..settings.store_options()
    }
}

/// The numbers of segments among the operands.
pub fn bases(given: &Given) -> anyhow::Result<Vec<u64>> {
    let mut bases = Vec::new();
    for word in &given.operands {
        let base = word.to_str().and_then(|word| word.parse().ok());
        bases.push(base.ok_or_else(|| {
            given.usage(format!(
                "`{}' is not the number of a segment: `broadsheet segments list' shows them",
                word.to_string_lossy()
            ))
        })?);
    }
    Ok(bases)
}

/// Refuses numbers that no segment has.
pub fn must_be_known(directory: &NewsDirectory, bases: &[u64]) -> anyhow::Result<()> {
    if bases.is_empty() {
        return Ok(());
    }
    let snapshot = directory.snapshot()?;
    let known = snapshot.segments();
    match bases.iter().find(|base| known.binary_search(base).is_err()) {
        None => Ok(()),
        Some(base) => {
            anyhow::bail!("there is no segment {base}: `broadsheet segments list' shows them")
        }
    }
}

/// The segments that were moved.
#[derive(Default)]
pub struct Moved(pub Vec<Offloaded>);

impl Answer for Moved {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = text::rough_bytes(self.0.iter().map(|segment| segment.bytes).sum());
        let count = text::counted(self.0.len() as u64, "segment");
        writeln!(out, "moved {count}, {bytes}")
    }

    fn json(&self) -> Value {
        let segments = self.0.iter();
        let segments =
            segments.map(|segment| json!({ "base": segment.base, "bytes": segment.bytes }));
        json!({ "moved": segments.collect::<Vec<_>>() })
    }
}
