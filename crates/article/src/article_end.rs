//! Finds the end of an article that arrives in wire form (RFC 3977, 3.1.1), and notes in the same pass the facts that depend on every
//! byte. No later step reads the body for them again.

use crate::counting::Counting;
use crate::simd::count;
use crate::wire_facts::WireFacts;

/// Searches for the end of an article that arrives in portions. No byte is searched twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArticleEnd(Counting);

/// Result of a search for the end of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The article, terminator included, is this many bytes long.
    At(usize),
    /// Not received yet. If the article is discarded, this many bytes are no longer needed.
    NotYet(usize),
}

/// The line of one dot, with its CRLF.
const TERMINATOR_BYTES: usize = 3;

impl ArticleEnd {
    /// Searches the received part of the article: `bytes` starts with its first byte, and has only grown since the last call.
    pub fn search(&mut self, bytes: &[u8]) -> Ending {
        match count(&mut self.0, bytes) {
            Some(length) => Ending::At(length + TERMINATOR_BYTES),
            // The CRLF before the next byte tells whether a line begins there.
            None => Ending::NotYet(self.0.at.saturating_sub(2)),
        }
    }

    /// Notes that the caller discarded `count` bytes at the front; the next search starts with the remaining ones.
    pub fn discard_front(&mut self, count: usize) {
        self.0.at = self.0.at.saturating_sub(count);
    }

    /// The facts about the article, terminator excluded, once its end is found.
    pub fn facts(&self) -> WireFacts {
        WireFacts::noted(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)] // test code may panic
    use super::*;
    use crate::scan::marks;
    use crate::wire_facts::LineCounts;
    use proptest::prelude::*;

    #[test]
    fn the_end_is_found_in_any_portions() {
        let article = b"A: b\r\n\r\n..x\r\n.\r\nnext";
        for portion in 1..article.len() {
            let mut end = ArticleEnd::default();
            let mut length = portion;
            let found = loop {
                match end.search(&article[..length]) {
                    Ending::At(at) => break at,
                    Ending::NotYet(_) => length = (length + portion).min(article.len()),
                }
            };
            assert_eq!(&article[found..], b"next");
        }
    }

    #[test]
    fn the_end_is_found_when_the_front_is_discarded() {
        let article = b"a long article\r\nwith dots.\r\n.\r\nnext";
        for portion in 1..article.len() {
            let mut end = ArticleEnd::default();
            let (mut kept, mut rest) = (Vec::new(), &article[..]);
            let found = loop {
                let (now, later) = rest.split_at(portion.min(rest.len()));
                kept.extend_from_slice(now);
                rest = later;
                match end.search(&kept) {
                    Ending::At(at) => break kept[at..].len() + rest.len(),
                    Ending::NotYet(useless) => {
                        kept.drain(..useless);
                        end.discard_front(useless);
                    }
                }
            };
            assert_eq!(found, 4, "{portion}");
        }
    }

    #[test]
    fn an_empty_article_is_a_dot() {
        assert_eq!(ArticleEnd::default().search(b".\r\nQUIT"), Ending::At(3));
        assert_eq!(ArticleEnd::default().search(b".\r"), Ending::NotYet(0));
    }

    /// Wire text with all that matters close together, and across the borders of blocks.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => Just(b"\r\n".to_vec()),
            1 => Just(b"\n".to_vec()),
            1 => Just(b"\r".to_vec()),
            2 => Just(b".".to_vec()),
            1 => Just(b"\r\n..".to_vec()),
            1 => Just(b"\r\n.\r\n".to_vec()),
            1 => Just(b"\n.".to_vec()),
            1 => Just(b"\0".to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..10),
            4 => (0usize..100).prop_map(|len| vec![b'x'; len]),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    /// The facts, byte by byte.
    fn slow(wire: &[u8]) -> WireFacts {
        let at = |place: usize| wire.get(place).copied();
        let feeds = || (0..wire.len()).filter(|lf| wire[*lf] == b'\n');
        let is_end = |lf: &usize| *lf > 0 && wire[*lf - 1] == b'\r';
        let starts = || {
            (0..wire.len())
                .filter(|dot| wire[*dot] == b'.' && (*dot == 0 || wire[*dot - 1] == b'\n'))
        };
        let is_line = |dot: &usize| *dot == 0 || is_end(&(*dot - 1));
        WireFacts {
            counts: LineCounts {
                line_feeds: feeds().count(),
                line_ends: feeds().filter(is_end).count(),
                doubled_dots: starts()
                    .filter(is_line)
                    .filter(|dot| at(dot + 1) == Some(b'.'))
                    .count(),
            },
            has_nul: wire.contains(&0),
            has_hidden_end: starts().any(|dot| !is_line(&dot) || at(dot + 1) == Some(b'\n')),
        }
    }

    fn portable(is_whole: bool, bytes: &[u8]) -> (Option<usize>, Counting) {
        let mut counting = Counting {
            is_whole,
            ..Counting::default()
        };
        (counting.go_on(bytes, marks), counting)
    }

    proptest! {
        #[test]
        fn one_pass_agrees_with_slow_scans(text in text()) {
            let facts = WireFacts::of(&text);
            prop_assert_eq!(facts, slow(&text));
            prop_assert_eq!(facts, WireFacts::noted(&portable(true, &text).1));
        }

        #[test]
        fn portions_do_not_matter(text in text(), cuts in prop::collection::vec(0usize..400, 0..12), discards: bool) {
            let mut text = text;
            text.extend_from_slice(b"\r\n.\r\nnext");
            let length = if text.starts_with(b".\r\n") {
                0
            } else {
                text.windows(5).position(|five| five == b"\r\n.\r\n").map_or(0, |at| at + 2)
            };
            prop_assert_eq!(portable(false, &text).0, Some(length));
            let mut ends = cuts;
            ends.push(text.len());
            ends.sort_unstable();
            let (mut end, mut discarded) = (ArticleEnd::default(), 0);
            let found = ends.iter().find_map(|to| {
                match end.search(text.get(discarded..*to).unwrap_or_default()) {
                    Ending::At(at) => Some(discarded + at),
                    Ending::NotYet(useless) if discards => {
                        end.discard_front(useless);
                        discarded += useless;
                        None
                    }
                    Ending::NotYet(_) => None,
                }
            });
            prop_assert_eq!(found, Some(length + TERMINATOR_BYTES));
            prop_assert_eq!(end.facts(), slow(&text[..length]));
        }

        #[test]
        fn parts_of_whole_lines_add_up(text in text(), cut in 0usize..8) {
            let ends = text.windows(2).enumerate().filter(|(_, two)| two == b"\r\n");
            let cut = ends.map(|(at, _)| at + 2).nth(cut).unwrap_or(0);
            let (head, rest) = text.split_at(cut);
            prop_assert_eq!(LineCounts::of(&text).after(LineCounts::of(head)), LineCounts::of(rest));
        }
    }
}
