//! The places of the sites in the log here, of which positions mean nothing in the segments of another node: each goes on behind the same entry
//! of the log of the cluster, and its deferred articles are found by their ids.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use feed::cursor::{CursorFile, SELECTED};
use feed::deferred::Deferred;
use feed::site_state::{self, FEEDS, SiteState};
use serde::{Deserialize, Serialize};
use store::reseed::{entry_before, position_behind};
use store::{AppliedEntry, HistoryLine, Position, Snapshot};

/// Where a site goes on.
#[derive(Debug, Serialize, Deserialize)]
struct Moved {
    site: Vec<u8>,
    position: u64,
    /// Position, time of the next offer, and number of offers.
    deferred: Vec<(u64, i64, u64)>,
}

/// Where the sites of a news directory go on in the copy, as the note for [`apply`].
///
/// # Errors
/// The copy cannot be read.
pub fn note(root: &Path, staged: &Path) -> anyhow::Result<Vec<u8>> {
    let reading = || format!("cannot read {}", root.join(FEEDS).display());
    let entries = match fs::read_dir(root.join(FEEDS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(b"[]".to_vec()),
        entries => entries.with_context(reading)?,
    };
    let copy = Snapshot::open(staged)?;
    // What is here may be damaged: then the site gets some articles twice, and refuses them.
    let here = Snapshot::open(root).ok();
    let own = AppliedEntry::read(root)?.sequence;
    let mut moved = Vec::new();
    for entry in entries {
        let site = entry.with_context(reading)?.file_name();
        let Some(summary) = site_state::look(root, site.as_bytes())? else {
            continue;
        };
        let passed = entry_before(root, summary.cursor.position);
        let passed = passed.ok().flatten().unwrap_or(0).min(own);
        let deferred = summary.deferred.iter().filter_map(|deferred| {
            let position = same_article(here.as_ref()?, deferred.position, &copy)?;
            Some((position.0, deferred.due, deferred.attempts))
        });
        moved.push(Moved {
            deferred: deferred.collect(),
            position: position_behind(staged, passed)?.0,
            site: site.as_bytes().to_vec(),
        });
    }
    Ok(serde_json::to_vec(&moved)?)
}

/// The position of an article in the copy; `None` if it has expired.
fn same_article(here: &Snapshot, position: Position, copy: &Snapshot) -> Option<Position> {
    let mut buffer = Vec::new();
    let record = here.record(position, &mut buffer).ok()??;
    let line = HistoryLine::parse(record.line())?;
    copy.history_line(line.id).ok()??.position
}

/// Moves the sites as a note says. Twice has the same effect.
///
/// # Errors
/// A site is served at this moment, or an I/O error.
pub fn apply(root: &Path, note: &[u8]) -> anyhow::Result<()> {
    let moved: Vec<Moved> = serde_json::from_slice(note)?;
    for Moved {
        site,
        position,
        deferred,
    } in moved
    {
        let dir = site_state::directory(root, &site)?;
        let doing = || format!("cannot move the cursor in {}", dir.display());
        // The records of earlier segments may name the site or not: the subscription decides.
        match fs::remove_file(dir.join(SELECTED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(doing);
            }
            _ => {}
        }
        if CursorFile::read(&dir)?.is_none() {
            continue;
        }
        let mut state = SiteState::take_only(root, &site)?;
        let deferred = deferred.into_iter();
        let deferred = deferred.map(|(position, due, attempts)| Deferred {
            position: Position(position),
            due,
            attempts,
        });
        state.set_deferred(deferred.collect())?;
        state.move_to(Position(position))?;
        eprintln!(
            "broadsheet: the site {} goes on at position {position}",
            OsStr::from_bytes(&site).display()
        );
    }
    Ok(())
}
