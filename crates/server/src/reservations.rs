//! Message-ids that peers were told to send: while one sends an article, others are told to wait.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use article::message_id::HashKey;
use nntp::IdStatus;

use crate::Token;

/// How long others wait for a peer that was told to send an article, seconds.
pub const RESERVATION_SECONDS_MAX: i64 = 60;
/// Ids remembered at most; beyond that all peers are told to send.
pub const RESERVATIONS_MAX: usize = 1 << 20;

/// The ids, by hash: where two are taken for one, a peer offers its article once more. Nobody can bring that about on purpose, and
/// keep others from sending an article: the hash has a key of its own, made when the server starts.
#[derive(Debug)]
pub struct Reservations {
    key: HashKey,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    reservations: HashMap<u64, Reservation>,
    /// When those whose time is over were thrown away last: once a second at most, since it takes a look at all.
    cleared: i64,
}

#[derive(Debug, Clone, Copy)]
struct Reservation {
    by: Token,
    until: i64,
    /// It came, and is on its way to the disk.
    is_in: bool,
}

impl Reservations {
    /// None was made. The key is a secret.
    pub fn new(key: HashKey) -> Reservations {
        Reservations {
            key,
            known: Mutex::default(),
        }
    }

    /// Whether this one may send the article: then others are told to wait. And whether that was told it before, so that CHECK and
    /// the TAKETHIS behind it are one offer. `now`: seconds of a clock that is never set.
    pub fn announce(&self, id: &[u8], by: Token, now: i64) -> (IdStatus, bool) {
        let hash = self.key.hash(id);
        let mut known = self.known();
        if let Some(offer) = known.reservations.get(&hash)
            && (offer.is_in || offer.until > now)
        {
            match offer.by == by {
                // It need not send it twice, whatever comes of it.
                true if offer.is_in => return (IdStatus::Known, false),
                // Asking again gives it no more time.
                true => return (IdStatus::Unknown, true),
                false => return (IdStatus::InTransfer, false),
            }
        }
        if known.reservations.len() >= RESERVATIONS_MAX && known.cleared != now {
            known.cleared = now;
            known
                .reservations
                .retain(|_, offer| offer.is_in || offer.until > now);
        }
        if known.reservations.len() < RESERVATIONS_MAX {
            let offer = Reservation {
                by,
                until: now + RESERVATION_SECONDS_MAX,
                is_in: false,
            };
            known.reservations.insert(hash, offer);
        }
        (IdStatus::Unknown, false)
    }

    /// The article came.
    pub fn came(&self, id: &[u8], by: Token) {
        let hash = self.key.hash(id);
        let mut known = self.known();
        if let Some(offer) = known.reservations.get_mut(&hash)
            && offer.by == by
        {
            offer.is_in = true;
        }
    }

    /// The article is filed, or refused, or will not come.
    pub fn forget(&self, id: &[u8], by: Token) {
        let hash = self.key.hash(id);
        let mut known = self.known();
        if known
            .reservations
            .get(&hash)
            .is_some_and(|offer| offer.by == by)
        {
            known.reservations.remove(&hash);
        }
    }

    /// A peer is gone.
    pub fn forget_all(&self, by: Token) {
        self.known().reservations.retain(|_, offer| offer.by != by);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_sends_and_the_others_wait() {
        let reservations = Reservations::new(HashKey::new([7; HashKey::BYTES]));
        let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
        assert_eq!(
            reservations.announce(b"<7@a>", a, 100),
            (IdStatus::Unknown, false)
        );
        assert_eq!(
            reservations.announce(b"<7@a>", a, 130),
            (IdStatus::Unknown, true)
        );
        assert_eq!(
            reservations.announce(b"<7@a>", b, 159),
            (IdStatus::InTransfer, false)
        );
        assert_eq!(
            reservations.announce(b"<7@a>", b, 160),
            (IdStatus::Unknown, false)
        );
        reservations.forget(b"<7@a>", a);
        assert_eq!(
            reservations.announce(b"<7@a>", a, 161),
            (IdStatus::InTransfer, false)
        );
        reservations.came(b"<7@a>", b);
        assert_eq!(
            reservations.announce(b"<7@a>", b, 161),
            (IdStatus::Known, false)
        );
        assert_eq!(
            reservations.announce(b"<7@a>", a, 999),
            (IdStatus::InTransfer, false)
        );
        reservations.forget_all(b);
        assert_eq!(
            reservations.announce(b"<7@a>", a, 161),
            (IdStatus::Unknown, false)
        );
    }

    #[test]
    fn a_full_table_is_not_looked_through_for_each_id() {
        let reservations = Reservations::new(HashKey::new([7; HashKey::BYTES]));
        let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
        for number in 0..RESERVATIONS_MAX + 10_000 {
            let id = format!("<{number}@a>");
            assert_eq!(
                reservations.announce(id.as_bytes(), a, 100).0,
                IdStatus::Unknown
            );
        }
        assert_eq!(
            reservations.announce(b"<7@a>", b, 100).0,
            IdStatus::InTransfer
        );
        // Beyond it both may send; when the time is over there is room again.
        assert_eq!(
            reservations.announce(b"<more@a>", a, 101).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.announce(b"<more@a>", b, 101).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.announce(b"<more@a>", a, 160).0,
            IdStatus::Unknown
        );
        assert_eq!(
            reservations.announce(b"<more@a>", b, 160).0,
            IdStatus::InTransfer
        );
    }
}
