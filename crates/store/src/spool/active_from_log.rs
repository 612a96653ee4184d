//! The active table as the log describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use article::decimal;
use groups::{Active, AddGroupError, Flag, GroupId};

use crate::Error;
use crate::history::HistoryLine;
use crate::log::record::{Kind, Record};
use crate::log::segments::Segments;

/// The active table as the log tells it: the last whole copy, then every change and every number since.
pub fn rebuild_active(segments: &Segments, dir: &Path) -> Result<Active, Error> {
    let table = told_before(segments, (u64::MAX, 0))?;
    table.ok_or_else(|| Error::Active {
        path: dir.join("active"),
        what:
            "missing, and the log has no copy of it: give one with `broadsheet init --active FILE`"
                .into(),
    })
}

/// As [`rebuild_active`], before the record at an offset of a segment; `None` if the log has no copy there.
fn told_before(segments: &Segments, (last, end): (u64, u64)) -> Result<Option<Active>, Error> {
    let mut table = None;
    let mut from = 0;
    let mut bases = segments.bases()?;
    bases.retain(|&base| base <= last);
    let is_before = |base: u64, offset: u64| base < last || offset < end;
    for (place, &base) in bases.iter().enumerate().rev() {
        let mut has_copy = false;
        segments.each_record(base, |offset, record| {
            has_copy |= record.head.kind == Kind::Active && is_before(base, offset);
        })?;
        if has_copy {
            from = place;
            break;
        }
    }
    for &base in bases.get(from..).unwrap_or_default() {
        segments.each_record(base, |offset, record| {
            match (record.head.kind, &mut table) {
                _ if !is_before(base, offset) => {}
                (Kind::Active, _) => {
                    table = Active::parse(record.line().to_vec()).ok().or(table.take())
                }
                (_, Some(table)) => apply_to_active(table, record),
                _ => {}
            }
        })?;
    }
    Ok(table)
}

pub fn apply_to_active(table: &mut Active, record: &Record<'_>) {
    match record.head.kind {
        Kind::Article => raise_high_marks(table, record.line()),
        Kind::LowMarks => apply_low_marks(table, record.line()),
        Kind::Group => apply_group_line(table, record.line()),
        Kind::Seen
        | Kind::Cancel
        | Kind::Active
        | Kind::PendingCancel
        | Kind::Serials
        | Kind::Descriptions
        | Kind::Creations
        | Kind::Applied
        | Kind::Pad
        | Kind::Relocation
        | Kind::Hole => {}
    }
}

/// Raises high marks to the numbers of a history line.
pub fn raise_high_marks(table: &mut Active, line: &[u8]) {
    let Some(line) = HistoryLine::parse(line) else {
        return;
    };
    for (name, number) in line.links() {
        if let Some(id) = table.find(name)
            && table.high(id) < number
        {
            table.set_high(id, number);
        }
    }
}

/// Raises low marks from lines of `group low` or `group cut low`; other lines are for [`crate::ExpiryState`].
pub fn apply_low_marks(table: &mut Active, text: &[u8]) {
    for line in text.split(|&b| b == b'\n') {
        let mut words = line.split(|&b| b == b' ');
        let (Some(name), Some(cut)) = (words.next(), words.next().and_then(decimal::parse)) else {
            continue;
        };
        let low = words.next().and_then(decimal::parse).unwrap_or(cut);
        if let Some(id) = table.find(name)
            && table.low(id) < low
        {
            table.set_low(id, low);
        }
    }
}

/// Applies a change of a group, in the words of its record.
pub fn apply_group_line(table: &mut Active, text: &[u8]) {
    // A change that cannot be made again (the group is there, or gone) was made by hand meanwhile.
    match GroupChange::parse(text) {
        Some(GroupChange::Removed(name)) => {
            let _ = apply_group(table, name, (0, 1), None);
        }
        Some(GroupChange::Set(groups)) => {
            for id in groups.ids() {
                let _ = apply_group_of(table, &groups, id);
            }
        }
        None => {}
    }
}

/// A record of a change of groups.
enum GroupChange<'a> {
    /// `- NAME`
    Removed(&'a [u8]),
    /// `+ NAME HIGH LOW FLAG`; more lines have more groups.
    Set(Active),
}

impl GroupChange<'_> {
    fn parse(text: &[u8]) -> Option<GroupChange<'_>> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        if let Some(name) = text.strip_prefix(b"- ") {
            return Some(GroupChange::Removed(name));
        }
        let lines = text.strip_prefix(b"+ ")?;
        let groups = Active::parse([lines, b"\n"].concat()).ok()?;
        Some(GroupChange::Set(groups))
    }
}

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

/// Applies the state of a group in another table.
fn apply_group_of(table: &mut Active, other: &Active, id: GroupId) -> Result<(), AddGroupError> {
    let numbers = (other.high(id), other.low(id));
    apply_group(table, other.name(id), numbers, Some(other.flag(id)))
}

/// Adds a group with its numbers, or changes the flag of one that is there and raises its high mark; without a flag, removes it.
/// Doing it twice changes nothing.
pub fn apply_group(
    table: &mut Active,
    name: &[u8],
    (high, low): (u64, u64),
    flag: Option<Flag<'_>>,
) -> Result<(), AddGroupError> {
    match (table.find(name), flag) {
        (Some(id), Some(flag)) => {
            if table.high(id) < high {
                table.set_high(id, high);
            }
            table.set_flag(id, flag)
        }
        (Some(id), None) => table.remove(id),
        (None, Some(flag)) => table.add_numbered(name, high, low, flag).map(drop),
        (None, None) => Ok(()),
    }
}
