//! Articles that one peer was sent and that others want next: read and verified once for all of them.

use std::collections::VecDeque;

use hashbrown::HashMap;
use store::Position;

/// Most bytes of articles that are kept for other peers, in each of the two loops.
pub const SHARED_BYTES_MAX: usize = 8 << 20;
/// A larger article is read anew for each peer, bytes.
const ARTICLE_BYTES_MAX: usize = SHARED_BYTES_MAX / 16;

/// The articles read last.
#[derive(Debug, Default)]
pub(super) struct SharedArticles {
    /// The number of each, in the order of reading.
    numbers: HashMap<Position, u64>,
    kept: VecDeque<Kept>,
    /// The number of the first in `kept`.
    first: u64,
    bytes: usize,
}

/// An article.
#[derive(Debug)]
struct Kept {
    position: Position,
    /// The id, and then the text with the line of one dot.
    text: Box<[u8]>,
    id_length: usize,
}

impl SharedArticles {
    /// The place of an article, until the next one is kept.
    pub fn place(&self, position: Position) -> Option<usize> {
        let number = self.numbers.get(&position)?;
        usize::try_from(number - self.first).ok()
    }

    /// The id and the text of the article at a place.
    pub fn at(&self, place: usize) -> Option<(&[u8], &[u8])> {
        let kept = self.kept.get(place)?;
        kept.text.split_at_checked(kept.id_length)
    }

    /// Keeps an article, and lets the oldest go.
    pub fn keep(&mut self, position: Position, id: &[u8], wire: &[u8]) {
        let length = id.len() + wire.len();
        if length > ARTICLE_BYTES_MAX || self.numbers.contains_key(&position) {
            return;
        }
        self.bytes += length;
        while self.bytes > SHARED_BYTES_MAX
            && let Some(oldest) = self.kept.pop_front()
        {
            self.numbers.remove(&oldest.position);
            self.first += 1;
            self.bytes -= oldest.text.len();
        }
        self.numbers
            .insert(position, self.first + self.kept.len() as u64);
        self.kept.push_back(Kept {
            position,
            text: [id, wire].concat().into(),
            id_length: id.len(),
        });
    }

    /// Lets all go.
    pub fn clear(&mut self) {
        *self = SharedArticles::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(shared: &SharedArticles, number: u64) -> Option<(&[u8], &[u8])> {
        shared.at(shared.place(Position(number))?)
    }

    #[test]
    fn the_last_ones_are_kept_within_the_limit() {
        let mut shared = SharedArticles::default();
        let wire = vec![b'x'; 100_000];
        for number in 0..200 {
            let id = format!("<{number}@x>");
            shared.keep(Position(number), id.as_bytes(), &wire);
            shared.keep(Position(number), b"again", b"");
            let kept: usize = shared.kept.iter().map(|kept| kept.text.len()).sum();
            assert_eq!(kept, shared.bytes);
            assert!(kept <= SHARED_BYTES_MAX);
            assert_eq!(shared.numbers.len(), shared.kept.len());
            let found = find(&shared, number).unwrap();
            assert_eq!(found, (id.as_bytes(), &wire[..]));
        }
        assert!(find(&shared, 0).is_none());
        assert_eq!(shared.kept.len(), SHARED_BYTES_MAX / 100_008);
        shared.keep(Position(999), b"", &vec![0; ARTICLE_BYTES_MAX + 1]);
        assert!(find(&shared, 999).is_none());
        shared.clear();
        assert!(find(&shared, 199).is_none());
    }
}
