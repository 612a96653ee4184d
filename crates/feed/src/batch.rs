//! Batches in native form: `#! rnews N`, a newline and the N bytes of an article, for each article (RFC 5537, 3.1).

use article::wire::push_native_flagged;
use store::Record;

use crate::Error;
use crate::builder::Builder;

/// Longest line before an article (`#! rnews`, a blank, 20 digits, a newline), bytes.
const ARTICLE_LINE_BYTES_MAX: usize = WORDS.len() + 21;
const WORDS: &[u8] = b"#! rnews ";

/// Appends an article with its line, exactly as filed.
pub fn push_article(out: &mut Vec<u8>, record: &Record<'_>) {
    push(out, record.wire_article(), record.head.no_final_newline);
}

/// The size of the native form is known only once it is written. Room is left for a number as long as that of the
/// wire form; seldom is one digit less needed.
fn push(out: &mut Vec<u8>, wire: &[u8], no_final_newline: bool) {
    out.reserve(ARTICLE_LINE_BYTES_MAX + wire.len());
    out.extend_from_slice(WORDS);
    let digits_at = out.len();
    let guess = wire.len().to_string();
    out.extend_from_slice(guess.as_bytes());
    out.push(b'\n');
    let mut start = out.len();
    push_native_flagged(out, wire, no_final_newline);
    let size = (out.len() - start).to_string();
    if let Some(fewer) = guess
        .len()
        .checked_sub(size.len())
        .filter(|&fewer| fewer > 0)
    {
        out.drain(digits_at..digits_at + fewer);
        start -= fewer;
    }
    if let Some(digits) = out.get_mut(digits_at..start - 1) {
        digits.copy_from_slice(size.as_bytes());
    }
}

/// A batch under construction, up to the size for a site.
///
/// The rule is that of C News: a batch is closed if the next article, with its line, would exceed its size; a larger article makes a
/// batch of its own.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    articles: u64,
    size: usize,
}

impl Batch {
    /// An empty batch of about `size` bytes before compression.
    pub fn new(size: usize) -> Batch {
        Batch {
            size,
            ..Batch::default()
        }
    }

    /// Adds an article. Returns false, and leaves the batch unchanged, if the article belongs to the next one.
    pub fn put(&mut self, record: &Record<'_>) -> bool {
        self.put_wire(record.wire_article(), record.head.no_final_newline)
    }

    fn put_wire(&mut self, wire: &[u8], no_final_newline: bool) -> bool {
        let before = self.bytes.len();
        // No attempt if the batch is full: the native form has at least half the bytes.
        let is_full = |bytes: usize| self.articles > 0 && bytes > self.size;
        if is_full(before.saturating_add(wire.len() / 2)) {
            return false;
        }
        push(&mut self.bytes, wire, no_final_newline);
        if is_full(self.bytes.len()) {
            self.bytes.truncate(before);
            return false;
        }
        self.articles += 1;
        true
    }

    /// The content of the batch.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of articles.
    pub fn articles(&self) -> u64 {
        self.articles
    }

    /// Empties it for the next batch.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.articles = 0;
        // One large article must not enlarge all later buffers.
        self.bytes.shrink_to(self.size.saturating_mul(2));
    }
}

impl Builder for Batch {
    fn clear(&mut self) {
        Batch::clear(self);
    }

    fn put(&mut self, record: &Record<'_>) -> bool {
        Batch::put(self, record)
    }

    fn articles(&self) -> u64 {
        self.articles
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        Ok(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::wire::push_wire;
    use proptest::prelude::*;

    /// The sizes of the articles in each batch.
    fn split(sizes: &[usize], size: usize) -> Vec<Vec<usize>> {
        let mut batches = Vec::new();
        let (mut batch, mut held) = (Batch::new(size), Vec::new());
        for &bytes in sizes {
            let wire = vec![b'x'; bytes];
            while !batch.put_wire(&wire, true) {
                batch.clear();
                batches.push(std::mem::take(&mut held));
            }
            held.push(bytes);
        }
        batches.push(held);
        batches
    }

    /// The test of C News's batchsplit: 13 entries of a byte, then 3, 20 and 99,999; size 16.
    #[test]
    fn the_classic_entries_are_split_as_classic() {
        let mut sizes = vec![1; 13];
        sizes.extend([3, 20, 99_999]);
        let expected: Vec<_> = sizes.iter().map(|&bytes| vec![bytes]).collect();
        assert_eq!(split(&sizes, 16), expected);
    }

    #[test]
    fn a_batch_is_closed_by_the_article_that_would_pass_its_size() {
        // Lines of 11 to 14 bytes.
        assert_eq!(split(&[9, 9, 9], 40), [vec![9, 9], vec![9]]);
        assert_eq!(split(&[9, 9, 9], 60), [vec![9, 9, 9]]);
        assert_eq!(split(&[9, 9, 9], 59), [vec![9, 9], vec![9]]);
    }

    #[test]
    fn an_oversize_article_goes_alone() {
        assert_eq!(
            split(&[10, 5000, 10, 10], 100),
            [vec![10], vec![5000], vec![10, 10]]
        );
        assert_eq!(split(&[5000], 100), [vec![5000]]);
    }

    #[test]
    fn the_line_tells_the_native_size() {
        let mut out = Vec::new();
        push(&mut out, b"A: b\r\n\r\n..c\r\n", false);
        push(&mut out, b"A: b\r\n\r\nc\r\n", true);
        assert_eq!(out, b"#! rnews 9\nA: b\n\n.c\n#! rnews 7\nA: b\n\nc");
    }

    proptest! {
        #[test]
        fn any_article_comes_back(native in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'.'), Just(b'\r'), any::<u8>()], 0..1200,
        )) {
            let mut wire = Vec::new();
            push_wire(&mut wire, &native);
            let lacks = article::wire::lacks_final_newline(&native);
            let mut out = b"before".to_vec();
            push(&mut out, &wire, lacks);
            let expected = [format!("before#! rnews {}\n", native.len()).as_bytes(), &native].concat();
            prop_assert_eq!(out, expected);
        }

        /// Nothing is lost or turned round; no batch of several passes the size; none could have taken the next.
        #[test]
        fn batches_are_as_full_as_may_be(sizes in prop::collection::vec(0usize..300, 1..60), size in 1usize..1000) {
            let batches = split(&sizes, size);
            prop_assert_eq!(batches.concat(), sizes);
            let taken = |bytes: &usize| bytes + bytes.to_string().len() + 10;
            let whole = |batch: &[usize]| batch.iter().map(taken).sum::<usize>();
            for (at, batch) in batches.iter().enumerate() {
                prop_assert!(batch.len() == 1 || whole(batch) <= size);
                if let Some(next) = batches.get(at + 1) {
                    prop_assert!(whole(batch) + taken(&next[0]) > size);
                }
            }
        }
    }
}
