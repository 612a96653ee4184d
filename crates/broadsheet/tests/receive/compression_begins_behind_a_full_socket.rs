//! COMPRESS is answered late where the client does not read; what it sends then is compressed all the same. So it is with STARTTLS.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use program::Program;
use program::nntp::{ALL_MAY, Served, listen};

/// More than the sockets take up.
const LISTS: usize = 60;

#[test]
fn it_begins_when_it_is_answered() {
    let mut active = String::new();
    for number in 0..5_000 {
        let _ = writeln!(active, "comp.group.number.{number} 0000000000 00001 y");
    }
    let program = Program::with_news(&active);
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut client = served.client();
    client.say("LIST ACTIVE\r\n".repeat(LISTS) + "COMPRESS DEFLATE\r\n");
    for _ in 0..LISTS {
        assert!(client.line().starts_with("215 "));
        client.lines();
    }
    assert!(client.line().starts_with("206 "));
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"DATE\r\nQUIT\r\n").unwrap();
    packed.flush().unwrap();
    client.say(packed.get_ref());
    let rest = client.rest();
    let mut said = Vec::new();
    // The stream is cut at its end, not ended.
    let _ = std::io::Read::read_to_end(&mut DeflateDecoder::new(&rest[..]), &mut said);
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.starts_with("111 ") && said.ends_with("205 Goodbye\r\n"),
        "{said}"
    );
}
