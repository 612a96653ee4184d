//! Timers of connections. Each connection has one entry at most; if it was active meanwhile, its expired timer is set again, so that
//! received data costs nothing here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Token;

/// Timers, in ms of the monotonic clock.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Timers {
    /// Adds a timer.
    pub fn add(&mut self, at: u64, token: Token) {
        self.heap.push(Reverse((at, token.number())));
    }

    /// Removes and returns the next expired timer.
    pub fn due(&mut self, now: u64) -> Option<Token> {
        match self.heap.peek() {
            Some(Reverse((at, _))) if *at <= now => {
                let Reverse((_, token)) = self.heap.pop()?;
                Some(Token::of(token))
            }
            _ => None,
        }
    }

    /// Expiry of the next timer.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }
}
