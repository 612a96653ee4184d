//! The content of entries of expire: what one run has decided, in groups and numbers, which are the same on all nodes.
//!
//! A line each: `+ GROUP/NUMBER` stays although the group's cut is above it, `GROUP CUT` removes everything of the group below, `- GROUP/NUMBER`
//! removes one article, and `= TIME` lets the ids be forgotten that arrived before it. A long decision makes several entries, in this
//! order: whatever part of them is in the log, nothing goes that should stay.

/// One line of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The article stays.
    Keep(&'a [u8], u64),
    /// Everything of the group below this number goes.
    Cut(&'a [u8], u64),
    /// The article goes.
    Gone(&'a [u8], u64),
    /// Ids that arrived before this time, seconds since 1970, may be forgotten.
    Forget(i64),
}

/// Appends a line to a payload.
pub fn push(out: &mut Vec<u8>, line: &Line<'_>) {
    let (head, group, middle, tail): (&[u8], &[u8], &[u8], String) = match line {
        Line::Keep(group, number) => (b"+ ", group, b"/", number.to_string()),
        Line::Gone(group, number) => (b"- ", group, b"/", number.to_string()),
        Line::Cut(group, number) => (b"", group, b" ", number.to_string()),
        Line::Forget(time) => (b"= ", b"", b"", time.to_string()),
    };
    for part in [head, group, middle, tail.as_bytes(), b"\n"] {
        out.extend_from_slice(part);
    }
}

/// The lines of a payload; `None` in place of one that is none.
pub fn lines(payload: &[u8]) -> impl Iterator<Item = Option<Line<'_>>> {
    let lines = payload.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").and_then(line_of))
}

fn line_of(line: &[u8]) -> Option<Line<'_>> {
    let link = |rest: &'_ [u8]| -> Option<(usize, u64)> {
        let slash = rest.iter().rposition(|&byte| byte == b'/')?;
        Some((slash, number_of(rest.get(slash + 1..)?)?))
    };
    if let Some(rest) = line.strip_prefix(b"+ ") {
        let (end, number) = link(rest)?;
        return Some(Line::Keep(group_of(rest, end)?, number));
    }
    if let Some(rest) = line.strip_prefix(b"- ") {
        let (end, number) = link(rest)?;
        return Some(Line::Gone(group_of(rest, end)?, number));
    }
    if let Some(rest) = line.strip_prefix(b"= ") {
        return Some(Line::Forget(std::str::from_utf8(rest).ok()?.parse().ok()?));
    }
    let space = line.iter().rposition(|&byte| byte == b' ')?;
    Some(Line::Cut(
        group_of(line, space)?,
        number_of(line.get(space + 1..)?)?,
    ))
}

fn group_of(line: &[u8], end: usize) -> Option<&[u8]> {
    line.get(..end).filter(|group| !group.is_empty())
}

fn number_of(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        let all = [
            Line::Keep(b"comp.a", 5),
            Line::Cut(b"comp.a", 90),
            Line::Gone(b"comp.c++/x", u64::MAX),
            Line::Forget(-3),
        ];
        let mut payload = Vec::new();
        all.iter().for_each(|line| push(&mut payload, line));
        assert_eq!(
            payload,
            b"+ comp.a/5\ncomp.a 90\n- comp.c++/x/18446744073709551615\n= -3\n"
        );
        let read: Option<Vec<Line<'_>>> = lines(&payload).collect();
        assert_eq!(read.as_deref(), Some(&all[..]));
    }

    proptest! {
        #[test]
        fn anything_is_answered(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            // What is read as a line is written as the same line, but for zeros before a number.
            for line in lines(&payload).flatten() {
                let mut again = Vec::new();
                push(&mut again, &line);
                prop_assert_eq!(lines(&again).collect::<Vec<_>>(), [Some(line)]);
            }
        }
    }

    #[test]
    fn nothing_else_is_a_line() {
        for text in [
            "comp.a 5",
            "+ comp.a\n",
            "+ /5\n",
            "- a/x\n",
            "- a/+5\n",
            " 5\n",
            "comp.a\n",
            "\n",
            "= x\n",
            "a -1\n",
        ] {
            assert_eq!(
                lines(text.as_bytes()).collect::<Vec<_>>(),
                [None],
                "{text:?}"
            );
        }
        assert_eq!(lines(b"").count(), 0);
    }
}
