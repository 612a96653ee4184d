//! Articles without their bodies, of header-only feeds (MODE HEADFEED, as Diablo has it): the header states the size that was left out.

use crate::{Article, Header, decimal};

/// Largest stated size of an article, bytes: 1 TiB. An article that states more is refused.
pub const STATED_BYTES_MAX: u64 = 1 << 40;

/// The field with the size of the whole article, in wire form without doubled dots and terminator (RFC 3977, 8.1).
pub const BYTES: &[u8] = b"Bytes";
/// The field with the number of lines of the body.
pub const LINES: &[u8] = b"Lines";

/// The size of a whole article whose body was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Of the whole article, header included, bytes.
    pub bytes: u64,
    /// Lines of the body; 0 where the header does not state them.
    pub lines: u32,
}

impl LeftOut {
    /// The size that a header states. `None`: there is no `Bytes`, or none up to [`STATED_BYTES_MAX`].
    pub fn stated_in(article: &Article<'_>) -> Option<LeftOut> {
        let bytes = decimal::parse(article.find(BYTES)?)?;
        let lines = article.find(LINES).and_then(decimal::parse);
        (bytes <= STATED_BYTES_MAX).then_some(LeftOut {
            bytes,
            lines: lines.and_then(|lines| lines.try_into().ok()).unwrap_or(0),
        })
    }
}

impl Article<'_> {
    /// Whether a header-only feed sends it whole: a control message, whose signature covers its body.
    pub fn has_body_in_header_feed(&self) -> bool {
        let control = self.value(Header::Control);
        control.is_some_and(|value| !value.is_empty())
    }

    /// Whether there is nothing after the header.
    pub fn is_header_alone(&self) -> bool {
        self.body() >= self.bytes().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    #[test]
    fn sizes_are_those_of_the_header() {
        let stated = |text: &str| LeftOut::stated_in(&Article::parse(text.as_bytes(), Form::Wire));
        let both = Some(LeftOut {
            bytes: 700,
            lines: 9,
        });
        assert_eq!(stated("A: b\r\nbytes: 700\r\nLines: 9\r\n\r\n"), both);
        let without_lines = Some(LeftOut {
            bytes: 700,
            lines: 0,
        });
        assert_eq!(stated("Bytes: 700\r\nLines: many\r\n\r\n"), without_lines);
        for bad in ["A: b\r\n", "Bytes: x\r\n", "Bytes: 1099511627777\r\n"] {
            assert_eq!(stated(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_header_alone_has_nothing_behind_it() {
        let alone = |text: &str| Article::parse(text.as_bytes(), Form::Wire).is_header_alone();
        assert!(alone("A: b\r\n\r\n") && alone("A: b\r\n"));
        assert!(!alone("A: b\r\n\r\nx\r\n") && !alone("A: b\r\n\r\n\r\n"));
    }
}
