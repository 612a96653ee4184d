//! Message-ids that peers were told to send: while one sends an article, others are told to wait.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::Token;

/// How long others wait for a peer that was told to send an article, seconds.
pub const OFFER_SECONDS_MAX: i64 = 60;
/// Ids remembered at most; beyond that all peers are told to send.
pub const OFFERS_MAX: usize = 1 << 20;

/// The ids, by hash: where two are taken for one, a peer offers its article once more.
#[derive(Debug, Default)]
pub struct Offers {
    known: Mutex<HashMap<u64, Offer>>,
}

#[derive(Debug, Clone, Copy)]
struct Offer {
    by: Token,
    until: i64,
}

impl Offers {
    /// True when the article may be sent by this one; then others are told to wait. False: another is at it.
    pub fn announce(&self, hash: u64, by: Token, now: i64) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(offer) = known.get(&hash)
            && offer.by != by
            && offer.until > now
        {
            return false;
        }
        if known.len() >= OFFERS_MAX {
            known.retain(|_, offer| offer.until > now);
        }
        if known.len() < OFFERS_MAX {
            let until = now + OFFER_SECONDS_MAX;
            known.insert(hash, Offer { by, until });
        }
        true
    }

    /// The article came, or will not.
    pub fn forget(&self, hash: u64, by: Token) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(&hash).is_some_and(|offer| offer.by == by) {
            known.remove(&hash);
        }
    }

    /// A peer is gone.
    pub fn forget_all(&self, by: Token) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, offer| offer.by != by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_sends_and_the_others_wait() {
        let offers = Offers::default();
        let (a, b) = (Token::new(1, 0, 0), Token::new(2, 0, 0));
        assert!(offers.announce(7, a, 100));
        assert!(offers.announce(7, a, 100));
        assert!(!offers.announce(7, b, 159));
        assert!(offers.announce(7, b, 160));
        offers.forget(7, a);
        assert!(!offers.announce(7, a, 161));
        offers.forget_all(b);
        assert!(offers.announce(7, a, 161));
    }
}
