//! Articles that have to be fetched first give the same replies, in the same order.

use crate::backend;

use backend::{Client, Fake};

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
