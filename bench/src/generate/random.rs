//! A small seeded random number generator whose sequence never changes, so that a
//! batch made from a seed has the same bytes on every machine.

/// SplitMix64 by Steele, Lea and Flood: one 64-bit word of state.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Makes a generator from `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Draws 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Draws a number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(limit)) >> 64) as u64
    }

    /// Draws a position in a list of `len` entries; 0 if the list is empty.
    pub fn position(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns true in `percent` of 100 calls.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws an entry of the list; the empty string if there is none.
    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list.get(self.position(list.len())).copied().unwrap_or("")
    }
}

/// Mixes the bits of a number; a bijection (every step
/// is invertible), so that message-ids made from counters are distinct.
pub fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Number of slots of a [`Zipf`] table: enough for a few thousand ranks.
const ZIPF_SLOTS: usize = 1 << 15;

/// Draws ranks by Zipf's law: the probability of rank r is proportional to 1 / (r + shift).
#[derive(Clone, Debug)]
pub struct Zipf {
    slots: Vec<u32>,
}

impl Zipf {
    /// Makes a table for the ranks `0..ranks`; a larger `shift` flattens the top.
    pub fn new(ranks: usize, shift: f64) -> Self {
        let weight = |rank: usize| 1.0 / (rank as f64 + shift);
        let total: f64 = (0..ranks).map(weight).sum();
        let mut slots = Vec::with_capacity(ZIPF_SLOTS);
        let mut reached = 0.0;
        for rank in 0..ranks {
            reached += weight(rank) / total;
            let end = (reached * ZIPF_SLOTS as f64).round() as usize;
            while slots.len() < end.min(ZIPF_SLOTS) {
                slots.push(rank as u32);
            }
        }
        Zipf { slots }
    }

    /// Draws one rank.
    pub fn draw(&self, random: &mut Random) -> usize {
        let slot = random.position(self.slots.len());
        self.slots.get(slot).map_or(0, |&rank| rank as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_fixed_for_ever() {
        let mut random = Random::new(1987);
        let first: Vec<u64> = (0..3).map(|_| random.below(1000)).collect();
        let mut again = Random::new(1987);
        let second: Vec<u64> = (0..3).map(|_| again.below(1000)).collect();
        assert_eq!(first, second);
        assert_eq!(mix(0), 0);
        assert_eq!(Random::new(0).word(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn the_first_rank_is_drawn_most() {
        let law = Zipf::new(100, 2.0);
        let mut random = Random::new(3);
        let mut seen = [0u32; 100];
        for _ in 0..100_000 {
            seen[law.draw(&mut random)] += 1;
        }
        assert!(seen[0] > seen[9] && seen[9] > seen[99] && seen[99] > 0);
    }
}
