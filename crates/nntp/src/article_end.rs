//! Finds the end of a received article: a line with a single dot (RFC 3977, 3.1.1).

use std::sync::LazyLock;

use memchr::memmem;

/// Searches for the end of an article that arrives in portions. No byte is searched twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArticleEnd {
    searched: usize,
    is_started: bool,
}

/// Result of a search for the end of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The article, terminator included, is this many bytes long.
    At(usize),
    /// Not received yet. If the article is discarded, this many bytes are no longer needed.
    NotYet(usize),
}

const END: &[u8] = b"\r\n.\r\n";
static FINDER: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(END));

impl ArticleEnd {
    /// Searches the received part of the article: `bytes` starts with its first byte, and has only grown since the last call.
    pub fn search(&mut self, bytes: &[u8]) -> Ending {
        if !self.is_started && bytes.get(..3) == Some(b".\r\n") {
            // An empty article: the dot is its first line.
            return Ending::At(3);
        }
        self.is_started |= bytes.len() >= 3;
        let from = self.searched.saturating_sub(END.len() - 1);
        let rest = bytes.get(from..).unwrap_or_default();
        match FINDER.find(rest) {
            Some(at) => Ending::At(from + at + END.len()),
            None => {
                self.searched = bytes.len();
                Ending::NotYet(bytes.len().saturating_sub(END.len() - 1))
            }
        }
    }

    /// Notes that the caller discarded `count` bytes at the front; the next search starts with the remaining ones.
    pub fn discard_front(&mut self, count: usize) {
        self.searched = self.searched.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
