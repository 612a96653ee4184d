//! A peer: its place in the log, its connections, and what failed.

mod connections;
mod cursor;
mod offers;
mod outage;
mod rest;

pub(super) use connections::of_event_key;
pub use cursor::DURABLE_SECONDS_MAX;
#[cfg(test)]
pub(super) use offers::article;
pub use outage::SILENT_SECONDS_MAX;
pub use rest::IDLE_SECONDS_MAX;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use article::date::LocalZone;
use groups::Sites;
use groups::sites::{NntpVia, Site, Via};
use relay::sites::Selector;
use rustix::event::epoll::EventFlags;
use store::{Position, Snapshot};

use super::connection::Connection;
use super::counts::{FeedCounts, PeerDoes, Weight};
use super::deferrals::Deferrals;
use super::growth::Growth;
use super::lane::Lane;
use super::mailbox::Mailbox;
use super::pace::Pace;
use super::resolver::Resolver;
use super::shared_articles::SharedArticles;
use crate::answers::AnswerNotes;
use crate::back_off::BackOff;
use crate::cursor::Cursor;
use crate::error::Error;
use crate::permit::Permit;
use crate::remote::Remote;
use crate::serving::why_unreadable;
use crate::site_state::{self, SiteState};

/// Where and how a peer is reached.
#[derive(Debug, Clone)]
pub struct PeerPlan {
    /// The name of the feed.
    pub name: Vec<u8>,
    /// The peer.
    pub via: NntpVia,
    /// The zone of [`NntpVia::hours`].
    pub zone: &'static dyn LocalZone,
}

/// A peer.
#[derive(Debug)]
pub(super) struct Peer {
    plan: PeerPlan,
    root: PathBuf,
    counts: Arc<FeedCounts>,
    permit: Arc<Permit>,
    /// The articles that wait. `None`: to be read from the cursor.
    lanes: Option<Lanes>,
    /// The site's files, while articles are in flight and a moment longer.
    state: Option<SiteState>,
    deferrals: Deferrals,
    /// Answers that are not in the site's files yet.
    answers: AnswerNotes,
    /// When the list of deferred articles was written.
    list_written: Option<Instant>,
    connections: Vec<Option<Connection>>,
    growth_of_new: Growth,
    growth_of_backlog: Growth,
    /// The number of the look-up of the host's addresses.
    look_up: Option<u64>,
    look_up_failed: bool,
    /// The address with which a connection was ready last.
    good_address: Option<SocketAddr>,
    /// When the host was looked up. `None`: the next connection needs another look-up.
    looked_up: Option<Instant>,
    addresses: VecDeque<SocketAddr>,
    /// How to connect, with the contents of the files that the settings name; read again after a failure.
    remote: Option<Arc<Remote>>,
    pace: Pace,
    /// The address of the last connection.
    address: Option<SocketAddr>,
    back_off: BackOff,
    /// When a failing peer is tried again.
    retry_at: Option<Instant>,
    why: String,
    /// Since when no article can be sent, seconds since 1970.
    outage: Option<i64>,
    /// The outage that is noted beside the cursor: since when, and why.
    noted_outage: Option<(i64, String)>,
    /// It fails because another program serves it.
    is_busy: bool,
    /// Since when another program serves it.
    busy_since: Option<Instant>,
    /// The peer does not take more connections than so many, until then.
    fewer: Option<(usize, Instant)>,
    paused: Option<String>,
    paused_looked: Option<Instant>,
    /// Offers rest until then: the peer defers everything, or its hours have not come.
    holds_until: Option<Instant>,
    deferred_in_a_row: u32,
    /// The number of offers in a row to which the peer replied with a general error. `None`: it has never replied otherwise.
    failed_in_a_row: Option<u32>,
    /// The article that was the oldest in flight when connections failed, and how often.
    suspect: Option<(Position, u8)>,
    /// The article that was blamed last for a broken connection, since the peer answered.
    blamed_last: Option<Position>,
    refusal_told: Option<Instant>,
    /// Since when nothing waits.
    idle_since: Option<Instant>,
    /// Settle what is in flight until then, and give the site's files back for a moment.
    yields_until: Option<Instant>,
    /// The cursor is to be written, even if it passed only articles for others.
    writes: bool,
    /// When the cursor was synced, and whether it still is.
    durable_at: Option<Instant>,
    is_synced: bool,
    /// The cursor in the site's file.
    stored: Option<Cursor>,
    /// There is more to do in another turn at once.
    has_more: bool,
    stops: bool,
}

/// The stretches of the log that a peer gets at the same time.
#[derive(Debug)]
pub(super) struct Lanes {
    /// Up to the end of the log.
    pub new: Lane,
    /// The old articles, for which new ones do not wait.
    pub backlog: Option<Lane>,
    /// The position from which records name the site.
    selected_from: Position,
}

/// Resources of the loop that a peer uses in its turn.
pub(super) struct Context<'a> {
    pub snapshot: &'a mut Snapshot,
    pub epoll: &'a OwnedFd,
    pub mailbox: &'a Arc<Mailbox>,
    pub resolver: &'a Resolver,
    /// Tells the administrator.
    pub tell: &'a dyn Fn(Weight, &str),
    pub now: Instant,
    /// Seconds since 1970.
    pub time: i64,
    /// The peer's place in the loop.
    pub place: usize,
    /// The last number of a look-up.
    pub look_ups: &'a mut u64,
    pub record: &'a mut Vec<u8>,
    /// Room for the output of a connection.
    pub buffer: &'a mut Vec<u8>,
    pub shared: &'a mut SharedArticles,
    /// Other peers may want the same articles next.
    pub is_sharing: bool,
    /// Selects the sites of articles that were filed before the sites were known; made when first needed.
    pub selector: &'a mut Option<Selector>,
    pub sites: &'a Sites,
}

impl PeerPlan {
    /// The peer of a feed. `None`: its articles travel in another way.
    pub fn of(name: &[u8], site: &Site, zone: &'static dyn LocalZone) -> Option<PeerPlan> {
        match &site.via {
            Via::Nntp(via) => Some(PeerPlan {
                name: name.to_vec(),
                via: via.clone(),
                zone,
            }),
            _ => None,
        }
    }

    /// Seconds until articles may be sent; 0 for now. `time`: seconds since 1970.
    pub fn seconds_to_hours(&self, time: i64) -> u32 {
        let Some(hours) = self.via.hours else {
            return 0;
        };
        let east = self.zone.east_seconds(time + self.zone.east_seconds(time));
        let second = time.saturating_add(east).rem_euclid(86_400);
        hours.wait(u32::try_from(second).unwrap_or(0))
    }

    /// Most connections.
    fn connections_max(&self) -> usize {
        self.via.connections as usize
    }
}

impl Lanes {
    fn of(cursor: &Cursor) -> Lanes {
        let selected_from = cursor.selected_from;
        match cursor.ahead {
            None => Lanes {
                new: Lane::new(cursor.position, None),
                backlog: None,
                selected_from,
            },
            Some((from, to)) => Lanes {
                new: Lane::new(to, None),
                backlog: Some(Lane::new(cursor.position, Some(from))),
                selected_from,
            },
        }
    }

    fn each(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.new).chain(&self.backlog)
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.new).chain(&mut self.backlog)
    }

    fn of_kind(&mut self, is_backlog: bool) -> Option<&mut Lane> {
        if is_backlog {
            self.backlog.as_mut()
        } else {
            Some(&mut self.new)
        }
    }

    fn has_next(&self) -> bool {
        self.each().any(Lane::has_next)
    }

    fn is_empty(&self) -> bool {
        self.each().all(Lane::is_empty)
    }
}

impl Peer {
    pub fn new(
        plan: PeerPlan,
        root: &Path,
        (counts, permit): (Arc<FeedCounts>, Arc<Permit>),
    ) -> Peer {
        Peer {
            root: root.to_owned(),
            counts,
            permit,
            lanes: None,
            state: None,
            deferrals: Deferrals::default(),
            answers: AnswerNotes::default(),
            list_written: None,
            connections: Vec::new(),
            growth_of_new: Growth::default(),
            growth_of_backlog: Growth::default(),
            look_up: None,
            look_up_failed: false,
            good_address: None,
            looked_up: None,
            addresses: VecDeque::new(),
            remote: None,
            pace: Pace::new(plan.via.rate),
            address: None,
            back_off: BackOff::default(),
            retry_at: None,
            why: String::new(),
            outage: None,
            noted_outage: None,
            is_busy: false,
            busy_since: None,
            fewer: None,
            paused: None,
            paused_looked: None,
            holds_until: None,
            deferred_in_a_row: 0,
            failed_in_a_row: None,
            suspect: None,
            blamed_last: None,
            refusal_told: None,
            idle_since: None,
            yields_until: None,
            writes: false,
            durable_at: None,
            is_synced: true,
            stored: None,
            has_more: false,
            stops: false,
            plan,
        }
    }

    pub fn name(&self) -> &[u8] {
        &self.plan.name
    }

    pub fn counts(&self) -> &FeedCounts {
        &self.counts
    }

    /// Whether another program serves it.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// The reason why articles wait, if something is wrong.
    pub fn why(&self) -> Option<String> {
        let paused = self.paused.as_ref().map(|why| match why.as_str() {
            "" => "paused".to_owned(),
            why => format!("paused: {why}"),
        });
        paused.or_else(|| Some(self.why.clone()).filter(|why| !why.is_empty()))
    }

    /// Why articles wait that the disk cannot read, if there are any.
    pub fn why_unreadable(&self) -> Option<String> {
        why_unreadable(self.deferrals.unreadable_count())
    }

    /// Somebody asks for a pass: what failed is tried again at once, deferred articles are due, and the files are read again if nothing is
    /// in flight soon. `time`: seconds since 1970.
    pub fn call(&mut self, (now, time): (Instant, i64)) {
        self.deferrals.call(time);
        self.back_off.skip();
        self.retry_at = None;
        self.holds_until = None;
        self.paused_looked = None;
        self.yields_until.get_or_insert(now + YIELD_PATIENCE);
        self.writes = true;
    }

    /// One pass: it ends when nothing waits, and then the cursor is where the log ends. `asked`: when somebody asked for it, seconds since 1970;
    /// deferred articles are due then.
    pub fn call_once(&mut self, asked: Option<i64>) {
        if let Some(time) = asked {
            self.deferrals.call(time);
        }
        self.writes = true;
    }

    /// Settles what is in flight, and ends.
    pub fn stop(&mut self) {
        self.stops = true;
        self.writes = true;
    }

    /// Takes an event of one of its connections.
    pub fn take_event(&mut self, connection: usize, flags: EventFlags) {
        if let Some(Some(connection)) = self.connections.get_mut(connection) {
            connection.take_event(flags);
        }
    }

    /// Takes the answers, offers what there is room for, and moves the cursor.
    pub fn serve_once(&mut self, context: &mut Context<'_>) {
        if self.retry_at.is_some_and(|at| context.now >= at) {
            self.retry_at = None;
        }
        self.receive(context);
        let worked = self.look(context).and_then(|()| {
            self.check(context)?;
            self.take_up(context)?;
            self.offer(context)?;
            self.advance(context)
        });
        if let Err(error) = worked {
            self.fail(error.to_string(), context);
        }
        self.merge();
        self.tend(context);
        self.rest(context);
        self.report(context);
    }

    /// Reads the place in the log, where it is not known.
    fn look(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        if self.lanes.is_some() || self.retry_at.is_some() {
            return Ok(());
        }
        let summary = site_state::look(&self.root, &self.plan.name)?;
        let summary = summary.ok_or_else(|| Error::NoCursor(groups::shown(&self.plan.name)))?;
        self.paused = summary.paused;
        self.paused_looked = Some(context.now);
        self.deferrals.reset(&summary.deferred);
        self.resume_outage(summary.failure);
        self.lanes = Some(Lanes::of(&summary.cursor));
        self.stored = Some(summary.cursor);
        Ok(())
    }

    /// Whether articles may be offered now.
    fn may_offer(&self) -> bool {
        self.paused.is_none()
            && self.retry_at.is_none()
            && self.holds_until.is_none()
            && self.yields_until.is_none()
            && !self.stops
            && self.permit.may_begin()
    }

    /// Whether there is something to offer.
    fn has_work(&self, time: i64) -> bool {
        self.lanes.as_ref().is_some_and(Lanes::has_next) || self.deferrals.is_due(time)
    }

    /// Whether articles can be sent on a connection now.
    pub fn is_connected(&self) -> bool {
        self.connections.iter().flatten().any(Connection::is_ready)
    }

    /// The stretches of the log to search now, as far as `end`: whether it is the backlog, from, and to.
    pub fn searches(&self, end: Position) -> impl Iterator<Item = (bool, Position, Position)> {
        let may_search = self.retry_at.is_none() && !self.stops;
        // With an article in hand it looks whether it is still paused.
        let is_connected = self.is_connected() && self.paused.is_none();
        let lanes = self.lanes.as_ref().filter(|_| may_search);
        let lanes = lanes.into_iter().flat_map(|lanes| {
            let backlog = lanes.backlog.iter().map(|lane| (true, lane));
            std::iter::once((false, &lanes.new)).chain(backlog)
        });
        lanes.filter_map(move |(is_backlog, lane)| {
            let until = lane.until().map_or(end, |until| until.min(end));
            let has_room = lane.has_room() && (is_connected || lane.is_empty());
            (has_room && lane.seen() < until).then_some((is_backlog, lane.seen(), until))
        })
    }

    /// Whether it searches the log as that grows; this changes in a turn only.
    pub fn has_room(&self) -> bool {
        self.searches(Position(u64::MAX)).next().is_some()
    }

    /// The cursor for a search from a position on.
    pub fn search_cursor(&self, from: Position) -> Cursor {
        let mut cursor = Cursor::new(from);
        if let Some(lanes) = &self.lanes {
            cursor.selected_from = lanes.selected_from;
        }
        cursor
    }

    /// Takes the result of a search.
    pub fn found(&mut self, is_backlog: bool, found: crate::Waiting, end: Position) {
        if let Some(lane) = self
            .lanes
            .as_mut()
            .and_then(|lanes| lanes.of_kind(is_backlog))
        {
            let deferrals = &self.deferrals;
            lane.found(found, end, |position| deferrals.has(position));
        }
    }

    /// New articles no longer wait for those before `end`, which get connections of their own.
    pub fn split(&mut self, end: Position) {
        let may_split = self.plan.connections_max() > 1 && self.may_offer();
        let Some(lanes) = self.lanes.as_mut().filter(|_| may_split) else {
            return;
        };
        if lanes.backlog.is_some() {
            return;
        }
        lanes.new.end_at(end);
        lanes.backlog = Some(std::mem::replace(&mut lanes.new, Lane::new(end, None)));
        for connection in self.connections.iter_mut().flatten() {
            connection.is_backlog = true;
        }
    }

    /// The bytes of the log that a peer with connections is behind. `None`: it has none.
    pub fn behind(&self, end: Position) -> Option<u64> {
        let lanes = self.lanes.as_ref()?;
        let is_connected = self.is_connected();
        let passed = lanes.each().map(Lane::passed).min()?;
        is_connected.then(|| end.0.saturating_sub(passed.0))
    }

    /// A peer fails: everything is given back, and tried again later.
    pub fn fail(&mut self, why: String, context: &mut Context<'_>) {
        self.begin_outage(context);
        self.retry_later(why, context);
    }

    /// As [`Peer::fail`], for a peer that has just answered: there is no outage if the next attempt works.
    fn retry_later(&mut self, why: String, context: &mut Context<'_>) {
        self.why = why;
        self.retry_at = Some(self.back_off.failed(context.now));
        self.let_go(context);
    }

    /// Gives connections, files and memory back; the articles in flight are offered again later.
    fn let_go(&mut self, context: &mut Context<'_>) {
        for place in 0..self.connections.len() {
            self.close(place, context);
        }
        // What is answered counts, if the disk lets us.
        let _ = self.advance(context);
        self.release(context.now);
        (self.lanes, self.look_up) = (None, None);
        self.remote = None;
        self.addresses.clear();
    }

    /// Tells others its state.
    fn report(&mut self, context: &Context<'_>) {
        let is_told = self.report_outage(context);
        let open = self.connections.iter().flatten();
        let (mut connections, mut in_flight, mut is_ready) = (0, 0, false);
        for connection in open {
            connections += 1;
            in_flight += connection.in_flight();
            is_ready |= connection.is_ready();
        }
        let does = match (&self.paused, self.retry_at) {
            (Some(_), _) => PeerDoes::Paused,
            (None, Some(_)) if !self.why.is_empty() => PeerDoes::Failing,
            (None, None) if self.is_outside_hours() => PeerDoes::Paused,
            (None, _) if self.is_silent(context.now) => PeerDoes::Failing,
            (None, _) if in_flight > 0 => PeerDoes::Sending,
            (None, _) if (connections > 0 && !is_ready) || self.look_up.is_some() => {
                PeerDoes::Connecting
            }
            (None, _) => PeerDoes::Idle,
        };
        let why = self.why().unwrap_or_default();
        let left = |at: Instant| at.saturating_duration_since(context.now).as_secs();
        let next = match does {
            PeerDoes::Paused if self.paused.is_none() => {
                Some(u64::from(self.plan.seconds_to_hours(context.time)))
            }
            _ => self.retry_at.map(left),
        };
        let next = next.map(|left| context.time.saturating_add_unsigned(left));
        let times = (context.time, next, self.outage);
        let is_new = self.counts.set_state(does, &why, times) && !is_told;
        // After a reload the threads before may serve it a moment longer.
        if is_new && !why.is_empty() && !self.is_busy {
            let text = format!("{}: {why}", groups::shown(&self.plan.name));
            (context.tell)(Weight::Work, &text);
        }
        let lanes = self.lanes.as_ref();
        let waiting = lanes.map_or(0, |lanes| lanes.each().map(Lane::waiting).sum());
        let oldest = lanes.and_then(|lanes| lanes.each().filter_map(Lane::oldest).min());
        self.counts.set_waiting(connections, waiting, oldest);
    }
}

/// The earlier of two times, of which one may be missing.
pub(super) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

const SECOND: Duration = Duration::from_secs(1);
/// How long nothing is offered while somebody may wait for the site's files, as `feed reset` does, and articles are in flight.
const YIELD_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the log without an article for a site, after which its cursor is written all the same.
const WRITTEN_BYTES: u64 = 16 << 20;
