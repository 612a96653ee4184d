//! Lines of INN's history: `[HASH] TAB arrived~expires~posted TAB @token@`.

use article::decimal;

use crate::inn::hex::hex;
use crate::inn::token::Token;

/// Longest line, bytes.
pub const LINE_BYTES_MAX: usize = 4 << 10;

/// The MD5 of a Message-ID, as INN keeps it.
pub type Hash = [u8; 16];

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The Message-ID, or its hash.
    pub id: Id<'a>,
    /// When the article arrived, epoch seconds.
    pub arrived: i64,
    /// Where it is; `None`: INN only remembers it.
    pub token: Option<Token>,
}

/// A Message-ID, or its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// The hash, in INN 2.
    Hash(Hash),
    /// The id itself, in older ones.
    Text(&'a [u8]),
}

impl<'a> Line<'a> {
    /// Parses a line, without its newline. `None`: garbled.
    pub fn parse(line: &'a [u8]) -> Option<Line<'a>> {
        let mut fields = line.split(|&b| b == b'\t');
        let (id, dates, token) = (fields.next()?, fields.next()?, fields.next());
        let id = match id {
            [b'[', hash @ .., b']'] => Id::Hash(hex(hash)?),
            [b'<', .., b'>'] => Id::Text(id),
            _ => return None,
        };
        let arrived = dates.split(|&b| b == b'~').next()?;
        let token = match token {
            None | Some(b"") => None,
            Some(token) => Some(Token::parse(token)?),
        };
        Some(Line {
            id,
            arrived: decimal::parse_signed(arrived)?,
            token,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read() {
        let line = b"[000102030405060708090A0B0C0D0E0F]\t1000~-~900\t@050000000001000000070000000000000000@";
        let line = Line::parse(line).unwrap();
        assert!(matches!(line.id, Id::Hash(hash) if hash[15] == 15));
        assert_eq!(line.arrived, 1000);
        assert!(line.token.is_some());
        let line = Line::parse(b"[000102030405060708090A0B0C0D0E0F]\t1000~-~900").unwrap();
        assert_eq!(line.token, None);
        let line = Line::parse(b"<a@b>\t1000").unwrap();
        assert_eq!(line.id, Id::Text(b"<a@b>"));
        for bad in [&b""[..], b"[00]\t1", b"x\t1", b"<a@b>\tx", b"<a@b>\t1\tx"] {
            assert_eq!(Line::parse(bad), None);
        }
    }

    proptest! {
        #[test]
        fn anything_is_read(line in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Line::parse(&line);
        }
    }
}
