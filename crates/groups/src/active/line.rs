//! Parses one line of `active`: `group max min flag`.

use article::shape::Shape;
use thiserror::Error;

use crate::name;

/// Highest article number of any group: the largest signed 64-bit number.
pub const NUMBER_MAX: u64 = i64::MAX as u64;

/// Highest article number that newsreaders can use (RFC 3977, section 6): higher ones are not taken from an Xref, because a high mark never
/// goes back.
pub const READABLE_NUMBER_MAX: u64 = 2_147_483_647;

/// Most digits in a number field.
pub const DIGITS_MAX: usize = 20;

/// The flag of a group, the last field of its line: what the server does with articles for the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag<'a> {
    /// `y`: local posting is allowed.
    Open,
    /// `n`: no local posting; articles from other sites are filed.
    NoPosting,
    /// `m`: moderated; an article needs Approved.
    Moderated,
    /// `x`: excluded; nothing is filed.
    Excluded,
    /// `j`: articles are filed in `junk` instead (INN).
    Junked,
    /// `=group`: articles are filed in that group instead.
    Alias(&'a [u8]),
}

impl<'a> Flag<'a> {
    /// Parses the last field of a line; `None` if it is not a flag, or an alias
    /// for a name that is not [safe](name::is_safe).
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        Some(match text {
            b"y" => Self::Open,
            b"n" => Self::NoPosting,
            b"m" => Self::Moderated,
            b"x" => Self::Excluded,
            b"j" => Self::Junked,
            [b'=', target @ ..] if name::is_safe(target) => Self::Alias(target),
            _ => return None,
        })
    }

    /// The letter in the file; `=` for an alias, which the group's name follows.
    pub fn letter(self) -> u8 {
        match self {
            Self::Open => b'y',
            Self::NoPosting => b'n',
            Self::Moderated => b'm',
            Self::Excluded => b'x',
            Self::Junked => b'j',
            Self::Alias(_) => b'=',
        }
    }

    /// Appends the field as in the file.
    pub fn push(self, out: &mut Vec<u8>) {
        out.push(self.letter());
        if let Self::Alias(target) = self {
            out.extend_from_slice(target);
        }
    }
}

/// The error in a line of `active`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActiveLineError {
    /// Not `group max min flag`.
    #[error("is not `group max min flag' (check whether the file is truncated)")]
    Fields,
    /// The first line begins with a byte order mark, as some editors write it: it would belong to the name.
    #[error("begins with a byte order mark (EF BB BF): save the file without it")]
    ByteOrderMark,
    /// The name is not [safe](name::is_safe).
    #[error("has the group name `{0}', which is not allowed")]
    UnsafeName(String),
    /// A number is not decimal, or above [`NUMBER_MAX`].
    #[error("has `{0}' in place of an article number")]
    Number(String),
    /// The flag is none of `y n m x j =group`.
    #[error("has the flag `{0}'; use y, n, m, x, j or =group")]
    Flag(String),
    /// The group has an earlier line, which counts.
    #[error("repeats the group `{name}'; line {first} counts, remove this one")]
    Twice {
        /// The group.
        name: String,
        /// The first line with this group, from 1.
        first: usize,
    },
}

/// The lengths of the fields of a line whose fields are one blank apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub name_len: u16,
    pub high_len: u8,
    pub low_len: u8,
    /// Length of the flag field: 1, or more for an alias.
    pub flag_len: u16,
    /// The flag's letter, `=` for an alias.
    pub flag: u8,
}

/// Parses a line in the layout in which lines are written: fields one blank apart, nothing
/// else. `None` for any other line; [`loose`] then finds the error.
#[inline]
pub(super) fn strict(line: &[u8]) -> Option<Fields> {
    strict_of_widths(line, &OF_INN, 10)
        .or_else(|| strict_of_widths(line, &OF_C_NEWS, 5))
        .or_else(|| strict_of_any_width(line))
}

/// ` max min flag` with ten digits and ten, as INN writes it.
static OF_INN: Shape<24> = Shape::new(b" 0000000000 0000000000 \0");
/// With ten digits and five, as C News writes it.
static OF_C_NEWS: Shape<19> = Shape::new(b" 0000000000 00000 \0");

#[inline]
fn strict_of_widths<const LEN: usize>(
    line: &[u8],
    shape: &Shape<LEN>,
    low_len: u8,
) -> Option<Fields> {
    let (name, tail) = line.split_last_chunk::<LEN>()?;
    let flag = *tail.last()?;
    let is_letter = matches!(flag, b'y' | b'n' | b'm' | b'x' | b'j');
    if !is_letter || !shape.matches(tail) || !name::is_safe(name) {
        return None;
    }
    Some(Fields {
        name_len: u16::try_from(name.len()).ok()?,
        high_len: 10,
        low_len,
        flag_len: 1,
        flag,
    })
}

fn strict_of_any_width(line: &[u8]) -> Option<Fields> {
    // From the end: most lines close with a blank and one letter.
    let (head, flag_len, flag) = match line {
        [head @ .., b' ', letter @ (b'y' | b'n' | b'm' | b'x' | b'j')] => (head, 1, *letter),
        _ => {
            let at = memchr::memrchr(b' ', line)?;
            let (head, flag) = line.split_at_checked(at)?;
            let flag = flag.get(1..)?;
            (head, flag.len(), Flag::parse(flag)?.letter())
        }
    };
    let (head, low_len) = number_before(head)?;
    let (name, high_len) = number_before(head)?;
    if !name::is_safe(name) {
        return None;
    }
    Some(Fields {
        name_len: u16::try_from(name.len()).ok()?,
        high_len,
        low_len,
        flag_len: u16::try_from(flag_len).ok()?,
        flag,
    })
}

/// Splits ` digits` off the end: the text before it, and the number of digits.
#[inline]
fn number_before(text: &[u8]) -> Option<(&[u8], u8)> {
    let mut before = text;
    while let Some((rest, word)) = before.split_last_chunk::<8>()
        && are_digits(u64::from_le_bytes(*word))
    {
        before = rest;
    }
    while let [rest @ .., b'0'..=b'9'] = before {
        before = rest;
    }
    let (_, digits) = text.split_at_checked(before.len())?;
    let len = digits.len();
    let before = before.strip_suffix(b" ")?;
    // Eighteen digits never exceed the limit; more are parsed to check.
    if len == 0 || (len > 18 && parse_number(digits).is_none()) {
        return None;
    }
    Some((before, u8::try_from(len).ok()?))
}

/// Whether eight bytes are all decimal digits.
#[inline]
fn are_digits(word: u64) -> bool {
    const SIXES: u64 = 0x0606_0606_0606_0606;
    const HIGH_HALVES: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    const THREES: u64 = 0x3030_3030_3030_3030;
    (word & HIGH_HALVES) == THREES && (word.wrapping_add(SIXES) & HIGH_HALVES) == THREES
}

/// Parses a line in any layout: any number of blanks and tabs
/// between fields and at the end (a carriage return too).
pub(super) fn loose(line: &[u8]) -> Result<[&[u8]; 4], ActiveLineError> {
    let mut fields = line
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty());
    let (Some(group), Some(high), Some(low), Some(flag), None) = (
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
    ) else {
        return Err(ActiveLineError::Fields);
    };
    if !name::is_safe(group) {
        return Err(ActiveLineError::UnsafeName(shown(group)));
    }
    for number in [high, low] {
        if parse_number(number).is_none() {
            return Err(ActiveLineError::Number(shown(number)));
        }
    }
    if Flag::parse(flag).is_none() {
        return Err(ActiveLineError::Flag(shown(flag)));
    }
    Ok([group, high, low, flag])
}

/// Parses decimal digits, up to [`NUMBER_MAX`] and [`DIGITS_MAX`] digits.
#[inline]
pub(super) fn parse_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mut number = 0u64;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number
            .checked_mul(10)?
            .checked_add(u64::from(byte.wrapping_sub(b'0')))?;
    }
    (number <= NUMBER_MAX).then_some(number)
}

/// Writes a number with leading zeros into a field. Returns `false` (and changes nothing) if
/// it needs more digits.
pub(super) fn write_number(field: &mut [u8], number: u64) -> bool {
    if digits_of(number) > field.len() {
        return false;
    }
    let mut rest = number;
    for byte in field.iter_mut().rev() {
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    true
}

/// The number of digits of a number.
pub(super) fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// A part of a line for a message, made printable and cut.
pub(super) fn shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 80;
    let head = bytes.get(..SHOWN_BYTES_MAX).unwrap_or(bytes);
    crate::shown(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_and_loose_agree_on_what_is_written() {
        for line in [
            "comp.lang.c 0000000012 00001 y",
            "a 1 1 m",
            "x.y 0 0 =z.w",
            "x 9223372036854775807 00000000000000000001 n",
        ] {
            let fields = strict(line.as_bytes());
            let [name, high, low, flag] = loose(line.as_bytes()).expect("a good line");
            let fields = fields.expect("a good line");
            assert_eq!(usize::from(fields.name_len), name.len());
            assert_eq!(usize::from(fields.high_len), high.len());
            assert_eq!(usize::from(fields.low_len), low.len());
            assert_eq!(usize::from(fields.flag_len), flag.len());
        }
    }

    #[test]
    fn strict_leaves_the_rest_to_loose() {
        for line in [
            "comp  0 0 y",
            "comp 0 0 y ",
            "comp\t0 0 y",
            "comp 0 0 y\r",
            "comp 0 0",
            "comp 0 y",
            "",
            "y",
            " y",
            "comp 0 0 z",
            "comp 0 0 =",
            "comp 0 0 =a/b",
            "../x 0 0 y",
            "comp -1 0 y",
            "comp 9223372036854775808 0 y",
            "comp 000000000000000000001 0 y",
        ] {
            assert_eq!(strict(line.as_bytes()), None, "{line:?}");
        }
        assert!(loose(b"comp\t 0  0 y \r").is_ok());
        assert!(loose(b"comp 0 0 z").is_err());
    }

    #[test]
    fn common_widths_are_the_same_the_short_way() {
        fn short<const LEN: usize>(line: &[u8], shape: &Shape<LEN>, low_len: u8) {
            assert!(strict_of_widths(line, shape, low_len).is_some());
            for place in 0..line.len() {
                for byte in 0..=255u8 {
                    let mut line = line.to_vec();
                    line[place] = byte;
                    let any = strict_of_any_width(&line);
                    assert_eq!(strict(&line), any, "{}", line.escape_ascii());
                    let short = strict_of_widths(&line, shape, low_len);
                    assert!(short.is_none() || short == any, "{}", line.escape_ascii());
                }
            }
        }
        short(b"comp.lang.c 0123456789 9876543210 y", &OF_INN, 10);
        short(b"comp.lang.c 0123456789 98765 m", &OF_C_NEWS, 5);
    }

    #[test]
    fn eight_digits_at_once() {
        for place in 0..8 {
            for byte in 0..=255u8 {
                let mut word = *b"01234567";
                word[place] = byte;
                assert_eq!(are_digits(u64::from_le_bytes(word)), byte.is_ascii_digit());
            }
        }
    }

    #[test]
    fn numbers_are_padded_to_their_field() {
        let mut field = *b"00000";
        assert!(write_number(&mut field, 123));
        assert_eq!(&field, b"00123");
        assert!(write_number(&mut field, 99_999));
        assert!(!write_number(&mut field, 100_000));
        assert_eq!(&field, b"99999");
        assert_eq!(digits_of(0), 1);
        assert_eq!(digits_of(10), 2);
    }
}
