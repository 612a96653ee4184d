//! `histinfo`: names of articles in, their history lines out. What is not known is named and does not stop the rest.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, id, many};
use program::{Program, Told};

fn news() -> Program {
    let program = Program::with_news("comp.lang.c 0 1 y\ncomp.misc 0 1 y\n");
    let mut articles = many("c", 3, "comp.lang.c", 20);
    articles.push(article("<both@example.com>", "comp.misc,comp.lang.c"));
    assert_eq!(program.rnews(&batch(&articles)).count("accepted"), 4);
    program
}

fn histinfo(program: &Program, names: &[u8]) -> Told {
    program.feed(&["histinfo", "--dir", "news"], names)
}

#[test]
fn a_path_a_group_with_a_number_and_an_id_give_the_same_line() {
    let program = news();
    let known = program
        .run(&["history", "find", "--dir", "news", &id("c", 2)])
        .out;
    assert!(known.ends_with("\tcomp.lang.c/2\n"), "{known}");
    let absolute = program.path("spool/comp/lang/c/2").display().to_string();
    let spool = program.path("spool").display().to_string();
    let within = "news/comp/lang/c/2";
    for name in [
        "comp/lang/c/2",
        "comp.lang.c/2",
        "./comp/lang/c/2",
        within,
        &id("c", 2),
    ] {
        let told = histinfo(&program, name.as_bytes());
        assert_eq!(
            (told.out.as_str(), told.status),
            (known.as_str(), 0),
            "{name}: {told:?}"
        );
    }
    let told = program.feed(
        &["histinfo", "--dir", "news", "--spool", &spool],
        absolute.as_bytes(),
    );
    assert_eq!((told.out, told.status), (known, 0));
    assert_eq!(
        histinfo(&program, absolute.as_bytes()).status,
        1,
        "another spool's"
    );
}

#[test]
fn all_names_of_the_spool_give_the_whole_history() {
    let program = news();
    let told = histinfo(
        &program,
        b"comp/lang/c/1\ncomp/lang/c/2\ncomp/lang/c/3\ncomp/misc/1\n",
    );
    assert_eq!(
        told.out,
        program.run(&["history", "dump", "--dir", "news"]).out
    );
}

#[test]
fn unknown_names_are_told_and_the_rest_goes_on() {
    let program = news();
    let mut names =
        b"comp/lang/c/99\n\ncomp/misc/1\n<not@here>\nno name\n\xff\x00\x1b[2J/7\ncomp/lang/c/\n"
            .to_vec();
    names.extend_from_slice(&[b'x'; 3 << 20]);
    names.extend_from_slice(b"\ncomp.lang.c/1");
    let told = histinfo(&program, &names);
    assert_eq!(told.status, 1, "{told:?}");
    let ids: Vec<_> = told
        .out
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(ids, ["<both@example.com>", &id("c", 1)]);
    assert_eq!(told.err.lines().count(), 6, "{told:?}");
    for name in [
        "comp/lang/c/99",
        "<not@here>",
        "no name",
        r"\xff\x00\x1b[2J/7",
        "comp/lang/c/\n",
        "xxx...",
    ] {
        assert!(told.err.contains(name), "{name}: {told:?}");
    }
    assert!(told.err.len() < 2000, "a long name is cut");
}

#[test]
fn what_has_expired_is_known_by_its_id_while_that_is_remembered() {
    let program = news();
    program.write(
        "news/explist",
        b"/expired/ x 1000 -\ncomp.lang.c x 1 -\nall x 1000 -\n",
    );
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let later = (now + 2 * 86_400).to_string();
    let told = program.run(&["expire", "--dir", "news", "--now", &later, "--force"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = histinfo(
        &program,
        format!("comp/lang/c/2\n{}\ncomp/misc/1\n", id("c", 2)).as_bytes(),
    );
    assert_eq!((told.status, told.out.lines().count()), (1, 2), "{told:?}");
    assert_eq!(told.err, "broadsheet: no such article: comp/lang/c/2\n");
}
