//! The original's regression test of expire, end to end: its clock (10000), its groups, its control file, its articles in
//! their order, and what must be left of them, in the spool, in history and in each archive.
//!
//! Of its history lines some cannot be in ours: no date field, an empty one, `-` or with more subfields (`<two4>`, `<will5>`,
//! `<wont7>`, `<wont13>`, `<gone15>`): our lines are written by one program, so they stand here with the dates they mean. A
//! double blank or a comma between links has no place either. The index rebuilt through a tiny buffer, `history.o` and
//! upact's low marks by listing directories belong to files that are not there.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::program;

use article::{Article, Form};
use program::{Program, Told};
use store::{Filing, Options, OverviewFields, Piece, Snapshot, Spool};

const ACTIVE: &str = "\
foo 00103 00001 y
bar 00099 00001 m
bar.ugh 00099 00001 m
urp 00099 00001 n
mod.mod 00013 00001 m
mod.unmod 00016 00001 y
bletch 00099 00001 y
control 00000 00001 y
junk 00000 00001 y
";

type Case = (
    &'static str,
    i64,
    Option<i64>,
    &'static [(&'static str, u64)],
    &'static str,
);

/// Id, arrival, explicit date, links, and what the article says besides. `wont` stays, `will` goes to the default archive,
/// `two` to the second, `three` to the third, `gone` nowhere.
const CASES: &[Case] = &[
    ("<wont1>", 9999, None, &[("foo", 98)], "\n"),
    ("<will2>", 1000, None, &[("foo", 99)], "\n"),
    ("<will3>", 1000, Some(100), &[("foo", 100)], "\n"),
    ("<two4>", 100, None, &[("bar", 4)], "SuBjeCt: yes\n\n"),
    ("<will5>", 100, None, &[("bar.ugh", 5)], "\nSubject: no\n"),
    ("<gone6>", 100, None, &[("urp", 6)], "\n"),
    ("<wont7>", 9999, Some(9999), &[("urp", 7)], "\n"),
    ("<gone8>", 100, Some(20_000), &[("urp", 8)], "\n"),
    ("<gone9>", 100, None, &[("urp", 9)], "\n"),
    ("<wont10>", 1000, Some(20_000), &[("foo", 101)], "\n"),
    ("<will11>", 100, Some(20_000), &[("foo", 102)], "\n"),
    ("<will12>", 100, None, &[("mod.mod", 12)], "\n"),
    ("<wont13>", 2000, None, &[("mod.mod", 13)], "\n"),
    ("<gone14>", 100, None, &[("mod.unmod", 14)], "\n"),
    ("<gone15>", 2000, None, &[("mod.unmod", 15)], "\n"),
    ("<wont16>", 9999, None, &[("mod.unmod", 16)], "\n"),
    ("<three17>", 100, None, &[("bletch", 17)], "\n"),
    ("<gone98>", 5000, None, &[("urp", 98)], "\n"),
    (
        "<multi99>",
        5000,
        None,
        &[("bar", 99), ("bar.ugh", 99), ("foo", 103), ("urp", 99)],
        "\n",
    ),
];

/// What `-p` must print, as the original did.
const INDEX: &str = "\
foo/99\t<will2>\t1-Jan-1970\t???
foo/100\t<will3>\t1-Jan-1970\t???
bar/4\t<two4>\t1-Jan-1970\tyes
bar/ugh/5\t<will5>\t1-Jan-1970\t???
foo/102\t<will11>\t1-Jan-1970\t???
mod/mod/12\t<will12>\t1-Jan-1970\t???
bletch/17\t<three17>\t1-Jan-1970\t???
bar/99\t<multi99>\t1-Jan-1970\t???
";

fn text(case: &Case) -> String {
    format!("X-Was: {}\nMessage-ID: {}\n{}", case.0, case.0, case.4)
}

fn filed(program: &Program) {
    let mut spool = Spool::open(&program.path("news"), Options::default()).unwrap();
    for case in CASES {
        if case.0 == "<gone98>" {
            // Seen only, and not yet to be forgotten.
            spool.remember(b"<gone96>", 5000, None.into()).unwrap();
        }
        let links: Vec<_> = case
            .3
            .iter()
            .map(|(group, number)| (group.as_bytes(), *number))
            .collect();
        let text = text(case);
        let article = Article::parse(text.as_bytes(), Form::Native);
        let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
        let position = spool
            .append(&Filing {
                id: case.0.as_bytes(),
                arrival: case.1,
                expires: case.2.into(),
                is_late: false,
                links: &links,
                sites: b"",
                header: &[Piece::Native(header.as_bytes())],
                body: Piece::Native(body.as_bytes()),
                left_out: None,
                overview: OverviewFields::of(&article, case.0.as_bytes()),
            })
            .unwrap();
        if case.0 == "<gone9>" {
            // Its file was missing.
            spool.cancel(position, b"<gone9>").unwrap();
        }
    }
    spool.commit().unwrap();
}

fn explist(program: &Program) -> String {
    let at = |name: &str| program.path(name).display().to_string();
    format!(
        "/expired/\tx\t0.08\t-\n/bounds/\tx\t0.01-0.1-0.11\t- \n#comment\n\n \nbar,!bar.ugh\tx\t0.05\t{}\nmod\tm\t0.1\t@\n\
         mod\tu\t0.05\t-\nurp\tx\t0.01-0.05-0.1\t-\nbletch\tx\t0.1\t={}\nunused\tx\t1\t-\nall\tx\t0.1\t@\n",
        at("arch2"),
        at("arch3/bletch")
    )
}

/// Every file under a directory, by its path there, sorted.
fn tree(program: &Program, name: &str) -> Vec<(String, String)> {
    let root = program.path(name);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            found.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

fn copies(of: &[(&str, &str)]) -> Vec<(String, String)> {
    let copy = |(path, id): &(&str, &str)| {
        let case = CASES.iter().find(|case| case.0 == *id).unwrap();
        ((*path).to_owned(), text(case))
    };
    let mut copies: Vec<_> = of.iter().map(copy).collect();
    copies.sort();
    copies
}

#[test]
fn expire_passes_the_classic_regression() {
    let program = Program::with_news(ACTIVE);
    for name in ["arch", "arch2", "arch3", "arch3/bletch"] {
        std::fs::create_dir(program.path(name)).unwrap();
    }
    filed(&program);
    program.write("explist.regw", explist(&program).as_bytes());
    let used: String = explist(&program)
        .lines()
        .filter(|line| !line.starts_with("unused"))
        .map(|line| format!("{line}\n"))
        .collect();
    program.write("explist.reg", used.as_bytes());
    let arch = program.path("arch").display().to_string();
    let expire = |more: &[&str]| {
        let mut words = vec!["expire", "--dir", "news", "-a", &arch, "--now", "10000"];
        words.extend(more);
        program.run(&words)
    };

    let told = expire(&["-c", "explist.regw"]);
    assert_eq!((told.status, told.out.as_str()), (0, ""), "{told:?}");
    assert_eq!(
        told.err,
        "broadsheet: explist.regw:11: `unused' rules no group\n"
    );

    let told = expire(&["-n", "--force", "-p", "--json", "explist.reg"]);
    // The index has standard output for itself.
    let told = Told {
        out: told.err,
        err: told.out,
        ..told
    };
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    // The missing original went when it was cancelled.
    assert_eq!((told.count("links"), told.count("archived")), (14, 8));
    let by: Vec<_> = ["foo", "bar", "urp", "mod", "bletch"]
        .iter()
        .map(|word| told.summary()["hierarchies"][word]["links"].as_u64())
        .collect();
    assert_eq!(by, [Some(3), Some(3), Some(4), Some(3), Some(1)]);
    assert!(tree(&program, "arch").is_empty());

    let told = expire(&["-p", "--force", "--json", "explist.reg"]);
    assert_eq!((told.status, told.out.as_str()), (0, INDEX), "{told:?}");
    let told = Told {
        status: 0,
        out: told.err,
        err: String::new(),
    };
    assert_eq!(
        (told.count("archived"), told.count("archive_failed")),
        (8, 0)
    );

    let arch = [
        ("foo/99", "<will2>"),
        ("foo/100", "<will3>"),
        ("bar/ugh/5", "<will5>"),
        ("foo/102", "<will11>"),
        ("mod/mod/12", "<will12>"),
    ];
    assert_eq!(tree(&program, "arch"), copies(&arch));
    let arch2 = [("bar/4", "<two4>"), ("bar/99", "<multi99>")];
    assert_eq!(tree(&program, "arch2"), copies(&arch2));
    let arch3 = [("bletch/17", "<three17>")];
    assert_eq!(tree(&program, "arch3"), copies(&arch3));

    let snapshot = Snapshot::open(&program.path("news")).unwrap();
    for (id, _, _, links, _) in CASES {
        for (group, number) in *links {
            let mut buffer = Vec::new();
            let found = snapshot.article_by_number(group.as_bytes(), *number, &mut buffer);
            let stays = id.starts_with("<wont")
                || matches!((*group, *number), ("bar.ugh", 99) | ("foo", 103));
            assert_eq!(found.unwrap().is_some(), stays, "{group}/{number}");
        }
    }
    let known = |id: &str| snapshot.history_line(id.as_bytes()).unwrap().is_some();
    for id in CASES.iter().map(|case| case.0).chain(["<gone96>"]) {
        // C News counts `/expired/' from arrival and has forgotten all but the newest. Here it counts from the end of the longest life.
        assert!(known(id), "{id}");
    }
    drop(snapshot);
    program.assert_clean();

    let told = expire(&["-p", "explist.reg"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out.is_empty() && told.err.starts_with("0 articles removed"),
        "nothing goes twice: {told:?}"
    );
}
