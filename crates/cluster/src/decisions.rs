//! The versions of the decisions. A build whose decisions about the same entry differ from those of the build before has a new version, and
//! applies it only behind an entry that says so. The payload of such an entry is the version, 2 bytes, little-endian.
//!
//! | version | since | what is new |
//! |---|---|---|
//! | 1 | 0.1.0 | – |

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version in force before an entry says another one.
pub const FIRST: u16 = 1;

/// The versions of the decisions that a build can apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRange {
    /// The lowest one.
    pub oldest: u16,
    /// The highest one.
    pub newest: u16,
}

impl Default for DecisionRange {
    fn default() -> DecisionRange {
        DecisionRange {
            oldest: FIRST,
            newest: FIRST,
        }
    }
}

impl fmt::Display for DecisionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DecisionRange { oldest, newest } if oldest == newest => write!(f, "version {newest}"),
            DecisionRange { oldest, newest } => write!(f, "versions {oldest} to {newest}"),
        }
    }
}

impl DecisionRange {
    /// Those of this build. A change raises `newest` if the same article, sender, settings and state then give another verdict, another effect of
    /// a control message or of expire, or another hash of the outcomes; and keeps what the version before did, for clusters where that is in
    /// force. `oldest` is at most the newest version of the release before.
    pub const OF_THIS_BUILD: DecisionRange = DecisionRange {
        oldest: FIRST,
        newest: FIRST,
    };

    /// Whether it is the first version alone.
    pub fn is_first(&self) -> bool {
        *self == DecisionRange::default()
    }

    /// Whether a build with this range can apply a version.
    pub fn has(&self, version: u16) -> bool {
        (self.oldest..=self.newest).contains(&version)
    }

    /// The reason why a build with this range cannot apply a version, and what to do; `None` if it can.
    pub fn refusal(&self, version: u16) -> Option<String> {
        (!self.has(version)).then(|| {
            format!(
                "all nodes decide by version {version} of the decisions, and this build can apply {self} only: install a build that \
                 can apply version {version} (`broadsheet cluster status' on another node shows what the builds of the nodes can), and start \
                 the daemon again"
            )
        })
    }
}

/// The payload of an entry that puts a version into force.
pub fn payload(version: u16) -> Vec<u8> {
    version.to_le_bytes().to_vec()
}

/// The version that a payload puts into force; `None` if it is damaged.
pub fn parse(payload: &[u8]) -> Option<u16> {
    let version = u16::from_le_bytes(payload.try_into().ok()?);
    (version >= FIRST).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_a_version() {
        for version in [FIRST, 2, u16::MAX] {
            assert_eq!(parse(&payload(version)), Some(version));
        }
        for damaged in [&b""[..], b"\x01", b"\0\0", b"\x01\0\0"] {
            assert_eq!(parse(damaged), None);
        }
    }

    #[test]
    fn a_build_refuses_versions_outside_its_range() {
        let range = DecisionRange {
            oldest: 2,
            newest: 3,
        };
        let can: Vec<bool> = (0..6).map(|version| range.has(version)).collect();
        assert_eq!(can, [false, false, true, true, false, false]);
        assert_eq!(range.refusal(3), None);
        let told = range.refusal(4).unwrap_or_default();
        assert!(told.contains("version 4") && told.contains("versions 2 to 3"));
        let told = DecisionRange::default().refusal(2).unwrap_or_default();
        assert!(told.contains("can apply version 1 only"), "{told}");
    }
}
