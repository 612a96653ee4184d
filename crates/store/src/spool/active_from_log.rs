//! The active table as the log describes it.

use std::path::Path;

use article::decimal;
use groups::{Active, AddGroupError, Flag, GroupId};

use crate::Error;
use crate::history::{self, HistoryLine};
use crate::io::disk::Open;
use crate::log::place::LogPlace;
use crate::log::record::{Kind, Record};
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// The active table as the log tells it: the last whole copy, then every change and every number since.
pub fn rebuild_active(segments: &Segments, dir: &Path) -> Result<Active, Error> {
    let mut table = None;
    let mut from = 0;
    let bases = segments.bases()?;
    for (place, &base) in bases.iter().enumerate().rev() {
        let mut has_copy = false;
        segments.each_record(base, |_, record| {
            has_copy |= record.head.kind == Kind::Active
        })?;
        if has_copy {
            from = place;
            break;
        }
    }
    for &base in bases.get(from..).unwrap_or_default() {
        segments.each_record(base, |_, record| tell(&mut table, record))?;
    }
    table.ok_or_else(|| Error::Active {
        path: dir.join("active"),
        what:
            "missing, and the log has no copy of it: give one with `broadsheet init --active FILE`"
                .into(),
    })
}

/// The active table before the record at a place of the log, as its segment has it; `None` if it has no copy before that. No older
/// segment is read.
pub fn told_before(segments: &Segments, place: LogPlace) -> Result<Option<Active>, Error> {
    let mut table = None;
    segments.each_record(place.base, |offset, record| {
        if offset < place.offset {
            tell(&mut table, record);
        }
    })?;
    Ok(table)
}

/// The active table at the beginning of a segment with the numbers that its history gives; later changes of groups are not in it. A segment
/// without a copy at its beginning tells of the groups of `table` which numbers it has.
pub fn told_roughly(segments: &Segments, base: u64, table: &Active) -> Result<Active, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments.open(base, SegmentFile::Art, Open::Read);
    let file = file.map_err(at)?;
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    let mut told = None;
    if let Some(Step::Record(_, record)) = walk.next().map_err(at)? {
        tell(&mut told, &record);
    }
    let mut told = told.unwrap_or_else(|| {
        let mut groups = table.clone();
        for id in table.ids() {
            groups.set_high(id, 0);
        }
        groups
    });
    let path = segments.path(base, SegmentFile::His);
    let at = |source| Error::io("read", &path, source);
    let history = segments.open(base, SegmentFile::His, Open::Read);
    let history = history.map_err(at)?;
    let map = history.map(history.length().map_err(at)?).map_err(at)?;
    for (_, line) in history::lines(map.bytes()) {
        raise_high_marks(&mut told, line);
    }
    Ok(told)
}

/// Applies the next record of the log to the table that the records before it tell.
fn tell(table: &mut Option<Active>, record: &Record<'_>) {
    match (record.head.kind, table.as_mut()) {
        (Kind::Active, _) => {
            if let Ok(copy) = Active::parse(record.line().to_vec()) {
                *table = Some(copy);
            }
        }
        (_, Some(table)) => apply_to_active(table, record),
        _ => {}
    }
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
pub enum GroupChange<'a> {
    /// `- NAME`
    Removed(&'a [u8]),
    /// `+ NAME HIGH LOW FLAG`; more lines have more groups.
    Set(Active),
}

impl GroupChange<'_> {
    pub fn parse(text: &[u8]) -> Option<GroupChange<'_>> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        if let Some(name) = text.strip_prefix(b"- ") {
            return Some(GroupChange::Removed(name));
        }
        let lines = text.strip_prefix(b"+ ")?;
        let groups = Active::parse([lines, b"\n"].concat()).ok()?;
        Some(GroupChange::Set(groups))
    }
}

/// Applies the state of a group in another table.
pub fn apply_group_of(
    table: &mut Active,
    other: &Active,
    id: GroupId,
) -> Result<(), AddGroupError> {
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
