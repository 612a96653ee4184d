//! `broadsheet pull` from servers that list, number or show articles in a way of their own: every article comes, and nothing else.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::program;

use program::articles::{many, with};
use program::pulling::{Fake, by_newnews, filed, pull, pulled, pulling};

/// Some servers decide by a date in the header which articles are new: one that arrives today with yesterday's date is never listed.
#[test]
fn articles_that_newnews_does_not_list_come_by_number() {
    let (leaf, fake) = by_newnews(1);
    let new = many("new", 5, "comp.test", 100);
    let listed = program::corpus::id(&new[4]);
    let reply: &'static str = format!("230 ids\r\n{listed}\r\n.\r\n").leak();
    let mut locked = fake.lock().unwrap();
    locked.put(4, &new);
    locked.replies = vec![("NEWNEWS", reply)];
    locked.asked.clear();
    drop(locked);
    assert_eq!(pulled(&leaf), (5, 5));
    let asked = |word: &str| {
        let mut locked = fake.lock().unwrap();
        let asked = std::mem::take(&mut locked.asked);
        asked.iter().filter(|line| line.starts_with(word)).count()
    };
    assert_eq!(asked("ARTICLE "), 5);
    // No numbers are asked for where nothing has come.
    assert_eq!(pulled(&leaf), (0, 0));
    assert_eq!(asked("GROUP comp.test"), 0);
    // A run that broke in the middle, and a server without LIST.
    let more = many("more", 2, "comp.test", 100);
    let mut locked = fake.lock().unwrap();
    locked.put(9, &more);
    locked.breaks_at = vec![format!("ARTICLE {}", program::corpus::id(&more[1]))];
    drop(locked);
    assert_eq!(pull(&leaf).status, 75);
    let mut locked = fake.lock().unwrap();
    locked.breaks_at.clear();
    locked.replies.push(("LIST", "503 no such list\r\n"));
    drop(locked);
    pulled(&leaf);
    assert_eq!(filed(&leaf, "comp.test"), 10);
}

/// Articles that came by NEWNEWS a moment ago are no sign of how far a renumbered group was read.
#[test]
fn a_group_that_is_numbered_anew_is_read_whole_beside_newnews() {
    let (leaf, fake) = by_newnews(101);
    // They are more than a batch, and filed before the numbers are asked for.
    let large = many("large", 10, "comp.test", 900_000);
    let ids: String = large
        .iter()
        .map(|article| program::corpus::id(article) + "\r\n")
        .collect();
    let reply: &'static str = format!("230 ids\r\n{ids}.\r\n").leak();
    let mut locked = fake.lock().unwrap();
    locked.articles.clear();
    locked.put(1, &many("late", 2, "comp.test", 100));
    locked.put(3, &large);
    locked.replies = vec![("NEWNEWS", reply)];
    drop(locked);
    assert_eq!(pulled(&leaf), (12, 12));
    leaf.assert_clean();
}

#[test]
fn an_overview_that_begins_with_the_last_article_is_read_whole() {
    let mut fake = Fake {
        falls: true,
        ..Fake::default()
    };
    fake.put(1, &many("f", 7, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (7, 7));
    fake.lock().unwrap().put(8, &many("g", 3, "comp.test", 100));
    assert_eq!(pulled(&leaf), (3, 3));
    assert!(leaf.read("news/pull/up").contains("comp.test 10 <g.3@"));
}

/// A row that names no article is reported, and costs no other one.
#[test]
fn rows_that_are_none_are_reported() {
    let mut fake = Fake::default();
    let articles = many("r", 2, "comp.test", 100);
    fake.put(1, &articles);
    let ids = [0, 1].map(|at| program::corpus::id(&articles[at]));
    let row = |number, id: &str| format!("{number}\ts\tf\td\t{id}\t\t1\t1\r\n");
    let rows = [row(1, &ids[0]), "2\ts\r\n".into(), row(3, &ids[1])].concat();
    let reply: &'static str = format!("224 rows\r\n{rows}.\r\n").leak();
    fake.articles[1].0 = 3;
    fake.replies = vec![("XOVER", reply)];
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "");
    let told = pull(&leaf);
    let counts = ["fetched", "given_up"].map(|of| told.count(of));
    assert_eq!(counts, [2, 1], "{told:?}");
    assert!(
        told.err.contains("comp.test: the overview has a row"),
        "{told:?}"
    );
}

/// Whatever a server replies to `ARTICLE <id>` that has no such index.
#[test]
fn a_server_with_numbers_only_loses_nothing() {
    for reply in [
        "",
        "500 what?",
        "501 a number, please",
        "503 not here",
        "423 no",
    ] {
        for newnews in [false, true] {
            let mut fake = Fake {
                has_no_ids: true,
                date: "20261125000000",
                ..Fake::default()
            };
            if !reply.is_empty() {
                let reply: &'static str = format!("{reply}\r\n").leak();
                fake.replies = vec![("ARTICLE <", reply)];
            }
            fake.put(1, &many("n", 30, "comp.test", 2000));
            let (address, fake) = fake.start();
            let leaf = pulling(&address, &format!("newnews = {newnews}"));
            assert_eq!(pulled(&leaf), (30, 30), "{reply}");
            let mut locked = fake.lock().unwrap();
            locked.put(31, &many("o", 5, "comp.test", 100));
            // One goes in the moment between overview and article.
            locked.articles[33].2.clear();
            drop(locked);
            let told = pull(&leaf);
            assert_eq!((told.status, told.count("accepted")), (0, 4), "{told:?}");
            assert_eq!(pulled(&leaf), (0, 0), "{reply}");
            assert!(leaf.read("news/pull/up").contains("comp.test 35 <o.5@"));
            leaf.assert_clean();
        }
    }
}

/// Such a server is not asked in vain for each article.
#[test]
fn a_server_with_numbers_only_is_soon_asked_by_number() {
    let mut fake = Fake {
        has_no_ids: true,
        ..Fake::default()
    };
    fake.put(1, &many("n", 3, "comp.test", 100));
    fake.put(3001, &many("o", 3, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (6, 6));
    let asked = fake.lock().unwrap().asked.clone();
    let by_id = asked.iter().filter(|line| line.starts_with("ARTICLE <"));
    assert_eq!(by_id.count(), 3, "{asked:?}");
}

#[test]
fn placeholders_of_leafnode_are_no_articles() {
    let mut fake = Fake::default();
    let id = "<leafnode:placeholder:comp.test@x>";
    fake.put(
        1,
        &[with(id, "comp.test", "", b"This server is leafnode.\n")],
    );
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    let told = pull(&leaf);
    let counts = ["fetched", "placeholders", "groups_renumbered"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [0, 1, 0]), "{told:?}");
    assert!(told.err.contains("comp.test: the server (leafnode)"));
    // It has fetched the group. One article is there without its body.
    let late =
        "\n\n\t[ Leafnode: ]\n\t[ Message 3 of comp.test ]\n\t[ has been marked for download. ]\n";
    let replace = |body: &str| {
        let mut fake = fake.lock().unwrap();
        fake.articles.clear();
        fake.put(1, &many("real", 2, "comp.test", 100));
        fake.put(3, &[with("<late@x>", "comp.test", "", body.as_bytes())]);
    };
    replace(late);
    let told = pull(&leaf);
    let counts = ["fetched", "refused_by_server", "groups_renumbered"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (75, [2, 1, 0]), "{told:?}");
    replace("the body\n");
    assert_eq!(pulled(&leaf), (1, 1));
    assert_eq!(filed(&leaf, "comp.test"), 3);
}

/// A dot that begins a line and is not doubled is disregarded, as by every reader of that server (RFC 3977, 3.1.1).
#[test]
fn dots_that_are_not_doubled_are_disregarded() {
    let mut fake = Fake::default();
    let body = b".\n.one\n..two\nlast\n";
    fake.put(1, &[with("<dots@x>", "comp.test", "", body)]);
    let text = String::from_utf8(fake.articles[0].2.clone()).unwrap();
    let text = text.replacen("\r\n..one\r\n", "\r\n.one\r\n", 1);
    fake.articles[0].2 = text.into_bytes();
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (1, 1));
    let told = leaf.run(&["article", "--dir", "news", "<dots@x>"]);
    assert!(told.out.ends_with("\n\n.\none\n..two\nlast\n"), "{told:?}");
}
