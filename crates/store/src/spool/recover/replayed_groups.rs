//! The groups of a replayed part of the log.

use std::collections::{BTreeMap, BTreeSet};

use groups::Active;

use crate::Error;
use crate::log::place::LogPlace;
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
    logged: Option<LogGroups>,
    /// The groups that have a record, and whether the last one takes the group out. It goes at the end of the replay, so that a group that
    /// comes back keeps its numbers.
    changed: BTreeMap<Vec<u8>, bool>,
    /// The groups whose low mark has a record.
    cut: BTreeSet<Vec<u8>>,
}

/// Whether the table had the groups of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupsFound {
    /// Each group was as the log has it at some place of the replay.
    AsLogged,
    /// Somebody edited the file.
    Edited,
}

/// The groups of the log at a place of the replay.
struct LogGroups {
    /// The table; `None` if the segment has no copy of it before this place.
    table: Option<Active>,
    /// The groups that the log had at no place yet as the file has them.
    unmatched: BTreeSet<Vec<u8>>,
}

impl ReplayedGroups {
    /// Applies the next record, at a place of the log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn apply(
        &mut self,
        table: &mut Active,
        segments: &Segments,
        place: LogPlace,
        record: &Record<'_>,
    ) -> Result<(), Error> {
        if matches!(record.head.kind, Kind::Group | Kind::LowMarks) {
            self.found.get_or_insert_with(|| table.clone());
        }
        if let (None, Kind::Group, Some(found)) = (&self.logged, record.head.kind, &self.found) {
            self.logged = Some(LogGroups::of(told_before(segments, place)?, found));
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
        if let Some(table) = self
            .logged
            .as_mut()
            .and_then(|logged| logged.table.as_mut())
        {
            apply_group_line(table, text);
        }
        for name in names {
            let is_gone = matches!(change, GroupChange::Removed(_));
            self.changed.insert(name.to_vec(), is_gone);
            if let (Some(logged), Some(found)) = (&mut self.logged, &self.found)
                && logged.agrees(found, name)
            {
                logged.unmatched.remove(name);
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
        if let (Some(logged), Some(found)) = (&mut self.logged, &self.found) {
            logged.table = Some(copy);
            logged.compare(found);
        }
    }

    /// Decides on the groups that have a record.
    pub fn finish(self, table: &mut Active) -> GroupsFound {
        let edited = match (self.logged, self.found) {
            (Some(logged), Some(found)) if !logged.unmatched.is_empty() => found,
            _ => {
                for (name, is_gone) in self.changed {
                    if is_gone {
                        let _ = apply_group(table, &name, (0, 1), None);
                    }
                }
                return GroupsFound::AsLogged;
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
        GroupsFound::Edited
    }
}

impl LogGroups {
    fn of(table: Option<Active>, found: &Active) -> LogGroups {
        let mut unmatched = BTreeSet::new();
        if let Some(table) = &table {
            for side in [table, found] {
                unmatched.extend(side.ids().map(|id| side.name(id).to_vec()));
            }
        }
        let mut logged = LogGroups { table, unmatched };
        logged.compare(found);
        logged
    }

    /// Leaves out the groups that the log has now as the file has them.
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
