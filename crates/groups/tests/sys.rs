//! The `sys` file.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use std::path::Path;

use groups::command_line::CommandError;
use groups::sites::{BatchVia, ListForm, Only, Start, Via};
use groups::sys::SysLineError;
use groups::{Site, Sites, SitesError, SysError};
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

fn parse(text: &str) -> Result<Sites, SysError> {
    Sites::parse(text.as_bytes(), b"us.example").map_err(|error| match error {
        SitesError::Sys(error) => error,
        other => panic!("{other}"),
    })
}

/// Form and path of a file list.
fn list(site: &Site) -> (ListForm, &Path) {
    match &site.via {
        Via::FileList { form, path } => (*form, path),
        other => panic!("{other:?}"),
    }
}

/// A command's words, with `|` between.
fn command(site: &Site) -> String {
    match &site.via {
        Via::Command(command) => command.words().join(&b'|').escape_ascii().to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_are_parsed() {
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
    let lines: Vec<_> = sites.iter().map(|site| site.place.line).collect();
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
    assert_eq!(north.via, Via::Batch(BatchVia::default()));
    assert_eq!((north.size_max, north.start), (None, Start::Now));
    assert_eq!(north.place.to_string(), "sys:4");

    let south = &sites[2];
    assert_eq!(south.hops_max, Some(2));
    assert_eq!(south.only, Only::Moderated);
    assert!(south.dists.is_none());
    let togo = Path::new("out.going/south.d/togo");
    assert_eq!(list(south), (ListForm::Name, togo));
    assert_eq!(
        list(&sites[3]),
        (ListForm::Id, Path::new("/var/feeds/east"))
    );
    assert_eq!(sites[4].via, Via::Batch(BatchVia::default()));
    assert_eq!(command(&sites[5]), "mail|-s|news%%|-f|%s|admin");
    assert_eq!(sites[5].only, Only::Unmoderated);
    assert_eq!(command(&sites[6]), "uux|-|-r|-z|plain!rnews");
    assert!(!sites[7].subs.matches(b"comp"));
    assert_eq!(sites[8].hops_max, Some(0));
    assert_eq!(sites[9].only, Only::Any);
}

#[test]
fn each_further_way_to_a_site_is_a_feed_of_its_own() {
    let text = "a:comp:f:\nb:comp:F:x\na:news:F:x\nME:all::\na:alt:n:\na:rec:F:x\n";
    let sites = parse(text).unwrap();
    let names: Vec<_> = (0..6)
        .map(|index| sites.feed_name(index).escape_ascii().to_string())
        .collect();
    assert_eq!(names, ["a", "b", "a:2", "us.example", "a", "a:2"]);
    let feeds: Vec<_> = sites
        .feeds()
        .map(|(feed, site)| (feed.escape_ascii().to_string(), site.place.line))
        .collect();
    let want = [("a", 1), ("b", 2), ("a:2", 3)];
    assert_eq!(feeds, want.map(|(feed, line)| (feed.to_owned(), line)));
    assert_eq!(sites.feed(b"a:2").unwrap().place.line, 3);
    assert!(sites.feed(b"us.example").is_none() && sites.feed(b"a:3").is_none());
}

#[test]
fn without_a_line_for_us_everything_is_accepted() {
    let sys = parse("north:comp:f:\n").expect("a good file");
    assert!(sys.subscription().matches(b"any.group"));
    assert!(parse("").expect("no lines").sites().is_empty());
}

#[test]
fn a_command_keeps_its_colons_and_a_comment_its_continuation() {
    let sites = parse("#a:b\\\n c d:e\nx:comp::sh -c 'a:b:c | d' \nlast:comp:f:\\").expect("good");
    assert_eq!(command(&sites.sites()[0]), "sh|-c|a:b:c | d");
    assert_eq!(sites.sites()[1].name, b"last");
}

#[test]
fn errors_contain_the_line_and_the_remedy() {
    let long = format!("x:{}:f:", "a,".repeat(1 << 19));
    for (text, line, error) in [
        (SAMPLE, 14, SysLineError::Blank("flags")),
        ("a:comp:f:\n b:comp:f:\n", 2, SysLineError::Blank("name")),
        ("a:comp, news:f:\n", 1, SysLineError::Blank("subscription")),
        ("\n#\na:\\\ncomp/b/c:f:\n", 3, SysLineError::SecondSlash),
        (":comp:f:\n", 1, SysLineError::NoName),
        ("/x:comp:f:\n", 1, SysLineError::NoName),
        ("..:comp:f:\n", 1, SysLineError::BadName("..".into())),
        ("a:comp:fA:\n", 1, SysLineError::UnknownFlag("A".into())),
        ("a:comp:N:\n", 1, SysLineError::UnknownFlag("N".into())),
        ("a:comp:H:\n", 1, SysLineError::UnknownFlag("H".into())),
        ("a:comp:S:\n", 1, SysLineError::UnknownFlag("S".into())),
        ("a:comp:M:\n", 1, SysLineError::UnknownFlag("M".into())),
        ("a:comp:O:\n", 1, SysLineError::UnknownFlag("O".into())),
        ("a:comp:f3:\n", 1, SysLineError::UnknownFlag("3".into())),
        ("a:comp:L4294967296:\n", 1, SysLineError::HopsTooMany),
        ("a:comp::cat %s %s\n", 1, SysLineError::Percent),
        ("a:comp::cat %d\n", 1, SysLineError::Percent),
        ("a:comp::cat %\n", 1, SysLineError::Percent),
        (
            "a:comp::cat >x\n",
            1,
            SysLineError::Command(CommandError::NeedsShell('>')),
        ),
        (
            "a:comp::cat 'x\n",
            1,
            SysLineError::Command(CommandError::OpenQuote),
        ),
        (&long, 1, SysLineError::TooLong),
    ] {
        let found = parse(text).expect_err(text);
        assert_eq!((found.line, found.error), (line, error));
    }
    let shown = parse("a:comp:f:\nb:comp:fA:\n")
        .expect_err("flag A")
        .to_string();
    assert!(
        shown.starts_with("sys line 2: unknown flag `A'; the flags are f, F"),
        "{shown}"
    );
    // Obsolete flags are ignored.
    assert!(parse("a:comp:BUf:\n").is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_parsed(text in prop::collection::vec(
        prop_oneof![5 => prop::sample::select(b"ab:/,\\\n #fLm9%s".to_vec()), 1 => any::<u8>()], 0..200)
    ) {
        if let Ok(sys) = Sites::parse(&text, b"a") {
            for site in sys.sites() {
                prop_assert!(!site.name.is_empty());
            }
        }
    }
}

/// An empty file field means this file in C News; sendbatches sends what it lists.
#[test]
fn the_default_batch_file_may_be_named() {
    let sites = Sites::parse(b"ME:all\nb:all:f:b/togo\nc:all:f:b/togo\n", b"us.example").unwrap();
    let sites = sites.sites();
    assert_eq!(sites[1].via, Via::Batch(BatchVia::default()));
    assert_eq!(
        list(&sites[2]),
        (ListForm::NameSize, Path::new("out.going/b/togo"))
    );
}
