//! No input of keys or signatures causes a panic, or a result larger than the input.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::vectors;

use openpgp::{Certificate, Signature, armor};
use proptest::prelude::*;
use vectors::{TEXT, VECTORS};

/// Parses the bytes as every type.
fn read(bytes: &[u8]) {
    let _ = Signature::parse(bytes);
    let _ = armor::decode(bytes, Some(b"AAAA"));
    let blocks = armor::blocks(bytes).unwrap_or_default();
    assert!(blocks.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    for packets in blocks.iter().map(Vec::as_slice).chain([bytes]) {
        if let Ok(signature) = Signature::read(packets) {
            for vector in VECTORS {
                let _ = signature.verify(&vectors::key(vector.key), TEXT);
            }
        }
        let Ok(found) = Certificate::read_all(packets) else {
            continue;
        };
        let usable: Vec<_> = found.iter().flatten().collect();
        let kept = usable.iter().map(|one| one.packets.len()).sum::<usize>();
        assert!(kept <= packets.len());
        for certificate in usable {
            for vector in VECTORS {
                let _ = vectors::signature(vector.signature).verify(&certificate.key, TEXT);
            }
        }
    }
}

/// The files of the vectors: in armour, and the bytes in it.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for text in VECTORS
        .iter()
        .flat_map(|vector| [vector.key, vector.signature])
    {
        seeds.push(text.to_vec());
        seeds.extend(armor::blocks(text).unwrap());
    }
    seeds
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        read(&bytes);
    }

    #[test]
    fn packets_of_any_body(tag in 0_u8..64, body in proptest::collection::vec(any::<u8>(), 0..190)) {
        read(&[&[0xc0 | tag, body.len() as u8][..], &body].concat());
    }

    #[test]
    fn changed_vectors(
        seed in any::<proptest::sample::Index>(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let seeds = seeds();
        let mut bytes = seed.get(&seeds).clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read(&bytes);
    }
}

#[test]
fn a_false_length_allocates_nothing() {
    for bytes in [
        &[0xc6, 0xff, 0x00, 0x0f, 0xff, 0xff][..],
        &[0xc6, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x9a, 0xff, 0xff, 0xff, 0xff],
    ] {
        assert!(Certificate::read_all(bytes).is_err());
    }
    let many = [0xc6, 1, 4].repeat(openpgp::certificate::KEYS_MAX + 1);
    assert!(Certificate::read_all(&many).is_err(), "too many keys");
    let large = vec![b'\n'; armor::FILE_BYTES_MAX + 1];
    assert!(armor::blocks(&large).is_err() && Certificate::read_all(&large).is_err());
}
