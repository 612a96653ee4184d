//! Wrapped batches expand to the original, with this crate and with installed programs of others.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use article::wrap::{self, Compression, WrapFormat, WrapLimits, WrapWriter};
use proptest::prelude::*;

fn unwrapped(wrapped: &[u8]) -> (Vec<u8>, Vec<Compression>) {
    let mut source = wrap::open(wrapped, WrapLimits::default()).unwrap();
    let mut text = Vec::new();
    source.read_to_end(&mut text).unwrap();
    (text, source.layers().to_vec())
}

/// Text that fills the table of `compress` and then changes, so that the encoder clears the table.
fn changing(bytes: usize) -> Vec<u8> {
    let mut state = 7u32;
    let mut text = b"#! rnews 400\n".to_vec();
    while text.len() < bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wide = (text.len() / 300_000) % 3;
        let byte = match wide {
            0 => b'a' + (state >> 29) as u8,
            1 => (state >> 24) as u8,
            _ => b' ' + (state >> 26) as u8,
        };
        text.push(byte);
    }
    text
}

#[test]
fn every_compression_expands_again() {
    let text = changing(2_000_000);
    for (word, kind) in WrapFormat::WORDS {
        for wrap_format in [
            WrapFormat::new(*kind),
            WrapFormat {
                bare: true,
                ..WrapFormat::new(*kind)
            },
        ] {
            let wrapped = wrap_format.wrap(&text).unwrap();
            assert!(wrapped.starts_with(wrap_format.line()), "{word}");
            let (back, layers) = unwrapped(&wrapped);
            assert!(back == text, "{word}");
            assert_eq!(layers, kind.iter().copied().collect::<Vec<_>>(), "{word}");
        }
    }
}

#[test]
fn first_lines_are_those_that_other_sites_accept() {
    let line =
        |word: &str| String::from_utf8_lossy(WrapFormat::of(word).unwrap().line()).into_owned();
    assert_eq!(line("none"), "");
    assert_eq!(line("compress"), "#! cunbatch\n");
    assert_eq!(line("gzip"), "#! cunbatch\n");
    assert_eq!(line("gzip-9"), "#! cunbatch\n");
    assert_eq!(line("bzip2"), "#! bunbatch\n");
    assert_eq!(line("xz-0"), "#! xunbatch\n");
    assert_eq!(line("zstd-19"), "#! zunbatch\n");
    for word in [
        "zip",
        "gzip-0",
        "gzip-10",
        "gzip-",
        "compress-9",
        "none-1",
        "zstd-20",
        "c7",
        "",
    ] {
        assert_eq!(WrapFormat::of(word), None, "{word}");
    }
}

#[test]
fn every_level_expands_again() {
    let text = changing(100_000);
    for word in [
        "gzip-1", "gzip-9", "bzip2-1", "bzip2-9", "xz-0", "xz-9", "zstd-1", "zstd-19",
    ] {
        let wrapped = WrapFormat::of(word).unwrap().wrap(&text).unwrap();
        assert!(unwrapped(&wrapped).0 == text, "{word}");
    }
}

#[test]
fn an_empty_batch_expands_to_nothing() {
    for (word, kind) in WrapFormat::WORDS {
        let wrapped = WrapFormat::new(*kind).wrap(b"").unwrap();
        assert_eq!(unwrapped(&wrapped).0, b"", "{word}");
    }
}

#[test]
fn the_seven_bit_code_cannot_be_written() {
    assert!(WrapFormat::new(Some(Compression::C7)).wrap(b"x").is_err());
}

/// Expands with a program; `None` if it is not installed.
fn expanded_by(program: &str, wrapped: &[u8]) -> Option<Vec<u8>> {
    let mut words = program.split(' ');
    let child = Command::new(words.next()?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: {program} is not installed");
        return None;
    };
    let mut input = child.stdin.take()?;
    let wrapped = wrapped.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&wrapped));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program}");
    Some(output.stdout)
}

#[test]
fn installed_programs_expand_it() {
    for bytes in [0, 1, 5_000, 2_000_000] {
        let text = changing(bytes);
        for (word, program) in [
            ("compress", "gzip -dc"),
            ("compress", "uncompress -c"),
            ("gzip", "gzip -dc"),
            ("bzip2", "bzip2 -dc"),
            ("xz", "xz -dc"),
            ("zstd", "zstd -dc"),
        ] {
            let wrap_format = WrapFormat {
                bare: true,
                ..WrapFormat::of(word).unwrap()
            };
            let wrapped = wrap_format.wrap(&text).unwrap();
            if let Some(back) = expanded_by(program, &wrapped) {
                assert!(back == text, "{word} by {program}, {bytes} bytes");
            }
        }
    }
}

proptest! {
    #[test]
    fn compress_expands_any_bytes_again(
        rest in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3000),
            prop::collection::vec(0u8..3, 0..60_000),
        ],
        piece in 1usize..5000,
    ) {
        // Bytes that began with the magic of a compression would be one more layer, which reading removes too.
        // A batch ends with a line feed, by which the reader recognises what follows the last code.
        let text = [b"#".as_slice(), &rest, b"\n"].concat();
        let mut packer = WrapWriter::new(Vec::new(), WrapFormat::new(Some(Compression::Compress))).unwrap();
        for piece in text.chunks(piece) {
            packer.write_all(piece).unwrap();
        }
        let wrapped = packer.finish().unwrap();
        prop_assert_eq!(unwrapped(&wrapped).0, text);
    }
}
