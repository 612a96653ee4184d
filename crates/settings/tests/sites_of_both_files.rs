//! `sys` and `[[site]]` together: one model.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use groups::{Active, Flag, Matrix, SiteSet, Sites};
use proptest::prelude::*;

const ME: &[u8] = b"us.example";

fn table(name: &str) -> String {
    format!("[[site]]\nname = \"{name}\"\ngroups = \"all\"\nvia = \"batchparms\"\n")
}

fn read(sys: &str, toml: &str) -> Result<Sites, String> {
    let tables = settings::sites(toml).unwrap();
    Sites::read(sys.as_bytes(), &tables, ME).map_err(|fault| fault.to_string())
}

#[test]
fn tables_come_after_the_lines_of_sys() {
    let sites = read(
        "ME:comp::\nb:all:f:\na:all:f:\n",
        &(table("d") + &table("c")),
    )
    .unwrap();
    let told: Vec<String> = sites
        .feeds()
        .map(|(feed, site)| format!("{} {}", feed.escape_ascii(), site.place))
        .collect();
    let want = [
        "b sys:2",
        "a sys:3",
        "d broadsheet.toml:2:8",
        "c broadsheet.toml:6:8",
    ];
    assert_eq!(told, want);
    assert!(sites.subscription().matches(b"comp.x") && !sites.subscription().matches(b"alt"));
    assert_eq!(sites.subscription_place().unwrap().to_string(), "sys:1");
}

#[test]
fn accept_or_the_line_me_sets_the_accepted_groups() {
    let sites = read("", "accept = \"comp\"\n").unwrap();
    assert!(sites.subscription().matches(b"comp.x") && !sites.subscription().matches(b"alt"));
    let sites = read("a:comp:f:\n", "").unwrap();
    assert!(sites.subscription().matches(b"alt") && sites.subscription_place().is_none());
    assert_eq!(
        read("\nME:all::\n", "\naccept = \"comp\"\n").unwrap_err(),
        "broadsheet.toml:2:1: the groups that this site accepts are already set at sys:2; remove one of them"
    );
}

#[test]
fn a_name_in_both_files_is_reported_with_both_positions() {
    assert_eq!(
        read("#\nb:all:f:\nb:alt:f:\n", &table("b")).unwrap_err(),
        "broadsheet.toml:2:8: site `b' is already defined at sys:2; remove one of them"
    );
    assert_eq!(
        read("", &(table("b") + &table("b"))).unwrap_err(),
        "broadsheet.toml:6:8: site `b' is already defined at broadsheet.toml:2:8; remove one of them"
    );
    for own in ["us.example", "ME"] {
        let told = read("", &table(own)).unwrap_err();
        let want =
            format!("broadsheet.toml:2:8: site `{own}' is this system itself; set what it accepts");
        assert!(told.starts_with(&want), "{told}");
    }
    assert_eq!(
        read("a:all:Z:\n", "").unwrap_err(),
        "sys line 1: unknown flag `Z'; the flags are f, F, I, n, Ln, m and u"
    );
}

const GROUP: &str = "(a|b|c)(\\.(a|b|all)){0,2}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn an_equivalent_line_and_table_select_the_same_articles(
        sites in prop::collection::vec((
            "!?(a|b|c|all|world)(\\.(a|b|all)){0,2}(,!?(a|b|c|all|world)(\\.(a|b)){0,2}){0,3}",
            prop::option::of("!?(world|na|all)(,!?(world|na|all)){0,2}"),
            "|m|u",
            prop::option::of(0u32..4),
            prop::collection::vec("[a-z]{1,3}", 0..3),
        ), 0..80),
        own in prop::option::of("(a|b|c|all)(\\.(a|b))?"),
        articles in prop::collection::vec((
            prop::collection::vec(GROUP, 0..5),
            prop::option::of("(world|na|a|x,na|b\\.a)"),
            any::<bool>(),
        ), 1..20),
    ) {
        let (mut lines, mut tables) = (String::new(), String::new());
        if let Some(own) = &own {
            lines += &format!("ME:{own}::\n");
            tables += &format!("accept = \"{own}\"\n");
        }
        for (number, (groups, dists, only, hops, exclude)) in sites.iter().enumerate() {
            let hops_flag = hops.map_or(String::new(), |hops| format!("L{hops}"));
            let slash = dists.as_ref().map_or(String::new(), |dists| format!("/{dists}"));
            let excluded = exclude.join(",");
            lines += &format!("s{number}/{excluded}:{groups}{slash}:f{only}{hops_flag}:\n");
            // In sys, Distribution is matched with the groups if no distributions are given.
            let dists = dists.as_ref().unwrap_or(groups);
            tables += &format!("[[site]]\nname = \"s{number}\"\ngroups = \"{groups}\"\ndistributions = \"{dists}\"\n");
            tables += &format!("exclude = {exclude:?}\nvia = \"batchparms\"\n");
            match only.as_str() {
                "m" => tables += "only = \"moderated\"\n",
                "u" => tables += "only = \"unmoderated\"\n",
                _ => {}
            }
            if let Some(hops) = hops {
                tables += &format!("hops = {hops}\n");
            }
        }
        let (lines, tables) = (read(&lines, "").unwrap(), read("", &tables).unwrap());
        // The line for this site is separate.
        let shift = usize::from(own.is_some());
        prop_assert_eq!(lines.sites().len(), tables.sites().len() + shift);
        for (line, table) in lines.sites()[shift..].iter().zip(tables.sites()) {
            prop_assert_eq!((&line.name, &line.exclusions), (&table.name, &table.exclusions));
            prop_assert_eq!((line.hops_max, line.only), (table.hops_max, table.only));
            prop_assert_eq!((&line.via, &line.start), (&table.via, &table.start));
        }
        let mut active = Active::empty();
        active.add(b"a.b", Flag::Open).unwrap();
        let (mut of_lines, mut of_tables) = (Matrix::new(&active, &lines), Matrix::new(&active, &tables));
        let (mut one, mut other) = (SiteSet::new(), SiteSet::new());
        for (groups, distribution, moderated) in &articles {
            let ids: Vec<_> = groups.iter().filter_map(|name| active.find(name.as_bytes())).collect();
            let unknown: Vec<&[u8]> = groups.iter().map(|name| name.as_bytes())
                .filter(|name| active.find(name).is_none()).collect();
            let distribution = distribution.as_ref().map(|value| value.as_bytes());
            of_lines.select(&active, &ids, &unknown, distribution, *moderated, &mut one);
            of_tables.select(&active, &ids, &unknown, distribution, *moderated, &mut other);
            prop_assert_eq!(one.contains(0), other.contains(0));
            let names = |sites: &Sites, bits: &SiteSet| -> Vec<Vec<u8>> {
                bits.sites().map(|site| sites.sites()[site].name.clone()).collect()
            };
            prop_assert_eq!(names(&lines, &one), names(&tables, &other));
        }
    }
}
