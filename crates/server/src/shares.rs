//! Memory that connections hold while something of theirs is not whole: half articles, half TLS handshakes. It is bounded for all of
//! them; where it is used up, one holding goes, and its connection is told by a message.
//!
//! The greediest goes first: of the addresses (under each entry of the access rules) that have more than a share each is sure of, the one
//! with most; where none has so much, all. Of its holdings the oldest and slowest goes: the one that has stood still for longest; where none
//! stands still, that with the fewest bytes for its age; where all are young, the oldest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Token;
use crate::mailbox::{Mailbox, Message};

/// What has not grown for so long stands still, ms.
const STILL_MILLISECONDS: u64 = 5_000;
/// Before this age nothing is told by its speed, ms.
const YOUNG_MILLISECONDS: u64 = 10_000;

/// Whose share it is: an entry of the access rules, and an address (of IPv6, its network of 64 bits).
pub type Owner = (String, Option<IpAddr>);

/// What one connection holds.
#[derive(Debug)]
struct Holding {
    owner: Owner,
    mailbox: Arc<Mailbox>,
    bytes: usize,
    /// When what is not whole began, in milliseconds of the monotonic clock.
    since: u64,
    /// When it changed last.
    changed: u64,
}

impl Holding {
    /// What has the lowest goes first.
    fn worth(&self, now: u64) -> (u8, u64) {
        let age = now.saturating_sub(self.since);
        if now.saturating_sub(self.changed) >= STILL_MILLISECONDS {
            return (0, self.changed);
        }
        match age < YOUNG_MILLISECONDS {
            true => (2, self.since),
            false => (1, (self.bytes as u64).saturating_mul(1000) / age),
        }
    }
}

/// A bounded memory.
#[derive(Debug)]
pub struct Shares {
    bytes_max: usize,
    /// Nobody with less is greedy.
    share_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    holdings: HashMap<Token, Holding>,
    owners: HashMap<Owner, usize>,
    bytes: usize,
}

impl Shares {
    /// Nobody holds anything.
    pub fn new(bytes_max: usize, share_bytes: usize) -> Shares {
        Shares {
            bytes_max,
            share_bytes,
            state: Mutex::default(),
        }
    }

    /// A connection holds so many bytes now, of something that began at `since`; of none that it held is `owner` asked. Where that is too
    /// much in all, others, or this one, are told to let go.
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
                owner,
                mailbox,
                bytes,
                since,
                changed: now,
            };
            state.put(token, holding);
        }
        while state.bytes > self.bytes_max {
            let Some((token, holding)) = state
                .victim(self.share_bytes, now)
                .and_then(|token| Some((token, state.take(token)?)))
            else {
                return;
            };
            holding.mailbox.put(Message::LetGo(token));
        }
    }

    /// A connection holds nothing any more.
    pub fn let_go(&self, token: Token) {
        self.lock().take(token);
    }

    /// Bytes that are held.
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

    /// Changes what a connection holds. False: it held nothing.
    fn update(&mut self, token: Token, bytes: usize, (since, now): (u64, u64)) -> bool {
        let Some(holding) = self.holdings.get_mut(&token) else {
            return false;
        };
        let before = std::mem::replace(&mut holding.bytes, bytes);
        (holding.since, holding.changed) = (since, now);
        self.bytes = self.bytes - before + bytes;
        if let Some(all) = self.owners.get_mut(&holding.owner) {
            *all = *all - before + bytes;
        }
        true
    }

    fn take(&mut self, token: Token) -> Option<Holding> {
        let holding = self.holdings.remove(&token)?;
        self.bytes -= holding.bytes;
        if let Some(bytes) = self.owners.get_mut(&holding.owner) {
            *bytes -= holding.bytes;
            if *bytes == 0 {
                self.owners.remove(&holding.owner);
            }
        }
        Some(holding)
    }

    /// Who has to let go. Looked for among all; that is when memory is used up, and so once for a piece of an article.
    fn victim(&self, share_bytes: usize, now: u64) -> Option<Token> {
        let greedy = self
            .owners
            .iter()
            .filter(|(_, bytes)| **bytes > share_bytes);
        let greediest = greedy.max_by_key(|(_, bytes)| **bytes);
        let is_among =
            |holding: &Holding| greediest.is_none_or(|(owner, _)| *owner == holding.owner);
        let among = self.holdings.iter().filter(|(_, one)| is_among(one));
        let least = among.min_by_key(|(_, holding)| holding.worth(now));
        least.map(|(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const KIB: usize = 1 << 10;

    struct SessionContext {
        shares: Shares,
        mailbox: Arc<Mailbox>,
    }

    impl SessionContext {
        /// 256 KiB for all; 8 are sure.
        fn new() -> SessionContext {
            SessionContext {
                shares: Shares::new(256 * KIB, 8 * KIB),
                mailbox: Arc::new(Mailbox::new().unwrap()),
            }
        }

        /// Connection `number` at an address holds so much at a time; who has to let go.
        fn hold(&self, number: u32, address: u8, kib: usize, times: (u64, u64)) -> Vec<u32> {
            let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, address));
            self.shares
                .hold(Token::new(0, number, 0), kib * KIB, times, || {
                    (("x".to_owned(), Some(address)), self.mailbox.clone())
                });
            assert!(self.shares.bytes() <= 256 * KIB);
            let told = self.mailbox.empty().into_iter();
            told.map(|message| match message {
                Message::LetGo(token) => token.place() as u32,
                other => panic!("{other:?}"),
            })
            .collect()
        }
    }

    #[test]
    fn the_greediest_lets_go_first() {
        let desk = SessionContext::new();
        for number in 0..24 {
            let begun = u64::from(number) * 10;
            assert_eq!(desk.hold(number, 1, 10, (begun, begun)), []);
        }
        assert_eq!(desk.hold(100, 2, 16, (300, 300)), []);
        assert_eq!(desk.hold(100, 2, 24, (300, 310)), [0]);
        assert_eq!(desk.hold(100, 2, 40, (300, 320)), [1, 2]);
        // Its own, where it is the greediest.
        assert_eq!(desk.hold(200, 3, 250, (330, 330)), [200]);
    }

    #[test]
    fn what_stands_still_goes_before_what_is_slow() {
        let desk = SessionContext::new();
        let half = |number, begun, now, kib| desk.hold(number, 1, kib, (begun, now));
        assert_eq!(half(1, 0, 50_000, 100), []);
        assert_eq!(half(2, 20_000, 50_000, 40), []);
        assert_eq!(half(3, 40_000, 44_000, 90), []);
        assert_eq!(half(4, 49_000, 50_000, 20), []);
        // The third has got nothing for six seconds; then the second goes on most slowly, and the last are young.
        assert_eq!(half(5, 50_000, 50_000, 10), [3]);
        assert_eq!(half(5, 50_000, 50_000, 100), [2]);
        assert_eq!(half(5, 50_000, 50_000, 180), [1]);
        assert_eq!(half(5, 50_000, 50_000, 240), [4]);
    }

    #[test]
    fn where_nobody_is_greedy_all_are_looked_at() {
        let desk = SessionContext::new();
        // As many addresses, each with a little that stands still.
        for number in 0..100 {
            assert_eq!(desk.hold(number, number as u8, 2, (0, 10)), []);
        }
        for number in 100..128 {
            assert_eq!(desk.hold(number, number as u8, 2, (59_000, 59_000)), []);
        }
        let told = desk.hold(200, 200, 5, (60_000, 60_010));
        assert!(told.len() == 3 && told.iter().all(|number| *number < 100));
    }

    #[test]
    fn what_is_let_go_of_counts_no_more() {
        let desk = SessionContext::new();
        for round in 0..100 {
            assert_eq!(desk.hold(1, 1, 200, (round, round)), []);
            desk.shares.let_go(Token::new(0, 1, 0));
        }
        assert_eq!(desk.shares.bytes(), 0);
        assert!(desk.shares.lock().owners.is_empty());
    }
}
