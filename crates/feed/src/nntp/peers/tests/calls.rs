//! How often a peer is called that closes its connections.

use super::*;

/// Opens a connection as a peer that streams, and closes it.
fn close_when_ready(mut stream: &TcpStream) {
    let mut line = String::new();
    _ = stream.write_all(b"200 ready\r\n");
    _ = BufReader::new(stream).read_line(&mut line);
    _ = stream.write_all(b"101 list\r\nVERSION 2\r\nSTREAMING\r\n.\r\n");
}

/// The feed called such a peer again at once, without end.
#[test]
fn a_peer_that_opens_and_closes_is_called_after_a_pause() {
    let (port, calls) = peer(|_, stream| {
        _ = converse(&stream, |command, _| command != "CHECK");
    });
    // It closes as soon as it is ready.
    let (closing, opened) = peer(|_, stream| close_when_ready(&stream));
    for (port, calls) in [(port, calls), (closing, opened)] {
        let mut fixture = Fixture::new(news(), via(port));
        fixture.file(2);
        let began = Instant::now();
        fixture.until("a while is over", |_| {
            began.elapsed() > Duration::from_millis(2500)
        });
        // At 0 and 1 seconds.
        let calls = calls.load(Ordering::SeqCst);
        assert!((1..=3).contains(&calls), "{calls}");
    }
}

/// The daemon pauses before it opens a further connection, too, if the last one closed at once.
#[test]
fn a_further_connection_that_closes_at_once_is_not_tried_again_at_once() {
    let (port, calls) = peer(|number, stream| {
        if number > 1 {
            return close_when_ready(&stream);
        }
        converse(&stream, |command, _| command != "CHECK" || for_ever());
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
    let began = Instant::now();
    fixture.until("a while is over", |_| {
        began.elapsed() > Duration::from_millis(1500)
    });
    let calls = calls.load(Ordering::SeqCst);
    assert!((2..=3).contains(&calls), "{calls}");
}

/// How often the name was looked up.
static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);

/// Each call was another look-up, which waited behind those of other peers, and began with the dead address.
#[test]
fn the_address_that_worked_is_called_again() {
    let (port, calls) = peer(|_, stream| {
        let mut count = 0;
        _ = converse(&stream, |command, _| {
            count += usize::from(command == "CHECK");
            count < 2
        });
    });
    let server = NntpServer::new("two.example", port);
    // Nothing listens at the first one.
    let resolver = Resolver::with(|_, port| {
        LOOK_UPS.fetch_add(1, Ordering::SeqCst);
        let addresses = [[127, 0, 0, 2], [127, 0, 0, 1]];
        Ok(addresses.map(|address| (address, port).into()).into())
    });
    let mut fixture = Fixture::with(
        news(),
        NntpVia {
            server,
            ..via(port)
        },
        resolver,
    );
    for count in 1..=4 {
        fixture.file(1);
        fixture.until("it is there", |fixture| fixture.accepted() == count);
    }
    assert!(calls.load(Ordering::SeqCst) > 2);
    assert_eq!(LOOK_UPS.load(Ordering::SeqCst), 1);
}
