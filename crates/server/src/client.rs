//! A connected client: its address, identity and permissions.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use access::sasl::Exchange;
use access::{ClientIdentity, RateLimit, Rights};
use nntp::Permissions;
use store::{IdHash, Position};

use crate::Token;
use crate::article_batch::ArticleOrigin;
use crate::counts::{Counts, Kinds, Peer, Tally};
use crate::event::Event;
use crate::owner::Owner;
use crate::shared::Shared;

/// Reply text when a connection limit is reached.
pub const TOO_MANY: &str = "Too many connections; try again later";
/// Reply text to logins of an address where too many have failed (not 481, after which clients ask for another password).
pub const TOO_MANY_FAILED: &str = "Too many failed logins from your address; try again later";
/// Reply text when a login could not be checked; the log has the reason.
pub const NO_LOGIN: &str = "Logins are not possible now; try again later";

/// An article that is fetched from the object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fetching {
    /// None.
    #[default]
    Nothing,
    /// A thread fetches it; it was fetched so many times before.
    Running {
        /// The article.
        position: Position,
        /// Earlier fetches of it for the same command.
        fetches: u32,
    },
    /// It was fetched, or could not be, so many times in a row.
    Done {
        /// The article.
        position: Position,
        /// It is not in the cache.
        has_failed: bool,
        /// Fetches of it.
        fetches: u32,
    },
}

/// A connected client.
pub struct Client {
    /// Its connection.
    pub token: Token,
    /// The number of the connection since the server started.
    pub number: u64,
    /// Its address; `None` for a pipe of this machine.
    pub address: Option<SocketAddr>,
    /// The local address.
    pub local: Option<SocketAddr>,
    /// The user, if logged in.
    pub user: Option<String>,
    /// SHA-256 of the client certificate, whose private key it has.
    pub certificate: Option<[u8; 32]>,
    /// The connection uses TLS.
    pub is_secure: bool,
    /// Its permissions by the access rules.
    pub rights: Rights,
    /// The sender of its articles.
    pub origin: Arc<ArticleOrigin>,
    /// The session does not know the current rights.
    pub are_rights_new: bool,
    /// The counters of its access entry.
    pub peer: Peer,
    /// The counters of this connection.
    pub tally: Tally,
    /// Articles, commands and bytes that [`crate::ReaderCounts`] has already.
    pub reader_counted: [u64; 3],
    /// The gauges that count it.
    pub kinds: Kinds,
    /// Time of the connection, ms of the monotonic clock.
    pub since: u64,
    /// A SASL exchange in progress.
    pub exchange: Option<Exchange>,
    /// It has reserved message-ids.
    pub has_reservations: bool,
    /// The hash of the message-id that it offered last.
    pub offered: Option<IdHash>,
    /// Articles with a pending result, and their bytes.
    pub in_flight: (usize, usize),
    /// Rate limit of received articles.
    pub sending: Option<RateLimit>,
    /// Rate limit of sent bytes.
    pub reading: Option<RateLimit>,
    /// The article that is fetched for it from the object store.
    pub fetch: Fetching,
    /// A rate limit suspends it until this time, ms of the monotonic clock.
    pub suspended_until: Option<u64>,
}

impl Client {
    /// A client that has just connected: nothing is known of it but its address, and with that its permissions.
    pub fn new(
        token: Token,
        number: u64,
        (address, local): (Option<SocketAddr>, Option<SocketAddr>),
        rights: Rights,
        peer: Peer,
        since: u64,
    ) -> Client {
        Client {
            token,
            number,
            address,
            local,
            user: None,
            certificate: None,
            is_secure: false,
            origin: ArticleOrigin::of(&rights, address.map(|address| address.ip())),
            rights,
            are_rights_new: false,
            peer,
            tally: Tally::default(),
            reader_counted: [0; 3],
            kinds: Kinds::default(),
            since,
            exchange: None,
            has_reservations: false,
            offered: None,
            in_flight: (0, 0),
            sending: None,
            reading: None,
            suspended_until: None,
            fetch: Fetching::default(),
        }
    }

    /// Notes the end of a fetch.
    pub fn fetched(&mut self, position: Position, has_failed: bool) {
        let before = match self.fetch {
            Fetching::Running {
                position: known,
                fetches,
            } if known == position => fetches,
            _ => 0,
        };
        self.fetch = Fetching::Done {
            position,
            has_failed,
            fetches: before + 1,
        };
    }

    /// The identity that access rules match.
    pub fn identity(&self) -> ClientIdentity<'_> {
        ClientIdentity {
            address: self.address.map(|address| address.ip()),
            user: self.user.as_deref(),
            certificate: self.certificate,
            is_secure: self.is_secure,
        }
    }

    /// Its address under its access entry: the owner of its share of memory.
    pub fn owner(&self) -> Owner {
        let address = self.address.map(|address| access::counted(address.ip()));
        (self.rights.name().to_owned(), address)
    }

    /// The connection, for programs that check passwords.
    pub fn connection(&self) -> access::Connection {
        access::Connection {
            host: None,
            client: self.address,
            local: self.local,
        }
    }

    /// The address for Injection-Info; empty for this machine.
    pub fn host(&self) -> String {
        self.address
            .map(|address| address.ip().to_string())
            .unwrap_or_default()
    }

    /// True if it has no permissions and cannot log in.
    pub fn has_no_access(&self) -> bool {
        self.rights.is_nothing() && !self.rights.could_log_in()
    }

    /// Evaluates the access rules again after its identity changed, and counts it under its new entry. Returns false without a change if
    /// the entry, or the address under it, has its maximum of connections.
    pub fn enter(&mut self, shared: &Shared) -> bool {
        let rights = shared.access().rights(&self.identity());
        let peer = shared.counts.peer(rights.name());
        if !Arc::ptr_eq(&peer, &self.peer) {
            let limits = rights.limits();
            let here = self.address.map_or(0, |address| shared.count(address.ip()));
            let most = limits
                .connections_per_address_max
                .map_or(usize::MAX, |most| most as usize);
            let all = limits.connections_max.map_or(u64::MAX, u64::from);
            if here > most || !peer.connections.increment_below(all) {
                shared.counts.rejected.increment();
                let why = "too many connections of its entry";
                let address = self.address;
                shared.sink.log(&Event::Rejected { address, why });
                return false;
            }
            self.change_entry(peer);
        }
        self.set_rights(rights);
        true
    }

    /// Logs a user in; see [`Client::enter`].
    pub fn log_in(&mut self, user: Option<String>, shared: &Shared) -> bool {
        self.exchange = None;
        let before = std::mem::replace(&mut self.user, user);
        if !self.enter(shared) {
            self.user = before;
            return false;
        }
        shared.counts.logins.increment();
        true
    }

    /// Evaluates changed access rules. Existing connections stay, above connection limits too.
    pub fn reload_rights(&mut self, shared: &Shared) {
        let rights = shared.access().rights(&self.identity());
        let peer = shared.counts.peer(rights.name());
        if !Arc::ptr_eq(&peer, &self.peer) {
            peer.connections.increment();
            self.change_entry(peer);
        }
        let rates = |rights: &Rights| {
            let limits = rights.limits();
            (limits.articles_per_minute_max, limits.bytes_per_second_max)
        };
        // The suspension was that of other limits.
        if rates(&self.rights) != rates(&rights) {
            self.suspended_until = None;
        }
        self.set_rights(rights);
    }

    /// Counts it under another entry, in whose gauge it is already.
    fn change_entry(&mut self, peer: Peer) {
        self.tally.publish(&self.peer);
        self.peer.connections.decrement();
        peer.connected.increment();
        self.peer = peer;
    }

    fn set_rights(&mut self, rights: Rights) {
        self.origin = ArticleOrigin::of(&rights, self.address.map(|address| address.ip()));
        self.rights = rights;
        self.are_rights_new = true;
        self.set_rate_limits();
    }

    /// Publishes its counters at the end of a time slice.
    pub fn publish_counts(&mut self, counts: &Counts) {
        self.tally.publish(&self.peer);
        let kinds = Kinds {
            reads: self.rights.is_reader(),
            sends: self.rights.is_peer(),
            is_secure: self.is_secure,
        };
        if kinds != self.kinds {
            self.kinds.change(kinds, counts);
        }
    }

    /// Removes it from the gauges.
    pub fn leave(&mut self, counts: &Counts) {
        self.tally.publish(&self.peer);
        self.kinds.change(Kinds::default(), counts);
        self.peer.connections.decrement();
    }

    /// Counts and logs a failed login.
    pub fn login_failed(&self, shared: &Shared, why: &str) {
        shared.counts.logins_failed.increment();
        shared.sink.log(&Event::LoginFailed {
            address: self.address,
            entry: self.rights.name(),
            why,
        });
    }

    /// Counts and logs a login with wrong credentials; too many of these make its address wait.
    pub fn login_refused(&self, shared: &Shared, why: &str) {
        self.login_failed(shared, why);
        if let Some(address) = self.address {
            let failed = shared.failed_logins.lock();
            let mut failed = failed.unwrap_or_else(PoisonError::into_inner);
            failed.login_failed(address.ip(), Instant::now());
        }
    }

    /// Returns whether so many logins of its address have failed that it has to wait.
    pub fn has_to_wait_for_login(&self, shared: &Shared) -> bool {
        self.address.is_some_and(|address| {
            let failed = shared.failed_logins.lock();
            let failed = failed.unwrap_or_else(PoisonError::into_inner);
            failed.has_to_wait(address.ip(), Instant::now())
        })
    }

    /// Sets the rate limits of its rights.
    pub fn set_rate_limits(&mut self) {
        let limits = self.rights.limits();
        let per_minute = |count: u32| RateLimit::per_minute(u64::from(count));
        self.sending = limits.articles_per_minute_max.map(per_minute);
        self.reading = limits.bytes_per_second_max.map(RateLimit::per_second);
    }

    /// Suspends it for `wait` from `ticks` on, ms of the monotonic clock.
    pub fn suspend(&mut self, wait: Duration, ticks: u64) {
        if !wait.is_zero() {
            let until = ticks + u64::try_from(wait.as_millis()).unwrap_or(u64::MAX / 2) + 1;
            self.suspended_until = Some(
                self.suspended_until
                    .map_or(until, |before| before.max(until)),
            );
        }
    }

    /// Its permissions as the session needs them.
    pub fn permissions(&self) -> Permissions {
        let rights = &self.rights;
        Permissions {
            reads: rights.is_reader(),
            posts: !rights.posts_none(),
            sends: rights.is_peer(),
            headfeed: rights.has_headfeed(),
            could_log_in: rights.can_log_in() && self.user.is_none(),
            needs_tls_to_log_in: rights.needs_tls_to_log_in() && self.user.is_none(),
            could_post: rights.could_post() && self.user.is_none(),
            is_logged_in: self.user.is_some(),
        }
    }
}
