//! Counting what goes: an article once, when it leaves the last of its groups. Only rows that go are looked at.

use std::collections::{BTreeMap, HashMap};

use article::xref::Xref;
use store::{ExpiryDecision, ExpiryState, Position, Reader, Row, Survey};

/// What an article takes up on the disk beside its own bytes and its overview row, about: the record's header, its
/// history line, the place of the row.
pub const BESIDE_BYTES: u64 = 128;

/// By hierarchy: the part of a group's name before the first dot.
pub type Hierarchies = BTreeMap<Vec<u8>, Going>;

/// What goes, in one hierarchy or in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Going {
    /// Articles, each once, when its last link goes; in the hierarchy of the first group, by Xref, that it still was in.
    pub articles: u64,
    /// Links (an article in a group).
    pub links: u64,
    /// Bytes of those articles, as overview tells them.
    pub bytes: u64,
    /// About the bytes of the disk that come back for them, when all of it has been given back.
    pub room: u64,
    /// When the oldest article arrived that stays in a group of the hierarchy, epoch seconds. `None`: none stays.
    pub oldest_kept: Option<i64>,
}

/// The part of a group's name before the first dot.
pub fn hierarchy(group: &[u8]) -> &[u8] {
    group.split(|&b| b == b'.').next().unwrap_or_default()
}

/// Counts what goes in these segments: in all, and by hierarchy.
pub(crate) fn count<'s>(
    reader: &Reader,
    surveys: impl Iterator<Item = &'s Survey>,
    expiry: &ExpiryDecision,
) -> (Going, Hierarchies) {
    let mut hierarchies = Hierarchies::new();
    if expiry.removes_nothing() {
        return (Going::default(), hierarchies);
    }
    let after = reader.expired().after(expiry);
    let leaving = Leaving::new(reader, &after, expiry);
    for survey in surveys {
        // Of one group after the other.
        let mut group: &[u8] = b"";
        let mut going = Going::default();
        leaving.each(survey, |link| {
            if link.group != group {
                add(&mut hierarchies, group, &going);
                (group, going) = (link.group, Going::default());
            }
            going.links += 1;
            if is_last(reader.expired(), &after, &link) {
                let bytes = Tail::of(link.row.text).bytes;
                going.articles += 1;
                going.bytes += bytes;
                going.room += bytes + beside_of(link.row.text);
            }
        });
        add(&mut hierarchies, group, &going);
    }
    let mut total = Going::default();
    for told in hierarchies.values() {
        total.articles += told.articles;
        total.links += told.links;
        total.bytes += told.bytes;
        total.room += told.room;
    }
    (total, hierarchies)
}

fn add(hierarchies: &mut Hierarchies, group: &[u8], going: &Going) {
    if going.links == 0 {
        return;
    }
    let told = hierarchies.entry(hierarchy(group).to_vec()).or_default();
    told.articles += going.articles;
    told.links += going.links;
    told.bytes += going.bytes;
    told.room += going.room;
}

/// An article in a group.
pub(crate) struct Link<'a> {
    /// The group.
    pub(crate) group: &'a [u8],
    /// Its overview row there.
    pub(crate) row: Row<'a>,
    /// Where the article is.
    pub(crate) position: Position,
}

/// The links that go.
pub(crate) struct Leaving<'p> {
    reader: &'p Reader,
    after: &'p ExpiryState,
    /// Outside of what the cuts take, by group.
    gone: HashMap<&'p [u8], Vec<u64>>,
}

impl<'p> Leaving<'p> {
    /// `after`: what will have expired then.
    pub(crate) fn new(
        reader: &'p Reader,
        after: &'p ExpiryState,
        expiry: &'p ExpiryDecision,
    ) -> Leaving<'p> {
        let mut gone: HashMap<&[u8], Vec<u64>> = HashMap::new();
        for (name, number) in &expiry.gone {
            gone.entry(name).or_default().push(*number);
        }
        Leaving {
            reader,
            after,
            gone,
        }
    }

    /// Calls `each` for every link of one segment that goes. Cancelled articles went before.
    pub(crate) fn each<'s>(&self, survey: &'s Survey, mut each: impl FnMut(Link<'s>)) {
        let before = self.reader.expired();
        for rows in survey.groups() {
            let mut tell = |row: Row<'s>| {
                let position = Position(survey.base() + u64::from(row.record));
                if !self.reader.is_cancelled(position) {
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
                        tell(row);
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
                    rows.range(number, number).for_each(&mut tell);
                }
            }
        }
    }
}

/// True when an article goes for good with this link: nothing of it is kept, and of the links that it still had this is
/// the first.
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

/// True when this is the first link of an article that is still kept: so that each article is met once.
pub(crate) fn is_first(before: &ExpiryState, link: &Link<'_>) -> bool {
    cross_posts(link.row.text).is_none_or(|mut links| {
        links.find(|(group, number)| before.keeps(group, *number))
            == Some((link.group, link.row.number))
    })
}

/// The links of a row's Xref, if there is more than one.
fn cross_posts(row: &[u8]) -> Option<impl Iterator<Item = (&[u8], u64)> + Clone> {
    let xref = Tail::of(row).xref;
    // The host, a link, and another one.
    memchr::memchr_iter(b' ', xref).nth(1)?;
    let links = Xref::parse(xref).links();
    links.clone().nth(1).is_some().then_some(links)
}

/// The end of an overview row, read from behind, where its fields are short.
#[derive(Default)]
struct Tail<'r> {
    /// The bytes of the article: the field before the lines.
    bytes: u64,
    /// The value of Xref; empty if there is none.
    xref: &'r [u8],
}

impl<'r> Tail<'r> {
    fn of(row: &'r [u8]) -> Tail<'r> {
        Tail::read(row).unwrap_or_default()
    }

    fn read(row: &'r [u8]) -> Option<Tail<'r>> {
        let (mut rest, last) = split_last(row.strip_suffix(b"\r\n").unwrap_or(row))?;
        // Fields hold no tabs, and that of lines is a number: this is the optional field and no other.
        let xref = last.strip_prefix(b"Xref: ");
        if xref.is_some() {
            rest = split_last(rest)?.0;
        }
        let bytes = article::decimal::parse(split_last(rest)?.1)?;
        Some(Tail {
            bytes,
            xref: xref.unwrap_or_default(),
        })
    }
}

/// A row without its last field, and that.
fn split_last(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, last) = row.split_at_checked(memchr::memrchr(b'\t', row)?)?;
    Some((rest, last.get(1..)?))
}

/// About the bytes that an article and its row take up on the disk.
pub fn room_of(row: &[u8]) -> u64 {
    Tail::of(row).bytes + beside_of(row)
}

fn beside_of(row: &[u8]) -> u64 {
    row.len() as u64 + BESIDE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_its_bytes_and_its_other_groups() {
        let row = b"7\ts\tf\td\t<1@a>\t\t294\t1\tXref: h a.x:7 b:9\r\n";
        assert_eq!(Tail::of(row).bytes, 294);
        let links: Vec<_> = cross_posts(row).unwrap().collect();
        assert_eq!(links, [(&b"a.x"[..], 7), (b"b", 9)]);
        let alone = b"7\ts\tf\td\t<1@a>\t\t294\t1\tXref: h a.x:7\r\n";
        assert!(cross_posts(alone).is_none());
        assert_eq!(Tail::of(b"7\ts\tf\td\t<1@a>\t\t294\t1\r\n").bytes, 294);
        assert_eq!(Tail::of(b"7\tshort\r\n").bytes, 0);
        // A Subject that looks like the optional field.
        let odd = b"7\tXref: h a:1 b:2\tf\td\t<1@a>\t\t294\t1\r\n";
        assert!(cross_posts(odd).is_none());
        assert_eq!(hierarchy(b"comp.lang.c"), b"comp");
    }
}
