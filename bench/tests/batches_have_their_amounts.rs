//! The batches have the totals in docs/performance.md.

use std::collections::HashSet;

use bench::generate::{self, Articles, Kind, SEED, Totals};

fn made(kind: Kind, seed: u64) -> Totals {
    generate::batch(kind, seed, &mut std::io::sink()).expect("a sink takes everything")
}

#[test]
fn the_paper_s_batch() {
    let expected = Totals {
        articles: 171,
        bytes: 297_054,
        cross_postings: 104,
    };
    for seed in [SEED, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        assert_eq!(made(Kind::Paper, seed), expected, "seed {seed}");
    }
}

#[test]
fn the_ten_thousand() {
    let expected = Totals {
        articles: 10_000,
        bytes: 30_000_000,
        cross_postings: 6_000,
    };
    assert_eq!(made(Kind::TenThousand, SEED), expected);
}

#[test]
fn same_seed_same_bytes() {
    let mut first = Vec::new();
    let mut second = Vec::new();
    let mut other = Vec::new();
    generate::batch(Kind::Paper, 7, &mut first).unwrap();
    generate::batch(Kind::Paper, 7, &mut second).unwrap();
    generate::batch(Kind::Paper, 8, &mut other).unwrap();
    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[test]
fn articles_are_well_formed_and_in_known_groups() {
    let tiny = Kind::Tiny {
        articles: 3_000,
        groups: 900,
    };
    for kind in [Kind::Paper, Kind::TenThousand, tiny, Kind::Demo] {
        let active = String::from_utf8(generate::active(kind)).unwrap();
        let known: HashSet<&str> = active
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        let mut ids = HashSet::new();
        for article in Articles::new(kind, SEED) {
            let end = article
                .bytes
                .windows(2)
                .position(|pair| pair == b"\n\n")
                .unwrap();
            let header = std::str::from_utf8(&article.bytes[..=end]).unwrap();
            let body = &article.bytes[end + 2..];
            assert!(article.bytes.ends_with(b"\n"));
            for name in [
                "Path",
                "From",
                "Newsgroups",
                "Subject",
                "Message-ID",
                "Date",
            ] {
                let found = header
                    .lines()
                    .filter(|line| {
                        line.strip_prefix(name)
                            .is_some_and(|rest| rest.starts_with(": "))
                    })
                    .count();
                assert_eq!(found, 1, "{name} in {header}");
            }
            let value = |name: &str| header.lines().find_map(|line| line.strip_prefix(name));
            let groups: Vec<&str> = value("Newsgroups: ").unwrap().split(',').collect();
            assert_eq!(groups.len(), article.groups);
            assert_eq!(groups.iter().collect::<HashSet<_>>().len(), groups.len());
            assert!(
                groups.iter().all(|group| known.contains(group)),
                "{groups:?}"
            );
            assert_eq!(value("Message-ID: "), Some(article.id.as_str()));
            if let Some(lines) = value("Lines: ") {
                assert_eq!(
                    lines.parse(),
                    Ok(body.iter().filter(|&&byte| byte == b'\n').count())
                );
            }
            assert!(ids.insert(article.id), "an id came twice");
        }
        assert!(
            kind != Kind::Demo || ids.len() == 60,
            "{} articles",
            ids.len()
        );
    }
}

#[test]
fn prose_has_what_news_has() {
    let mut batch = Vec::new();
    generate::batch(Kind::TenThousand, SEED, &mut batch).unwrap();
    let with = |start: &[u8]| {
        batch
            .split(|&byte| byte == b'\n')
            .filter(|line| line.starts_with(start))
            .count()
    };
    assert!(with(b"> ") > 5_000);
    assert!(with(b".") > 200);
    assert!(with(b"-- ") > 2_000);
    assert!(with(b"References: ") > 3_000);
    assert!(batch.iter().filter(|byte| !byte.is_ascii()).count() > 1_000);
    assert!(!batch.contains(&b'\r') && !batch.contains(&0));
}
