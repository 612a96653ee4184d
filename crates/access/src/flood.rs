//! Floods of posts are held back: after so many in a minute each further one has to wait twice as long as the one
//! before.
//!
//! INN slept before it took such a post (`backoffauth`, `backofftrigger` and others, in a file for each poster); here a
//! post that comes too early is refused and told when to come again, and nothing is written.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::network::counted;

/// Posters remembered; with more, those who have been quiet the longest are forgotten.
pub const POSTERS_MAX: usize = 10_000;
/// The first wait, seconds.
pub const WAIT_SECONDS_MIN: u64 = 1;
/// The longest one.
pub const WAIT_SECONDS_MAX: u64 = 300;

/// A poster who was quiet for so long after his last wait begins afresh.
const WINDOW: Duration = Duration::from_secs(60);

/// Who posts.
#[derive(Debug, Clone, Copy)]
pub enum Poster<'a> {
    /// Somebody who has logged in.
    User(&'a str),
    /// Somebody who has not; IPv6 addresses count by their network of 64 bits, which one machine has all of.
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    User(Box<str>),
    Address(IpAddr),
}

/// Everybody's posts of late.
#[derive(Debug, Default)]
pub struct PostFloods {
    seen: HashMap<Key, Seen>,
}

#[derive(Debug)]
struct Seen {
    /// Where the minute began in which `count` posts came.
    since: Instant,
    count: u32,
    /// How long the last wait was; zero: none.
    wait: Duration,
    /// When the next post is taken.
    next: Instant,
}

impl PostFloods {
    /// Nobody has posted yet.
    pub fn new() -> PostFloods {
        PostFloods::default()
    }

    /// A post comes; so many a minute are taken without a wait.
    ///
    /// # Errors
    /// It is too early, and is to be refused: how long the poster has to wait.
    pub fn post(
        &mut self,
        poster: Poster<'_>,
        per_minute_max: u32,
        now: Instant,
    ) -> Result<(), Duration> {
        let key = key(poster);
        if self.seen.len() >= POSTERS_MAX && !self.seen.contains_key(&key) {
            self.forget(now);
        }
        let seen = self.seen.entry(key).or_insert_with(|| Seen::new(now));
        seen.post(per_minute_max, now)
    }

    /// Makes room for one: forgets whom nothing is held against any more, or else who may post the soonest.
    fn forget(&mut self, now: Instant) {
        self.seen.retain(|_, seen| !seen.is_over(now));
        if self.seen.len() >= POSTERS_MAX {
            let soonest = self.seen.iter().min_by_key(|(_, seen)| seen.next);
            if let Some(key) = soonest.map(|(key, _)| key.clone()) {
                self.seen.remove(&key);
            }
        }
    }
}

impl Seen {
    fn new(now: Instant) -> Seen {
        Seen {
            since: now,
            count: 0,
            wait: Duration::ZERO,
            next: now,
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.next.max(self.since)) >= WINDOW
    }

    fn post(&mut self, per_minute_max: u32, now: Instant) -> Result<(), Duration> {
        let is_new_minute = now.saturating_duration_since(self.since) >= WINDOW;
        if self.is_over(now) || (self.wait.is_zero() && is_new_minute) {
            *self = Seen::new(now);
        }
        if now < self.next {
            return Err(self.next.saturating_duration_since(now));
        }
        self.count = self.count.saturating_add(1);
        if self.count >= per_minute_max {
            let first = Duration::from_secs(WAIT_SECONDS_MIN);
            let longest = Duration::from_secs(WAIT_SECONDS_MAX);
            self.wait = self.wait.saturating_mul(2).clamp(first, longest);
            self.next = now.checked_add(self.wait).unwrap_or(now);
        }
        Ok(())
    }
}

fn key(poster: Poster<'_>) -> Key {
    match poster {
        Poster::User(name) => Key::User(name.into()),
        Poster::Address(address) => Key::Address(counted(address)),
    }
}
