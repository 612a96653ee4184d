//! Message-ids that peers were told to send: while one sends an article, others are told to wait.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nntp::Seen;

use crate::Token;

/// How long others wait for a peer that was told to send an article, seconds.
pub const OFFER_SECONDS_MAX: i64 = 60;
/// Ids remembered at most; beyond that all peers are told to send.
pub const OFFERS_MAX: usize = 1 << 20;

/// The ids, by hash: where two are taken for one, a peer offers its article once more.
#[derive(Debug, Default)]
pub struct Offers {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    offers: HashMap<u64, Offer>,
    /// When those that are over were thrown out last: that goes through all.
    swept: i64,
}

#[derive(Debug, Clone, Copy)]
struct Offer {
    by: Token,
    until: i64,
    /// It came, and is on its way to the disk.
    is_in: bool,
}

impl Offers {
    /// Whether this one may send the article: then others are told to wait.
    pub fn announce(&self, hash: u64, by: Token, now: i64) -> Seen {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { offers, swept } = &mut *known;
        if let Some(offer) = offers.get(&hash)
            && (offer.is_in || offer.until > now)
        {
            match offer.by == by {
                // It need not send it twice, whatever comes of it.
                true if offer.is_in => return Seen::Here,
                true => {}
                false => return Seen::Coming,
            }
        }
        // Once a second at most: else who offers much makes all others wait.
        if offers.len() >= OFFERS_MAX && *swept != now {
            *swept = now;
            offers.retain(|_, offer| offer.is_in || offer.until > now);
        }
        if offers.len() < OFFERS_MAX {
            let offer = Offer {
                by,
                until: now + OFFER_SECONDS_MAX,
                is_in: false,
            };
            offers.insert(hash, offer);
        }
        Seen::No
    }

    /// The article came.
    pub fn came(&self, hash: u64, by: Token) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(offer) = known.offers.get_mut(&hash)
            && offer.by == by
        {
            offer.is_in = true;
        }
    }

    /// The article is filed, or refused, or will not come.
    pub fn forget(&self, hash: u64, by: Token) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.offers.get(&hash).is_some_and(|offer| offer.by == by) {
            known.offers.remove(&hash);
        }
    }

    /// A peer is gone.
    pub fn forget_all(&self, by: Token) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.offers.retain(|_, offer| offer.by != by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_sends_and_the_others_wait() {
        let offers = Offers::default();
        let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
        assert_eq!(offers.announce(7, a, 100), Seen::No);
        assert_eq!(offers.announce(7, a, 100), Seen::No);
        assert_eq!(offers.announce(7, b, 159), Seen::Coming);
        assert_eq!(offers.announce(7, b, 160), Seen::No);
        offers.forget(7, a);
        assert_eq!(offers.announce(7, a, 161), Seen::Coming);
        offers.came(7, b);
        assert_eq!(offers.announce(7, b, 161), Seen::Here);
        assert_eq!(offers.announce(7, a, 999), Seen::Coming);
        offers.forget_all(b);
        assert_eq!(offers.announce(7, a, 161), Seen::No);
    }
}
