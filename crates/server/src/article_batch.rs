//! Articles on their way to the writer, and back with what became of them.
//!
//! *Invariant:* batches of one network thread are settled in the order in which they were sent, and so are the articles in each: that is
//! how promises find their answers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use access::Grant;
use nntp::{TransferKind, TransferOutcome};

use crate::Token;
use crate::counts::What;
use crate::mailbox::{Mailbox, Message};

/// Who posted.
#[derive(Debug, Clone, Default)]
pub struct Poster {
    /// The user who logged in; empty for none.
    pub user: String,
    /// The address; empty for this machine.
    pub host: String,
}

/// What an article on its way takes besides its bytes, about: its entry, its id, the promise. Else empty ones would cost nothing.
pub(crate) const ENTRY_BYTES: usize = 256;

/// One article of a batch.
#[derive(Debug)]
pub struct Entry {
    /// How it came.
    pub kind: TransferKind,
    /// Whose it is.
    pub connection: Token,
    id: Range<usize>,
    article: Range<usize>,
    /// Who posted it, where it is a post.
    pub poster: Option<Box<Poster>>,
    /// The rights of the sender. `None`: a peer that may send everything.
    pub grant: Option<Grant>,
    /// What a refusal counts as.
    pub(crate) ground: What,
}

/// Articles in the buffer they were received in.
#[derive(Debug)]
pub struct ArticleBatch {
    bytes: Vec<u8>,
    ids: Vec<u8>,
    entries: Vec<Entry>,
    outcomes: Vec<TransferOutcome>,
    sender: Arc<Mailbox>,
    /// When the last byte of it came.
    pub(crate) came: Instant,
}

impl ArticleBatch {
    /// How many articles.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of memory, about; the same from its making to its end.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.len() * ENTRY_BYTES
    }

    /// An article: what is known of it, its id as it was announced (empty for a post), itself in wire form without terminator.
    pub fn article(&self, place: usize) -> Option<(&Entry, &[u8], &[u8])> {
        let entry = self.entries.get(place)?;
        let id = self.ids.get(entry.id.clone()).unwrap_or_default();
        let article = self.bytes.get(entry.article.clone()).unwrap_or_default();
        Some((entry, id, article))
    }

    /// Says what became of the first article of which nothing was said yet.
    pub fn judge(&mut self, outcome: TransferOutcome) {
        self.outcomes.push(outcome);
    }

    /// The first article of which nothing was said yet is a post that has, or got, this id: whoever posted it will hear it.
    pub fn name(&mut self, id: &[u8]) {
        if let Some(entry) = self.entries.get_mut(self.outcomes.len()) {
            let start = self.ids.len();
            self.ids.extend_from_slice(id);
            entry.id = start..self.ids.len();
        }
    }

    /// As [`ArticleBatch::judge`]: it was refused, which counts as this.
    pub fn judge_refused(&mut self, why: Vec<u8>, ground: What) {
        if let Some(entry) = self.entries.get_mut(self.outcomes.len()) {
            entry.ground = ground;
        }
        self.judge(TransferOutcome::Refused(why));
    }

    /// Says the same of all of which nothing was said yet.
    pub fn judge_rest(&mut self, outcome: &TransferOutcome) {
        self.outcomes.resize(self.entries.len(), outcome.clone());
    }

    /// All that was accepted so far could not be made durable; what is a duplicate may be one of such an article.
    pub fn take_back(&mut self, outcome: &TransferOutcome) {
        for told in &mut self.outcomes {
            if matches!(told, TransferOutcome::Accepted | TransferOutcome::Duplicate) {
                told.clone_from(outcome);
            }
        }
        self.judge_rest(outcome);
    }

    /// Goes back to who sent it. To be called when what was taken is durable.
    pub fn send_back(self) {
        let sender = self.sender.clone();
        sender.put(Message::Settled(self));
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

    /// The buffer, to be used again.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}

/// A batch being packed: places in the input of one connection.
#[derive(Debug, Default)]
pub(crate) struct BatchBuilder {
    ids: Vec<u8>,
    entries: Vec<Entry>,
}

impl BatchBuilder {
    /// Adds an article that lies in the input.
    pub fn add(
        &mut self,
        (kind, connection): (TransferKind, Token),
        id: &[u8],
        article: Range<usize>,
        poster: Option<Box<Poster>>,
        grant: Option<Grant>,
    ) {
        let start = self.ids.len();
        self.ids.extend_from_slice(id);
        self.entries.push(Entry {
            kind,
            connection,
            id: start..self.ids.len(),
            article,
            poster,
            grant,
            ground: What::Other,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of the articles.
    pub fn article_bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.article.len()).sum()
    }

    /// The batch, with the input itself.
    pub fn with(&mut self, input: Vec<u8>, sender: &Arc<Mailbox>) -> ArticleBatch {
        ArticleBatch {
            bytes: input,
            ids: std::mem::take(&mut self.ids),
            entries: std::mem::take(&mut self.entries),
            outcomes: Vec::new(),
            sender: sender.clone(),
            came: Instant::now(),
        }
    }

    /// The batch, with a copy of the articles alone.
    pub fn with_copy(&mut self, input: &[u8], sender: &Arc<Mailbox>) -> ArticleBatch {
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
    fn a_duplicate_of_what_is_lost_is_none() {
        let sender = Arc::new(Mailbox::new().unwrap());
        let mut batch_builder = BatchBuilder::default();
        for _ in 0..4 {
            batch_builder.add(
                (TransferKind::TakeThis, Token::new(0, 0, 0)),
                b"<1@a>",
                0..0,
                None,
                None,
            );
        }
        let mut batch = batch_builder.with(Vec::new(), &sender);
        let refused = TransferOutcome::Refused(b"no".to_vec());
        for outcome in [
            TransferOutcome::Accepted,
            TransferOutcome::Duplicate,
            refused.clone(),
        ] {
            batch.judge(outcome);
        }
        let later = TransferOutcome::Deferred(b"a full disk".to_vec());
        batch.take_back(&later);
        let told: Vec<_> = batch.outcomes().map(|(.., told)| told.clone()).collect();
        assert_eq!(told, [later.clone(), later.clone(), refused, later]);
    }
}
