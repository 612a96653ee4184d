//! The report of `expire -g`: articles with an unreadable Expires, as in C News on every run as long as the article exists.

use groups::shown;
use store::{Expires, HistoryLine, Snapshot};

/// Most articles that the report lists; further ones are only counted.
pub const LISTED_MAX: usize = 1000;

/// The articles with an unreadable Expires. The default of their rule applies.
#[derive(Debug, Clone, Default)]
pub struct UnreadableExpires {
    /// Their number.
    pub count: u64,
    /// The first of them, in the order of history.
    pub listed: Vec<UnreadableArticle>,
}

/// An article with an unreadable Expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableArticle {
    /// Its message-id.
    pub id: Vec<u8>,
    /// The first group that still contains it.
    pub group: Vec<u8>,
    /// Its number in that group.
    pub number: u64,
    /// The text of its Expires, as history contains it.
    pub text: Vec<u8>,
}

/// `group/number <id>: Expires `TEXT' cannot be read, the default applies`
impl std::fmt::Display for UnreadableArticle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}/{} {}: Expires `{}' cannot be read, the default applies",
            shown(&self.group),
            self.number,
            shown(&self.id),
            shown(&self.text)
        )
    }
}

impl UnreadableExpires {
    /// Examines a line before the decision about it. Removed and cancelled articles are skipped.
    pub(crate) fn examine(&mut self, snapshot: &Snapshot, line: &HistoryLine<'_>) {
        let (Expires::Unreadable(text), Some(position)) = (line.expires, line.position) else {
            return;
        };
        let is_there =
            |(group, number): &(&[u8], u64)| snapshot.is_alive_in(group, *number, position);
        let Some((group, number)) = line.links().find(is_there) else {
            return;
        };
        self.count += 1;
        if self.listed.len() < LISTED_MAX {
            self.listed.push(UnreadableArticle {
                id: line.id.to_vec(),
                group: group.to_vec(),
                number,
                text: text.to_vec(),
            });
        }
    }
}
