//! What a session asks of the news system around it.

use std::ops::Range;
use std::sync::Arc;

use article::date::{LocalZone, Utc};
use groups::Active;
use groups::active::GroupId;

use crate::capabilities::Permissions;
use crate::out::{Out, SharedBytes};

/// A look-up that failed: an I/O error. It is answered with 403 (RFC 3977, 3.2.1) and a sentence that is always the same. Why it failed is
/// for the log: it may name files of this machine, which are no business of strangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendError;

/// What clients hear of a [`BackendError`].
pub(crate) const LOOKUP_FAILED: &[u8] = b"Cannot be looked up now; try again later";

/// Where an article lies in the log; it names it for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArticlePosition(pub u64);

/// The numbers of a group's articles lie between these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The lowest number there may be.
    pub low: u64,
    /// The highest; `low - 1` in an empty group.
    pub high: u64,
}

/// An article that was found by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Where it lies.
    pub place: ArticlePosition,
    /// The client may read one of its groups.
    pub may_be_read: bool,
}

/// An article.
#[derive(Debug)]
pub struct Article<'a> {
    /// Its message-id.
    pub id: &'a [u8],
    /// Its header in wire form, without the empty line behind it.
    pub header: &'a [u8],
    /// All of it in wire form with the terminator; of a large one only the beginning, which has the header at least.
    pub wire: &'a [u8],
    /// All of it in wire form with the terminator, where it is so large that it had better be lent.
    pub lent: Option<Arc<dyn SharedBytes>>,
}

/// Rows of overview that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Whether there were any.
    pub any: bool,
    /// From which number to go on; `None`: that was all.
    pub next: Option<u64>,
}

/// Whether an article with an id is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// No.
    No,
    /// Yes, or it was.
    Here,
    /// Another peer is sending it, or it is being filed.
    Coming,
}

/// Whether articles are taken at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intake {
    /// They are.
    Open,
    /// They are not, for this reason; that ends by itself, or an administrator ends it.
    Closed(Arc<str>),
}

/// How an article came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// TAKETHIS
    TakeThis,
    /// IHAVE
    Ihave,
    /// POST
    Post,
}

/// What became of an article that was handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is on the disk.
    Taken,
    /// It is here already.
    Duplicate,
    /// It is not wanted, for this reason, nor will it be later.
    Refused(Vec<u8>),
    /// It could not be taken now, for this reason.
    TryLater(Vec<u8>),
}

/// A whole article that came.
#[derive(Debug)]
pub struct ReceivedArticle<'a> {
    /// How.
    pub kind: Kind,
    /// The id it was announced with; empty for a post.
    pub id: &'a [u8],
    /// Where in the input it stands, in wire form without terminator.
    pub article: Range<usize>,
}

/// A name and a password.
#[derive(Debug)]
pub enum Credentials<'a> {
    /// AUTHINFO USER and PASS
    Password(&'a [u8], &'a [u8]),
    /// AUTHINFO SASL: the mechanism, and the initial response, decoded.
    Sasl(&'a [u8], Option<&'a [u8]>),
    /// The next response, decoded.
    Response(&'a [u8]),
    /// The client gave the exchange up.
    Cancelled,
}

/// What comes of [`Credentials`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaslStep {
    /// It takes time: [`Session::logged_in`](crate::Session::logged_in) tells.
    Pending,
    /// The client has to answer this.
    Challenge(Vec<u8>),
    /// Logged in; what the client should still be told.
    Accepted(Permissions, Option<Vec<u8>>),
    /// Not.
    Refused,
    /// What the client said is not what the mechanism wants, and why.
    Malformed(&'static str),
    /// It could not be looked at now. The reason is for strangers, too.
    Failed(&'static str),
    /// There is no such mechanism here.
    Unknown,
}

/// A text of the news directory that LIST shows.
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

    /// Whether the client's turn has lasted long enough: a long answer, or what follows a command, waits for its next turn. A turn in which
    /// this was never false gets nothing done.
    fn is_turn_over(&mut self) -> bool;

    /// The server's time zone (NEWNEWS and NEWGROUPS without GMT).
    fn zone(&self) -> &dyn LocalZone {
        &Utc
    }

    // ---- articles that come ----

    /// Whether articles are taken.
    fn intake(&self) -> Intake;

    /// Whether an id is known, or being sent by another. A yes to the last question lasts for a while: `No` announces it.
    fn seen(&mut self, id: &[u8]) -> Result<Seen, BackendError>;

    /// Takes an article. `None`: [`Session::settle`](crate::Session::settle) tells later what became of it, in the order in which
    /// they were handed in.
    fn receive(&mut self, article: ReceivedArticle<'_>) -> Option<Outcome>;

    /// An announced article will not come, or was thrown away unread.
    fn will_not_come(&mut self, id: &[u8]);

    /// Part of an announced article came; it is thrown away, and may be sent again later.
    fn put_off(&mut self, id: &[u8]);

    // ---- who it is ----

    /// The SASL mechanisms that the client could use now, the best first (RFC 4643, 2.4).
    fn mechanisms(&self) -> Vec<&'static str>;

    /// Looks at what the client says of itself.
    fn log_in(&mut self, credentials: Credentials<'_>) -> SaslStep;

    // ---- groups ----

    /// The groups.
    fn active(&self) -> Arc<Active>;

    /// The lowest and the highest number of a group. This is asked of every group for LIST ACTIVE.
    fn marks(&mut self, group: GroupId) -> Result<Marks, BackendError>;

    /// How many articles a group has, at most; 0 exactly where there is none (RFC 3977, 6.1.1.2).
    fn count(&mut self, group: GroupId) -> Result<u64, BackendError>;

    /// Whether the client may read a group.
    fn may_read(&mut self, group: &[u8]) -> bool;

    /// A text that LIST shows; `None` where there is no such file.
    fn file(&mut self, file: ControlFile) -> Result<Option<Arc<Vec<u8>>>, BackendError>;

    // ---- articles ----

    /// Where the article with a number in a group lies.
    fn place(&mut self, group: &[u8], number: u64)
    -> Result<Option<ArticlePosition>, BackendError>;

    /// The first article behind a number, up to `high`.
    fn next(
        &mut self,
        group: &[u8],
        after: u64,
        high: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError>;

    /// The last article before a number, down to `low`.
    fn previous(
        &mut self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError>;

    /// The article with an id.
    fn find(&mut self, id: &[u8]) -> Result<Option<Found>, BackendError>;

    /// An article; `None`: it is gone.
    fn article(&mut self, place: ArticlePosition) -> Result<Option<Article<'_>>, BackendError>;

    /// An article was sent, or its head or body: to be counted.
    fn sent(&mut self) {}

    /// Appends the numbers of the articles in `from..=high`, about `limit` at most. From which number to go on; `None`: that was all.
    fn numbers(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        limit: usize,
        numbers: &mut Vec<u64>,
    ) -> Result<Option<u64>, BackendError>;

    /// Writes the overview rows of the articles in `from..=high` as OVER sends them, about `bytes_max` at most (one at least).
    fn rows(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        bytes_max: usize,
        out: &mut Out,
    ) -> Result<Rows, BackendError>;

    /// Appends the overview row of the article with an id, as OVER sends it, with 0 for its number. False: there is none.
    fn row(&mut self, id: &[u8], row: &mut Vec<u8>) -> Result<bool, BackendError>;

    /// Tells the ids of the articles filed at `since` (seconds since 1970) or later that are in a group which is wanted and which the
    /// client may read. `cursor` is `None` at first; about `limit` articles are looked at. Where to go on; `None`: that was all.
    fn filed_since(
        &mut self,
        since: i64,
        cursor: Option<u64>,
        limit: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
        each: impl FnMut(&[u8]),
    ) -> Result<Option<u64>, BackendError>;
}
