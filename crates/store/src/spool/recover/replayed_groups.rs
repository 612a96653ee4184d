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
/// A table whose names and flags are not those of the log at any place of the replay was edited, and nobody has taken the edit up: they
/// stay.
#[derive(Default)]
pub struct ReplayedGroups {
    /// The table before the first record that changes more than high marks.
    found: Option<Active>,
    /// What the log tells.
    told: Option<Told>,
    /// The log told the groups of `found` at some place, or cannot tell.
    was_told: bool,
    /// The groups that have a record, and whether the last one takes the group out. It goes at the end of the replay, so that a group that
    /// comes back keeps its numbers.
    changed: BTreeMap<Vec<u8>, bool>,
    /// The groups whose low mark has a record.
    cut: BTreeSet<Vec<u8>>,
}

/// The table of the log at a place.
struct Told {
    table: Active,
    /// The groups that are not there in `found`, or with another flag, or only there.
    differing: BTreeSet<Vec<u8>>,
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
        if self.told.is_none() && !self.was_told && record.head.kind == Kind::Group {
            let told = told_before(segments, place)?;
            self.told = told.map(|table| Told {
                table,
                differing: BTreeSet::new(),
            });
            // Without a copy nothing tells.
            self.was_told = self.told.is_none();
            self.compare_all();
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
        let names: Vec<Vec<u8>> = match GroupChange::parse(text) {
            Some(GroupChange::Removed(name)) => {
                self.changed.insert(name.to_vec(), true);
                vec![name.to_vec()]
            }
            Some(GroupChange::Set(groups)) => {
                for id in groups.ids() {
                    self.changed.insert(groups.name(id).to_vec(), false);
                    let _ = apply_group_of(table, &groups, id);
                }
                groups.ids().map(|id| groups.name(id).to_vec()).collect()
            }
            None => Vec::new(),
        };
        if let (Some(told), Some(found)) = (&mut self.told, &self.found) {
            apply_group_line(&mut told.table, text);
            for name in names {
                told.compare(&name, found);
            }
            self.was_told |= told.differing.is_empty();
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
        if let Some(told) = &mut self.told {
            told.table = copy;
            self.compare_all();
        }
    }

    fn compare_all(&mut self) {
        let (Some(told), Some(found)) = (&mut self.told, &self.found) else {
            return;
        };
        let tables = [&told.table, found].map(|table| {
            let names = table.ids().map(|id| table.name(id).to_vec());
            names.collect::<Vec<Vec<u8>>>()
        });
        told.differing.clear();
        for name in tables.concat() {
            told.compare(&name, found);
        }
        self.was_told |= told.differing.is_empty();
    }

    /// Decides on the groups that have a record. Returns whether the table was edited.
    pub fn finish(self, table: &mut Active) -> bool {
        let edited = match (self.told, self.found) {
            (Some(_), Some(found)) if !self.was_told => found,
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
    fn compare(&mut self, name: &[u8], found: &Active) {
        let here = found.find(name).map(|id| found.flag(id));
        let told = self.table.find(name).map(|id| self.table.flag(id));
        match here == told {
            true => self.differing.remove(name),
            false => self.differing.insert(name.to_vec()),
        };
    }
}
