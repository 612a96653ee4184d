//! Chance that can be had again: everything follows from the seed.
#![allow(dead_code, reason = "each test program uses a part")]

/// A small generator (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// True `percent` times of 100.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len() as u64) as usize)
    }
}

/// How many rounds a test with chance does: BROADSHEET_TEST_ROUNDS, else what the test thinks right.
pub fn rounds(usual: u64) -> u64 {
    std::env::var("BROADSHEET_TEST_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// Where the seeds begin: BROADSHEET_TEST_SEED, else 0.
pub fn first_seed() -> u64 {
    std::env::var("BROADSHEET_TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}
