//! The interface between a session and the news system.

use std::ops::Range;
use std::sync::Arc;

use article::date::{LocalZone, Utc};
use article::wire_facts::WireFacts;
use groups::Active;
use groups::active::GroupId;

use crate::capabilities::Permissions;
use crate::out::{OutBuffer, SharedBytes};

/// A look-up without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendError {
    /// It failed: an I/O error. The reply is 403 with a fixed text (RFC 3977, 3.2.1). The cause goes to the log only: it may name files of this
    /// machine.
    Failed,
    /// The article is being fetched ([`Backend::is_fetching`]): the command is repeated afterwards. Only [`Backend::article`] returns it,
    /// and [`Backend::message_id`] of an article whose history line is lost.
    Pending,
}

/// Reply text for [`BackendError::Failed`].
pub(crate) const LOOKUP_FAILED: &[u8] = b"Lookup failed; try again later";

/// An article's position in the log. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArticlePosition(pub u64);

/// The low and high water marks of a group (RFC 3977, 6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The lowest article number the group may have.
    pub low: u64,
    /// The highest article number; `low - 1` in an empty group.
    pub high: u64,
}

/// An article found by its message-id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its position.
    pub position: ArticlePosition,
    /// The client may read at least one of its groups.
    pub may_be_read: bool,
}

/// An article as a reader gets it.
#[derive(Debug)]
pub struct Article<'a> {
    /// Its message-id.
    pub id: &'a [u8],
    /// Its header in wire form, without the empty line that follows.
    pub header: &'a [u8],
    /// The article in wire form with the terminator; of a large one at least the header.
    pub wire: &'a [u8],
    /// It came without its body.
    pub is_header_only: bool,
    /// The whole article in wire form with the terminator, if it is large: it is sent without a copy.
    pub shared: Option<Arc<dyn SharedBytes>>,
}

/// The group and the number in it by which an article is asked for; `None`: by its message-id.
pub type AskedNumber<'a> = Option<(&'a [u8], u64)>;

/// Result of [`Backend::rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsWritten {
    /// At least one row was written.
    pub any: bool,
    /// The article number to continue at; `None` at the end.
    pub next: Option<u64>,
}

/// State of a message-id on this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdStatus {
    /// Not stored, and no other peer sends it: the article is wanted.
    Unknown,
    /// In the history: the article is stored, or was.
    Known,
    /// Another peer sends the article, or it waits for the writer.
    InTransfer,
}

/// Whether the server accepts articles now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intake {
    /// Articles are accepted.
    Open,
    /// Articles are deferred, with the reason. The state ends by itself or by an administrator's command.
    Closed(Arc<str>),
}

/// The command that transferred an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// TAKETHIS
    TakeThis,
    /// IHAVE
    Ihave,
    /// POST
    Post,
}

/// The result of an article's transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferOutcome {
    /// The article is durable.
    Accepted,
    /// An article with this message-id exists.
    Duplicate,
    /// The article is rejected for good, with the reason.
    Refused(Vec<u8>),
    /// The article cannot be accepted now, with the reason; the client may retry.
    Deferred(Vec<u8>),
}

/// A complete received article.
#[derive(Debug)]
pub struct ReceivedArticle<'a> {
    /// The command that transferred it.
    pub kind: TransferKind,
    /// The message-id given with the command; empty for a post.
    pub id: &'a [u8],
    /// Its range in the input, in wire form without the terminator.
    pub article: Range<usize>,
    /// The facts found about it in the search for its end.
    pub facts: WireFacts,
}

/// Credentials sent by the client.
#[derive(Debug)]
pub enum Credentials<'a> {
    /// AUTHINFO USER and PASS: name and password (RFC 4643, 2.3).
    Password(&'a [u8], &'a [u8]),
    /// AUTHINFO SASL: the mechanism, and the decoded initial response (RFC 4643, 2.4).
    Sasl(&'a [u8], Option<&'a [u8]>),
    /// The next response to a challenge, decoded.
    Response(&'a [u8]),
    /// The client cancelled the exchange.
    Cancelled,
}

/// The backend's reaction to [`Credentials`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaslStep {
    /// The check takes time; [`Session::logged_in`](crate::Session::logged_in) delivers the result.
    Pending,
    /// A challenge for the client.
    Challenge(Vec<u8>),
    /// Logged in, with the mechanism's final data for the client.
    Accepted(Permissions, Option<Vec<u8>>),
    /// The credentials are wrong.
    Refused,
    /// The response violates the mechanism's syntax; the reason is part of the reply.
    Malformed(&'static str),
    /// The credentials could not be checked; the reason is part of the reply, so it names nothing internal.
    Failed(&'static str),
    /// The mechanism is not supported.
    Unknown,
}

/// A file of the news directory that LIST shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControlFile {
    /// `newsgroups`
    Newsgroups,
    /// `active.times`
    ActiveTimes,
    /// `distrib.pats`
    DistribPats,
    /// `distributions`
    Distributions,
    /// `moderators`
    Moderators,
    /// `motd`
    Motd,
    /// `subscriptions`
    Subscriptions,
}

/// The news system as one client sees it.
pub trait Backend {
    /// Seconds since 1970.
    fn now(&self) -> i64;

    /// Whether the connection's time slice is used up. A long reply, and the commands after it, continue in the next one. It must be
    /// false at least once in each time slice, or the session makes no progress.
    fn is_time_slice_over(&mut self) -> bool;

    /// Whether there is memory to compress one more connection.
    fn may_compress(&self) -> bool {
        true
    }

    /// The server's time zone, for NEWNEWS and NEWGROUPS without GMT (RFC 3977, 7.3.2).
    fn zone(&self) -> &dyn LocalZone {
        &Utc
    }

    // ---- receiving articles ----

    /// Whether the server accepts articles.
    fn intake(&self) -> Intake;

    /// Whether the server accepts a post of this client.
    fn post_intake(&self) -> Intake {
        self.intake()
    }

    /// Looks up a message-id. `Unknown` reserves it for this client for a while, at its first offer: others get `InTransfer`.
    fn id_status(&mut self, id: &[u8]) -> Result<IdStatus, BackendError>;

    /// Receives an article. `None`: the result follows by
    /// [`Session::complete_transfer`](crate::Session::complete_transfer), in the order of the calls.
    fn receive(&mut self, article: ReceivedArticle<'_>) -> Option<TransferOutcome>;

    /// An offered article was rejected before it was read to its end; its reservation ends.
    fn article_rejected(&mut self, id: &[u8]);

    /// A partly received article was discarded and deferred; its reservation ends.
    fn article_deferred(&mut self, id: &[u8]);

    // ---- authentication ----

    /// The SASL mechanisms available to the client now, strongest first (RFC 4643, 2.4).
    fn mechanisms(&self) -> Vec<&'static str>;

    /// Checks credentials.
    fn log_in(&mut self, credentials: Credentials<'_>) -> SaslStep;

    // ---- groups ----

    /// The current active file.
    fn active(&self) -> Arc<Active>;

    /// The water marks of a group. LIST ACTIVE calls it for every group.
    fn marks(&mut self, group: GroupId) -> Result<Marks, BackendError>;

    /// Estimated number of articles in a group: never too low, and 0 only if the group is empty (RFC 3977, 6.1.1.2).
    fn count(&mut self, group: GroupId) -> Result<u64, BackendError>;

    /// Whether the client may read a group.
    fn may_read(&mut self, group: &[u8]) -> bool;

    /// Whether lists show a group to the client: it may read the group; to a peer that reads and posts nothing, whether it may send articles of it.
    fn may_list(&mut self, group: &[u8]) -> bool {
        self.may_read(group)
    }

    /// Notes that the client asks for a group that it may read: GROUP, LISTGROUP, an article by its number.
    fn group_asked(&mut self, group: &[u8]) {
        let _ = group;
    }

    /// The content of a file that LIST shows; `None` if it does not exist.
    fn file(&mut self, file: ControlFile) -> Result<Option<Arc<Vec<u8>>>, BackendError>;

    // ---- articles ----

    /// The position of the article with a number in a group.
    fn position(
        &mut self,
        group: &[u8],
        number: u64,
    ) -> Result<Option<ArticlePosition>, BackendError>;

    /// The first article with a number above `after`, up to `high`.
    fn next(
        &mut self,
        group: &[u8],
        after: u64,
        high: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError>;

    /// The last article with a number below `before`, down to `low`.
    fn previous(
        &mut self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError>;

    /// Finds the article with a message-id.
    fn find(&mut self, id: &[u8]) -> Result<Option<Found>, BackendError>;

    /// Copies the message-id of an article into `id`, without reading the article where its history line is on this disk. Returns false if the
    /// article no longer exists.
    fn message_id(
        &mut self,
        position: ArticlePosition,
        asked: AskedNumber<'_>,
        id: &mut Vec<u8>,
    ) -> Result<bool, BackendError>;

    /// Reads an article; `None` if it no longer exists. An article that was not filed under the number that was asked for is an error.
    fn article(
        &mut self,
        position: ArticlePosition,
        asked: AskedNumber<'_>,
    ) -> Result<Option<Article<'_>>, BackendError>;

    /// True while an article is being fetched for the client: from the moment when [`Backend::article`] returned [`BackendError::Pending`] until it
    /// will return another result.
    fn is_fetching(&self) -> bool {
        false
    }

    /// Counts an article of which the client got all, the header or the body.
    fn sent(&mut self) {}

    /// Appends the numbers of the articles in `from..=high`, about `limit` at most. Returns the number to continue at; `None` at the end.
    fn numbers(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        limit: usize,
        numbers: &mut Vec<u64>,
    ) -> Result<Option<u64>, BackendError>;

    /// Writes the overview rows of the articles in `from..=high` as OVER sends them (RFC 3977, 8.3): about `bytes_max` bytes at most, but
    /// at least one row.
    fn rows(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        bytes_max: usize,
        out: &mut OutBuffer,
    ) -> Result<RowsWritten, BackendError>;

    /// Appends the overview row of the article with a message-id as OVER sends it, with 0 as its number. Returns false if there is none.
    fn row(&mut self, id: &[u8], row: &mut Vec<u8>) -> Result<bool, BackendError>;

    /// Calls `each` with the message-ids of the articles that were filed at `since` (seconds since 1970) or later in a group that
    /// `is_wanted` and that the client may read. `cursor` is `None` in the first call; a call examines about `limit` articles. Returns the
    /// cursor to continue at; `None` at the end.
    fn filed_since(
        &mut self,
        since: i64,
        cursor: Option<u64>,
        limit: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
        each: impl FnMut(&[u8]),
    ) -> Result<Option<u64>, BackendError>;
}
