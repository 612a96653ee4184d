//! The content of entries that change the settings by which all nodes decide. The hash of the new settings is that of the entry.
//!
//! An HMAC-SHA-256 (32 bytes), the hash of the settings that they replace (8), the number of an earlier entry (8), and then each file: the
//! length of its name (2 bytes), the length of its content (4), name and content. Numbers are little-endian.
//!
//! Settings name programs, so nodes take them only from who has their login. It is the key of the HMAC, which never goes over the network. By
//! the name of the log and the number of the earlier entry, nobody can send an old change again.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The largest payload, bytes.
pub const SETTINGS_BYTES_MAX: usize = 4 << 20;
/// Greatest distance from the earlier entry that a change names. Behind it the change has no effect.
pub const DISTANCE_MAX: u64 = 10_000;
/// What else is signed with this login has another beginning.
const LABEL: &[u8] = b"broadsheet settings\0";
const MAC_BYTES: usize = 32;

/// The facts about a change that its HMAC covers, beside its content.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The login of the nodes: an NKEY seed.
    pub login: &'a str,
    /// The name of the log.
    pub log: &'a str,
    /// The hash of the new settings.
    pub rules: u64,
}

impl Origin<'_> {
    /// `None` never comes: every key has a length that HMAC takes.
    fn mac(&self, content: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.login.as_bytes()).ok()?;
        let rules = self.rules.to_le_bytes();
        for part in [LABEL, self.log.as_bytes(), b"\0", &rules, content] {
            mac.update(part);
        }
        Some(mac)
    }
}

/// New settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsChange<'a> {
    mac: &'a [u8; MAC_BYTES],
    /// Everything that the HMAC covers.
    content: &'a [u8],
    /// The hash of the settings that these replace. Where others are in force, the entry changes nothing.
    pub replaces: u64,
    /// An entry that had been applied where the change was made.
    after: u64,
    files: &'a [u8],
}

/// The payload of an entry: it replaces the settings with the hash `replaces`, and comes after the entry with the number `after`. `None`: a
/// name or content is too long for its length.
pub fn payload<'a>(
    origin: &Origin<'_>,
    (replaces, after): (u64, u64),
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Option<Vec<u8>> {
    let mut content = replaces.to_le_bytes().to_vec();
    content.extend_from_slice(&after.to_le_bytes());
    for (name, text) in files {
        content.extend_from_slice(&u16::try_from(name.len()).ok()?.to_le_bytes());
        content.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
        content.extend_from_slice(name.as_bytes());
        content.extend_from_slice(text);
    }
    let mut out = origin.mac(&content)?.finalize().into_bytes().to_vec();
    out.append(&mut content);
    Some(out)
}

impl<'a> SettingsChange<'a> {
    /// The change that a payload is; `None` if it is damaged.
    pub fn parse(payload: &'a [u8]) -> Option<SettingsChange<'a>> {
        let (mac, content) = payload.split_first_chunk()?;
        let (replaces, rest) = content.split_first_chunk()?;
        let (after, files) = rest.split_first_chunk()?;
        let change = SettingsChange {
            mac,
            content,
            replaces: u64::from_le_bytes(*replaces),
            after: u64::from_le_bytes(*after),
            files,
        };
        change.files().all(|file| file.is_some()).then_some(change)
    }

    /// Whether somebody made it who has this login, for this log.
    pub fn is_from(&self, origin: &Origin<'_>) -> bool {
        let mac = origin.mac(self.content);
        mac.is_some_and(|mac| mac.verify_slice(self.mac).is_ok())
    }

    /// Whether an entry with this number is near the entry after which the change was made.
    pub fn is_recent_at(&self, sequence: u64) -> bool {
        let distance = sequence.checked_sub(self.after);
        distance.is_some_and(|distance| (1..=DISTANCE_MAX).contains(&distance))
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

    const ORIGIN: Origin<'_> = Origin {
        login: "SUA",
        log: "a1",
        rules: 7,
    };

    proptest! {
        #[test]
        fn a_change_is_read_as_it_was_written(
            replaces: u64,
            after: u64,
            files in proptest::collection::vec((".{0,12}", proptest::collection::vec(any::<u8>(), 0..40)), 0..5),
            flipped: proptest::sample::Index,
        ) {
            let written = files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
            let mut payload = payload(&ORIGIN, (replaces, after), written.clone()).unwrap();
            let change = SettingsChange::parse(&payload).unwrap();
            prop_assert_eq!((change.replaces, change.after), (replaces, after));
            prop_assert!(change.is_from(&ORIGIN));
            let read: Option<Vec<_>> = change.files().collect();
            prop_assert_eq!(read, Some(written.collect::<Vec<_>>()));
            // Of a payload that is cut, no prefix is taken for the whole.
            for end in 0..payload.len() {
                if let Some(cut) = SettingsChange::parse(payload.get(..end).unwrap()) {
                    prop_assert!(!cut.is_from(&ORIGIN));
                }
            }
            let at = flipped.index(payload.len());
            *payload.get_mut(at).unwrap() ^= 1;
            let is_forged = |payload| SettingsChange::parse(payload).is_none_or(|change| !change.is_from(&ORIGIN));
            prop_assert!(is_forged(&payload));
        }

        #[test]
        fn anything_is_answered(bytes: Vec<u8>) {
            if let Some(change) = SettingsChange::parse(&bytes) {
                let files: Option<Vec<_>> = change.files().collect();
                let made = payload(&ORIGIN, (change.replaces, change.after), files.unwrap().into_iter());
                prop_assert_eq!(made.as_ref().and_then(|made| made.get(MAC_BYTES..)), bytes.get(MAC_BYTES..));
                prop_assert_eq!(made == Some(bytes.clone()), change.is_from(&ORIGIN));
            }
        }
    }

    #[test]
    fn only_who_has_the_login_makes_a_change() {
        let payload = payload(&ORIGIN, (1, 2), [("sys", &b"ME"[..])].into_iter()).unwrap();
        let change = SettingsChange::parse(&payload).unwrap();
        assert!(change.is_from(&ORIGIN));
        for other in [
            Origin {
                login: "SUB",
                ..ORIGIN
            },
            Origin {
                login: "",
                ..ORIGIN
            },
            Origin {
                log: "a2",
                ..ORIGIN
            },
            Origin { rules: 8, ..ORIGIN },
        ] {
            assert!(!change.is_from(&other), "{other:?}");
        }
    }

    #[test]
    fn an_old_change_has_no_effect() {
        let payload = payload(&ORIGIN, (1, 40), std::iter::empty()).unwrap();
        let change = SettingsChange::parse(&payload).unwrap();
        let are_recent = [0, 40, 41, 40 + DISTANCE_MAX, 41 + DISTANCE_MAX, u64::MAX];
        let are_recent = are_recent.map(|sequence| change.is_recent_at(sequence));
        assert_eq!(are_recent, [false, false, true, true, false, false]);
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let name = "x".repeat(1 << 16);
        let files = [(name.as_str(), &b""[..])].into_iter();
        assert_eq!(payload(&ORIGIN, (1, 2), files), None);
    }
}
