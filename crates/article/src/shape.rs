//! Texts with digits in certain places, such as most dates: tested eight bytes at a time.

/// Which places of a text have digits, and which bytes are in the other places.
#[derive(Debug)]
pub struct Shape<const LEN: usize> {
    /// As given to [`Shape::new`].
    text: [u8; LEN],
    /// Added to the difference from `text`. The top bit is then set unless the difference is at most 9 for a digit, or 0 for another byte.
    slack: [u8; LEN],
}

const TOPS: u64 = 0x8080_8080_8080_8080;

impl<const LEN: usize> Shape<LEN> {
    /// In `text`, `0` stands for any digit, NUL for any ASCII character, and another ASCII character for itself. At least eight bytes.
    pub const fn new(text: &[u8; LEN]) -> Shape<LEN> {
        let mut slack = [0; LEN];
        let mut places: &mut [u8] = &mut slack;
        let mut bytes: &[u8] = text;
        while let ([place, other_places @ ..], [byte, other_bytes @ ..]) = (places, bytes) {
            *place = match *byte {
                b'0' => 0x7f - 9,
                0 => 0,
                _ => 0x7f,
            };
            places = other_places;
            bytes = other_bytes;
        }
        Shape { text: *text, slack }
    }

    /// Whether a text has this shape.
    #[inline]
    pub fn matches(&self, text: &[u8; LEN]) -> bool {
        self.values(text).is_some()
    }

    /// The values of the digits of a text with this shape, in their places. A byte in the place of a NUL stays, others become 0.
    #[inline]
    pub fn values(&self, text: &[u8; LEN]) -> Option<[u8; LEN]> {
        let mut values = [0; LEN];
        let mut found = 0;
        let mut compare =
            |value: &mut [u8; 8], word: &[u8; 8], shape: &[u8; 8], slack: &[u8; 8]| {
                let difference = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*shape);
                found |= difference | difference.wrapping_add(u64::from_le_bytes(*slack));
                *value = difference.to_le_bytes();
            };
        let words = text.as_chunks().0.iter().zip(self.text.as_chunks().0);
        let places = values.as_chunks_mut().0.iter_mut();
        for ((value, (word, shape)), slack) in places.zip(words).zip(self.slack.as_chunks().0) {
            compare(value, word, shape, slack);
        }
        // The last eight may overlap those before.
        compare(
            values.last_chunk_mut()?,
            text.last_chunk()?,
            self.text.last_chunk()?,
            self.slack.last_chunk()?,
        );
        (found & TOPS == 0).then_some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_one_byte_at_a_time(
            near in "[0-9]{2} [ -~]{3} [0-9]{2}:[0-9]{2}", at: prop::sample::Index, byte: Option<u8>,
        ) {
            const TEXT: &[u8; 12] = b"00 \0\0\0 00:00";
            let mut text: [u8; 12] = near.into_bytes().try_into().unwrap();
            if let Some(byte) = byte {
                *at.get_mut(&mut text) = byte;
            }
            let value = |(byte, shape): (&u8, &u8)| match shape {
                b'0' => byte.is_ascii_digit().then(|| byte - b'0'),
                0 => byte.is_ascii().then_some(*byte),
                _ => (byte == shape).then_some(0),
            };
            let slow: Option<Vec<u8>> = text.iter().zip(TEXT).map(value).collect();
            let values = Shape::new(TEXT).values(&text);
            prop_assert_eq!(values.map(|values| values.to_vec()), slow);
        }
    }
}
