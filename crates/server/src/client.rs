//! A client: where from, who, and what it may do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::sasl::Exchange;
use access::{ClientIdentity, RateLimit, Rights};
use nntp::Permissions;

use crate::Token;
use crate::counts::{Counts, Kinds, Peer, Tally};
use crate::event::Event;
use crate::shared::Shared;

/// What somebody hears for whom there is no room.
pub const TOO_MANY: &str = "Too many connections; come again later";
/// What is said where a login could not be looked at; the journal says why.
pub const NO_LOGIN: &str = "Nobody can log in now; try again later";

/// A client.
pub struct Client {
    /// Its connection.
    pub token: Token,
    /// Where from; `None`: a pipe of this machine.
    pub address: Option<SocketAddr>,
    /// Where it came to.
    pub local: Option<SocketAddr>,
    /// Who logged in.
    pub user: Option<String>,
    /// The certificate whose key it has.
    pub certificate: Option<[u8; 32]>,
    /// On TLS.
    pub is_secure: bool,
    /// What it may do.
    pub rights: Rights,
    /// The rights are others than the session knows of.
    pub are_rights_new: bool,
    /// What is counted of those with these rights.
    pub peer: Peer,
    /// What is counted of this connection.
    pub tally: Tally,
    /// As what it is counted among those of now.
    pub kinds: Kinds,
    /// When it came, in milliseconds of the monotonic clock.
    pub since: u64,
    /// A login in several steps.
    pub exchange: Option<Exchange>,
    /// Ids were announced to others.
    pub has_announced: bool,
    /// Articles handed in and not settled, and their bytes.
    pub on_the_way: (usize, usize),
    /// How fast it may send articles, where that is limited.
    pub sending: Option<RateLimit>,
    /// How fast it may read, where that is limited.
    pub reading: Option<RateLimit>,
    /// It went too fast: until then nothing is read from it, in milliseconds of the monotonic clock.
    pub rests_until: Option<u64>,
}

impl Client {
    /// As the rules see it.
    pub fn identity(&self) -> ClientIdentity<'_> {
        ClientIdentity {
            address: self.address.map(|address| address.ip()),
            user: self.user.as_deref(),
            certificate: self.certificate,
            is_secure: self.is_secure,
        }
    }

    /// For programs that look at passwords.
    pub fn connection(&self) -> access::Connection {
        access::Connection {
            host: None,
            client: self.address,
            local: self.local,
        }
    }

    /// The address, for those who look after posts; empty for this machine.
    pub fn host(&self) -> String {
        self.address
            .map(|address| address.ip().to_string())
            .unwrap_or_default()
    }

    /// True when it can do nothing, whoever it says it is.
    pub fn is_nobody(&self) -> bool {
        self.rights.is_nothing() && !self.rights.can_log_in()
    }

    /// Asks anew what it may do, for it has shown who it is, and counts it under the entry that it has then. False, and nothing else
    /// done: that has as many connections as it may, or the address has more than those of the entry may.
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
            if here > most || !peer.connections.enter(all) {
                shared.counts.rejected.one();
                let why = "too many connections of its entry";
                let address = self.address;
                shared.sink.tell(&Event::Rejected { address, why });
                return false;
            }
            self.change_peer(peer);
        }
        self.begin(rights);
        true
    }

    /// A user has logged in: as [`Client::enter`].
    pub fn log_in(&mut self, user: Option<String>, shared: &Shared) -> bool {
        self.exchange = None;
        let before = std::mem::replace(&mut self.user, user);
        if !self.enter(shared) {
            self.user = before;
            return false;
        }
        shared.counts.logins.one();
        true
    }

    /// Asks anew what it may do, for the rules are others. Nobody is sent away who is here.
    pub fn ask_again(&mut self, shared: &Shared) {
        let rights = shared.access().rights(&self.identity());
        let peer = shared.counts.peer(rights.name());
        if !Arc::ptr_eq(&peer, &self.peer) {
            peer.connections.one();
            self.change_peer(peer);
        }
        self.begin(rights);
    }

    /// It is counted there from now on, where it has a place already.
    fn change_peer(&mut self, peer: Peer) {
        self.tally.tell(&self.peer);
        self.peer.connections.less();
        peer.connected.one();
        self.peer = peer;
    }

    fn begin(&mut self, rights: Rights) {
        self.rights = rights;
        self.are_rights_new = true;
        self.begin_paces();
    }

    /// Tells what was counted, at the end of a turn.
    pub fn tell(&mut self, counts: &Counts) {
        self.tally.tell(&self.peer);
        let kinds = Kinds {
            reads: self.rights.is_reader(),
            sends: self.rights.is_peer(),
            is_secure: self.is_secure,
        };
        if kinds != self.kinds {
            self.kinds.change(kinds, counts);
        }
    }

    /// It is counted among those of now no more.
    pub fn leave(&mut self, counts: &Counts) {
        self.tally.tell(&self.peer);
        self.kinds.change(Kinds::default(), counts);
        self.peer.connections.less();
    }

    /// A login failed, for this reason.
    pub fn login_failed(&self, shared: &Shared, why: &str) {
        shared.counts.logins_failed.one();
        shared.sink.tell(&Event::LoginFailed {
            address: self.address,
            entry: self.rights.name(),
            why,
        });
    }

    /// The limits on its speed are those of its rights.
    pub fn begin_paces(&mut self) {
        let limits = self.rights.limits();
        let per_minute = |count: u32| RateLimit::per_minute(u64::from(count));
        self.sending = limits.articles_per_minute_max.map(per_minute);
        self.reading = limits.bytes_per_second_max.map(RateLimit::per_second);
    }

    /// It has to rest for so long from now on, in milliseconds of the monotonic clock.
    pub fn rest(&mut self, wait: Duration, ticks: u64) {
        if !wait.is_zero() {
            let until = ticks + u64::try_from(wait.as_millis()).unwrap_or(u64::MAX / 2) + 1;
            self.rests_until = Some(self.rests_until.map_or(until, |before| before.max(until)));
        }
    }

    /// What it may do, in sum.
    pub fn permissions(&self) -> Permissions {
        let rights = &self.rights;
        Permissions {
            reads: rights.is_reader(),
            posts: !rights.posts_none(),
            sends: rights.is_peer(),
            could_log_in: rights.can_log_in() && self.user.is_none(),
            is_logged_in: self.user.is_some(),
        }
    }
}
