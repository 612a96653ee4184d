//! The articles that were read in part: an article larger than one read is converted to native form once.

use store::Position;

/// Bytes of articles that are kept; one larger than that is kept alone.
pub const CONTENTS_BYTES_MAX: usize = 32 << 20;

/// The articles, the one that was used last at the end.
#[derive(Debug, Default)]
pub struct Contents {
    kept: Vec<(Position, Vec<u8>)>,
    bytes: usize,
}

impl Contents {
    /// The article at a position.
    pub fn find(&mut self, position: Position) -> Option<&[u8]> {
        let place = self.kept.iter().position(|(known, _)| *known == position)?;
        // The same one again is the usual case.
        let last = self.kept.len() - 1;
        if place < last {
            let article = self.kept.remove(place);
            self.kept.push(article);
        }
        self.kept.last().map(|(_, text)| text.as_slice())
    }

    /// Keeps an article, and drops those that were not used for the longest time.
    pub fn keep(&mut self, position: Position, text: Vec<u8>) {
        self.bytes += text.len();
        self.kept.push((position, text));
        while self.bytes > CONTENTS_BYTES_MAX && self.kept.len() > 1 {
            let (_, dropped) = self.kept.remove(0);
            self.bytes -= dropped.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_dropped() {
        let mut contents = Contents::default();
        let half = CONTENTS_BYTES_MAX / 2;
        contents.keep(Position(8), vec![1; half]);
        contents.keep(Position(16), vec![2; half]);
        assert_eq!(contents.find(Position(8)).unwrap()[0], 1);
        contents.keep(Position(24), vec![3; 8]);
        assert!(contents.find(Position(16)).is_none());
        assert_eq!(contents.find(Position(8)).unwrap()[0], 1);
        contents.keep(Position(32), vec![4; 3 * half]);
        assert_eq!(contents.find(Position(32)).unwrap().len(), 3 * half);
        assert!(contents.find(Position(8)).is_none());
    }
}
