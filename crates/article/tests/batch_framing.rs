//! A batch yields its articles exactly as framed, for any sequence of reads; damage loses only
//! the articles it hits.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::io::{self, Read};

use article::batch::{BUFFER_BYTES, Batch, BatchLimits, Item};
use proptest::prelude::*;

/// A reader that returns at most `step` bytes a read, and is interrupted at every seventh.
struct Trickle<'a> {
    bytes: &'a [u8],
    step: usize,
    reads: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads.is_multiple_of(7) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let step = self.step.min(out.len());
        self.bytes.read(&mut out[..step])
    }
}

fn trickle(bytes: &[u8], step: usize) -> Trickle<'_> {
    Trickle {
        bytes,
        step,
        reads: 0,
    }
}

#[derive(Debug, PartialEq, Eq, Clone)]
enum Seen {
    Article(Vec<u8>),
    OutOfStep(u64, Vec<u8>),
    Short(u64, Vec<u8>),
    TooLarge(u64),
}

fn all<R: Read>(batch: &mut Batch<R>) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(item) = batch.next().unwrap() {
        seen.push(match item {
            Item::Article { bytes, .. } => Seen::Article(bytes.to_vec()),
            Item::OutOfStep { offset, line } => Seen::OutOfStep(offset, line.to_vec()),
            Item::Short { missing, bytes, .. } => Seen::Short(missing, bytes.to_vec()),
            Item::TooLarge { size, .. } => Seen::TooLarge(size),
        });
    }
    assert_eq!(batch.next().unwrap(), None, "the end stays the end");
    seen
}

fn read(bytes: &[u8]) -> Vec<Seen> {
    let read = all(&mut Batch::new(bytes, BatchLimits::default()));
    let in_memory = all(&mut Batch::from_bytes(bytes, BatchLimits::default()));
    assert_eq!(
        read, in_memory,
        "a batch in memory and a batch from a reader have the same items"
    );
    read
}

fn article(text: &str) -> Seen {
    Seen::Article(text.into())
}

fn frame(articles: &[Vec<u8>]) -> Vec<u8> {
    let mut batch = Vec::new();
    for article in articles {
        batch.extend_from_slice(format!("#! rnews {}\n", article.len()).as_bytes());
        batch.extend_from_slice(article);
    }
    batch
}

#[test]
fn empty_input_has_no_item() {
    assert_eq!(read(b""), []);
    assert_eq!(read(b"\n\r\n\n"), []);
}

#[test]
fn header_line_grammar() {
    for line in [
        "#! rnews 3\n",
        "#!rnews 3\n",
        "#!\t rnews \t3\n",
        "#! rnews 3 \r\n",
        "#! rnews 003 other words\n",
    ] {
        assert_eq!(
            read(format!("{line}abc").as_bytes()),
            [article("abc")],
            "{line:?}"
        );
    }
    for line in [
        "#! rnews\n",
        "#! rnews x\n",
        "#! rnews -3\n",
        "#! rnews 3abc\n",
        "# ! rnews 3\n",
        "#! rnews 99999999999999999999999999\n",
        "#! rnews 3",
    ] {
        let seen = read(format!("{line}abc").as_bytes());
        assert!(
            matches!(seen[..], [Seen::OutOfStep(0, _)]),
            "{line:?}: {seen:?}"
        );
    }
    let long = format!("#! rnews 3{}\nabc", " ".repeat(300));
    assert!(matches!(read(long.as_bytes())[..], [Seen::OutOfStep(0, _)]));
}

#[test]
fn bare_article_is_the_whole_input() {
    let bare = "Path: a!b\n\nbody\n#! rnews 3\nabc";
    assert_eq!(read(bare.as_bytes()), [article(bare)]);
    let blank_first = "\nPath: a!b\n\nbody\n";
    assert_eq!(read(blank_first.as_bytes()), [article(blank_first)]);
}

#[test]
fn counted_bytes_may_hold_rnews_lines() {
    let inner = "Path: a\n\n#! rnews 99999\nxx\n#! rnews 0\n";
    let batch = frame(&[inner.into(), b"next".to_vec()]);
    assert_eq!(read(&batch), [article(inner), article("next")]);
}

#[test]
fn blank_lines_before_the_first_rnews_line_are_skipped() {
    assert_eq!(read(b"\r\n\n#! rnews 3\nabc"), [article("abc")]);
}

#[test]
fn a_bad_line_is_reported_once_and_the_next_article_is_read() {
    let batch = b"#! rnews 3\nabcXX junk\nmore\n#! rnews 2\nde#! rnews 1\nf";
    assert_eq!(
        read(batch),
        [
            article("abc"),
            Seen::OutOfStep(14, b"XX junk".to_vec()),
            article("de"),
            article("f")
        ]
    );
}

#[test]
fn a_batch_with_a_damaged_first_line_is_not_a_bare_article() {
    let batch = b"!! rnews 3\nabc\n#! rnews 2\nde";
    assert_eq!(
        read(batch),
        [Seen::OutOfStep(0, b"!! rnews 3".to_vec()), article("de")]
    );
}

#[test]
fn a_short_batch_reports_the_missing_bytes() {
    assert_eq!(
        read(b"#! rnews 3\nabc#! rnews 10\nwxyz"),
        [article("abc"), Seen::Short(6, b"wxyz".to_vec())]
    );
    assert_eq!(read(b"#! rnews 10\n"), [Seen::Short(10, vec![])]);
}

#[test]
fn a_too_large_article_is_skipped_and_the_next_is_read() {
    let limits = BatchLimits {
        buffer_bytes: 1024,
        article_bytes_max: 2000,
    };
    let batch = frame(&[vec![b'a'; 2000], vec![b'b'; 2001], vec![b'c'; 5]]);
    for step in [1, 7, 1000, 100_000] {
        let seen = all(&mut Batch::new(trickle(&batch, step), limits));
        assert_eq!(
            seen,
            [
                Seen::Article(vec![b'a'; 2000]),
                Seen::TooLarge(2001),
                Seen::Article(vec![b'c'; 5])
            ]
        );
    }
    let lying = b"#! rnews 18446744073709551615\nabc";
    assert_eq!(
        all(&mut Batch::new(&lying[..], limits)),
        [Seen::TooLarge(u64::MAX), Seen::Short(u64::MAX - 3, vec![])]
    );
}

#[test]
fn an_endless_line_does_not_fill_memory() {
    let limits = BatchLimits {
        buffer_bytes: 1024,
        article_bytes_max: 1 << 16,
    };
    let endless = io::repeat(b'x').take(1 << 30);
    let seen = all(&mut Batch::new(endless, limits));
    // The first bytes decide between batch and bare article, whatever the size of the buffer.
    assert_eq!(seen, [Seen::TooLarge(BUFFER_BYTES as u64)]);
    let in_batch = (&b"#! rnews 1\na#! "[..])
        .chain(io::repeat(b'x').take(1 << 26))
        .chain(&b"\n#! rnews 1\nb"[..]);
    let seen = all(&mut Batch::new(in_batch, limits));
    assert_eq!(seen[0], article("a"));
    assert!(matches!(seen[1], Seen::OutOfStep(12, _)));
    assert_eq!(seen[2..], [article("b")]);
}

#[test]
fn a_failing_reader_fails_after_the_whole_articles() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("torn"))
        }
    }
    for (start, whole) in [
        (&b"#! rnews 1\na#! rnews 1\nb#! rnews 9\nc"[..], 2),
        (&b"#! rnews 1\na#! rnews 1\nb"[..], 2),
        (b"#! rnews 1\na", 1),
        (b"Path: bare\n", 0),
    ] {
        let mut batch = Batch::new(start.chain(Fails), BatchLimits::default());
        for _ in 0..whole {
            assert!(matches!(batch.next().unwrap(), Some(Item::Article { .. })));
        }
        assert_eq!(batch.next().unwrap_err().to_string(), "torn");
        assert_eq!(batch.next().unwrap(), None);
    }
}

#[test]
fn offsets_point_into_the_batch() {
    let articles: Vec<Vec<u8>> = (0..2000).map(|n| vec![b'x'; n % 700]).collect();
    let bytes = frame(&articles);
    let limits = BatchLimits {
        buffer_bytes: 1024,
        ..BatchLimits::default()
    };
    let mut batch = Batch::new(trickle(&bytes, 333), limits);
    let mut at = 0;
    for article in &articles {
        at += format!("#! rnews {}\n", article.len()).len();
        let Some(Item::Article { offset, .. }) = batch.next().unwrap() else {
            panic!("no article at {at}");
        };
        assert_eq!(offset, at as u64);
        at += article.len();
    }
    assert_eq!(batch.offset(), bytes.len() as u64);
}

fn articles() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 0..3000),
        Just(b"#! rnews 12\n".to_vec()),
    ];
    prop::collection::vec(body, 0..30)
}

proptest! {
    #[test]
    fn framed_and_unframed_are_identical(
        articles in articles(),
        step in prop_oneof![1_usize..20, 20_usize..5000],
        buffer_bytes in 0_usize..4000,
    ) {
        let batch = frame(&articles);
        let limits = BatchLimits { buffer_bytes, ..BatchLimits::default() };
        let seen = all(&mut Batch::new(trickle(&batch, step), limits));
        let expected: Vec<Seen> = articles.into_iter().map(Seen::Article).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn any_input_is_read_to_its_end(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'#')], 0..2000),
        step in 1_usize..300,
    ) {
        let whole = read(&bytes);
        let limits = BatchLimits { buffer_bytes: 0, ..BatchLimits::default() };
        let trickled = all(&mut Batch::new(trickle(&bytes, step), limits));
        prop_assert_eq!(whole, trickled);
    }

    /// Removes or inserts bytes in the text or the line of one article: every article
    /// from the next complete `#! rnews` line on is still read.
    #[test]
    fn damage_loses_only_the_articles_it_hits(
        sizes in prop::collection::vec(0_usize..400, 3..20),
        hit in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        damage in prop::collection::vec(prop_oneof![Just(b'\n'), b'a'..=b'z'], 0..30),
        cut in 0_usize..30,
    ) {
        let articles: Vec<Vec<u8>> = sizes
            .iter()
            .enumerate()
            .map(|(n, &size)| {
                let mut text = format!("Subject: {n}\n\n").into_bytes();
                text.extend(std::iter::repeat_n(b"line\n", size / 5).flatten());
                text
            })
            .collect();
        let hit = 1 + hit.index(articles.len() - 1);
        let mut bytes = frame(&articles[..hit]);
        let mut damaged = articles[hit].clone();
        let from = at.index(damaged.len());
        let to = (from + cut).min(damaged.len() - 1); // the last newline stays
        if from < to {
            damaged.splice(from..to, damage);
        }
        bytes.extend_from_slice(format!("#! rnews {}\n", articles[hit].len()).as_bytes());
        bytes.extend_from_slice(&damaged);
        bytes.extend_from_slice(&frame(&articles[hit + 1..]));

        let seen = read(&bytes);
        for article in &articles[..hit] {
            prop_assert!(seen.contains(&Seen::Article(article.clone())));
        }
        // A shortened article takes its missing bytes from the text after it, which may be more than one short article; an article
        // whose line loses a part is lost, too.
        let mut lacks = articles[hit].len().saturating_sub(damaged.len());
        let mut safe = hit + 1;
        while lacks > 0 && safe < articles.len() {
            lacks = lacks.saturating_sub(frame(&articles[safe..=safe]).len());
            safe += 1;
        }
        for article in articles.get(safe..).unwrap_or_default() {
            prop_assert!(seen.contains(&Seen::Article(article.clone())), "{:?}", seen);
        }
    }
}
