//! `[[expire]]` and `[expiry]` of broadsheet.toml give the same policy as the
//! equivalent lines of `explist`; errors in them are reported with their position.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // helpers of tests, too

use expire::{Archive, Explist, Layout, SpaceLimits};

const TOML: &str = r#"
site = "news.example"          # somebody else's

[expiry]
expired_days = 0.08
bounds = { low = 0.01, high = "0.11" }
keep_free = "20 GiB"
archive_directory = "arch1"

[[expire]]
patterns = ["bar", "!bar.ugh"]
keep_days = 0.05
archive = "arch2"

[[expire]]
patterns = "mod"
moderation = "moderated"
default = "0.1"
archive = "@"

[[expire]]
patterns = "mod"
moderation = "unmoderated"
default = "never"

[[expire]]
patterns = "bletch"
low = 1
default = 2.5
high = "never"
archive = "arch3/bletch"
flat = true

[[expire]]
patterns = "all"
moderation = "any"
keep_days = 14
"#;

const EXPLIST: &str = "\
/expired/ x 0.08 -
/bounds/ x 0.01-0.1-0.11 -
bar,!bar.ugh x 0.05 arch2
mod m 0.1 @
mod u never -
bletch x 1-2.5-never =arch3/bletch
all x 14 -
";

fn fault(text: &str) -> String {
    let tables = match settings::expiry(text) {
        Ok(tables) => tables,
        Err(faults) => return faults.to_string(),
    };
    match tables.explist("b.toml", None) {
        Ok(_) => "no fault".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_policy_is_the_same() {
    let tables = settings::expiry(TOML).unwrap();
    let mut from_tables = tables.explist("broadsheet.toml", None).unwrap();
    let mut from_lines = Explist::parse(EXPLIST.as_bytes(), "explist", Some(b"arch1")).unwrap();
    let lines: Vec<_> = from_tables.rules.iter().map(|rule| rule.line).collect();
    assert_eq!(lines, [10, 15, 21, 26, 34]);
    for list in [&mut from_tables, &mut from_lines] {
        list.file.clear();
        list.are_tables = false;
        list.rules.iter_mut().for_each(|rule| rule.line = 0);
    }
    assert_eq!(from_tables, from_lines);
    let space = SpaceLimits {
        keep_free: Some(20 << 30),
        max_size: None,
        max_fraction: 0.6,
        dead_fraction: 0.15,
    };
    assert_eq!(tables.space, space);
}

#[test]
fn an_archive_may_be_a_news_directory() {
    let text = "[expiry]\narchive_directory = \"old\"\n[[expire]]\npatterns = \"all\"\nkeep_days = 1\narchive = \"segments\"\n";
    let list = settings::expiry(text)
        .unwrap()
        .explist("b.toml", Some(b"/older"))
        .unwrap();
    let want = Archive {
        path: b"/older".to_vec(),
        layout: Layout::Segments,
    };
    assert_eq!(list.rules[0].archive, Some(want));
}

#[test]
fn without_tables_there_is_no_policy() {
    let tables = settings::expiry("[limits]\narticle_bytes_max = 1\n").unwrap();
    assert!(tables.rules.is_empty());
    assert_eq!(
        fault("[expiry]\nexpired_days = 14\n"),
        "no expiry policy: b.toml contains no rule; nothing is expired without one"
    );
}

#[test]
fn bounds_out_of_order_are_an_error() {
    let bounds = |rest: &str| {
        fault(&format!(
            "[expiry]\nbounds = {rest}\n[[expire]]\npatterns = \"all\"\nkeep_days = 9\n"
        ))
    };
    for (rest, low, high) in [
        ("{ low = 90, high = 0 }", "90", "0"),
        ("{ low = \"never\", high = 9 }", "never", "9"),
    ] {
        let told = bounds(rest);
        let want = format!("bounds: dates out of order: low {low} is more than high {high}");
        assert!(told.contains(&want) && told.contains("2:18"), "{told}");
    }
    assert_eq!(bounds("{ low = 90 }"), "no fault");
    assert_eq!(bounds("{ low = 9, high = 9 }"), "no fault");
}

#[test]
fn errors_are_reported_with_their_line() {
    let rule = |rest: &str| fault(&format!("\n[[expire]]\npatterns = \"all\"\n{rest}\n"));
    for (rest, want) in [
        (
            "",
            "b.toml:2: has neither keep_days nor default; say how long articles stay",
        ),
        (
            "keep_days = 1\ndefault = 1",
            "b.toml:2: has both keep_days and default, which mean the same; leave one out",
        ),
        (
            "keep_days = 9\nhigh = 8",
            "b.toml:2: dates out of order: default 9 is more than high 8",
        ),
        (
            "keep_days = 9\nflat = true",
            "b.toml:2: is flat but has no archive",
        ),
        (
            "keep_days = 9\narchive = \"@\"",
            "b.toml:2: archives to `@', but no archive directory is set (expire -a, or archive_directory)",
        ),
        (
            "keep_days = 9\narchive = \"\"",
            "b.toml:2: has `' in place of an archive directory, `-' or `@'",
        ),
    ] {
        assert_eq!(rule(rest), want);
    }
    for patterns in ["\"\"", "[]", "\"a b\"", "\"/bounds/\""] {
        let text = format!("[[expire]]\npatterns = {patterns}\nkeep_days = 1\n");
        assert!(
            fault(&text).starts_with("b.toml:1: patterns `"),
            "{patterns}: {}",
            fault(&text)
        );
    }
}

#[test]
fn unknown_keys_and_wrong_values_are_errors_with_their_position() {
    for (line, text) in [
        (
            "broadsheet.toml:3:",
            "[[expire]]\npatterns = \"all\"\nkeepdays = 1\n",
        ),
        (
            "broadsheet.toml:3:",
            "[[expire]]\npatterns = \"all\"\nkeep_days = -1\n",
        ),
        (
            "broadsheet.toml:3:",
            "[[expire]]\npatterns = \"all\"\nkeep_days = \"soon\"\n",
        ),
        (
            "broadsheet.toml:3:",
            "[[expire]]\npatterns = \"all\"\nkeep_days = nan\n",
        ),
        (
            "broadsheet.toml:3:",
            "[[expire]]\npatterns = \"all\"\nmoderation = \"m\"\n",
        ),
        ("broadsheet.toml:1:", "[[expire]]\nkeep_days = 1\n"),
        ("broadsheet.toml:2:", "[expiry]\nkeep_free = \"20 G\"\n"),
        ("broadsheet.toml:2:", "[expiry]\nmax_size = -1\n"),
        ("broadsheet.toml:2:", "[expiry]\nbounds = { lo = 1 }\n"),
    ] {
        let fault = fault(text);
        assert!(fault.starts_with(line), "{text}: {fault}");
    }
    assert_eq!(
        fault("[expiry]\nmax_fraction = 60\n"),
        "broadsheet.toml:2:16: expiry.max_fraction is 60; it is a part of the whole, from 0 to 1"
    );
    for zero in ["0", "0.0", "-0.0"] {
        assert_eq!(
            fault(&format!("[expiry]\nmax_fraction = {zero}\n")),
            "broadsheet.toml:2:16: expiry.max_fraction is 0, with which no run of expire removes anything"
        );
    }
}
