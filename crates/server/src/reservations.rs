//! Reservations of message-ids: while one peer sends an article, the offers of others are deferred.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nntp::IdStatus;
use store::IdHash;

use crate::Token;

/// Lifetime of a reservation whose article does not arrive, seconds.
pub const RESERVATION_SECONDS_MAX: i64 = 60;
/// Maximum number of reservations; above it, all peers may send.
pub const RESERVATIONS_MAX: usize = 1 << 20;

/// The reservations by hash of the message-id. After a collision a peer offers its article once more. Nobody can provoke collisions to
/// block an article: the key of the hash is secret.
#[derive(Debug, Default)]
pub struct Reservations {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    reservations: HashMap<IdHash, Reservation, BuildHasherDefault<Unchanged>>,
    /// Time of the last removal of expired reservations, seconds: it scans all of them, so it runs once a second at most.
    cleaned: i64,
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
        if let Some(offer) = known.reservations.get(&hash)
            && (offer.is_received || offer.until > now)
        {
            match offer.by == by {
                // No need to send it twice, whatever the result.
                true if offer.is_received => return (IdStatus::Known, false),
                // A repeated offer does not extend the time.
                true => return (IdStatus::Unknown, true),
                false => return (IdStatus::InTransfer, false),
            }
        }
        if known.reservations.len() >= RESERVATIONS_MAX && known.cleaned != now {
            known.cleaned = now;
            known
                .reservations
                .retain(|_, offer| offer.is_received || offer.until > now);
        }
        if known.reservations.len() < RESERVATIONS_MAX {
            let offer = Reservation {
                by,
                until: now + RESERVATION_SECONDS_MAX,
                is_received: false,
            };
            known.reservations.insert(hash, offer);
        }
        (IdStatus::Unknown, false)
    }

    /// Notes that the article was received.
    pub fn received(&self, hash: IdHash, by: Token) {
        let mut known = self.known();
        if let Some(offer) = known.reservations.get_mut(&hash)
            && offer.by == by
        {
            offer.is_received = true;
        }
    }

    /// Removes a reservation: the article was filed, refused or abandoned.
    pub fn release(&self, hash: IdHash, by: Token) {
        let mut known = self.known();
        if known
            .reservations
            .get(&hash)
            .is_some_and(|offer| offer.by == by)
        {
            known.reservations.remove(&hash);
        }
    }

    /// Removes all reservations of a closed connection.
    pub fn release_all(&self, by: Token) {
        self.known().reservations.retain(|_, offer| offer.by != by);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
            reservations.reserve(hash(b"<7@a>"), a, 161),
            (IdStatus::Unknown, false)
        );
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
