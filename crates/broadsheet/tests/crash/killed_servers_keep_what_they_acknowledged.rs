//! The daemon, killed while three peers stream: what was answered with 239 is there, whole and once.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::HashSet;
use std::sync::Mutex;

use program::Program;
use program::articles::{id, many};
use program::daemon::until;
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};

const ROUNDS: usize = 4;
const PEERS: usize = 3;
const ARTICLES: usize = 20_000;
/// So many are acknowledged, at least, when the kill comes.
const ENOUGH: usize = 1_500;

#[test]
fn each_is_there_once() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let acknowledged = Mutex::new(Vec::new());
    for round in 0..ROUNDS {
        let mut served = Served::start(&program);
        let before = acknowledged.lock().unwrap().len();
        std::thread::scope(|scope| {
            for peer in 0..PEERS {
                let (client, acknowledged) = (served.client(), &acknowledged);
                let prefix = format!("r{round}p{peer}");
                scope.spawn(move || stream(client, &prefix, acknowledged));
            }
            until("enough", || {
                acknowledged.lock().unwrap().len() > before + ENOUGH
            });
            served.daemon.kill();
        });
    }
    program.assert_clean();
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let ids: Vec<&str> = rows
        .lines()
        .map(|row| row.split('\t').nth(4).unwrap())
        .collect();
    let different: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(different.len(), ids.len());
    let served = Served::start(&program);
    let mut client = served.client();
    for (number, id) in acknowledged.lock().unwrap().iter().enumerate() {
        assert!(different.contains(id.as_str()), "{id}");
        if number % 20 == 0 {
            assert_eq!(client.ask(&format!("BODY {id}")), format!("222 0 {id}"));
            assert_eq!(client.lines().len(), 1);
        }
    }
}

/// Streams, and keeps what is acknowledged, until the connection ends.
fn stream(mut client: Client, prefix: &str, acknowledged: &Mutex<Vec<String>>) {
    let articles = many(prefix, ARTICLES, "comp.test", 200);
    let numbered = articles.iter().enumerate();
    let stream = numbered.flat_map(|(at, article)| take_this(&id(prefix, at + 1), article));
    let said = client.say_beside(stream.collect());
    for number in 1..=ARTICLES {
        let id = id(prefix, number);
        // A line that is cut acknowledges nothing.
        if client.line_if_any().as_deref() != Some(&format!("239 {id}\r\n")) {
            break;
        }
        acknowledged.lock().unwrap().push(id);
    }
    let _ = said.join().unwrap();
}
