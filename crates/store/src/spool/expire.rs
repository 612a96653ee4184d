//! The writer takes over what expire decided, in milliseconds.

use std::collections::HashMap;
use std::time::Instant;

use crate::expiry::decision::ExpiryDecision;
use crate::expiry::state::{ExpiryState, push_cut, push_link};
use crate::history::{HistoryLine, seen_hashes};
use crate::log::record::Kind;
use crate::log::segments::{SegmentFile, base_of};
use crate::spool::active_from_log::apply_low_marks;
use crate::spool::{Committed, Spool};
use crate::state::unreclaimed;
use crate::{Error, Position};

/// Lines of one record of expire, bytes: what fits in the smallest segment with room to spare.
pub const PIECE_BYTES: usize = 128 << 10;

impl Spool {
    /// The expiry state so far.
    pub fn expired(&self) -> Result<&ExpiryState, Error> {
        self.expired.state()
    }

    /// Takes over what a run of expire decided, raises the low marks, and commits. From then on the articles are gone; their
    /// space is given back later ([`crate::reclaim`]).
    pub fn expire(&mut self, expiry: &ExpiryDecision) -> Result<Committed, Error> {
        self.take_over(expiry)?;
        let committed = self.commit()?;
        let forget_before = self.expired.state()?.forget_before();
        if self
            .seen_hashes
            .as_ref()
            .is_some_and(|seen| seen.is_old(forget_before))
        {
            seen_hashes::remove(&*self.disk, &self.dir)?;
            self.seen_hashes = None;
        }
        Ok(committed)
    }

    /// As [`Spool::expire`], for an entry of the log of a cluster: the next commit makes it count. Which segments it touches is not known, so
    /// reclaiming looks at all.
    ///
    /// # Errors
    /// Those of filing; a cut above the next number of its group.
    pub fn expire_entry(&mut self, expiry: &ExpiryDecision) -> Result<(), Error> {
        unreclaimed::mark_all(&*self.disk, &self.dir)?;
        self.take_over(expiry)
    }

    /// Notes, durably and before articles of these segments go, that reclaiming has to look at them.
    fn note_unreclaimed(&self, bases: &[u64]) -> Result<(), Error> {
        if bases.is_empty() {
            return Ok(());
        }
        unreclaimed::add(&*self.disk, &self.dir, bases)
    }

    /// Keeps in memory that an article of a segment is cancelled or removed; the commit notes it ([`Spool::note_removals`]).
    pub(crate) fn removes_at(&mut self, position: Position) -> Result<(), Error> {
        let base = match position.0 >= self.art.header.base {
            true => Some(self.art.header.base),
            false => self.bases.base_of(&self.segments, position.0)?,
        };
        self.removals
            .extend(base.filter(|base| !self.unreclaimed.contains(base)));
        Ok(())
    }

    /// As [`Spool::note_unreclaimed`], for the removals since the last commit: one write, however many there are.
    pub(crate) fn note_removals(&mut self) -> Result<(), Error> {
        let bases: Vec<u64> = self.removals.iter().copied().collect();
        self.note_unreclaimed(&bases)?;
        self.unreclaimed.append(&mut self.removals);
        Ok(())
    }

    /// The segments with articles that can still be restored at this time: reclaiming looks at them again.
    pub(crate) fn restorable_segments(&self, now: i64) -> Result<Vec<u64>, Error> {
        let bases = self.segments.bases()?;
        let positions = self.derived.cancelled.restorable(now);
        let mut found: Vec<u64> = positions.filter_map(|at| base_of(&bases, at)).collect();
        found.dedup();
        Ok(found)
    }

    fn take_over(&mut self, expiry: &ExpiryDecision) -> Result<(), Error> {
        self.check_cuts(&expiry.cuts)?;
        // Reclaiming seals, if that is worth it.
        self.size_checked = Some(Instant::now());
        self.note_unreclaimed(&expiry.touched)?;
        // Whatever part of this an interruption leaves in the log, nothing goes that should stay: what survives comes
        // before the cut that would take it.
        let mut text = Vec::new();
        let late = self.late_since(expiry)?;
        let survivors = expiry.survivors.iter().chain(&late);
        for (group, number) in survivors {
            push_link(&mut text, b'+', group, *number);
            self.log_when_long(&mut text)?;
        }
        self.log_lines(&mut text)?;
        let told = match expiry.removes_nothing() {
            // Nobody asks: the loops below have nothing to do.
            true => ExpiryState::fresh(),
            false => self.expired.state()?.after(expiry),
        };
        for (group, _) in &expiry.cuts {
            push_cut(&mut text, group, told.cut(group), self.low_by(&told, group));
            self.log_when_long(&mut text)?;
        }
        for (group, number) in &expiry.gone {
            push_link(&mut text, b'-', group, *number);
            self.log_when_long(&mut text)?;
        }
        let mut last: &[u8] = b"";
        for (group, _) in &expiry.gone {
            if last != group.as_slice() {
                // The low mark may have been one of those.
                push_cut(&mut text, group, told.cut(group), self.low_by(&told, group));
                self.log_when_long(&mut text)?;
            }
            last = group;
        }
        if let Some(time) = expiry.forget_before {
            text.extend_from_slice(b"/expired/ ");
            article::decimal::push_signed(&mut text, time);
            text.push(b'\n');
        }
        self.log_lines(&mut text)?;
        for (group, position) in &expiry.settled {
            self.expired.state_mut()?.settle(group, *position);
        }
        if self.pending_bytes() == 0 {
            self.expired.flush()?;
        }
        Ok(())
    }

    /// The low mark of a group by an expiry state.
    fn low_by(&self, expired: &ExpiryState, group: &[u8]) -> u64 {
        let active = &self.active.table;
        let floor = active.find(group).map_or(0, |id| active.low(id).max(1));
        expired.low_from(group, floor)
    }

    /// The links of late articles that the decision does not know, where a cut would remove them.
    fn late_since(&mut self, expiry: &ExpiryDecision) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        let mut late = Vec::new();
        let Some(known_end) = expiry.known_end.filter(|_| !expiry.cuts.is_empty()) else {
            return Ok(late);
        };
        self.commit()?;
        let cuts: HashMap<&[u8], u64> = expiry
            .cuts
            .iter()
            .map(|(group, cut)| (group.as_slice(), *cut))
            .collect();
        let bases = self.segments.bases()?;
        let first = bases.partition_point(|base| *base <= known_end.0);
        for &base in bases.get(first.saturating_sub(1)..).unwrap_or_default() {
            let exceptions = self.segments.map_derived(base, SegmentFile::Exp)?;
            let lines = crate::history::lines(exceptions.bytes());
            for line in lines.filter_map(|(_, line)| HistoryLine::parse(line)) {
                if line.is_late && line.position.is_some_and(|position| position >= known_end) {
                    let links = line.links().filter(|(group, number)| {
                        cuts.get(group).is_some_and(|cut| number < cut)
                            && self
                                .expired
                                .state()
                                .is_ok_and(|state| state.keeps(group, *number))
                    });
                    late.extend(links.map(|(group, number)| (group.to_vec(), number)));
                }
            }
        }
        Ok(late)
    }

    /// No cut may lie above the next number: articles to come would be gone before they came.
    fn check_cuts(&self, cuts: &[(Vec<u8>, u64)]) -> Result<(), Error> {
        let table = &self.active.table;
        for (group, cut) in cuts {
            if let Some(id) = table.find(group)
                && *cut > table.high(id).saturating_add(1)
            {
                return Err(Error::Damaged {
                    path: self.segments.folder().to_owned(),
                    offset: 0,
                    what: "an overview row has a number that active never gave",
                });
            }
        }
        Ok(())
    }

    fn log_when_long(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
        if text.len() < PIECE_BYTES {
            return Ok(());
        }
        self.log_lines(text)
    }

    /// Logs lines and makes them count.
    pub(crate) fn log_lines(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        self.make_room(text.len() as u64 + 256)?;
        self.log_text(Kind::LowMarks, text);
        self.expired.state_mut()?.apply(text);
        apply_low_marks(&mut self.active.table, text);
        text.clear();
        Ok(())
    }
}
