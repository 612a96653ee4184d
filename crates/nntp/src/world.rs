//! What a session asks of the news system around it.

use std::ops::Range;
use std::sync::Arc;

use groups::Active;
use groups::active::GroupId;

use crate::out::{Lent, Out};
use crate::session::Outcome;
use crate::terms::Standing;

/// A look-up that failed, and why: an I/O error. It is answered with 403.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble(pub String);

/// Where an article lies in the log; it names it for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub u64);

/// What a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The lowest number there may be.
    pub low: u64,
    /// The highest; `low - 1` in an empty group.
    pub high: u64,
    /// How many, at most (RFC 3977, 6.1.1.2).
    pub count: u64,
}

/// An article that was found by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it lies.
    pub place: Place,
    /// Its groups, with its number in each.
    pub links: Vec<(Vec<u8>, u64)>,
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
    pub lent: Option<Arc<dyn Lent>>,
    /// Lines of the body.
    pub lines: u64,
}

impl Article<'_> {
    /// Bytes as overview counts them: without doubled dots and terminator (RFC 3977, 8.1).
    pub fn bytes(&self) -> u64 {
        let wire = match &self.lent {
            Some(lent) => lent.bytes(),
            None => self.wire,
        };
        let text = wire.strip_suffix(b".\r\n").unwrap_or(wire);
        (text.len() - article::wire::doubled_dots(text)) as u64
    }
}

/// Rows of overview that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Whether there were any.
    pub any: bool,
    /// From which number to go on; `None`: that was all.
    pub next: Option<u64>,
}

/// One article that was filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// Its message-id.
    pub id: Vec<u8>,
    /// Its groups.
    pub groups: Vec<Vec<u8>>,
}

/// Articles that were filed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FiledSince {
    /// They.
    pub articles: Vec<Filed>,
    /// Where to go on; `None`: that was all.
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

/// A whole article that came.
#[derive(Debug)]
pub struct HandedIn<'a> {
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
    Accepted(Standing, Option<Vec<u8>>),
    /// Not.
    Refused,
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

/// The news system as one visitor sees it.
pub trait World {
    /// Seconds since 1970.
    fn now(&self) -> i64;

    // ---- articles that come ----

    /// Whether articles are taken.
    fn intake(&self) -> Intake;

    /// Whether an id is known, or being sent by another. A yes to the last question lasts for a while: `No` announces it.
    fn seen(&mut self, id: &[u8]) -> Result<Seen, Trouble>;

    /// Takes an article. `None`: [`Session::settle`](crate::Session::settle) tells later what became of it, in the order in which
    /// they were handed in.
    fn hand_in(&mut self, article: HandedIn<'_>) -> Option<Outcome>;

    /// An announced article will not come, or was thrown away unread.
    fn will_not_come(&mut self, id: &[u8]);

    // ---- who it is ----

    /// Looks at what the client says of itself.
    fn log_in(&mut self, credentials: Credentials<'_>) -> SaslStep;

    // ---- groups ----

    /// The groups.
    fn active(&self) -> Arc<Active>;

    /// What a group has.
    fn marks(&mut self, group: GroupId) -> Result<Marks, Trouble>;

    /// Whether the visitor may read a group.
    fn may_read(&mut self, group: &[u8]) -> bool;

    /// Whether the visitor may post to a group.
    fn may_post(&mut self, group: &[u8]) -> bool;

    /// A text that LIST shows; `None` where there is no such file.
    fn file(&mut self, file: ControlFile) -> Result<Option<Arc<Vec<u8>>>, Trouble>;

    // ---- articles ----

    /// Where the article with a number in a group lies.
    fn place(&mut self, group: &[u8], number: u64) -> Result<Option<Place>, Trouble>;

    /// The first article in `from..=high`.
    fn next(&mut self, group: &[u8], from: u64, high: u64)
    -> Result<Option<(u64, Place)>, Trouble>;

    /// The last article in `low..=to`.
    fn previous(
        &mut self,
        group: &[u8],
        low: u64,
        to: u64,
    ) -> Result<Option<(u64, Place)>, Trouble>;

    /// The article with an id.
    fn find(&mut self, id: &[u8]) -> Result<Option<Found>, Trouble>;

    /// An article; `None`: it is gone.
    fn article(&mut self, place: Place) -> Result<Option<Article<'_>>, Trouble>;

    /// Appends the numbers of the articles in `from..=high`, at most `limit`. Returns from where to go on, though there may have been
    /// none; `None`: that was all.
    fn numbers(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        limit: usize,
        numbers: &mut Vec<u64>,
    ) -> Result<Option<u64>, Trouble>;

    /// Writes the overview rows of the articles in `from..=high` as OVER sends them, about `bytes_max` at most (one at least).
    fn rows(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        bytes_max: usize,
        out: &mut Out,
    ) -> Result<Rows, Trouble>;

    /// The overview row of an article: everything behind the number, from the tab on, CRLF included.
    fn row(&mut self, place: Place) -> Result<Option<Vec<u8>>, Trouble>;

    /// Articles filed at `since` (seconds since 1970) or later, from a cursor on (0 at first); as many as a bounded time allows.
    fn filed_since(&mut self, since: i64, cursor: u64) -> Result<FiledSince, Trouble>;
}
