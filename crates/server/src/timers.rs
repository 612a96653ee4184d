//! When connections are looked at again though nothing came. Each has one entry at most; who stays busy is looked at when its time comes
//! and gets a later one, so that what comes in costs nothing here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Token;

/// The times, in milliseconds of the monotonic clock.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Timers {
    /// Looks at a connection at a time.
    pub fn add(&mut self, at: u64, token: Token) {
        self.heap.push(Reverse((at, token.number())));
    }

    /// The next one whose time has come.
    pub fn due(&mut self, now: u64) -> Option<Token> {
        match self.heap.peek() {
            Some(Reverse((at, _))) if *at <= now => {
                let Reverse((_, token)) = self.heap.pop()?;
                Some(Token::of(token))
            }
            _ => None,
        }
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }
}
