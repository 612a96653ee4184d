//! Reservations of message-ids: while one peer sends an article, the offers of others are deferred.
//!
//! An id is reserved once. If the article does not arrive in time, all peers that offer it may send it: a peer that only repeats its
//! offer, on however many connections, must not keep the article out, and a slow peer that alone has the article must not be shut out.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nntp::IdStatus;
use store::IdHash;

use crate::Token;

/// Lifetime of a reservation whose article does not arrive, seconds.
pub const RESERVATION_SECONDS_MAX: i64 = 60;
/// Maximum number of reservations, half of them in the new table; above it, all peers may send.
pub const RESERVATIONS_MAX: usize = 1 << 20;
/// Time that a table takes new reservations, seconds. An expired one is remembered for its lifetime again, at least.
const TABLE_SECONDS: i64 = 2 * RESERVATION_SECONDS_MAX;

/// The reservations by hash of the message-id. After a collision a peer offers its article once more. Nobody can provoke collisions to
/// block an article: the key of the hash is secret.
///
/// Nothing here scans them, since all network threads wait for the lock: what has expired goes with the whole table that it is in, and
/// the next peer that offers the id takes over the reservation of a closed connection.
#[derive(Debug, Default)]
pub struct Reservations {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Those of the last [`TABLE_SECONDS`] at most.
    new: Table,
    /// Those of as many seconds before, of which some still count.
    old: Table,
    /// When the new table began, seconds.
    began: i64,
}

#[derive(Debug, Default)]
struct Table {
    reservations: HashMap<IdHash, Reservation, BuildHasherDefault<Unchanged>>,
    /// Connections with reservations that closed meanwhile.
    closed: HashSet<Token>,
}

/// Takes a hash as it is.
#[derive(Default)]
struct Unchanged(u64);

impl Hasher for Unchanged {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Reservation {
    /// The connection that offered the article last.
    by: Token,
    /// End of the lifetime, seconds. Other connections may send the article from then on.
    until: i64,
    /// The article was received and waits for the commit.
    is_received: bool,
}

impl Reservations {
    /// Reserves a message-id for a connection, unless another one has it. Also returns whether this connection had already reserved the
    /// id, so that CHECK and the TAKETHIS after it count as one offer. `Unknown` for an id whose reservation has expired reserves
    /// nothing. `now`: seconds of a monotonic clock.
    pub fn reserve(&self, hash: IdHash, by: Token, now: i64) -> (IdStatus, bool) {
        let mut known = self.known();
        let expired = known.rotate(now);
        let result = known.reserve(hash, by, now);
        drop(known);
        // Frees megabytes, without the lock.
        drop(expired);
        result
    }

    /// Notes that the article was received.
    pub fn received(&self, hash: IdHash, by: Token) {
        let mut known = self.known();
        for table in known.tables() {
            if let Some(offer) = table.reservations.get_mut(&hash)
                && offer.by == by
            {
                offer.is_received = true;
                return;
            }
        }
    }

    /// Removes a reservation: the article was filed, refused or abandoned.
    pub fn release(&self, hash: IdHash, by: Token) {
        let mut known = self.known();
        for table in known.tables() {
            let offer = table.reservations.get(&hash);
            if offer.is_some_and(|offer| offer.by == by) {
                table.reservations.remove(&hash);
            }
        }
    }

    /// Ends all reservations of a closed connection.
    pub fn release_all(&self, by: Token) {
        self.known().new.closed.insert(by);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn tables(&mut self) -> [&mut Table; 2] {
        [&mut self.new, &mut self.old]
    }

    /// Begins a new table if it is time; returns one whose reservations have all expired.
    fn rotate(&mut self, now: i64) -> Option<Table> {
        if now < self.began + TABLE_SECONDS {
            return None;
        }
        self.began = now;
        let expired = std::mem::replace(&mut self.old, std::mem::take(&mut self.new));
        Some(expired)
    }

    /// The latest reservation of an id, also an expired one.
    fn find(&self, hash: IdHash) -> Option<Reservation> {
        let new = self.new.reservations.get(&hash);
        new.or_else(|| self.old.reservations.get(&hash)).copied()
    }

    fn is_closed(&self, by: Token) -> bool {
        self.new.closed.contains(&by) || self.old.closed.contains(&by)
    }

    fn reserve(&mut self, hash: IdHash, by: Token, now: i64) -> (IdStatus, bool) {
        let known = self.find(hash);
        let open = known.filter(|offer| !self.is_closed(offer.by));
        let is_own = open.is_some_and(|offer| offer.by == by);
        match open {
            // No need to send it twice, whatever the result.
            Some(offer) if offer.is_received && is_own => return (IdStatus::Known, false),
            Some(offer) if !is_own && (offer.is_received || offer.until > now) => {
                return (IdStatus::InTransfer, false);
            }
            _ => {}
        }
        let offer = Reservation {
            by,
            // Neither a repeated offer nor another connection extends the time.
            until: known.map_or(now + RESERVATION_SECONDS_MAX, |offer| offer.until),
            is_received: false,
        };
        // As many may be in the old table. An id that is offered again and again stays in the new one, so that it stays expired.
        let new = &mut self.new.reservations;
        if new.len() < RESERVATIONS_MAX / 2 || new.contains_key(&hash) {
            new.insert(hash, offer);
        }
        (IdStatus::Unknown, is_own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::message_id::HashKey;

    fn hash(id: &[u8]) -> IdHash {
        IdHash::new(&HashKey::new([7; HashKey::BYTES]), id)
    }

    #[test]
    fn one_peer_sends_and_the_others_wait() {
        let reservations = Reservations::default();
        let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), a, 100),
            (IdStatus::Unknown, false)
        );
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), a, 130),
            (IdStatus::Unknown, true)
        );
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), b, 159),
            (IdStatus::InTransfer, false)
        );
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), b, 160),
            (IdStatus::Unknown, false)
        );
        reservations.release(hash(b"<7@a>"), a);
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), b, 161),
            (IdStatus::Unknown, true)
        );
        reservations.received(hash(b"<7@a>"), b);
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), b, 161),
            (IdStatus::Known, false)
        );
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), a, 999),
            (IdStatus::InTransfer, false)
        );
        reservations.release_all(b);
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), a, 1000),
            (IdStatus::Unknown, false)
        );
    }

    #[test]
    fn a_peer_that_repeats_its_offer_shuts_out_nobody() {
        let reservations = Reservations::default();
        let (a, b, c) = (
            Token::new(1, 0, 0),
            Token::new(2, 0, 0),
            Token::new(3, 0, 0),
        );
        let reserve = |by, now| reservations.reserve(hash(b"<7@a>"), by, now).0;
        for now in 100..1000 {
            assert_eq!(reserve(a, now), IdStatus::Unknown, "at {now}");
            if now % 7 == 0 {
                // Another connection of the same peer, or another peer that sends nothing.
                let wanted = if now < 160 {
                    IdStatus::InTransfer
                } else {
                    IdStatus::Unknown
                };
                assert_eq!(reserve(c, now), wanted, "at {now}");
            }
        }
        assert_eq!(reserve(b, 1000), IdStatus::Unknown);
        // The first article that arrives ends this.
        reservations.received(hash(b"<7@a>"), b);
        assert_eq!(reserve(a, 1001), IdStatus::InTransfer);
        assert_eq!(reserve(b, 1001), IdStatus::Known);
        reservations.release(hash(b"<7@a>"), b);
        // Forgotten after a while without offers.
        assert_eq!(reserve(a, 1300), IdStatus::Unknown);
        assert_eq!(reserve(b, 1300), IdStatus::InTransfer);
    }

    #[test]
    fn an_expired_reservation_is_remembered_for_as_long_again() {
        for first in 1000..1200 {
            let reservations = Reservations::default();
            let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
            let reserve = |id: &[u8], by, now| reservations.reserve(hash(id), by, now).0;
            // The tables begin at this time.
            assert_eq!(reserve(b"<1@a>", a, 1000), IdStatus::Unknown);
            assert_eq!(reserve(b"<2@a>", a, first), IdStatus::Unknown);
            let last = first + 2 * RESERVATION_SECONDS_MAX - 1;
            assert_eq!(reserve(b"<2@a>", a, last), IdStatus::Unknown);
            assert_eq!(reserve(b"<2@a>", b, last), IdStatus::Unknown, "{first}");
        }
    }

    #[test]
    fn a_peer_that_connects_again_gets_no_more_time() {
        let reservations = Reservations::default();
        let b = Token::new(2, 0, 0);
        let reserve = |by, now| reservations.reserve(hash(b"<7@a>"), by, now).0;
        for (generation, now) in (0..).zip([100, 120, 140, 159]) {
            let a = Token::new(1, 0, generation);
            assert_eq!(reserve(a, now), IdStatus::Unknown);
            assert_eq!(reserve(b, now), IdStatus::InTransfer);
            if now < 159 {
                reservations.release_all(a);
            }
        }
        assert_eq!(reserve(b, 160), IdStatus::Unknown);
    }

    #[test]
    fn those_of_a_closed_connection_are_free() {
        let reservations = Reservations::default();
        let (a, b, c) = (
            Token::new(1, 0, 0),
            Token::new(2, 0, 0),
            Token::new(1, 0, 1),
        );
        let reserve = |id: &[u8], by, now| reservations.reserve(hash(id), by, now).0;
        assert_eq!(reserve(b"<1@a>", a, 100), IdStatus::Unknown);
        assert_eq!(reserve(b"<2@a>", a, 210), IdStatus::Unknown);
        assert_eq!(reserve(b"<3@a>", b, 210), IdStatus::Unknown);
        // A new table has begun.
        assert_eq!(reserve(b"<4@a>", b, 225), IdStatus::Unknown);
        reservations.release_all(a);
        assert_eq!(reserve(b"<2@a>", b, 226), IdStatus::Unknown);
        assert_eq!(reserve(b"<2@a>", c, 226), IdStatus::InTransfer);
        assert_eq!(reserve(b"<3@a>", c, 226), IdStatus::InTransfer);
        reservations.release(hash(b"<3@a>"), b);
        assert_eq!(reserve(b"<3@a>", c, 227), IdStatus::Unknown);
        // Those of the new connection in the same slot are its own.
        reservations.received(hash(b"<3@a>"), c);
        assert_eq!(reserve(b"<3@a>", b, 228), IdStatus::InTransfer);
        assert_eq!(reserve(b"<4@a>", c, 284), IdStatus::InTransfer);
        assert_eq!(reserve(b"<4@a>", c, 285), IdStatus::Unknown);
    }

    #[test]
    fn a_full_table_is_not_scanned_for_each_id() {
        let reservations = Reservations::default();
        let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
        for number in 0..RESERVATIONS_MAX + 10_000 {
            let id = format!("<{number}@a>");
            assert_eq!(
                reservations.reserve(hash(id.as_bytes()), a, 100).0,
                IdStatus::Unknown
            );
        }
        assert_eq!(
            reservations.reserve(hash(b"<7@a>"), b, 100).0,
            IdStatus::InTransfer
        );
        // Above the maximum both may send; the next table has room again.
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), a, 101).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), b, 101).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), a, 220).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), b, 220).0,
            IdStatus::InTransfer
        );
    }
}
