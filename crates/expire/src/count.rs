//! Counts removals: an article once, when it leaves the last of its groups. Reads only the rows that are removed.

use std::collections::{BTreeMap, HashMap};

use article::xref::Xref;
use store::{ExpiryDecision, ExpiryState, GroupRows, Position, Row, Snapshot, Survey};

/// Approximate size of an article on the disk besides its own bytes and its overview row, bytes: the record's header, the
/// history line, the index of the row.
pub const OVERHEAD_BYTES: u64 = 128;

/// Counts by hierarchy: the part of a group's name before the first dot.
pub type Hierarchies = BTreeMap<Vec<u8>, RemovalCount>;

/// The removals in one hierarchy, or in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovalCount {
    /// Articles, each once, when its last link is removed; in the hierarchy of its first remaining group, by Xref.
    pub articles: u64,
    /// Links (an article in a group).
    pub links: u64,
    /// Bytes of these articles, by overview.
    pub bytes: u64,
    /// Approximate disk space that they free here once reclaimed, bytes: none if an object store has them.
    pub disk_bytes: u64,
    /// Arrival time of the oldest article kept in the hierarchy, seconds since 1970. `None`: none is kept.
    pub oldest_kept: Option<i64>,
}

/// The part of a group's name before the first dot.
pub fn hierarchy(group: &[u8]) -> &[u8] {
    group.split(|&b| b == b'.').next().unwrap_or_default()
}

/// Counts the removals in these segments: in all, and by hierarchy.
pub(crate) fn count<'s>(
    snapshot: &Snapshot,
    surveys: impl Iterator<Item = &'s Survey>,
    expiry: &ExpiryDecision,
) -> (RemovalCount, Hierarchies) {
    let mut hierarchies = Hierarchies::new();
    if expiry.removes_nothing() {
        return (RemovalCount::default(), hierarchies);
    }
    let after = snapshot.expired().after(expiry);
    let links = RemovedLinks::new(snapshot, &after, expiry);
    for survey in surveys {
        // Groups come one after the other.
        let mut group: &[u8] = b"";
        let mut removed = RemovalCount::default();
        let is_here = !survey.is_in_object_store();
        links.each(survey, |link| {
            if link.group != group {
                add(&mut hierarchies, group, &removed);
                (group, removed) = (link.group, RemovalCount::default());
            }
            removed.links += 1;
            if is_last(snapshot.expired(), &after, &link) {
                let bytes = RowTail::of(link.row.text).bytes;
                removed.articles += 1;
                removed.bytes += bytes;
                if is_here {
                    removed.disk_bytes += bytes + overhead_of(link.row.text);
                }
            }
        });
        add(&mut hierarchies, group, &removed);
    }
    let mut total = RemovalCount::default();
    for counts in hierarchies.values() {
        total.articles += counts.articles;
        total.links += counts.links;
        total.bytes += counts.bytes;
        total.disk_bytes += counts.disk_bytes;
    }
    (total, hierarchies)
}

fn add(hierarchies: &mut Hierarchies, group: &[u8], removed: &RemovalCount) {
    if removed.links == 0 {
        return;
    }
    let counts = hierarchies.entry(hierarchy(group).to_vec()).or_default();
    counts.articles += removed.articles;
    counts.links += removed.links;
    counts.bytes += removed.bytes;
    counts.disk_bytes += removed.disk_bytes;
}

/// A link: an article in a group.
pub(crate) struct Link<'a> {
    /// The group.
    pub(crate) group: &'a [u8],
    /// Its overview row there.
    pub(crate) row: Row<'a>,
    /// Position of the article.
    pub(crate) position: Position,
}

/// The links that are removed.
pub(crate) struct RemovedLinks<'p> {
    snapshot: &'p Snapshot,
    after: &'p ExpiryState,
    /// The numbers removed besides those below the cuts, by group.
    gone: HashMap<&'p [u8], Vec<u64>>,
}

impl<'p> RemovedLinks<'p> {
    /// `after` is the expiry state after the decision.
    pub(crate) fn new(
        snapshot: &'p Snapshot,
        after: &'p ExpiryState,
        expiry: &'p ExpiryDecision,
    ) -> RemovedLinks<'p> {
        let mut gone: HashMap<&[u8], Vec<u64>> = HashMap::new();
        for (name, number) in &expiry.gone {
            gone.entry(name).or_default().push(*number);
        }
        RemovedLinks {
            snapshot,
            after,
            gone,
        }
    }

    /// Calls `each` for every link removed from one segment, except those of cancelled articles, which are gone already.
    pub(crate) fn each<'s>(&self, survey: &'s Survey, mut each: impl FnMut(Link<'s>)) {
        let before = self.snapshot.expired();
        for rows in survey.groups() {
            let mut report = |row: Row<'s>| {
                let position = Position(survey.base() + u64::from(row.record));
                if !self.snapshot.is_cancelled(position) {
                    let group = rows.name;
                    each(Link {
                        group,
                        row,
                        position,
                    });
                }
            };
            let (old, new) = (before.cut(rows.name), self.after.cut(rows.name));
            if new > old {
                let some_stay = self.after.survivors(rows.name).next().is_some();
                let some_went = before.early(rows.name).next().is_some();
                for row in rows.range(old, new - 1) {
                    let stays = some_stay && self.after.keeps(rows.name, row.number);
                    let went = some_went && !before.keeps(rows.name, row.number);
                    if !stays && !went {
                        report(row);
                    }
                }
            }
            let Some(gone) = self.gone.get(rows.name) else {
                continue;
            };
            let first = gone.partition_point(|number| *number < rows.number_at(0));
            let here = gone.iter().skip(first);
            for &number in here.take_while(|number| **number <= rows.last_number()) {
                let changes =
                    before.keeps(rows.name, number) && !self.after.keeps(rows.name, number);
                if changes && (number >= new || number < old) {
                    rows.range(number, number).for_each(&mut report);
                }
            }
        }
    }
}

/// Number of links that have not expired, those of cancelled articles included. Reads no row of a group without exceptions.
pub(crate) fn unexpired_links(expired: &ExpiryState, surveys: &[Survey]) -> u64 {
    let in_rows = |rows: GroupRows<'_>| {
        let span = (rows.number_at(0), rows.last_number());
        let is_here = |number: &u64| rows.number_at(rows.place_of(*number)) == *number;
        let above = rows.len() - rows.place_of(expired.cut(rows.name));
        let survivors = expired.survivors_in(rows.name, span).filter(is_here);
        let early = expired.early_in(rows.name, span).filter(is_here);
        (above + survivors.count()).saturating_sub(early.count()) as u64
    };
    surveys.iter().flat_map(Survey::groups).map(in_rows).sum()
}

/// Number of links that readers can reach. Reads all rows.
pub(crate) fn live_links(snapshot: &Snapshot, surveys: &[Survey]) -> u64 {
    let in_survey = |survey: &Survey| {
        let in_rows = |rows: GroupRows<'_>| {
            let is_alive = |row: &Row<'_>| {
                let position = Position(survey.base() + u64::from(row.record));
                snapshot.is_alive_in(rows.name, row.number, position)
            };
            let rows = rows.range(snapshot.expired().low(rows.name), u64::MAX);
            rows.filter(is_alive).count() as u64
        };
        survey.groups().map(in_rows).sum::<u64>()
    };
    surveys.iter().map(in_survey).sum()
}

/// Whether an article is removed completely with this link: none of its links is kept, and this is the first of those that it
/// still had.
fn is_last(before: &ExpiryState, after: &ExpiryState, link: &Link<'_>) -> bool {
    let Some(mut links) = cross_posts(link.row.text) else {
        return true;
    };
    if links
        .clone()
        .any(|(group, number)| after.keeps(group, number))
    {
        return false;
    }
    let own = (link.group, link.row.number);
    links.find(|(group, number)| before.keeps(group, *number)) == Some(own)
}

/// Whether this is the first kept link of an article, so that each article is counted once.
pub(crate) fn is_first(before: &ExpiryState, link: &Link<'_>) -> bool {
    cross_posts(link.row.text).is_none_or(|mut links| {
        links.find(|(group, number)| before.keeps(group, *number))
            == Some((link.group, link.row.number))
    })
}

/// The links of a row's Xref, if there is more than one.
fn cross_posts(row: &[u8]) -> Option<impl Iterator<Item = (&[u8], u64)> + Clone> {
    let xref = RowTail::of(row).xref;
    // The host, a link, and another one.
    memchr::memchr_iter(b' ', xref).nth(1)?;
    let links = Xref::parse(xref).links();
    links.clone().nth(1).is_some().then_some(links)
}

/// The last fields of an overview row, parsed from the end, where the fields are short.
#[derive(Default)]
struct RowTail<'r> {
    /// The bytes of the article: the field before the lines.
    bytes: u64,
    /// The value of Xref; empty if there is none.
    xref: &'r [u8],
}

impl<'r> RowTail<'r> {
    fn of(row: &'r [u8]) -> RowTail<'r> {
        RowTail::read(row).unwrap_or_default()
    }

    fn read(row: &'r [u8]) -> Option<RowTail<'r>> {
        let (mut rest, last) = split_last(row.strip_suffix(b"\r\n").unwrap_or(row))?;
        // Fields contain no tabs, and the field of lines is a number: so this is the optional field and no other.
        let xref = last.strip_prefix(b"Xref: ");
        if xref.is_some() {
            rest = split_last(rest)?.0;
        }
        let bytes = article::decimal::parse(split_last(rest)?.1)?;
        Some(RowTail {
            bytes,
            xref: xref.unwrap_or_default(),
        })
    }
}

/// Splits off the last field of a row.
fn split_last(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, last) = row.split_at_checked(memchr::memrchr(b'\t', row)?)?;
    Some((rest, last.get(1..)?))
}

/// Approximate size of an article and its row on the disk, bytes.
pub fn disk_bytes_of(row: &[u8]) -> u64 {
    RowTail::of(row).bytes + overhead_of(row)
}

fn overhead_of(row: &[u8]) -> u64 {
    row.len() as u64 + OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_contains_its_bytes_and_its_other_groups() {
        let row = b"7\ts\tf\td\t<1@a>\t\t294\t1\tXref: h a.x:7 b:9\r\n";
        assert_eq!(RowTail::of(row).bytes, 294);
        let links: Vec<_> = cross_posts(row).unwrap().collect();
        assert_eq!(links, [(&b"a.x"[..], 7), (b"b", 9)]);
        let alone = b"7\ts\tf\td\t<1@a>\t\t294\t1\tXref: h a.x:7\r\n";
        assert!(cross_posts(alone).is_none());
        assert_eq!(RowTail::of(b"7\ts\tf\td\t<1@a>\t\t294\t1\r\n").bytes, 294);
        assert_eq!(RowTail::of(b"7\tshort\r\n").bytes, 0);
        // A Subject that looks like the optional field.
        let odd = b"7\tXref: h a:1 b:2\tf\td\t<1@a>\t\t294\t1\r\n";
        assert!(cross_posts(odd).is_none());
        assert_eq!(hierarchy(b"comp.lang.c"), b"comp");
    }
}
