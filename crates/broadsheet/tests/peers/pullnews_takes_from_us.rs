//! INN's pullnews fetches a group from us by number and gives it to an innd, and goes on from there the next time.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use std::path::Path;

use program::articles::{article, batch};
use program::clients::{Server, thread};
use program::inn::Inn;
use program::{Told, corpus, peers};

/// Stands for INN's own module, which asks a program at a fixed place for the settings.
fn settings(programs: &Path) -> String {
    let programs = programs.display();
    format!(
        "package INN::Config; our ($pathdb, $runasuser); our ($VERSION, $newsbin) = ('2', '{programs}'); 1;\n"
    )
}

fn pull(inn: &Inn) -> Told {
    let modules = [inn.path("perl"), peers::unpacked().join("usr/share/perl5")];
    let told = inn
        .command("pullnews")
        .env("PERL5LIB", std::env::join_paths(modules).unwrap())
        .args(["-c", "marks", "-s", &inn.address()])
        .output()
        .unwrap();
    Told {
        status: told.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&told.stdout).into_owned(),
        err: String::from_utf8_lossy(&told.stderr).into_owned(),
    }
}

/// The mark of the group: the last number that it has.
fn mark(inn: &Inn) -> String {
    let marks = std::fs::read_to_string(inn.path("marks")).unwrap();
    let line = marks
        .lines()
        .find(|line| line.trim().starts_with("test.one"));
    let last = line.unwrap().split_whitespace().last();
    last.unwrap().to_owned()
}

#[test]
fn every_article_once() {
    let make = |dir: &Path| {
        let programs = peers::root_of("usr/lib/news/bin/shlock", "inn2").unwrap();
        let settings = settings(&programs.join("usr/lib/news/bin"));
        std::fs::create_dir_all(dir.join("perl/INN")).unwrap();
        std::fs::write(dir.join("perl/INN/Config.pm"), settings).unwrap();
    };
    let Some(inn) = Inn::start_edited(&["test.one"], make) else {
        return;
    };
    let server = Server::start();
    inn.write("marks", &format!("127.0.0.1:{}\n\ttest.one\n", server.port));
    let user = peers::ids_of("news").unwrap();
    peers::give(&inn.path("marks"), user);
    let told = pull(&inn);
    assert_eq!((told.status, mark(&inn).as_str()), (0, "5"), "{told:?}");
    for ours in thread() {
        let theirs = inn.article(&corpus::id(&ours));
        let (_, body) = corpus::split_header(&ours);
        let (_, copied) = corpus::split_header(&theirs);
        assert!(copied == body, "{}", String::from_utf8_lossy(&theirs));
    }
    server
        .program
        .rnews(&batch(&[article("<later@example.com>", "test.one")]));
    let told = pull(&inn);
    assert_eq!((told.status, mark(&inn).as_str()), (0, "6"), "{told:?}");
    assert!(inn.has("<later@example.com>"), "{told:?}");
    assert!(inn.path("spool/articles/test/one/6").exists());
    assert!(!inn.path("spool/articles/test/one/7").exists());
    server.daemon.stop();
    server.program.assert_clean();
}
