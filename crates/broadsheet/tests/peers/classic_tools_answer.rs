//! The classic tools that are other commands here, or nothing at all: by first word and by a link of their name.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{batch, id, many};

fn news() -> Program {
    let program = Program::with_news("comp.test 0 1 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("a", 3, "comp.test", 20)))
            .count("accepted"),
        3
    );
    program
}

#[test]
fn queuelen_reports_a_name_that_is_no_site() {
    let program = Program::with_news("comp.test 0 1 y\n");
    program.write("news/sys", b"ME:all\nfar:all:f:\n");
    let queuelen = |site: &str| {
        let told = program.run(&["queuelen", "--dir", "news", "--uucp-spool", "spool", site]);
        (told.status, told.out, told.err)
    };
    assert_eq!(queuelen("far"), (0, "0\n".to_owned(), String::new()));
    let (status, out, err) = queuelen("fra");
    assert_eq!((status, out.as_str()), (1, "0\n"));
    assert!(err.contains("no site is named `fra'"), "{err}");
}

/// The queue is that of the host in the command of uux, which sendbatches looks at, too.
#[test]
fn queuelen_counts_the_jobs_of_the_uucp_host() {
    let program = Program::with_news("comp.test 0 1 y\n");
    program.write(
        "news/sys",
        b"ME:all\nnews.far.example:all:f:\nnear:all:f:\nnear.sendme:none:I:\n",
    );
    program.write(
        "news/batchparms",
        b"news.far.example u 1000 2 batcher | uux - -r -gd -z farhost!rnews\n\
          near.sendme u 1000 2 batchra | viauux\n\
          near u 1000 2 batcher | viauux\n",
    );
    for (host, jobs) in [("farhost", 3), ("near", 1)] {
        std::fs::create_dir_all(program.path(&format!("spool/{host}/C."))).unwrap();
        for job in 0..jobs {
            program.write(&format!("spool/{host}/C./C.{host}{job}"), b"");
        }
    }
    for (site, jobs) in [
        ("news.far.example", "3\n"),
        ("near", "1\n"),
        ("near.sendme", "1\n"),
    ] {
        let words = ["queuelen", "--dir", "news", "--uucp-spool", "spool", site];
        let told = program.run(&words);
        assert_eq!(
            (told.status, told.out.as_str()),
            (0, jobs),
            "{site}: {told:?}"
        );
    }
    let told = program.rnews(&batch(&many("a", 3, "comp.test", 20)));
    assert_eq!(told.count("accepted"), 3);
    let words = [
        "sendbatches",
        "--dir",
        "news",
        "--uucp-spool",
        "spool",
        "news.far.example",
    ];
    let told = program.run(&words);
    assert!(told.err.contains("3 batches are in its queue"), "{told:?}");
}

#[test]
fn each_answers_to_a_link_of_its_name() {
    let program = Program::new();
    for name in [
        "histinfo",
        "newshist",
        "mkhistory",
        "upact",
        "updatemin",
        "recovact",
        "expov",
        "doexpire",
        "expire",
    ] {
        let link = program.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broadsheet"), &link).unwrap();
        let told = program.run_as(&link, &["--help"], b"");
        assert_eq!(
            (told.status, told.out),
            (0, program.run(&["help", name]).out),
            "{name}"
        );
    }
}

#[test]
fn newshist_is_history_find() {
    let program = news();
    let known = program.run(&["history", "find", "--dir", "news", &id("a", 1), &id("a", 3)]);
    assert_eq!((known.status, known.out.lines().count()), (0, 2));
    let told = program.run(&["newshist", "--dir", "news", "a.1@example.com", &id("a", 3)]);
    assert_eq!(
        (told.status, told.out),
        (0, known.out),
        "with brackets or without"
    );
    let told = program.run(&["newshist", "--dir", "news", "a.4@example.com", &id("a", 2)]);
    assert_eq!((told.status, told.out.lines().count()), (1, 1));
    assert!(
        told.err.contains("a.4@example.com is not in history"),
        "{told:?}"
    );
}

#[test]
fn ids_that_another_system_had_seen_are_told() {
    let program = news();
    let (seen, other) = (id("b", 1), id("b", 2));
    let hash = (store::seen_hashes::md5_of(seen.as_bytes()), u32::MAX);
    store::seen_hashes::write(&program.path("news"), vec![hash]).unwrap();
    for command in [&["history", "find"][..], &["article", "show"]] {
        let words = [command, &["--dir", "news", &seen, &other]].concat();
        let told = program.run(&words);
        assert_eq!((told.status, told.out.as_str()), (1, ""));
        let lines: Vec<_> = told.err.lines().collect();
        assert_eq!(lines.len(), 2, "{told:?}");
        assert!(lines[0].contains(&seen) && lines[0].contains("seen.hashes"));
        assert!(lines[1].contains(&other) && !lines[1].contains("seen.hashes"));
    }
    let articles = many("b", 2, "comp.test", 20);
    let explained = |number: usize| {
        program.write("one", &articles[number]);
        program.run(&["explain", "--dir", "news", "one"]).out
    };
    assert!(explained(0).contains("duplicate"));
    assert!(!explained(1).contains("duplicate"));
    assert_eq!(program.rnews(&batch(&articles)).count("duplicates"), 1);
}

#[test]
fn mkhistory_makes_history_again_whatever_size_it_is_told() {
    let program = news();
    let known = program.run(&["history", "dump", "--dir", "news"]).out;
    std::fs::remove_file(program.path("news/index")).unwrap();
    let told = program.run(&["mkhistory", "--dir", "news", "-s", "3"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("3 articles, 3 ids"), "{told:?}");
    assert_eq!(
        program.run(&["history", "dump", "--dir", "news"]).out,
        known
    );
    program.assert_clean();
}

#[test]
fn expov_changes_nothing_and_says_so() {
    let program = news();
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let told = program.run(&["expov", "--dir", "news", "comp.test", "comp/other"]);
    assert_eq!((told.status, told.out.as_str()), (0, ""), "{told:?}");
    assert!(told.err.contains("expire"), "{told:?}");
    let told = program.run(&["expov", "--dir", "news", "--quiet"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""));
    assert_eq!(
        program.run(&["overview", "--dir", "news", "comp.test"]).out,
        rows
    );
    assert_eq!(
        program.run(&["expov", "--dir", "elsewhere"]).status,
        2,
        "no news directory"
    );
}
