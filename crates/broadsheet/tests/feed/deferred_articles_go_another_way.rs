//! The articles that a peer deferred go the way that `via` of its site says, when that is no longer NNTP.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use feed::deferred::{self, Deferred};
use program::Program;
use program::articles::{batch, id, many};
use program::feeding::listed;

const SITE: &str = "\n[[site]]\nname = \"peer\"\ngroups = \"comp\"\nvia = ";

/// They stayed in `feeds/SITE/deferred` for ever, and `feed flush` ended with 0.
#[test]
fn each_way_sends_what_the_peer_deferred() {
    let program = Program::with_news("comp.test 0 1 y\n");
    program.init("other", "other.example");
    std::fs::create_dir(program.path("west")).unwrap();
    let settings = program.read("news/broadsheet.toml");
    let set_via = |via: &str| {
        let text = format!("{settings}{SITE}{{ {via} }}\n");
        program.write("news/broadsheet.toml", text.as_bytes());
    };
    set_via("directory = \"../west\"");
    program.rnews(&batch(&many("a", 2, "comp.test", 100)));
    let flush = || program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(flush().status, 0);
    let find = ["history", "find", "--dir", "news", &id("a", 1)];
    let find = program.run(&find).out;
    let position = find.split('\t').nth(1).unwrap().split('~').nth(3).unwrap();
    let position = store::Position(position.parse().unwrap());
    let list = [Deferred::new(position, 1, 0)];
    let counts = || {
        let listed = listed(&program);
        ["sent", "deferred"].map(|of| listed[of].as_u64().unwrap())
    };
    let mut sent = 2;
    for via in [
        "files = \"../got\", form = \"I\"",
        "command = \"sh -c 'cat >>../got'\"",
        "program = \"sh -c 'cat >>../got'\", gives = \"id\"",
        "batch = \"sh -c 'cat >>../got'\"",
        "batch = \"sh -c 'cat >>../got'\", build = \"ihave\"",
        "tree = \"../tree\"",
        "news = \"../other\"",
        "directory = \"../west\", queue = 2",
    ] {
        set_via(via);
        deferred::write(&program.path("news/feeds/peer"), "peer", &list).unwrap();
        assert_eq!(counts(), [sent, 1]);
        let told = flush();
        assert_eq!(told.status, 0, "{via}: {told:?}");
        assert!(told.out.contains("peer: 1 article"), "{via}: {told:?}");
        sent += 1;
        assert_eq!(counts(), [sent, 0], "{via}");
    }
    // Whole articles, and message-ids.
    let got = program.read("got");
    assert_eq!(got.matches(&id("a", 1)).count(), 5, "{got}");
    assert!(program.path("tree/comp/test/1").exists());
    // The command reports articles that stay.
    deferred::write(&program.path("news/feeds/peer"), "peer", &list).unwrap();
    let told = flush();
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("2 batches are in its queue"), "{told:?}");
    assert_eq!(counts(), [sent, 1]);
}
