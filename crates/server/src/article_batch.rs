//! Batches of articles on their way to the writer, and back with their results.
//!
//! *Invariant:* the batches of a network thread come back in the order in which they were sent, and the results have the order of the
//! articles: pending replies are completed by order alone.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use access::{Grant, Rights};
use article::wire_facts::WireFacts;
use nntp::{TransferKind, TransferOutcome};
use store::IdHash;

use crate::Token;
use crate::counts::Counter;
use crate::waiting_posts::WaitingPost;

/// The sender of a post.
#[derive(Debug, Clone, Default)]
pub struct Poster {
    /// The name of the user; empty without a login.
    pub user: String,
    /// The client's address; empty for this machine.
    pub host: String,
    /// The connection uses TLS.
    pub is_secure: bool,
}

/// Approximate memory of a batched article besides its bytes (entry, message-id, pending reply), bytes. It bounds floods of empty
/// articles.
pub(crate) const ENTRY_BYTES: usize = 256;

/// One article of a batch.
#[derive(Debug)]
pub struct Entry {
    /// The command that transferred it.
    pub kind: TransferKind,
    /// The connection that sent it.
    pub connection: Token,
    id: Range<usize>,
    article: Range<usize>,
    /// The facts found about the article when it was received.
    pub facts: WireFacts,
    /// The sender, if it is a post.
    pub poster: Option<Box<Poster>>,
    /// The sender's permissions; `None` for a peer that may send everything.
    pub grant: Option<Grant>,
    /// The hash of its message-id, which the connection has reserved; `None` for a post.
    pub(crate) offered: Option<IdHash>,
    /// The counter of a refusal.
    pub(crate) refusal_counter: Counter,
    /// It waits for its moderator on the disk, whatever becomes of the commit.
    is_mailed: bool,
    /// Its part of the bound on waiting posts, if it is a post.
    _waiting: Option<WaitingPost>,
}

/// Takes batches back after their commit: a network thread.
pub(crate) trait BatchOwner: std::fmt::Debug + Send + Sync {
    /// Receives a batch with its results.
    fn take_back(&self, batch: ArticleBatch);
}

/// The sender of articles, as the log names it.
#[derive(Debug, PartialEq, Eq)]
pub struct ArticleOrigin {
    /// The entry of `[[access]]`; `(none)` without one.
    pub entry: String,
    /// The address, or words for a pipe of this machine.
    pub address: String,
}

impl ArticleOrigin {
    pub(crate) fn of(rights: &Rights, address: Option<IpAddr>) -> Arc<ArticleOrigin> {
        let entry = match rights.name() {
            "" => "(none)",
            name => name,
        };
        let pipe = || "a program of this machine".to_owned();
        Arc::new(ArticleOrigin {
            entry: entry.to_owned(),
            address: address.map_or_else(pipe, |address| address.to_string()),
        })
    }
}

/// Articles of one connection in the buffer that received them, with their results.
#[derive(Debug)]
pub struct ArticleBatch {
    bytes: Vec<u8>,
    ids: Vec<u8>,
    entries: Vec<Entry>,
    outcomes: Vec<TransferOutcome>,
    sender: Arc<dyn BatchOwner>,
    pub(crate) origin: Option<Arc<ArticleOrigin>>,
    /// When its last byte was received.
    pub(crate) received: Instant,
    /// Whether the connection has already received a part of a further article: its next batch is on the way.
    pub(crate) is_followed: bool,
}

impl ArticleBatch {
    /// The connection that sent it.
    pub fn connection(&self) -> Option<Token> {
        self.entries.first().map(|entry| entry.connection)
    }

    /// The sender of its articles. `None`: it has only posts, whose posters only `posts.log` names.
    pub fn origin(&self) -> Option<Arc<ArticleOrigin>> {
        self.origin.clone()
    }

    /// When its last byte was received.
    pub fn received(&self) -> Instant {
        self.received
    }

    /// Whether a further batch of the connection is on the way.
    pub fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Number of articles.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no articles.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it has only posts.
    pub(crate) fn has_posts_only(&self) -> bool {
        are_posts(&self.entries)
    }

    /// Approximate memory, bytes; constant over its lifetime.
    fn bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.len() * ENTRY_BYTES
    }

    /// Bytes that count as articles of peers: none if it has only posts, which [`WaitingPosts`](crate::waiting_posts::WaitingPosts) counts.
    pub(crate) fn transfer_bytes(&self) -> usize {
        if are_posts(&self.entries) {
            0
        } else {
            self.bytes()
        }
    }

    /// An article: its entry, the message-id given with the command (empty for a post), and its wire form without the terminator.
    pub fn article(&self, place: usize) -> Option<(&Entry, &[u8], &[u8])> {
        let entry = self.entries.get(place)?;
        let id = self.ids.get(entry.id.clone()).unwrap_or_default();
        let article = self.bytes.get(entry.article.clone()).unwrap_or_default();
        Some((entry, id, article))
    }

    /// Sets the result of the first article without one.
    pub fn set_outcome(&mut self, outcome: TransferOutcome) {
        self.outcomes.push(outcome);
    }

    /// Sets the message-id of the first article without a result, a post: the reply to the poster contains it.
    pub fn set_message_id(&mut self, id: &[u8]) {
        if let Some(entry) = self.entries.get_mut(self.outcomes.len()) {
            let start = self.ids.len();
            self.ids.extend_from_slice(id);
            entry.id = start..self.ids.len();
        }
    }

    /// Accepts the first article without a result, a post that waits for its moderator: a failed commit does not concern it.
    pub fn set_mailed(&mut self) {
        if let Some(entry) = self.entries.get_mut(self.outcomes.len()) {
            entry.is_mailed = true;
        }
        self.set_outcome(TransferOutcome::Accepted);
    }

    /// Refuses the first article without a result, and sets the counter of the refusal.
    pub fn set_refused(&mut self, why: Vec<u8>, refusal_counter: Counter) {
        if let Some(entry) = self.entries.get_mut(self.outcomes.len()) {
            entry.refusal_counter = refusal_counter;
        }
        self.set_outcome(TransferOutcome::Refused(why));
    }

    /// Sets the same result for all articles without one.
    pub fn set_remaining(&mut self, outcome: &TransferOutcome) {
        self.outcomes.resize(self.entries.len(), outcome.clone());
    }

    /// Replaces the results after a failed commit: accepted articles are not durable, and a duplicate may be one of such an article.
    pub fn revoke_accepted(&mut self, outcome: &TransferOutcome) {
        for (entry, told) in self.entries.iter().zip(&mut self.outcomes) {
            let depends = matches!(told, TransferOutcome::Accepted | TransferOutcome::Duplicate);
            if depends && !entry.is_mailed {
                told.clone_from(outcome);
            }
        }
        self.set_remaining(outcome);
    }

    /// Returns the batch to its network thread. Called after the commit of the accepted articles.
    pub fn return_to_sender(self) {
        let sender = self.sender.clone();
        sender.take_back(self);
    }

    pub(crate) fn outcomes(
        &self,
    ) -> impl Iterator<Item = (&Entry, &[u8], usize, &TransferOutcome)> {
        let each = self.entries.iter().zip(&self.outcomes);
        each.map(|(entry, outcome)| {
            let id = self.ids.get(entry.id.clone()).unwrap_or_default();
            (entry, id, entry.article.len(), outcome)
        })
    }

    /// Returns the buffer for reuse.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}

fn are_posts(entries: &[Entry]) -> bool {
    let mut entries = entries.iter();
    entries.all(|entry| entry.kind == TransferKind::Post)
}

/// A batch under construction: ranges in the input of one connection.
#[derive(Debug, Default)]
pub(crate) struct BatchBuilder {
    ids: Vec<u8>,
    entries: Vec<Entry>,
}

impl BatchBuilder {
    /// Adds an article of the input.
    pub fn add(
        &mut self,
        (kind, connection): (TransferKind, Token),
        (id, offered): (&[u8], Option<IdHash>),
        (article, facts): (Range<usize>, WireFacts),
        poster: Option<(Box<Poster>, WaitingPost)>,
        grant: Option<Grant>,
    ) {
        let (poster, waiting) = poster.unzip();
        let start = self.ids.len();
        self.ids.extend_from_slice(id);
        self.entries.push(Entry {
            kind,
            connection,
            id: start..self.ids.len(),
            article,
            facts,
            poster,
            grant,
            offered,
            refusal_counter: Counter::Other,
            is_mailed: false,
            _waiting: waiting,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Total size of the articles, bytes.
    pub fn article_bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.article.len()).sum()
    }

    /// Finishes the batch with the input buffer itself.
    pub fn with(&mut self, mut input: Vec<u8>, sender: Arc<dyn BatchOwner>) -> ArticleBatch {
        if are_posts(&self.entries) {
            // Posts count by their own size.
            input.shrink_to_fit();
        }
        ArticleBatch {
            bytes: input,
            ids: std::mem::take(&mut self.ids),
            entries: std::mem::take(&mut self.entries),
            outcomes: Vec::new(),
            sender,
            origin: None,
            received: Instant::now(),
            is_followed: false,
        }
    }

    /// Finishes the batch with a copy of its articles.
    pub fn with_copy(&mut self, input: &[u8], sender: Arc<dyn BatchOwner>) -> ArticleBatch {
        let mut bytes = Vec::with_capacity(self.article_bytes());
        for entry in &mut self.entries {
            let start = bytes.len();
            bytes.extend_from_slice(input.get(entry.article.clone()).unwrap_or_default());
            entry.article = start..bytes.len();
        }
        self.with(bytes, sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_of_a_lost_article_is_deferred() {
        let sender = Arc::new(crate::mailbox::Mailbox::new().unwrap());
        let mut batch_builder = BatchBuilder::default();
        for _ in 0..5 {
            batch_builder.add(
                (TransferKind::TakeThis, Token::new(0, 0, 0)),
                (b"<1@a>", None),
                (0..0, WireFacts::default()),
                None,
                None,
            );
        }
        let mut batch = batch_builder.with(Vec::new(), sender);
        let refused = TransferOutcome::Refused(b"no".to_vec());
        for outcome in [
            TransferOutcome::Accepted,
            TransferOutcome::Duplicate,
            refused.clone(),
        ] {
            batch.set_outcome(outcome);
        }
        batch.set_mailed();
        let later = TransferOutcome::Deferred(b"a full disk".to_vec());
        batch.revoke_accepted(&later);
        let told: Vec<_> = batch.outcomes().map(|(.., told)| told.clone()).collect();
        let accepted = TransferOutcome::Accepted;
        assert_eq!(
            told,
            [later.clone(), later.clone(), refused, accepted, later]
        );
    }
}
