//! Peers that get articles by NNTP: CHECK and TAKETHIS (RFC 4644), or IHAVE.
//!
//! Articles go in rounds. The cursor passes a round when the peer has answered all of its articles, so after a kill at most one round is
//! offered again, and nothing is skipped. What the peer defers (431, 436) is noted in the site's list first, and offered again later.
//! The connection stays open between the rounds.

mod connection;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::nntp::client::{Outcome, PeerError};
use groups::nntp_server::NntpServer;
use groups::sites::NntpVia;
use store::{HistoryLine, Position, Record};

use crate::back_off::BackOff;
use crate::deferred::Deferred;
use crate::error::Error;
use crate::limit::Limit;
use crate::sendbatches::ArticleSource;
use crate::togo::FromCursor;

use connection::Connection;

/// Most articles of a round.
pub const ROUND_ARTICLES_MAX: usize = 1000;
/// Most bytes of the articles of a round, or one article.
pub const ROUND_BYTES_MAX: usize = 4 << 20;
/// How long a peer may take or answer nothing, seconds.
pub const ANSWER_SECONDS_MAX: u64 = 300;
/// Most offers of an article that the peer defers.
pub const ATTEMPTS_MAX: u64 = 24;

/// First delay of a deferred article, and longest one, seconds.
const DEFERRED_FIRST: i64 = 15;
const DEFERRED_LAST: i64 = 3600;

/// A peer.
#[derive(Debug)]
pub struct NntpPeer {
    via: NntpVia,
    /// Time limit of a run.
    limit: Limit,
    connection: Option<Connection>,
    back_off: BackOff,
}

/// The result of a delivery.
#[derive(Debug, Default)]
pub struct Delivered {
    /// Number of articles that the peer took.
    pub accepted: u64,
    /// Number of articles that it did not want, or refused.
    pub refused: u64,
    /// The first refusal after the peer had the article, in its words.
    pub refusal: Option<String>,
    /// Number of deferred articles that were given up.
    pub given_up: u64,
    /// When to try again, and why, if articles wait.
    pub waits: Option<(Instant, String)>,
}

/// The articles that are in flight together.
#[derive(Default)]
pub(crate) struct Round {
    articles: Vec<Article>,
    /// The articles in wire form, with their terminators.
    text: Vec<u8>,
}

pub(crate) struct Article {
    position: Position,
    id: Box<[u8]>,
    /// Where its text ends; it begins where that of the article before ends.
    end: usize,
    outcome: Option<Outcome>,
}

impl Round {
    fn clear(&mut self) {
        self.articles.clear();
        self.text.clear();
    }

    /// Adds an article; returns false if there is no room.
    fn push(&mut self, position: Position, record: &Record<'_>) -> bool {
        let is_full = self.articles.len() >= ROUND_ARTICLES_MAX
            || self.text.len() + record.wire().len() > ROUND_BYTES_MAX;
        if is_full && !self.articles.is_empty() {
            return false;
        }
        if let Some(line) = HistoryLine::parse(record.line()) {
            self.text.extend_from_slice(record.wire());
            self.articles.push(Article {
                position,
                id: line.id.into(),
                end: self.text.len(),
                outcome: None,
            });
        }
        true
    }

    /// An article's id and text.
    pub(crate) fn article(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let article = self.articles.get(at)?;
        let before = at.checked_sub(1).and_then(|at| self.articles.get(at));
        let start = before.map_or(0, |article| article.end);
        Some((&article.id, self.text.get(start..article.end)?))
    }

    pub(crate) fn len(&self) -> usize {
        self.articles.len()
    }

    pub(crate) fn settle(&mut self, at: usize, outcome: Outcome) {
        if let Some(article) = self.articles.get_mut(at) {
            article.outcome = Some(outcome);
        }
    }

    /// Whether any article is settled.
    fn has_answers(&self) -> bool {
        self.articles
            .iter()
            .any(|article| article.outcome.is_some())
    }
}

impl NntpPeer {
    /// A peer without a connection. `limit`: the time of a run, which ends earlier with the daemon.
    pub fn new(via: &NntpVia, limit: impl Into<Limit>) -> NntpPeer {
        NntpPeer {
            via: via.clone(),
            limit: limit.into(),
            connection: None,
            back_off: BackOff::default(),
        }
    }

    /// Allows the next [`NntpPeer::deliver`] to connect at once.
    pub fn reset_interval(&mut self) {
        self.back_off.skip();
    }

    /// Sends what waits, until nothing is left or the peer fails.
    ///
    /// # Errors
    /// The backlog cannot be read, or the cursor or the list of deferred articles not written. A peer that fails is told in
    /// [`Delivered::waits`].
    pub fn deliver(&mut self, source: &mut FromCursor<'_>) -> Result<Delivered, Error> {
        let mut done = Delivered::default();
        let server = &self.via.server;
        let plain = NntpServer::new(&server.host, server.port);
        if *server != plain || self.via.rate.is_some() || self.via.hours.is_some() {
            let what = "this release cannot use TLS, login, compress, bind, rate and hours yet";
            let later = Instant::now() + Duration::from_secs(3600);
            done.waits = Some((later, what.to_owned()));
            return Ok(done);
        }
        if let Some(until) = self.back_off.until(Instant::now()) {
            done.waits = Some((until, "the peer failed a moment ago".to_owned()));
            return Ok(done);
        }
        let mut round = Round::default();
        while !source.is_paused() && !self.limit.is_over() {
            round.clear();
            let mut push = |position, record: &Record<'_>| round.push(position, record);
            source.offer_deferred(seconds(), &mut push)?;
            source.offer_at(&mut push)?;
            if round.len() == 0 {
                // Articles for other sites are passed, too.
                source.delivered()?;
                done.waits = next_deferred(source.deferred());
                break;
            }
            let failed = self.send(&mut round).err();
            if round.has_answers() {
                self.back_off.succeeded();
            }
            done.count(&round);
            let is_whole = round
                .articles
                .iter()
                .all(|article| article.outcome.is_some());
            if is_whole {
                done.given_up += note_deferred(source, &round)?;
                source.delivered()?;
            }
            if let Some(error) = failed {
                self.connection = None;
                let next = self.back_off.failed(Instant::now());
                done.waits = Some((next, error));
                break;
            }
        }
        Ok(done)
    }

    /// Sends a round. A connection that was kept may have ended meanwhile: then another one is tried.
    fn send(&mut self, round: &mut Round) -> Result<(), String> {
        if let Some(kept) = &mut self.connection {
            match kept.send(round) {
                Err(_) if !round.has_answers() => {}
                sent => return sent.map_err(told),
            }
        }
        self.connection = None;
        let opened = Connection::open((&self.via.server.host, self.via.server.port), &self.limit)
            .map_err(told)?;
        self.connection.insert(opened).send(round).map_err(told)
    }
}

impl Delivered {
    /// What an administrator should know: refusals, and articles that were given up.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(refusal) = &self.refusal {
            notes.push(format!(
                "the peer refused articles, the first one {refusal}"
            ));
        }
        if self.given_up > 0 {
            notes.push(format!(
                "{} articles are given up: the peer deferred each {ATTEMPTS_MAX} times",
                self.given_up
            ));
        }
        notes
    }

    fn count(&mut self, round: &Round) {
        for article in &round.articles {
            match &article.outcome {
                Some(Outcome::Accepted) => self.accepted += 1,
                Some(Outcome::NotWanted) => self.refused += 1,
                Some(Outcome::Refused(text)) => {
                    self.refused += 1;
                    let told = || format!("{}: {text}", article.id.escape_ascii());
                    self.refusal.get_or_insert_with(told);
                }
                Some(Outcome::Deferred) | None => {}
            }
        }
    }
}

/// What ended a connection.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The network.
    Io(&'static str, std::io::Error),
    /// The peer.
    Peer(PeerError),
    /// The peer took and answered nothing for so many seconds.
    Silent(u64),
    /// The daemon ends.
    Over,
}

impl From<PeerError> for Failure {
    fn from(error: PeerError) -> Failure {
        Failure::Peer(error)
    }
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::Io(doing, error) => format!("cannot {doing}: {error}"),
        Failure::Peer(error) => error.to_string(),
        Failure::Silent(seconds) => {
            format!("the peer took and answered nothing for {seconds} seconds")
        }
        Failure::Over => "the connection was closed, since the daemon ends".to_owned(),
    }
}

/// Notes the deferred articles of a settled round; returns the number of those that are given up.
fn note_deferred(source: &mut FromCursor<'_>, round: &Round) -> Result<u64, Error> {
    let now = seconds();
    let mut list: Vec<Deferred> = source.deferred().to_vec();
    let mut given_up = 0;
    for article in &round.articles {
        let known = list.iter().position(|one| one.position == article.position);
        let attempts = 1 + known
            .and_then(|at| list.get(at))
            .map_or(0, |one| one.attempts);
        if let Some(at) = known {
            list.swap_remove(at);
        }
        if article.outcome != Some(Outcome::Deferred) {
            continue;
        }
        if attempts >= ATTEMPTS_MAX {
            given_up += 1;
            continue;
        }
        let doublings = u32::try_from(attempts - 1).unwrap_or(u32::MAX).min(16);
        let delay = (DEFERRED_FIRST << doublings).min(DEFERRED_LAST);
        list.push(Deferred {
            position: article.position,
            due: now + delay,
            attempts,
        });
    }
    source.set_deferred(list)?;
    Ok(given_up)
}

/// When the next deferred article is due.
fn next_deferred(list: &[Deferred]) -> Option<(Instant, String)> {
    let due = list.iter().map(|one| one.due).min()?;
    let wait = u64::try_from(due.saturating_sub(seconds())).unwrap_or(0);
    let at = Instant::now() + Duration::from_secs(wait.max(1));
    Some((at, format!("the peer wants {} articles later", list.len())))
}

/// Seconds since 1970.
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
