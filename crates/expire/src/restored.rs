//! Articles that `article restore` brings back while a run of expire decides and archives. The run took them for removed: a cut may pass
//! them, and no copy of them was made. They are kept, and the next run decides on them.

use std::collections::BTreeMap;

use store::{CancelLine, Error, ExpiryDecision, Position, Snapshot};

use crate::archiving::keep_single_links;

/// The articles that were removed when the run began.
pub struct RemovedArticles(BTreeMap<Position, Vec<u8>>);

impl RemovedArticles {
    /// The removed articles of a snapshot.
    ///
    /// # Errors
    /// The file of cancels cannot be read.
    pub fn of(snapshot: &Snapshot) -> Result<RemovedArticles, Error> {
        let lines = snapshot.removed_lines()?;
        let lines = lines.split(|&byte| byte == b'\n');
        let lines = lines.filter_map(CancelLine::parse);
        let removed = lines.filter(|line| snapshot.is_cancelled(line.position));
        Ok(RemovedArticles(
            removed
                .map(|line| (line.position, line.id.to_vec()))
                .collect(),
        ))
    }

    /// Takes the links of those that a later snapshot shows again out of a decision. Returns these links.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn keep_restored(
        &self,
        now: &Snapshot,
        expiry: &mut ExpiryDecision,
    ) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        if expiry.removes_nothing() {
            return Ok(Vec::new());
        }
        let restored = self
            .0
            .iter()
            .filter(|(position, _)| !now.is_cancelled(**position));
        let restored: Vec<_> = restored.collect();
        if restored.is_empty() {
            return Ok(Vec::new());
        }
        let (before, after) = (now.expired(), now.expired().after(expiry));
        let mut kept = Vec::new();
        for (position, id) in restored {
            let line = now.history_line(id)?;
            let Some(line) = line.filter(|line| line.position == Some(*position)) else {
                continue;
            };
            let bases = now.segments();
            let segment = bases.partition_point(|base| *base <= position.0);
            let base = segment.checked_sub(1).and_then(|place| bases.get(place));
            let goes = |(group, number): &(&[u8], u64)| {
                before.keeps(group, *number) && !after.keeps(group, *number)
            };
            kept.extend(
                line.links()
                    .filter(goes)
                    .map(|(group, number)| (group.to_vec(), number, base.copied().unwrap_or(0))),
            );
        }
        keep_single_links(&kept, expiry, before);
        Ok(kept
            .into_iter()
            .map(|(group, number, _)| (group, number))
            .collect())
    }
}
