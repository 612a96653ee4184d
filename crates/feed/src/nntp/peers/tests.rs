//! A loop over a peer that misbehaves, or whose feed somebody else touches. Each was a fault once.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use article::date::Utc;
use groups::nntp_server::NntpServer;
use groups::sites::NntpVia;

use super::super::counts::PeerDoes;
use super::*;
use crate::cursor::{Cursor, CursorFile};
use crate::deferred::{self, Deferred};
use crate::enrolment::{self, NewSite};
use crate::site_state::{self, SiteState};
use crate::start::Start;

#[path = "../../../tests/log/mod.rs"]
mod log;

mod calls;
mod deferred_articles;
mod general_errors;
mod missing_objects;
mod rates;
mod unanswered;
mod window;

use log::News;

/// A news directory, its peer, and the loop between them.
struct Fixture {
    news: News,
    peers: Peers,
    told: Arc<Mutex<Vec<String>>>,
}

fn news() -> News {
    let news = News::new();
    let site = NewSite {
        name: b"one",
        start: Start::Now,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
    news
}

fn via(port: u16) -> NntpVia {
    NntpVia {
        server: NntpServer::new("127.0.0.1", port),
        connections: 4,
        rate: None,
        hours: None,
        headfeed: false,
    }
}

impl Fixture {
    fn new(news: News, via: NntpVia) -> Fixture {
        Fixture::with(news, via, Resolver::default())
    }

    fn with(news: News, via: NntpVia, resolver: Resolver) -> Fixture {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = told.clone();
        let tell: Tell = Arc::new(move |_, text| sink.lock().unwrap().push(text.to_owned()));
        let sites = Sites::parse(b"ME:all::\n", b"x").unwrap();
        let (resolver, permit) = (Arc::new(resolver), Permit::always());
        let mut peers = Peers::new(
            news.dir(),
            news.snapshot(),
            (&sites, &tell),
            (&resolver, &permit),
        )
        .unwrap();
        let plan = PeerPlan {
            name: b"one".to_vec(),
            via,
            zone: &Utc,
        };
        peers.add(Box::new(Peer::new(
            plan,
            news.dir(),
            (Arc::default(), permit),
        )));
        Fixture { news, peers, told }
    }

    fn file(&mut self, count: usize) {
        for _ in 0..count {
            self.news.file("one");
        }
        self.news.commit();
        self.peers.mailbox.filed();
    }

    /// Runs the loop until something is so.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Fixture) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "not in time: {what}"
            );
            self.peers.round(Some(Duration::from_millis(10))).unwrap();
        }
    }

    /// Whether the loop waits for something after some rounds, and does not turn for nothing.
    fn sleeps(&mut self) -> bool {
        (0..1000).any(|_| {
            let zero = Timespec::try_from(Duration::ZERO).unwrap();
            let sleeps = self.peers.timeout(None) != Some(zero);
            self.peers.round(Some(Duration::from_millis(1))).unwrap();
            sleeps
        })
    }

    fn counts(&self) -> &FeedCounts {
        let mut open = self.peers.peers.iter().flatten();
        open.next().unwrap().counts()
    }

    fn accepted(&self) -> u64 {
        self.counts().accepted.load(Ordering::Relaxed)
    }
}

/// A peer: `talk` gets each connection with its number, from 1.
fn peer(talk: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let calls = Arc::new(AtomicUsize::new(0));
    let (talk, counted) = (Arc::new(talk), calls.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let talk = talk.clone();
            std::thread::spawn(move || talk(number, stream));
        }
    });
    (port, calls)
}

/// Converses by streaming, and takes all, also without bodies; `answers` decides by the command and the id, and gets each article with the command "".
fn converse(stream: &TcpStream, mut answers: impl FnMut(&str, &str) -> bool) -> Option<()> {
    let mut input = BufReader::new(stream);
    let mut out = stream;
    let mut say = |text: &str| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    say("200 ready")?;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (command, id) = line.trim_end().split_once(' ').unwrap_or((&line, ""));
        if !answers(command.trim_end(), id) {
            return None;
        }
        match command.trim_end() {
            "CAPABILITIES" => say("101 list\r\nVERSION 2\r\nSTREAMING\r\n.")?,
            "MODE" => say("250 headers")?,
            "CHECK" => say(&format!("238 {id}"))?,
            "TAKETHIS" => {
                let mut text = String::new();
                while !text.ends_with("\r\n.\r\n") {
                    input.read_line(&mut text).ok().filter(|read| *read > 0)?;
                }
                if !answers("", &text) {
                    return None;
                }
                say(&format!("239 {id}"))?;
            }
            _ => return say("205 bye"),
        }
    }
}

/// A loop that ends with the test.
fn for_ever() -> bool {
    std::thread::sleep(Duration::from_secs(3600));
    true
}

#[test]
fn a_call_in_the_moment_of_a_commit_is_no_end() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut fixture = Fixture::new(news(), via(port));
    fixture.until("it is looked at", |fixture| fixture.peers.due.is_empty());
    fixture.peers.mailbox.call(None);
    fixture.file(3);
    fixture.until("all are there", |fixture| fixture.accepted() == 3);
}

#[test]
fn a_rate_limit_does_not_keep_the_loop_awake() {
    let (port, calls) = peer(|_, stream| {
        let mut is_opened = false;
        converse(&stream, |command, _| {
            let answers = !is_opened || command != "TAKETHIS";
            is_opened |= command == "CHECK";
            answers || for_ever()
        });
    });
    let rate = Some(3000);
    let mut fixture = Fixture::new(news(), NntpVia { rate, ..via(port) });
    fixture.file(3000);
    fixture.until("it is called", |_| calls.load(Ordering::SeqCst) == 1);
    let began = Instant::now();
    fixture.until("a while is over", |_| {
        began.elapsed() > Duration::from_secs(3)
    });
    assert!(fixture.sleeps());
}

#[test]
fn one_connection_serves_a_backlog_and_what_is_new() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut news = news();
    let first = news.file("one");
    let second = news.file("one");
    news.file("one");
    news.commit();
    let end = news.spool.end();
    let dir = news.dir().join("feeds/one");
    let known = CursorFile::read(&dir).unwrap().unwrap();
    let cursor = Cursor {
        ahead: Some((second, end)),
        ..known
    };
    assert!(cursor.position <= first);
    CursorFile::create(&dir, cursor).unwrap();
    let connections = 1;
    let mut fixture = Fixture::new(
        news,
        NntpVia {
            connections,
            ..via(port)
        },
    );
    fixture.file(2);
    fixture.until("both stretches are there", |fixture| {
        fixture.accepted() == 3
    });
    let end = fixture.news.spool.end();
    fixture.until("the cursor is at the end", |_| {
        let cursor = CursorFile::read(&dir).unwrap().unwrap();
        (cursor.position, cursor.ahead) == (end, None)
    });
    // What was delivered ahead is not offered again.
    assert_eq!(fixture.accepted(), 3);
}

#[test]
fn a_peer_that_wants_one_connection_is_not_stormed() {
    let gate = Arc::new(AtomicUsize::new(0));
    let opened = gate.clone();
    let (port, calls) = peer(move |number, mut stream| {
        if number > 1 {
            let _ = stream.write_all(b"400 one connection is enough\r\n");
            return;
        }
        converse(&stream, |command, _| {
            while command == "CHECK" && opened.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            true
        });
    });
    let mut news = news();
    news.file("one");
    let second = news.file("one");
    news.commit();
    let dir = news.dir().join("feeds/one");
    let known = CursorFile::read(&dir).unwrap().unwrap();
    let cursor = Cursor {
        ahead: Some((second, news.spool.end())),
        ..known
    };
    CursorFile::create(&dir, cursor).unwrap();
    let mut fixture = Fixture::new(news, via(port));
    fixture.file(2);
    fixture.until("a second connection was tried", |_| {
        calls.load(Ordering::SeqCst) > 1
    });
    let began = Instant::now();
    fixture.until("a while is over", |_| {
        began.elapsed() > Duration::from_millis(500)
    });
    gate.store(1, Ordering::SeqCst);
    fixture.until("all are there", |fixture| fixture.accepted() == 3);
    assert!(calls.load(Ordering::SeqCst) <= 3, "{calls:?}");
    let told = fixture.told.lock().unwrap();
    assert!(
        told.iter().any(|text| text.contains("400 one connection")),
        "{told:?}"
    );
}

#[test]
fn a_deferred_article_that_breaks_the_connection_does_not_stop_the_feed() {
    let (port, calls) = peer(|_, stream| _ = converse(&stream, |_, id| id != "<1@x>"));
    let mut news = news();
    let first = news.file("one");
    news.commit();
    let mut place = SiteState::take_only(news.dir(), b"one").unwrap();
    place.move_to(news.spool.end()).unwrap();
    let list = vec![Deferred {
        position: first,
        due: 0,
        attempts: 3,
        is_blamed: false,
        is_unreadable: false,
    }];
    place.set_deferred(list).unwrap();
    drop(place);
    let dir = news.dir().join("feeds/one");
    let mut fixture = Fixture::new(news, via(port));
    fixture.file(2);
    let mut called = 0;
    fixture.until("the others are there", |fixture| {
        // The next attempt at once.
        let calls = calls.load(Ordering::SeqCst);
        if calls > called && fixture.counts().state().does == PeerDoes::Failing {
            called = calls;
            fixture.peers.mailbox.call(None);
        }
        fixture.accepted() == 2
    });
    let list = deferred::read(&dir).unwrap();
    assert_eq!((list.len(), list[0].attempts), (1, 4));
    assert!(list[0].due > 0);
}

#[test]
fn a_lasting_failure_is_told_once() {
    let (port, calls) = peer(|_, mut stream| _ = stream.write_all(b"400 full\r\n"));
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(2);
    fixture.until("it was tried three times", |_| {
        calls.load(Ordering::SeqCst) > 2
    });
    assert_eq!(fixture.told.lock().unwrap().len(), 1, "{:?}", fixture.told);
    fixture.until("it waits for the next attempt", |fixture| {
        fixture.peers.timers.len() == 1
    });
    let peers = &fixture.peers;
    let noted = peers.searching.len() + peers.connected.len();
    assert_eq!(noted, 0, "a round is not to look at it");
}

#[test]
fn a_paused_feed_is_left_to_others() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(1);
    fixture.until("the first is there", |fixture| fixture.accepted() == 1);
    site_state::pause(fixture.news.dir(), b"one", "for a test").unwrap();
    let began = Instant::now();
    fixture.until("the pause is seen", |_| {
        began.elapsed() > Duration::from_millis(300)
    });
    fixture.file(3);
    fixture.until("the site is free", |fixture| {
        let place = SiteState::take_only(fixture.news.dir(), b"one");
        fixture.peers.timers.len() == 1 && place.is_ok()
    });
    assert_eq!(fixture.accepted(), 1);
    // The file is removed by hand.
    std::fs::remove_file(fixture.news.dir().join("feeds/one/paused")).unwrap();
    fixture.file(1);
    fixture.until("all are there", |fixture| fixture.accepted() == 5);
}

#[test]
fn a_rate_limit_holds_from_the_beginning() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let rate = Some(1000);
    let mut fixture = Fixture::new(news(), NntpVia { rate, ..via(port) });
    let began = Instant::now();
    fixture.file(200);
    fixture.until("some are there", |fixture| fixture.accepted() > 25);
    // None is smaller than 40 bytes, or larger than 100.
    let most = 1000 * (began.elapsed().as_secs() + 2) + 100;
    assert!(fixture.accepted() * 40 <= most, "{}", fixture.accepted());
}

#[test]
fn each_peer_gets_each_article_whole() {
    let texts: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
    let mut news = news();
    let start = Start::Now;
    let names: [&[u8]; 3] = [b"one", b"two", b"three"];
    let sites = names.map(|name| NewSite { name, start });
    enrolment::enrol(&news.spool, &sites).unwrap();
    let mut ports = Vec::new();
    for which in 0..names.len() {
        let texts = texts.clone();
        let (port, _) = peer(move |_, stream| {
            _ = converse(&stream, |command, text| {
                if command.is_empty() {
                    texts.lock().unwrap().push((which, text.to_owned()));
                }
                true
            });
        });
        ports.push(port);
    }
    let first = news.file("one two three");
    let mut fixture = Fixture::new(news, via(ports[0]));
    for (name, port) in names.into_iter().zip(&ports).skip(1) {
        let plan = PeerPlan {
            name: name.to_vec(),
            via: via(*port),
            zone: &Utc,
        };
        let peer = Peer::new(plan, fixture.news.dir(), (Arc::default(), Permit::always()));
        fixture.peers.add(Box::new(peer));
    }
    for _ in 0..60 {
        fixture.news.file("one two three");
        fixture.news.file("two");
    }
    fixture.file(20);
    let all = 3 * 61 + 60 + 20;
    fixture.until("all have all", |_| texts.lock().unwrap().len() == all);
    // At least the last ones were read once for all.
    assert!(fixture.peers.is_sharing());
    let mut texts = std::mem::take(&mut *texts.lock().unwrap());
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), all, "each once");
    for (which, count) in [(0, 81), (1, 121), (2, 61)] {
        let got = texts.iter().filter(|(peer, _)| *peer == which);
        let got: Vec<&String> = got.map(|(_, text)| text).collect();
        assert_eq!(got.len(), count);
        for text in got {
            let snapshot = fixture.news.snapshot();
            let id = text.split("Message-ID: ").nth(1).unwrap();
            let id = id.split("\r\n").next().unwrap();
            let mut buffer = Vec::new();
            let record = snapshot.article(id.as_bytes(), &mut buffer).unwrap();
            assert_eq!(record.unwrap().wire(), text.as_bytes());
        }
    }
    // What is removed meanwhile is not sent from memory.
    fixture.peers.shared.keep(first, b"<1@x>", b"a\r\n.\r\n");
    let is_gone = |fixture: &mut Fixture| {
        let found = fixture.peers.with_peer(0, |_, context| {
            super::super::peer::article(context, first)
                .unwrap()
                .is_err()
        });
        found.unwrap()
    };
    assert!(!is_gone(&mut fixture));
    fixture.news.spool.cancel(first, b"<1@x>").unwrap();
    fixture.news.commit();
    fixture.peers.snapshot.catch_up().unwrap();
    assert!(is_gone(&mut fixture));
}
