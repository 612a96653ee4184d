//! What is packed here is unpacked here, and by the programs of other people where they are installed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use article::wrap::{self, Kind, Packer, Packing, WrapLimits};
use proptest::prelude::*;

fn unpacked(packed: &[u8]) -> (Vec<u8>, Vec<Kind>) {
    let mut source = wrap::open(packed, WrapLimits::default()).unwrap();
    let mut text = Vec::new();
    source.read_to_end(&mut text).unwrap();
    (text, source.layers().to_vec())
}

/// Text that fills the table of `compress` and then changes, so that it is emptied.
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
fn every_compression_comes_back() {
    let text = changing(2_000_000);
    for (word, kind) in Packing::WORDS {
        for packing in [
            Packing::new(*kind),
            Packing {
                bare: true,
                ..Packing::new(*kind)
            },
        ] {
            let packed = packing.pack(&text).unwrap();
            assert!(packed.starts_with(packing.line()), "{word}");
            let (back, layers) = unpacked(&packed);
            assert!(back == text, "{word}");
            assert_eq!(layers, kind.iter().copied().collect::<Vec<_>>(), "{word}");
        }
    }
}

#[test]
fn the_lines_are_those_that_others_take() {
    let line = |word: &str| String::from_utf8_lossy(Packing::of(word).unwrap().line()).into_owned();
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
        assert_eq!(Packing::of(word), None, "{word}");
    }
}

#[test]
fn every_level_comes_back() {
    let text = changing(100_000);
    for word in [
        "gzip-1", "gzip-9", "bzip2-1", "bzip2-9", "xz-0", "xz-9", "zstd-1", "zstd-19",
    ] {
        let packed = Packing::of(word).unwrap().pack(&text).unwrap();
        assert!(unpacked(&packed).0 == text, "{word}");
    }
}

#[test]
fn nothing_packed_is_an_empty_batch() {
    for (word, kind) in Packing::WORDS {
        let packed = Packing::new(*kind).pack(b"").unwrap();
        assert_eq!(unpacked(&packed).0, b"", "{word}");
    }
}

#[test]
fn the_seven_bit_code_is_refused() {
    assert!(Packing::new(Some(Kind::C7)).pack(b"x").is_err());
}

/// Expands with a program; nothing when it is not installed.
fn expanded_by(program: &str, packed: &[u8]) -> Option<Vec<u8>> {
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
    let packed = packed.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&packed));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program}");
    Some(output.stdout)
}

#[test]
fn programs_of_others_expand_it() {
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
            let packing = Packing {
                bare: true,
                ..Packing::of(word).unwrap()
            };
            let packed = packing.pack(&text).unwrap();
            if let Some(back) = expanded_by(program, &packed) {
                assert!(back == text, "{word} by {program}, {bytes} bytes");
            }
        }
    }
}

proptest! {
    #[test]
    fn compress_brings_any_bytes_back(
        text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3000),
            prop::collection::vec(0u8..3, 0..60_000),
        ],
        piece in 1usize..5000,
    ) {
        let mut packer = Packer::new(Vec::new(), Packing::new(Some(Kind::Compress))).unwrap();
        for piece in text.chunks(piece) {
            packer.write_all(piece).unwrap();
        }
        let packed = packer.finish().unwrap();
        prop_assert_eq!(unpacked(&packed).0, text);
    }
}
