//! Articles on their way are counted with what they cost beside their bytes: a peer that sends empty ones while another program has the
//! lock fills no memory.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use program::Program;
use program::nntp::{ALL_MAY, Served, listen};

const ARTICLES: usize = 1_000_000;

fn id(number: usize) -> String {
    format!("<{number}.a-name-that-is-as-long-as-names-are-now-and-then@example.com>")
}

#[test]
fn they_wait_outside() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut borrower = UnixStream::connect(program.path("news/control.sock")).unwrap();
    borrower.write_all(store::control_socket::LEND).unwrap();
    let mut lent = [0; 5];
    borrower.read_exact(&mut lent).unwrap();
    assert_eq!(lent, store::control_socket::LENT);

    let mut client = served.client();
    let stream =
        (1..=ARTICLES).flat_map(|number| format!("TAKETHIS {}\r\n.\r\n", id(number)).into_bytes());
    let stream: Vec<u8> = stream.collect();
    let mut socket = client.socket().try_clone().unwrap();
    socket
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let mut sent = 0;
    while let Ok(count) = socket.write(&stream[sent..]) {
        sent += count;
        assert!(sent < stream.len(), "all was read");
    }
    assert!(served.memory() < 64 << 20, "{}", served.memory());
    drop(borrower);
    // All that is whole is answered, in order.
    let whole = stream[..sent]
        .windows(3)
        .filter(|three| three == b".\r\n")
        .count();
    for number in 1..=whole {
        let line = client.line();
        assert!(line.starts_with(&format!("439 {}", id(number))), "{line}");
    }
}
