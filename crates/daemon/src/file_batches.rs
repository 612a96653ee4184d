//! Files articles that arrived over NNTP: many in one commit under load, each in its own commit otherwise. Results are returned after
//! the commit.

use std::time::{Duration, Instant};

use groups::Sender;
use relay::Now;
use relay::file::{Filer, Verdict};
use relay::log::{Code, LOCAL};
use relay::reason::RefusalKind;
use server::{ArticleBatch, Counter, Token, TransferOutcome};

use super::intake_queue::IntakeQueue;
use super::posts::{Made, Posts};
use super::warn;
use crate::failure;

/// Longest wait for further articles, from the first article of a group.
const PATIENCE: Duration = Duration::from_millis(2);
/// Part of the duration of a commit that the next one waits for the articles that follow its replies: if they come, one sync serves
/// more of them; if not, little is lost.
const FOLLOWING_PART: u32 = 8;
/// Size of a group that does not wait for more articles, bytes.
const ENOUGH_BYTES: usize = 2 << 20;

/// The result of filing the queued batches.
pub struct Filed {
    /// Number of filed articles.
    pub filed: u64,
    /// The reason why filing stopped, if it did: then the filer must not be used.
    pub stopped: Option<anyhow::Error>,
}

/// Files the batches in the intake queue, and those that arrive meanwhile, until the queue is empty or `is_wanted` returns true after a
/// commit: peers that stream never leave the queue empty.
pub fn file(
    intake_queue: &IntakeQueue,
    filer: &mut Filer,
    posts: &Posts,
    commit_bytes: usize,
    is_wanted: &dyn Fn() -> bool,
) -> Filed {
    let mut result = Filed {
        filed: 0,
        stopped: None,
    };
    let mut filed: Vec<ArticleBatch> = Vec::new();
    let mut articles = 0;
    let mut group = Group::default();
    loop {
        let pending_bytes = filer.pending_bytes();
        let patience = group.patience(pending_bytes);
        let is_full = pending_bytes >= commit_bytes;
        let next = (!is_full).then(|| intake_queue.take(patience)).flatten();
        let Some(mut batch) = next else {
            if filed.is_empty() {
                return result;
            }
            // What else is logged in this commit is none of these senders.
            filer.sent_by(b"", b"");
            intake_queue.look_at_disk();
            let began = Instant::now();
            if let Err(error) = commit(filer, &mut filed) {
                result.stopped = Some(error);
                return result;
            }
            result.filed += articles;
            group = Group::after_commit(articles, began);
            articles = 0;
            if is_wanted() {
                return result;
            }
            continue;
        };
        articles += batch.len() as u64;
        group.add(&batch);
        let done = file_batch(&mut batch, filer, posts);
        filed.push(batch);
        if let Err(error) = done {
            give_up(filer, &mut filed, told(&error));
            result.stopped = Some(error);
            return result;
        }
    }
}

/// The batches since the last commit. The commit starts when the writer has filed all expected batches: those of which a part has
/// arrived, and, for a short time, those that follow the replies of the last commit. Without that wait a peer with a constant number
/// of articles in flight, once half of them have missed a commit, would send half of them for each sync for ever.
/// Articles that arrive during the sync form the next group.
#[derive(Default)]
struct Group {
    began: Option<Instant>,
    /// Connections whose next batch is expected.
    followed: Vec<Token>,
    after: Option<Replies>,
}

/// The replies of the last commit.
struct Replies {
    sent: Instant,
    /// Number of articles that are expected to follow them.
    expected: u64,
    /// How long to wait for these.
    until: Instant,
}

impl Group {
    /// The group after a commit of so many articles, which began at this time.
    fn after_commit(articles: u64, began: Instant) -> Group {
        let now = Instant::now();
        let patience = (now.duration_since(began) / FOLLOWING_PART).min(PATIENCE);
        Group {
            after: Some(Replies {
                sent: now,
                expected: articles,
                until: now + patience,
            }),
            ..Group::default()
        }
    }

    fn add(&mut self, batch: &ArticleBatch) {
        self.began.get_or_insert_with(Instant::now);
        if let Some(replies) = &mut self.after
            && batch.received() > replies.sent
        {
            replies.expected = replies.expected.saturating_sub(batch.len() as u64);
        }
        let Some(connection) = batch.connection() else {
            return;
        };
        self.followed.retain(|other| *other != connection);
        if batch.is_followed() {
            self.followed.push(connection);
        }
    }

    /// How long to wait for more articles before the commit.
    fn patience(&self, pending_bytes: usize) -> Duration {
        let Some(began) = self.began.filter(|_| pending_bytes < ENOUGH_BYTES) else {
            return Duration::ZERO;
        };
        let mut patience = Duration::ZERO;
        if !self.followed.is_empty() {
            patience = PATIENCE.saturating_sub(began.elapsed());
        }
        if let Some(replies) = self.after.as_ref().filter(|replies| replies.expected > 0) {
            patience = patience.max(replies.until.saturating_duration_since(Instant::now()));
        }
        patience
    }
}

fn commit(filer: &mut Filer, filed: &mut Vec<ArticleBatch>) -> anyhow::Result<()> {
    match filer.commit() {
        Ok(()) => {
            filed.drain(..).for_each(ArticleBatch::return_to_sender);
            Ok(())
        }
        // The articles are durable.
        Err(error) if error.is_of_log() => {
            filed.drain(..).for_each(ArticleBatch::return_to_sender);
            Err(error.into())
        }
        Err(error) => {
            let error = error.into();
            give_up(filer, filed, told(&error));
            Err(error)
        }
    }
}

/// The reply to peers and posters after an error that stopped filing. The journal has the details, which are not for clients.
pub fn told(error: &anyhow::Error) -> &'static str {
    if is_disk_full(error) {
        "No space left on the disk here; try again later"
    } else {
        "Cannot file articles at the moment; try again later"
    }
}

/// Whether filing stopped because the disk is full.
pub fn is_disk_full(error: &anyhow::Error) -> bool {
    let of_relay = |error: &relay::Error| error.is_disk_full();
    let of_store = |error: &store::Error| error.is_disk_full();
    error.downcast_ref::<relay::Error>().is_some_and(of_relay)
        || error.downcast_ref::<store::Error>().is_some_and(of_store)
}

/// Marks all articles since the last commit as not accepted.
fn give_up(filer: &mut Filer, filed: &mut Vec<ArticleBatch>, why: &str) {
    filer.abandon();
    let outcome = TransferOutcome::Deferred(why.as_bytes().to_vec());
    for mut batch in filed.drain(..) {
        batch.revoke_accepted(&outcome);
        batch.return_to_sender();
    }
}

fn file_batch(batch: &mut ArticleBatch, filer: &mut Filer, posts: &Posts) -> anyhow::Result<()> {
    let origin = batch.origin();
    let now = Now::read();
    for place in 0..batch.len() {
        let Some((entry, id, article)) = batch.article(place) else {
            break;
        };
        let mut posted = None;
        let grant = entry.grant.as_ref();
        // Only `posts.log` names posters.
        match &origin {
            Some(origin) if entry.poster.is_none() => {
                filer.sent_by(origin.entry.as_bytes(), origin.address.as_bytes());
            }
            _ => filer.sent_by(b"", b""),
        }
        let (outcome, kind) = match (&entry.poster, grant) {
            (Some(poster), Some(grant)) => {
                let spool = filer.spool();
                let is_known = |id: &[u8]| spool.has(id);
                match posts.make(article, poster, grant, spool.active(), is_known) {
                    Ok(Made::Article(post)) => {
                        let verdict = filer.file_for(grant, &post.bytes, now)?;
                        if verdict == Verdict::Filed
                            && let Some(approved) = &post.approved
                        {
                            let text = approved_by(approved);
                            filer.log(now, LOCAL, Code::Moderated, &post.id, &text);
                        }
                        posted = Some(post.id);
                        outcome(verdict)
                    }
                    Ok(Made::Mailed(id, address)) => {
                        filer.log(now, LOCAL, Code::Moderated, &id, &queued_for(&address));
                        batch.set_mailed();
                        continue;
                    }
                    Ok(Made::Duplicate) => (TransferOutcome::Duplicate, RefusalKind::Other),
                    Ok(Made::Refused(post)) => {
                        filer.log(now, LOCAL, Code::Refused, &post.id, post.why.as_bytes());
                        (TransferOutcome::Refused(post.reply()), post.kind)
                    }
                    Err(error) => {
                        warn(&failure::text_of(&error));
                        let why = told(&error).as_bytes().to_vec();
                        (TransferOutcome::Deferred(why), RefusalKind::Other)
                    }
                }
            }
            _ => {
                let sender = grant.map(|grant| grant as &dyn Sender);
                let verdict = filer.file_announced(sender, id, (article, entry.facts), now)?;
                outcome(verdict)
            }
        };
        if let Some(id) = posted {
            batch.set_message_id(&id);
        }
        match outcome {
            TransferOutcome::Refused(why) => batch.set_refused(why, counted(kind)),
            outcome => batch.set_outcome(outcome),
        }
    }
    Ok(())
}

/// The line of the log about a post whose mail to a moderator was queued.
pub fn queued_for(address: &[u8]) -> Vec<u8> {
    [b"queued for the moderator ", address].concat()
}

/// The line about a post that its poster approved, with the value of Approved.
pub fn approved_by(approved: &[u8]) -> Vec<u8> {
    [b"approved by ", approved].concat()
}

/// The counter of a refusal.
pub fn counted(kind: RefusalKind) -> Counter {
    match kind {
        RefusalKind::Size => Counter::Size,
        RefusalKind::Malformed => Counter::Malformed,
        RefusalKind::Date => Counter::Date,
        RefusalKind::Unapproved => Counter::Unapproved,
        RefusalKind::Groups => Counter::Groups,
        RefusalKind::NotPermitted => Counter::NotAllowed,
        RefusalKind::Other => Counter::Other,
    }
}

/// The reply to the sender, and the counter of a refusal.
pub fn outcome(verdict: Verdict) -> (TransferOutcome, RefusalKind) {
    match verdict {
        Verdict::Filed | Verdict::Junked => (TransferOutcome::Accepted, RefusalKind::Other),
        Verdict::Duplicate => (TransferOutcome::Duplicate, RefusalKind::Other),
        Verdict::Refused(refusal)
        | Verdict::NeedsAttention(refusal)
        | Verdict::Unfiled(refusal) => (TransferOutcome::Refused(refusal.text), refusal.kind),
    }
}
