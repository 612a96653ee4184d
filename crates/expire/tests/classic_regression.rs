//! The policy half of the original's regression for expire: its clock (10000),
//! its groups and its control lines, with exact results for every kind of line.
//! Times in days: 0.01 = 864 s, 0.05 = 4320, 0.08 = 6912, 0.1 = 8640, 0.11 = 9504;
//! so the cut-offs are 9136, 5680, 3088, 1360 and 496.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // helpers of tests, too

use expire::policy::Facts;
use expire::{Cutoffs, Explist, Layout, Policy, Verdict};
use groups::{Active, GroupId};

const NOW: i64 = 10_000;

const EXPLIST: &str = "\
# what history remembers
/expired/	x	0.08	-
/bounds/	x	0.01-0.1-0.11	-

bar,!bar.ugh	x	0.05	arch2
mod	m	0.1	@
mod	u	0.05	-
urp	x	0.01-0.05-0.1	-
bletch	x	0.1	=arch3/bletch
nosuch.group	x	0.1	-
all	x	0.1	@
";

const ACTIVE: &[u8] = b"\
foo 0000000110 00099 y
bar 0000000110 00099 m
bar.ugh 0000000110 00099 m
urp 0000000110 00099 y
mod.mod 0000000110 00099 m
mod.unmod 0000000110 00099 y
bletch 0000000110 00099 y
";

fn compiled() -> (Policy, Vec<expire::Warning>, Active) {
    let active = Active::parse(ACTIVE.to_vec()).unwrap();
    let list = Explist::parse(EXPLIST.as_bytes(), "explist", Some(b"arch1")).unwrap();
    let (policy, warnings) = Policy::compile(list, &active).unwrap();
    (policy, warnings, active)
}

fn group(active: &Active, name: &str) -> GroupId {
    active.find(name.as_bytes()).unwrap()
}

/// `keep`, `remove`, or `remove to DIRECTORY`.
fn outcome(policy: &Policy, id: GroupId, arrival: i64, expires: Option<i64>) -> String {
    let facts = Facts {
        arrival,
        expires,
        expires_unreadable: false,
    };
    match policy.decide(facts, id, NOW).verdict {
        Verdict::Keep => "keep".to_owned(),
        Verdict::Remove { archive: None } => "remove".to_owned(),
        Verdict::Remove {
            archive: Some(archive),
        } => {
            let flat = if archive.layout == Layout::Flat {
                "="
            } else {
                ""
            };
            format!("remove to {flat}{}", String::from_utf8_lossy(&archive.path))
        }
    }
}

#[test]
fn one_unused_line_gives_one_warning_with_its_number() {
    let (_, warnings, _) = compiled();
    let texts: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["explist:10: `nosuch.group' rules no group"]);
}

#[test]
fn each_group_has_its_line_and_dates() {
    let (policy, _, active) = compiled();
    for (name, line, dates) in [
        ("foo", 11, "0.01-0.1-0.11"),
        ("bar", 5, "0.01-0.05-0.11"),
        ("bar.ugh", 11, "0.01-0.1-0.11"),
        ("urp", 8, "0.01-0.05-0.1"),
        ("mod.mod", 6, "0.01-0.1-0.11"),
        ("mod.unmod", 7, "0.01-0.05-0.11"),
        ("bletch", 9, "0.01-0.1-0.11"),
    ] {
        let rule = policy.rule(group(&active, name)).unwrap();
        assert_eq!(
            (rule.line, rule.dates.to_string().as_str()),
            (line, dates),
            "{name}"
        );
    }
}

#[test]
fn cutoffs_are_exact() {
    let (policy, _, active) = compiled();
    for (name, high, default, low) in [
        ("foo", 497, 1_360, 9_136),
        ("bar", 497, 5_680, 9_136),
        ("urp", 1_361, 5_680, 9_136),
    ] {
        let want = Cutoffs { high, default, low };
        assert_eq!(policy.cutoffs(group(&active, name), NOW), want, "{name}");
    }
}

#[test]
fn every_kind_of_line_has_its_exact_result() {
    let (policy, _, active) = compiled();
    for (name, arrival, expires, want) in [
        // Recent.
        ("foo", 9_500, None, "keep"),
        // By default, at both sides of the cut-off.
        ("foo", 1_360, None, "keep"),
        ("foo", 1_359, None, "remove to arch1"),
        ("bar", 5_680, None, "keep"),
        ("bar", 5_679, None, "remove to arch2"),
        ("bar.ugh", 5_679, None, "keep"),
        ("bar.ugh", 1_359, None, "remove to arch1"),
        ("mod.mod", 5_679, None, "keep"),
        ("mod.mod", 1_359, None, "remove to arch1"),
        ("mod.unmod", 5_680, None, "keep"),
        ("mod.unmod", 5_679, None, "remove"),
        ("bletch", 1_359, None, "remove to =arch3/bletch"),
        ("urp", 5_679, None, "remove"),
        // Explicit date in the past, today, in the future.
        ("foo", 9_000, Some(9_999), "remove to arch1"),
        ("foo", 9_000, Some(10_000), "remove to arch1"),
        ("foo", 9_000, Some(10_001), "keep"),
        // Too young to be removed, whatever its Expires.
        ("foo", 9_136, Some(1), "keep"),
        ("foo", 9_135, Some(1), "remove to arch1"),
        // Older than the default, but its Expires is later.
        ("foo", 600, Some(20_000), "keep"),
        ("urp", 1_361, Some(20_000), "keep"),
        // Too old to be kept, whatever its Expires.
        ("foo", 497, Some(20_000), "keep"),
        ("foo", 496, Some(20_000), "remove to arch1"),
        ("urp", 1_360, Some(20_000), "remove"),
        // Trash, and a date that cannot be read.
        ("foo", 0, Some(0), "remove to arch1"),
        ("foo", -1, None, "remove to arch1"),
        // Clock set back.
        ("foo", 10_001, Some(1), "keep"),
    ] {
        let got = outcome(&policy, group(&active, name), arrival, expires);
        assert_eq!(got, want, "{name} {arrival} {expires:?}");
    }
}

#[test]
fn a_cross_posted_article_is_removed_from_one_group() {
    let (policy, _, active) = compiled();
    let left: Vec<_> = ["bar/99", "bar.ugh/99", "foo/103", "urp/99"]
        .into_iter()
        .filter(|link| {
            let (name, _) = link.split_once('/').unwrap();
            outcome(&policy, group(&active, name), 2_000, None) == "keep"
        })
        .collect();
    assert_eq!(left, ["bar.ugh/99", "foo/103"]);
}

#[test]
fn a_file_outside_any_group_counts_as_unmoderated() {
    let (policy, _, _) = compiled();
    assert_eq!(policy.rule_of_name(b"elsewhere", false).unwrap().line, 11);
    assert_eq!(policy.rule_of_name(b"mod.gone", false).unwrap().line, 7);
}

#[test]
fn history_is_kept_for_its_own_time() {
    let (policy, _, active) = compiled();
    // 0.08 days behind the longest life, 0.1 days.
    let later = NOW + 200_000;
    assert_eq!(policy.forget_before(later), later - 6_912 - 8_640);
    let list = Explist::parse(b"all x 0.1 -\n", "explist", None).unwrap();
    let (policy, _) = Policy::compile(list, &active).unwrap();
    assert_eq!(policy.forget_before(NOW), i64::MAX);
}

#[test]
fn a_group_without_a_line_is_a_fatal_error_with_its_name() {
    let active = Active::parse(ACTIVE.to_vec()).unwrap();
    let list = Explist::parse(
        b"bar,foo x 1 -\nmod m 1 -\nurp,bletch x 1 -\n",
        "explist",
        None,
    )
    .unwrap();
    let error = Policy::compile(list, &active).err().unwrap().to_string();
    assert!(
        error.starts_with("explist: no line covers group `mod.unmod';"),
        "{error}"
    );
}

#[test]
fn even_never_drops_what_arrived_at_the_epoch() {
    let (_, _, active) = compiled();
    let list = Explist::parse(
        b"bar x never-never-never -\nall x never -\n",
        "explist",
        None,
    )
    .unwrap();
    let (policy, _) = Policy::compile(list, &active).unwrap();
    assert_eq!(outcome(&policy, group(&active, "foo"), 0, None), "remove");
    assert_eq!(outcome(&policy, group(&active, "foo"), 1, None), "keep");
    // Unless even its low is never.
    assert_eq!(outcome(&policy, group(&active, "bar"), 0, None), "keep");
}
