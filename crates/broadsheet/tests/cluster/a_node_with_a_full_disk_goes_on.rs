//! A node whose disk is full starts expire, whose decision reaches it by means of a reserve. If that frees nothing it applies nothing; when there
//! is room again it goes on where it was, without a restart.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::time::Duration;

use program::Program;
use program::articles::{id, many};
use program::cluster::{nodes, seen, until_equal};
use program::daemon::until;
use program::nats::Servers;
use program::nntp::{Served, take_this};
use program::small::Small;

const ACTIVE: &str = "comp.test 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";
/// A segment is a sixteenth of it.
const DISK: &str = "96m";
/// Articles of 100,000 bytes: more than a segment, so that the next one is due.
const ARTICLES: usize = 90;

#[test]
fn where_the_next_segment_is_due() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let Some(small) = Small::under(&programs[1], DISK) else {
        return;
    };
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let mut client = served[0].client();
    let mut send = |number: usize, article: &[u8]| {
        client.say(take_this(&id("a", number), article));
        assert_eq!(client.line(), format!("239 {}", id("a", number)));
    };
    let articles = many("a", ARTICLES + 2, "comp.test", 100_000);
    let (before, meanwhile) = articles.split_at(ARTICLES);
    for (at, article) in before.iter().enumerate() {
        send(at + 1, article);
    }
    until_equal(&programs);
    // The store looks at the size of a segment every two seconds.
    std::thread::sleep(Duration::from_millis(2_500));
    small.fill(0);
    send(ARTICLES + 1, &meanwhile[0]);
    served[1].daemon.until_said("No space left");
    small.make_room();
    send(ARTICLES + 2, &meanwhile[1]);
    until_equal(&programs);
    served.into_iter().for_each(|served| served.daemon.stop());
    assert!(seen(&programs[0], &["comp.test"]) == seen(&programs[1], &["comp.test"]));
    programs[1].assert_clean();
}

/// Whether the overview has a row of the article with this number.
fn has_row(program: &Program, number: usize) -> bool {
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
    rows.out.contains(&id("a", number))
}

#[test]
fn expire_reaches_a_node_without_room() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let Some(small) = Small::under(&programs[1], DISK) else {
        return;
    };
    let settings = programs[1].read("news/broadsheet.toml");
    let settings = format!("{settings}\n[expiry]\nkeep_free = \"7 MiB\"\nmax_fraction = 1.0\n");
    programs[1].write("news/broadsheet.toml", settings.as_bytes());
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let mut client = served[0].client();
    let mut send = |number: usize, article: &[u8]| {
        client.say(take_this(&id("a", number), article));
        assert_eq!(client.line(), format!("239 {}", id("a", number)));
    };
    let articles = many("a", ARTICLES + 40, "comp.test", 100_000);
    let (before, meanwhile) = articles.split_at(ARTICLES);
    for (at, article) in before.iter().enumerate() {
        send(at + 1, article);
    }
    until_equal(&programs);
    let reserve = programs[1].path("news/reserve.node");
    until("the reserve", || reserve.exists());
    small.fill(0);
    // Together they are more than the reserve has room for, if nothing expires.
    let (first, second) = meanwhile.split_at(10);
    for (at, article) in first.iter().enumerate() {
        send(ARTICLES + at + 1, article);
    }
    served[1].daemon.until_said("full: expire starts");
    until("the expire", || !has_row(&programs[1], 1));
    for (at, article) in second.iter().enumerate() {
        send(ARTICLES + first.len() + at + 1, article);
    }
    until_equal(&programs);
    let rows = |program: &Program| program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let (first, second) = (rows(&programs[0]), rows(&programs[1]));
    assert!(first == second);
    assert!(first.contains(&id("a", ARTICLES + 40)));
    small.make_room();
    until("the reserve made anew", || reserve.exists());
    served.into_iter().for_each(|served| served.daemon.stop());
    programs[1].assert_clean();
}
