//! Articles that have to be fetched first give the same replies, in the same order.

use crate::backend;

use backend::{Client, Fake};
use nntp::{Next, OutBuffer};

const COMMANDS: &[&str] = &[
    "GROUP misc.test",
    "ARTICLE",
    "NEXT",
    "HEAD",
    "BODY 3",
    "DATE",
    "LAST",
    "STAT 2",
    "HDR X-None 1-100000",
    "XHDR Subject 1-",
    "XPAT Organization 1-100000 *",
    "OVER 1-100000",
    "ARTICLE 1",
    "ARTICLE 1",
];

#[test]
fn one_by_one_and_in_a_pipeline() {
    let ids = Fake::usual();
    let ids = ids.articles.iter().map(|article| article.id.clone());
    let mut commands: Vec<Vec<u8>> = COMMANDS.iter().map(|line| line.as_bytes().into()).collect();
    for id in ids.take(3) {
        for word in [&b"HDR Organization "[..], b"ARTICLE ", b"STAT "] {
            commands.push([word, &id].concat());
        }
    }
    let mut warm = Client::new(Fake::usual());
    let mut backend = Fake::usual();
    backend.is_cold = true;
    let mut cold = Client::new(backend);
    for command in &commands {
        let line = [command, &b"\r\n"[..]].concat();
        // The time and the like differ in no run: the double has its own clock.
        let (there, fetched) = (warm.say(&line), cold.say(&line));
        assert_eq!(
            String::from_utf8_lossy(&fetched),
            String::from_utf8_lossy(&there)
        );
    }
    assert!(cold.backend.fetched.len() > 2);
    let mut backend = Fake::usual();
    backend.is_cold = true;
    let all = [commands.join(&b"\r\n"[..]), b"\r\n".to_vec()].concat();
    let there = Client::new(Fake::usual()).say(&all);
    assert_eq!(
        String::from_utf8_lossy(&Client::new(backend).say(&all)),
        String::from_utf8_lossy(&there)
    );
}

/// It is cancelled while it is fetched: one reply, and then those to the commands that follow.
#[test]
fn an_article_that_goes_meanwhile_has_one_reply() {
    let mut backend = Fake::usual();
    backend.is_cold = true;
    let mut client = Client::new(backend);
    client.say(b"GROUP misc.test\r\n");
    let input = b"ARTICLE 1\r\nDATE\r\n";
    let mut out = OutBuffer::default();
    let first = client.session.process(input, &mut client.backend, &mut out);
    assert_eq!((first.used, first.next), (0, Next::Fetch));
    for numbers in client.backend.numbers.values_mut() {
        numbers.remove(&1);
    }
    // The socket became writable, or the like.
    let mut rest = &input[..];
    for _ in 0..3 {
        let processed = client.session.process(rest, &mut client.backend, &mut out);
        rest = &rest[processed.used..];
    }
    client.backend.fetching = None;
    client.session.process(rest, &mut client.backend, &mut out);
    let said: Vec<u8> = out.ready().flatten().copied().collect();
    let said = String::from_utf8(said).unwrap();
    let codes: Vec<&str> = said.lines().map(|line| &line[..3]).collect();
    assert_eq!(codes, ["423", "111"], "{said}");
}
