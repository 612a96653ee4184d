//! Peers with `via = { nntp = … }`: a real INN, another Broadsheet, and peers that misbehave. Nothing is skipped, whatever they do.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use program::Program;
use program::articles::{batch, id, many, with};
use program::daemon::{Daemon, until};
use program::feeding::{feeding, file, waiting};
use program::inn::Inn;
use program::nntp::{ALL_MAY, Served, listen};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

#[test]
fn a_real_inn() {
    let Some(inn) = Inn::start(&["comp.test"]) else {
        return;
    };
    let program = feeding(&format!("127.0.0.1:{}", inn.port), "");
    let odd = "<odd@example.com>";
    let mut articles = many("inn", 300, "comp.test", 3000);
    articles.push(with(
        odd,
        "comp.test",
        "",
        b".\n..two\n#! rnews 7\n\n\xe9\x80\n",
    ));
    program.rnews(&batch(&articles));
    let told = program.run(&["feed", "flush", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    until("nothing waits", || waiting(&program) == 0);
    let ids = (1..=300).map(|number| id("inn", number));
    for id in ids.chain([odd.to_owned()]) {
        assert!(inn.has(&id), "{id}");
    }
    let there = inn.article(odd);
    assert!(there.ends_with(b"\n\n.\n..two\n#! rnews 7\n\n\xe9\x80\n"));
    // What it has already, it refuses, and nothing waits for ever.
    let told = program.run(&["feed", "reset", "peer", "--to", "oldest", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["feed", "flush", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(waiting(&program), 0);
}

#[test]
fn another_broadsheet_that_comes_and_goes() {
    let there = Program::with_news(ACTIVE);
    listen(&there, ALL_MAY);
    let served = Served::start(&there);
    let here = feeding(&served.address, "");
    let daemon = Daemon::start(&here);
    file(&here, "a", 50, 1_000);
    let has = |id: &str| there.run(&["article", "--dir", "news", id]).status == 0;
    until("the first articles are there", || has(&id("a", 50)));
    served.daemon.stop();
    file(&here, "b", 50, 1_000);
    let port = served.address.rsplit_once(':').unwrap().1.to_owned();
    let settings = there.read("news/broadsheet.toml");
    let settings = settings.replace(
        "listen = \"127.0.0.1:0\"",
        &format!("listen = \"127.0.0.1:{port}\""),
    );
    there.write("news/broadsheet.toml", settings.as_bytes());
    let served = Served::start(&there);
    until("the others are there, too", || has(&id("b", 50)));
    for number in 1..=50 {
        assert!(has(&id("a", number)) && has(&id("b", number)), "{number}");
    }
    until("nothing waits", || waiting(&here) == 0);
    daemon.stop();
    served.daemon.stop();
}

/// How a peer misbehaves, once; then it behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// It says that it is full.
    Full,
    /// It closes the connection in the middle of an article.
    Closes,
    /// It answers with a line that is no reply.
    Nonsense,
    /// It answers about articles that nobody offered.
    Others,
    /// It knows IHAVE only.
    Old,
    /// It defers each article once.
    Defers,
    /// It answers in the other order.
    Backwards,
    /// It refuses each article.
    Refuses,
    /// Another peer has sent each between CHECK and TAKETHIS.
    Knows,
}

/// A peer; returns how often it got each article.
fn peer(listener: TcpListener, fault: Fault, count: usize) -> JoinHandle<BTreeMap<String, usize>> {
    std::thread::spawn(move || {
        let mut got = BTreeMap::new();
        let mut deferred = std::collections::BTreeSet::new();
        let mut is_first = true;
        while got.len() < count {
            let (stream, _) = listener.accept().unwrap();
            converse(stream, (fault, is_first), &mut got, &mut deferred);
            is_first = false;
        }
        got
    })
}

/// One connection. An error ends it, as the other side does.
fn converse(
    stream: TcpStream,
    (fault, is_first): (Fault, bool),
    got: &mut BTreeMap<String, usize>,
    deferred: &mut std::collections::BTreeSet<String>,
) -> Option<()> {
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    let mut say = |text: String| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    if fault == Fault::Full && is_first {
        return say("400 full".into());
    }
    say("200 ready".into())?;
    let mut held: Vec<String> = Vec::new();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut words = line.split_whitespace();
        let command = words.next()?.to_ascii_uppercase();
        let id = words.next().unwrap_or_default().to_owned();
        let mut body = |stops: bool| {
            let mut lines = 0;
            loop {
                let mut line = Vec::new();
                input.read_until(b'\n', &mut line).ok()?;
                lines += 1;
                match line.as_slice() {
                    b".\r\n" => return Some(()),
                    b"" => return None,
                    _ if stops && lines > 3 => return None,
                    _ => {}
                }
            }
        };
        if command != "CHECK" {
            // What follows the last CHECK may have come with it.
            for id in held.drain(..).rev() {
                say(format!("238 {id}"))?;
            }
        }
        match command.as_str() {
            "CAPABILITIES" if fault == Fault::Old => say("500 what?".into())?,
            "CAPABILITIES" => say("101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.".into())?,
            "MODE" if fault == Fault::Old => say("500 what?".into())?,
            "MODE" => say("203 go on".into())?,
            "CHECK" if fault == Fault::Nonsense && is_first => say("hello there".into())?,
            "CHECK" if fault == Fault::Others && is_first => say("238 <other@x>".into())?,
            "CHECK" if fault == Fault::Defers && deferred.insert(id.clone()) => {
                say(format!("431 {id}"))?;
            }
            "CHECK" if fault == Fault::Backwards => {
                held.push(id);
                // All that are sent at once.
                if input.buffer().is_empty() {
                    for id in held.drain(..).rev() {
                        say(format!("238 {id}"))?;
                    }
                }
            }
            "CHECK" => say(format!("238 {id}"))?,
            "TAKETHIS" => {
                body(fault == Fault::Closes && is_first)?;
                *got.entry(id.clone()).or_default() += 1;
                say(match fault {
                    Fault::Refuses => format!("439 {id} Unwanted newsgroup \"comp.{id}\""),
                    Fault::Knows => format!("439 {id} Duplicate"),
                    _ => format!("239 {id}"),
                })?;
            }
            "IHAVE" => {
                say("335 send it".into())?;
                body(false)?;
                *got.entry(id).or_default() += 1;
                say("235 thanks".into())?;
            }
            "QUIT" => return say("205 bye".into()),
            _ => say("500 what?".into())?,
        }
    }
}

#[test]
fn misbehaving_peers_miss_nothing() {
    for fault in [
        Fault::Full,
        Fault::Closes,
        Fault::Nonsense,
        Fault::Others,
        Fault::Old,
        Fault::Backwards,
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let program = feeding(&listener.local_addr().unwrap().to_string(), "");
        let peer = peer(listener, fault, 120);
        // It is fed at once; what fails then is tried again.
        file(&program, "a", 120, 1_000);
        let mut flushes = 0;
        while waiting(&program) > 0 {
            flushes += 1;
            assert!(flushes < 4, "{fault:?}");
            program.run(&["feed", "flush", "peer", "--dir", "news"]);
        }
        let got = peer.join().unwrap();
        assert_eq!(got.len(), 120, "{fault:?}");
        let fails_once = !matches!(fault, Fault::Old | Fault::Backwards);
        // What the peer has taken before it failed may come twice.
        assert!(
            got.values()
                .all(|&times| times <= 1 + usize::from(fails_once))
        );
    }
}

#[test]
fn what_a_peer_defers_comes_later() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let program = feeding(&listener.local_addr().unwrap().to_string(), "");
    let peer = peer(listener, Fault::Defers, 5);
    let daemon = Daemon::start(&program);
    file(&program, "a", 5, 1_000);
    daemon.until_said("the peer wants articles later");
    // They are noted before the cursor passes them.
    assert_eq!(waiting(&program), 0);
    assert!(program.path("news/feeds/peer/deferred").exists());
    until("nothing is deferred", || {
        !program.path("news/feeds/peer/deferred").exists()
    });
    // The connection stays open until then.
    daemon.stop();
    let got = peer.join().unwrap();
    assert!(got.values().all(|&times| times == 1), "{got:?}");
}

#[test]
fn refusals_are_counted_by_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let program = feeding(&listener.local_addr().unwrap().to_string(), "");
    let peer = peer(listener, Fault::Refuses, 5);
    let daemon = Daemon::start(&program);
    file(&program, "a", 5, 1_000);
    let list = ["feed", "list", "peer", "--dir", "news"];
    let reason = "    refused 5: Unwanted newsgroup \"...\"";
    until("all are counted", || {
        program.run(&list).out.contains(reason)
    });
    let listed = program.run(&[&list[..], &["--json"]].concat()).summary();
    let refusals = serde_json::json!([
        {"answer": "refused", "reason": "Unwanted newsgroup \"...\"", "count": 5}
    ]);
    assert_eq!(listed["peer"]["refusals"], refusals);
    daemon.stop();
    peer.join().unwrap();
}

#[test]
fn duplicates_are_no_refusals_in_the_journal() {
    for (fault, is_told) in [(Fault::Knows, false), (Fault::Refuses, true)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let program = feeding(&listener.local_addr().unwrap().to_string(), "");
        let peer = peer(listener, fault, 5);
        let daemon = Daemon::start(&program);
        file(&program, "a", 5, 1_000);
        until("all are counted", || {
            program::feeding::listed(&program)["peer"]["refused"] == 5
        });
        if is_told {
            daemon.until_said("the peer refused an article");
        }
        let said = daemon.said();
        let again = said.iter().any(|line| line.contains("refused an article"));
        assert!(!again, "{said:?}");
        daemon.stop();
        peer.join().unwrap();
    }
}

#[test]
fn deferred_articles_are_shown_and_go_when_the_administrator_asks() {
    let there = Program::with_news(ACTIVE);
    listen(&there, ALL_MAY);
    let served = Served::start(&there);
    let intake = |words: &[&str]| {
        let told = there.run(&[&["intake"], words, &["--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{told:?}");
    };
    intake(&["pause", "full"]);
    let here = feeding(&served.address, "");
    let daemon = Daemon::start(&here);
    file(&here, "d", 3, 1_000);
    daemon.until_said("the peer wants articles later");
    until("the cursor has passed them", || waiting(&here) == 0);
    let status = || {
        let told = here.run(&["status", "--dir", "news", "--json"]).summary();
        told["feeds"]["behind"].clone()
    };
    assert_eq!(status()[0]["deferred"], 3, "{}", status());
    assert_eq!(status()[0]["articles"], 0);
    let told = here.run(&["status", "--dir", "news"]);
    let line = "1, articles wait for 1: peer (0 articles, 3 deferred)\n";
    assert!(told.out.contains(line), "{told:?}");
    let flush = || here.run(&["feed", "flush", "--dir", "news", "peer"]);
    let told = flush();
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("deferred 3 articles"), "{told:?}");
    // A site that has gone is shown as long as they wait.
    let settings = here.read("news/broadsheet.toml");
    let without = settings.split("\n[[site]]").next().unwrap();
    here.write("news/broadsheet.toml", without.as_bytes());
    let told = here.run(&["feed", "list", "--dir", "news"]);
    assert!(told.out.contains("peer  no longer a site"), "{told:?}");
    assert!(told.out.contains("    deferred 3 articles\n"), "{told:?}");
    here.write("news/broadsheet.toml", settings.as_bytes());
    intake(&["resume"]);
    // The next offer would be due only later: the delays are a minute by now.
    for _ in 0..2 {
        std::thread::sleep(std::time::Duration::from_millis(1100));
        flush();
    }
    let told = flush();
    assert_eq!(told.status, 0, "{told:?}");
    for number in 1..=3 {
        let told = there.run(&["article", "--dir", "news", &id("d", number)]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let listed = program::feeding::listed(&here);
    let counts = ["sent", "deferred", "articles"].map(|of| listed[of].as_u64());
    assert_eq!(counts, [Some(3), Some(0), Some(0)], "{listed}");
    assert!(listed["sent_bytes"].as_u64() > Some(2_000), "{listed}");
    assert_eq!(status(), serde_json::json!([]));
    daemon.stop();
    served.daemon.stop();
}
