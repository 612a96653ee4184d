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
use feed::site_directory::{self, FEEDS};
use feed::site_state::{self, SiteState};
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
        let summary = match site_state::look(root, site.as_bytes()) {
            Ok(Some(summary)) => summary,
            Ok(None) => continue,
            // One site must not keep the others from the copy.
            Err(error) => {
                eprintln!(
                    "broadsheet: {error}; the site {} is not moved: tell with `broadsheet feed reset' where it goes on",
                    site.display()
                );
                continue;
            }
        };
        let passed = entry_before(root, summary.cursor.position);
        let passed = passed.ok().flatten().unwrap_or(0).min(own);
        let mut list = Vec::new();
        for deferred in &summary.deferred {
            let Some(here) = &here else { break };
            if let Some(position) = same_article(here, deferred.position, &copy)? {
                list.push((position.0, deferred.due, deferred.attempts));
            }
        }
        moved.push(Moved {
            deferred: list,
            position: position_behind(staged, passed)?.0,
            site: site.as_bytes().to_vec(),
        });
    }
    Ok(serde_json::to_vec(&moved)?)
}

/// The position of an article in the copy; `None` if it has expired, or cannot be read here.
///
/// # Errors
/// The object store that has it does not answer.
fn same_article(
    here: &Snapshot,
    position: Position,
    copy: &Snapshot,
) -> Result<Option<Position>, store::Error> {
    let mut buffer = Vec::new();
    let record = match here.record(position, &mut buffer) {
        Err(error @ store::Error::ObjectStore { .. }) => return Err(error),
        Err(error @ store::Error::LostObject { .. }) => {
            eprintln!("broadsheet: a deferred article is not sent again: {error}");
            None
        }
        found => found.ok().flatten(),
    };
    let line = record.and_then(|record| HistoryLine::parse(record.line()));
    Ok(line.and_then(|line| copy.history_line(line.id).ok()??.position))
}

/// Moves the sites as a note says. Twice has the same effect. All of it is on the disk afterwards: nothing repeats it when the note is gone.
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
        let dir = site_directory::directory(root, &site)?;
        let doing = || format!("cannot move the cursor in {}", dir.display());
        // The records of earlier segments may name the site or not: the subscription decides.
        match fs::remove_file(dir.join(SELECTED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(doing);
            }
            _ => {}
        }
        if CursorFile::read(&dir)?.is_none() {
            sync(&dir)?;
            continue;
        }
        let mut state = SiteState::take_only(root, &site)?;
        state.forget_answers();
        let deferred = deferred.into_iter();
        let deferred = deferred.map(|(position, due, attempts)| Deferred {
            position: Position(position),
            due,
            attempts,
            is_blamed: false,
            is_unreadable: false,
        });
        state.set_deferred(deferred.collect())?;
        state.move_to(Position(position))?;
        sync(&dir)?;
        eprintln!(
            "broadsheet: the site {} goes on at position {position}",
            OsStr::from_bytes(&site).display()
        );
    }
    Ok(())
}

/// Waits until the files that were removed from the directory of a site are gone on the disk as well.
fn sync(dir: &Path) -> anyhow::Result<()> {
    match store::sync_directory(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot sync {}", dir.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use feed::cursor::Cursor;
    use groups::Active;

    /// A news directory of a node behind an entry; returns its end.
    fn node(dir: &Path, sequence: u64) -> Position {
        fs::create_dir_all(dir.join("segments")).unwrap();
        let active = Active::parse(b"g 0 1 y\n".to_vec()).unwrap();
        fs::write(dir.join("active"), active.image()).unwrap();
        let options = store::Options {
            follows_log: true,
            ..store::Options::default()
        };
        let mut spool = store::Spool::open(dir, options).unwrap();
        let place = AppliedEntry {
            log: "l".to_owned(),
            sequence,
            chain: "-".to_owned(),
            ..AppliedEntry::default()
        };
        spool.follow_from(&place).unwrap();
        spool.end()
    }

    #[test]
    fn a_damaged_cursor_keeps_no_other_site_from_the_copy() {
        let room = tempfile::tempdir().unwrap();
        let (root, staged) = (room.path().join("news"), room.path().join("copy"));
        let end = node(&root, 9);
        let there = node(&staged, 9);
        for site in ["bad", "good"] {
            let dir = site_directory::directory(&root, site.as_bytes()).unwrap();
            fs::create_dir_all(&dir).unwrap();
            CursorFile::create(&dir, Cursor::new(end)).unwrap();
        }
        let damaged = root.join(FEEDS).join("bad/cursor");
        assert!(damaged.exists());
        fs::write(&damaged, b"no cursor").unwrap();
        let note = note(&root, &staged).unwrap();
        let moved: Vec<Moved> = serde_json::from_slice(&note).unwrap();
        let moved: Vec<_> = moved
            .iter()
            .map(|moved| (&*moved.site, moved.position))
            .collect();
        assert_eq!(moved, [(&b"good"[..], there.0)]);
        apply(&root, &note).unwrap();
        assert_eq!(fs::read(&damaged).unwrap(), b"no cursor");
    }
}
