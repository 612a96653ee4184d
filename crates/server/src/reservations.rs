//! Reservations of message-ids: while one peer sends an article, the offers of others are deferred.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nntp::IdStatus;
use store::IdHash;

use crate::Token;

/// Lifetime of a reservation whose article does not arrive, seconds.
pub const RESERVATION_SECONDS_MAX: i64 = 60;
/// Maximum number of reservations, half of them of the last minute; above it, all peers may send.
pub const RESERVATIONS_MAX: usize = 1 << 20;

/// The reservations by hash of the message-id. After a collision a peer offers its article once more. Nobody can provoke collisions to
/// block an article: the key of the hash is secret.
///
/// Nothing here scans them, since all network threads wait for the lock: what has expired goes with the whole table that it is in, and
/// those of a closed connection count for nothing.
#[derive(Debug, Default)]
pub struct Reservations {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Those of the last [`RESERVATION_SECONDS_MAX`] at most.
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
    by: Token,
    until: i64,
    /// The article was received and waits for the commit.
    is_received: bool,
}

impl Reservations {
    /// Reserves a message-id for a connection, unless another one has it. Also returns whether this connection had already reserved the
    /// id, so that CHECK and the TAKETHIS after it count as one offer. `now`: seconds of a monotonic clock.
    pub fn reserve(&self, hash: IdHash, by: Token, now: i64) -> (IdStatus, bool) {
        let mut known = self.known();
        let expired = known.turn(now);
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

    /// Removes all reservations of a closed connection.
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
    fn turn(&mut self, now: i64) -> Option<Table> {
        if now < self.began + RESERVATION_SECONDS_MAX {
            return None;
        }
        self.began = now;
        let expired = std::mem::replace(&mut self.old, std::mem::take(&mut self.new));
        Some(expired)
    }

    /// The reservation of an id that still counts.
    fn find(&self, hash: IdHash, now: i64) -> Option<Reservation> {
        let tables = [&self.new, &self.old].into_iter();
        let mut found = tables.filter_map(|table| table.reservations.get(&hash));
        let counts = |offer: &&Reservation| {
            (offer.is_received || offer.until > now)
                && !self.new.closed.contains(&offer.by)
                && !self.old.closed.contains(&offer.by)
        };
        found.find(counts).copied()
    }

    fn reserve(&mut self, hash: IdHash, by: Token, now: i64) -> (IdStatus, bool) {
        if let Some(offer) = self.find(hash, now) {
            return match offer.by == by {
                // No need to send it twice, whatever the result.
                true if offer.is_received => (IdStatus::Known, false),
                // A repeated offer does not extend the time.
                true => (IdStatus::Unknown, true),
                false => (IdStatus::InTransfer, false),
            };
        }
        // As many may be in the old table.
        if self.new.reservations.len() < RESERVATIONS_MAX / 2 {
            let offer = Reservation {
                by,
                until: now + RESERVATION_SECONDS_MAX,
                is_received: false,
            };
            self.new.reservations.insert(hash, offer);
        }
        (IdStatus::Unknown, false)
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
            reservations.reserve(hash(b"<7@a>"), a, 161),
            (IdStatus::InTransfer, false)
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
    fn those_of_a_closed_connection_are_free() {
        let reservations = Reservations::default();
        let (a, b, c) = (
            Token::new(1, 0, 0),
            Token::new(2, 0, 0),
            Token::new(1, 0, 1),
        );
        let reserve = |id: &[u8], by, now| reservations.reserve(hash(id), by, now).0;
        assert_eq!(reserve(b"<1@a>", a, 100), IdStatus::Unknown);
        assert_eq!(reserve(b"<2@a>", a, 150), IdStatus::Unknown);
        assert_eq!(reserve(b"<3@a>", b, 150), IdStatus::Unknown);
        // A new table has begun.
        assert_eq!(reserve(b"<4@a>", b, 165), IdStatus::Unknown);
        reservations.release_all(a);
        assert_eq!(reserve(b"<2@a>", b, 166), IdStatus::Unknown);
        assert_eq!(reserve(b"<2@a>", c, 166), IdStatus::InTransfer);
        assert_eq!(reserve(b"<3@a>", c, 166), IdStatus::InTransfer);
        reservations.release(hash(b"<3@a>"), b);
        assert_eq!(reserve(b"<3@a>", c, 167), IdStatus::Unknown);
        // Those of the new connection in the same slot are its own.
        reservations.received(hash(b"<3@a>"), c);
        assert_eq!(reserve(b"<3@a>", b, 168), IdStatus::InTransfer);
        assert_eq!(reserve(b"<4@a>", c, 224), IdStatus::InTransfer);
        assert_eq!(reserve(b"<4@a>", c, 225), IdStatus::Unknown);
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
        // Above the maximum both may send; after the lifetime the table has room again.
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), a, 101).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), b, 101).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), a, 160).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.reserve(hash(b"<more@a>"), b, 160).0,
            IdStatus::InTransfer
        );
    }
}
