//! Articles that never come to their end, and posts that wait for the disk, take up so much room in all, however many connections send them; and
//! they keep nobody else out.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use program::Program;
use program::daemon::{PATIENCE, until};
use program::nntp::{ALL_MAY, Client, Served, listen};

/// Each sends so much of an article, which may have 8 MiB.
const SENT: usize = 7 << 20;
/// So many, which together send more than the 256 MiB that may be held.
const CONNECTIONS: usize = 60;

const HEADER: &str = "From: me@example.com\r\nSubject: x\r\nNewsgroups: comp.test\r\n";

/// A client in the middle of a long article.
fn half(served: &Served, command: &str) -> Client {
    let mut client = served.client();
    if command.starts_with("TAKETHIS") {
        client.say(format!("{command}\r\n"));
    } else {
        assert!(client.ask(command).starts_with('3'));
    }
    let id = command.split_once(' ').map_or("<half@test>", |(_, id)| id);
    let date = "Date: Mon, 20 Dec 1993 04:39:21 GMT\r\nPath: x\r\n";
    client.say(format!("{HEADER}{date}Message-ID: {id}\r\n\r\n"));
    let piece = ("y".repeat(1022) + "\r\n").repeat(SENT >> 10);
    client
        .say_beside(piece.into_bytes())
        .join()
        .unwrap()
        .unwrap();
    client
}

#[test]
fn they_keep_no_other_article_out() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut clients = Vec::new();
    for number in 0..CONNECTIONS {
        // The oldest are those that have to go.
        clients.push(match number {
            0 => half(&served, "IHAVE <0@test>"),
            1 => half(&served, "TAKETHIS <1@test>"),
            _ => half(&served, "POST"),
        });
        assert!(served.memory() < 340 << 20, "{}", served.memory());
    }
    // With all of them still there.
    let mut client = served.client();
    assert!(client.ask("POST").starts_with("340 "));
    client.say(format!("{HEADER}\r\n"));
    client.say(("z".repeat(998) + "\r\n").repeat(500));
    let answer = client.ask(".");
    assert!(answer.starts_with("240 "), "{answer}");
    // Who had to let go hears so at the end of the article.
    let answers: Vec<String> = clients
        .iter_mut()
        .take(3)
        .map(|half| half.ask("."))
        .collect();
    assert!(
        answers[0].starts_with("436 Too many articles"),
        "{answers:?}"
    );
    assert!(
        answers[1].starts_with("400 Too many articles"),
        "{answers:?}"
    );
    assert!(answers[2].starts_with("441 Try again later"), "{answers:?}");
    assert_eq!(clients[1].line(), "", "the connection is over");
    assert!(clients[0].ask("DATE").starts_with("111 "));
    // Another may be asked for what was thrown away.
    assert!(client.ask("CHECK <0@test>").starts_with("238 "));
    served.daemon.until_said("half_sent_dropped");
}

/// More than the connections that reach the bound, so that many grow while others are discarded.
const GROWING: usize = 60;

#[test]
fn what_they_take_is_bounded_and_given_back() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let before = served.memory();
    let piece = ("y".repeat(1022) + "\r\n").repeat(64);
    let mut clients: Vec<Client> = (0..GROWING).map(|_| served.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.say(format!("TAKETHIS <{number}@test>\r\n{HEADER}\r\n"));
    }
    let mut most = 0;
    for _ in 0..SENT / piece.len() {
        for client in &mut clients {
            // Some are discarded, and their connections end.
            let _ = client.say_if_any(&piece);
        }
        most = most.max(served.memory());
    }
    // The bound, and what arrives while something is discarded.
    assert!(most < before + (320 << 20), "{most}");
    assert!(most > before + (128 << 20), "{most}");
    drop(clients);
    until("the memory is given back", || {
        served.memory() < before + (32 << 20)
    });
}

/// Posts whose first three reach the share of an address.
const POSTS: usize = 24;

#[test]
fn posts_that_wait_for_the_lock_keep_no_peer_and_no_reader_out() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut borrower = UnixStream::connect(program.path("news/control.sock")).unwrap();
    borrower.write_all(b"lend\n").unwrap();
    borrower.read_exact(&mut [0; 5]).unwrap();
    let mut posters: Vec<Client> = (0..POSTS)
        .map(|_| {
            let mut client = served.client();
            client.socket().set_write_timeout(Some(PATIENCE)).unwrap();
            assert!(client.ask("POST").starts_with("340 "));
            client
        })
        .collect();
    let before = served.memory();
    for client in &mut posters {
        client.say(format!("{HEADER}\r\n"));
        client.say(("z".repeat(998) + "\r\n").repeat(7_000));
        client.say(".\r\n");
    }
    let mut refused: Vec<String> = posters.drain(3..).map(|mut late| late.line()).collect();
    refused.dedup();
    assert_eq!(
        refused,
        ["441 Try again later: Too many posts wait to be written"]
    );
    let more = served.memory().saturating_sub(before);
    assert!(more < 64 << 20, "{more}");
    let mut client = served.client();
    let answer = client.ask("POST");
    assert!(answer.starts_with("440 Too many posts wait"), "{answer}");
    assert!(client.ask("GROUP comp.test").starts_with("211 "));
    assert!(client.ask("CHECK <0@test>").starts_with("238 "));
    drop(borrower);
    for mut poster in posters {
        let answer = poster.line();
        assert!(answer.starts_with("240 "), "{answer}");
    }
    assert!(client.ask("POST").starts_with("340 "));
}
