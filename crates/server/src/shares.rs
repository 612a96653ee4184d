//! Bounds the memory of incomplete input: partial articles and TLS handshakes of all connections. When it is used up, one holding is
//! discarded, and its connection gets a message. Until the connection has done so the holding counts as *leaving*: while much leaves, nothing
//! more is read.
//!
//! The victim is a holding of the largest owner (an address under an access entry) above the share that each owner is sure of; if no
//! owner is above it, of all owners. Of these holdings it is the one that stalled first; if none stalls, the one with the fewest bytes
//! for its age; if all are young, the oldest.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Token;
use crate::mailbox::{Mailbox, Message};
use crate::owner::Owner;

/// Time without growth after which a holding counts as stalled, ms.
const STILL_MILLISECONDS: u64 = 5_000;
/// Age below which the speed of a holding does not count, ms.
const YOUNG_MILLISECONDS: u64 = 10_000;

/// Discarded holdings that are still in memory, above which nothing more is read, bytes: 16 MiB.
const LEAVING_BYTES_MAX: usize = 16 << 20;

/// Largest size of holdings whose memory may stay with the process afterwards, bytes: 32 MiB.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// The incomplete input of one connection.
#[derive(Debug)]
struct Holding {
    /// The mailbox of its connection has the message to discard it.
    is_leaving: bool,
    owner: Owner,
    mailbox: Arc<Mailbox>,
    bytes: usize,
    /// When the incomplete input began, ms of the monotonic clock.
    since: u64,
    /// When it changed last, ms of the monotonic clock.
    changed: u64,
}

impl Holding {
    /// The holding with the lowest value is discarded first.
    fn worth(&self, now: u64) -> (u8, u64) {
        let age = now.saturating_sub(self.since);
        if now.saturating_sub(self.changed) >= STILL_MILLISECONDS {
            return (0, self.changed);
        }
        if age < YOUNG_MILLISECONDS {
            (2, self.since)
        } else {
            (1, (self.bytes as u64).saturating_mul(1000) / age)
        }
    }
}

/// A bound on the holdings of all connections.
#[derive(Debug)]
pub struct Shares {
    bytes_max: usize,
    /// The share that each owner is sure of, bytes.
    share_bytes: usize,
    state: Mutex<State>,
    /// `State::leaving_bytes`, for those who do not take the lock.
    leaving_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    holdings: HashMap<Token, Holding>,
    owners: HashMap<Owner, usize>,
    /// Size of the holdings without those that leave, bytes.
    bytes: usize,
    /// Size of the holdings that leave, bytes.
    leaving_bytes: usize,
    /// The largest size of all holdings since their memory was last given back, bytes.
    most_bytes: usize,
}

impl Shares {
    /// A bound without holdings.
    pub fn new(bytes_max: usize, share_bytes: usize) -> Shares {
        Shares {
            bytes_max,
            share_bytes,
            state: Mutex::default(),
            leaving_bytes: AtomicUsize::new(0),
        }
    }

    /// Whether holdings are still to be discarded.
    pub fn has_leaving(&self) -> bool {
        self.leaving_bytes.load(Ordering::Relaxed) > 0
    }

    /// Whether so much is still to be discarded that nothing more may be read.
    pub fn is_over(&self) -> bool {
        self.leaving_bytes.load(Ordering::Relaxed) > LEAVING_BYTES_MAX
    }

    /// Sets the holding of a connection: `bytes` of input that began at `since`. `owner` is called only for a new holding. Above the bound,
    /// victims, perhaps this connection, get [`Message::Discard`].
    pub fn hold(
        &self,
        token: Token,
        bytes: usize,
        (since, now): (u64, u64),
        owner: impl FnOnce() -> (Owner, Arc<Mailbox>),
    ) {
        let mut state = self.lock();
        if !state.update(token, bytes, (since, now)) {
            let (owner, mailbox) = owner();
            let holding = Holding {
                is_leaving: false,
                owner,
                mailbox,
                bytes,
                since,
                changed: now,
            };
            state.put(token, holding);
        }
        state.most_bytes = state.most_bytes.max(state.bytes + state.leaving_bytes);
        while state.bytes > self.bytes_max {
            let victim = state.victim(self.share_bytes, now);
            let Some((token, mailbox)) =
                victim.and_then(|token| Some((token, state.dismiss(token)?)))
            else {
                break;
            };
            mailbox.put(Message::Discard(token));
        }
        self.leaving_bytes
            .store(state.leaving_bytes, Ordering::Relaxed);
    }

    /// Removes the holding of a connection. Returns whether so much is free now that its memory should be given back to the system: once, each time
    /// that little is left of much.
    pub fn let_go(&self, token: Token) -> bool {
        let mut state = self.lock();
        state.take(token);
        self.leaving_bytes
            .store(state.leaving_bytes, Ordering::Relaxed);
        let left = state.bytes + state.leaving_bytes;
        let has_fallen = state.most_bytes >= KEPT_BYTES_MAX && left < state.most_bytes / 4;
        if has_fallen {
            state.most_bytes = left;
        }
        has_fallen
    }

    /// Size of all holdings, bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, token: Token, holding: Holding) {
        self.bytes += holding.bytes;
        *self.owners.entry(holding.owner.clone()).or_default() += holding.bytes;
        self.holdings.insert(token, holding);
    }

    /// Changes a holding. Returns false if the connection has none.
    fn update(&mut self, token: Token, bytes: usize, (since, now): (u64, u64)) -> bool {
        let Some(holding) = self.holdings.get_mut(&token) else {
            return false;
        };
        let before = std::mem::replace(&mut holding.bytes, bytes);
        (holding.since, holding.changed) = (since, now);
        if holding.is_leaving {
            self.leaving_bytes = self.leaving_bytes - before + bytes;
            return true;
        }
        self.bytes = self.bytes - before + bytes;
        if let Some(all) = self.owners.get_mut(&holding.owner) {
            *all = *all - before + bytes;
        }
        true
    }

    fn take(&mut self, token: Token) -> Option<Holding> {
        let holding = self.holdings.remove(&token)?;
        if holding.is_leaving {
            self.leaving_bytes -= holding.bytes
        } else {
            self.subtract(&holding.owner, holding.bytes)
        }
        Some(holding)
    }

    /// Makes a holding one that leaves. Returns the mailbox of its connection.
    fn dismiss(&mut self, token: Token) -> Option<Arc<Mailbox>> {
        let holding = self.holdings.get_mut(&token)?;
        holding.is_leaving = true;
        let (owner, bytes) = (holding.owner.clone(), holding.bytes);
        let mailbox = holding.mailbox.clone();
        self.leaving_bytes += bytes;
        self.subtract(&owner, bytes);
        Some(mailbox)
    }

    fn subtract(&mut self, owner: &Owner, holding_bytes: usize) {
        self.bytes -= holding_bytes;
        if let Some(bytes) = self.owners.get_mut(owner) {
            *bytes -= holding_bytes;
            if *bytes == 0 {
                self.owners.remove(owner);
            }
        }
    }

    /// Selects the victim. It scans all holdings, but only when the memory is used up.
    fn victim(&self, share_bytes: usize, now: u64) -> Option<Token> {
        let greedy = self
            .owners
            .iter()
            .filter(|(_, bytes)| **bytes > share_bytes);
        let greediest = greedy.max_by_key(|(_, bytes)| **bytes);
        let is_among = |holding: &Holding| {
            !holding.is_leaving && greediest.is_none_or(|(owner, _)| *owner == holding.owner)
        };
        let among = self.holdings.iter().filter(|(_, one)| is_among(one));
        let least = among.min_by_key(|(_, holding)| holding.worth(now));
        least.map(|(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const KIB: usize = 1 << 10;
    const NONE: [u32; 0] = [];

    struct Fixture {
        shares: Shares,
        mailbox: Arc<Mailbox>,
    }

    impl Fixture {
        /// 256 KiB for all; each owner is sure of 8.
        fn new() -> Fixture {
            Fixture {
                shares: Shares::new(256 * KIB, 8 * KIB),
                mailbox: Arc::new(Mailbox::new().unwrap()),
            }
        }

        /// Sets the holding of connection `number` of an address; returns the victims.
        fn hold(&self, number: u32, address: u8, kib: usize, times: (u64, u64)) -> Vec<u32> {
            let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, address));
            self.shares
                .hold(Token::new(0, number, 0), kib * KIB, times, || {
                    (("x".to_owned(), Some(address)), self.mailbox.clone())
                });
            assert!(self.shares.bytes() <= 256 * KIB);
            let told = self.mailbox.take_all().into_iter();
            told.map(|message| match message {
                Message::Discard(token) => token.slot() as u32,
                other => panic!("{other:?}"),
            })
            .collect()
        }
    }

    #[test]
    fn the_largest_owner_is_the_first_victim() {
        let fixture = Fixture::new();
        for number in 0..24 {
            let begun = u64::from(number) * 10;
            assert_eq!(fixture.hold(number, 1, 10, (begun, begun)), NONE);
        }
        assert_eq!(fixture.hold(100, 2, 16, (300, 300)), NONE);
        assert_eq!(fixture.hold(100, 2, 24, (300, 310)), [0]);
        assert_eq!(fixture.hold(100, 2, 40, (300, 320)), [1, 2]);
        // Its own holding, if it is the largest owner.
        assert_eq!(fixture.hold(200, 3, 250, (330, 330)), [200]);
    }

    #[test]
    fn stalled_holdings_go_before_slow_ones() {
        let fixture = Fixture::new();
        let half = |number, begun, now, kib| fixture.hold(number, 1, kib, (begun, now));
        assert_eq!(half(1, 0, 50_000, 100), NONE);
        assert_eq!(half(2, 20_000, 50_000, 40), NONE);
        assert_eq!(half(3, 40_000, 44_000, 90), NONE);
        assert_eq!(half(4, 49_000, 50_000, 20), NONE);
        // The third has stalled for six seconds; then the second is the slowest, and the last are young.
        assert_eq!(half(5, 50_000, 50_000, 10), [3]);
        assert_eq!(half(5, 50_000, 50_000, 100), [2]);
        assert_eq!(half(5, 50_000, 50_000, 180), [1]);
        assert_eq!(half(5, 50_000, 50_000, 240), [4]);
    }

    #[test]
    fn without_a_large_owner_all_are_candidates() {
        let fixture = Fixture::new();
        // Many addresses, each with a small stalled holding.
        for number in 0..100 {
            assert_eq!(fixture.hold(number, number as u8, 2, (0, 10)), NONE);
        }
        for number in 100..128 {
            assert_eq!(
                fixture.hold(number, number as u8, 2, (59_000, 59_000)),
                NONE
            );
        }
        let told = fixture.hold(200, 200, 5, (60_000, 60_010));
        assert!(told.len() == 3 && told.iter().all(|number| *number < 100));
    }

    #[test]
    fn holdings_that_leave_count_until_they_are_gone() {
        let fixture = Fixture::new();
        let shares = Shares::new(64 << 20, 8 << 20);
        let hold = |number: u32, mib: usize| {
            let owner = ("x".to_owned(), None);
            let mailbox = fixture.mailbox.clone();
            let token = Token::new(0, number, 0);
            shares.hold(token, mib << 20, (u64::from(number), 10), || {
                (owner, mailbox)
            });
        };
        hold(1, 30);
        hold(2, 30);
        assert!(!shares.has_leaving());
        hold(3, 5);
        // The first one leaves, and grows before it hears so.
        assert!(shares.has_leaving() && shares.is_over());
        hold(1, 31);
        assert_eq!(shares.lock().leaving_bytes, 31 << 20);
        assert_eq!(shares.bytes(), 35 << 20);
        shares.let_go(Token::new(0, 1, 0));
        assert!(!shares.has_leaving() && !shares.is_over());
        hold(1, 10);
        assert_eq!(shares.bytes(), 45 << 20);
    }

    #[test]
    fn much_memory_is_given_back_once() {
        let fixture = Fixture::new();
        let shares = Shares::new(256 << 20, 8 << 20);
        for number in 0..40 {
            let owner = ("x".to_owned(), None);
            let token = Token::new(0, number, 0);
            shares.hold(token, 1 << 20, (0, 10), || (owner, fixture.mailbox.clone()));
        }
        let gone = (0..40).map(|number| shares.let_go(Token::new(0, number, 0)));
        let given: Vec<usize> = gone
            .enumerate()
            .filter_map(|(at, given)| given.then_some(at))
            .collect();
        // When 9 MiB of 40 are left.
        assert_eq!(given, [30]);
    }

    #[test]
    fn removed_holdings_do_not_count() {
        let fixture = Fixture::new();
        for round in 0..100 {
            assert_eq!(fixture.hold(1, 1, 200, (round, round)), NONE);
            fixture.shares.let_go(Token::new(0, 1, 0));
        }
        assert_eq!(fixture.shares.bytes(), 0);
        assert!(fixture.shares.lock().owners.is_empty());
    }
}
