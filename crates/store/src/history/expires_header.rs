//! The explicit expiry date of an article, and the subfield of a history line that keeps it: decimal seconds, the header's
//! text when no date can be read in it, or `-` without one, as in C News.

use article::decimal;

/// Bytes of an Expires header that cannot be read which history keeps, for a message.
pub const TEXT_BYTES_MAX: usize = 100;

/// What the Expires header of an article says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expires<'a> {
    /// There is none, or it is empty.
    #[default]
    Absent,
    /// A date, epoch seconds.
    At(i64),
    /// Text in which no date can be read: the article goes by the default, and `expire -g` tells of it.
    Unreadable(&'a [u8]),
}

impl<'a> Expires<'a> {
    /// The date, if there is one that can be read, epoch seconds.
    #[inline]
    pub fn date(self) -> Option<i64> {
        match self {
            Expires::At(date) => Some(date),
            Expires::Absent | Expires::Unreadable(_) => None,
        }
    }

    /// True without an Expires. Only then does the order of arrival decide: see `.exp`.
    #[inline]
    pub fn is_absent(self) -> bool {
        matches!(self, Expires::Absent)
    }

    /// Reads the subfield of a history line.
    pub(crate) fn of_subfield(text: &'a [u8]) -> Expires<'a> {
        match text {
            b"" | b"-" => Expires::Absent,
            _ => decimal::parse_signed(text).map_or(Expires::Unreadable(text), Expires::At),
        }
    }

    /// Appends the subfield.
    #[inline]
    pub(crate) fn push(self, out: &mut Vec<u8>) {
        match self {
            Expires::Absent => out.push(b'-'),
            Expires::At(date) => decimal::push_signed(out, date),
            Expires::Unreadable(text) => push_text(out, text),
        }
    }
}

impl From<Option<i64>> for Expires<'_> {
    fn from(date: Option<i64>) -> Self {
        date.map_or(Expires::Absent, Expires::At)
    }
}

/// Tab, newline and `~` become blanks, as in C News's history.c, so that the line keeps its fields; so do other control
/// characters, as the text is shown to people. Text that would read as a date, or as none, gets a blank in front.
#[cold]
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
    if !matches!(Expires::of_subfield(text), Expires::Unreadable(_)) {
        out.push(b' ');
    }
    let is_kept = |b: &u8| !b.is_ascii_control() && *b != b'~';
    out.extend(text.iter().map(|b| if is_kept(b) { *b } else { b' ' }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subfield(expires: Expires<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        expires.push(&mut out);
        out
    }

    #[test]
    fn unreadable_text_stays_that() {
        for (text, kept) in [
            (&b"whenever"[..], &b"whenever"[..]),
            (b"a\tb~c\r\n\td\0", b"a b c   d "),
            (b"\xff\xe9", b"\xff\xe9"),
            // What would read as a date, or as none.
            (b"750000000", b" 750000000"),
            (b"-7", b" -7"),
            (b"-", b" -"),
            (b"", b" "),
        ] {
            let told = subfield(Expires::Unreadable(text));
            assert_eq!(told, kept);
            assert_eq!(Expires::of_subfield(&told), Expires::Unreadable(kept));
        }
        let long = [b'x'; TEXT_BYTES_MAX + 1];
        assert_eq!(subfield(Expires::Unreadable(&long)), [b'x'; TEXT_BYTES_MAX]);
    }

    #[test]
    fn dates_and_none_go_there_and_back() {
        for expires in [
            Expires::Absent,
            Expires::At(0),
            Expires::At(-5),
            Expires::At(1 << 40),
        ] {
            assert_eq!(Expires::of_subfield(&subfield(expires)), expires);
        }
        assert_eq!(Expires::of_subfield(b""), Expires::Absent);
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_line(text: Vec<u8>) {
            let told = subfield(Expires::Unreadable(&text));
            prop_assert!(!told.iter().any(|b| matches!(b, b'\t' | b'\n' | b'~')));
            prop_assert!(told.len() <= TEXT_BYTES_MAX + 1);
            prop_assert_eq!(Expires::of_subfield(&told), Expires::Unreadable(&told));
        }
    }
}
