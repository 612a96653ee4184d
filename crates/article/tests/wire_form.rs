//! Native text converts to wire form and back without loss.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::panic)]

use crate::shared_tables;

use article::wire::{
    lacks_final_newline, push_native, push_native_flagged, push_wire, push_wire_before,
};
use article::wire_facts::LineCounts;
use proptest::prelude::*;
use shared_tables::{bytes, rows};

fn wire(native: &[u8]) -> (Vec<u8>, u32) {
    let mut out = Vec::new();
    let lines = push_wire(&mut out, native);
    (out, lines)
}

fn native(wire: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_native(&mut out, wire);
    assert_eq!(out, slow_native(wire));
    if !wire.starts_with(b".\r\n") && !wire.windows(5).any(|five| five == b"\r\n.\r\n") {
        assert_eq!(out.len(), LineCounts::of(wire).native_length(wire.len()));
    }
    out
}

fn slow_native(wire: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = wire;
    while !rest.is_empty() && !rest.starts_with(b".\r\n") {
        let end = rest.windows(2).position(|two| two == b"\r\n");
        let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
        out.extend(if line.starts_with(b"..") {
            &line[1..]
        } else {
            line
        });
        out.extend(end.map(|_| b'\n'));
        rest = after.get(2..).unwrap_or_default();
    }
    out
}

#[test]
fn doubled_dots_are_counted() {
    let (wire, lines) = wire(b"..\n.\na.b\n\n.c\n");
    assert_eq!(LineCounts::of(&wire).doubled_dots, 3);
    assert_eq!(
        wire.len() - LineCounts::of(&wire).doubled_dots,
        13 + lines as usize
    );
    assert_eq!(LineCounts::of(b"").doubled_dots, 0);
}

#[test]
fn dots_are_doubled_and_lines_end_in_crlf() {
    assert_eq!(
        wire(b"a\n.\n..b\n\nc.\n"),
        (b"a\r\n..\r\n...b\r\n\r\nc.\r\n".to_vec(), 5)
    );
    assert_eq!(wire(b""), (Vec::new(), 0));
    assert_eq!(wire(b"\n"), (b"\r\n".to_vec(), 1));
    assert_eq!(
        wire(b"a\r\n\rb\0\xff\n"),
        (b"a\r\r\n\rb\0\xff\r\n".to_vec(), 2)
    );
}

#[test]
fn a_last_line_without_lf_is_completed_and_flagged() {
    assert_eq!(wire(b"a\n.b"), (b"a\r\n..b\r\n".to_vec(), 2));
    assert_eq!(wire(b"."), (b"..\r\n".to_vec(), 1));
    assert!(lacks_final_newline(b"a") && !lacks_final_newline(b"a\n") && !lacks_final_newline(b""));
    let mut out = b"x\n".to_vec();
    push_native_flagged(&mut out, b"a\r\nb\r\n", true);
    assert_eq!(out, b"x\na\nb");
}

#[test]
fn a_bare_lf_on_the_wire_ends_no_line() {
    assert_eq!(native(b"a\n..b\r\nc\r\n"), b"a\n..b\nc\n");
    assert_eq!(native(b"\n\r\n"), b"\n\n");
    assert_eq!(native(b"\r\n"), b"\n");
    assert_eq!(
        native(b".a\r\n"),
        b".a\n",
        "a dot that should have been doubled is kept"
    );
    assert_eq!(
        native(b"a\r\n.\r\nb\r\n"),
        b"a\n",
        "a line of one dot ends the text"
    );
    assert_eq!(native(b".."), b".");
    assert_eq!(native(b".\r"), b".\r");
}

#[test]
fn conversions_are_as_listed() {
    let Some(rows) = rows("cases/inn/wire.tsv") else {
        return;
    };
    for row in rows {
        let text = bytes(&row[2]).expect("text");
        match row[1].as_str() {
            "to_native" => assert_eq!(Some(native(&text)), bytes(&row[3]), "row {}", row[0]),
            "from_native" => {
                let mut out = wire(&text).0;
                // The table includes the final line of one dot, which the sender
                // of an article adds.
                out.extend_from_slice(b".\r\n");
                assert_eq!(Some(out), bytes(&row[3]), "row {}", row[0]);
            }
            _ => {}
        }
    }
}

fn slow_wire(native: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in native.split_inclusive(|&byte| byte == b'\n') {
        if line[0] == b'.' {
            out.push(b'.');
        }
        out.extend(line.strip_suffix(b"\n").unwrap_or(line));
        out.extend(b"\r\n");
    }
    out
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b".".to_vec()),
        Just(b"\r".to_vec()),
        prop::collection::vec(any::<u8>(), 0..10),
        (0usize..200).prop_map(|len| vec![b'x'; len]),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_survive_the_wire(text in text()) {
        let (there, lines) = wire(&text);
        prop_assert_eq!(&there, &slow_wire(&text));
        prop_assert!(there.is_empty() || there.ends_with(b"\r\n"));
        prop_assert_eq!(lines as usize, text.split_inclusive(|&byte| byte == b'\n').count());
        let mut back = Vec::new();
        push_native_flagged(&mut back, &there, lacks_final_newline(&text));
        prop_assert_eq!(back, text);
    }

    #[test]
    fn chunks_of_whole_lines_add_up(text in text(), cut in 0usize..200) {
        let cut = text.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1)
            .nth(cut % 8).unwrap_or(0);
        let mut pieces = Vec::new();
        let lines = push_wire(&mut pieces, &text[..cut]) + push_wire(&mut pieces, &text[cut..]);
        prop_assert_eq!((pieces, lines), wire(&text));
    }

    #[test]
    fn what_follows_a_part_does_not_count(text in text(), end in 0usize..4000, cuts_line in any::<bool>()) {
        let mut end = end.min(text.len());
        if !cuts_line {
            end = text[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        }
        let mut part = b"before".to_vec();
        let lines = push_wire_before(&mut part, &text, end);
        let (alone, lines_alone) = wire(&text[..end]);
        prop_assert_eq!((&part[6..], lines), (&alone[..], lines_alone));
    }

    #[test]
    fn long_texts_are_converted_in_parts(text in text(), repeat in 1usize..200) {
        let text = text.repeat(repeat);
        prop_assert_eq!(wire(&text).0, slow_wire(&text));
    }

    #[test]
    fn any_wire_text_is_converted(text in text()) {
        let back = native(&text);
        prop_assert!(back.len() <= text.len());
    }
}
