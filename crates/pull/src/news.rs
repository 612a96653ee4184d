//! The news system that a visit works for, and the counts of a visit.

use store::Snapshot;

use crate::error::Error;

/// The news system that gets the articles.
pub trait News {
    /// The state of the store now.
    ///
    /// # Errors
    /// It cannot be read.
    fn snapshot(&mut self) -> Result<Snapshot, Error>;

    /// Files a batch of articles, durably.
    ///
    /// # Errors
    /// It is not filed, or not all of it.
    fn file(&mut self, batch: Vec<u8>) -> Result<(), Error>;

    /// Reports a message for the administrator.
    fn message(&mut self, text: &str);

    /// Reports the progress of the visit.
    fn progress(&mut self, pulled: &Pulled);
}

/// The counts of a visit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Groups that the server has.
    pub groups: u64,
    /// Groups of ours that it does not have.
    pub groups_missing: u64,
    /// Groups that the server has numbered anew.
    pub groups_renumbered: u64,
    /// Groups that the server refused in this visit.
    pub groups_refused: u64,
    /// New articles that the history knew already.
    pub known: u64,
    /// Articles to fetch, as far as it is known.
    pub wanted: u64,
    /// Articles that came.
    pub fetched: u64,
    /// Articles that had gone when they were asked for.
    pub gone: u64,
    /// Articles above the size limit.
    pub too_large: u64,
    /// Articles that are not filed: they have another id, or none of the groups.
    pub not_asked_for: u64,
    /// Articles that the server refused in this visit; the next one asks for them again.
    pub refused: u64,
    /// Articles that no visit asks for again: the server has refused them for too long, or no command can name their message-id.
    pub given_up: u64,
    /// Groups of which leafnode shows a placeholder in place of articles.
    pub placeholders: u64,
    /// Bytes received from the network.
    pub bytes: u64,
    /// Posts that the server took.
    pub posted: u64,
    /// Posts that it refused.
    pub posts_refused: u64,
}

/// Most messages of one visit about articles that nobody asked for, about groups that the server refuses, and about such articles.
pub(crate) const SHOWN: u64 = 10;

impl Pulled {
    /// Passes over a row of an overview without a number or a message-id.
    pub(crate) fn pass_over_row(&mut self, group: &[u8], row: &[u8], news: &mut dyn News) {
        self.given_up += 1;
        if self.given_up <= SHOWN {
            let group = group.escape_ascii();
            let shown = row.get(..ID_SHOWN_BYTES).unwrap_or(row).escape_ascii();
            news.message(&format!(
                "{group}: the overview has a row without a number or a message-id, `{shown}'; its article is given up"
            ));
        }
    }

    /// Passes over an article whose message-id no command can name.
    pub(crate) fn pass_over(&mut self, id: &[u8], news: &mut dyn News) {
        self.given_up += 1;
        if self.given_up <= SHOWN {
            let shown = id.get(..ID_SHOWN_BYTES).unwrap_or(id).escape_ascii();
            news.message(&format!(
                "{shown}: no command can name this message-id (RFC 3977, 3.6); the article is given up"
            ));
        }
    }
}

/// Of such a message-id, or row, a message shows this much, bytes.
const ID_SHOWN_BYTES: usize = 250;
