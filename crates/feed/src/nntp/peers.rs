//! One thread for many peers: an epoll loop. A pass along the log serves all peers that have come as far as each other.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use groups::Sites;
use relay::Now;
use relay::sites::Selector;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use store::{Position, Snapshot};

use super::counts::{FeedCounts, Weight};
use super::lane::NOTED_ARTICLES_MAX;
use super::mailbox::{Mailbox, Message};
use super::peer::{Context, Peer, PeerPlan, of_event_key};
use super::resolver::Resolver;
use super::shared_articles::SharedArticles;
use crate::error::Error;
use crate::limit::Limit;
use crate::permit::Permit;
use crate::waiting::{self, Site};

/// Events of one call of the kernel.
const EVENTS: usize = 256;
/// The key of the mailbox in the events.
const MAILBOX: u64 = u64::MAX;
/// Bytes of the log that one pass searches, so that the connections get their turn.
const SEARCH_BYTES: u64 = 8 << 20;
/// A peer that is so many bytes of the log behind is served by the thread of the backlogs.
const FAR_BYTES: u64 = 16 << 20;
/// How long the articles in flight have when the loop ends.
const END: Duration = Duration::from_secs(5);
/// Interval after an error of the store.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Tells the administrator.
pub type Tell = Arc<dyn Fn(Weight, &str) + Send + Sync>;

/// A loop over peers.
pub struct Peers {
    epoll: OwnedFd,
    mailbox: Arc<Mailbox>,
    /// Peers that other loops pass on, and the loop that gets ours.
    arrivals: Arc<Arrivals>,
    passes_to: Option<(Arc<Mailbox>, Arc<Arrivals>)>,
    /// It serves peers that are far behind.
    is_for_backlogs: bool,
    peers: Vec<Option<Box<Peer>>>,
    /// When each wants its next turn.
    turns: Vec<Option<Instant>>,
    timers: BTreeSet<(Instant, usize)>,
    /// Those that get a turn now.
    due: BTreeSet<usize>,
    /// Those that have room for articles of the log, and those that are connected: noted after each turn, so that a round costs nothing for
    /// peers that wait.
    searching: BTreeSet<usize>,
    connected: BTreeSet<usize>,
    snapshot: Snapshot,
    sites: Sites,
    /// Selects the sites of articles that were filed before the sites were known; made when first needed.
    selector: Option<Selector>,
    resolver: Arc<Resolver>,
    tell: Tell,
    look_ups: u64,
    record: Vec<u8>,
    buffer: Vec<u8>,
    /// Articles that one peer was sent and others get next.
    shared: SharedArticles,
    ends_at: Option<Instant>,
    permit: Arc<Permit>,
}

type Arrivals = Mutex<Vec<Box<Peer>>>;

impl std::fmt::Debug for Peers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peers").finish_non_exhaustive()
    }
}

/// A part of the log that is to be searched for a peer.
struct Search {
    /// From, to, and whether the peer is connected: what searches have in common is done in one pass.
    reach: (Position, Position, bool),
    place: usize,
    is_backlog: bool,
}

/// The loops of all peers, from other threads.
#[derive(Debug, Clone, Default)]
pub struct PeersHandle {
    mailboxes: Vec<Arc<Mailbox>>,
    /// The feeds and their counts.
    pub counts: Vec<(Vec<u8>, Arc<FeedCounts>)>,
}

impl PeersHandle {
    /// Articles were filed.
    pub fn filed(&self) {
        self.mailboxes.iter().for_each(|mailbox| mailbox.filed());
    }

    /// Asks the feed with this name, or all feeds, to try again at once what failed, to offer deferred articles, and to read again what others may
    /// have changed.
    pub fn call(&self, name: Option<&[u8]>) {
        self.mailboxes.iter().for_each(|mailbox| mailbox.call(name));
    }

    /// Settles what is in flight, and ends the loops within some seconds.
    pub fn stop(&self) {
        let mailboxes = self.mailboxes.iter();
        mailboxes.for_each(|mailbox| mailbox.put(Message::Stop));
    }
}

/// The loops for these peers: one for those that are near the end of the log, and one for backlogs, so that reading old articles from a
/// slow disk does not delay new ones. `open` opens the store.
///
/// # Errors
/// The store cannot be opened, or no descriptor is left.
pub fn loops(
    root: &Path,
    (sites, plans): (&Sites, Vec<PeerPlan>),
    (tell, permit): (&Tell, &Arc<Permit>),
    open: &dyn Fn() -> Result<Snapshot, store::Error>,
) -> Result<(PeersHandle, [Peers; 2]), Error> {
    let resolver = Arc::new(Resolver::default());
    let make = || Peers::new(root, open()?, (sites, tell), (&resolver, permit));
    let (mut near, mut far) = (make()?, make()?);
    far.is_for_backlogs = true;
    near.passes_to = Some((far.mailbox.clone(), far.arrivals.clone()));
    far.passes_to = Some((near.mailbox.clone(), near.arrivals.clone()));
    let mut handle = PeersHandle {
        mailboxes: vec![near.mailbox.clone(), far.mailbox.clone()],
        counts: Vec::new(),
    };
    for plan in plans {
        let counts = Arc::new(FeedCounts::default());
        handle.counts.push((plan.name.clone(), counts.clone()));
        near.add(Box::new(Peer::new(plan, root, (counts, permit.clone()))));
    }
    Ok((handle, [near, far]))
}

/// The result of [`deliver`] for one peer.
#[derive(Debug)]
pub struct Delivered {
    /// The name of the feed.
    pub name: Vec<u8>,
    /// Number of articles that the peer answered for.
    pub articles: u64,
    /// The reason why others wait, if any do.
    pub waits: Option<String>,
    /// Another program serves the site.
    pub is_busy: bool,
}

/// Sends what waits for these peers, until nothing is left, or a peer fails, or `limit` is over; `is_asked`: also what they deferred, at once.
///
/// # Errors
/// The store cannot be opened, or no descriptor is left.
pub fn deliver(
    root: &Path,
    (sites, plans): (&Sites, Vec<PeerPlan>),
    (limit, is_asked): (&Limit, bool),
) -> Result<Vec<Delivered>, Error> {
    let tell: Tell = Arc::new(|_, _| {});
    let permit = limit.permit();
    let ways = (&Arc::default(), &permit);
    let mut peers = Peers::new(root, Snapshot::open(root)?, (sites, &tell), ways)?;
    for plan in plans {
        peers.add(Box::new(Peer::new(
            plan,
            root,
            (Arc::default(), permit.clone()),
        )));
    }
    for peer in peers.peers.iter_mut().flatten() {
        peer.call_once(is_asked.then(|| Now::read().seconds));
    }
    let end = peers.snapshot.end();
    let until = Instant::now() + limit.most();
    loop {
        let time = Now::read().seconds;
        let mut open = peers.peers.iter().flatten();
        if open.all(|peer| peer.is_at_rest(end, time)) || limit.is_over() || Instant::now() >= until
        {
            break;
        }
        // The limit is looked at now and then.
        peers.round(Some(AFTER_ERROR))?;
    }
    let results = peers.peers.iter().flatten().map(|peer| Delivered {
        name: peer.name().to_vec(),
        articles: peer.counts().answered(),
        is_busy: peer.is_busy(),
        waits: peer.why().or_else(|| peer.why_unreadable()).or_else(|| {
            let is_over = !peer.is_at_rest(end, Now::read().seconds);
            is_over.then(|| "the time is over".to_owned())
        }),
    });
    let results = results.collect();
    peers.stop();
    peers.run();
    Ok(results)
}

impl Peers {
    fn new(
        root: &Path,
        snapshot: Snapshot,
        (sites, tell): (&Sites, &Tell),
        (resolver, permit): (&Arc<Resolver>, &Arc<Permit>),
    ) -> Result<Peers, Error> {
        let made = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from);
        let made = made.and_then(|epoll| {
            let mailbox = Mailbox::new()?;
            let data = EventData::new_u64(MAILBOX);
            epoll::add(&epoll, mailbox.as_fd(), data, EventFlags::IN)?;
            Ok((epoll, mailbox))
        });
        let (epoll, mailbox) = made.map_err(Error::io("make an epoll instance for", root))?;
        Ok(Peers {
            epoll,
            mailbox: Arc::new(mailbox),
            arrivals: Arc::default(),
            passes_to: None,
            is_for_backlogs: false,
            peers: Vec::new(),
            timers: BTreeSet::new(),
            turns: Vec::new(),
            due: BTreeSet::new(),
            searching: BTreeSet::new(),
            connected: BTreeSet::new(),
            snapshot,
            sites: sites.clone(),
            selector: None,
            resolver: resolver.clone(),
            tell: tell.clone(),
            look_ups: 0,
            record: Vec::new(),
            buffer: Vec::new(),
            shared: SharedArticles::default(),
            ends_at: None,
            permit: permit.clone(),
        })
    }

    /// Adds a peer; it gets a turn.
    fn add(&mut self, peer: Box<Peer>) -> usize {
        let free = self.peers.iter().position(Option::is_none);
        let place = free.unwrap_or(self.peers.len());
        match self.peers.get_mut(place) {
            Some(slot) => *slot = Some(peer),
            None => {
                self.peers.push(Some(peer));
                self.turns.push(None);
            }
        }
        self.due.insert(place);
        place
    }

    /// Runs until [`PeersHandle::stop`].
    pub fn run(mut self) {
        while !self.has_ended() {
            if let Err(error) = self.round(None) {
                (self.tell)(Weight::Work, &error.to_string());
                std::thread::sleep(AFTER_ERROR);
            }
        }
    }

    fn has_ended(&self) -> bool {
        if self.permit.is_over() {
            return true;
        }
        let Some(at) = self.ends_at else {
            return false;
        };
        let mut open = self.peers.iter().flatten();
        open.all(|peer| peer.has_ended()) || Instant::now() >= at
    }

    fn stop(&mut self) {
        self.ends_at.get_or_insert(Instant::now() + END);
        self.due.extend(0..self.peers.len());
        for peer in self.peers.iter_mut().flatten() {
            peer.stop();
        }
    }

    /// Waits for something to do, no longer than `longest`, and does it.
    fn round(&mut self, longest: Option<Duration>) -> Result<(), Error> {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        let timeout = self.timeout(longest);
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(self.epoll_error(errno)),
        }
        if self.permit.is_over() {
            // The machine may have slept meanwhile.
            return Ok(());
        }
        let now = Instant::now();
        while let Some((at, place)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(turn) = self.turns.get_mut(place) {
                *turn = None;
            }
            self.due.insert(place);
        }
        for event in &events {
            match event.data.u64() {
                MAILBOX => self.take_messages(),
                key => {
                    let (place, connection) = of_event_key(key);
                    if let Some(Some(peer)) = self.peers.get_mut(place) {
                        peer.take_event(connection, event.flags);
                        self.due.insert(place);
                    }
                }
            }
        }
        // After the messages: what was filed before the last of them is seen, and what another loop saw whose peers arrived. And after the
        // events, each of which the kernel tells once.
        self.snapshot.catch_up()?;
        self.search();
        if !self.is_sharing() {
            self.shared.clear();
        }
        for place in std::mem::take(&mut self.due) {
            self.serve_once(place);
        }
        Ok(())
    }

    fn epoll_error(&self, errno: Errno) -> Error {
        Error::io("wait for the peers of", Path::new("feeds"))(errno.into())
    }

    fn timeout(&self, longest: Option<Duration>) -> Option<Timespec> {
        let end = self.end();
        let mut searching = self.searching();
        let is_busy =
            !self.due.is_empty() || searching.any(|(_, peer)| peer.searches(end).next().is_some());
        let wait = if is_busy {
            Some(Duration::ZERO)
        } else {
            let next = self.timers.first().map(|(at, _)| *at);
            let next = super::peer::earlier(next, self.ends_at);
            next.map(|at| at.saturating_duration_since(Instant::now()))
        };
        let wait = wait
            .into_iter()
            .chain(longest)
            .chain(self.permit.left())
            .min();
        // Rounded up: a turn before its time would find nothing to do.
        let wait = wait.map(|wait| {
            if wait.is_zero() {
                wait
            } else {
                wait + Duration::from_micros(50)
            }
        });
        Timespec::try_from(wait?).ok()
    }

    fn end(&self) -> Position {
        self.snapshot.end()
    }

    /// The peers that have room for articles of the log.
    fn searching(&self) -> impl Iterator<Item = (usize, &Peer)> {
        let peers = self.searching.iter();
        peers.filter_map(|place| Some((*place, self.peers.get(*place)?.as_deref()?)))
    }

    /// Whether several peers are connected.
    fn is_sharing(&self) -> bool {
        self.connected.len() > 1
    }

    fn take_messages(&mut self) {
        for message in self.mailbox.take_all() {
            match message {
                // What was filed is seen in the log.
                Message::Filed => {}
                Message::Call(name) => {
                    let now = (Instant::now(), Now::read().seconds);
                    for (place, peer) in self.peers.iter_mut().enumerate() {
                        let is_meant =
                            |peer: &Peer| name.as_deref().is_none_or(|name| name == peer.name());
                        if let Some(peer) = peer.as_deref_mut().filter(|peer| is_meant(peer)) {
                            peer.call(now);
                            self.due.insert(place);
                        }
                    }
                }
                Message::Resolved(number, found) => {
                    let place = (number & 0xffff) as usize;
                    self.with_peer(place, |peer, context| peer.resolved(number, found, context));
                    self.due.insert(place);
                }
                Message::Stop => self.stop(),
            }
        }
        let arrived = {
            let arrivals = self.arrivals.lock();
            std::mem::take(&mut *arrivals.unwrap_or_else(PoisonError::into_inner))
        };
        for peer in arrived {
            let place = self.add(peer);
            self.with_peer(place, Peer::enter_loop);
            if self.ends_at.is_some() {
                self.stop();
            }
        }
    }

    /// Searches the log for the peers that have room: those that have come equally far in one pass. A part of the log that cannot be read
    /// holds up the peers that have come to it, and no others.
    fn search(&mut self) {
        let end = self.end();
        let mut searches: Vec<Search> = Vec::new();
        for (place, peer) in self.searching() {
            let is_connected = peer.is_connected();
            searches.extend(peer.searches(end).map(|(is_backlog, from, to)| Search {
                reach: (from, to, is_connected),
                place,
                is_backlog,
            }));
        }
        searches.sort_unstable_by_key(|search| (search.reach, search.place));
        for group in searches.chunk_by(|one, other| one.reach == other.reach) {
            let Err(error) = self.search_for(group) else {
                continue;
            };
            for search in group {
                self.with_peer(search.place, |peer, context| {
                    peer.fail(error.to_string(), context);
                });
                self.due.insert(search.place);
            }
        }
    }

    fn search_for(&mut self, group: &[Search]) -> Result<(), Error> {
        let Some((from, to, is_connected)) = group.first().map(|search| search.reach) else {
            return Ok(());
        };
        let until = to.min(Position(from.0.saturating_add(SEARCH_BYTES)));
        let wanting = group.iter().filter_map(|search| {
            let peer = self.peers.get(search.place)?.as_deref()?;
            Some((search.place, search.is_backlog, peer))
        });
        let wanting: Vec<(usize, bool, &Peer)> = wanting.collect();
        let sites: Vec<Site<'_>> = wanting
            .iter()
            .map(|(_, _, peer)| Site {
                name: peer.name(),
                cursor: peer.search_cursor(from),
            })
            .collect();
        let (snapshot, selector, all) = (&self.snapshot, &mut self.selector, &self.sites);
        let mut late = |record: &store::Record<'_>, name: &[u8]| {
            wants_late((snapshot, selector, all), record, name)
        };
        // For a peer without a connection it is enough to know that something waits.
        let each = if is_connected { NOTED_ARTICLES_MAX } else { 1 };
        let most = each.saturating_mul(sites.len());
        let round = waiting::round_until(snapshot, &sites, (until, most), &mut late)?;
        let places: Vec<(usize, bool)> = wanting.iter().map(|one| (one.0, one.1)).collect();
        for ((place, is_backlog), found) in places.into_iter().zip(round.sites) {
            if let Some(Some(peer)) = self.peers.get_mut(place) {
                peer.found(is_backlog, found, round.end);
                self.due.insert(place);
            }
        }
        Ok(())
    }

    fn serve_once(&mut self, place: usize) {
        let next = self.with_peer(place, |peer, context| {
            peer.serve_once(context);
            (peer.next_turn(context), peer.has_more())
        });
        let (next, has_more) = next.unwrap_or((None, false));
        if has_more {
            self.due.insert(place);
        }
        if let Some(known) = self.turns.get_mut(place)
            && *known != next
        {
            if let Some(before) = std::mem::replace(known, next) {
                self.timers.remove(&(before, place));
            }
            if let Some(next) = next {
                self.timers.insert((next, place));
            }
        }
        self.pass_on(place);
        let peer = self.peers.get(place).and_then(Option::as_deref);
        let states = [
            (&mut self.searching, peer.is_some_and(Peer::has_room)),
            (&mut self.connected, peer.is_some_and(Peer::is_connected)),
        ];
        for (set, is_in) in states {
            if is_in {
                set.insert(place)
            } else {
                set.remove(&place)
            };
        }
    }

    /// Passes a peer to the other loop, if it is far behind, or no longer.
    fn pass_on(&mut self, place: usize) {
        let end = self.end();
        let (Some(Some(peer)), Some((mailbox, arrivals))) =
            (self.peers.get_mut(place), &self.passes_to)
        else {
            return;
        };
        let Some(behind) = peer.behind(end) else {
            return;
        };
        if self.is_for_backlogs && behind > FAR_BYTES {
            peer.split(end);
        }
        let is_wrong = if self.is_for_backlogs {
            behind < FAR_BYTES / 2
        } else {
            behind > FAR_BYTES
        };
        if !is_wrong || self.ends_at.is_some() {
            return;
        }
        peer.leave_loop(&self.epoll);
        let Some(peer) = self.peers.get_mut(place).and_then(Option::take) else {
            return;
        };
        self.due.remove(&place);
        if let Some(Some(before)) = self.turns.get_mut(place).map(Option::take) {
            self.timers.remove(&(before, place));
        }
        let list = arrivals.lock();
        list.unwrap_or_else(PoisonError::into_inner).push(peer);
        mailbox.filed();
    }

    fn with_peer<T>(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut Peer, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let is_sharing = self.is_sharing();
        let peer = self.peers.get_mut(place)?.as_deref_mut()?;
        let mut context = Context {
            snapshot: &mut self.snapshot,
            epoll: &self.epoll,
            mailbox: &self.mailbox,
            resolver: &self.resolver,
            tell: &*self.tell,
            now: Instant::now(),
            time: Now::read().seconds,
            place,
            look_ups: &mut self.look_ups,
            record: &mut self.record,
            buffer: &mut self.buffer,
            shared: &mut self.shared,
            is_sharing,
            selector: &mut self.selector,
            sites: &self.sites,
        };
        Some(act(peer, &mut context))
    }
}

/// Whether a site gets an article that was filed before the site was known.
pub(super) fn wants_late(
    (snapshot, selector, all): (&Snapshot, &mut Option<Selector>, &Sites),
    record: &store::Record<'_>,
    name: &[u8],
) -> bool {
    let selector = selector.get_or_insert_with(|| Selector::new(snapshot.active(), all.clone()));
    selector.wants(record, name, snapshot.active())
}

#[cfg(test)]
mod tests;
