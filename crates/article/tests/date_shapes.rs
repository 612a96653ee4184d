//! Dates of every historical form are parsed; text that is not an absolute date is rejected.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use article::batch::{Batch, BatchLimits, Item};
use article::date::{
    FixedOffset, LocalZone, Utc, parse, parse_nntp, parse_strict, write_numeric, write_utc,
};
use proptest::prelude::*;

/// 20 Dec 1993 04:39:21 GMT.
const WINTER: i64 = 756_362_361;

/// Pacific time by the rules of 1987 to 2006; before that, an approximation that suffices for the tables.
#[derive(Debug)]
struct LosAngeles;

impl LocalZone for LosAngeles {
    fn east_seconds(&self, local: i64) -> i64 {
        let hour = 3600;
        let year = |seconds: i64| {
            let mut text = Vec::new();
            write_utc(&mut text, seconds);
            let text = String::from_utf8(text).unwrap();
            text.split(' ').nth(3).unwrap().to_owned()
        };
        let year = year(local);
        // The first Sunday on or after that day, at two o'clock.
        let sunday = |day: &str| {
            let start = parse(format!("{day} {year} 02:00:00 GMT").as_bytes(), &Utc).unwrap();
            let days = start / 86_400;
            start + (7 - (days + 4) % 7) % 7 * 86_400
        };
        let april = if year.as_str() < "1987" {
            sunday("24 Apr")
        } else {
            sunday("1 Apr")
        };
        if (april..sunday("25 Oct")).contains(&local) {
            -7 * hour
        } else {
            -8 * hour
        }
    }
}

fn utc(text: &str) -> Option<i64> {
    parse(text.as_bytes(), &Utc)
}

#[test]
fn one_moment_in_many_spellings() {
    for text in [
        "Mon, 20 Dec 1993 04:39:21 GMT",
        "20 Dec 1993 04:39:21 GMT",
        "20 Dec 93 04:39:21 GMT",
        "Mon, 20 Dec 93 04:39:21 GMT",
        "Mon Dec 20 04:39:21 1993",
        "Mon Dec 20 04:39:21 GMT 1993",
        "Sun Dec 19 20:39:21 PST 1993",
        "Sun Dec 19 20:39:21 1993 PST",
        "Dec 20, 1993 04:39:21 GMT",
        "dec 20,1993 4:39:21",
        "04:39:21 20 Dec 1993 UTC",
        "Monday, 20-Dec-93 04:39:21 GMT",
        "Mon, 20-Dec-1993 04:39:21 gmt",
        "20 December 1993 04:39:21 UT",
        "20 Dec. 1993 04:39:21",
        "Mon, 20 Dec 093 04:39:21 GMT",
        "Mon,20 Dec 1993 04:39:21 Z",
        "Mon, 20 Dec 1993 05:39:21 +0100 (MET)",
        "Mon, 20 Dec 1993 05:39:21 +01:00",
        "Mon, 20 Dec 1993 05:39:21 +1",
        "Mon, 20 Dec 1993 05:39:21 GMT+1",
        "Mon, 20 Dec 1993 05:39:21 MET",
        "Mon, 20 Dec 1993 05:39:21 MEZ",
        "Mon, 20 Dec 1993 06:39:21 MET DST",
        "Mon, 20 Dec 1993 07:39:21 MSK",
        "Mon, 20 Dec 1993 13:39:21 JST",
        "Mon, 20 Dec 1993 14:09:21 ACST",
        "Mon, 20 Dec 1993 16:39:21 GMT+12",
        "Mon, 20 Dec 1993 01:09:21 NST",
        "Sun, 19 Dec 1993 23:39:21 EST -0500",
        "Sun, 19 Dec 1993 23:39:21 -0500",
        "19 Dec 93 20:39:21-PST",
        "Sun, 19-Dec-93 23:39:21-EST",
        "Sun, 19 Dec 1993 11:39:21 pm EST",
        "Mon, 20 Dec 1993 04:39:21 -0000 (UTC)",
        "Mon, 20 Dec 1993 04:39:21 (it (really) is \\) late) GMT",
        "Fri, 20 Dec 1993 04:39:21 GMT",
        "Mon,  20  Dec\t1993  04:39:21  GMT  \r\n",
        "12/20/93 4:39:21",
        "12/20/1993 04:39:21 GMT",
        "1993/12/20 04:39:21",
        "1993-12-20 04:39:21",
        "1993-12-20T04:39:21Z",
        "1993-12-20T05:39:21.25+01:00",
    ] {
        assert_eq!(utc(text), Some(WINTER), "{text:?}");
    }
}

#[test]
fn without_seconds_time_or_zone() {
    assert_eq!(utc("20 Dec 1993 04:39"), Some(WINTER - 21));
    assert_eq!(utc("20 Dec 1993 0439 GMT"), Some(WINTER - 21));
    assert_eq!(utc("19 Dec 1993 2039-PST (Sunday)"), Some(WINTER - 21));
    assert_eq!(utc("20 Dec 93"), Some(WINTER - (4 * 60 + 39) * 60 - 21));
    assert_eq!(utc("31-Dec-91"), utc("dec 31,1991"));
    assert_eq!(utc("31-Dec-91"), utc("31 Dec 1991 00:00:00 GMT"));
    let east = FixedOffset(3600);
    assert_eq!(parse(b"20 Dec 1993 05:39:21", &east), Some(WINTER));
    assert_eq!(parse(b"20 Dec 1993 04:39:21 GMT", &east), Some(WINTER));
    assert_eq!(
        parse(b"Sun Dec 19 20:39:21 1993", &LosAngeles),
        Some(WINTER)
    );
}

#[test]
fn relative_and_malformed_dates_are_rejected() {
    for text in [
        "",
        " ",
        ",",
        "GMT",
        "Mon",
        "tomorrow",
        "+60days",
        "2 weeks",
        "now",
        "never",
        "20 Dec 1993 04:39:21 tomorrow",
        "next Monday",
        "20 Dec",
        "Dec 1993",
        "04:39:21",
        "20 Dec 04:39:21 GMT",
        "30 Feb 1993 00:00:00 GMT",
        "29 Feb 1993 00:00:00 GMT",
        "29 Feb 2100 00:00:00 GMT",
        "31 Apr 93",
        "0 Dec 1993",
        "32 Dec 1993 00:00:00 GMT",
        "20 Dec 1993 24:00:00 GMT",
        "20 Dec 1993 25:00:00 GMT",
        "20 Dec 1993 04:60:00 GMT",
        "20 Dec 1993 04:39:61 GMT",
        "20 Dec 1993 04:39:21 +2400",
        "20 Dec 1993 04:39:21 +0160",
        "20 Dec 1993 04:39:21 +0100 +0100",
        "20 Dec 1993 13:00 pm",
        "20 Dec 1969 04:39:21 GMT",
        "20 Dec 10000 04:39:21 GMT",
        "1 Jan 1970 00:00:00 +0100",
        "20 Foo 1993 04:39:21 GMT",
        "Foo, 20 Dec 1993 04:39:21 GMT",
        "20 Dec Jan 1993 04:39:21 GMT",
        "20 Dec 1993 04:39:21 04:39:21 GMT",
        "20/12/93",
        "20 Dec 1993 04:39:21 GMT\0",
        "99999999999999999999 Dec 1993",
    ] {
        assert_eq!(utc(text), None, "{text:?}");
    }
}

#[test]
fn years_of_two_and_three_digits() {
    for (year, full) in [
        ("70", 1970),
        ("99", 1999),
        ("00", 2000),
        ("49", 2049),
        ("093", 1993),
        ("104", 2004),
    ] {
        assert_eq!(
            utc(&format!("3 Mar {year} 00:00:00 GMT")),
            utc(&format!("3 Mar {full} 00:00:00 GMT")),
            "{year}"
        );
    }
    assert_eq!(utc("3 Mar 50 00:00:00 GMT"), None);
    assert_eq!(utc("1 Jan 1970 00:00:00 GMT"), Some(0));
    assert_eq!(utc("31 Dec 9999 23:59:60 GMT"), Some(253_402_300_799));
    assert_eq!(utc("31 Dec 9999 23:00:00 -0500"), Some(253_402_300_799));
}

#[test]
fn unknown_zones_are_utc() {
    assert_eq!(utc("Mon, 20 Dec 1993 04:39:21 TUR"), Some(WINTER));
    assert_eq!(
        parse(b"20 Dec 1993 04:39:21 and other bits", &FixedOffset(7)),
        Some(WINTER)
    );
    assert_eq!(
        parse(b"Mon Dec 20 04:39:21 XYZ 1993", &FixedOffset(7)),
        Some(WINTER)
    );
}

#[test]
fn written_dates() {
    let mut out = Vec::new();
    write_utc(&mut out, WINTER);
    assert_eq!(out, b"Mon, 20 Dec 1993 04:39:21 GMT");
    out.clear();
    write_utc(&mut out, i64::MAX);
    assert_eq!(out, b"Fri, 31 Dec 9999 23:59:59 GMT");
    out.clear();
    write_utc(&mut out, i64::MIN);
    assert_eq!(out, b"Thu, 1 Jan 1970 00:00:00 GMT");
}

#[test]
fn nntp_two_digit_years() {
    let read = |date: &str, now| parse_nntp(date.as_bytes(), b"000000", &Utc, now);
    let now = utc("1 Jun 2026 00:00:00 GMT").unwrap();
    assert_eq!(read("260101", now), utc("1 Jan 2026"));
    assert_eq!(read("270101", now), Some(0), "1927");
    assert_eq!(read("990101", now), utc("1 Jan 1999"));
    assert_eq!(read("260101", WINTER), Some(0), "1926");
}

#[test]
fn nntp_dates_before_1970_are_its_begin() {
    let read = |date: &str, time: &str, zone: &dyn LocalZone| {
        parse_nntp(date.as_bytes(), time.as_bytes(), zone, WINTER)
    };
    for date in ["19000101", "19691231", "00000229", "19700101", "700101"] {
        assert_eq!(read(date, "000000", &Utc), Some(0), "{date}");
    }
    assert_eq!(read("19700101", "005959", &FixedOffset(3600)), Some(0));
    assert_eq!(read("19700101", "010001", &FixedOffset(3600)), Some(1));
    // They are dates all the same.
    for (date, time) in [("19000229", "000000"), ("19691231", "240000")] {
        assert_eq!(read(date, time, &Utc), None, "{date}");
    }
}

fn shared(path: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into(),
        PathBuf::from,
    );
    let path = shared.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} not present", path.display());
    None
}

/// The rows of a table, by fields.
fn rows(path: &str) -> Vec<Vec<String>> {
    let Some(path) = shared(path) else {
        return vec![];
    };
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            line.split('\t')
                .map(|field| field.replace("\\x20", " "))
                .collect()
        })
        .collect()
}

#[test]
fn table_rfc5322() {
    for row in rows("cases/inn/date-rfc5322.tsv") {
        let text = row[1].as_bytes();
        assert_eq!(parse_strict(text), row[2].parse().ok(), "strict {row:?}");
        assert_eq!(parse(text, &LosAngeles), row[3].parse().ok(), "lax {row:?}");
    }
}

#[test]
fn table_nntp() {
    let now = utc("1 Aug 2026").unwrap();
    for row in rows("cases/inn/date-nntp.tsv") {
        let zone: &dyn LocalZone = if row[3] == "gmt" { &Utc } else { &LosAngeles };
        let found = parse_nntp(row[1].as_bytes(), row[2].as_bytes(), zone, now);
        let mut allowed: Vec<Option<i64>> =
            row[4].split('|').map(|epoch| epoch.parse().ok()).collect();
        if row[1] == "691231" {
            // INN refuses it.
            allowed = vec![Some(0)];
        }
        assert!(allowed.contains(&found), "{row:?}: {found:?}");
    }
}

#[test]
fn table_format() {
    let offsets = [
        ("UTC", 0),
        ("PST", -8 * 60),
        ("PDT", -7 * 60),
        ("NDT", -150),
    ];
    for row in rows("cases/inn/date-format.tsv") {
        let (_, name) = row[3].rsplit_once('(').unwrap();
        let name = name.trim_end_matches(')');
        let (_, minutes) = offsets.iter().find(|(one, _)| *one == name).unwrap();
        let mut out = Vec::new();
        write_numeric(&mut out, row[1].parse().unwrap(), minutes * 60, name);
        assert_eq!(String::from_utf8(out).unwrap(), row[3]);
        assert_eq!(utc(&row[3]), row[1].parse().ok());
        assert_eq!(parse_strict(row[3].as_bytes()), row[1].parse().ok());
    }
}

/// Every Date header of the corpus is parsed, except those listed here, which are not dates.
#[test]
fn the_corpus() {
    let mut failed: BTreeMap<String, usize> = BTreeMap::new();
    let mut dates = 0;
    for part in ["corpus/feed", "corpus/edge"] {
        let Some(dir) = shared(part) else { return };
        for file in std::fs::read_dir(dir).unwrap() {
            let file = std::fs::File::open(file.unwrap().path()).unwrap();
            let mut batch = Vec::new();
            flate2::read::MultiGzDecoder::new(file)
                .read_to_end(&mut batch)
                .unwrap();
            let mut batch = Batch::new(&batch[..], BatchLimits::default());
            while let Some(item) = batch.next().unwrap() {
                let Item::Article { bytes, .. } = item else {
                    panic!("{item:?}")
                };
                let mut lines = bytes
                    .split(|&byte| byte == b'\n')
                    .take_while(|line| !line.is_empty() && *line != b"\r");
                let Some(line) =
                    lines.find(|line| line.len() >= 5 && line[..5].eq_ignore_ascii_case(b"Date:"))
                else {
                    continue;
                };
                dates += 1;
                let value = line[5..].trim_ascii();
                match parse(value, &Utc) {
                    // The network is older than the corpus, and no article is from the future.
                    Some(seconds) => assert!(
                        (300_000_000..1_800_000_000).contains(&seconds),
                        "{}",
                        value.escape_ascii()
                    ),
                    None => *failed.entry(value.escape_ascii().to_string()).or_default() += 1,
                }
            }
        }
    }
    assert!(dates > 15_000, "{dates}");
    assert_eq!(failed, BTreeMap::from([(String::new(), 2)]));
}

proptest! {
    #[test]
    fn written_dates_are_parsed_to_the_same_time(seconds in 0_i64..253_402_300_800, minutes in -800_i32..800) {
        let mut out = Vec::new();
        write_utc(&mut out, seconds);
        prop_assert_eq!(parse(&out, &FixedOffset(999)), Some(seconds));
        prop_assert_eq!(parse_strict(&out), Some(seconds));
        if seconds > 100_000 && seconds < 253_402_000_000 {
            out.clear();
            write_numeric(&mut out, seconds, minutes * 60, "");
            prop_assert_eq!(parse(&out, &Utc), Some(seconds));
            prop_assert_eq!(parse_strict(&out), Some(seconds));
            // The same date by the lenient parser.
            out.insert(0, b' ');
            prop_assert_eq!(parse(&out, &Utc), Some(seconds));
        }
    }

    #[test]
    fn nothing_panics(text in prop::collection::vec(prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        prop::sample::select(vec!["20", "Dec", " ", "1993", ":", "04:39", "GMT", "-", "/", "+0100", "(", "pm", "dst", "99999999"])
            .prop_map(|word| word.as_bytes().to_vec()),
    ], 0..12)) {
        let text = text.concat();
        if let Some(seconds) = parse(&text, &LosAngeles) {
            prop_assert!(seconds >= 0);
        }
        if let Some(seconds) = parse_strict(&text) {
            prop_assert_eq!(parse(&text, &LosAngeles), Some(seconds));
        }
    }
}
