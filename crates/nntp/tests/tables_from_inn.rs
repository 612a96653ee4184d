//! Tables from INN's own tests: numbers and ranges, and lists by wildmat.

use crate::backend;
use crate::shared;

use std::sync::Arc;

use backend::{Client, Fake};
use nntp::Range;

#[test]
fn numbers_and_ranges() {
    let Some(table) = shared::read("cases/inn/article-number-range.tsv") else {
        return;
    };
    let mut count = 0;
    for row in shared::rows(&table) {
        let [id, kind, text, valid, ..] = row[..] else {
            continue;
        };
        let text = shared::unescape(text);
        let is_range = kind == b"range";
        // INN's numbers have 31 bits, ours 63.
        let is_larger_here = text == b"2147483648";
        let valid = valid == b"true" || is_larger_here;
        let read = Range::parse(&text).filter(|_| is_range || !text.contains(&b'-'));
        assert_eq!(read.is_some(), valid, "{}", String::from_utf8_lossy(id));
        count += 1;
    }
    assert!(count > 10);
}

#[test]
fn lists_by_wildmat() {
    let Some(text) = shared::read("cases/inn/getlist.json") else {
        return;
    };
    let cases: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let lines = |name: &str| -> Vec<String> {
        let lines = cases[name].as_array().unwrap().iter();
        lines
            .map(|line| line.as_str().unwrap().to_owned())
            .collect()
    };
    let mut backend = Fake::new(&(lines("active").join("\n") + "\n"));
    for (list, file) in [
        ("newsgroups", "Newsgroups"),
        ("active.times", "ActiveTimes"),
    ] {
        let text = lines(list).join("\n") + "\n";
        backend.files.insert(file, Arc::new(text.into_bytes()));
    }
    let mut client = Client::new(backend);
    for case in cases["getlist_cases"].as_array().unwrap() {
        let list = case["list"].as_str().unwrap();
        // LIST cannot choose by flag.
        if !case["status"].is_null() || cases[list].is_null() {
            continue;
        }
        let pattern = case["pattern"].as_str().unwrap_or_default();
        let got = client.say(format!("LIST {list} {pattern}\r\n"));
        let got = String::from_utf8(got).unwrap();
        let got: Vec<&str> = got.lines().collect();
        let [first, got @ .., last] = &got[..] else {
            panic!("{got:?}");
        };
        assert!(first.starts_with("215 ") && *last == ".");
        let name = |line: &&str| line.split([' ', '\t']).next().unwrap().to_owned();
        let wanted: Vec<String> = match case["expect"].as_array() {
            None => lines(list).iter().map(|line| name(&&**line)).collect(),
            Some(names) => names
                .iter()
                .map(|n| n.as_str().unwrap().to_owned())
                .collect(),
        };
        assert_eq!(got.iter().map(name).collect::<Vec<_>>(), wanted, "{case}");
    }
}
