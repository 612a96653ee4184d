//! The name of a connection, never used twice.

/// A connection: its network thread, its place there, and how often that place was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(u64);

impl Token {
    /// The token of a place of a thread.
    pub fn new(thread: u16, place: u32, turn: u16) -> Token {
        Token(u64::from(thread) << 48 | u64::from(turn) << 32 | u64::from(place))
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
        (self.0 & 0xffff_ffff) as usize
    }
}
