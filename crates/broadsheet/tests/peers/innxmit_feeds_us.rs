//! A real INN sends us its batch file with innxmit, streaming and one at a time: everything arrives, nothing twice.

use crate::program;

use std::collections::BTreeSet;

use program::articles::{batch, id, many, with};
use program::clients::Server;
use program::daemon::until;
use program::inn::Inn;
use program::peers;

const ARTICLES: usize = 100;

#[test]
fn streaming_and_one_at_a_time() {
    let Some(inn) = Inn::start(&["test.two"]) else {
        return;
    };
    let mut all = many("out", ARTICLES, "test.two", 2000);
    all.push(with(
        "<odd@example.com>",
        "test.two",
        "",
        b".\n..two\n.three\nFrom here\n\n\xe9\x80 not UTF-8\n",
    ));
    let input = inn.path("batch");
    std::fs::write(&input, batch(&all)).expect("written");
    let told = inn.run("rnews", &[], Some(&input));
    assert!(told.status.success(), "{told:?}");
    until("the last article in INN", || inn.has("<odd@example.com>"));
    let told = inn.run("ctlinnd", &["flush", "elsewhere"], None);
    assert!(told.status.success(), "{told:?}");
    let list = inn.path("spool/outgoing/elsewhere");
    let lines = std::fs::read_to_string(&list).expect("a batch file");
    // Name and size; innxmit takes a second field for the id.
    let names = lines.lines().filter_map(|line| line.split_once(' '));
    let names: String = names.map(|(name, _)| format!("{name}\n")).collect();
    assert_eq!(names.lines().count(), all.len(), "{names}");

    for how in [&["-v"][..], &["-v", "-s"], &["-v", "-c"]] {
        let server = Server::start();
        let copy = inn.path("tmp/list");
        let send = || {
            std::fs::write(&copy, &names).expect("written");
            peers::give(&copy, peers::ids_of("news").expect("INN runs as it"));
            let path = copy.to_str().expect("UTF-8");
            let words = [how, &["-P", &server.port, "127.0.0.1", path]].concat();
            let told = inn.run("innxmit", &words, None);
            assert!(told.status.success(), "{told:?}");
            assert!(!copy.exists(), "articles are left: {told:?}");
            String::from_utf8_lossy(&told.stdout).into_owned()
        };
        let said = send();
        assert!(said.contains(&format!("accepted {}", all.len())), "{said}");
        let mut ids = BTreeSet::new();
        for number in 1..=ARTICLES + 1 {
            let text = server.article(&format!("test.two/{number}"));
            let text = String::from_utf8_lossy(&text).into_owned();
            let id = text
                .lines()
                .find_map(|line| line.strip_prefix("Message-ID: "));
            ids.insert(id.expect("an id").to_owned());
        }
        let wanted = (1..=ARTICLES).map(|number| id("out", number));
        assert_eq!(
            ids,
            wanted.chain(["<odd@example.com>".to_owned()]).collect()
        );
        let odd = server.article("<odd@example.com>");
        assert!(odd.ends_with(b"\n\n.\n..two\n.three\nFrom here\n\n\xe9\x80 not UTF-8\n"));

        let said = send();
        assert!(said.contains("accepted 0"), "{said}");
        server.program.assert_clean();
    }
}
