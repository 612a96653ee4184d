//! Limits floods of posts, and of failed logins: above a number a minute, the wait before the next one doubles with each.
//!
//! INN sleeps before it accepts such a post (`backoffauth`, `backofftrigger`, with a file for each poster). Here an early post is
//! refused with the time to wait, and nothing is written.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::network::counted;

/// Maximum number of posters remembered; above it, the one that may post soonest is evicted.
pub const POSTERS_MAX: usize = 10_000;
/// The first wait, seconds.
pub const WAIT_SECONDS_MIN: u64 = 1;
/// The longest wait, seconds.
pub const WAIT_SECONDS_MAX: u64 = 300;

/// Quiet time after the last wait that resets a poster.
const WINDOW: Duration = Duration::from_secs(60);

/// The key of a poster.
#[derive(Debug, Clone, Copy)]
pub enum Poster<'a> {
    /// A user who has logged in.
    User(&'a str),
    /// The address of a client without login; IPv6 addresses count by their /64 network, since one machine has all of it.
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    User(Box<str>),
    Address(IpAddr),
}

/// Failed logins a minute of one address (of IPv6, its /64 network) without a wait; others may share the address.
pub const FAILED_LOGINS_PER_MINUTE_MAX: u32 = 60;

/// The recent posts of all posters, or the recent failed logins of all addresses.
#[derive(Debug, Default)]
pub struct Floods {
    posters: HashMap<Key, PostHistory>,
}

#[derive(Debug)]
struct PostHistory {
    /// Start of the minute of `count` posts.
    since: Instant,
    count: u32,
    /// The last wait; zero for none.
    wait: Duration,
    /// When the next post is accepted.
    next: Instant,
}

impl Floods {
    /// No posts.
    pub fn new() -> Floods {
        Floods::default()
    }

    /// Counts a failed login; [`FAILED_LOGINS_PER_MINUTE_MAX`] have no consequence.
    pub fn login_failed(&mut self, address: IpAddr, now: Instant) {
        self.of(Poster::Address(address), now)
            .count(FAILED_LOGINS_PER_MINUTE_MAX, now);
    }

    /// Returns whether logins of an address have failed so often that it has to wait.
    pub fn has_to_wait(&self, address: IpAddr, now: Instant) -> bool {
        let failed = self.posters.get(&key(Poster::Address(address)));
        failed.is_some_and(|failed| failed.wait(now).is_err())
    }

    /// Counts a post; `per_minute_max` posts a minute are accepted without a wait.
    ///
    /// # Errors
    /// The post is too early and has to be refused; the time to wait.
    pub fn post(
        &mut self,
        poster: Poster<'_>,
        per_minute_max: u32,
        now: Instant,
    ) -> Result<(), Duration> {
        let posts = self.of(poster, now);
        posts.wait(now)?;
        posts.count(per_minute_max, now);
        Ok(())
    }

    fn of(&mut self, poster: Poster<'_>, now: Instant) -> &mut PostHistory {
        let key = key(poster);
        if self.posters.len() >= POSTERS_MAX && !self.posters.contains_key(&key) {
            self.forget(now);
        }
        self.posters
            .entry(key)
            .or_insert_with(|| PostHistory::new(now))
    }

    /// Evicts posters whose state has expired, or else the one that may post soonest.
    fn forget(&mut self, now: Instant) {
        self.posters.retain(|_, posters| !posters.is_over(now));
        if self.posters.len() >= POSTERS_MAX {
            let soonest = self.posters.iter().min_by_key(|(_, posters)| posters.next);
            if let Some(key) = soonest.map(|(key, _)| key.clone()) {
                self.posters.remove(&key);
            }
        }
    }
}

impl PostHistory {
    fn new(now: Instant) -> PostHistory {
        PostHistory {
            since: now,
            count: 0,
            wait: Duration::ZERO,
            next: now,
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.next.max(self.since)) >= WINDOW
    }

    /// # Errors
    /// The time to wait.
    fn wait(&self, now: Instant) -> Result<(), Duration> {
        match self.next.saturating_duration_since(now) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    fn count(&mut self, per_minute_max: u32, now: Instant) {
        let is_new_minute = now.saturating_duration_since(self.since) >= WINDOW;
        if self.is_over(now) || (self.wait.is_zero() && is_new_minute) {
            *self = PostHistory::new(now);
        }
        self.count = self.count.saturating_add(1);
        if self.count >= per_minute_max {
            let first = Duration::from_secs(WAIT_SECONDS_MIN);
            let longest = Duration::from_secs(WAIT_SECONDS_MAX);
            self.wait = self.wait.saturating_mul(2).clamp(first, longest);
            self.next = now.checked_add(self.wait).unwrap_or(now);
        }
    }
}

fn key(poster: Poster<'_>) -> Key {
    match poster {
        Poster::User(name) => Key::User(name.into()),
        Poster::Address(address) => Key::Address(counted(address)),
    }
}
