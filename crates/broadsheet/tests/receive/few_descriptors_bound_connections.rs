//! Where few files may be open, there are fewer connections, and those that there are can read and post.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::article;
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};

const OPEN_FILES: u64 = 120;

#[test]
fn the_store_keeps_its_own() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    program.set(
        "connections_per_address_max = 64",
        "connections_per_address_max = 1000",
    );
    let served = Served::start_with_files(&program, OPEN_FILES);
    let mut peer = served.client();
    let mut others: Vec<Client> = (0..OPEN_FILES)
        .map(|_| Client::connect(&served.address))
        .collect();
    let (welcome, refused): (Vec<_>, Vec<_>) = others
        .iter_mut()
        .map(Client::line)
        .partition(|line| line.starts_with("200 "));
    assert_eq!(welcome.len() as u64, OPEN_FILES / 2 - 1);
    assert!(
        refused.iter().all(|line| line.starts_with("400 ")),
        "{refused:?}"
    );
    for number in 0..3 {
        let id = format!("<{number}@example.com>");
        peer.say(take_this(&id, &article(&id, "comp.test")));
        assert_eq!(peer.line(), format!("239 {id}"));
        assert!(peer.ask(&format!("ARTICLE {id}")).starts_with("220 "));
        peer.lines();
    }
    served.daemon.stop();
    program.assert_clean();
}
