//! `active.times`: when each group was made, and by whom; a line a group,
//! `group seconds creator`, the newest last.

use crate::name;

/// One line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birth<'a> {
    /// The group.
    pub group: &'a [u8],
    /// When it was made, in seconds since the epoch.
    pub seconds: u64,
    /// Who made it; may be empty.
    pub creator: &'a [u8],
}

/// The lines of the file. A line that cannot be read gives its number, from 1.
pub fn births(text: &[u8]) -> impl Iterator<Item = Result<Birth<'_>, usize>> {
    text.split(|&byte| byte == b'\n')
        .zip(1usize..)
        .filter(|(line, _)| !line.trim_ascii().is_empty())
        .map(|(line, number)| parse_line(line).ok_or(number))
}

/// Groups made at this time or later, in the order of the file (NEWGROUPS).
/// Lines that cannot be read are passed over.
pub fn since(text: &[u8], seconds: u64) -> impl Iterator<Item = Birth<'_>> {
    births(text)
        .flatten()
        .filter(move |birth| birth.seconds >= seconds)
}

/// Adds a line. Blanks and controls in the creator become `_`, so that it
/// stays one field of one line; `false`, and no line, for an unsafe group name.
pub fn push(out: &mut Vec<u8>, birth: Birth<'_>) -> bool {
    if !name::is_safe(birth.group) {
        return false;
    }
    out.extend_from_slice(birth.group);
    out.extend_from_slice(format!(" {} ", birth.seconds).as_bytes());
    let plain = |&byte: &u8| {
        if byte <= b' ' || byte == 0x7f {
            b'_'
        } else {
            byte
        }
    };
    out.extend(birth.creator.trim_ascii().iter().map(plain));
    out.push(b'\n');
    true
}

/// The text without the lines of a group, for `rmgroup`.
pub fn without(text: &[u8], group: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if first_word(line) != group {
            out.extend_from_slice(line);
        }
    }
    out
}

fn parse_line(line: &[u8]) -> Option<Birth<'_>> {
    let group = first_word(line);
    let rest = line.get(group.len()..)?.trim_ascii_start();
    let digits = first_word(rest);
    let creator = rest.get(digits.len()..)?.trim_ascii();
    if !name::is_safe(group) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let seconds = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Birth {
        group,
        seconds,
        creator,
    })
}

fn first_word(text: &[u8]) -> &[u8] {
    let mut words = text.split(u8::is_ascii_whitespace);
    words.next().unwrap_or(b"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &[u8] = b"comp.a 700000000 usenet@example.org\ncomp.b 800000000 a b\n\n\
        bad/name 1 x\ncomp.c later x\ncomp.d 900000000\n";

    #[test]
    fn lines_are_read_and_bad_ones_named() {
        let lines: Vec<_> = births(SAMPLE).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[0],
            Ok(Birth {
                group: b"comp.a",
                seconds: 700_000_000,
                creator: b"usenet@example.org"
            })
        );
        assert_eq!(lines[1].map(|birth| birth.creator), Ok(&b"a b"[..]));
        assert_eq!(&lines[2..4], [Err(4), Err(5)]);
        assert_eq!(lines[4].map(|birth| birth.creator), Ok(&b""[..]));
    }

    #[test]
    fn newer_groups_are_found() {
        let groups: Vec<_> = since(SAMPLE, 800_000_000)
            .map(|birth| birth.group)
            .collect();
        assert_eq!(groups, [b"comp.b", b"comp.d"]);
    }

    #[test]
    fn lines_are_added_and_removed() {
        let mut text = b"comp.ab 1 x\n".to_vec();
        let birth = Birth {
            group: b"comp.a",
            seconds: 5,
            creator: b" a b\nc ",
        };
        assert!(push(&mut text, birth));
        assert!(!push(
            &mut text,
            Birth {
                group: b"..",
                ..birth
            }
        ));
        assert_eq!(text, b"comp.ab 1 x\ncomp.a 5 a_b_c\n");
        assert_eq!(without(&text, b"comp.a"), b"comp.ab 1 x\n");
        assert_eq!(without(&text, b"comp"), text);
        assert_eq!(without(b"comp.a", b"comp.a"), b"");
    }

    proptest! {
        #[test]
        fn any_bytes_do(text in any::<Vec<u8>>(), seconds in any::<u64>()) {
            for birth in since(&text, seconds) {
                prop_assert!(birth.seconds >= seconds);
            }
            let mut line = Vec::new();
            let birth = Birth { group: b"a.b", seconds, creator: &text };
            push(&mut line, birth);
            let read: Vec<_> = births(&line).collect();
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!(read[0].map(|birth| (birth.group, birth.seconds)), Ok((&b"a.b"[..], seconds)));
            without(&text, b"a");
        }
    }
}
