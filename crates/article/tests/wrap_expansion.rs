//! Wrapped batches expand to the original; truncated, damaged and oversized ones yield all good bytes
//! and then a specific error.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::io::{self, Read, Write};
use std::path::PathBuf;

use article::wrap::{self, Compression, WrapError, WrapLimits};
use proptest::prelude::*;

/// A compressor like the original: widens its codes, pads each change to a group of eight, and clears the
/// table in block mode every `clear_every` codes.
pub(super) fn compress(
    data: &[u8],
    width_max: u32,
    block_mode: bool,
    clear_every: Option<usize>,
) -> Vec<u8> {
    struct Out {
        bytes: Vec<u8>,
        bits: u64,
        held: u32,
        codes: u32,
        width: u32,
    }
    impl Out {
        fn code(&mut self, code: u32) {
            self.bits |= u64::from(code) << self.held;
            self.held += self.width;
            self.codes += 1;
            self.flush(8);
        }
        fn flush(&mut self, least: u32) {
            while self.held >= least && self.held > 0 {
                self.bytes.push(self.bits as u8);
                self.bits >>= 8;
                self.held = self.held.saturating_sub(8);
            }
        }
        fn set_width(&mut self, width: u32) {
            while !self.codes.is_multiple_of(8) {
                self.code(0);
            }
            self.codes = 0;
            self.width = width;
        }
    }
    let first_free = 256 + u32::from(block_mode);
    let mut out = Out {
        bytes: vec![0x1f, 0x9d, width_max as u8 | u8::from(block_mode) << 7],
        bits: 0,
        held: 0,
        codes: 0,
        width: 9,
    };
    let mut table = std::collections::HashMap::new();
    let mut free = first_free;
    let mut string: Option<u32> = None;
    let mut emitted = 0;
    for &byte in data {
        let Some(prefix) = string else {
            string = Some(u32::from(byte));
            continue;
        };
        if let Some(&longer) = table.get(&(prefix, byte)) {
            string = Some(longer);
            continue;
        }
        out.code(prefix);
        emitted += 1;
        string = Some(u32::from(byte));
        // The decoder is one entry behind: it defines this entry when it reads the next code.
        if free >= (1 << out.width) && out.width < width_max {
            out.set_width(out.width + 1);
        }
        if free < 1 << width_max {
            table.insert((prefix, byte), free);
            free += 1;
        }
        if block_mode && clear_every.is_some_and(|every| emitted % every == 0) {
            out.code(256);
            out.set_width(9);
            table.clear();
            free = first_free;
        }
    }
    if let Some(prefix) = string {
        out.code(prefix);
    }
    out.flush(1);
    out.bytes
}

/// The 7-bit code, written from its description.
fn encode_c7(data: &[u8]) -> Vec<u8> {
    let mut values = Vec::new();
    for three in data.chunks_exact(3) {
        let number = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        values.extend([18, 12, 6, 0].map(|shift| (number >> shift) as u8 & 63));
    }
    let rest = data.chunks_exact(3).remainder();
    let byte = |n: usize| rest.get(n).copied().unwrap_or(0);
    values.extend([
        byte(0) >> 2,
        (byte(0) & 3) << 4 | byte(1) >> 4,
        (byte(1) & 15) << 2,
        rest.len() as u8,
    ]);
    let mut text = Vec::new();
    let last = values.len() - 1 - (values.len() - 1) / 13 * 13 + 1;
    let full = values.len() - last;
    for (n, block) in values.chunks(13).enumerate() {
        if n * 13 == full {
            text.extend([b'z', b'z', b' ' + last as u8]);
        }
        let top = block.get(12).copied().unwrap_or(0);
        for (n, pair) in block[..block.len().min(12)].chunks(2).enumerate() {
            let low = pair.get(1).copied().unwrap_or(0);
            let bit = u16::from(top >> (5 - n) & 1);
            let number = bit << 12 | u16::from(pair[0]) << 6 | u16::from(low);
            text.extend([b' ' + (number / 91) as u8, b' ' + (number % 91) as u8]);
        }
    }
    text
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

pub(super) fn bzip2(data: &[u8]) -> Vec<u8> {
    let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

fn xz(data: &[u8]) -> Vec<u8> {
    let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

pub(super) fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 1).unwrap()
}

pub(super) fn all_compressions(data: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    vec![
        (Compression::Compress, compress(data, 16, true, None)),
        (Compression::Gzip, gzip(data)),
        (Compression::Bzip2, bzip2(data)),
        (Compression::Xz, xz(data)),
        (Compression::Zstd, zstd(data)),
    ]
}

/// The expanded bytes, the layers, and the error at the end.
pub(super) fn read(bytes: &[u8]) -> (Vec<u8>, Vec<Compression>, Option<WrapError>) {
    let mut unwrapped = match wrap::open(bytes, WrapLimits::default()) {
        Ok(unwrapped) => unwrapped,
        Err(error) => return (vec![], vec![], Some(error)),
    };
    let mut out = Vec::new();
    let error = unwrapped.read_to_end(&mut out).err();
    if let Some(error) = &error {
        let again = unwrapped.read(&mut [0; 9]).unwrap_err();
        assert_eq!(
            again.to_string(),
            error.to_string(),
            "the error is repeated"
        );
    }
    let error = error.map(|error| WrapError::of(&error).expect("a wrap error").clone());
    (out, unwrapped.layers().to_vec(), error)
}

pub(super) fn text(bytes: usize) -> Vec<u8> {
    let mut seed = 1_u32;
    let words = [
        "news ", "article ", "the ", "group\n", "of ", "a ", "Path: ", "> ",
    ];
    let mut text = Vec::new();
    while text.len() < bytes {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.extend_from_slice(words[(seed >> 29) as usize].as_bytes());
        if seed & 0xf00 == 0 {
            text.push((seed >> 16) as u8);
        }
    }
    text
}

#[test]
fn plain_input_passes_through() {
    let noise = text(300_000);
    for plain in [&b""[..], b"x", b"#! rnews 3\nabc", b"#! other\nabc", &noise] {
        assert_eq!(read(plain), (plain.to_vec(), vec![], None));
    }
}

#[test]
fn every_compression_bare_and_after_every_line() {
    let plain = text(300_000);
    for (kind, wrapped) in all_compressions(&plain) {
        for line in [
            "",
            "#! cunbatch\n",
            "#!gunbatch\r\n",
            "#! zunbatch\n",
            "#! bunbatch \n",
            "#! bzunbatch\n",
            "#! xunbatch -d\n",
        ] {
            let bytes = [line.as_bytes(), &wrapped].concat();
            let (out, layers, error) = read(&bytes);
            assert_eq!((layers, error), (vec![kind], None), "{kind} {line:?}");
            assert!(out == plain, "{kind} {line:?}");
        }
    }
}

#[test]
fn members_one_after_another_and_padding() {
    let plain = text(1000);
    for (kind, wrapped) in all_compressions(&plain) {
        if kind == Compression::Compress {
            continue; // the format has no end mark
        }
        let two = [&wrapped[..], &wrapped].concat();
        assert_eq!(read(&two), (plain.repeat(2), vec![kind], None), "{kind}");
        let padded = [&wrapped[..], &[0; 700], b"\r\n"].concat();
        assert_eq!(read(&padded), (plain.clone(), vec![kind], None), "{kind}");
        let (out, _, error) = read(&[&wrapped[..], b"\x01\x02\x03\x04"].concat());
        assert_eq!(out, plain, "{kind}");
        let followed = WrapError::FollowedByData {
            kind,
            at: wrapped.len() as u64,
            expanded: plain.len() as u64,
        };
        assert_eq!(error, Some(followed));
    }
}

/// Each member takes time before it expands to anything.
#[test]
fn small_members_without_end() {
    let most = usize::try_from(wrap::MEMBERS_MAX).unwrap();
    for (kind, small) in all_compressions(b"x") {
        if !matches!(
            kind,
            Compression::Bzip2 | Compression::Xz | Compression::Zstd
        ) {
            continue;
        }
        let (out, _, error) = read(&small.repeat(most + 1));
        match kind {
            // Its decoder is made once.
            Compression::Zstd => assert_eq!((out.len(), error), (most + 1, None)),
            _ => {
                assert_eq!(out.len(), most, "{kind}");
                let is_refused = matches!(error, Some(WrapError::TooManyMembers { .. }));
                assert!(is_refused, "{kind}: {error:?}");
            }
        }
    }
    // Those of a program that compresses in parallel are larger.
    let large = text(usize::try_from(wrap::MEMBER_BYTES).unwrap() + 1000);
    let many = bzip2(&large).repeat(most + 1);
    assert_eq!(read(&many).0.len(), large.len() * (most + 1));
}

#[test]
fn gzip_header_with_every_part() {
    let plain = text(50_000);
    let mut out = flate2::GzBuilder::new()
        .filename("batch")
        .comment("made by hand")
        .extra(vec![1, 2, 3, 0])
        .write(Vec::new(), flate2::Compression::best());
    out.write_all(&plain).unwrap();
    let mut wrapped = out.finish().unwrap();
    assert_eq!(read(&wrapped).0, plain);
    // With a header checksum, which readers may ignore.
    wrapped[3] |= 2;
    let header = 10 + 2 + 4 + "batch\0made by hand\0".len();
    wrapped.splice(header..header, [0, 0]);
    assert_eq!(read(&wrapped), (plain, vec![Compression::Gzip], None));
}

#[test]
fn compress_at_every_width() {
    let plain = text(400_000);
    for width in 9..=16 {
        for (block_mode, clear) in [
            (false, None),
            (true, None),
            (true, Some(1)),
            (true, Some(100)),
            (true, Some(9001)),
        ] {
            let wrapped = compress(&plain, width, block_mode, clear);
            let (out, _, error) = read(&wrapped);
            assert_eq!(error, None, "{width} {block_mode} {clear:?}");
            assert!(out == plain, "{width} {block_mode} {clear:?}");
        }
    }
}

#[test]
fn compress_of_one_byte_over_and_over() {
    // Every code is the one just being defined.
    let plain = vec![b'a'; 100_000];
    assert!(read(&compress(&plain, 16, true, None)).0 == plain);
    assert!(read(&compress(&plain, 9, false, None)).0 == plain);
}

#[test]
fn compress_rejects_invalid_data() {
    for (flags, codes) in [
        (0x88, &b"\x61\0\0"[..]),
        (0x91, b"\x61\0\0"),
        (0x90, b"\xff\xff\xff"),
    ] {
        let (out, _, error) = read(&[&[0x1f, 0x9d, flags][..], codes].concat());
        assert_eq!(out, b"");
        assert!(
            matches!(error, Some(WrapError::Damaged { .. })),
            "{error:?}"
        );
    }
}

#[test]
fn c7_around_compress() {
    for length in (0..40).chain([1000, 100_000]) {
        let plain = text(length);
        let plain = &plain[..length];
        let mut wrapped = b"#! c7unbatch\n".to_vec();
        wrapped.extend(encode_c7(&compress(plain, 12, true, None)));
        let layers = if length == 0 {
            vec![Compression::C7]
        } else {
            vec![Compression::C7, Compression::Compress]
        };
        if length == 0 {
            assert_eq!(read(&wrapped).0, plain);
            continue;
        }
        let (out, found, error) = read(&wrapped);
        assert_eq!((found, error), (layers, None), "{length}");
        assert!(out == plain, "{length}");
        // A mailer may fold the code.
        let folded: Vec<u8> = wrapped[13..].chunks(70).collect::<Vec<_>>().join(&b'\n');
        let folded = [&wrapped[..13], &folded, b"\n"].concat();
        assert_eq!(read(&folded).0, plain);
    }
}

#[test]
fn c7_truncated_and_damaged() {
    let plain = text(3000);
    let line = b"#! c7unbatch\n";
    let code = encode_c7(&gzip(&plain));
    let torn = [&line[..], &code[..code.len() / 2]].concat();
    let (_, layers, error) = read(&torn);
    assert_eq!(layers, [Compression::C7, Compression::Gzip]);
    assert!(
        matches!(
            error,
            Some(WrapError::Truncated {
                kind: Compression::C7,
                ..
            })
        ),
        "{error:?}"
    );
    let mut damaged = [&line[..], &code].concat();
    damaged[600] = 0x7f;
    let (_, _, error) = read(&damaged);
    assert!(
        matches!(
            error,
            Some(WrapError::Damaged {
                kind: Compression::C7,
                ..
            })
        ),
        "{error:?}"
    );
}

#[test]
fn wrappers_nest_up_to_a_limit() {
    let plain = text(10_000);
    let inner = [b"#! cunbatch\n", &compress(&plain, 16, true, None)[..]].concat();
    let nested = [b"#! gunbatch\n", &gzip(&inner)[..]].concat();
    let (out, layers, error) = read(&nested);
    assert_eq!(
        (layers, error),
        (vec![Compression::Gzip, Compression::Compress], None)
    );
    assert!(out == plain);
    let mut deep = plain.clone();
    for _ in 0..5 {
        deep = gzip(&deep);
    }
    assert_eq!(read(&deep).2, Some(WrapError::TooManyLayers(4)));
    let lines = [&b"#! cunbatch\n".repeat(100)[..], b"#! rnews 1\na"].concat();
    assert_eq!(read(&lines).2, Some(WrapError::TooManyLayers(4)));
}

#[test]
fn a_wrapper_line_before_a_plain_batch_is_ignored() {
    assert_eq!(read(b"#! cunbatch\n#! rnews 3\nabc").0, b"#! rnews 3\nabc");
}

#[test]
fn a_wrapper_line_before_unknown_data_is_an_error() {
    let (_, _, error) = read(b"#! cunbatch\nsome text that is not compressed");
    let error = error.unwrap();
    assert!(error.to_string().contains("`#! cunbatch'"), "{error}");
}

#[test]
fn an_empty_compressed_batch_is_empty() {
    for empty in [
        &b"#! cunbatch\n"[..],
        b"#! gunbatch\n",
        b"#! c7unbatch\n",
        b"#! cunbatch\n\x1f\x9d\x90",
        b"\x1f\x9d",
        b"\x1f\x9d\x90",
    ] {
        let unwrapped = wrap::open(empty, WrapLimits::default()).unwrap();
        assert!(unwrapped.is_empty_wrapper(), "{empty:?}");
        assert_eq!(read(empty).0, b"");
        assert_eq!(read(empty).2, None);
    }
    let plain = wrap::open(&b"abc"[..], WrapLimits::default()).unwrap();
    assert!(!plain.is_empty_wrapper());
}

#[test]
fn the_first_bytes_of_a_compressed_batch_are_a_truncated_batch() {
    for torn in [
        &b"\x1f\x8b"[..],
        b"\x1f\x8b\x08\x00",
        b"\x28\xb5\x2f\xfd",
        b"#! cunbatch\n\x1f\x8b\x08",
        b"#! gunbatch\n\x1f",
        b"#! xunbatch\n\xfd7zX",
        b"#! cunbatch\nabcd",
    ] {
        let is_empty = wrap::open(torn, WrapLimits::default())
            .is_ok_and(|unwrapped| unwrapped.is_empty_wrapper());
        assert!(!is_empty, "{torn:?}");
        let (out, _, error) = read(torn);
        assert!(out.is_empty() && error.is_some(), "{torn:?}");
    }
}

#[test]
fn a_wrapper_line_is_shown_without_control_bytes() {
    let (_, _, error) = read(b"#! cunbatch \x1b[2J\xff\nsome text that is not compressed");
    let text = error.unwrap().to_string();
    assert!(text.contains("`#! cunbatch \\x1b[2J\\xff'"), "{text}");
}

#[test]
fn truncated_data_is_expanded_to_its_end() {
    let plain = text(2_000_000);
    for (kind, wrapped) in all_compressions(&plain) {
        let half = &wrapped[..wrapped.len() / 2];
        let (out, _, error) = read(half);
        assert!(plain.starts_with(&out), "{kind}");
        assert!(
            out.len() > plain.len() / 4,
            "{kind} gave {} of {}",
            out.len(),
            plain.len()
        );
        match error {
            Some(WrapError::Truncated {
                kind: named,
                at,
                expanded,
            }) => {
                assert_eq!((named, at), (kind, half.len() as u64));
                assert_eq!(expanded, out.len() as u64);
            }
            // A cut between two codes cannot be noticed.
            None if kind == Compression::Compress => {}
            other => panic!("{kind}: {other:?}"),
        }
    }
}

#[test]
fn damaged_data_is_expanded_to_the_damage() {
    let plain = text(4_000_000);
    for (kind, wrapped) in all_compressions(&plain) {
        let mut damaged = wrapped.clone();
        let at = wrapped.len() / 2;
        damaged[at..at + 40].fill(0xff);
        let (out, _, error) = read(&damaged);
        let same = out.iter().zip(&plain).take_while(|(a, b)| a == b).count();
        assert!(
            same > plain.len() / 4,
            "{kind}: {same} of {} good",
            plain.len()
        );
        if kind != Compression::Compress {
            let Some(WrapError::Damaged {
                kind: named,
                at: noticed,
                ..
            }) = error
            else {
                panic!("{kind}: {error:?}");
            };
            assert_eq!(named, kind);
            assert!(noticed >= at as u64 / 2, "{kind}: {noticed}");
        }
    }
}

#[test]
fn a_wrong_checksum_is_damage() {
    let plain = text(5000);
    let mut wrapped = gzip(&plain);
    let crc = wrapped.len() - 8;
    wrapped[crc] ^= 1;
    let (out, _, error) = read(&wrapped);
    assert_eq!(out, plain);
    assert!(error.unwrap().to_string().contains("checksum"));
}

#[test]
fn expansion_has_limits() {
    let zeros = vec![0; 8 << 20];
    for (kind, wrapped) in all_compressions(&zeros) {
        let (out, _, error) = read(&wrapped);
        // compress and gzip of zeros come to about the limit of the ratio; the others far beyond.
        match error {
            Some(WrapError::RatioExceeded { kind: named, .. }) => {
                assert_eq!(named, kind);
                assert!(out.len() >= 1 << 20);
            }
            None if matches!(kind, Compression::Compress | Compression::Gzip) => {}
            other => panic!("{kind}: {other:?}"),
        }
        let limits = WrapLimits {
            expanded_bytes_max: 3 << 20,
            ratio_max: u64::MAX,
            ..WrapLimits::default()
        };
        let error = io::copy(
            &mut wrap::open(&wrapped[..], limits).unwrap(),
            &mut io::sink(),
        )
        .unwrap_err();
        assert_eq!(
            WrapError::of(&error),
            Some(&WrapError::TooLarge {
                kind,
                limit: 3 << 20
            })
        );
    }
}

#[test]
fn a_read_error_is_returned_unchanged() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk on fire"))
        }
    }
    let plain = text(500_000);
    for (kind, wrapped) in all_compressions(&plain) {
        for cut in [20, wrapped.len() / 2] {
            let mut unwrapped =
                wrap::open(wrapped[..cut].chain(Fails), WrapLimits::default()).unwrap();
            let mut out = Vec::new();
            let error = unwrapped.read_to_end(&mut out).unwrap_err();
            assert_eq!(error.to_string(), "disk on fire", "{kind} {cut}");
            assert!(plain.starts_with(&out));
        }
    }
}

#[test]
fn the_corpus_wrapped_six_ways_is_the_same() {
    let shared = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into(),
        PathBuf::from,
    );
    let dir = shared.join("corpus/wrapped");
    let Ok(plain) = std::fs::read(dir.join("plain")) else {
        eprintln!("skipped: corpus/wrapped not present");
        return;
    };
    for (name, layers) in [
        ("plain", vec![]),
        ("bare-b16.Z", vec![Compression::Compress]),
        ("cunbatch-b12", vec![Compression::Compress]),
        ("cunbatch-b16", vec![Compression::Compress]),
        ("gunbatch", vec![Compression::Gzip]),
        ("zunbatch", vec![Compression::Gzip]),
    ] {
        let (out, found, error) = read(&std::fs::read(dir.join(name)).unwrap());
        assert_eq!((found, error), (layers, None), "{name}");
        assert!(out == plain, "{name}");
    }
}

proptest! {
    #[test]
    fn compress_and_c7_of_anything(
        data in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'a'), Just(b'b')], 1..3000),
        width in 9_u32..=16,
        clear in prop::option::of(1_usize..600),
        block_mode in any::<bool>(),
    ) {
        let wrapped = compress(&data, width, block_mode, clear);
        prop_assert!(read(&wrapped).0 == data);
        let mut coded = b"#! c7unbatch\n".to_vec();
        coded.extend(encode_c7(&wrapped));
        prop_assert!(read(&coded).0 == data);
    }

    #[test]
    fn any_bytes_after_any_magic_are_safe(
        magic in prop::sample::select(vec![
            &b"\x1f\x9d\x90"[..], b"\x1f\x9d\x8c", b"\x1f\x9d\x10", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd",
            b"BZh91AY&SY", b"\xfd7zXZ\0", b"#! c7unbatch\n", b"#! cunbatch\n\x1f\x9d\x90",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let whole = [magic, &bytes].concat();
        let Ok(mut unwrapped) = wrap::open(&whole[..], WrapLimits::default()) else { return Ok(()) };
        let mut piece = [0; 7];
        let mut pieces = 0;
        while let Ok(1..) = unwrapped.read(&mut piece) {
            pieces += 1;
            prop_assert!(pieces < 10_000_000);
        }
    }
}

proptest! {
    // Each case makes and reads six wrapped batches.
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn pieces_of_any_size_are_the_same(
        step in 1_usize..50,
        room in 1_usize..50,
    ) {
        struct Trickle<'a>(&'a [u8], usize);
        impl Read for Trickle<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let step = self.1.min(out.len());
                self.0.read(&mut out[..step])
            }
        }
        let plain = text(3000);
        let mut kinds = all_compressions(&plain);
        let c7 = [&b"#! c7unbatch\n"[..], &encode_c7(&gzip(&plain))].concat();
        kinds.push((Compression::C7, c7));
        for (kind, wrapped) in kinds {
            let mut unwrapped = wrap::open(Trickle(&wrapped, step), WrapLimits::default()).unwrap();
            let mut out = Vec::new();
            let mut piece = vec![0; room];
            loop {
                match unwrapped.read(&mut piece).unwrap() {
                    0 => break,
                    read => out.extend_from_slice(&piece[..read]),
                }
            }
            prop_assert!(out == plain, "{kind}");
        }
    }
}
