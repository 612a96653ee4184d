//! The header parser follows the rules of C News.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::panic)]

use crate::shared_tables;

use article::wire_facts::LineCounts;
use article::{Article, Form, Header, HeaderError, Identity};
use proptest::prelude::*;

const PLAIN: &[u8] = b"Path: a.example!b.example!user\nFrom: user@example.org (A User)\n\
Newsgroups: comp.test,\n\tcomp.misc\nSubject: hello  \nMessage-ID: <1@example.org>\n\
Date: 1 Jan 1990 00:00:00 GMT\nX-Other: yes\n\nbody\n";

fn native(text: &[u8]) -> Article<'_> {
    Article::parse(text, Form::Native)
}

#[test]
fn a_plain_article_is_parsed() {
    let article = native(PLAIN);
    assert_eq!(article.error(), None);
    assert_eq!(article.required(), Ok(()));
    assert_eq!(
        article.value(Header::Path),
        Some(&b"a.example!b.example!user"[..])
    );
    assert_eq!(
        article.value(Header::Newsgroups),
        Some(&b"comp.test,\n\tcomp.misc"[..])
    );
    assert_eq!(article.value(Header::Subject), Some(&b"hello"[..]));
    assert_eq!(article.value(Header::Expires), None);
    let line = article.line(Header::Newsgroups).expect("there");
    assert_eq!(&PLAIN[line], b"Newsgroups: comp.test,\n\tcomp.misc\n");
    let value = article.value_range(Header::Subject).expect("there");
    assert_eq!(&PLAIN[value], b"hello");
    assert_eq!(&PLAIN[article.header_len()..article.body()], b"\n");
    assert_eq!(&PLAIN[article.body()..], b"body\n");
    assert_eq!(article.find(b"x-other"), Some(&b"yes"[..]));
    assert!(article.has_separator());
}

#[test]
fn id_and_path_are_found_alone() {
    let of = |text: &'static [u8]| Identity::of(text).map(|found| (found.id, found.path));
    let found = Some((&b"<1@a>"[..], &b"x!y"[..]));
    assert_eq!(of(b"Path: x!y\nA: b\nMessage-ID: <1@a>\n\n"), found);
    assert_eq!(
        of(b"message-id: <1@a>\nMessage-ID: <2@a>\npath: x!y\nA: b"),
        found
    );
    // As the parser reads them; the usual way is left to it.
    for text in [
        &b"Path: x!y\nMessage-ID: <1@a>\n b\n\n"[..],
        b"Path: x!y\nMessage-ID:  <1@a>\n\n",
        b"Path: x!y\nMessage-ID: <1@a> \n\n",
        b"Path: x!y\nMessage-ID: <1@a>\n",
        b"Path: x!y\n\nMessage-ID: <1@a>\n\n",
        b"Path:x!y\nMessage-ID: <1@a>\n\n",
        b"Message-ID: <1@a>\n\n",
        b"",
    ] {
        assert_eq!(of(text), None, "{}", text.escape_ascii());
    }
}

#[test]
fn names_are_found_in_any_case() {
    let article = native(b"MESSAGE-id: <a@b>\nsubJECT: x\nARTICLE-i.d.: c.1\n\n");
    assert_eq!(article.value(Header::MessageId), Some(&b"<a@b>"[..]));
    assert_eq!(article.value(Header::Subject), Some(&b"x"[..]));
    assert_eq!(article.value(Header::ArticleId), Some(&b"c.1"[..]));
}

#[test]
fn a_colon_must_be_followed_by_white_space() {
    let article = native(b"Newsgroups:x\nSubject: later\n\n");
    let error = article.error().expect("a error").to_string();
    assert_eq!(
        error,
        "article \"header\" contains non-RFC-1036-header line `Newsgroups:x'"
    );
    assert_eq!(article.value(Header::Subject), Some(&b"later"[..]));
}

#[test]
fn a_bare_name_and_colon_is_an_empty_header() {
    let article = native(b"Message-ID: <a@b>\nNewsgroups: c\nPath: d\nSubject:\nDate: e\n\n");
    assert_eq!(article.error(), None);
    assert_eq!(article.value(Header::Subject), Some(&b""[..]));
    assert_eq!(article.required(), Err(HeaderError::Empty(Header::Subject)));
    assert_eq!(
        HeaderError::Empty(Header::Subject).to_string(),
        "empty Subject: header"
    );
    let range = article.value_range(Header::Subject).expect("there");
    assert!(range.is_empty() && range.end <= article.header_len());
    let at_the_end = native(b"Subject:");
    assert_eq!(at_the_end.value(Header::Subject), Some(&b""[..]));
    assert_eq!(at_the_end.error(), None);
}

#[test]
fn required_headers_are_tested_in_the_order_of_c_news() {
    let names = [
        "Message-ID",
        "Newsgroups",
        "Path",
        "Subject",
        "Date",
        "From",
    ];
    let mut text = String::new();
    for name in names {
        let error = native(text.as_bytes())
            .required()
            .expect_err("one is missing")
            .to_string();
        assert_eq!(error, format!("no {name}: header"));
        text.push_str(&format!("{name}: x\n"));
    }
    assert_eq!(native(text.as_bytes()).required(), Ok(()));
}

#[test]
fn a_repeated_required_header_is_an_error_and_the_first_counts() {
    let article = native(b"Subject: one\nSubject: two\nMessage-ID: <a@b>\n\n");
    let error = article.error().expect("a error");
    assert_eq!(error.to_string(), "duplicate required header `Subject'");
    assert_eq!(article.value(Header::Subject), Some(&b"one"[..]));
    assert_eq!(article.value(Header::MessageId), Some(&b"<a@b>"[..]));
}

#[test]
fn of_optional_headers_the_last_counts() {
    let article = native(b"Distribution: world\nDistribution: local\n\n");
    assert_eq!(article.error(), None);
    assert_eq!(article.value(Header::Distribution), Some(&b"local"[..]));
}

#[test]
fn the_first_error_is_kept() {
    let article = native(b"bad line\nSubject: a\nSubject: b\n\n");
    assert_eq!(article.error(), Some(&HeaderError::NotAHeader(b"bad line")));
}

#[test]
fn a_continuation_needs_a_field_before_it() {
    let article = native(b" stray\nSubject: a\n\n");
    assert_eq!(article.error(), Some(&HeaderError::NotAHeader(b" stray")));
    assert_eq!(article.value(Header::Subject), Some(&b"a"[..]));
}

#[test]
fn a_name_contains_no_blanks() {
    let article = native(b"Subject : a\n\n");
    assert_eq!(
        article.error(),
        Some(&HeaderError::NotAHeader(b"Subject : a"))
    );
    assert_eq!(article.value(Header::Subject), None);
    assert_eq!(
        native(b": a\n\n").error(),
        Some(&HeaderError::NotAHeader(b": a"))
    );
}

#[test]
fn every_xref_line_is_listed() {
    let text = b"Xref: a b:1\nSubject: c\nxref: d e:2\n f:3\n\n";
    let article = native(text);
    let lines: Vec<_> = article.xref_lines().map(|line| &text[line]).collect();
    assert_eq!(lines, [&b"Xref: a b:1\n"[..], b"xref: d e:2\n f:3\n"]);
    let only: Vec<_> = native(b"Xref: a b:1\n\n").xref_lines().collect();
    assert_eq!((only.len(), only[0].clone()), (1, 0..12));
    assert_eq!(native(PLAIN).xref_lines().count(), 0);
}

#[test]
fn an_article_may_be_truncated_anywhere() {
    for end in 0..=PLAIN.len() {
        let article = native(&PLAIN[..end]);
        assert!(article.header_len() <= article.body() && article.body() <= end);
    }
    let article = native(b"Subject: a\n");
    assert!(!article.has_separator());
    assert_eq!((article.header_len(), article.body()), (11, 11));
    assert_eq!(native(b"Subject: a\n\n").body(), 12);
    assert!(native(b"Subject: a\n\n").has_separator());
    assert_eq!(
        native(b"").required(),
        Err(HeaderError::Missing(Header::MessageId))
    );
    assert_eq!(native(b"\nSubject: a\n").body(), 1);
}

#[test]
fn an_error_is_one_line_of_bounded_length() {
    let mut line = b"bad\x1b\0".to_vec();
    line.extend(std::iter::repeat_n(b'x', 100_000));
    let shown = native(&line).error().expect("a error").to_string();
    assert!(shown.len() < 1000 && !shown.contains(['\x1b', '\0', '\n']));
}

#[test]
fn wire_headers_end_at_crlf_only() {
    let Some(case) = shared_tables::json("cases/inn/wire-headers.json") else {
        return;
    };
    let text = |value: &serde_json::Value| value.as_str().and_then(shared_tables::bytes);
    let wire = text(&case["article"]).expect("an article");
    let article = Article::parse(&wire, Form::Wire);
    for lookup in case["lookups"].as_array().expect("a list") {
        let name = lookup["name"].as_str().expect("a name").as_bytes();
        let found = article.find(name);
        match text(&lookup["value_starts"]) {
            Some(start) => {
                let found = found.unwrap_or_else(|| panic!("no {lookup}"));
                assert!(found.starts_with(&start), "{lookup}");
            }
            None => assert_eq!(found, None, "{lookup}"),
        }
        if let Some(next) = text(&lookup["next_line_after_field"]) {
            let value = found.expect("found above");
            let field = article
                .fields()
                .find(|(_, _, of)| of.as_ptr() == value.as_ptr());
            let (line, _, _) = field.expect("a field of this value");
            assert!(wire[line.end..].starts_with(&next), "{lookup}");
        }
    }
    let body = text(&case["body_starts"]).expect("a body");
    assert!(wire[article.body()..].starts_with(&body));
}

#[test]
fn bodies_are_found_as_listed() {
    let Some(rows) = shared_tables::rows("cases/inn/wire.tsv") else {
        return;
    };
    for row in rows.iter().filter(|row| row[1] == "findbody") {
        let wire = shared_tables::bytes(&row[2]).expect("text");
        let article = Article::parse(&wire, Form::Wire);
        // The listed function requires text after the blank line unless the
        // blank line follows a field; `\r\n.` is an empty article's end.
        let found = match article.has_separator() && article.header_len() > 0 {
            true if article.body() == wire.len() => format!("offset {} (end)", article.body()),
            true => format!("offset {}", article.body()),
            false => "none".to_owned(),
        };
        assert_eq!(found, row[3], "row {}", row[0]);
    }
}

#[test]
fn a_wire_header_may_end_at_the_terminator() {
    let article = Article::parse(b"Subject: a\r\n.\r\n", Form::Wire);
    assert_eq!((article.error(), article.body()), (None, 12));
}

/// A parser that reads one byte at a time.
fn slow_fields(text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut is_open = false;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line == b"\n" {
            break;
        }
        if is_open && (line[0] == b' ' || line[0] == b'\t') {
            fields.last_mut().expect("open").1.extend(line);
            continue;
        }
        let stop = line.iter().position(|&byte| byte == b':' || byte <= b' ');
        let colon = stop.filter(|&at| at > 0 && line[at] == b':');
        let after = |at: usize| {
            line.get(at + 1)
                .is_none_or(|byte| b" \t\r\n\x0b\x0c".contains(byte))
        };
        is_open = colon.is_some_and(after);
        if let Some(at) = colon.filter(|_| is_open) {
            fields.push((line[..at].to_vec(), line[at + 1..].to_vec()));
        }
    }
    fields
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !b" \t\r\n".contains(byte);
    match (
        bytes.iter().position(is_text),
        bytes.iter().rposition(is_text),
    ) {
        (Some(first), Some(last)) => &bytes[first..=last],
        _ => b"",
    }
}

fn header_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("Subject".to_owned()),
        Just("Message-ID".to_owned()),
        Just("xref".to_owned()),
        Just("Also-Control".to_owned()),
        Just("Posting-Version".to_owned()),
        Just(":".to_owned()),
        Just(": ".to_owned()),
        Just("\n".to_owned()),
        Just("\n ".to_owned()),
        Just("\r\n".to_owned()),
        "[a-z \t:\u{1}\u{e9}]{0,20}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn the_parser_agrees_with_a_slow_one(text in header_text()) {
        let article = native(&text);
        let slow = slow_fields(&text);
        let fast: Vec<_> = article.fields().map(|(_, n, v)| (n.to_vec(), v.to_vec())).collect();
        let expected: Vec<_> =
            slow.iter().map(|(n, v)| (n.clone(), trimmed(v).to_vec())).collect();
        prop_assert_eq!(fast, expected);
        for &header in Header::ALL {
            let named = |(n, _): &&(Vec<u8>, Vec<u8>)| n.eq_ignore_ascii_case(header.name().as_bytes());
            let found = if header.is_required() { slow.iter().find(named) } else { slow.iter().rfind(named) };
            let expected = found.map(|(_, value)| trimmed(value));
            prop_assert_eq!(article.value(header), expected);
            prop_assert_eq!(article.value_range(header).map(|range| &text[range]), expected);
        }
        if let Some(identity) = Identity::of(&text) {
            prop_assert_eq!(Some(identity.id), article.value(Header::MessageId));
            prop_assert_eq!(Some(identity.path), article.value(Header::Path));
        }
    }

    #[test]
    fn both_forms_find_the_same(text in header_text()) {
        let lines: Vec<u8> = text.iter().copied().filter(|&byte| byte != b'\r').collect();
        let wire: Vec<u8> = lines.iter().flat_map(|&byte| match byte {
            b'\n' => vec![b'\r', b'\n'],
            byte => vec![byte],
        }).collect();
        let (a, b) = (native(&lines), Article::parse(&wire, Form::Wire));
        let unfold = |value: &[u8]| value.iter().copied().filter(|&byte| byte != b'\r').collect::<Vec<u8>>();
        for &header in Header::ALL {
            prop_assert_eq!(a.value(header).map(unfold), b.value(header).map(unfold));
        }
        prop_assert_eq!(a.error().map(ToString::to_string), b.error().map(ToString::to_string));
        prop_assert_eq!(&lines[a.body()..], unfold(&wire[b.body()..]));
    }

    #[test]
    fn the_lines_of_a_received_body_are_those_behind_the_header(
        pieces in prop::collection::vec(prop::sample::select(vec!["\r\n", "\n", "\r", ".", "..", "A: b", " "]), 0..60)
    ) {
        let text = pieces.concat();
        let received = Article::received(text.as_bytes(), LineCounts::of(text.as_bytes()));
        let parsed = Article::parse(text.as_bytes(), Form::Wire);
        prop_assert_eq!(received.body_counts(), parsed.body_counts());
        prop_assert_eq!(parsed.body_counts(), LineCounts::of(&text.as_bytes()[parsed.body()..]));
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for form in [Form::Native, Form::Wire] {
            let article = Article::parse(&bytes, form);
            prop_assert!(article.body() <= bytes.len());
            let _ = article.fields().count() + article.xref_lines().count();
        }
    }
}
