//! The `active.times` file: the creation of each group, one line per group,
//! `group seconds creator`, the newest last.

use crate::name;

/// The creation of a group: one line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupCreation<'a> {
    /// The group.
    pub group: &'a [u8],
    /// The time of creation, seconds since 1970.
    pub seconds: u64,
    /// The creator; may be empty.
    pub creator: &'a [u8],
}

/// Parses the lines of the file. An invalid line yields its number, from 1, as the error.
pub fn creations(text: &[u8]) -> impl Iterator<Item = Result<GroupCreation<'_>, usize>> {
    text.split(|&byte| byte == b'\n')
        .zip(1usize..)
        .filter(|(line, _)| !line.trim_ascii().is_empty())
        .map(|(line, number)| parse_line(line).ok_or(number))
}

/// The groups created at this time or later, in the order of the file (NEWGROUPS).
/// Invalid lines are skipped.
pub fn since(text: &[u8], seconds: u64) -> impl Iterator<Item = GroupCreation<'_>> {
    creations(text)
        .flatten()
        .filter(move |creation| creation.seconds >= seconds)
}

/// Appends a line. Blanks and controls in the creator become `_`, so that it
/// stays one field. Returns `false`, and appends nothing, for an unsafe group name.
pub fn push(out: &mut Vec<u8>, creation: GroupCreation<'_>) -> bool {
    if !name::is_safe(creation.group) {
        return false;
    }
    out.extend_from_slice(creation.group);
    out.extend_from_slice(format!(" {} ", creation.seconds).as_bytes());
    let plain = |&byte: &u8| {
        if byte <= b' ' || byte == 0x7f {
            b'_'
        } else {
            byte
        }
    };
    out.extend(creation.creator.trim_ascii().iter().map(plain));
    out.push(b'\n');
    true
}

/// Returns the text without the lines of a group, for `rmgroup`.
pub fn without(text: &[u8], group: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if first_word(line) != group {
            out.extend_from_slice(line);
        }
    }
    out
}

fn parse_line(line: &[u8]) -> Option<GroupCreation<'_>> {
    let group = first_word(line);
    let rest = line.get(group.len()..)?.trim_ascii_start();
    let digits = first_word(rest);
    let creator = rest.get(digits.len()..)?.trim_ascii();
    if !name::is_safe(group) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let seconds = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(GroupCreation {
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
    fn lines_are_parsed_and_bad_ones_reported() {
        let lines: Vec<_> = creations(SAMPLE).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[0],
            Ok(GroupCreation {
                group: b"comp.a",
                seconds: 700_000_000,
                creator: b"usenet@example.org"
            })
        );
        assert_eq!(lines[1].map(|creation| creation.creator), Ok(&b"a b"[..]));
        assert_eq!(&lines[2..4], [Err(4), Err(5)]);
        assert_eq!(lines[4].map(|creation| creation.creator), Ok(&b""[..]));
    }

    #[test]
    fn newer_groups_are_found() {
        let groups: Vec<_> = since(SAMPLE, 800_000_000)
            .map(|creation| creation.group)
            .collect();
        assert_eq!(groups, [b"comp.b", b"comp.d"]);
    }

    #[test]
    fn lines_are_added_and_removed() {
        let mut text = b"comp.ab 1 x\n".to_vec();
        let creation = GroupCreation {
            group: b"comp.a",
            seconds: 5,
            creator: b" a b\nc ",
        };
        assert!(push(&mut text, creation));
        assert!(!push(
            &mut text,
            GroupCreation {
                group: b"..",
                ..creation
            }
        ));
        assert_eq!(text, b"comp.ab 1 x\ncomp.a 5 a_b_c\n");
        assert_eq!(without(&text, b"comp.a"), b"comp.ab 1 x\n");
        assert_eq!(without(&text, b"comp"), text);
        assert_eq!(without(b"comp.a", b"comp.a"), b"");
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(text in any::<Vec<u8>>(), seconds in any::<u64>()) {
            for creation in since(&text, seconds) {
                prop_assert!(creation.seconds >= seconds);
            }
            let mut line = Vec::new();
            let creation = GroupCreation { group: b"a.b", seconds, creator: &text };
            push(&mut line, creation);
            let read: Vec<_> = creations(&line).collect();
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!(read[0].map(|creation| (creation.group, creation.seconds)), Ok((&b"a.b"[..], seconds)));
            without(&text, b"a");
        }
    }
}
