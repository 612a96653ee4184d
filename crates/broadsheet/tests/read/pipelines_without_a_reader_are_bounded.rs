//! Clients that send a hundred thousand commands and read nothing take up little room; then each command has its answer, in order.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{id, many};
use program::nntp::{ALL_MAY, Served, listen};

const CLIENTS: usize = 30;
const COMMANDS: usize = 100_000;
const ARTICLES: usize = 20;
/// For each: replies that wait, some input, and what a connection takes anyway.
const BYTES_EACH: usize = 512 << 10;

#[test]
fn all_is_answered_in_the_end() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, &ALL_MAY.replace("send", "# send"));
    let told = program.rnews(&program::articles::batch(&many(
        "p",
        ARTICLES,
        "comp.test",
        2_000,
    )));
    assert_eq!(told.status, 0, "{told:?}");
    let served = Served::start(&program);
    let commands: Vec<u8> = (0..COMMANDS)
        .flat_map(|number| {
            match number % 2 {
                0 => format!("BODY {}\r\n", id("p", number % ARTICLES + 1)),
                _ => format!("STAT {}\r\n", id("p", number % ARTICLES + 1)),
            }
            .into_bytes()
        })
        .collect();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| served.client()).collect();
    let mut saying = Vec::new();
    for client in &clients {
        // What fits into the sockets.
        saying.push(client.say_beside(commands.clone()));
    }
    // One that asks behind them is answered when they had their turns.
    for _ in 0..50 {
        assert!(served.client().ask("DATE").starts_with("111 "));
    }
    assert!(
        served.memory() < CLIENTS * BYTES_EACH,
        "{}",
        served.memory()
    );
    let mut client = clients.swap_remove(0);
    for number in 0..COMMANDS {
        let name = id("p", number % ARTICLES + 1);
        let line = client.line();
        if number % 2 == 1 {
            assert_eq!(line, format!("223 0 {name}"));
            continue;
        }
        assert_eq!(line, format!("222 0 {name}"));
        assert_eq!(client.lines().len(), 1);
    }
    assert!(
        served.memory() < CLIENTS * BYTES_EACH,
        "{}",
        served.memory()
    );
    saying.remove(0).join().unwrap().unwrap();
    drop(clients);
    for said in saying {
        // It broke off.
        let _ = said.join().unwrap();
    }
}
