//! The numbers of a group, and overview rows, as a reader gets them (RFC 3977, 6.1.1 and 8.3).

use article::decimal;

use super::reply::{PeerError, Reply};

/// The numbers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMarks {
    /// Estimated number of articles.
    pub count: u64,
    /// Lowest number.
    pub low: u64,
    /// Highest number; below `low` in an empty group.
    pub high: u64,
}

impl GroupMarks {
    /// Of a reply to GROUP; `None` if the server does not have the group.
    ///
    /// # Errors
    /// The reply is an error, or nonsense.
    pub fn of(reply: Reply<'_>) -> Result<Option<GroupMarks>, PeerError> {
        if reply.code == 411 {
            return Ok(None);
        }
        let mut numbers = reply
            .text
            .split(u8::is_ascii_whitespace)
            .map(decimal::parse);
        let mut next = || numbers.next().flatten();
        match (reply.code, next(), next(), next()) {
            (211, Some(count), Some(low), Some(high)) => Ok(Some(GroupMarks { count, low, high })),
            _ => Err(reply.to_error()),
        }
    }
}

/// An article in the overview of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Its number.
    pub number: u64,
    /// Its message-id.
    pub id: &'a [u8],
}

/// The article of a row of OVER or XOVER; `None` if the row is none. The message-id may be one that no command can name ([`is_id`]).
pub fn listed(row: &[u8]) -> Option<Listed<'_>> {
    let mut fields = row.split(|byte| *byte == b'\t');
    let number = decimal::parse(fields.next()?)?;
    // Subject, From, Date.
    let id = fields.nth(3)?;
    Some(Listed { number, id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in "[0-9]{0,20}[ \\t<>@a-z0-9]{0,60}", bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            for line in [line.as_bytes(), &bytes, &[b"211 ", line.as_bytes()].concat()] {
                let _ = listed(line);
                let _ = Reply::parse(line).and_then(GroupMarks::of);
            }
        }
    }

    #[test]
    fn marks_are_three_numbers() {
        let of = |line: &'static [u8]| GroupMarks::of(Reply::parse(line).unwrap());
        let marks = GroupMarks {
            count: 12,
            low: 3,
            high: 14,
        };
        assert_eq!(of(b"211 12 3 14 comp.test"), Ok(Some(marks)));
        assert_eq!(of(b"411 no such group"), Ok(None));
        for line in [
            &b"211 12 3"[..],
            b"211 a b c x",
            b"480 login",
            b"403 no file",
            b"211 1 2 99999999999999999999 x",
        ] {
            assert!(of(line).is_err());
        }
    }

    #[test]
    fn rows_name_number_and_id() {
        let row = b"17\tSubject\tFrom\tDate\t<a@b>\t\t100\t2";
        let article = Listed {
            number: 17,
            id: b"<a@b>",
        };
        assert_eq!(listed(row), Some(article));
        for row in [&b""[..], b"17", b"x\ts\tf\td\t<a@b>", b"17\ts\tf\td"] {
            assert_eq!(listed(row), None);
        }
    }
}
