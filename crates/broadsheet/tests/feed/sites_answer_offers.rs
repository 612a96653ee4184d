//! `article show` tells what each site answered.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch};
use program::daemon::{Daemon, until};
use program::feeding::{add_peer, feeding};
use program::inn::Inn;
use program::nntp::{ALL_MAY, Served, listen};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

fn show(program: &Program, id: &str) -> String {
    let told = program.run(&["article", "show", "--dir", "news", id]);
    assert_eq!(told.status, 0, "{told:?}");
    told.out
}

/// What the site answered, as programs read it: answers and texts.
fn answers(program: &Program, id: &str, site: usize) -> Vec<(String, String)> {
    let told = program.run(&["article", "show", "--dir", "news", "--json", id]);
    let site = told.summary()["sites"][site].clone();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let answers = site["answers"].as_array().unwrap().iter();
    answers
        .map(|one| {
            assert!(one["time"].as_i64().unwrap() > 1_700_000_000);
            (word(&one["answer"]), word(&one["text"]))
        })
        .collect()
}

fn flush(program: &Program) {
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn a_peer_and_a_batch() {
    let there = Program::with_news(ACTIVE);
    listen(&there, ALL_MAY);
    let served = Served::start(&there);
    let here = Program::with_news("comp.test 0 1 y\ncomp.other 0 1 y\n");
    add_peer(&here, &served.address, "");
    let more =
        "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = { directory = \"../west\" }\n";
    std::fs::create_dir(here.path("west")).unwrap();
    let settings = here.read("news/broadsheet.toml") + more;
    here.write("news/broadsheet.toml", settings.as_bytes());
    let file = |id: &str, group: &str| {
        let told = here.rnews(&batch(&[article(id, group)]));
        assert_eq!(told.count("accepted"), 1, "{told:?}");
    };
    let feed = |words: &[&str]| {
        let told = here.run(&[&["feed"], words, &["--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{told:?}");
    };
    // The sites get their cursors.
    feed(&["list"]);
    feed(&["pause", "peer"]);
    file("<1@a>", "comp.test");
    file("<2@a>", "comp.other");
    file("<3@a>", "comp.test");
    assert!(show(&here, "<1@a>").contains("site       peer: it waits to be sent\n"));
    feed(&["resume", "peer"]);
    flush(&here);
    assert_eq!(
        answers(&here, "<1@a>", 0),
        [("accepted".into(), String::new())]
    );
    let refused = answers(&here, "<2@a>", 0);
    assert_eq!(refused.len(), 1, "{refused:?}");
    let (answer, text) = &refused[0];
    assert!(answer == "refused" && text.contains("comp.other"), "{text}");
    let shown = show(&here, "<2@a>");
    assert!(
        shown.contains("site       peer: refused it, ") && shown.contains(text),
        "{shown}"
    );
    assert!(
        shown.contains("site       west: passed to its transport\n"),
        "{shown}"
    );
    assert!(show(&here, "<1@a>").contains("site       peer: accepted it, "));
    // It closes for a while.
    let intake = |words: &[&str]| {
        let told = there.run(&[&["intake"], words, &["--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{told:?}");
    };
    intake(&["pause", "a test"]);
    file("<4@a>", "comp.test");
    here.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(
        answers(&here, "<4@a>", 0),
        [("deferred".into(), String::new())]
    );
    assert!(show(&here, "<4@a>").contains("; it is offered again\n"));
    intake(&["resume"]);
    let words = |id: &str| -> Vec<String> {
        answers(&here, id, 0)
            .into_iter()
            .map(|(answer, _)| answer)
            .collect()
    };
    // What was offered within this second is not due.
    until("the peer takes it", || {
        here.run(&["feed", "flush", "--dir", "news"]);
        words("<4@a>").len() > 1
    });
    assert_eq!(words("<4@a>"), ["deferred", "accepted"]);
    // All are offered once more.
    feed(&["reset", "peer", "--to", "oldest"]);
    assert!(show(&here, "<1@a>").contains("; it waits to be sent\n"));
    flush(&here);
    assert_eq!(words("<1@a>"), ["accepted", "not_wanted"]);
    assert_eq!(words("<4@a>"), ["deferred", "accepted", "not_wanted"]);
    // The loss of the file costs the story only.
    std::fs::remove_file(here.path("news/feeds/peer/answers")).unwrap();
    assert!(show(&here, "<1@a>").contains("passed; no answer is recorded"));
    // What is gone is not offered; the answers about what expired stay.
    feed(&["pause", "peer"]);
    file("<5@a>", "comp.test");
    let told = here.run(&[
        "article", "remove", "--dir", "news", "<5@a>", "--reason", "a test",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    file("<6@a>", "comp.test");
    feed(&["resume", "peer"]);
    flush(&here);
    assert_eq!(words("<6@a>"), ["accepted"]);
    let shown = show(&here, "<5@a>");
    assert!(
        !shown.contains("accepted it") && !shown.contains("was offered it;"),
        "{shown}"
    );
    here.write("news/explist", b"/expired/\tx\t99\t-\nall\tx\t1\t-\n");
    let at = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 86_400 * 3;
    let told = here.run(&[
        "expire",
        "--dir",
        "news",
        "--force",
        "--now",
        &at.to_string(),
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    let shown = show(&here, "<6@a>");
    assert!(
        shown.contains("expired") && shown.contains("accepted it, "),
        "{shown}"
    );
    served.daemon.stop();
}

#[test]
fn the_daemon_records_answers_within_a_second() {
    let there = Program::with_news(ACTIVE);
    listen(&there, ALL_MAY);
    let served = Served::start(&there);
    let here = feeding(&served.address, "");
    let daemon = Daemon::start(&here);
    let told = here.rnews(&batch(&[article("<1@a>", "comp.test")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    until("the answer is known", || {
        !answers(&here, "<1@a>", 0).is_empty()
    });
    assert_eq!(answers(&here, "<1@a>", 0)[0].0, "accepted");
    daemon.stop();
    served.daemon.stop();
}

#[test]
fn a_real_inn_refuses() {
    let Some(inn) = Inn::start(&["comp.test"]) else {
        return;
    };
    let here = Program::with_news("comp.test 0 1 y\ncomp.other 0 1 y\n");
    add_peer(&here, &format!("127.0.0.1:{}", inn.port), "");
    here.rnews(&batch(&[
        article("<1@a.example>", "comp.test"),
        article("<2@a.example>", "comp.other"),
    ]));
    flush(&here);
    assert_eq!(answers(&here, "<1@a.example>", 0)[0].0, "accepted");
    // Its reply to TAKETHIS has no reason.
    let refused = ("refused".to_owned(), String::new());
    assert_eq!(answers(&here, "<2@a.example>", 0), [refused]);
}
