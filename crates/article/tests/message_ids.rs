//! Validity, equality and hashes of message-ids.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::panic)]

use crate::shared_tables;

use std::collections::HashSet;

use article::message_id::{HashKey, same, valid_domain_strict, valid_strict};
use proptest::prelude::*;
use shared_tables::{bytes, rows};

fn hash(id: &[u8]) -> u64 {
    HashKey::new([7; HashKey::BYTES]).hash(id)
}

#[test]
fn ids_are_valid_as_listed() {
    let Some(rows) = rows("cases/inn/message-id.tsv") else {
        return;
    };
    for row in rows {
        let text = bytes(&row[2]).unwrap_or_default();
        let strict = match row[1].as_str() {
            "msgid" => valid_strict(&text).to_string(),
            "domain" => valid_domain_strict(&text).to_string(),
            "msgid-strip" => {
                assert!(!valid_strict(&text), "row {}", row[0]);
                if valid_strict(text.trim_ascii()) {
                    "valid-only-if-stripping".to_owned()
                } else {
                    "false".to_owned()
                }
            }
            other => panic!("unknown kind {other}"),
        };
        assert_eq!(strict, row[3], "row {}", row[0]);
    }
}

#[test]
fn case_matters_only_before_the_last_at() {
    assert!(same(b"<a@B.Example>", b"<a@b.eXAMPLE>"));
    assert!(!same(b"<A@b>", b"<a@b>"));
    assert!(!same(b"<a@B@c>", b"<a@b@c>"));
    assert!(same(b"<PostMaster@a>", b"<postmaster@A>"));
    assert!(!same(b"<XPostMaster@a>", b"<xpostmaster@A>"));
    assert!(
        !same(b"<A>", b"<a>"),
        "without @ the whole id is local part"
    );
    assert!(!same(b"<postmaster>", b"<POSTMASTER>"));
    assert!(!same(b"<a@b>", b"<a@bc>"));
    assert!(!same(b"<a@[b>", b"<a@{b>"), "only letters fold");
}

#[test]
fn hashes_spread_evenly() {
    const IDS: usize = 1 << 18;
    const BUCKETS: usize = 1 << 12;
    let kinds: [fn(usize) -> String; 3] = [
        |n| format!("<{n}@host.example.org>"),
        |n| format!("<1990Jan1.{n:06}.77@host.example.org>"),
        |n| format!("<x@h{n}.example>"),
    ];
    for kind in kinds {
        let hashes: Vec<u64> = (0..IDS).map(|n| hash(kind(n).as_bytes())).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), IDS);
        for shift in [0, 26, 52] {
            let mut counts = vec![0u32; BUCKETS];
            hashes
                .iter()
                .for_each(|hash| counts[(hash >> shift) as usize % BUCKETS] += 1);
            let mean = (IDS / BUCKETS) as f64;
            let chi: f64 = counts
                .iter()
                .map(|&c| (f64::from(c) - mean).powi(2) / mean)
                .sum();
            // Of 4,095 degrees of freedom: six standard deviations of about 90.
            assert!(
                (chi - 4095.0).abs() < 6.0 * 90.5,
                "{} {shift}: {chi}",
                kind(1)
            );
        }
    }
}

proptest! {
    #[test]
    fn same_ids_have_the_same_hash(a in "<?([pP][oO]stmaster|[aA]{1,2}|[aA]@b)@[aAbB@]{0,9}>", flips: u64) {
        let b: String = a.chars().enumerate().map(|(at, c)| {
            if flips >> (at % 64) & 1 == 1 && c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c }
        }).collect();
        let is_same = same(a.as_bytes(), b.as_bytes());
        prop_assert_eq!(is_same, same(b.as_bytes(), a.as_bytes()));
        prop_assert_eq!(is_same, hash(a.as_bytes()) == hash(b.as_bytes()));
    }
}
