//! Unique identifiers of connections.

/// A connection: its network thread, its slot there, and the slot's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(u64);

const SLOT_BITS: u32 = 22;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

impl Token {
    /// The token of a slot of a thread.
    ///
    /// There are 1,024 threads and 4 million slots at most. A late result must not reach a later connection in the same slot, so the
    /// generation has 32 bits.
    pub fn new(thread: u16, slot: u32, generation: u32) -> Token {
        let slot = u64::from(slot) & SLOT_MASK;
        Token(u64::from(thread) << 54 | u64::from(generation) << SLOT_BITS | slot)
    }

    /// The token as a number, for epoll.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The token of such a number.
    pub fn of(number: u64) -> Token {
        Token(number)
    }

    /// Its slot in its thread.
    pub fn slot(self) -> usize {
        (self.0 & SLOT_MASK) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_of_a_slot_differ() {
        let first = Token::new(1, 7, 0);
        let later = Token::new(1, 7, 1 << 16);
        assert_ne!(first, later);
        assert_eq!((first.slot(), later.slot()), (7, 7));
        assert_ne!(Token::new(1023, 0, u32::MAX), Token::new(1022, 0, u32::MAX));
    }
}
