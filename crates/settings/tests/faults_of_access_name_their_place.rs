//! What is wrong in an `[[access]]` table is told with its place, all of it together.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use access::Tables;
use proptest::prelude::*;

fn faults(lines: &str) -> Vec<String> {
    let text = format!("[[access]]\n{lines}\n");
    lines_of(&text)
}

fn lines_of(text: &str) -> Vec<String> {
    let faults = settings::access(text).expect_err(text).to_string();
    let lines = faults.lines();
    lines
        .map(|line| line.strip_prefix("broadsheet.toml:").unwrap().to_owned())
        .collect()
}

#[test]
fn each_fault_is_told() {
    for (line, told) in [
        (
            "red = \"*\"",
            "2:1: unknown key `red' in [[access]]; did you mean read?",
        ),
        ("read = \"\"", "2:8: read is empty"),
        ("read = \"!x\"", "2:8: read only excludes"),
        ("read = \"*,@x\"", "2:8: read has `@'"),
        ("read = \"*, x\"", "2:8: read has blanks or nothing in ` x'"),
        ("read = 1", "2:8: read needs text in quotes, not 1"),
        (
            "from = []",
            "2:8: from is an empty list, which would match every client",
        ),
        (
            "from = [\"news.example.net\"]",
            "2:8: from `news.example.net' is not a network",
        ),
        (
            "from = [\"192.0.2.1/24\"]",
            "2:8: from `192.0.2.1/24' has bits after the first 24; the network is 192.0.2.0/24",
        ),
        ("users = [\"a b\"]", "2:9: users `a b' has ' '"),
        ("users = [\"!anna\"]", "2:9: users `!anna' is a pattern"),
        (
            "users = [\"*@example.org\"]",
            "2:9: users `*@example.org' is a pattern",
        ),
        (
            "certificates = [\"sha256:12\"]",
            "2:16: certificates `sha256:12' is not a fingerprint",
        ),
        (
            "certificates = [\"sha1:12\"]",
            "2:16: certificates `sha1:12' is not a fingerprint",
        ),
        ("tls = 1", "2:7: tls needs true or false, not 1"),
        (
            "without = [\"newsnew\"]",
            "2:11: without `newsnew' cannot be disabled",
        ),
        (
            "connections_max = 0",
            "2:19: connections_max is 0, which would refuse every connection",
        ),
        (
            "posts_per_minute_max = 0",
            "2:24: posts_per_minute_max is 0, which would refuse every post (for that, leave out `post')",
        ),
        (
            "articles_per_minute_max = 0",
            "2:27: articles_per_minute_max is 0, which would refuse every article (for that, leave out `send')",
        ),
        (
            "size_max = \"big\"",
            "2:12: size_max needs a number of bytes",
        ),
    ] {
        let told_all = faults(&format!("{line}\nname = \"a\""));
        assert_eq!(told_all.len(), 1, "{told_all:?}");
        assert!(told_all[0].starts_with(told), "{told_all:?}");
    }
    assert_eq!(faults("").len(), 1);
    assert!(faults("read = \"*\"")[0].contains("has no name"));
    assert!(faults("name = \"a b\"")[0].contains("only letters, digits"));
    assert_eq!(faults("red = 1\nname = 2\nfrom = 3").len(), 3);
}

#[test]
fn a_table_that_is_no_list_is_told() {
    for text in ["access = 1", "[access]\nname = \"a\"", "access = [1]"] {
        assert_eq!(lines_of(text).len(), 1);
    }
    assert_eq!(settings::access("other = 1").unwrap(), Tables::default());
}

#[test]
fn a_fingerprint_may_have_colons() {
    let digits = "ab".repeat(32);
    let colons = vec!["AB"; 32].join(":");
    for text in [digits, colons] {
        let text = format!("[[access]]\nname = \"a\"\ncertificates = [\"sha256:{text}\"]\n");
        assert_eq!(
            settings::access(&text).unwrap().entries[0].certificates,
            [[0xab; 32]]
        );
    }
}

proptest! {
    #[test]
    fn no_value_makes_it_panic(key in "name|from|users|certificates|tls|read|post|send|without|size_max|[a-z_]{1,8}", value in "\\PC{0,16}|\"\\PC{0,16}\"|\\[\"\\PC{0,16}\"\\]|-?[0-9]{1,22}") {
        let _ = settings::access(&format!("[[access]]\n{key} = {value}\n"));
    }
}
