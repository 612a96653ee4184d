//! Where an article that is being received ends (RFC 3977, 3.1.1): at a line that is a dot.

use std::sync::LazyLock;

use memchr::memmem;

/// Looks for the end of an article that comes in portions. What was looked at is not looked at again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArticleEnd {
    looked: usize,
    is_begun: bool,
}

/// What is known of the article's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The article, terminator included, is this many bytes long.
    At(usize),
    /// Not there yet; of an article that is thrown away this many bytes are no longer needed.
    NotYet(usize),
}

const END: &[u8] = b"\r\n.\r\n";
static FINDER: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(END));

impl ArticleEnd {
    /// Looks at the article as far as it is there: `bytes` begins with its first byte, and was only appended to since the last call.
    pub fn look(&mut self, bytes: &[u8]) -> Ending {
        if !self.is_begun && bytes.get(..3) == Some(b".\r\n") {
            // Nothing in it at all.
            return Ending::At(3);
        }
        self.is_begun |= bytes.len() >= 3;
        let from = self.looked.saturating_sub(END.len() - 1);
        let rest = bytes.get(from..).unwrap_or_default();
        match FINDER.find(rest) {
            Some(at) => Ending::At(from + at + END.len()),
            None => {
                self.looked = bytes.len();
                Ending::NotYet(bytes.len().saturating_sub(END.len() - 1))
            }
        }
    }

    /// So many bytes in front were thrown away; the next call gets what is left, with what comes.
    pub fn dropped(&mut self, count: usize) {
        self.looked = self.looked.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_however_the_bytes_come() {
        let article = b"A: b\r\n\r\n..x\r\n.\r\nnext";
        for portion in 1..article.len() {
            let mut end = ArticleEnd::default();
            let mut length = portion;
            let found = loop {
                match end.look(&article[..length]) {
                    Ending::At(at) => break at,
                    Ending::NotYet(_) => length = (length + portion).min(article.len()),
                }
            };
            assert_eq!(&article[found..], b"next");
        }
    }

    #[test]
    fn it_is_found_where_the_front_is_thrown_away() {
        let article = b"a long article\r\nwith dots.\r\n.\r\nnext";
        for portion in 1..article.len() {
            let mut end = ArticleEnd::default();
            let (mut kept, mut rest) = (Vec::new(), &article[..]);
            let found = loop {
                let (now, later) = rest.split_at(portion.min(rest.len()));
                kept.extend_from_slice(now);
                rest = later;
                match end.look(&kept) {
                    Ending::At(at) => break kept[at..].len() + rest.len(),
                    Ending::NotYet(useless) => {
                        kept.drain(..useless);
                        end.dropped(useless);
                    }
                }
            };
            assert_eq!(found, 4, "{portion}");
        }
    }

    #[test]
    fn an_empty_article_is_a_dot() {
        assert_eq!(ArticleEnd::default().look(b".\r\nQUIT"), Ending::At(3));
        assert_eq!(ArticleEnd::default().look(b".\r"), Ending::NotYet(0));
    }
}
