//! How far the sites are fed, as the node that feeds tells it to the one that takes its place.
//!
//! Positions differ between nodes, so a cursor is told as the sequence number of the last entry of the log that lies wholly before it. An
//! older value is never wrong: articles are sent again, and none is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The cursors of all sites.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedCursors {
    /// The name of the node that tells this; empty: none has fed yet.
    pub node: String,
    /// Its process.
    pub process: u64,
    /// The sites, by name; each byte of a name is a character.
    pub sites: BTreeMap<String, SiteCursor>,
}

/// The cursor of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteCursor {
    /// The last entry that lies wholly before the cursor. `None`: the cursor lies before all.
    pub entry: Option<u64>,
    /// Entries behind the first and up to the second are delivered as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<(u64, u64)>,
    /// Articles before the cursor to be offered again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<DeferredArticle>,
    /// The reason of the pause, if the feed is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}

/// An article that a site wants later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredArticle {
    /// Its message-id; each byte is a character.
    pub id: String,
    /// Earliest time of the next offer, seconds since 1970.
    pub due: i64,
    /// Number of offers.
    pub attempts: u64,
}

/// Bytes as text, a character for each.
pub fn text_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of such a text; other characters are left out.
pub fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().filter_map(|c| u8::try_from(c).ok()).collect()
}

impl FeedCursors {
    /// The last entry that a node must have applied before it can go on from here.
    pub fn last_entry(&self) -> u64 {
        let of = |site: &SiteCursor| site.entry.max(site.ahead.map(|(_, to)| to));
        self.sites.values().filter_map(of).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn any_name_survives() {
        let name: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes_of(&text_of(&name)), name);
        let site = SiteCursor {
            entry: Some(7),
            ahead: Some((8, 12)),
            ..SiteCursor::default()
        };
        let cursors = FeedCursors {
            sites: [
                (text_of(&name), site),
                ("x".to_owned(), SiteCursor::default()),
            ]
            .into(),
            ..FeedCursors::default()
        };
        let json = serde_json::to_vec(&cursors).unwrap();
        let again: FeedCursors = serde_json::from_slice(&json).unwrap();
        assert_eq!((again.last_entry(), &again), (12, &cursors));
        assert_eq!(FeedCursors::default().last_entry(), 0);
    }
}
