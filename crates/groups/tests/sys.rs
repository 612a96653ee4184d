//! The `sys` file.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use groups::Sys;
use groups::sys::{Batch, LineFault};
use proptest::prelude::*;

const SAMPLE: &str = "\
# who gets what
ME:comp,news,local/all::

north/northeast,backbone:comp,\\
\t !comp.sys,\\
   news/world,na:f:
south:all:FL2m:south.d/togo
east:news:I:/var/feeds/east
west:rec:n:
mail:local.all:u:mail -s news%% -f %s admin
plain:comp:
bare
us.example:junk:L:
south:alt/all:Lm u:
";

fn parse(text: &str) -> Result<Sys, groups::SysFault> {
    Sys::parse(text.as_bytes(), b"us.example")
}

#[test]
fn lines_are_read() {
    let sys = parse(&SAMPLE.replace("Lm u", "Lmu")).expect("a good file");
    let sites = sys.sites();
    let names: Vec<_> = sites
        .iter()
        .map(|site| site.name.escape_ascii().to_string())
        .collect();
    assert_eq!(
        names,
        [
            "us.example",
            "north",
            "south",
            "east",
            "west",
            "mail",
            "plain",
            "bare",
            "us.example",
            "south"
        ]
    );
    let lines: Vec<_> = sites.iter().map(|site| site.line).collect();
    assert_eq!(lines, [2, 4, 7, 8, 9, 10, 11, 12, 13, 14]);
    assert!(sites[0].is_me && sites[8].is_me && !sites[1].is_me);
    assert!(sys.subscription().matches(b"local.x"));
    assert!(!sys.subscription().matches(b"junk"));

    let north = &sites[1];
    assert_eq!(
        north.exclusions,
        [b"northeast".to_vec(), b"backbone".to_vec()]
    );
    assert!(north.subs.matches(b"comp.lang.c") && north.subs.matches(b"news.misc"));
    assert!(!north.subs.matches(b"comp.sys.mac"));
    assert!(
        north
            .dists
            .as_ref()
            .is_some_and(|dists| dists.matches(b"na"))
    );
    assert_eq!(north.flags.batch, Some(Batch::NameSize));
    assert_eq!(
        north.batch_file().as_deref(),
        Some(&b"out.going/north/togo"[..])
    );
    assert_eq!(north.command(), None);

    let south = &sites[2];
    assert_eq!(south.flags.hops_max, Some(2));
    assert!(south.flags.moderated && !south.flags.unmoderated);
    assert!(south.dists.is_none());
    assert_eq!(
        south.batch_file().as_deref(),
        Some(&b"out.going/south.d/togo"[..])
    );
    assert_eq!(
        sites[3].batch_file().as_deref(),
        Some(&b"/var/feeds/east"[..])
    );
    assert_eq!(sites[3].flags.batch, Some(Batch::Id));
    assert_eq!(sites[4].flags.batch, Some(Batch::NameId));
    assert_eq!(
        sites[5].command().as_deref(),
        Some(&b"mail -s news%% -f %s admin"[..])
    );
    assert_eq!(sites[5].batch_file(), None);
    assert_eq!(
        sites[6].command().as_deref(),
        Some(&b"uux - -r -z plain!rnews"[..])
    );
    assert!(!sites[7].subs.matches(b"comp"));
    assert_eq!(sites[8].flags.hops_max, Some(0));
    assert!(sites[9].flags.moderated && sites[9].flags.unmoderated);
}

#[test]
fn without_a_line_for_us_everything_is_accepted() {
    let sys = parse("north:comp:f:\n").expect("a good file");
    assert!(sys.subscription().matches(b"any.group"));
    assert!(parse("").expect("no lines").sites().is_empty());
}

#[test]
fn a_command_keeps_its_colons_and_a_comment_its_continuation() {
    let sys = parse("#a:b\\\n c d:e\nx:comp::sh a:b:c | d \nlast:comp:f:\\").expect("a good file");
    assert_eq!(sys.sites()[0].command, b"sh a:b:c | d");
    assert_eq!(sys.sites()[1].name, b"last");
}

#[test]
fn faults_name_the_line_and_what_to_do() {
    let long = format!("x:{}:f:", "a,".repeat(1 << 19));
    for (text, line, fault) in [
        (SAMPLE, 14, LineFault::Blank("flags")),
        ("a:comp:f:\n b:comp:f:\n", 2, LineFault::Blank("name")),
        ("a:comp, news:f:\n", 1, LineFault::Blank("subscription")),
        ("\n#\na:\\\ncomp/b/c:f:\n", 3, LineFault::SecondSlash),
        (":comp:f:\n", 1, LineFault::NoName),
        ("/x:comp:f:\n", 1, LineFault::NoName),
        ("..:comp:f:\n", 1, LineFault::BadName("..".into())),
        ("a:comp:fA:\n", 1, LineFault::UnknownFlag("A".into())),
        ("a:comp:N:\n", 1, LineFault::UnknownFlag("N".into())),
        ("a:comp:H:\n", 1, LineFault::UnknownFlag("H".into())),
        ("a:comp:S:\n", 1, LineFault::UnknownFlag("S".into())),
        ("a:comp:M:\n", 1, LineFault::UnknownFlag("M".into())),
        ("a:comp:O:\n", 1, LineFault::UnknownFlag("O".into())),
        ("a:comp:f3:\n", 1, LineFault::UnknownFlag("3".into())),
        ("a:comp:L4294967296:\n", 1, LineFault::HopsTooMany),
        ("a:comp::cat %s %s\n", 1, LineFault::Percent),
        ("a:comp::cat %d\n", 1, LineFault::Percent),
        ("a:comp::cat %\n", 1, LineFault::Percent),
        (&long, 1, LineFault::TooLong),
    ] {
        let found = parse(text).expect_err(text);
        assert_eq!((found.line, found.fault), (line, fault));
    }
    let shown = parse("a:comp:f:\nb:comp:fA:\n")
        .expect_err("flag A")
        .to_string();
    assert!(
        shown.starts_with("sys line 2: unknown flag `A'; use f, F"),
        "{shown}"
    );
    // Letters that mean nothing any more are let be.
    assert!(parse("a:comp:BUf:\n").is_ok());
}

proptest! {
    #[test]
    fn any_bytes_do(text in prop::collection::vec(
        prop_oneof![5 => prop::sample::select(b"ab:/,\\\n #fLm9%s".to_vec()), 1 => any::<u8>()], 0..200)
    ) {
        if let Ok(sys) = Sys::parse(&text, b"a") {
            for site in sys.sites() {
                prop_assert!(!site.name.is_empty());
                prop_assert!(site.batch_file().is_some() != site.command().is_some());
            }
        }
    }
}
