//! Header-only feeds (MODE HEADFEED) from one Broadsheet to another: the overview is that of the whole articles, and no article
//! without its body passes for a whole one.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::articles::{article, batch, id, many, with};
use program::cluster::make_node;
use program::daemon::{Daemon, until};
use program::feeding::{add_peer, feeding, file, listed, waiting};
use program::inn::Inn;
use program::nats::Servers;
use program::nntp::{Client, Served, listen, take_this};
use program::peers;
use program::pulling::rename;
use program::taker::Taker;

const ACTIVE: &str = "comp.test 0000000000 00001 y\ncontrol 0000000000 00001 n\n";
const MAY_HEADFEED: &str = "\n[[access]]\nname = \"full\"\nfrom = [\"local\"]\nread = \"*\"\npost = \"*\"\nsend = \"*\"\nheadfeed = true\n";
const HEADFEED: &str = ", headfeed = true";

/// A news directory for headers that listens.
fn headers_only(access: &str) -> Program {
    let program = Program::with_news(ACTIVE);
    rename(&program, "heads.example.org");
    program.set("headers_only = false", "headers_only = true");
    listen(&program, access);
    program
}

/// The overview of the group, from the Subject to the number of lines.
fn rows(program: &Program) -> Vec<String> {
    let text = program.run_bytes(&["overview", "--dir", "news", "comp.test", "1-"]);
    let text = String::from_utf8(text).unwrap();
    let mut rows: Vec<String> = text
        .lines()
        .map(|row| {
            row.split('\t')
                .skip(1)
                .take(7)
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect();
    rows.sort();
    rows
}

fn all_heads(served: &Served) -> Client {
    let mut client = served.client();
    assert!(client.ask("MODE HEADFEED").starts_with("250 "));
    client
}

#[test]
fn the_overview_is_that_of_the_whole_articles() {
    let there = headers_only(MAY_HEADFEED);
    let served = Served::start(&there);
    let full = feeding(&served.address, HEADFEED);
    full.write("news/active", ACTIVE.as_bytes());
    let daemon = Daemon::start(&full);
    file(&full, "a", 30, 3_000);
    let odd = with(
        "<odd@example.com>",
        "comp.test",
        "Bytes: 1\nLines: 999\n",
        b".one\n..two\n\n",
    );
    let cancel = with(
        "<cancel@example.com>",
        "comp.test",
        "Control: cancel <a.30@example.com>\n",
        b"why\n",
    );
    full.rnews(&batch(&[odd, cancel]));
    until("the headers are there", || rows(&there).len() >= 31);
    until("nothing waits", || waiting(&full) == 0);
    assert_eq!(listed(&full)["peer"]["refused"], 0);
    let whole = rows(&full);
    assert_eq!(rows(&there), whole);
    assert!(whole.iter().any(|row| row.ends_with("|3")), "{whole:?}");

    // Readers get the header, and no half article.
    let mut client = served.client();
    for (command, code) in [
        ("ARTICLE", "503"),
        ("BODY", "503"),
        ("HEAD", "221"),
        ("STAT", "223"),
    ] {
        let reply = client.ask(&format!("{command} <a.1@example.com>"));
        assert!(reply.starts_with(code), "{command}: {reply}");
        if command == "HEAD" {
            assert!(client.lines().contains(&"Lines: 1".to_owned()));
        }
    }
    client.ask("GROUP comp.test");
    assert!(client.ask("BODY 1").starts_with("503 "));
    // A control message comes whole.
    assert!(
        client
            .ask("ARTICLE <cancel@example.com>")
            .starts_with("220 ")
    );
    assert_eq!(client.lines().last().unwrap(), "why");
    // It is not lost when the derived files are made again.
    daemon.stop();
    drop(client);
    served.daemon.stop();
    there.assert_clean();
    let told = there.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(rows(&there), whole);
}

#[test]
fn innxmit_sends_headers() {
    const COUNT: usize = 20;
    let Some(inn) = Inn::start(&["comp.test"]) else {
        return;
    };
    inn.feed(&many("inn", COUNT, "comp.test", 2_000));
    inn.control(&["flush", "elsewhere"]);
    let list = std::fs::read_to_string(inn.path("spool/outgoing/elsewhere")).unwrap();
    let names = list.lines().filter_map(|line| line.split_once(' '));
    let names: String = names.map(|(name, _)| format!("{name}\n")).collect();
    let there = headers_only(MAY_HEADFEED);
    let served = Served::start(&there);
    let (_, port) = served.address.rsplit_once(':').unwrap();
    inn.write("tmp/list", &names);
    peers::give(&inn.path("tmp/list"), peers::ids_of("news").unwrap());
    let path = inn.path("tmp/list");
    let words = ["-v", "-H", "-P", port, "127.0.0.1", path.to_str().unwrap()];
    let told = inn.run("innxmit", &words, None);
    assert!(told.status.success(), "{told:?}");
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(said.contains(&format!("accepted {COUNT}")), "{said}");
    let rows = rows(&there);
    assert_eq!(rows.len(), COUNT);
    for row in rows {
        let bytes: u64 = row.split('|').nth(5).unwrap().parse().unwrap();
        assert!((1_500..3_000).contains(&bytes), "{row}");
    }
    let reply = served.client().ask("BODY <inn.1@example.com>");
    assert!(reply.starts_with("503 "), "{reply}");
    served.daemon.stop();
}

#[test]
fn only_permitted_peers_and_only_headers() {
    let without = MAY_HEADFEED.replace("headfeed = true\n", "");
    let served_without = Served::start(&headers_only(&without));
    let mut client = served_without.client();
    assert!(client.ask("MODE HEADFEED").starts_with("502 "));
    assert!(client.ask("CHECK <1@x>").starts_with("502 "));
    served_without.daemon.stop();

    // A server of whole articles takes no headers.
    let whole = Program::with_news(ACTIVE);
    listen(&whole, MAY_HEADFEED);
    let served = Served::start(&whole);
    assert!(served.client().ask("MODE HEADFEED").starts_with("502 "));
    served.daemon.stop();

    let there = headers_only(MAY_HEADFEED);
    let served = Served::start(&there);
    let mut client = served.client();
    for command in ["CHECK <1@x>", "IHAVE <1@x>"] {
        assert!(client.ask(command).starts_with("502 "), "{command}");
    }
    client.say(take_this("<1@x>", &article("<1@x>", "comp.test")));
    assert!(client.line().starts_with("502 "));
    assert!(client.ask("POST").starts_with("440 "));
    let mut client = all_heads(&served);
    // A body, no size, a size that cannot be.
    for (number, header, body) in [
        (1, "Bytes: 500\n", &b"body\n"[..]),
        (2, "", b""),
        (3, "Bytes: many\n", b""),
    ] {
        let id = format!("<{number}@x>");
        let article = with(&id, "comp.test", header, body);
        client.say(take_this(&id, &article));
        let reply = client.line();
        assert!(reply.starts_with(&format!("439 {id}")), "{reply}");
    }
    // What was refused may come again in its right form.
    let good = with("<1@x>", "comp.test", "Bytes: 500\nLines: 7\n", b"");
    assert!(client.ask("IHAVE <1@x>").starts_with("335 "));
    client.say(program::nntp::wire(&good));
    assert!(client.line().starts_with("235 "));
    assert!(rows(&there)[0].ends_with("|500|7"));
    // Batches wait, and are not taken.
    let told = there.rnews(&batch(&[article("<9@x>", "comp.test")]));
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("headers_only"), "{told:?}");
    served.daemon.stop();
}

#[test]
fn headers_go_on_as_headers_alone() {
    let taker = Taker::start();
    let there = headers_only(MAY_HEADFEED);
    add_peer(&there, &taker.address, HEADFEED);
    let served = Served::start(&there);
    let full = feeding(&served.address, HEADFEED);
    let daemon = Daemon::start(&full);
    file(&full, "a", 10, 50_000);
    until("they went on", || taker.count() == 10);
    assert!(taker.bytes() < 10 * 1_000, "{}", taker.bytes());
    daemon.stop();
    served.daemon.stop();

    // Feeds of whole articles do not start.
    let settings = there.read("news/broadsheet.toml");
    there.write(
        "news/broadsheet.toml",
        settings.replace(HEADFEED, "").as_bytes(),
    );
    for words in [
        &["check", "--dir", "news"][..],
        &["feed", "flush", "--dir", "news"],
        &["sendbatches", "--dir", "news"],
        &["serve", "--dir", "news"],
    ] {
        let told = there.run(words);
        assert_ne!(told.status, 0, "{words:?}: {told:?}");
        let both = format!("{}{}", told.out, told.err);
        assert!(both.contains("headfeed = true"), "{words:?}: {told:?}");
    }
    // Nor does the directory become one of whole articles.
    let off = settings.replace("headers_only = true", "headers_only = false");
    there.write("news/broadsheet.toml", off.as_bytes());
    for words in [
        &["check", "--dir", "news"][..],
        &["sendbatches", "--dir", "news"],
        &["serve", "--dir", "news"],
    ] {
        let told = there.run(words);
        assert_ne!(told.status, 0, "{words:?}: {told:?}");
        let both = format!("{}{}", told.out, told.err);
        assert!(both.contains("headers.only"), "{words:?}: {told:?}");
    }
    assert_eq!(taker.count(), 10);
}

#[test]
fn a_directory_of_whole_articles_stays_one() {
    let program = Program::with_news(ACTIVE);
    file(&program, "a", 1, 100);
    program.set("headers_only = false", "headers_only = true");
    let told = program.run(&["serve", "--dir", "news"]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("new news directory"), "{told:?}");
    assert!(!program.path("news/headers.only").exists());
    program.set("headers_only = true", "headers_only = false");
    let told = program.rnews(&batch(&[article(&id("b", 1), "comp.test")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
}

/// A news directory with the header of an article, a whole control message, and a request for both.
fn with_a_header() -> Program {
    let there = headers_only(MAY_HEADFEED);
    let served = Served::start(&there);
    let mut client = all_heads(&served);
    let ids = b"<1@x>\n<2@x>\n";
    let request = with("<3@x>", "comp.test", "Control: sendme far\n", ids);
    for (id, text) in [
        ("<1@x>", header("<1@x>")),
        ("<2@x>", control("<2@x>")),
        ("<3@x>", request),
    ] {
        assert!(client.ask(&format!("IHAVE {id}")).starts_with("335 "));
        client.say(program::nntp::wire(&text));
        assert!(client.line().starts_with("235 "));
    }
    served.daemon.stop();
    there
}

fn header(id: &str) -> Vec<u8> {
    with(id, "comp.test", "Bytes: 500\nLines: 7\n", b"")
}

fn control(id: &str) -> Vec<u8> {
    with(id, "comp.test", "Control: cancel <9@x>\n", b"why\n")
}

#[test]
fn batches_of_lists_have_whole_articles_alone() {
    let there = with_a_header();
    for (command, list) in [("batcher", "<1@x>\n<2@x>\n<4@x>\n"), ("batchra", "<3@x>\n")] {
        let told = there.feed(&[command, "--dir", "news"], list.as_bytes());
        assert_eq!(told.status, 2, "{told:?}");
        assert!(told.err.contains("without their bodies"), "{told:?}");
        assert_eq!(told.out.matches("#! rnews ").count(), 1, "{told:?}");
        assert!(told.out.contains("<2@x>") && told.out.ends_with("why\n"));
    }
    // Without an article that lacks its body all is well.
    let told = there.feed(&["batcher", "--dir", "news"], b"<2@x>\n");
    assert_eq!((told.status, told.err.as_str()), (0, ""));
}

#[test]
fn imports_file_nothing_in_a_directory_of_headers() {
    let mbox = [
        b"From a Mon Dec 20 04:39:21 1993\n".to_vec(),
        article("<9@x>", "comp.test"),
    ];
    // Also in one that no program has declared yet.
    let new = headers_only(MAY_HEADFEED);
    for program in [new, with_a_header()] {
        let before = rows(&program);
        program.write("mbox", &mbox.concat());
        let told = program.run(&["import", "mbox", "--dir", "news", "mbox"]);
        assert_eq!(told.status, 2, "{told:?}");
        assert!(told.err.contains("headers_only"), "{told:?}");
        assert_eq!(rows(&program), before);
        Served::start(&program).daemon.stop();
    }
}

#[test]
fn the_archive_is_a_directory_of_headers() {
    let there = with_a_header();
    let settings = there.read("news/broadsheet.toml")
        + "\n[expiry]\narchive_directory = \"old\"\n[[expire]]\npatterns = \"all\"\nkeep_days = 10\narchive = \"segments\"\n";
    there.write("news/broadsheet.toml", settings.as_bytes());
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 11 * 86_400;
    let words = ["expire", "--dir", "news", "--force", "--now"];
    let told = there.run(&[&words[..], &[&now.to_string()]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    let told = there.run(&["article", "--dir", "news/old", "<1@x>"]);
    assert_eq!(told.status, 0, "{told:?}");
    // It can be served.
    let daemon = Daemon::launch_by(&there, there.command(&["serve", "--dir", "news/old"]));
    daemon.until_notified("READY=1");
    daemon.stop();
}

#[test]
fn a_node_that_joins_is_a_directory_of_headers() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let first = with_a_header();
    make_node(&first, servers.options());
    until("a cluster", || {
        let words = ["cluster", "init", "--dir", "news", "--log-bytes", "64 MiB"];
        first.run(&words).status == 0
    });
    let served = Served::start(&first);
    let second = headers_only(MAY_HEADFEED);
    make_node(&second, servers.options());
    // The log begins behind the articles of the first node.
    until("the articles are fetched", || {
        let told = second.run(&["cluster", "join", "--dir", "news"]);
        assert!(told.status == 0 || !told.err.contains("whole"), "{told:?}");
        told.status == 0
    });
    let joined = Served::start(&second);
    assert_eq!(rows(&second), rows(&first));
    for served in [served, joined] {
        served.daemon.stop();
    }
}

#[test]
fn explain_tells_what_a_header_feed_would_get() {
    let there = headers_only(MAY_HEADFEED);
    let whole = article("<1@x>", "comp.test");
    let sizeless = with("<1@x>", "comp.test", "", b"");
    for (text, status, why) in [
        (&whole, 1, "has a body"),
        (&sizeless, 1, "no valid Bytes"),
        (&header("<1@x>"), 0, "accepted"),
        (&control("<1@x>"), 0, "accepted, control message"),
    ] {
        let told = there.feed(&["explain", "--dir", "news"], text);
        assert_eq!(told.status, status, "{told:?}");
        assert!(told.out.contains(why), "{told:?}");
    }
}
