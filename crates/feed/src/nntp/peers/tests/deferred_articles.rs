//! Articles that a peer wants later, whose connection breaks.

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

/// Takes articles by streaming; `check` gives the replies to each CHECK, by its id. `None`: the connection breaks.
pub(super) fn stream_to(
    stream: &TcpStream,
    mut check: impl FnMut(&str) -> Option<String>,
) -> Option<()> {
    let mut input = BufReader::new(stream);
    let mut out = stream;
    let mut say = |text: &str| out.write_all(text.as_bytes()).ok();
    say("200 ready\r\n")?;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (command, id) = line.trim_end().split_once(' ').unwrap_or((&line, ""));
        match command.trim_end() {
            "CAPABILITIES" => say("101 list\r\nVERSION 2\r\nSTREAMING\r\n.\r\n")?,
            "CHECK" => say(&check(id)?)?,
            "TAKETHIS" => {
                let id = id.to_owned();
                while line.trim_end_matches("\r\n") != "." {
                    line.clear();
                    input.read_line(&mut line).ok().filter(|read| *read > 0)?;
                }
                say(&format!("239 {id}\r\n"))?;
            }
            _ => return say("205 bye\r\n"),
        }
    }
}

/// Each break of the connection added another entry for the same article, and the lane offered it beside the list.
#[test]
fn an_article_is_listed_once_however_often_the_connection_breaks() {
    let breaks = Arc::new(AtomicUsize::new(0));
    let checks: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
    let (wanted, noted) = (breaks.clone(), checks.clone());
    let (port, calls) = peer(move |number, stream| {
        let closes = stream.try_clone().unwrap();
        let wanted = wanted.clone();
        std::thread::spawn(move || {
            while wanted.load(Ordering::SeqCst) < number {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = closes.shutdown(std::net::Shutdown::Both);
        });
        stream_to(&stream, |id| {
            noted.lock().unwrap().push((number, id.to_owned()));
            Some(match id {
                // Without an answer, so that the cursor stays.
                "<1@x>" => String::new(),
                "<2@x>" => "431 <2@x>\r\n".to_owned(),
                id => format!("438 {id}\r\n"),
            })
        });
    });
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(3);
    let dir = fixture.news.dir().join("feeds/one");
    for number in 1..=4 {
        // The next attempt at once.
        fixture.peers.mailbox.call(None);
        fixture.until("all are offered on this connection", |_| {
            let checks = checks.lock().unwrap();
            let offered = checks.iter().filter(|check| check.0 == number);
            ["<1@x>", "<3@x>"]
                .iter()
                .all(|id| offered.clone().any(|check| check.1 == *id))
        });
        let began = Instant::now();
        fixture.until("the list is written", |_| {
            let is_listed = !deferred::read(&dir).unwrap().is_empty();
            is_listed && began.elapsed() > Duration::from_millis(1500)
        });
        breaks.store(number, Ordering::SeqCst);
        fixture.until("the break is seen", |fixture| {
            fixture.counts().state().does == PeerDoes::Failing
                || calls.load(Ordering::SeqCst) > number
        });
    }
    let list = deferred::read(&dir).unwrap();
    assert_eq!(list.len(), 1, "{list:?}");
    let checks = checks.lock().unwrap();
    for connection in 1..=4 {
        let same = checks
            .iter()
            .filter(|(number, id)| *number == connection && id == "<2@x>");
        assert!(same.count() <= 1, "{connection}: {checks:?}");
    }
}

/// Two more articles would make the list too long: the cursor passed nothing then, and the answers about listed ones were lost.
#[test]
fn the_cursor_passes_what_is_answered_beside_a_full_list() {
    let (port, _) = peer(|_, stream| {
        _ = stream_to(&stream, |id| {
            Some(match id {
                "<3@x>" | "<4@x>" => format!("431 {id}\r\n"),
                id => format!("238 {id}\r\n"),
            })
        });
    });
    let mut news = news();
    let first = news.file("one");
    news.commit();
    let mut place = SiteState::take_only(news.dir(), b"one").unwrap();
    place.move_to(news.spool.end()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let later = now.as_secs() as i64 + deferred::DELAY_LAST;
    let one = |number: u64| Deferred {
        position: Position(number),
        due: if number == first.0 { 0 } else { later },
        attempts: 3,
        is_blamed: false,
        is_unreadable: false,
    };
    let others = (0..deferred::DEFERRED_MAX as u64 - 1).map(|number| one((1 << 40) + number));
    let list: Vec<Deferred> = others.chain([one(first.0)]).collect();
    place.set_deferred(list).unwrap();
    drop(place);
    let dir = news.dir().join("feeds/one");
    let second = news.file("one");
    news.file("one");
    news.file("one");
    news.commit();
    let mut fixture = Fixture::new(news, via(port));
    fixture.until("the list is full", |fixture| {
        fixture.counts().state().why.contains("100000")
    });
    assert_eq!(fixture.accepted(), 2);
    assert!(CursorFile::read(&dir).unwrap().unwrap().position > second);
    let list = deferred::read(&dir).unwrap();
    assert_eq!(list.len(), deferred::DEFERRED_MAX - 1);
    assert!(!list.iter().any(|one| one.position == first));
}

/// Each number of deferred articles was another reason: a line of the journal, and a new beginning.
#[test]
fn deferred_articles_are_told_once() {
    let (port, _) = peer(|_, stream| {
        _ = stream_to(&stream, |id| {
            Some(match id {
                "<3@x>" => format!("438 {id}\r\n"),
                id => format!("431 {id}\r\n"),
            })
        });
    });
    let mut fixture = Fixture::new(news(), via(port));
    let dir = fixture.news.dir().join("feeds/one");
    for (number, count) in [(1, 1), (2, 2), (3, 2), (4, 3)] {
        fixture.file(1);
        fixture.until("it is answered, and the list is written", |fixture| {
            let counts = fixture.counts();
            let deferred = counts.deferred.load(Ordering::Relaxed);
            deferred + counts.not_wanted.load(Ordering::Relaxed) >= number
                && deferred::read(&dir).unwrap().len() == count
                && counts.state().why.contains("later")
                && CursorFile::read(&dir).unwrap().unwrap().position == fixture.news.spool.end()
        });
    }
    let told = fixture.told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
}

/// Nothing offered them before they were due, an hour later.
#[test]
fn a_call_offers_deferred_articles_at_once() {
    let is_full = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let full = is_full.clone();
    let (port, _) = peer(move |_, stream| {
        _ = stream_to(&stream, |id| {
            Some(if full.load(Ordering::SeqCst) {
                format!("431 {id}\r\n")
            } else {
                format!("238 {id}\r\n")
            })
        });
    });
    let mut news = news();
    let first = news.file("one");
    news.commit();
    let mut place = SiteState::take_only(news.dir(), b"one").unwrap();
    place.move_to(news.spool.end()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let list = vec![Deferred::new(first, 9, now.as_secs() as i64 - 60)];
    place.set_deferred(list).unwrap();
    drop(place);
    let dir = news.dir().join("feeds/one");
    let mut fixture = Fixture::new(news, via(port));
    let list = || deferred::read(&dir).unwrap();
    fixture.until("nothing is due", |fixture| {
        fixture.counts().state().why.contains("later")
    });
    fixture.peers.mailbox.call(None);
    fixture.until("it is deferred again", |_| {
        list()
            .iter()
            .all(|one| one.offered_at() >= now.as_secs() as i64)
    });
    assert_eq!(list().len(), 1);
    is_full.store(false, Ordering::SeqCst);
    // A call in the same second finds it offered.
    std::thread::sleep(Duration::from_millis(1100));
    fixture.peers.mailbox.call(None);
    fixture.until("it is there, and counted", |fixture| {
        let cursor = CursorFile::read(&dir).unwrap().unwrap();
        fixture.accepted() == 1 && list().is_empty() && cursor.sent == 1 && cursor.sent_bytes > 0
    });
}

/// Runs the loop until something is so, with each attempt at once after a failure; returns the pauses that would have been, seconds.
fn with_attempts_at_once(
    fixture: &mut Fixture,
    calls: &AtomicUsize,
    mut is_so: impl FnMut(&Fixture, &[i64]) -> bool,
) -> Vec<i64> {
    let mut pauses = Vec::new();
    let mut called = 0;
    fixture.until("it is so", |fixture| {
        let calls = calls.load(Ordering::SeqCst);
        let state = fixture.counts().state();
        if calls > called && state.does == PeerDoes::Failing {
            called = calls;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            pauses.push(state.next.unwrap() - now.as_secs() as i64);
            fixture.peers.mailbox.call(None);
        }
        is_so(fixture, &pauses)
    });
    pauses
}

/// It was offered before all others as soon as it was due, and broke each connection: nothing else went.
#[test]
fn an_article_that_breaks_connections_costs_the_others_nothing() {
    let (port, calls) = peer(|_, stream| _ = converse(&stream, |_, id| id != "<1@x>"));
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(2);
    let pauses = with_attempts_at_once(&mut fixture, &calls, |fixture, _| fixture.accepted() == 1);
    assert_eq!(pauses.len(), 5);
    assert!(pauses[3] > 4 && pauses[4] <= 1, "{pauses:?}");
    let names = |text: &String| text.contains("connections break at <1@x>");
    assert!(names(&fixture.counts().state().why));
    let dir = fixture.news.dir().join("feeds/one");
    let attempts = || deferred::read(&dir).unwrap()[0].attempts;
    // A call in the same second finds it offered.
    std::thread::sleep(Duration::from_millis(1100));
    let known = calls.load(Ordering::SeqCst);
    let began = Instant::now();
    fixture.peers.mailbox.call(None);
    fixture.file(3);
    fixture.until("the others are there", |fixture| fixture.accepted() == 4);
    fixture.until("it was offered again", |_| attempts() == 2);
    fixture.file(1);
    fixture.until("a new one is there", |fixture| fixture.accepted() == 5);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(calls.load(Ordering::SeqCst) <= known + 2);
    let told = fixture.told.lock().unwrap();
    let told: Vec<_> = told.iter().filter(|text| names(text)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn an_article_that_goes_alone_holds_up_no_other() {
    let held = Arc::new(AtomicUsize::new(0));
    let holds = held.clone();
    let (port, _) = peer(move |_, stream| {
        _ = converse(&stream, |_, id| {
            id != "<1@x>" || (holds.fetch_add(1, Ordering::SeqCst) == 0 && for_ever())
        });
    });
    let mut news = news();
    let first = news.file("one");
    news.commit();
    let mut state = SiteState::take_only(news.dir(), b"one").unwrap();
    state.move_to(news.spool.end()).unwrap();
    let blamed = Deferred {
        is_blamed: true,
        ..Deferred::new(first, 1, 0)
    };
    state.set_deferred(vec![blamed]).unwrap();
    drop(state);
    let mut fixture = Fixture::new(news, via(port));
    fixture.until("it is offered", |_| held.load(Ordering::SeqCst) == 1);
    fixture.file(2);
    fixture.until("the others are there", |fixture| fixture.accepted() == 2);
}

#[test]
fn a_peer_that_breaks_at_every_article_rests_longer_and_longer() {
    let (port, calls) = peer(|_, stream| _ = converse(&stream, |command, _| command != "CHECK"));
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(3);
    let pauses = with_attempts_at_once(&mut fixture, &calls, |_, pauses| pauses.len() == 12);
    // The first is deferred after five, the second after ten.
    assert!(pauses[3] >= 7 && pauses[4] <= 1, "{pauses:?}");
    assert!(pauses[8..].iter().all(|pause| *pause >= 15), "{pauses:?}");
}
