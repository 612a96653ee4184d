//! The content of entries of `article remove` and `article restore`. The time of a removal is that of the entry.
//!
//! A line each, with tabs between its fields: `remove UNTIL ID REASON` hides the article, which can be restored until then (seconds since
//! 1970), or remembers the id of one that is not here; `erase ID REASON` hides it for good; `restore ID` shows it again.

use article::decimal;

/// One removal or restoration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal<'a> {
    /// The article with this id is removed, and can be restored until a time, seconds since 1970.
    Remove {
        /// Until then.
        until: i64,
        /// Its message-id.
        id: &'a [u8],
        /// Why.
        reason: &'a [u8],
    },
    /// The article with this id is removed, and its bytes need not stay anywhere.
    Erase {
        /// Its message-id.
        id: &'a [u8],
        /// Why.
        reason: &'a [u8],
    },
    /// The article with this id is shown again.
    Restore(&'a [u8]),
}

/// Appends a line to a payload. Ids and reasons must have neither a tab nor a newline.
pub fn push(out: &mut Vec<u8>, removal: &Removal<'_>) {
    match removal {
        Removal::Remove { until, id, reason } => {
            out.extend_from_slice(b"remove\t");
            decimal::push_signed(out, *until);
            out.push(b'\t');
            out.extend_from_slice(&[*id, reason].join(&b'\t'));
        }
        Removal::Erase { id, reason } => {
            out.extend_from_slice(&[b"erase".as_slice(), id, reason].join(&b'\t'));
        }
        Removal::Restore(id) => out.extend_from_slice(&[b"restore".as_slice(), id].join(&b'\t')),
    }
    out.push(b'\n');
}

/// The lines of a payload; `None` in place of a line that is none.
pub fn removals(payload: &[u8]) -> impl Iterator<Item = Option<Removal<'_>>> {
    let lines = payload.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| {
        let words: Vec<&[u8]> = line
            .strip_suffix(b"\n")?
            .split(|&byte| byte == b'\t')
            .collect();
        let is_id = |id: &[u8]| !id.is_empty();
        match words.as_slice() {
            [b"remove", until, id, reason] if is_id(id) => Some(Removal::Remove {
                until: decimal::parse_signed(until)?,
                id,
                reason,
            }),
            [b"erase", id, reason] if is_id(id) => Some(Removal::Erase { id, reason }),
            [b"restore", id] if is_id(id) => Some(Removal::Restore(id)),
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
        fn anything_is_answered(payload in "(remove|erase|restore|x)?(\t-?[a-z0-9]{0,3}){0,4}\n?") {
            for removal in removals(payload.as_bytes()).flatten() {
                let mut again = Vec::new();
                push(&mut again, &removal);
                let read: Vec<_> = removals(&again).collect();
                prop_assert_eq!(read, vec![Some(removal)]);
            }
        }
    }

    #[test]
    fn removals_are_read_as_they_were_written() {
        let all = [
            Removal::Remove {
                until: -5,
                id: b"<a@b>",
                reason: b"spam, and more",
            },
            Removal::Erase {
                id: b"<c@d>",
                reason: b"",
            },
            Removal::Restore(b"<a@b>"),
        ];
        let mut payload = Vec::new();
        all.iter().for_each(|removal| push(&mut payload, removal));
        let read: Option<Vec<Removal<'_>>> = removals(&payload).collect();
        assert_eq!(read.as_deref(), Some(&all[..]));
        for text in [
            "remove\tx\t<a@b>\t\n",
            "remove\t1\t<a@b>\n",
            "erase\t\t\n",
            "restore\t<a@b>",
            "restore\t<a@b>\tx\n",
            "\n",
        ] {
            let read: Vec<_> = removals(text.as_bytes()).collect();
            assert_eq!(read, [None], "{text:?}");
        }
    }
}
