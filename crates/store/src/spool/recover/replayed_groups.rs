//! The groups of a replayed part of the log.

use std::collections::{BTreeMap, BTreeSet};

use groups::Active;

use crate::Error;
use crate::log::record::{Kind, Record};
use crate::log::segments::Segments;
use crate::spool::active_from_log::{
    GroupChange, apply_group, apply_group_line, apply_group_of, apply_low_marks, apply_to_active,
    told_before,
};

/// Applies the groups of a replayed part of the log to a table that may know some of it, and what came later.
///
/// A record of a group says what held then. A copy of the whole table that comes later in the log outranks it: so does the edit of an
/// administrator, which is logged as a copy. What such a copy says of groups without a record may be older than the table.
///
/// A power cut may leave the flags of several commits in the file, since its pages reach the disk one by one. But where a group has a flag,
/// or is there, or is missing, as the log tells at no place of the replay, an administrator edited the file, and nobody has taken the edit up:
/// the groups of the file stay.
#[derive(Default)]
pub struct ReplayedGroups {
    /// The table before the first record that changes more than high marks.
    found: Option<Active>,
    /// The groups of the log, from the first record of a group on.
    told: Option<Told>,
    /// The groups that have a record, and whether the last one takes the group out. It goes at the end of the replay, so that a group that
    /// comes back keeps its numbers.
    changed: BTreeMap<Vec<u8>, bool>,
    /// The groups whose low mark has a record.
    cut: BTreeSet<Vec<u8>>,
}

/// The groups of the log at a place of the replay.
struct Told {
    /// The table; `None` if the segment has no copy that tells it.
    table: Option<Active>,
    /// The groups that the log has told at no place yet as the file has them.
    unmatched: BTreeSet<Vec<u8>>,
}

impl ReplayedGroups {
    /// Applies the next record, at an offset of a segment.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn apply(
        &mut self,
        table: &mut Active,
        segments: &Segments,
        place: (u64, u64),
        record: &Record<'_>,
    ) -> Result<(), Error> {
        if matches!(record.head.kind, Kind::Group | Kind::LowMarks) {
            self.found.get_or_insert_with(|| table.clone());
        }
        if let (None, Kind::Group, Some(found)) = (&self.told, record.head.kind, &self.found) {
            self.told = Some(Told::of(told_before(segments, place)?, found));
        }
        match record.head.kind {
            Kind::Group => self.change(table, record.line()),
            Kind::Active => self.outrank(table, record.line()),
            Kind::LowMarks => {
                let lines = record.line().split(|&byte| byte == b'\n');
                let names = lines.filter_map(|line| line.split(|&byte| byte == b' ').next());
                self.cut.extend(names.map(<[u8]>::to_vec));
                apply_low_marks(table, record.line());
            }
            _ => apply_to_active(table, record),
        }
        Ok(())
    }

    fn change(&mut self, table: &mut Active, text: &[u8]) {
        let Some(change) = GroupChange::parse(text) else {
            return;
        };
        let names: Vec<&[u8]> = match &change {
            GroupChange::Removed(name) => vec![name],
            GroupChange::Set(groups) => {
                for id in groups.ids() {
                    let _ = apply_group_of(table, groups, id);
                }
                groups.ids().map(|id| groups.name(id)).collect()
            }
        };
        if let Some(told) = self.told.as_mut().and_then(|told| told.table.as_mut()) {
            apply_group_line(told, text);
        }
        for name in names {
            let is_gone = matches!(change, GroupChange::Removed(_));
            self.changed.insert(name.to_vec(), is_gone);
            if let (Some(told), Some(found)) = (&mut self.told, &self.found)
                && told.agrees(found, name)
            {
                told.unmatched.remove(name);
            }
        }
    }

    fn outrank(&mut self, table: &mut Active, copy: &[u8]) {
        if self.changed.is_empty() && self.cut.is_empty() {
            return;
        }
        let Ok(copy) = Active::parse(copy.to_vec()) else {
            return;
        };
        for (name, is_gone) in &mut self.changed {
            let here = copy.find(name);
            *is_gone = here.is_none();
            if let Some(id) = here {
                let _ = apply_group_of(table, &copy, id);
            }
        }
        for name in &self.cut {
            if let (Some(here), Some(there)) = (table.find(name), copy.find(name)) {
                table.set_low(here, copy.low(there));
            }
        }
        if let (Some(told), Some(found)) = (&mut self.told, &self.found) {
            told.table = Some(copy);
            told.compare(found);
        }
    }

    /// Decides on the groups that have a record. Returns whether the table was edited.
    pub fn finish(self, table: &mut Active) -> bool {
        let edited = match (self.told, self.found) {
            (Some(told), Some(found)) if !told.unmatched.is_empty() => found,
            _ => {
                for (name, is_gone) in self.changed {
                    if is_gone {
                        let _ = apply_group(table, &name, (0, 1), None);
                    }
                }
                return false;
            }
        };
        for name in self.changed.into_keys() {
            let flag = edited.find(&name).map(|id| edited.flag(id));
            let _ = apply_group(table, &name, (0, 1), flag);
        }
        for name in self.cut {
            if let (Some(here), Some(there)) = (table.find(&name), edited.find(&name)) {
                table.set_low(here, edited.low(there));
            }
        }
        true
    }
}

impl Told {
    fn of(table: Option<Active>, found: &Active) -> Told {
        let mut unmatched = BTreeSet::new();
        if let Some(table) = &table {
            for side in [table, found] {
                unmatched.extend(side.ids().map(|id| side.name(id).to_vec()));
            }
        }
        let mut told = Told { table, unmatched };
        told.compare(found);
        told
    }

    /// Leaves out the groups that the log tells now as the file has them.
    fn compare(&mut self, found: &Active) {
        let mut unmatched = std::mem::take(&mut self.unmatched);
        unmatched.retain(|name| !self.agrees(found, name));
        self.unmatched = unmatched;
    }

    fn agrees(&self, found: &Active, name: &[u8]) -> bool {
        let here = found.find(name).map(|id| found.flag(id));
        let table = self.table.as_ref();
        table.is_none_or(|table| here == table.find(name).map(|id| table.flag(id)))
    }
}
