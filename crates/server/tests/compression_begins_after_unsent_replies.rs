//! COMPRESS after replies that the client has not read: input after it is compressed, although 206 is not sent yet.
#![allow(clippy::indexing_slicing)]

use crate::support::house;

use std::io::{BufRead, BufReader, Read, Write};

use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use house::{GROUPS, House, line, lines};

const LISTS: usize = 2;

#[test]
fn where_the_client_is_slow() {
    let house = House::with_small_buffers();
    let mut from = house.greeted();
    let mut said = b"LIST\r\n".repeat(LISTS);
    said.extend_from_slice(b"COMPRESS DEFLATE\r\n");
    let mut packed = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"DATE\r\nQUIT\r\n").expect("packed");
    packed.flush().expect("packed");
    said.extend_from_slice(packed.get_ref());
    from.get_mut().write_all(&said).expect("sent");
    for _ in 0..LISTS {
        assert!(line(&mut from).starts_with("215 "));
        assert_eq!(lines(&mut from), GROUPS);
    }
    assert!(line(&mut from).starts_with("206 "));
    let mut unpacked = BufReader::new(DeflateDecoder::new(from));
    let mut answer = String::new();
    unpacked.read_line(&mut answer).expect("a line");
    assert!(answer.starts_with("111 "), "{answer}");
    answer.clear();
    unpacked.read_line(&mut answer).expect("a line");
    assert!(answer.starts_with("205 "), "{answer}");
    let mut rest = Vec::new();
    let _ = unpacked.read_to_end(&mut rest);
    assert!(rest.is_empty());
}
