//! `broadsheet pull` from servers that misbehave: nothing is lost or filed twice.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{many, with};
use program::pulling::{Fake, by_newnews, filed, post, pull, pulled, pulling, take_first};

#[test]
fn a_server_that_numbers_anew() {
    let old = many("old", 30, "comp.test", 100);
    let mut fake = Fake::default();
    fake.put(1001, &old);
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (30, 30));
    // Lower numbers; some of the old ones are there, and new ones behind them.
    let new = many("new", 5, "comp.test", 100);
    let replace = |first: u64, articles: &[Vec<u8>]| {
        let mut fake = fake.lock().unwrap();
        fake.articles.clear();
        fake.put(first, articles);
    };
    let other = many("ancient", 10, "comp.test", 100);
    replace(1, &[&other, &old[20..], &new].concat());
    let told = pull(&leaf);
    assert_eq!(
        (told.count("fetched"), told.count("groups_renumbered")),
        (5, 1),
        "{told:?}"
    );
    assert_eq!(pulled(&leaf), (0, 0));
    // Higher numbers than before, and the mark's number is that of another article.
    let newer = many("newer", 40, "comp.test", 100);
    replace(10, &[&new[..], &newer].concat());
    let told = pull(&leaf);
    assert_eq!(
        (told.count("fetched"), told.count("groups_renumbered")),
        (40, 1),
        "{told:?}"
    );
    // Everything else has gone, and there are only new ones.
    let last = many("last", 7, "comp.test", 100);
    replace(5000, &last);
    assert_eq!(pulled(&leaf), (7, 7));
    assert_eq!(filed(&leaf, "comp.test"), 82);
    leaf.assert_clean();
}

#[test]
fn a_server_that_ends_in_the_middle() {
    let articles = many("cut", 50, "comp.test", 2000);
    let mut fake = Fake {
        articles_max: Some(20),
        ..Fake::default()
    };
    fake.put(1, &articles);
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "");
    for (fetched, status) in [(20, 75), (20, 75), (10, 0), (0, 0)] {
        let told = pull(&leaf);
        assert_eq!(
            (told.count("fetched"), told.status),
            (fetched, status),
            "{told:?}"
        );
        let why = told.summary()["why"].as_str().map(str::to_owned);
        assert_eq!(why.is_some(), status != 0, "{told:?}");
    }
    assert_eq!(filed(&leaf, "comp.test"), 50);
    leaf.assert_clean();
}

/// pull requests a message-id with bytes outside ASCII, and reports one that is too long.
#[test]
fn unusual_message_ids() {
    let long = format!("<{}@x>", "l".repeat(260));
    for newnews in [false, true] {
        let ids = ["<caf\u{e9}@x>", &long, "<plain@x>"];
        let mut fake = Fake::default();
        fake.put(1, &ids.map(|id| with(id, "comp.test", "", b"text\n")));
        let (address, _fake) = fake.start();
        let leaf = pulling(&address, &format!("newnews = {newnews}"));
        let told = pull(&leaf);
        assert_eq!(
            (told.count("fetched"), told.count("given_up")),
            (2, 1),
            "{told:?}"
        );
        assert!(told.err.contains("no command can name"), "{told:?}");
        assert_eq!(filed(&leaf, "comp.test"), 2);
    }
}

#[test]
fn bad_and_missing_articles_stop_nothing() {
    let mut fake = Fake::default();
    fake.put(1, &many("g", 3, "comp.test", 100));
    // Without a body, without a header, too large, and gone.
    fake.articles.push((
        4,
        "<cut@x>".into(),
        b"Path: a\r\nMessage-ID: <cut@x>\r\nSubj".to_vec(),
    ));
    fake.articles
        .push((5, "<no@x>".into(), b"\r\nno header\r\n".to_vec()));
    let mut large = with("<large@x>", "comp.test", "", &[b'x'; 3000]);
    large.extend_from_slice(&b"line\n".repeat(1 << 20));
    fake.put(6, &[large]);
    let (address, fake) = fake.start();
    {
        let mut fake = fake.lock().unwrap();
        let after = many("h", 2, "comp.test", 100);
        fake.put(7, &after);
        fake.articles.push((9, "<gone@x>".into(), Vec::new()));
        fake.articles[3].2.extend_from_slice(b"\r\n");
    }
    let leaf = pulling(&address, "");
    let settings = leaf.read("news/broadsheet.toml");
    let smaller = program::clients::set(settings, "article_bytes_max", "\"1 MiB\"");
    leaf.write("news/broadsheet.toml", smaller.as_bytes());
    let told = pull(&leaf);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        (told.count("fetched"), told.count("too_large")),
        (7, 1),
        "{told:?}"
    );
    assert_eq!(told.count("gone"), 1, "{told:?}");
    assert_eq!(told.count("accepted"), 5, "{told:?}");
    assert_eq!(pulled(&leaf), (0, 0));
}

#[test]
fn a_server_that_hangs() {
    let mut fake = Fake {
        articles_max: Some(3),
        hangs: true,
        ..Fake::default()
    };
    fake.put(1, &many("hang", 10, "comp.test", 2000));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "timeout_seconds = 1");
    let told = pull(&leaf);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(told.out.contains("sent nothing for 1 seconds"), "{told:?}");
    let fetched = told.count("fetched");
    assert!(
        fetched <= 3 && filed(&leaf, "comp.test") == fetched,
        "{told:?}"
    );
    fake.lock().unwrap().articles_max = None;
    let patient = leaf
        .read("news/broadsheet.toml")
        .replace("timeout_seconds = 1\n", "");
    leaf.write("news/broadsheet.toml", patient.as_bytes());
    assert_eq!(pulled(&leaf), (10 - fetched, 10 - fetched));
}

#[test]
fn a_server_where_the_last_article_read_has_expired() {
    let old = many("old", 3, "comp.test", 100);
    let mut fake = Fake::default();
    fake.put(1, &old);
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (3, 3));
    // The second of the new ones came another way.
    let new = many("new", 4, "comp.test", 100);
    let batch = program::articles::batch(&new[1..2]);
    assert_eq!(leaf.feed(&["rnews", "--dir", "news"], &batch).status, 0);
    let mut locked = fake.lock().unwrap();
    locked.articles.clear();
    locked.put(10, &new);
    drop(locked);
    let told = pull(&leaf);
    assert_eq!(
        (told.count("fetched"), told.count("groups_renumbered")),
        (3, 0),
        "{told:?}"
    );
    assert_eq!(filed(&leaf, "comp.test"), 7);
    assert_eq!(pulled(&leaf), (0, 0));
}

#[test]
fn more_news_than_one_visit_fetches() {
    let (leaf, fake) = by_newnews(1);
    // The last article of the list is beyond what one visit fetches: it comes by number.
    let mut locked = fake.lock().unwrap();
    locked.date = "20261126000000";
    locked.gone = 100_000;
    locked.put(4, &many("new", 1, "comp.test", 100));
    drop(locked);
    let told = pull(&leaf);
    let counts = ["gone", "fetched"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [100_000, 1]), "{told:?}");
    fake.lock().unwrap().gone = 0;
    assert_eq!(pulled(&leaf), (0, 0));
}

#[test]
fn articles_that_nobody_asked_for_are_refused() {
    let mut fake = Fake::default();
    let asked = many("asked", 5, "comp.test", 100);
    fake.put(1, &asked);
    // Another id; a group that is not read here; and what looks as if it was posted here.
    let other = with("<other@x>", "comp.test", "", b"body\n");
    let closed = with("<closed@x>", "comp.other", "", b"body\n");
    fake.put(6, &[other, closed]);
    fake.articles[5].1 = "<asked-6@x>".to_owned();
    let posted = with("<posted@x>", "comp.test", "", b"body\n");
    let posted = String::from_utf8(posted).unwrap();
    let path = posted
        .lines()
        .find(|line| line.starts_with("Path: "))
        .unwrap();
    let posted = posted.replacen(path, "Path: .POSTED.x!not-for-mail", 1);
    fake.put(8, &[posted.into_bytes()]);
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "");
    let settings = leaf.read("news/broadsheet.toml");
    let narrow = settings.replacen("groups = \"comp.*\"", "groups = \"comp.test\"", 1);
    assert_ne!(settings, narrow);
    leaf.write("news/broadsheet.toml", narrow.as_bytes());
    let told = pull(&leaf);
    assert_eq!(
        (
            told.status,
            told.count("fetched"),
            told.count("not_asked_for")
        ),
        (0, 5, 3),
        "{told:?}"
    );
    assert_eq!(pulled(&leaf), (0, 0));
    assert_eq!(filed(&leaf, "comp.test") + filed(&leaf, "comp.other"), 5);
}

#[test]
fn a_server_with_numbers_without_end() {
    let mut fake = Fake::default();
    fake.put(1, &many("first", 3, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (3, 3));
    // The highest number that there is, and nothing before it; the visit ends all the same, and says that something is left.
    fake.lock()
        .unwrap()
        .put(u64::MAX - 2, &many("last", 1, "comp.test", 100));
    for _ in 0..2 {
        let told = pull(&leaf);
        assert_eq!((told.status, told.count("fetched")), (75, 0), "{told:?}");
    }
}

#[test]
fn a_server_that_numbers_anew_without_end() {
    let mut fake = Fake::default();
    fake.put(1, &many("first", 3, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (3, 3));
    let mut locked = fake.lock().unwrap();
    locked.articles.pop();
    locked.put(3, &many("other", 1, "comp.test", 100));
    locked.put(u64::MAX - 2, &many("last", 1, "comp.test", 100));
    drop(locked);
    // It looks through the last numbers only.
    assert_eq!(pulled(&leaf), (1, 1));
}

#[test]
fn refused_groups_and_articles_hold_up_nothing() {
    let mut fake = Fake::default();
    fake.put(1, &many("r", 5, "comp.test", 100));
    fake.replies = vec![
        ("GROUP comp.other", "503 no overview of that\r\n"),
        ("ARTICLE <r.2@", "403 internal fault\r\n"),
        ("ARTICLE 2", "403 internal fault\r\n"),
    ];
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    let counts = |told: &program::Told| {
        ["fetched", "refused_by_server", "groups_refused", "given_up"].map(|of| told.count(of))
    };
    let told = pull(&leaf);
    assert_eq!((told.status, counts(&told)), (75, [4, 1, 1, 0]), "{told:?}");
    let said = told
        .err
        .contains("comp.other: the server answers `503 no overview of that'");
    assert!(said && told.err.contains("403 internal fault"), "{told:?}");
    // The mark stays before the article, and the others are known.
    let marks = || leaf.read("news/pull/up");
    assert!(marks().contains("comp.test 1 <r.1@"), "{}", marks());
    let told = pull(&leaf);
    assert_eq!((told.status, counts(&told)), (75, [0, 1, 1, 0]), "{told:?}");
    // After a week it is given up.
    let id = program::articles::id("r", 2);
    let text = marks();
    let line = text
        .lines()
        .find(|line| line.starts_with("*refused "))
        .unwrap();
    assert!(line.ends_with(&id), "{line}");
    let now: i64 = line.split(' ').nth(1).unwrap().parse().unwrap();
    let earlier = format!("*refused {} {id}", now - 7 * 86_400);
    leaf.write("news/pull/up", text.replace(line, &earlier).as_bytes());
    fake.lock().unwrap().replies.remove(0);
    let told = pull(&leaf);
    assert_eq!((told.status, counts(&told)), (0, [0, 0, 0, 1]), "{told:?}");
    assert!(told.err.contains("the article is given up"), "{told:?}");
    assert!(
        marks().contains("comp.test 5 <r.5@") && !marks().contains("*refused"),
        "{}",
        marks()
    );
}

#[test]
fn an_article_that_was_refused_for_a_while_comes() {
    let mut fake = Fake::default();
    fake.put(101, &many("w", 5, "comp.test", 100));
    fake.replies = vec![
        ("ARTICLE <w.1@", "403 internal fault\r\n"),
        ("ARTICLE 101", "403 internal fault\r\n"),
        ("XOVER 10", "503 not now\r\n"),
    ];
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    let told = pull(&leaf);
    let counts = ["fetched", "groups_refused"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (75, [0, 1]), "{told:?}");
    fake.lock().unwrap().replies.pop();
    let told = pull(&leaf);
    assert_eq!((told.status, told.count("fetched")), (75, 4), "{told:?}");
    // It was the first one, and `first` does not count any more.
    let settings = leaf
        .read("news/broadsheet.toml")
        .replace("first = 100000", "first = 1");
    leaf.write("news/broadsheet.toml", settings.as_bytes());
    fake.lock().unwrap().replies.clear();
    assert_eq!(pulled(&leaf), (1, 1));
    assert_eq!(pulled(&leaf), (0, 0));
}

#[test]
fn a_clock_that_goes_back_loses_no_news() {
    let mut fake = Fake {
        date: "20260101130000",
        ..Fake::default()
    };
    fake.put(1, &many("fast", 3, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "newnews = true");
    assert_eq!(pulled(&leaf), (3, 3));
    let mut locked = fake.lock().unwrap();
    locked.date = "20260101120500";
    locked.replies = vec![("NEWNEWS", "230 nothing since then\r\n.\r\n")];
    locked.put(4, &many("right", 2, "comp.test", 100));
    drop(locked);
    assert_eq!(pulled(&leaf), (2, 2));
    assert_eq!(pulled(&leaf), (0, 0));
    let asked = fake.lock().unwrap().asked.clone();
    let newnews = asked.iter().filter(|line| line.starts_with("NEWNEWS"));
    assert_eq!(newnews.count(), 1, "{asked:?}");
}

#[test]
fn a_server_that_takes_no_posts_is_read() {
    for reply in [
        "480 log in",
        "440 no posts",
        "403 internal fault",
        "503 not here",
    ] {
        let mut fake = Fake::default();
        fake.put(1, &many("p", 3, "comp.test", 100));
        let reply: &'static str = format!("{reply}\r\n").leak();
        let may_post = ("MODE", "200 read and post\r\n");
        fake.replies = vec![may_post, ("POST", reply)];
        let (address, fake) = fake.start();
        let leaf = pulling(&address, "post = true");
        assert_eq!(pulled(&leaf), (3, 3));
        post(&leaf, "waits");
        fake.lock().unwrap().put(4, &many("q", 1, "comp.test", 100));
        let told = pull(&leaf);
        let counts = ["fetched", "posted"].map(|of| told.count(of));
        assert_eq!((told.status, counts), (0, [1, 0]), "{told:?}");
        assert!(told.err.contains("1 posts made here wait"), "{told:?}");
        // It goes up as soon as they are taken.
        fake.lock().unwrap().replies.pop();
        let told = pull(&leaf);
        assert_eq!((told.status, told.count("posted")), (0, 1), "{told:?}");
    }
}

#[test]
fn replies_without_end_end() {
    let endless = |command, reply, endless, keys: &str| {
        let mut fake = Fake {
            date: "20260101130000",
            endless,
            ..Fake::default()
        };
        fake.put(1, &many("e", 3, "comp.test", 100));
        let (address, fake) = fake.start();
        let leaf = pulling(&address, keys);
        let settings = leaf.read("news/broadsheet.toml");
        let smaller = program::clients::set(settings, "article_bytes_max", "\"100 KiB\"");
        leaf.write("news/broadsheet.toml", smaller.as_bytes());
        let newnews = keys.contains("newnews");
        if newnews {
            assert_eq!(pulled(&leaf), (3, 3));
        }
        fake.lock().unwrap().replies = vec![(command, reply)];
        let told = pull(&leaf);
        let why = told.summary()["why"].as_str().unwrap().to_owned();
        assert_eq!(told.status, 75, "{told:?}");
        assert!(why.starts_with("the server does not end its "), "{why}");
        fake.lock().unwrap().replies.clear();
        (leaf, fake)
    };
    let (leaf, _fake) = endless("XOVER", "224 rows\r\n", "no row\r\n", "");
    assert_eq!(pulled(&leaf), (3, 3));
    // The next run goes by number.
    let (leaf, fake) = endless("NEWNEWS", "230 ids\r\n", "no id\r\n", "newnews = true");
    fake.lock().unwrap().put(4, &many("f", 2, "comp.test", 100));
    assert_eq!(pulled(&leaf), (2, 2));
    // The article counts as too large.
    let (leaf, _fake) = endless("ARTICLE <e.2@", "220 0 it comes\r\n", "line\r\n", "");
    assert_eq!(filed(&leaf, "comp.test"), 1);
    assert_eq!(pulled(&leaf), (1, 1));
}

#[test]
fn a_server_named_twice_is_visited_once() {
    let mut fake = Fake::default();
    fake.put(1, &many("twice", 3, "comp.test", 100));
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "");
    let told = leaf.run(&["pull", "--dir", "news", "--json", "up", "up"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(told.out.lines().count(), 1, "{told:?}");
    assert_eq!(told.count("accepted"), 3, "{told:?}");
}

#[test]
fn a_group_that_was_empty_at_first_is_read_whole() {
    let (address, fake) = Fake::default().start();
    let leaf = pulling(&address, "");
    take_first(&leaf, 2);
    assert_eq!(pulled(&leaf), (0, 0));
    fake.lock().unwrap().put(1, &many("e", 5, "comp.test", 100));
    assert_eq!(pulled(&leaf), (5, 5));
    // Nothing of its past is wanted.
    let mut fake = Fake::default();
    fake.put(1, &many("past", 3, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    take_first(&leaf, 0);
    assert_eq!(pulled(&leaf), (0, 0));
    fake.lock().unwrap().put(4, &many("z", 4, "comp.test", 100));
    assert_eq!(pulled(&leaf), (4, 4));
    // The server tells of numbers, but has no article (RFC 3977, 6.1.1.2).
    let fake = Fake {
        replies: vec![("GROUP comp.test", "211 0 1 7 comp.test\r\n")],
        ..Fake::default()
    };
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    take_first(&leaf, 2);
    assert_eq!(pulled(&leaf), (0, 0));
    let mut locked = fake.lock().unwrap();
    locked.replies.clear();
    locked.put(8, &many("n", 5, "comp.test", 100));
    drop(locked);
    assert_eq!(pulled(&leaf), (5, 5));
}

#[test]
fn a_post_for_which_the_server_has_no_room_goes_up_later() {
    let fake = Fake {
        replies: vec![("MODE", "200 read and post\r\n")],
        ..Fake::default()
    };
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "post = true");
    assert_eq!(pulled(&leaf), (0, 0));
    post(&leaf, "waits");
    let counts = |told: &program::Told| ["posted", "posts_refused"].map(|of| told.count(of));
    for reply in [
        "441 Try again later: the disk is full\r\n",
        "441 436 No space\r\n",
    ] {
        fake.lock().unwrap().after_post = reply;
        let told = pull(&leaf);
        assert_eq!((told.status, counts(&told)), (0, [0, 0]), "{told:?}");
        assert!(told.err.contains("1 posts made here wait"), "{told:?}");
    }
    fake.lock().unwrap().after_post = "";
    let told = pull(&leaf);
    assert_eq!((told.status, counts(&told)), (0, [1, 0]), "{told:?}");
    // One that it does not want stays here, and the run says so.
    post(&leaf, "is unwanted");
    fake.lock().unwrap().after_post = "441 No such group\r\n";
    let told = pull(&leaf);
    assert_eq!((told.status, counts(&told)), (75, [0, 1]), "{told:?}");
    assert!(told.err.contains("not sent again"), "{told:?}");
    let told = pull(&leaf);
    assert_eq!((told.status, counts(&told)), (0, [0, 0]), "{told:?}");
}

#[test]
fn posts_made_while_the_server_was_never_reached_go_up() {
    let (address, fake) = Fake::default().start();
    fake.lock().unwrap().replies = vec![("MODE", "200 read and post\r\n")];
    let leaf = pulling("127.0.0.1:1", "post = true");
    post(&leaf, "stays here");
    assert_eq!(pull(&leaf).status, 75);
    post(&leaf, "goes up");
    let settings = leaf.read("news/broadsheet.toml");
    let settings = settings.replace("\"127.0.0.1:1\"", &format!("\"{address}\""));
    leaf.write("news/broadsheet.toml", settings.as_bytes());
    let told = pull(&leaf);
    assert_eq!((told.status, told.count("posted")), (0, 1), "{told:?}");
}

#[test]
fn a_server_that_numbers_anew_as_far_as_before() {
    let mut fake = Fake::default();
    fake.put(1, &many("old", 10, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    take_first(&leaf, 4);
    assert_eq!(pulled(&leaf), (4, 4));
    assert_eq!(pulled(&leaf), (0, 0));
    // The same numbers, and nothing that is known: the whole group is read.
    let mut locked = fake.lock().unwrap();
    locked.articles.clear();
    locked.put(1, &many("new", 10, "comp.test", 100));
    drop(locked);
    let told = pull(&leaf);
    let counts = ["fetched", "groups_renumbered"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [10, 1]), "{told:?}");
    // Once more, and no article has the number of the mark.
    let mut locked = fake.lock().unwrap();
    locked.articles.clear();
    locked.put(4, &many("anew", 6, "comp.test", 100));
    locked.put(12, &many("after", 2, "comp.test", 100));
    drop(locked);
    let told = pull(&leaf);
    let counts = ["fetched", "groups_renumbered"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [8, 1]), "{told:?}");
}

#[test]
fn a_last_article_that_is_cancelled_is_no_new_numbering() {
    let mut fake = Fake::default();
    fake.put(1, &many("c", 10, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    take_first(&leaf, 4);
    assert_eq!(pulled(&leaf), (4, 4));
    let mut locked = fake.lock().unwrap();
    locked.articles.pop();
    locked.replies = vec![("GROUP comp.test", "211 9 1 10 comp.test\r\n")];
    drop(locked);
    for _ in 0..2 {
        let told = pull(&leaf);
        let counts = ["fetched", "groups_renumbered"].map(|of| told.count(of));
        assert_eq!((told.status, counts), (0, [0, 0]), "{told:?}");
    }
    let mut locked = fake.lock().unwrap();
    locked.replies.clear();
    locked.put(11, &many("d", 2, "comp.test", 100));
    drop(locked);
    assert_eq!(pulled(&leaf), (2, 2));
}

/// The articles before it, which may be lost with the connection, are not blamed. It is not given up: the server may be unwell.
#[test]
fn an_article_at_which_connections_break_is_named() {
    let articles = many("g", 10, "comp.test", 100);
    let poison = program::corpus::id(&articles[4]);
    let mut fake = Fake {
        breaks_at: vec![format!("ARTICLE {poison}")],
        ..Fake::default()
    };
    fake.put(1, &articles);
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    pull(&leaf);
    for _ in 0..7 {
        let told = pull(&leaf);
        assert_eq!(told.status, 75, "{told:?}");
        let why = told.summary()["why"].as_str().unwrap().to_owned();
        assert!(why.contains(&poison), "{why}");
    }
    assert!(leaf.read("news/pull/up").contains("*broken"));
    fake.lock().unwrap().breaks_at.clear();
    assert_eq!(pull(&leaf).status, 0);
    assert_eq!(filed(&leaf, "comp.test"), 10);
    assert!(!leaf.read("news/pull/up").contains("*broken"));
}

#[test]
fn a_post_at_which_connections_break_is_named() {
    let fake = Fake {
        replies: vec![("MODE", "200 read and post\r\n")],
        breaks_at: vec!["Subject: poison".to_owned()],
        ..Fake::default()
    };
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "post = true");
    pull(&leaf);
    post(&leaf, "poison");
    for count in 1..=7 {
        let told = pull(&leaf);
        assert_eq!((told.status, told.count("posted")), (75, 0), "{told:?}");
        let why = told.summary()["why"].as_str().unwrap().to_owned();
        assert!(why.contains(&format!("broke there: {count};")), "{why}");
    }
    fake.lock().unwrap().breaks_at.clear();
    let told = pull(&leaf);
    assert_eq!((told.status, told.count("posted")), (0, 1), "{told:?}");
}
