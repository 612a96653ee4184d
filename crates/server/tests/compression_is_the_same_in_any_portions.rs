//! RFC 8054: data survives compression in any portions; the output of a bomb stays bounded.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use proptest::prelude::*;
use server::layers::deflate::{COMPRESSORS_MAX, Deflate, DeflateError};

/// Compressed data of a client, with a sync flush or the end of the stream.
fn pack(plain: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut packed = Vec::with_capacity(plain.len() + 1000);
    let mut client = Compress::new(Compression::new(6), false);
    client.compress_vec(plain, &mut packed, flush).unwrap();
    packed
}

/// Decompresses `packed`, at most `bound` bytes at a time.
fn unpack(server: &mut Deflate, packed: &[u8], bound: usize) -> (Vec<u8>, bool) {
    let (mut all, mut rest) = (Vec::new(), packed);
    loop {
        let mut plain = Vec::new();
        let some = server.inflate(rest, &mut plain, bound).unwrap();
        assert!(plain.len() <= bound && plain.capacity() <= bound.max(1 << 15) * 2);
        all.extend_from_slice(&plain);
        rest = &rest[some.taken_bytes..];
        if !some.is_more {
            assert!(rest.is_empty(), "all is taken");
            return (all, some.is_over);
        }
    }
}

#[test]
fn a_bomb_stays_within_the_bound() {
    let bomb = pack(&vec![b'a'; 50 << 20], FlushCompress::Sync);
    assert!(bomb.len() < 100_000);
    let (all, _) = unpack(&mut Deflate::new(6), &bomb, 100_000);
    assert_eq!(all.len(), 50 << 20);
}

#[test]
fn the_end_of_the_stream_is_the_end() {
    let mut packed = pack(b"QUIT\r\n", FlushCompress::Finish);
    packed.extend_from_slice(b"what follows is not read");
    let mut server = Deflate::new(6);
    assert_eq!(
        unpack(&mut server, &packed, 1000),
        (b"QUIT\r\n".to_vec(), true)
    );
    assert_eq!(unpack(&mut server, b"nor this", 1000), (Vec::new(), true));
}

#[test]
fn a_rest_is_no_matter_for_the_client() {
    let mut server = Deflate::new(3);
    let (mut packed, mut lengths) = (Vec::new(), Vec::new());
    let reply = b"430 No such article\r\n";
    for is_behind_a_rest in [false, false, true] {
        let before = packed.len();
        if is_behind_a_rest {
            server.deflate(reply, &mut packed, false);
            assert!(!server.release(), "something waits for a flush");
            server.deflate(reply, &mut packed, true);
            assert!(server.release() && !server.has_compressor());
        }
        server.deflate(reply, &mut packed, true);
        lengths.push(packed.len() - before);
    }
    assert!(lengths[1] < lengths[0], "it refers to what was said");
    let mut client = Deflate::new(3);
    assert_eq!(unpack(&mut client, &packed, 1000).0, reply.repeat(5));
}

/// Without memory for a compressor the output is stored, and compressed when there is some again.
#[test]
fn output_beyond_the_compressors_is_stored() {
    let text = b"430 No such article\r\n".repeat(5000);
    let mut packed = Vec::new();
    let mut first = Deflate::new(3);
    first.deflate(&text, &mut packed, true);
    let is_small = packed.len() < text.len() / 5;
    let mut others: Vec<Deflate> = (0..COMPRESSORS_MAX).map(|_| Deflate::new(3)).collect();
    for other in &mut others {
        other.deflate(b"x", &mut Vec::new(), true);
    }
    let mut last = Deflate::new(3);
    let mut stored = Vec::new();
    last.deflate(&text, &mut stored, false);
    last.deflate(b"", &mut stored, true);
    assert!(is_small && stored.len() > text.len() && !last.has_compressor());
    drop(others);
    let before = stored.len();
    last.deflate(&text, &mut stored, true);
    assert!(last.has_compressor() && stored.len() - before < text.len() / 5);
    let mut client = Deflate::new(3);
    let (plain, is_over) = unpack(&mut client, &stored, 1 << 20);
    assert!(plain == text.repeat(2) && !is_over);
}

#[test]
fn damage_is_told() {
    let mut plain = Vec::new();
    let told = Deflate::new(6).inflate(&[0xff; 100], &mut plain, 1000);
    assert_eq!(told, Err(DeflateError::Damaged));
}

#[test]
fn replies_without_a_flush_come_with_the_next() {
    let mut server = Deflate::new(6);
    let mut client = Decompress::new(false);
    let mut packed = Vec::new();
    server.deflate(b"223 0 <a@b>\r\n", &mut packed, false);
    assert!(packed.len() < 8, "nothing to read yet");
    server.deflate(b"430 no\r\n", &mut packed, true);
    let mut read = Vec::with_capacity(1000);
    client
        .decompress_vec(&packed, &mut read, FlushDecompress::Sync)
        .unwrap();
    assert_eq!(read, b"223 0 <a@b>\r\n430 no\r\n");
    // Nothing new, nothing to flush: at most an empty block.
    let before = packed.len();
    server.deflate(b"", &mut packed, true);
    assert!(packed.len() <= before + 10);
}

#[test]
fn each_flush_says_all_that_was_said() {
    // Sizes around those at which the compressor writes a block.
    let mut seed = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as u8
    })
    .take(80_000)
    .collect();
    let mut server = Deflate::new(1);
    let mut client = Decompress::new(false);
    for size in (20_000..80_000).step_by(97) {
        let (mut packed, mut read) = (Vec::new(), Vec::with_capacity(100_000));
        server.deflate(&noise[..size], &mut packed, true);
        client
            .decompress_vec(&packed, &mut read, FlushDecompress::Sync)
            .unwrap();
        assert!(read == noise[..size], "{size}: {}", read.len());
    }
}

proptest! {
    #[test]
    fn commands_are_read(
        plain in proptest::collection::vec(0u8..20, 0..60_000),
        largest in 1usize..5000,
        bound in 1usize..40_000,
    ) {
        let mut server = Deflate::new(6);
        let mut all = Vec::new();
        for portion in pack(&plain, FlushCompress::Sync).chunks(largest) {
            all.extend(unpack(&mut server, portion, bound).0);
        }
        prop_assert_eq!(all, plain);
    }

    #[test]
    fn replies_are_read(
        replies in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..40_000), any::<bool>()), 0..5),
        level in 0u32..12,
    ) {
        let mut server = Deflate::new(level);
        let mut client = Decompress::new(false);
        let (mut said, mut packed, mut read) = (Vec::new(), Vec::new(), Vec::new());
        let mut taken = 0;
        for (reply, is_flush) in &replies {
            said.extend_from_slice(reply);
            server.deflate(reply, &mut packed, *is_flush);
            if *is_flush {
                read.reserve(said.len() + 1000);
                client.decompress_vec(&packed[taken..], &mut read, FlushDecompress::Sync).unwrap();
                taken = packed.len();
                prop_assert_eq!(&read, &said);
            }
        }
    }

    #[test]
    fn garbage_ends(bytes in proptest::collection::vec(any::<u8>(), 0..3000), bound in 0usize..5000) {
        let mut server = Deflate::new(6);
        let mut rest = &bytes[..];
        let mut calls = 0;
        loop {
            let mut plain = Vec::new();
            match server.inflate(rest, &mut plain, bound) {
                Ok(some) if some.is_more && bound > 0 => rest = &rest[some.taken_bytes..],
                _ => break,
            }
            calls += 1;
            // A byte stands for 1032 at most (258 for each two bits).
            prop_assert!(calls < 5_000_000, "no end");
        }
    }
}
