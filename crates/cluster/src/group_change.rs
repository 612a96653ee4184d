//! The content of entries of commands that change groups. The time of a creation is that of the entry.
//!
//! A line each, with tabs between its fields: `set GROUP FLAG` makes the group or changes its flag, `create GROUP CREATOR` notes who made it,
//! `describe GROUP TEXT`, and `remove GROUP`.

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// The group exists, with this flag of active.
    Set(&'a [u8], &'a [u8]),
    /// The group was created now by this person or program.
    Create(&'a [u8], &'a [u8]),
    /// The description of the group.
    Describe(&'a [u8], &'a [u8]),
    /// The group is removed, with its description.
    Remove(&'a [u8]),
}

/// Appends a change to a payload. Its texts must have neither a tab nor a newline.
pub fn push(out: &mut Vec<u8>, change: &Change<'_>) {
    let words: &[&[u8]] = match change {
        Change::Set(group, flag) => &[b"set", group, flag],
        Change::Create(group, who) => &[b"create", group, who],
        Change::Describe(group, text) => &[b"describe", group, text],
        Change::Remove(group) => &[b"remove", group],
    };
    out.extend_from_slice(&words.join(&b'\t'));
    out.push(b'\n');
}

/// The changes of a payload; `None` in place of a line that is none.
pub fn changes(payload: &[u8]) -> impl Iterator<Item = Option<Change<'_>>> {
    let lines = payload.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| {
        let words: Vec<&[u8]> = line
            .strip_suffix(b"\n")?
            .split(|&byte| byte == b'\t')
            .collect();
        match words.as_slice() {
            [_, b"", ..] => None,
            [b"set", group, flag] => Some(Change::Set(group, flag)),
            [b"create", group, who] => Some(Change::Create(group, who)),
            [b"describe", group, text] => Some(Change::Describe(group, text)),
            [b"remove", group] => Some(Change::Remove(group)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn anything_is_answered(payload in "(set|create|describe|remove|x)?(\t[a-z]{0,3}){0,3}\n?") {
            for change in changes(payload.as_bytes()).flatten() {
                let mut again = Vec::new();
                push(&mut again, &change);
                prop_assert_eq!(again.as_slice(), payload.as_bytes());
            }
        }
    }

    #[test]
    fn changes_are_read_as_they_were_written() {
        let all = [
            Change::Set(b"comp.new", b"m"),
            Change::Create(b"comp.new", b"me here"),
            Change::Describe(b"comp.new", b"A new group"),
            Change::Remove(b"comp.old"),
        ];
        let mut payload = Vec::new();
        all.iter().for_each(|change| push(&mut payload, change));
        let read: Option<Vec<Change<'_>>> = changes(&payload).collect();
        assert_eq!(read.as_deref(), Some(&all[..]));
        for text in [
            "set\ta\n",
            "remove\t\n",
            "remove\ta",
            "other\ta\tb\n",
            "set\ta\ty\tz\n",
            "\n",
        ] {
            assert_eq!(
                changes(text.as_bytes()).collect::<Vec<_>>(),
                [None],
                "{text:?}"
            );
        }
    }
}
