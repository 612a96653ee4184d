//! Where the rows of each group lie: in which blocks of which segments. Found once for each group that is asked for; what is
//! committed since is added, so that nobody walks the blocks of the current segment twice.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hashbrown::HashMap;

use crate::history::HistoryLine;
use crate::io::growing_map::GrowingMap;
use crate::log::record::Record;
use crate::log::segments::SegmentFile;
use crate::overview::parts::{CheckedBlock, Damaged, SoundParts};
use crate::overview::{self, Block, GroupRows, Row};
use crate::read::log_view::LogView;
use crate::read::open_segments::OpenSegments;
use crate::read::visible_rows::{PositionFinder, VisibleRows};
use crate::{Error, Position};

/// Extents kept for groups that were asked for; beyond that they are forgotten and found again. Of 56 bytes each.
const EXTENTS_KEPT: usize = 1 << 20;
/// Damage of rows that are left out.
const ROWS_DAMAGED: &str = "rows are damaged and left out of answers";
/// Damage of blocks that are left out.
const BLOCK_DAMAGED: &str = "a block of rows is damaged and left out of answers";
/// Rows looked at before they are handed on.
pub const ROWS_AT_ONCE: usize = 1024;

/// The checked part of rows that are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Their numbers, and where their articles are.
    Numbers,
    /// Their text as well: what is damaged is left out.
    Text,
}

/// Where the rows of the groups lie that were asked for.
#[derive(Debug, Default)]
pub struct GroupIndex {
    /// The rows of each segment, by its base.
    maps: BTreeMap<u64, SegmentRows>,
    current: Current,
    groups: HashMap<Vec<u8>, Known>,
    kept: usize,
    /// Damage that was met since it was asked for.
    damage: Option<Error>,
}

/// The rows of a segment: mapped, and verified where they were read.
#[derive(Debug, Default)]
struct SegmentRows {
    live: GrowingMap,
    sound: SoundParts,
}

/// The rows of one group in one block. The tables of the block that lead to them are verified.
#[derive(Debug, Clone)]
struct Extent {
    /// The segment.
    base: u64,
    /// Where the block begins in its file.
    block: usize,
    /// The group's place in the block.
    place: u32,
    rows: u32,
    first: u64,
    last: u64,
    /// The greatest number in this extent and those before it. (Those of late articles do not ascend.)
    reach: u64,
    /// The place of the block's header in the verified parts of its file.
    part: u32,
}

/// The segment that is filed into: a block a commit.
#[derive(Debug, Default)]
struct Current {
    base: u64,
    /// Bytes of it that were looked through.
    read: usize,
    /// Places in the verified parts that its blocks have.
    parts: usize,
    /// Where its rows are damaged.
    damage: Option<(u64, usize)>,
    groups: HashMap<Vec<u8>, Vec<Extent>>,
}

/// The index of one group.
#[derive(Debug, Default)]
struct Known {
    /// By first number.
    extents: Vec<Extent>,
    /// Those of segments from here on are among them ...
    from: u64,
    /// ... up to here: the current one, of which so many are.
    until: u64,
    current: usize,
    /// Where tables are damaged that may lead to rows of the group: in the overview of a segment, at a byte.
    damage: Option<(u64, usize)>,
}

/// Rows of an extent, as they lie in the map.
#[derive(Clone, Copy)]
struct Spot<'c> {
    live: &'c GrowingMap,
    base: u64,
    rows: GroupRows<'c>,
    text_at: usize,
    block: CheckedBlock<'c, 'c>,
}

/// Rows that come next: those of a place, up to a number.
struct Ahead<'c> {
    spot: Spot<'c>,
    place: usize,
    number: u64,
    to: u64,
}

/// Numbers that expired early which a count looks up, so that many of them cost it little.
const EARLY_LOOKUPS: usize = 10_000;

impl GroupIndex {
    /// Damage of rows that was met since this was asked for the last time.
    pub fn take_damage(&mut self) -> Option<Error> {
        self.damage.take()
    }

    /// Hands on the rows of a group with numbers in a range, ascending, in stretches of at most so many rows. Where rows are dead, the
    /// stretch is empty. Of rows whose text is damaged those are handed on that agree with the articles.
    ///
    /// # Errors
    /// The overview of a segment cannot be read.
    pub fn walk<B>(
        &mut self,
        (log, articles): (&LogView, &mut OpenSegments),
        group: &[u8],
        ((low, high), at_once, look): ((u64, u64), usize, Look),
        mut each: impl FnMut(&VisibleRows<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        self.find_all(log, group)?;
        let mut tally = PositionFinder::new(log, group);
        let mut from = Some(low.max(log.expired.low(group)));
        let mut damage = None;
        while let Some(ahead) = from.and_then(|from| self.ahead(group, from, high)) {
            let spot = &ahead.spot;
            let end = match ahead.to.checked_add(1) {
                Some(behind) => spot.rows.place_of(behind),
                None => spot.rows.len(),
            };
            let mut place = ahead.place;
            while place < end {
                let most = end.min(place.saturating_add(at_once.max(1)));
                let (mut is_alive, mut next) = tally.stretch(spot.base, &spot.rows, (place, most));
                if is_alive && look == Look::Text {
                    (is_alive, next) = spot.stretch((place, next), |row| {
                        is_of_its_article(row, (log, articles), (spot.base, group))
                    });
                    if !is_alive {
                        damage = Some((spot.base, spot.text_at + spot.rows.text_start(place)));
                    }
                }
                let living = VisibleRows {
                    live: spot.live,
                    base: spot.base,
                    rows: spot.rows,
                    text_at: spot.text_at,
                    places: (place, if is_alive { next } else { place }),
                    next,
                };
                if let ControlFlow::Break(told) = each(&living) {
                    self.note_damage(log, damage, ROWS_DAMAGED);
                    return Ok(ControlFlow::Break(told));
                }
                place = next;
            }
            from = ahead.to.checked_add(1);
        }
        self.note_damage(log, damage, ROWS_DAMAGED);
        Ok(ControlFlow::Continue(()))
    }

    /// Remembers where damage was met: in the overview of a segment, at a byte.
    fn note_damage(&mut self, log: &LogView, place: Option<(u64, usize)>, what: &'static str) {
        if let Some(place) = place {
            self.damage = Some(damaged(log, place, what));
        }
    }

    /// Where the article with a number in a group is, if it is alive. The newest segments are looked at first, and no more than needed.
    ///
    /// # Errors
    /// As [`GroupIndex::walk`].
    pub fn position(
        &mut self,
        log: &LogView,
        group: &[u8],
        number: u64,
    ) -> Result<Option<Position>, Error> {
        if !log.expired.keeps(group, number) {
            return Ok(None);
        }
        let filed = self.filed_position(log, group, number)?;
        Ok(filed.filter(|position| *position < log.end() && !log.cancelled.contains(*position)))
    }

    /// The position of the article that was filed with a number in a group, visible or not. `None`: there is no row of it.
    ///
    /// # Errors
    /// As [`GroupIndex::walk`]; or there may be one where rows are damaged.
    pub fn filed_position(
        &mut self,
        log: &LogView,
        group: &[u8],
        number: u64,
    ) -> Result<Option<Position>, Error> {
        self.find_new(log, group)?;
        loop {
            if let Some(Ahead { spot, place, .. }) = self.ahead(group, number, number) {
                let record = spot.rows.record_at(place);
                return Ok(record.map(|record| Position(spot.base + u64::from(record))));
            }
            if !self.find_older(log, group)? {
                let damage = self.groups.get(group).and_then(|known| known.damage);
                return match damage {
                    Some(place) => Err(damaged(log, place, ROWS_DAMAGED)),
                    None => Ok(None),
                };
            }
        }
    }

    /// The greatest number below `before`, and not below `low`, whose article is alive.
    ///
    /// # Errors
    /// As [`GroupIndex::walk`].
    pub fn previous(
        &mut self,
        log: &LogView,
        group: &[u8],
        (low, mut before): (u64, u64),
    ) -> Result<Option<(u64, Position)>, Error> {
        self.find_all(log, group)?;
        let low = low.max(log.expired.low(group));
        let mut tally = PositionFinder::new(log, group);
        while let Some((spot, place)) = self.behind(group, before) {
            let number = spot.rows.number_at(place);
            if number < low {
                break;
            }
            if let Some(position) = tally.position(spot.base, &spot.rows, place) {
                return Ok(Some((number, position)));
            }
            // Down in any case: damaged numbers may not fall.
            before = number.min(before.saturating_sub(1));
        }
        Ok(None)
    }

    /// How many articles a group has at most: cancelled ones are counted, too, and of those that expired early all but the first
    /// [`EARLY_LOOKUPS`].
    ///
    /// # Errors
    /// As [`GroupIndex::walk`].
    pub fn count(&mut self, log: &LogView, group: &[u8]) -> Result<u64, Error> {
        self.find_all(log, group)?;
        let expired = &log.expired;
        let cut = expired.cut(group);
        let mut count = expired.survivors(group).count() as u64;
        let mut lookups = EARLY_LOOKUPS;
        for extent in self.extents(group) {
            let spot = self.spot(extent);
            let mut gone = 0;
            if let Some(spot) = &spot {
                let early = expired.early_in(group, (extent.first, extent.last));
                let early: Vec<u64> = early.take(lookups).collect();
                lookups -= early.len();
                // The rows of expired articles may be missing.
                let has_row = |number: &u64| -> bool {
                    let place = spot.rows.place_of(*number);
                    place < spot.rows.len() && spot.rows.number_at(place) == *number
                };
                gone = early.iter().filter(|number| has_row(number)).count() as u64;
            }
            let rows = match spot {
                _ if extent.last < cut => 0,
                Some(spot) if extent.first < cut => {
                    (spot.rows.len() - spot.rows.place_of(cut)) as u64
                }
                _ => u64::from(extent.rows),
            };
            count += rows.saturating_sub(gone);
        }
        Ok(count)
    }

    fn extents(&self, group: &[u8]) -> &[Extent] {
        self.groups
            .get(group)
            .map_or(&[][..], |known| known.extents.as_slice())
    }

    fn spot<'c>(&'c self, extent: &'c Extent) -> Option<Spot<'c>> {
        let SegmentRows { live, sound } = self.maps.get(&extent.base)?;
        let block = Block::parse(live.bytes().get(extent.block..)?)?;
        Some(Spot {
            live,
            base: extent.base,
            rows: block.group(extent.place as usize)?,
            text_at: extent.block + block.text_at(),
            block: CheckedBlock {
                block,
                sound,
                place: extent.part as usize,
            },
        })
    }

    /// The rows of the lowest number in `from..=high`, as far as no other extent has numbers between them.
    fn ahead(&self, group: &[u8], from: u64, high: u64) -> Option<Ahead<'_>> {
        let extents = self.extents(group);
        let start = extents.partition_point(|extent| extent.reach < from);
        let mut best: Option<Ahead<'_>> = None;
        let mut to = high;
        for extent in extents.get(start..)? {
            if extent.first > best.as_ref().map_or(high, |best| best.number) {
                to = to.min(extent.first.saturating_sub(1));
                break;
            }
            let Some(spot) = self.spot(extent).filter(|_| extent.last >= from) else {
                continue;
            };
            let place = spot.rows.place_of(from);
            let number = spot.rows.number_at(place);
            match &mut best {
                Some(best) if best.number <= number => to = to.min(number.saturating_sub(1)),
                _ => {
                    if let Some(best) = &best {
                        to = to.min(best.number.saturating_sub(1));
                    }
                    best = Some(Ahead {
                        spot,
                        place,
                        number,
                        to: 0,
                    });
                }
            }
        }
        let best = best.filter(|best| best.number <= high)?;
        Some(Ahead {
            // Should a number be there twice, the first of the two is handed on.
            // And up in any case: damaged numbers may not grow.
            to: to.max(best.number).max(from),
            ..best
        })
    }

    /// The row of the greatest number below `before`.
    fn behind(&self, group: &[u8], before: u64) -> Option<(Spot<'_>, usize)> {
        let extents = self.extents(group);
        let end = extents.partition_point(|extent| extent.first < before);
        let mut best: Option<(Spot<'_>, usize, u64)> = None;
        for extent in extents.get(..end)?.iter().rev() {
            let number = best.as_ref().map_or(0, |best| best.2);
            if best.is_some() && extent.reach <= number {
                break;
            }
            if let Some(spot) = self.spot(extent)
                && let Some(place) = spot.rows.place_of(before).checked_sub(1)
                && (best.is_none() || spot.rows.number_at(place) > number)
            {
                best = Some((spot, place, spot.rows.number_at(place)));
            }
        }
        best.map(|(spot, place, _)| (spot, place))
    }

    fn find_all(&mut self, log: &LogView, group: &[u8]) -> Result<(), Error> {
        self.find_new(log, group)?;
        while self.find_older(log, group)? {}
        Ok(())
    }

    /// Finds what the newest segments have of a group.
    fn find_new(&mut self, log: &LogView, group: &[u8]) -> Result<(), Error> {
        let base = log.mark.base;
        self.follow(log)?;
        if self.kept > EXTENTS_KEPT {
            self.groups.clear();
            self.kept = 0;
        }
        let known = self.groups.entry_ref(group).or_insert_with(|| Known {
            from: base,
            until: base,
            ..Known::default()
        });
        let had = known.extents.len();
        let mut damage = self.current.damage;
        let is_anew = known.until != base;
        if is_anew {
            let fresh = known.until..base;
            known.extents.retain(|extent| extent.base < fresh.start);
            let sealed = log.bases.iter().copied();
            for sealed in sealed.filter(|sealed| fresh.contains(sealed)) {
                let rows = map(&mut self.maps, log, sealed)?;
                damage = push_rows(rows, (sealed, group), known).or(damage);
            }
            known.until = base;
            known.current = 0;
        }
        if let Some(extents) = self.current.groups.get(group) {
            let fresh = extents.get(known.current..).unwrap_or_default();
            known.extents.extend_from_slice(fresh);
            known.current = extents.len();
        }
        if known.extents.len() != had || is_anew {
            put_in_order(&mut known.extents, if is_anew { 0 } else { had });
            self.kept += known.extents.len().saturating_sub(had);
        }
        known.damage = damage.or(known.damage);
        self.note_damage(log, damage, BLOCK_DAMAGED);
        Ok(())
    }

    /// Finds what the next older segment that has any has of a group. False: none is left.
    fn find_older(&mut self, log: &LogView, group: &[u8]) -> Result<bool, Error> {
        let Some(known) = self.groups.get_mut(group) else {
            return Ok(false);
        };
        let mut damage = None;
        let sealed = log.bases.partition_point(|base| *base < known.from);
        let had = known.extents.len();
        for &base in log.bases.get(..sealed).into_iter().flatten().rev() {
            let rows = map(&mut self.maps, log, base)?;
            damage = push_rows(rows, (base, group), known).or(damage);
            known.damage = damage.or(known.damage);
            known.from = base;
            if known.extents.len() > had {
                put_in_order(&mut known.extents, 0);
                self.kept += known.extents.len() - had;
                self.note_damage(log, damage, BLOCK_DAMAGED);
                return Ok(true);
            }
        }
        self.note_damage(log, damage, BLOCK_DAMAGED);
        Ok(false)
    }

    /// Looks through the blocks that were committed since.
    fn follow(&mut self, log: &LogView) -> Result<(), Error> {
        let (base, end) = (log.mark.base, log.mark.ovr_end);
        if (self.current.base, self.current.read as u64) == (base, end) {
            return Ok(());
        }
        if self.current.base != base {
            // Its rows lie in another file now, in one block.
            self.maps.remove(&self.current.base);
            self.maps.insert(base, segment_rows(log, base)?);
            self.current = Current {
                base,
                ..Current::default()
            };
        }
        let Some(SegmentRows { live, sound }) = self.maps.get_mut(&base) else {
            return Ok(());
        };
        let path = || log.segments.path(base, SegmentFile::Ovr);
        live.grow_to(end)
            .map_err(|source| Error::io("map", &path(), source))?;
        let current = &mut self.current;
        let fresh = live.bytes().get(current.read..).unwrap_or_default();
        for block in overview::blocks(fresh) {
            let checked = CheckedBlock {
                block,
                sound,
                place: current.parts,
            };
            match checked.check_tables() {
                Ok(()) => {
                    for (place, rows) in (0..).zip(block.groups()) {
                        let at = (base, current.read, place);
                        let extent = Extent::of(at, current.parts, &rows);
                        let extents = current.groups.entry_ref(rows.name).or_default();
                        extents.push(extent);
                    }
                }
                Err(Damaged) => current.damage = Some((base, current.read)),
            }
            current.parts += block.places();
            current.read += block.bytes.len();
        }
        if current.read < live.bytes().len() {
            current.damage = Some((base, current.read));
        }
        Ok(())
    }
}

impl Extent {
    fn of((base, block, place): (u64, usize, u32), part: usize, rows: &GroupRows<'_>) -> Extent {
        Extent {
            base,
            block,
            place,
            rows: rows.len() as u32,
            first: rows.number_at(0),
            last: rows.last_number(),
            reach: rows.last_number(),
            part: part as u32,
        }
    }
}

impl Spot<'_> {
    /// Whether the row at the first place is sound, and the place of the first for which that is not the same. A row is sound if the
    /// checksums of its text are right, or `is_right`.
    fn stretch(
        &self,
        (from, to): (usize, usize),
        mut is_right: impl FnMut(Row<'_>) -> bool,
    ) -> (bool, usize) {
        let text = self.block.block.text_at();
        let of = |place: usize| text.saturating_add(self.rows.text_start(place));
        if self.block.check(of(from)..of(to)).is_ok() {
            return (true, to);
        }
        let mut is_sound = |place: usize| {
            self.block.check(of(place)..of(place + 1)).is_ok()
                || self.rows.row(place).is_some_and(&mut is_right)
        };
        let first = is_sound(from);
        let next = (from + 1..to).find(|place| is_sound(*place) != first);
        (first, next.unwrap_or(to))
    }
}

/// Whether a row of a group is that of the article which it names: its text is compared with one made of the article.
fn is_of_its_article(
    row: Row<'_>,
    (log, articles): (&LogView, &mut OpenSegments),
    (base, group): (u64, &[u8]),
) -> bool {
    let position = Position(base.saturating_add(u64::from(row.record)));
    let mut copy = Vec::new();
    if articles.copy(log, position, &mut copy).is_err() {
        return false;
    }
    let Some(record) = Record::trust(&copy) else {
        return false;
    };
    let line = HistoryLine::parse(record.line());
    let line = line.filter(|line| line.is_in(group, row.number));
    line.is_some_and(|line| row.is_of(&record, line.id))
}

fn damaged(log: &LogView, (base, offset): (u64, usize), what: &'static str) -> Error {
    Error::Damaged {
        path: log.segments.path(base, SegmentFile::Ovr),
        offset: offset as u64,
        what,
    }
}

/// The rows of a segment, mapped when first asked for.
fn map<'c>(
    maps: &'c mut BTreeMap<u64, SegmentRows>,
    log: &LogView,
    base: u64,
) -> Result<&'c SegmentRows, Error> {
    use std::collections::btree_map::Entry;
    Ok(match maps.entry(base) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => place.insert(segment_rows(log, base)?),
    })
}

fn segment_rows(log: &LogView, base: u64) -> Result<SegmentRows, Error> {
    Ok(SegmentRows {
        live: log.growing_overview(base)?,
        sound: SoundParts::default(),
    })
}

/// Notes the rows that a sealed segment has of a group: in one block. Returns where its blocks are damaged.
fn push_rows(
    SegmentRows { live, sound }: &SegmentRows,
    (base, group): (u64, &[u8]),
    known: &mut Known,
) -> Option<(u64, usize)> {
    let (mut at, mut part) = (0, 0);
    let mut damage = None;
    for block in overview::blocks(live.bytes()) {
        let place = part;
        let checked = CheckedBlock {
            block,
            sound,
            place,
        };
        match checked.find(group) {
            Ok(Some((place, rows))) if !rows.is_empty() => {
                let extent = Extent::of((base, at, place as u32), part, &rows);
                known.extents.push(extent);
            }
            Ok(_) => {}
            Err(Damaged) => damage = Some((base, at)),
        }
        at += block.bytes.len();
        part += block.places();
    }
    damage.or((at < live.bytes().len()).then_some((base, at)))
}

/// Puts extents in order of which the first `sorted` are.
fn put_in_order(extents: &mut [Extent], sorted: usize) {
    let start = sorted.saturating_sub(1);
    let fresh = extents.get(start..).unwrap_or_default();
    let ascend = fresh.is_sorted_by_key(|extent| extent.first);
    if !ascend {
        extents.sort_by_key(|extent| extent.first);
    }
    let start = if ascend { start } else { 0 };
    let before = start.checked_sub(1).and_then(|last| extents.get(last));
    let mut reach = before.map_or(0, |before| before.reach);
    for extent in extents.get_mut(start..).into_iter().flatten() {
        reach = reach.max(extent.last);
        extent.reach = reach;
    }
}
