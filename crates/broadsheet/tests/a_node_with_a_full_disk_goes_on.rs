//! A node whose disk is full applies nothing; when there is room again it goes on where it was, without a restart.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::time::Duration;

use program::articles::{id, many};
use program::cluster::{nodes, seen, until_equal};
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
