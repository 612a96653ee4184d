//! The name of a connection, never used twice.

/// A connection: its network thread, its place there, and how often that place was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(u64);

const PLACE_BITS: u32 = 22;
const PLACES: u64 = (1 << PLACE_BITS) - 1;

impl Token {
    /// The token of a place of a thread.
    ///
    /// There are 1,024 threads and 4 million places at most. An answer that took long must not find a later connection at its place,
    /// which may have had tens of thousands by then: so it counts to 4 thousand million.
    pub fn new(thread: u16, place: u32, context: u32) -> Token {
        let place = u64::from(place) & PLACES;
        Token(u64::from(thread) << 54 | u64::from(context) << PLACE_BITS | place)
    }

    /// As a number, for the kernel to hand back.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The token of a number.
    pub fn of(number: u64) -> Token {
        Token(number)
    }

    /// Its place in its thread.
    pub fn place(self) -> usize {
        (self.0 & PLACES) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_was_used_often_has_other_names() {
        let first = Token::new(1, 7, 0);
        let later = Token::new(1, 7, 1 << 16);
        assert_ne!(first, later);
        assert_eq!((first.place(), later.place()), (7, 7));
        assert_ne!(Token::new(1023, 0, u32::MAX), Token::new(1022, 0, u32::MAX));
    }
}
