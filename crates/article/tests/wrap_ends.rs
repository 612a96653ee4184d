//! What stands behind or between compressed data costs no article, and data that needs more memory is not called damaged.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::io::{Read, Write};

use article::wrap::{self, Compression, WrapError, WrapLimits};

use super::wrap_expansion::{all_compressions, bzip2, compress, read, text, zstd};

/// The text behind the end of wrapped data, of which everything else is expanded.
fn trailer_behind(plain: &[u8], wrapped: &[u8], text: &[u8]) -> Option<wrap::Trailer> {
    let whole = [wrapped, text].concat();
    let mut unwrapped = wrap::open(&whole[..], WrapLimits::default()).unwrap();
    let mut out = Vec::new();
    unwrapped.read_to_end(&mut out).unwrap();
    assert!(out == plain, "{} of {} bytes", out.len(), plain.len());
    unwrapped.trailer().cloned()
}

#[test]
fn text_behind_the_end_is_ignored_and_returned() {
    let plain = text(1000);
    let signature = "-- \nSent by a mailer \u{2013} of 1994\n".as_bytes();
    for (kind, wrapped) in all_compressions(&plain) {
        if kind == Compression::Compress {
            continue; // see below
        }
        for text in [&b"\x1a"[..], b"\x1a\0\0\0", b"more\r\n", signature] {
            let found = trailer_behind(&plain, &wrapped, text).unwrap();
            assert_eq!((found.kind, found.at), (kind, wrapped.len() as u64));
            assert_eq!(found.bytes, text);
        }
        let long = vec![b'x'; wrap::TRAILER_BYTES_MAX + 1];
        let error = read(&[&wrapped[..], &long].concat()).2;
        assert!(matches!(error, Some(WrapError::FollowedByData { .. })));
    }
    // What is left of one more member is no text.
    let cut = [&bzip2(&plain)[..], b"BZh9"].concat();
    assert!(matches!(
        read(&cut).2,
        Some(WrapError::FollowedByData { .. })
    ));
}

#[test]
fn line_ends_behind_compress_are_no_codes() {
    // Every width, and every place of the last code in its byte.
    for bytes in (1..400).chain((400..200_000).step_by(997)) {
        let mut plain = text(bytes);
        plain.push(b'\n');
        let wrapped = compress(&plain, 16, true, None);
        for text in [&b"\n"[..], b"\r\n", b"\x1a"] {
            trailer_behind(&plain, &wrapped, text);
        }
        assert_eq!(trailer_behind(&plain, &wrapped, b""), None);
    }
}

/// A frame of zstd that decoders skip.
fn skippable(last_digit: u8, content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).unwrap().to_le_bytes();
    [&[0x50 | last_digit, 0x2a, 0x4d, 0x18][..], &size, content].concat()
}

#[test]
fn zstd_frames_to_be_skipped_may_be_anywhere() {
    let plain = text(100_000);
    let frame = zstd(&plain);
    // The first is that of pzstd, which has the size of the next frame.
    let skips = [
        skippable(0, &[1, 2, 3, 4]),
        skippable(15, &text(100_000)),
        skippable(7, b""),
    ];
    let all = [
        &skips[0][..],
        &frame,
        &skips[1],
        &skips[2],
        &frame,
        &skips[0],
    ]
    .concat();
    for line in [&b""[..], b"#! zunbatch\n"] {
        let (out, layers, error) = read(&[line, &all].concat());
        assert_eq!((layers, error), (vec![Compression::Zstd], None));
        assert!(out == plain.repeat(2));
    }
    assert_eq!(
        read(&skips.concat()),
        (vec![], vec![Compression::Zstd], None)
    );
    let cut = &skips[1][..1000];
    let error = read(&[&frame[..], cut].concat()).2;
    assert!(
        matches!(error, Some(WrapError::Truncated { .. })),
        "{error:?}"
    );
}

/// A sound frame of zstd with a window of 2^`log` bytes: its content is one block of plain bytes.
fn zstd_with_window(log: u8, content: &[u8]) -> Vec<u8> {
    let block = (u32::try_from(content.len()).unwrap() << 3 | 1).to_le_bytes();
    let header = [0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3];
    [&header[..], &block[..3], content].concat()
}

#[test]
fn data_that_needs_more_memory_is_not_damaged() {
    const MIB: u64 = 1 << 20;
    let plain = text(1000);
    let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    options.dict_size(192 << 20);
    let mut filters = liblzma::stream::Filters::new();
    filters.lzma2(&options);
    let stream =
        liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32);
    let mut xz = liblzma::write::XzEncoder::new_stream(Vec::new(), stream.unwrap());
    xz.write_all(&plain).unwrap();
    let xz = xz.finish().unwrap();
    for (kind, wrapped, least) in [
        (Compression::Zstd, zstd_with_window(28, &plain), 256 * MIB),
        (Compression::Zstd, zstd_with_window(31, &plain), 2048 * MIB),
        (Compression::Xz, xz, 192 * MIB),
    ] {
        let (out, _, error) = read(&wrapped);
        let Some(WrapError::NeedsMemory {
            kind: named,
            needed,
            limit,
        }) = error
        else {
            panic!("{kind}: {error:?}");
        };
        assert_eq!((out.len(), named, limit), (0, kind, 128 * MIB));
        assert!((least..least + MIB).contains(&needed), "{kind}: {needed}");
        let limits = |memory_bytes_max| WrapLimits {
            memory_bytes_max,
            ..WrapLimits::default()
        };
        let mut out = Vec::new();
        wrap::open(&wrapped[..], limits(needed))
            .unwrap()
            .read_to_end(&mut out)
            .unwrap();
        assert!(out == plain, "{kind}");
        let refused = wrap::open(&wrapped[..], limits(needed - 1))
            .unwrap()
            .read_to_end(&mut out);
        let refused = refused.unwrap_err();
        assert!(matches!(
            WrapError::of(&refused),
            Some(WrapError::NeedsMemory { .. })
        ));
    }
}

#[test]
fn lzma_before_xz_is_read() {
    let plain = text(300_000);
    let options = liblzma::stream::LzmaOptions::new_preset(6).unwrap();
    let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
    let mut out = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    out.write_all(&plain).unwrap();
    let wrapped = out.finish().unwrap();
    assert_eq!(read(&wrapped), (plain, vec![Compression::Lzma], None));
    let (_, layers, error) = read(&wrapped[..wrapped.len() / 2]);
    assert_eq!(layers, [Compression::Lzma]);
    assert!(
        matches!(error, Some(WrapError::Truncated { .. })),
        "{error:?}"
    );
}
