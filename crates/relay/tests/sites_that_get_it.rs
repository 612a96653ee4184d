//! Which sites an article is sent to.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use newsdir::{ACTIVE, Newsdir, article};

/// The sites on the `+` line of an article with this Path and these header lines.
fn sites(sys: &str, path: &str, newsgroups: &str, more: &[&str]) -> String {
    let newsdir = Newsdir::with(ACTIVE, &format!("ME:all/all::\n{sys}"));
    let text = article("<1@a>", newsgroups, more).replace("near.example!user", path);
    newsdir.file(&[&text]);
    let log = newsdir.log();
    let line = log.last().unwrap();
    let (_, sites) = line.split_once("<1@a>").expect(line);
    sites.trim_start().to_owned()
}

#[test]
fn in_the_order_of_sys_each_once() {
    let sys = "b:all/all:f:\na:all/all::\nb:comp/all:f:\nc:misc/all::\n";
    assert_eq!(sites(sys, "near!user", "comp.std", &[]), "b a");
}

#[test]
fn each_way_to_a_site_has_a_name_of_its_own() {
    let sys = "b:all/all::\na:all/all::\nb:comp/all:f:\nb:comp/all::\n";
    assert_eq!(sites(sys, "near!user", "comp.std", &[]), "b a b:2");
    assert_eq!(sites(sys, "near!b!user", "comp.std", &[]), "a");
}

#[test]
fn not_to_sites_in_path_nor_where_they_are_excluded() {
    let sys = "a:all/all::\nb/a,x:all/all::\nc:all/all::\n";
    for (path, wanted) in [
        ("near!user", "a b c"),
        ("near!a!user", "c"),
        ("near!x!user", "a c"),
        ("near!a.b!user", "a b c"),
        ("near!c!b!user", "a"),
        // The last component is the user.
        ("near!a", "a b c"),
    ] {
        assert_eq!(sites(sys, path, "comp.std", &[]), wanted, "{path}");
    }
}

#[test]
fn names_with_odd_characters_are_found_in_path() {
    let sys = "a_b:all/all::\nc/d_e:all/all::\n";
    assert_eq!(sites(sys, "near!user", "comp.std", &[]), "a_b c");
    assert_eq!(sites(sys, "near!a_b!user", "comp.std", &[]), "c");
    assert_eq!(sites(sys, "d_e!near!user", "comp.std", &[]), "a_b");
}

#[test]
fn the_way_to_the_moderator_does_not_count() {
    let sys = "a:all/all::\nmod:all/all::\n";
    let approved = ["Approved: who@mod"];
    let path = "near!mod!a!user";
    assert_eq!(sites(sys, path, "comp.mod", &approved), "a");
    assert_eq!(sites(sys, path, "comp.std", &[]), "");
}

#[test]
fn not_to_ourselves() {
    let sys = "us.example:all/all::\nME:all/all::\na:all/all::\n";
    assert_eq!(sites(sys, "near!user", "comp.std", &[]), "a");
}

#[test]
fn newsgroups_and_distribution_must_both_match() {
    let sys = "a:comp/world::\nb:comp/na::\nc:comp/all,!na::\nd:comp::\n";
    for (distribution, wanted) in [
        ("X-None: x", "a c"),
        ("Distribution: na", "b"),
        ("Distribution: na,world", "a b c"),
        ("Distribution: comp", "c d"),
    ] {
        assert_eq!(
            sites(sys, "near!user", "comp.std", &[distribution]),
            wanted,
            "{distribution}"
        );
    }
}

#[test]
fn hops() {
    let sys = "zero:all/all:L:\none:all/all:L1:\nany:all/all::\n";
    assert_eq!(sites(sys, "user", "comp.std", &[]), "zero one any");
    assert_eq!(sites(sys, "near!user", "comp.std", &[]), "one any");
    assert_eq!(sites(sys, "x!near!user", "comp.std", &[]), "any");
}

#[test]
fn moderated_and_unmoderated() {
    let sys = "m:all/all:m:\nu:all/all:u:\nboth:all/all:mu:\n";
    let approved = ["Approved: mod@near"];
    assert_eq!(sites(sys, "near!user", "comp.std", &approved), "u both");
    assert_eq!(
        sites(sys, "near!user", "comp.std,comp.mod", &approved),
        "m both"
    );
}

#[test]
fn by_groups_that_are_not_in_active() {
    let sys = "a:alt/all::\nb:misc/all::\n";
    assert_eq!(sites(sys, "near!user", "comp.std,alt.none", &[]), "a");
}

#[test]
fn a_path_of_one_host_ten_thousand_times_costs_no_product() {
    // Thousands of lines that exclude the host, as many that do not: minutes, if Path's hosts and the
    // lines were multiplied.
    let mut sys = String::new();
    for site in 0..1_000 {
        sys.push_str(&format!("out{site}/hub:all/all::\nin{site}:all/all::\n"));
    }
    let path = format!("{}user", "hub!".repeat(12_000));
    let sites = sites(&sys, &path, "comp.std", &[]);
    // The log cuts a long text; its beginning is enough.
    assert!(sites.starts_with("in0 in1 in2 "), "{sites}");
    assert!(!sites.contains("out"));
}

#[test]
fn a_site_of_many_lines_is_named_once() {
    let sys =
        "b/x:comp/all::\na:all/all::\nb:all/all::\n".to_owned() + &"a:comp/all::\n".repeat(50);
    assert_eq!(sites(&sys, "near!user", "comp.std", &[]), "b a");
    // The first line of b drops out, the second does not.
    assert_eq!(sites(&sys, "near!x!user", "comp.std", &[]), "a b");
}
