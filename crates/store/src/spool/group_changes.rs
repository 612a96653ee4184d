//! Groups that are added, changed and removed.

use std::collections::HashMap;

use groups::{Active, Flag, GroupId};

use crate::Error;
use crate::expiry::state::{push_cut, push_removed};
use crate::log::record::Kind;
use crate::log::segments::SegmentFile;
use crate::overview::{self, Block};
use crate::spool::active_from_log::apply_group;
use crate::spool::{SNAPSHOT_PART, Spool};

impl Spool {
    /// Adds a group, or changes its flag. Waits for the next commit.
    pub fn set_group(&mut self, name: &[u8], flag: Flag<'_>) -> Result<(), Error> {
        self.set_groups(&[(name, flag)])
    }

    /// As [`Spool::set_group`] for several groups: what lies on the disk is looked through once for all of them.
    pub fn set_groups(&mut self, groups: &[(&[u8], Flag<'_>)]) -> Result<(), Error> {
        let is_fresh = |name: &[u8]| self.active.table.find(name).is_none();
        let mut highs: HashMap<&[u8], u64> = groups
            .iter()
            .filter(|(name, _)| is_fresh(name))
            .map(|(name, _)| (*name, 0))
            .collect();
        // Of a cluster, the log has their high marks, and a commit would cut an entry in two.
        if !highs.is_empty() && !self.options.follows_log {
            // They may have been there before: their numbers are not given again.
            self.commit()?;
            self.each_block(|block| {
                for (name, high) in &mut highs {
                    let rows = block.find(name);
                    *high = rows.map_or(*high, |rows| rows.last_number().max(*high));
                }
            })?;
        }
        for (name, flag) in groups {
            let high = match highs.get(name) {
                Some(high) => self.expired.state()?.highest(name).max(*high),
                None => 0,
            };
            self.log_group(name, *flag, high)?;
        }
        Ok(())
    }

    /// Raises high marks of groups that are in active: their next articles get greater numbers. Marks that would not rise are passed over.
    /// Waits for the next commit.
    ///
    /// # Errors
    /// As [`Spool::append`].
    pub fn raise_high_marks(&mut self, marks: &[(&[u8], u64)]) -> Result<(), Error> {
        for (name, high) in marks {
            let table = &self.active.table;
            let Some(id) = table.find(name).filter(|id| table.high(*id) < *high) else {
                continue;
            };
            let mut word = Vec::new();
            table.flag(id).push(&mut word);
            if let Some(flag) = Flag::parse(&word) {
                self.log_group(name, flag, *high)?;
            }
        }
        Ok(())
    }

    fn log_group(&mut self, name: &[u8], flag: Flag<'_>, high: u64) -> Result<(), Error> {
        self.make_room((name.len() + 512) as u64)?;
        apply_group(&mut self.active.table, name, (high, 1), Some(flag))?;
        let table = &self.active.table;
        let Some(id) = table.find(name) else {
            return Ok(());
        };
        let mut text = b"+ ".to_vec();
        push_line(&mut text, table, id);
        self.log_text(Kind::Group, &text);
        Ok(())
    }

    /// Removes a group from active. Its articles stay until they expire. Waits for the next commit.
    pub fn remove_group(&mut self, name: &[u8]) -> Result<(), Error> {
        if self.options.follows_log
            && let Some(group) = self.active.table.find(name)
        {
            let mut line = Vec::new();
            push_removed(&mut line, name, self.active.table.high(group));
            self.log_lines(&mut line)?;
        }
        self.make_room((name.len() + 512) as u64)?;
        apply_group(&mut self.active.table, name, (0, 1), None)?;
        self.log_text(Kind::Group, &[b"- ", name, b"\n"].concat());
        Ok(())
    }

    /// Every block of overview rows of every segment. Rows that wait for a commit are not among them.
    pub(crate) fn each_block(&self, mut each: impl FnMut(&Block<'_>)) -> Result<(), Error> {
        for base in self.segments.bases()? {
            let map = self.segments.map_derived(base, SegmentFile::Ovr)?;
            // A write that failed may have left a part of a block behind the last one.
            let end = match base == self.art.header.base {
                true => self.derived.ovr.end,
                false => u64::MAX,
            };
            let bytes = map.bytes().get(..end as usize).unwrap_or(map.bytes());
            let is_sound = overview::has_sound_tables(bytes);
            if let Some(offset) = map.unreadable_from() {
                let path = self.segments.path(base, SegmentFile::Ovr);
                return Err(Error::unreadable(&path, offset));
            }
            if !is_sound {
                return Err(overview::damaged(&self.segments, base));
            }
            overview::blocks(bytes).for_each(|block| each(&block));
        }
        Ok(())
    }

    /// Logs the whole active file, so that a rebuild need not go back beyond this segment.
    pub(crate) fn log_active(&mut self) {
        if !self.active.table.bad_lines().is_empty() {
            // The last good copy is what a repair needs.
            return;
        }
        let image = self.active.table.image().to_vec();
        if (image.len() as u64) < self.art.header.span / SNAPSHOT_PART {
            self.log_text(Kind::Active, &image);
        }
    }

    /// Raises low marks of active, and nothing else: no article goes. Waits for the next commit. Groups that are not in
    /// active are passed over, as are marks that would not rise.
    ///
    /// # Errors
    /// As [`Spool::append`].
    pub fn set_low_marks(&mut self, marks: &[(&[u8], u64)]) -> Result<(), Error> {
        for some in marks.chunks(1000) {
            let mut text = Vec::new();
            for (name, low) in some {
                // The cut stays: what is below it counts as expired, and its id may be forgotten.
                let cut = self.expired()?.cut(name);
                push_cut(&mut text, name, cut, *low);
            }
            self.log_lines(&mut text)?;
        }
        Ok(())
    }
}

/// Appends the line of a group, as active has it.
pub(crate) fn push_line(text: &mut Vec<u8>, table: &Active, id: GroupId) {
    text.extend_from_slice(table.name(id));
    for number in [table.high(id), table.low(id)] {
        text.push(b' ');
        article::decimal::push(text, number);
    }
    text.push(b' ');
    table.flag(id).push(text);
    text.push(b'\n');
}
