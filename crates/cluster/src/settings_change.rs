//! The content of entries that change the settings by which all nodes decide. The hash of the new settings is that of the entry.
//!
//! The hash of the settings that they replace (8 bytes), and then each file: the length of its name (2 bytes), the length of its content
//! (4), name and content. Numbers are little-endian.

/// The largest payload, bytes.
pub const SETTINGS_BYTES_MAX: usize = 4 << 20;

/// New settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsChange<'a> {
    /// The hash of the settings that these replace. Where others are in force, the entry changes nothing.
    pub replaces: u64,
    files: &'a [u8],
}

/// The payload of an entry; `None`: a name or content is too long for its length.
pub fn payload<'a>(
    replaces: u64,
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Option<Vec<u8>> {
    let mut out = replaces.to_le_bytes().to_vec();
    for (name, content) in files {
        out.extend_from_slice(&u16::try_from(name.len()).ok()?.to_le_bytes());
        out.extend_from_slice(&u32::try_from(content.len()).ok()?.to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(content);
    }
    Some(out)
}

impl<'a> SettingsChange<'a> {
    /// The change that a payload is; `None` if it is damaged.
    pub fn parse(payload: &'a [u8]) -> Option<SettingsChange<'a>> {
        let (replaces, files) = payload.split_first_chunk::<8>()?;
        let change = SettingsChange {
            replaces: u64::from_le_bytes(*replaces),
            files,
        };
        change.files().all(|file| file.is_some()).then_some(change)
    }

    /// The files, with name and content; `None` in place of one that is damaged.
    pub fn files(&self) -> impl Iterator<Item = Option<(&'a str, &'a [u8])>> + use<'a> {
        let mut rest = self.files;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let file = take(&mut rest);
            if file.is_none() {
                rest = &[];
            }
            Some(file)
        })
    }
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<(&'a str, &'a [u8])> {
    let (name, after) = rest.split_first_chunk::<2>()?;
    let (content, after) = after.split_first_chunk::<4>()?;
    let (name, after) = after.split_at_checked(u16::from_le_bytes(*name) as usize)?;
    let (content, after) = after.split_at_checked(u32::from_le_bytes(*content) as usize)?;
    *rest = after;
    Some((std::str::from_utf8(name).ok()?, content))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_change_is_read_as_it_was_written(
            replaces: u64,
            files in proptest::collection::vec((".{0,12}", proptest::collection::vec(any::<u8>(), 0..40)), 0..5),
        ) {
            let written = files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
            let payload = payload(replaces, written.clone()).unwrap();
            let change = SettingsChange::parse(&payload).unwrap();
            prop_assert_eq!(change.replaces, replaces);
            let read: Option<Vec<_>> = change.files().collect();
            prop_assert_eq!(read, Some(written.collect::<Vec<_>>()));
            // Of a payload that is cut, no prefix is taken for the whole.
            for end in 0..payload.len() {
                if let Some(cut) = SettingsChange::parse(payload.get(..end).unwrap()) {
                    prop_assert!(cut.files().count() < files.len());
                }
            }
        }

        #[test]
        fn anything_is_answered(bytes: Vec<u8>) {
            if let Some(change) = SettingsChange::parse(&bytes) {
                let files: Option<Vec<_>> = change.files().collect();
                prop_assert_eq!(payload(change.replaces, files.unwrap().into_iter()), Some(bytes));
            }
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let name = "x".repeat(1 << 16);
        assert_eq!(payload(1, [(name.as_str(), &b""[..])].into_iter()), None);
    }
}
