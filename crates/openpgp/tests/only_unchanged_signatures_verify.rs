//! A signature verifies with its own text and key only, and not after any change.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::vectors;

use openpgp::{Certificate, Digest, Error, Signature};
use vectors::{TEXT, VECTORS, armor_of, key, signature};

#[test]
fn signatures_of_every_kind_of_key_and_hash_verify() {
    for vector in VECTORS {
        let (key, signature) = (key(vector.key), signature(vector.signature));
        assert_eq!(signature.verify(&key, TEXT), Ok(()), "{}", vector.name);
        assert_eq!(signature.issuer(), Some(key.id()), "{}", vector.name);
        assert_eq!(signature.digest(), vector.digest, "{}", vector.name);
        assert_eq!(
            (key.algorithm(), key.bits()),
            vector.algorithm,
            "{}",
            vector.name
        );
        assert_eq!(key.fingerprint(), vector.fingerprint, "{}", vector.name);
    }
}

#[test]
fn another_key_does_not_verify_it() {
    for vector in VECTORS {
        for other in VECTORS.iter().filter(|other| other.key != vector.key) {
            let verified = signature(vector.signature).verify(&key(other.key), TEXT);
            assert!(verified.is_err(), "{} by {}", vector.name, other.name);
        }
    }
}

#[test]
fn a_changed_byte_of_the_text_is_detected() {
    for vector in VECTORS {
        let (key, signature) = (key(vector.key), signature(vector.signature));
        for at in 0..TEXT.len() {
            let mut text = TEXT.to_vec();
            text[at] ^= 1;
            assert_eq!(
                signature.verify(&key, &text),
                Err(Error::Mismatch),
                "{} at {at}",
                vector.name
            );
        }
        for text in [&TEXT[1..], &TEXT[..TEXT.len() - 1], &[TEXT, b"\n"].concat()] {
            assert_eq!(
                signature.verify(&key, text),
                Err(Error::Mismatch),
                "{}",
                vector.name
            );
        }
    }
}

#[test]
fn a_changed_character_of_the_signature_is_detected() {
    for vector in VECTORS {
        let key = key(vector.key);
        let armor = armor_of(vector.signature);
        let from = armor.find("\n\n").unwrap() + 2;
        for at in from..armor.find("-----END").unwrap() - 1 {
            for change in [1, 2, 4] {
                let mut changed = armor.clone().into_bytes();
                changed[at] ^= change;
                let verified = openpgp::armor::blocks(&changed).and_then(|blocks| {
                    Signature::read(blocks.first().ok_or(Error::CutOff)?)?.verify(&key, TEXT)
                });
                assert!(verified.is_err(), "{} at {at}: {verified:?}", vector.name);
            }
        }
    }
}

/// Without the checksum of the armour: the hashed part and the numbers themselves.
#[test]
fn a_changed_bit_of_an_old_signature_is_detected_without_the_checksum() {
    let key = key(VECTORS[0].key);
    let packet = openpgp::armor::blocks(VECTORS[0].signature)
        .unwrap()
        .remove(0);
    // After the header, the version and the key id, which is only a hint.
    for at in (4..10).chain(18..packet.len()) {
        for bit in 0..8 {
            let mut changed = packet.clone();
            changed[at] ^= 1 << bit;
            // 1 and 3 both mean RSA.
            let is_same = at == 18 && bit == 1;
            let verified = Signature::read(&changed).and_then(|read| read.verify(&key, TEXT));
            assert_eq!(verified.is_ok(), is_same, "byte {at} bit {bit}");
        }
    }
}

#[test]
fn text_signatures_ignore_the_kind_of_line_end() {
    let crlf = String::from_utf8(TEXT.to_vec())
        .unwrap()
        .replace('\n', "\r\n");
    let (old, binary) = (
        &VECTORS[0],
        VECTORS
            .iter()
            .find(|one| one.name == "rsa2048-binary")
            .unwrap(),
    );
    assert_eq!(
        signature(old.signature).verify(&key(old.key), crlf.as_bytes()),
        Ok(())
    );
    assert_eq!(
        signature(binary.signature).verify(&key(binary.key), crlf.as_bytes()),
        Err(Error::Mismatch)
    );
}

#[test]
fn user_ids_and_revocations_are_read_with_keys() {
    let read = |text: &[u8]| Certificate::read_all(text).unwrap().remove(0).unwrap();
    let old = read(VECTORS[0].key);
    assert_eq!(old.user_ids, [b"old.example".to_vec()]);
    assert!(!old.is_revoked && old.key.version() == 3);
    assert!(read(include_bytes!("vectors/revoked.key.asc")).is_revoked);
    let both = [VECTORS[0].key, b"and\n", VECTORS.last().unwrap().key].concat();
    assert_eq!(Certificate::read_all(&both).unwrap().len(), 2);
    // The packets of a key parse as the same key.
    assert_eq!(read(&old.packets).key, old.key);
}

#[test]
fn input_without_a_public_key_is_an_error() {
    assert!(Certificate::read_all(b"").is_err());
    assert!(Certificate::read_all(b"text\n").is_err());
    assert!(Certificate::read_all(VECTORS[0].signature).is_err());
    assert_eq!(
        Certificate::read_all(&[0x94, 1, 4]).unwrap_err(),
        Error::Secret
    );
    let small = [0x98, 13, 3, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0xff, 0, 2, 3];
    let small = Certificate::read_all(&small[..15]).map(|mut read| read.remove(0).map(|_| ()));
    assert!(small.is_ok_and(|key| key.is_err()), "a modulus of 8 bits");
    assert!(Digest::of_number(3).is_err());
}
