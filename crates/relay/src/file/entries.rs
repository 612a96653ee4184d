//! What a node of a cluster does with the filer besides filing: it applies the entries of a log.

use article::crc32c;
use groups::Flag;
use store::{AppliedEntry, Expires, ExpiryDecision, GroupEdits, Position, RemovalNote, RemovedBy};

use super::Filer;
use crate::error::Error;

impl Filer {
    /// Reads the policy and the keys for control messages, and keeps them however their files change.
    pub fn fix_policy(&mut self, directory: &std::path::Path) {
        self.processor.fix_policy(directory);
    }

    /// A hash of the changes to visible articles by removals, cancels and expire since the last call; 0: none. Nodes of a cluster compare
    /// theirs. The first call begins the count.
    pub fn take_changes(&mut self) -> u32 {
        self.changes.replace(0).unwrap_or(0)
    }

    fn note_change(&mut self, text: &[u8]) {
        if let Some(changes) = &mut self.changes {
            *changes = crc32c(&[&changes.to_le_bytes(), text].concat());
        }
    }

    /// Removes the article at a position.
    pub(super) fn remove_visible(
        &mut self,
        position: Position,
        id: &[u8],
        note: RemovalNote<'_>,
    ) -> Result<(), Error> {
        let was_visible = self.changes.is_some() && self.is_visible(id)?;
        self.spool.remove(position, id, note)?;
        if was_visible {
            self.note_change(&[b"-", id].concat());
        }
        Ok(())
    }

    fn is_visible(&self, id: &[u8]) -> Result<bool, Error> {
        match self.spool.find(id)? {
            Some(line) => Ok(self.spool.is_visible(&line)?),
            None => Ok(false),
        }
    }

    /// Makes sure that an entry of the log of a cluster fits into the current segment ([`Spool::reserve`]).
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        Ok(self.spool.reserve(bytes)?)
    }

    /// Removes articles as an entry of the log of a cluster says ([`Spool::expire_entry`]).
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn expire_entry(&mut self, expiry: &ExpiryDecision) -> Result<(), Error> {
        self.spool.expire_entry(expiry)?;
        if self.changes.is_none() {
            return Ok(());
        }
        let state = self.spool.expired()?;
        let mut text = Vec::new();
        for (group, number) in expiry.survivors.iter().chain(&expiry.gone) {
            push_line(
                &mut text,
                group,
                [*number, u64::from(state.keeps(group, *number))],
            );
        }
        let mut last: &[u8] = b"";
        for (group, _) in expiry.cuts.iter().chain(&expiry.gone) {
            if last != group.as_slice() {
                push_line(&mut text, group, [state.cut(group), state.low(group)]);
            }
            last = group;
        }
        self.note_change(&text);
        Ok(())
    }

    /// Makes a group, or changes its flag, as an entry of the log of a cluster says.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn set_group(&mut self, name: &[u8], flag: Flag<'_>) -> Result<(), Error> {
        Ok(self.spool.set_group(name, flag)?)
    }

    /// Removes a group, as an entry of the log of a cluster says.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn remove_group(&mut self, name: &[u8]) -> Result<(), Error> {
        Ok(self.spool.remove_group(name)?)
    }

    /// Changes descriptions and creations of groups, as an entry of the log of a cluster says.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn edit_groups(&mut self, edits: &GroupEdits<'_>) -> Result<(), Error> {
        Ok(self.spool.edit_groups(edits)?)
    }

    /// Removes an article as an entry of the log of a cluster says; the id of one that is not here is remembered, so that the article is refused
    /// when it comes. An article that was removed before stays as it is, except that it can be erased.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn remove_article(&mut self, id: &[u8], note: RemovalNote<'_>) -> Result<(), Error> {
        let position = self.spool.find(id)?.and_then(|line| line.position);
        let Some(position) = position else {
            if !self.spool.has(id)? {
                self.spool.remember(id, note.seconds, Expires::Absent)?;
            }
            return Ok(());
        };
        let was_removed = self.spool.cancelled().until(position).is_some();
        if !was_removed || note.by == RemovedBy::Erasure {
            self.remove_visible(position, id, note)?;
        }
        Ok(())
    }

    /// Restores a removed article as an entry of the log of a cluster says, if at that time, seconds since 1970, it can be restored.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn restore_article(&mut self, id: &[u8], seconds: i64) -> Result<(), Error> {
        let position = self.spool.find(id)?.and_then(|line| line.position);
        if let Some(position) = position
            && let Some(until) = self.spool.cancelled().until(position)
            && until > seconds
        {
            self.spool.restore(position, id)?;
            if self.is_visible(id)? {
                self.note_change(&[b"+", id].concat());
            }
        }
        Ok(())
    }

    /// Records that an entry of the log of a cluster is applied.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn set_applied_entry(&mut self, place: &AppliedEntry) -> Result<(), Error> {
        Ok(self.spool.set_applied_entry(place)?)
    }

    /// Syncs what is derived from the log, and the log itself where commits do not.
    ///
    /// # Errors
    /// Those of the store. After an error the filer must not be used.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        Ok(self.spool.checkpoint()?)
    }
}

/// Appends a line with a group and two numbers.
fn push_line(text: &mut Vec<u8>, group: &[u8], numbers: [u64; 2]) {
    text.extend_from_slice(group);
    for number in numbers {
        text.extend_from_slice(&number.to_le_bytes());
    }
    text.push(b'\n');
}
