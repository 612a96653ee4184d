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
    kept: HashMap<Position, Kept>,
    /// In the order of reading.
    order: VecDeque<Position>,
    bytes: usize,
}

/// An article.
#[derive(Debug)]
struct Kept {
    /// The id, and then the text with the line of one dot.
    text: Box<[u8]>,
    id_length: usize,
}

impl SharedArticles {
    /// The id and the text of an article.
    pub fn find(&self, position: Position) -> Option<(&[u8], &[u8])> {
        let kept = self.kept.get(&position)?;
        kept.text.split_at_checked(kept.id_length)
    }

    /// Keeps an article, and lets the oldest go.
    pub fn keep(&mut self, position: Position, id: &[u8], wire: &[u8]) {
        let length = id.len() + wire.len();
        if length > ARTICLE_BYTES_MAX || self.kept.contains_key(&position) {
            return;
        }
        self.bytes += length;
        while self.bytes > SHARED_BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.kept.remove(&oldest);
            self.bytes -= gone.map_or(0, |kept| kept.text.len());
        }
        let kept = Kept {
            text: [id, wire].concat().into(),
            id_length: id.len(),
        };
        self.order.push_back(position);
        self.kept.insert(position, kept);
    }

    /// Lets all go.
    pub fn clear(&mut self) {
        *self = SharedArticles::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_within_the_limit() {
        let mut shared = SharedArticles::default();
        let wire = vec![b'x'; 100_000];
        for number in 0..200 {
            let id = format!("<{number}@x>");
            shared.keep(Position(number), id.as_bytes(), &wire);
            shared.keep(Position(number), b"again", b"");
            let kept: usize = shared.kept.values().map(|kept| kept.text.len()).sum();
            assert_eq!(kept, shared.bytes);
            assert!(kept <= SHARED_BYTES_MAX);
            assert_eq!(shared.order.len(), shared.kept.len());
            let found = shared.find(Position(number)).unwrap();
            assert_eq!(found, (id.as_bytes(), &wire[..]));
        }
        assert!(shared.find(Position(0)).is_none());
        assert_eq!(shared.order.len(), SHARED_BYTES_MAX / 100_008);
        shared.keep(Position(999), b"", &vec![0; ARTICLE_BYTES_MAX + 1]);
        assert!(shared.find(Position(999)).is_none());
        shared.clear();
        assert!(shared.find(Position(199)).is_none());
    }
}
