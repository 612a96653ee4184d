//! Storage tokens: 18 bytes that say where INN stored an article.

use crate::inn::hex::hex;

/// A token. The fields are those of the storage method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A file of the group's directory.
    Tradspool {
        /// The number of the group in `tradspool.map`.
        group: u32,
        /// The article's number there.
        number: u32,
    },
    /// A file named by the time of arrival.
    Timehash {
        /// The storage class.
        class: u8,
        /// The arrival, epoch seconds.
        arrival: u32,
        /// Tells articles of one second apart.
        sequence: u16,
    },
    /// An entry of a CAF file.
    Timecaf {
        /// The storage class.
        class: u8,
        /// The arrival, in units of 256 s.
        arrival: u32,
        /// The number of the entry.
        number: u32,
    },
    /// A place in a cyclic buffer.
    Cnfs {
        /// The name of the buffer, ended by NUL.
        buffer: [u8; 8],
        /// The place, in blocks.
        block: u32,
        /// The cycle in which it was written.
        cycle: u32,
    },
    /// Nothing was stored.
    Trash,
    /// Another method.
    Other(u8),
}

impl Token {
    /// Parses `@36 hexadecimal digits@`.
    pub fn parse(text: &[u8]) -> Option<Token> {
        let digits = text.strip_prefix(b"@")?.strip_suffix(b"@")?;
        let [method, class, at @ ..] = hex::<18>(digits)?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = at;
        let first = u32::from_be_bytes([a, b, c, d]);
        Some(match method {
            0 => Token::Trash,
            2 => Token::Timehash {
                class,
                arrival: first,
                sequence: u16::from_be_bytes([e, f]),
            },
            3 => Token::Cnfs {
                buffer: [a, b, c, d, e, f, g, h],
                block: u32::from_be_bytes([i, j, k, l]),
                cycle: u32::from_be_bytes([m, n, o, p]),
            },
            4 => Token::Timecaf {
                class,
                arrival: first,
                // The lower half comes first.
                number: u32::from_be_bytes([g, h, e, f]),
            },
            5 => Token::Tradspool {
                group: first,
                // Each number takes 8 bytes where INN was built for 64 bits, and 4 elsewhere.
                number: match u32::from_be_bytes([e, f, g, h]) {
                    0 => u32::from_be_bytes([i, j, k, l]),
                    number => number,
                },
            },
            method => Token::Other(method),
        })
    }

    /// The name of the storage method.
    pub fn method(&self) -> &'static str {
        match self {
            Token::Tradspool { .. } => "tradspool",
            Token::Timehash { .. } => "timehash",
            Token::Timecaf { .. } => "timecaf",
            Token::Cnfs { .. } => "CNFS",
            Token::Trash => "trash",
            Token::Other(_) => "an unknown storage method",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_is_read() {
        let token = |text: &[u8]| Token::parse(text).unwrap();
        assert_eq!(
            token(b"@050000000004000000000000000100000000@"),
            Token::Tradspool {
                group: 4,
                number: 1
            }
        );
        assert_eq!(
            token(b"@050000000001000000070000000000000000@"),
            Token::Tradspool {
                group: 1,
                number: 7
            }
        );
        assert_eq!(
            token(b"@020311223344000500000000000000000000@"),
            Token::Timehash {
                class: 3,
                arrival: 0x1122_3344,
                sequence: 5
            }
        );
        assert_eq!(
            token(b"@040100112233000700010000000000000000@"),
            Token::Timecaf {
                class: 1,
                arrival: 0x0011_2233,
                number: 0x0001_0007
            }
        );
        assert_eq!(
            token(b"@03014F4E4500000000000000002A00000003@"),
            Token::Cnfs {
                buffer: *b"ONE\0\0\0\0\0",
                block: 42,
                cycle: 3
            }
        );
        assert_eq!(Token::parse(b"@05@"), None);
    }
}
