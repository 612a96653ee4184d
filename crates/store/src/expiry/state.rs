//! The expired articles: a fold over the log, and the file `expired` with its result.
//!
//! For each group: everything below its *cut* is removed, except the *survivors* (an explicit Expires in the future);
//! and of the rest the *early* ones (an explicit Expires in the past) are removed too. The file is derived: if it is lost, it is made
//! again from the log, where each segment but the first begins with a copy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use article::decimal;
use hashbrown::HashMap;

use crate::history::HistoryLine;
use crate::history::lookup::first_line;
use crate::io::bytes::cut;
use crate::io::disk::{Disk, Open};
use crate::io::replace::{read_whole, replace};
use crate::log::record::Kind;
use crate::log::segments::Segments;

use crate::Error;

const MAGIC: &[u8] = b"BSexpired1 ";
/// Longest time after arrival that an Expires header makes an id remembered, seconds: 400 days. Senders choose the header.
pub const EXPIRES_REMEMBERED_SECONDS_MAX: i64 = 400 * 86_400;
/// The line that ends a complete copy in the log.
pub const END_OF_COPY: &[u8] = b"=\n";

/// The expired articles of each group. Applying a change twice, or all changes since some time again in order, changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpiryState {
    groups: HashMap<Vec<u8>, GroupExpiry>,
    /// Ids of removed articles are forgotten if they arrived before this time.
    forget_before: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct GroupExpiry {
    cut: u64,
    survivors: BTreeSet<u64>,
    early: BTreeSet<u64>,
    /// The high mark of the group when it was removed; only the nodes of a cluster record it, because they may have different old rows.
    removed_high: u64,
    /// No article below this position is left to decide by the group's default: saves examining them again.
    settled: u64,
}

/// The time from which an id's memory counts: its arrival, or a later date in its Expires, because the article stays until then.
pub(crate) fn remembered_from(line: &HistoryLine<'_>) -> i64 {
    let Some(arrival) = line.arrival else {
        return i64::MIN;
    };
    let latest = arrival.saturating_add(EXPIRES_REMEMBERED_SECONDS_MAX);
    let expires = line.expires.date().unwrap_or(arrival);
    expires.clamp(arrival, latest)
}

impl GroupExpiry {
    /// Whether there is more than the settled positions.
    fn lost_any(&self) -> bool {
        self.cut > 0
            || !self.survivors.is_empty()
            || !self.early.is_empty()
            || self.removed_high > 0
    }
}

impl ExpiryState {
    /// Whether the article with this number in a group has not expired.
    pub fn keeps(&self, group: &[u8], number: u64) -> bool {
        self.in_group(group).keeps(number)
    }

    /// The expired articles of one group, for many queries.
    pub fn in_group(&self, group: &[u8]) -> InGroup<'_> {
        InGroup(self.groups.get(group))
    }

    /// Whether the article remains in one of its groups. (It may have been cancelled.)
    pub fn keeps_any(&self, line: &HistoryLine<'_>) -> bool {
        line.links()
            .any(|(group, number)| self.keeps(group, number))
    }

    /// Whether an id is forgotten: it has expired, or was never filed, and is older than expire's `/expired/`.
    pub fn forgets(&self, line: &HistoryLine<'_>) -> bool {
        remembered_from(line) < self.forget_before && !self.keeps_any(line)
    }

    /// As [`ExpiryState::forgets`], of the first line of a text.
    pub fn forgets_line(&self, text: &[u8]) -> bool {
        self.forget_before != i64::MIN
            && HistoryLine::parse(first_line(text)).is_some_and(|line| self.forgets(&line))
    }

    /// The number below which a group has only survivors.
    pub fn cut(&self, group: &[u8]) -> u64 {
        self.groups.get(group).map_or(0, |gone| gone.cut)
    }

    /// The highest number known to be used: a group that is created again does not use it again.
    pub fn highest(&self, group: &[u8]) -> u64 {
        let Some(gone) = self.groups.get(group) else {
            return 0;
        };
        let early = gone.early.last().copied().unwrap_or(0);
        gone.cut.saturating_sub(1).max(early).max(gone.removed_high)
    }

    /// Whether a number below the cut is kept.
    pub fn survives(&self, group: &[u8], number: u64) -> bool {
        let gone = self.groups.get(group);
        gone.is_some_and(|gone| number < gone.cut && gone.survivors.contains(&number))
    }

    /// Kept numbers below the cut, between two numbers inclusive.
    pub fn survivors_in(
        &self,
        group: &[u8],
        (first, last): (u64, u64),
    ) -> impl Iterator<Item = u64> {
        let gone = self.groups.get(group).filter(|_| first <= last);
        gone.into_iter().flat_map(move |gone| {
            let below = gone.survivors.range(first..=last);
            below.copied().take_while(|number| *number < gone.cut)
        })
    }

    /// Kept numbers below the cut.
    pub fn survivors(&self, group: &[u8]) -> impl Iterator<Item = u64> {
        let gone = self.groups.get(group).into_iter();
        gone.flat_map(|gone| gone.survivors.range(..gone.cut).copied())
    }

    /// Removed numbers at or above the cut.
    pub fn early(&self, group: &[u8]) -> impl Iterator<Item = u64> {
        let gone = self.groups.get(group).into_iter();
        gone.flat_map(|gone| gone.early.iter().copied())
    }

    /// Removed numbers at or above the cut, between two numbers inclusive.
    pub fn early_in(&self, group: &[u8], (first, last): (u64, u64)) -> impl Iterator<Item = u64> {
        let gone = self.groups.get(group).into_iter();
        gone.flat_map(move |gone| {
            let first = first.max(gone.cut);
            let above = (first <= last).then(|| gone.early.range(first..=last));
            above.into_iter().flatten().copied()
        })
    }

    /// The position below which no article of a group needs to be examined for its default.
    pub fn settled(&self, group: &[u8]) -> u64 {
        self.groups.get(group).map_or(0, |gone| gone.settled)
    }

    /// Ids that arrived before this time and have no article are forgotten.
    pub fn forget_before(&self) -> i64 {
        self.forget_before
    }

    /// The lowest number that may be visible: the low mark, as C News's upact computed it.
    pub fn low(&self, group: &[u8]) -> u64 {
        self.low_from(group, 0)
    }

    /// As [`ExpiryState::low`], of a group without numbers below `floor`: only from there on the next early ones show that the mark rises.
    pub fn low_from(&self, group: &[u8], floor: u64) -> u64 {
        let Some(gone) = self.groups.get(group) else {
            return floor;
        };
        let mut low = gone.cut.max(floor);
        while gone.early.contains(&low) {
            low += 1;
        }
        gone.survivors.first().map_or(low, |first| low.min(*first))
    }

    /// Applies lines of the log: `group cut low`, `group low`, `+ group/number`, `- group/number`, `! group high`, `/expired/ time`.
    /// Invalid lines are skipped.
    pub fn apply(&mut self, text: &[u8]) {
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (line, behind) = cut(text, b'\n');
            self.apply_line(line);
            rest = behind;
        }
    }

    fn apply_line(&mut self, line: &[u8]) -> Option<()> {
        let (first, rest) = cut(line, b' ');
        let (second, rest) = cut(rest?, b' ');
        match first {
            b"+" | b"-" => {
                let slash = memchr::memrchr(b'/', second)?;
                let (group, number) = second.split_at_checked(slash)?;
                let number = decimal::parse(number.get(1..)?)?;
                let gone = self.gone(group);
                if first == b"+" {
                    gone.early.remove(&number);
                    gone.survivors.insert(number);
                } else {
                    gone.survivors.remove(&number);
                    if number >= gone.cut {
                        gone.early.insert(number);
                    }
                }
            }
            b"!" => {
                let high = decimal::parse(cut(rest?, b' ').0)?;
                let gone = self.gone(second);
                gone.removed_high = gone.removed_high.max(high);
            }
            b"/expired/" => self.forget_before = decimal::parse_signed(second)?,
            b"@" => self.gone(cut(rest?, b' ').0).settled = decimal::parse(second)?,
            group => {
                let cut = decimal::parse(second)?;
                let gone = self.gone(group);
                if cut > gone.cut {
                    gone.cut = cut;
                    gone.early = gone.early.split_off(&cut);
                }
            }
        }
        Some(())
    }

    fn gone(&mut self, group: &[u8]) -> &mut GroupExpiry {
        self.groups.entry_ref(group).or_default()
    }

    /// Records the settled position of a group; only the file stores it, not the log.
    pub fn settle(&mut self, group: &[u8], position: u64) {
        self.gone(group).settled = position;
    }

    /// Appends everything as lines, in an order in which any prefix is safe: survivors, cuts, early
    /// ones.
    pub fn push_lines(&self, out: &mut Vec<u8>) {
        // For most groups only the settled position is known.
        let groups = self.groups.iter();
        let mut groups: Vec<_> = groups.filter(|(_, gone)| gone.lost_any()).collect();
        groups.sort_unstable_by_key(|(name, _)| *name);
        out.extend_from_slice(b"/expired/ ");
        decimal::push_signed(out, self.forget_before);
        out.push(b'\n');
        for (name, gone) in &groups {
            for &number in &gone.survivors {
                push_link(out, b'+', name, number);
            }
        }
        for (name, gone) in &groups {
            if gone.cut > 0 {
                push_cut(out, name, gone.cut, self.low(name));
            }
        }
        for (name, gone) in &groups {
            for &number in &gone.early {
                push_link(out, b'-', name, number);
            }
        }
        for (name, gone) in &groups {
            if gone.removed_high > 0 {
                push_removed(out, name, gone.removed_high);
            }
        }
    }

    /// The text of the whole file.
    fn image(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        self.push_lines(&mut lines);
        for (name, gone) in &self.groups {
            if gone.settled > 0 {
                lines.extend_from_slice(b"@ ");
                decimal::push(&mut lines, gone.settled);
                lines.push(b' ');
                lines.extend_from_slice(name);
                lines.push(b'\n');
            }
        }
        let mut image = MAGIC.to_vec();
        decimal::push(&mut image, u64::from(crc32c::crc32c(&lines)));
        image.push(b'\n');
        image.extend_from_slice(&lines);
        image
    }

    /// Parses the file's text; `None` if it is damaged.
    fn parse(image: &[u8]) -> Option<ExpiryState> {
        let rest = image.strip_prefix(MAGIC)?;
        let end = memchr::memchr(b'\n', rest)?;
        let (sum, lines) = rest.split_at_checked(end)?;
        let lines = lines.get(1..)?;
        if decimal::parse(sum)? != u64::from(crc32c::crc32c(lines)) {
            return None;
        }
        let mut told = ExpiryState::fresh();
        told.apply(lines);
        Some(told)
    }

    /// Whether nothing has expired.
    pub fn is_fresh(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether nothing has expired and no id is forgotten.
    pub fn fresh() -> ExpiryState {
        ExpiryState {
            groups: HashMap::new(),
            forget_before: i64::MIN,
        }
    }

    /// Reads the file of a news directory; `None` if it is missing or damaged.
    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<ExpiryState>, Error> {
        let image = read_whole(disk, &dir.join(NAME))?;
        Ok(image.and_then(|image| ExpiryState::parse(&image)))
    }

    /// Computes it from the log, from the last segment that begins with a complete copy.
    pub fn fold(segments: &Segments) -> Result<ExpiryState, Error> {
        let bases = segments.bases()?;
        let mut later: Vec<Vec<u8>> = Vec::new();
        for &base in bases.iter().rev() {
            let mut text = Vec::new();
            let mut whole = false;
            segments.each_record(base, |_, record| {
                if record.head.kind == Kind::LowMarks {
                    whole |= record.line().ends_with(END_OF_COPY);
                    text.extend_from_slice(record.line());
                }
            })?;
            later.push(text);
            if whole {
                break;
            }
        }
        let mut told = ExpiryState::fresh();
        for text in later.iter().rev() {
            told.apply(text);
        }
        Ok(told)
    }
}

/// The expired articles of one group.
#[derive(Debug, Clone, Copy)]
pub struct InGroup<'e>(Option<&'e GroupExpiry>);

impl InGroup<'_> {
    /// Whether the article with this number has not expired.
    #[inline]
    pub fn keeps(&self, number: u64) -> bool {
        match self.0 {
            None => true,
            Some(gone) if number >= gone.cut => !gone.early.contains(&number),
            Some(gone) => gone.survivors.contains(&number),
        }
    }
}

const NAME: &str = "expired";

/// Appends `group cut low`.
pub fn push_cut(out: &mut Vec<u8>, group: &[u8], cut: u64, low: u64) {
    out.extend_from_slice(group);
    out.push(b' ');
    decimal::push(out, cut);
    out.push(b' ');
    decimal::push(out, low);
    out.push(b'\n');
}

/// Appends the line of a group that was removed with this high mark.
pub fn push_removed(out: &mut Vec<u8>, group: &[u8], high: u64) {
    out.extend_from_slice(b"! ");
    out.extend_from_slice(group);
    out.push(b' ');
    decimal::push(out, high);
    out.push(b'\n');
}

/// Appends `+ group/number` or `- group/number`.
pub fn push_link(out: &mut Vec<u8>, sign: u8, group: &[u8], number: u64) {
    out.extend_from_slice(&[sign, b' ']);
    out.extend_from_slice(group);
    out.push(b'/');
    decimal::push(out, number);
    out.push(b'\n');
}

/// The state of the writer: read when first needed, written after changes.
#[derive(Debug)]
pub struct ExpiryStateFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    state: OnceLock<ExpiryState>,
    /// The file does not have the state: the state changed, or the file was damaged.
    changed: AtomicBool,
}

impl ExpiryStateFile {
    /// The state of a news directory; reads nothing yet.
    pub fn new(disk: &Arc<dyn Disk>, dir: &Path) -> ExpiryStateFile {
        ExpiryStateFile {
            disk: disk.clone(),
            dir: dir.to_owned(),
            state: OnceLock::new(),
            changed: AtomicBool::new(false),
        }
    }

    /// Whether there is no file: a new news directory, or a lost file.
    pub fn is_missing(&self) -> bool {
        self.disk.open(&self.dir.join(NAME), Open::Read).is_err()
    }

    /// The state; computed from the log if the file is missing or damaged.
    pub fn state(&self) -> Result<&ExpiryState, Error> {
        if let Some(state) = self.state.get() {
            return Ok(state);
        }
        let state = match ExpiryState::read(&*self.disk, &self.dir)? {
            Some(state) => state,
            None => {
                self.changed.store(true, Ordering::Relaxed);
                ExpiryState::fold(&Segments::of(&self.disk, &self.dir))?
            }
        };
        Ok(self.state.get_or_init(|| state))
    }

    /// The state for changes.
    pub fn state_mut(&mut self) -> Result<&mut ExpiryState, Error> {
        self.state()?;
        self.changed.store(true, Ordering::Relaxed);
        self.state.get_mut().ok_or_else(|| {
            let lost = std::io::Error::other("its state was not kept");
            Error::io("read", &self.dir.join(NAME), lost)
        })
    }

    /// Replaces the file durably if the state has changed; returns whether it did.
    pub fn flush(&mut self) -> Result<bool, Error> {
        if !self.changed.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let path = self.dir.join(NAME);
        let image = self.state()?.image();
        replace(&*self.disk, &path, |file| file.write_at(&image, 0))?;
        self.changed.store(false, Ordering::Relaxed);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_each_kind_is_understood() {
        let mut told = ExpiryState::fresh();
        told.apply(b"+ a/3\na 10 3\n- a/12\n/expired/ 77\n@ 4096 a\nold 5\n! old 30\n! old 7\n! b x\n? nonsense\n=\n");
        let kept: Vec<u64> = (0..15).filter(|n| told.keeps(b"a", *n)).collect();
        assert_eq!(kept, [3, 10, 11, 13, 14]);
        assert_eq!(
            (told.low(b"a"), told.low(b"old"), told.low(b"b")),
            (3, 5, 0)
        );
        assert_eq!((told.highest(b"old"), told.highest(b"b")), (30, 0));
        told.apply(b"- a/3\n- a/10\n");
        assert_eq!((told.low(b"a"), told.cut(b"a")), (11, 10));
        assert_eq!((told.settled(b"a"), told.forget_before()), (4096, 77));
        assert_eq!(ExpiryState::parse(&told.image()), Some(told));
    }

    fn changes() -> impl Strategy<Value = Vec<String>> {
        let change = (0..3u8, 0..20u64).prop_map(|(kind, number)| match kind {
            0 => format!("+ a/{number}\n"),
            1 => format!("- a/{number}\n"),
            _ => format!("a {number}\n"),
        });
        prop::collection::vec(change, 0..30)
    }

    proptest! {
        /// A replay after a power cut applies again what the file has already.
        #[test]
        fn applying_the_end_again_changes_nothing(changes in changes(), from in 0..30usize) {
            let mut told = ExpiryState::fresh();
            told.apply(changes.concat().as_bytes());
            let kept: Vec<bool> = (0..25).map(|n| told.keeps(b"a", n)).collect();
            told.apply(changes[from.min(changes.len())..].concat().as_bytes());
            let again: Vec<bool> = (0..25).map(|n| told.keeps(b"a", n)).collect();
            prop_assert_eq!(kept, again);
        }

        #[test]
        fn a_copy_says_the_same(changes in changes()) {
            let mut told = ExpiryState::fresh();
            told.apply(changes.concat().as_bytes());
            let mut lines = Vec::new();
            told.push_lines(&mut lines);
            let mut again = ExpiryState::fresh();
            again.apply(&lines);
            for n in 0..25 {
                prop_assert_eq!(told.keeps(b"a", n), again.keeps(b"a", n));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = ExpiryState::parse(&bytes);
            ExpiryState::fresh().apply(&bytes);
        }
    }
}
