//! The matrix selects the same sites as matching each line of `sys` separately.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use groups::matrix::{CACHED_NAME_BYTES_MAX, CACHED_ROWS_MAX};
use groups::wildmat::WildmatResult;
use groups::{Active, Flag, Matrix, Pattern, SiteSet, Sites};
use proptest::prelude::*;

const ACTIVE: &str = "\
comp.a 0 1 y
comp.b 0 1 m
news.a 0 1 y
alt.x 0 1 =comp.a
";

const SYS: &str = "\
ME:comp,news::
all:all,world/all:f:
comp:comp,world:f:
nodists:comp:f:
local:comp/local:f:
mod:comp/world:fm:
unmod:comp/world:fu:
both:comp/world:fmu:
";

/// Names of the selected lines, `me` for bit 0.
fn selected(groups: &[&str], distribution: Option<&str>, moderated: bool) -> String {
    let active = Active::parse(ACTIVE.into()).unwrap();
    let sys = Sites::parse(SYS.as_bytes(), b"here").unwrap();
    let mut matrix = Matrix::new(&active, &sys);
    select(&mut matrix, &active, &sys, groups, distribution, moderated)
}

fn select(
    matrix: &mut Matrix,
    active: &Active,
    sys: &Sites,
    groups: &[&str],
    distribution: Option<&str>,
    moderated: bool,
) -> String {
    let found = groups
        .iter()
        .map(|name| (name, active.find(name.as_bytes())));
    let (known, unknown): (Vec<_>, Vec<_>) = found.partition(|(_, id)| id.is_some());
    let known: Vec<_> = known.into_iter().filter_map(|(_, id)| id).collect();
    let unknown: Vec<&[u8]> = unknown
        .into_iter()
        .map(|(name, _)| name.as_bytes())
        .collect();
    let mut out = SiteSet::new();
    let distribution = distribution.map(str::as_bytes);
    matrix.select(active, &known, &unknown, distribution, moderated, &mut out);
    let me = out.contains(0).then(|| "me".to_string());
    let sites = out
        .sites()
        .map(|site| sys.sites()[site].name.escape_ascii().to_string());
    me.into_iter().chain(sites).collect::<Vec<_>>().join(" ")
}

#[test]
fn both_lists_must_match() {
    assert_eq!(selected(&["comp.a"], None, false), "me all comp unmod both");
    assert_eq!(selected(&["comp.a"], Some("local"), false), "me all local");
    assert_eq!(selected(&["comp.a"], Some("LOCAL"), false), "me all local");
    let not_local = b"groups:all,!Local,Foo:f:\n";
    let sites = Sites::parse(not_local, b"here").unwrap();
    for (distribution, is_wanted) in [("Local", false), ("local", false), ("Foo", true)] {
        assert_eq!(
            slow(&sites, "comp.a", Some(distribution), false).contains(&1),
            is_wanted
        );
        let active = Active::parse(ACTIVE.into()).unwrap();
        let mut matrix = Matrix::new(&active, &sites);
        let mut out = SiteSet::default();
        let group = active.find(b"comp.a").unwrap();
        let value = Some(distribution.as_bytes());
        matrix.select(&active, &[group], &[], value, false, &mut out);
        assert_eq!(out.contains(1), is_wanted, "{distribution}");
    }
    assert_eq!(
        selected(&["comp.a"], Some(" x,\n local "), false),
        "me all local"
    );
    assert_eq!(
        selected(&["comp.a"], Some(""), false),
        "me all comp unmod both"
    );
    assert_eq!(
        selected(&["comp.a"], Some("comp"), false),
        "me all comp nodists"
    );
    assert_eq!(selected(&["news.a"], None, false), "me all");
    assert_eq!(selected(&["alt.none"], None, false), "all");
    assert_eq!(
        selected(&["alt.none", "comp.none"], None, false),
        "me all comp unmod both"
    );
    assert_eq!(selected(&[], None, false), "");
    assert_eq!(selected(&[""], None, false), "");
}

#[test]
fn a_poison_group_keeps_the_whole_article() {
    let active = Active::parse(ACTIVE.into()).unwrap();
    // Before and behind the border of a word of the row.
    for before in [0, 61, 62, 63, 64] {
        let mut text = "ME:all::\n".to_owned();
        (0..before).for_each(|n| text.push_str(&format!("s{n}:none/all:f:\n")));
        text.push_str(
            "plain:all/all:f:\npoison:all,@comp/all:f:\nmore:@comp,all,comp.a/all:f:\nout:all,!comp/all:f:\n",
        );
        let sys = Sites::parse(text.as_bytes(), b"here").unwrap();
        let mut matrix = Matrix::new(&active, &sys);
        for (groups, sites) in [
            (&["news.a"][..], "me plain poison more out"),
            (&["comp.a"], "me plain more"),
            (&["comp.b"], "me plain"),
            (&["news.a", "comp.a"], "me plain more out"),
            (&["news.a", "comp.b"], "me plain out"),
            (&["comp.b", "news.a", "comp.a"], "me plain out"),
            (&["news.a", "comp.none"], "me plain out"),
            // Known rows.
            (&["news.a", "comp.b"], "me plain out"),
        ] {
            let found = select(&mut matrix, &active, &sys, groups, None, false);
            assert_eq!(found, sites, "{groups:?} behind {before} sites");
        }
    }
    // Our own subscription, as ME in newsfeeds of INN.
    let sys = Sites::parse(b"ME:all,@comp.b::\n", b"here").unwrap();
    let mut matrix = Matrix::new(&active, &sys);
    let mut ask = |groups: &[&str]| select(&mut matrix, &active, &sys, groups, None, false);
    assert_eq!(ask(&["comp.a"]), "me");
    assert_eq!(ask(&["comp.a", "comp.b"]), "");
}

#[test]
fn moderated_and_unmoderated_sites() {
    assert_eq!(selected(&["comp.b"], None, true), "me all comp mod both");
    assert_eq!(selected(&["comp.b"], None, false), "me all comp unmod both");
}

#[test]
fn an_alias_is_matched_by_its_own_name() {
    assert_eq!(selected(&["alt.x"], None, false), "all");
}

#[test]
fn rows_are_recomputed_for_another_table_of_groups() {
    let sys = Sites::parse(SYS.as_bytes(), b"here").unwrap();
    let mut active = Active::parse(ACTIVE.into()).unwrap();
    let mut matrix = Matrix::new(&active, &sys);
    let mut ask =
        |active: &Active, group: &str| select(&mut matrix, active, &sys, &[group], None, false);
    assert_eq!(ask(&active, "alt.new"), "all");
    active.add(b"comp.new", Flag::Open).unwrap();
    assert_eq!(ask(&active, "comp.new"), "me all comp unmod both");
    let id = active.find(b"comp.new").unwrap();
    active.remove(id).unwrap();
    assert_eq!(ask(&active, "comp.new"), "me all comp unmod both");
    // In another table the same ids denote other groups.
    let other = Active::parse(b"alt.q 0 1 y\ncomp.q 0 1 y\n".to_vec()).unwrap();
    assert_eq!(ask(&other, "alt.q"), "all");
    assert_eq!(ask(&other, "comp.q"), "me all comp unmod both");
    assert!(matrix.accepts(&other, other.find(b"comp.q").unwrap()));
    assert!(!matrix.accepts(&other, other.find(b"alt.q").unwrap()));
    assert!(matrix.accepts_unknown(b"news.none"));
    assert!(!matrix.accepts_unknown(b"rec.none"));
}

#[test]
fn caches_are_bounded_and_correct() {
    let sys = Sites::parse(SYS.as_bytes(), b"here").unwrap();
    let active = Active::empty();
    let mut matrix = Matrix::new(&active, &sys);
    for number in 0..CACHED_ROWS_MAX * 2 + 10 {
        assert!(matrix.accepts_unknown(format!("comp.n{number}").as_bytes()));
        assert!(!matrix.accepts_unknown(format!("rec.n{number}").as_bytes()));
    }
    let long = "x".repeat(CACHED_NAME_BYTES_MAX);
    assert!(matrix.accepts_unknown(format!("comp.{long}").as_bytes()));
    assert!(!matrix.accepts_unknown(format!("rec.{long}").as_bytes()));
}

/// The sites selected by matching each line of `sys` separately.
fn slow(sys: &Sites, newsgroups: &str, distribution: Option<&str>, moderated: bool) -> Vec<usize> {
    let newsgroups = newsgroups.as_bytes();
    let distribution = distribution
        .filter(|value| !value.is_empty())
        .unwrap_or("world");
    let mut bits = Vec::new();
    let wants = |subs: &Pattern| {
        let mut groups = article::newsgroups::split(newsgroups);
        let is_poison = |group: &[u8]| subs.result(group) == WildmatResult::Poison;
        subs.matches_any(newsgroups) && !groups.any(is_poison)
    };
    if wants(sys.subscription()) {
        bits.push(0);
    }
    for (index, site) in sys.sites().iter().enumerate() {
        let lower = site.subs.in_lower_case();
        let dists = site.dists.as_ref().unwrap_or(&lower);
        let wanted = site.only.accepts(moderated);
        if !site.is_me
            && wanted
            && wants(&site.subs)
            && dists.matches_any(distribution.to_ascii_lowercase().as_bytes())
        {
            bits.push(index + 1);
        }
    }
    bits
}

const GROUP: &str = "(a|b|c)(\\.(a|b|all)){0,2}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn agrees_with_matching_each_line(
        lines in prop::collection::vec((
            "(ME|s|t|u)",
            "([!@]?(a|b|c|all|world)(\\.(a|b|all)){0,2},){0,4}",
            prop::option::of("(!?(world|na|NA|all),){0,2}"),
            "(m|u|L2|f){0,3}",
        ), 0..150),
        known in prop::collection::vec(GROUP, 0..12),
        articles in prop::collection::vec((
            prop::collection::vec(GROUP, 0..5),
            prop::option::of("(|world|World|na|Na|a|x,na|b\\.a)"),
            any::<bool>(),
        ), 1..20),
    ) {
        let mut text = String::new();
        for (name, subs, dists, flags) in &lines {
            let dists = dists.as_ref().map_or(String::new(), |dists| format!("/{dists}"));
            text += &format!("{name}:{subs}{dists}:{flags}:\n");
        }
        let sys = Sites::parse(text.as_bytes(), b"here").unwrap();
        let mut active = Active::empty();
        for name in &known {
            let _ = active.add(name.as_bytes(), Flag::Open);
        }
        let mut matrix = Matrix::new(&active, &sys);
        let mut out = SiteSet::new();
        for (groups, distribution, moderated) in &articles {
            let ids: Vec<_> = groups.iter().filter_map(|name| active.find(name.as_bytes())).collect();
            let unknown: Vec<&[u8]> = groups.iter().map(|name| name.as_bytes())
                .filter(|name| active.find(name).is_none()).collect();
            let distribution = distribution.as_deref();
            matrix.select(&active, &ids, &unknown, distribution.map(str::as_bytes), *moderated, &mut out);
            let expected = slow(&sys, &groups.join(","), distribution, *moderated);
            prop_assert_eq!(out.ones().collect::<Vec<_>>(), expected.clone());
            for bit in 0..=sys.sites().len() {
                prop_assert_eq!(out.contains(bit), expected.contains(&bit));
            }
        }
    }
}
