//! `rest_days` of `[[pull]]`: groups that no reader asks for are not fetched; GROUP, LISTGROUP or an article by its number wakes them.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::articles::{batch, many};
use program::daemon::until;
use program::nntp::{ALL_MAY, Served, listen};
use program::pulling::{ACTIVE, filed, pull, pulled, pulling};

const DAY: i64 = 86_400;

/// A server with articles in two groups.
fn up() -> (Program, Served) {
    let there = Program::with_news(ACTIVE);
    for group in ["comp.test", "comp.other"] {
        there.rnews(&batch(&many(group, 5, group, 300)));
    }
    listen(&there, ALL_MAY);
    let served = Served::start(&there);
    (there, served)
}

fn now() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// The state of a group as `pull --status` tells it.
fn state(program: &Program, group: &str) -> serde_json::Value {
    let told = program.run(&["pull", "--status", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    let groups = told.summary()["groups"].as_array().unwrap().clone();
    groups
        .into_iter()
        .find(|told| told["group"] == group)
        .unwrap()
}

#[test]
fn a_reader_wakes_a_group() {
    let (_there, up) = up();
    let here = pulling(&up.address, "rest_days = 2");
    listen(&here, ALL_MAY);
    let days_ago = |days: i64| now() - days * DAY;
    let interest = format!(
        "# broadsheet interest 1\n*since {}\ncomp.other {} -\n",
        days_ago(30),
        days_ago(3)
    );
    here.write("news/pull.interest", interest.as_bytes());
    // By hand, too, they rest.
    let told = pull(&here);
    let counts = ["groups", "groups_resting", "fetched"].map(|of| told.count(of));
    assert_eq!(counts, [0, 2, 0]);
    assert_eq!(state(&here, "comp.test")["state"], "rests");

    let served = Served::start(&here);
    let mut reader = served.client();
    assert!(reader.ask("GROUP comp.test").starts_with("211 "));
    until("it is fetched at once", || filed(&here, "comp.test") == 5);
    served.daemon.until_said("pull up ended");
    assert_eq!(filed(&here, "comp.other"), 0);
    let told = state(&here, "comp.test");
    assert_eq!(
        (&told["state"], &told["number"]),
        (&"awake".into(), &5.into())
    );
    assert!(told["woken"].as_i64().unwrap() >= days_ago(0) - 600);
    assert!(told["why"].as_str().unwrap().contains("woke it"), "{told}");
    assert_eq!(state(&here, "comp.other")["state"], "rests");
    // An article that is not there yet.
    assert!(reader.ask("LISTGROUP comp.other").starts_with("211 "));
    until("it is fetched, too", || filed(&here, "comp.other") == 5);
    drop(reader);
    served.daemon.stop();
    let text = here.run(&["pull", "--status", "--dir", "news"]);
    assert!(
        text.out.contains("up: 2 groups, 0 at rest (after 2 days"),
        "{text:?}"
    );
    up.daemon.stop();
}

#[test]
fn groups_begin_awake_and_a_reader_keeps_them_so() {
    let (_there, up) = up();
    let here = pulling(&up.address, "rest_days = 2");
    listen(&here, ALL_MAY);
    // Nobody has counted yet.
    assert_eq!(pulled(&here), (10, 10));
    let served = Served::start(&here);
    until("the counting begins", || {
        here.path("news/pull.interest").exists()
    });
    let mut reader = served.client();
    reader.ask("GROUP comp.test");
    assert!(reader.ask("STAT 1").starts_with("223 "));
    // It is written when the daemon ends.
    served.daemon.stop();
    let text = here.read("news/pull.interest");
    assert!(text.contains("\ncomp.test "), "{text}");
    assert!(!text.contains("\ncomp.other "), "{text}");
    let told = pull(&here);
    assert_eq!(told.count("groups"), 2);
    up.daemon.stop();
}

#[test]
fn a_damaged_file_is_named() {
    let (_there, up) = up();
    let here = pulling(&up.address, "rest_days = 2");
    here.write("news/pull.interest", b"# broadsheet interest 1\nnonsense\n");
    let told = pull(&here);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("pull.interest line 2"), "{told:?}");
    up.daemon.stop();
}
