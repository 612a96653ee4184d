//! INN's nntpget fetches articles by their ids and by NEWNEWS.

use crate::program;

use program::clients::{Server, thread_here};
use program::inn::Inn;

/// An address of loopback that no other run of this test has: nntpget knows port 119 only.
fn own_address() -> String {
    let run = std::process::id();
    format!("127.1.{}.{}", run / 250 % 250, run % 250 + 1)
}

/// As nntpget prints articles: dots doubled, a dot at the end.
fn printed(article: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for line in article.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            text.push(b'.');
        }
        text.extend_from_slice(line);
    }
    text.extend_from_slice(b".\n");
    text
}

#[test]
fn by_id_and_what_is_new() {
    let Some(inn) = Inn::start(&["test.one"]) else {
        return;
    };
    let host = own_address();
    let server = Server::start_at(&format!("{host}:119"));
    let all = thread_here();

    let ids = inn.path("ids");
    std::fs::write(
        &ids,
        "<one-3@example.com>\n<none@example.com>\n<one-1@example.com>\n",
    )
    .expect("written");
    let told = inn.run("nntpget", &[&host], Some(&ids));
    let wanted = [&all[2], &all[0]].map(|article| printed(article)).concat();
    assert_eq!(
        String::from_utf8_lossy(&told.stdout),
        String::from_utf8_lossy(&wanted)
    );

    let since = ["-t", "20260101 000000 GMT", "-n", "test.*,!test.two"];
    let told = inn.run("nntpget", &[&since[..], &[&host]].concat(), None);
    assert!(told.status.success(), "{told:?}");
    let mut whole: Vec<_> = all.iter().map(|article| printed(article)).collect();
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    whole.retain(|article| !said.contains(&*String::from_utf8_lossy(article)));
    assert!(whole.is_empty(), "{} are missing: {said}", whole.len());

    server.program.assert_clean();
}
