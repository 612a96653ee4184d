//! `.his` without the lines whose ids may be forgotten. Addresses of history lines never change, so the first line of a
//! thinned file tells which stretch of addresses lies where in it.
//!
//! That line begins with a tab, so that it is no history line; then come the number of stretches and for each two numbers
//! of eight hexadecimal digits: where it began in the whole history, and where it begins behind the first line.

use std::cmp::Ordering;

use crate::history::HistoryLine;
use crate::{MapRef, Position};

/// Bytes in front of the table: a tab, ten digits.
const HEAD_BYTES: usize = 11;
const STRETCH_BYTES: usize = 16;

/// Where a stretch began in the whole history, and where it begins in the text.
type Stretch = (u64, u64);

/// The text of a `.his` file, thinned or whole.
#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// `None`: it is whole.
    table: Option<&'a [u8]>,
    text: &'a [u8],
}

impl<'a> History<'a> {
    /// The history in a file's bytes.
    pub fn of(bytes: &'a [u8]) -> History<'a> {
        History::parse(bytes).unwrap_or(History {
            table: None,
            text: bytes,
        })
    }

    /// The history in a mapped file.
    pub fn of_map(map: &'a MapRef) -> History<'a> {
        History::of(map.bytes())
    }

    fn parse(bytes: &'a [u8]) -> Option<History<'a>> {
        let digits = bytes.strip_prefix(b"\t")?.get(..HEAD_BYTES - 1)?;
        let stretches = usize::try_from(article::decimal::parse(digits)?).ok()?;
        let rest = bytes.get(HEAD_BYTES..)?;
        let (table, rest) = rest.split_at_checked(stretches.checked_mul(STRETCH_BYTES)?)?;
        let text = rest.strip_prefix(b"\n")?;
        Some(History {
            table: Some(table),
            text,
        })
    }

    /// The lines, without the table.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// True when lines were left out.
    pub fn is_compacted(&self) -> bool {
        self.table.is_some()
    }

    /// False when the table cannot be right: its stretches are out of order, or do not begin where lines do.
    pub fn is_sound(&self) -> bool {
        let ends_a_line = |here: u64| match here.checked_sub(1) {
            Some(before) => self.text.get(before as usize) == Some(&b'\n'),
            None => true,
        };
        let mut free = (0, 0);
        (0..self.stretches()).all(|place| {
            let Some((whole, here)) = self.stretch(place) else {
                return false;
            };
            // Between two stretches at least a line was left out.
            let fits = here >= free.1 && whole >= free.0 + (here - free.1) && ends_a_line(here);
            free = (whole + 1, here + 1);
            fits && (place > 0 || here == 0)
        })
    }

    fn stretches(&self) -> usize {
        self.table.map_or(0, |table| table.len() / STRETCH_BYTES)
    }

    fn stretch(&self, place: usize) -> Option<(u64, u64)> {
        let digits = self
            .table?
            .get(place * STRETCH_BYTES..(place + 1) * STRETCH_BYTES)?;
        let (whole, here) = digits.split_at_checked(STRETCH_BYTES / 2)?;
        Some((hexadecimal(whole)?, hexadecimal(here)?))
    }

    /// The last stretch of which `key` is not above `value`, and the next.
    fn stretches_at(
        &self,
        value: u64,
        key: impl Fn((u64, u64)) -> u64,
    ) -> Option<(Stretch, Option<Stretch>)> {
        let (mut low, mut high) = (0, self.stretches());
        while low < high {
            let middle = low + (high - low) / 2;
            if key(self.stretch(middle)?) <= value {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some((self.stretch(low.checked_sub(1)?)?, self.stretch(low)))
    }

    /// The text from the line on that began at `offset` in the whole history. `None`: it was left out, or never was.
    pub fn text_at(&self, offset: u64) -> Option<&'a [u8]> {
        if !self.is_compacted() {
            return self
                .text
                .get(offset as usize..)
                .filter(|text| !text.is_empty());
        }
        let (at, next) = self.stretches_at(offset, |(whole, _)| whole)?;
        let here = at.1 + (offset - at.0);
        let end = next.map_or(self.text.len() as u64, |next| next.1);
        (here < end)
            .then(|| self.text.get(here as usize..))
            .flatten()
    }

    /// The line of the article at a position, by bisection: the lines are in the order of the records. `None`: it is not here, or the order
    /// is broken.
    pub fn line_of(&self, position: Position) -> Option<HistoryLine<'a>> {
        let (mut low, mut high) = (0, self.text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let newline = memchr::memrchr(b'\n', self.text.get(low..middle)?);
            let start = newline.map_or(low, |newline| low + newline + 1);
            // Lines of ids without an article have no position.
            let rest = crate::history::lines(self.text.get(start..high)?);
            let mut positioned = rest.filter_map(|(offset, line)| {
                let parsed = HistoryLine::parse(line)?;
                let end = start + offset as usize + line.len() + 1;
                Some((parsed.position?, parsed, end))
            });
            match positioned.next() {
                None => high = start,
                Some((found, line, end)) => match found.cmp(&position) {
                    Ordering::Equal => return Some(line),
                    Ordering::Less => low = end,
                    Ordering::Greater => high = start,
                },
            }
        }
        None
    }

    /// The lines, without their newlines, each with its offset in the whole history.
    pub fn lines(self) -> impl Iterator<Item = (u64, &'a [u8])> {
        self.lines_from(0)
    }

    /// As [`History::lines`], from the first on that began at `offset` in the whole history, or behind it.
    pub fn lines_from(self, offset: u64) -> impl Iterator<Item = (u64, &'a [u8])> {
        let start = self.offset_here(offset).min(self.text.len() as u64);
        let text = self.text.get(start as usize..).unwrap_or_default();
        crate::history::lines(text).map(move |(here, line)| (self.whole_offset(start + here), line))
    }

    /// Where in the whole history the line began that begins here in the text.
    pub fn whole_offset(&self, here: u64) -> u64 {
        let at = self.stretches_at(here, |(_, here)| here);
        at.map_or(here, |(at, _)| at.0 + (here - at.1))
    }

    /// Where in the text the first line begins that began there in the whole history, or behind it.
    fn offset_here(&self, offset: u64) -> u64 {
        let Some((at, next)) = self.stretches_at(offset, |(whole, _)| whole) else {
            return if self.is_compacted() { 0 } else { offset };
        };
        let here = at.1.saturating_add(offset - at.0);
        next.map_or(here, |next| here.min(next.1))
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The file of a history of which only some lines are kept.
pub fn thin<'a>(
    lines: impl Iterator<Item = (u64, &'a [u8])>,
    kept: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    let mut text = Vec::new();
    for (offset, line) in lines.filter(|(_, line)| kept(line)) {
        let here = text.len() as u64;
        let follows = stretches
            .last()
            .is_some_and(|last| offset.wrapping_sub(last.0) == here.wrapping_sub(last.1));
        if !follows {
            stretches.push((offset, here));
        }
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let mut file = format!("\t{:010}", stretches.len()).into_bytes();
    for (whole, here) in stretches {
        file.extend_from_slice(format!("{whole:08x}{here:08x}").as_bytes());
    }
    file.push(b'\n');
    file.extend_from_slice(&text);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However often it is thinned, what is kept is found where it was, and nothing else.
        #[test]
        fn addresses_stay(lengths in prop::collection::vec((0..40usize, 0..4u8), 1..60)) {
            let mut whole = Vec::new();
            let mut known = Vec::new();
            for (place, (length, fate)) in lengths.iter().enumerate() {
                let line = format!("<{place}@x>\t{}", "y".repeat(*length));
                known.push((whole.len() as u64, line.clone(), *fate));
                whole.extend_from_slice(line.as_bytes());
                whole.push(b'\n');
            }
            let fate_of = |line: &[u8]| known.iter().find(|(_, known, _)| known.as_bytes() == line).unwrap().2;
            let mut file = whole;
            for round in 1..4u8 {
                file = thin(History::of(&file).lines(), |line| fate_of(line) >= round);
                let history = History::of(&file);
                prop_assert!(history.is_sound());
                for (offset, line, fate) in &known {
                    let found = history.text_at(*offset);
                    prop_assert_eq!(found.is_some(), *fate >= round);
                    if let Some(found) = found {
                        prop_assert!(found.starts_with(line.as_bytes()));
                    }
                }
                let left: Vec<_> = history.lines().map(|(at, line)| (at, line.to_vec())).collect();
                let should: Vec<_> = known.iter().filter(|(_, _, fate)| *fate >= round)
                    .map(|(at, line, _)| (*at, line.clone().into_bytes())).collect();
                prop_assert_eq!(left, should);
            }
        }

        /// Each article is found by its position, between ids without one, also in a thinned history.
        #[test]
        fn positions_are_found(gaps in prop::collection::vec((1..200u64, any::<bool>(), any::<bool>()), 0..60)) {
            let (mut whole, mut known, mut position) = (Vec::new(), Vec::new(), 0);
            for (gap, is_filed, is_kept) in gaps {
                position += gap;
                let id = format!("<{position}@x>");
                match is_filed {
                    true => whole.extend_from_slice(format!("{id}\t9~-~5~{position}\tgroup/{gap}\n").as_bytes()),
                    false => whole.extend_from_slice(format!("{id}\t9~-~\n").as_bytes()),
                }
                known.push((position, is_filed, is_kept));
            }
            let is_kept = |line: &[u8]| known.iter().any(|(at, _, kept)| *kept && line.starts_with(format!("<{at}@").as_bytes()));
            let thinned = thin(History::of(&whole).lines(), is_kept);
            for at in 0..=position + 1 {
                let one = known.iter().find(|(known, is_filed, _)| *known == at && *is_filed);
                let id = format!("<{at}@x>");
                let found = History::of(&whole).line_of(Position(at)).map(|line| line.id);
                prop_assert_eq!(found, one.map(|_| id.as_bytes()));
                let found = History::of(&thinned).line_of(Position(at)).map(|line| line.id);
                prop_assert_eq!(found, one.filter(|(.., is_kept)| *is_kept).map(|_| id.as_bytes()));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at: u64) {
            let history = History::of(&bytes);
            let _ = history.text_at(at);
            let _ = history.line_of(Position(at));
            history.lines().for_each(drop);
        }
    }
}
