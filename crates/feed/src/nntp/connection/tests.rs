//! The patience with a peer, by a clock that the test sets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use groups::nntp_server::NntpServer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

/// A connection that is ready, its peer, and the clock.
struct Line {
    connection: Connection,
    peer: TcpStream,
    now: Instant,
    settled: Vec<Flying>,
}

const LIMIT: Duration = Duration::from_secs(ANSWER_SECONDS_MAX);

fn id(number: u64) -> Vec<u8> {
    format!("<{number}@x>").into_bytes()
}

fn flying(number: u64) -> Flying {
    Flying::Deferred(Position(number))
}

impl Line {
    fn new() -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = NntpServer::new("127.0.0.1", address.port());
        let remote = Arc::new(Remote::open(Path::new("/"), &server).unwrap());
        let now = Instant::now();
        let connection = Connection::begin(address, (&remote, false), now).unwrap();
        let (peer, _) = listener.accept().unwrap();
        let settled = Vec::new();
        let mut line = Line {
            connection,
            peer,
            now,
            settled,
        };
        line.take(PollFlags::OUT, EventFlags::OUT);
        line.hears("200 ready\r\n101 list\r\nVERSION 2\r\nSTREAMING\r\n.");
        assert!(line.connection.is_ready());
        line.flush();
        line.connection.idle_since = Some(now);
        line
    }

    fn take(&mut self, poll_flags: PollFlags, flags: EventFlags) {
        poll(&mut [PollFd::new(&self.connection, poll_flags)], None).unwrap();
        self.connection.take_event(flags);
        let settled = &mut self.settled;
        let mut answer =
            |flying, outcome: Option<_>| settled.extend(outcome.is_some().then_some(flying));
        self.connection.receive(self.now, &mut answer).unwrap();
    }

    /// The peer says a line.
    fn hears(&mut self, text: &str) {
        self.peer
            .write_all(format!("{text}\r\n").as_bytes())
            .unwrap();
        self.take(PollFlags::IN, EventFlags::IN);
    }

    /// Passes output to the kernel, as a turn of the peer does.
    fn flush(&mut self) {
        self.connection.flush(self.now).unwrap();
        if self.connection.in_flight() > 0 {
            self.connection.idle_since = None;
        }
    }

    fn offer(&mut self, number: u64) {
        self.connection.offer(&id(number), flying(number), b"");
        self.flush();
    }

    /// The peer wants an article, and gets it.
    fn send(&mut self, number: u64, wire: &[u8]) {
        self.offer(number);
        self.hears(&format!("238 <{number}@x>"));
        let wanted = self.connection.next_wanted().unwrap();
        assert_eq!(wanted, flying(number));
        self.connection.send(wanted, Some((&id(number), wire)));
        self.flush();
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        let patience = self.connection.patience();
        assert!(patience.is_none_or(|until| self.now < until), "it is kept");
    }
}

fn is_writable(connection: &Connection) -> bool {
    let soon = Timespec::try_from(Duration::from_millis(1)).unwrap();
    let mut polled = [PollFd::new(connection, PollFlags::OUT)];
    poll(&mut polled, Some(&soon)).unwrap() > 0
}

/// Where a peer gets one connection, all others wait for an article that goes alone.
#[test]
fn an_article_that_goes_alone_has_less_time() {
    let mut line = Line::new();
    line.connection.is_alone = true;
    line.offer(1);
    let end = line.now + Duration::from_secs(ALONE_SECONDS);
    assert_eq!(line.connection.patience(), Some(end));
    assert!(!line.connection.has_room());
    let told = line.connection.silence().to_string();
    assert!(told.contains(&format!("{ALONE_SECONDS} seconds")), "{told}");
    line.hears("438 <1@x>");
    assert!(line.connection.has_room());
}

/// Each later answer, and each article, gave the peer more time, and the cursor stood still behind the article.
#[test]
fn an_article_without_an_answer_ends_the_connection_that_answers_later_ones() {
    let mut line = Line::new();
    line.send(1, b"a\r\n.\r\n");
    line.offer(2);
    line.hears("438 <2@x>");
    let end = line.now + LIMIT;
    for number in 3..5 {
        line.wait(100);
        line.offer(number);
        line.hears(&format!("438 <{number}@x>"));
    }
    assert_eq!(line.connection.patience(), Some(end));
    let failure = line.connection.silence();
    assert!(matches!(failure, Failure::Overtaken(_)), "{failure}");
    let left = line.connection.into_in_flight();
    assert_eq!(left.collect::<Vec<_>>(), [flying(1)]);
}

#[test]
fn new_articles_give_no_time_for_old_ones() {
    let mut line = Line::new();
    line.offer(1);
    let end = line.now + LIMIT;
    for number in 2..4 {
        line.wait(100);
        line.offer(number);
    }
    assert_eq!(line.connection.patience(), Some(end));
    let failure = line.connection.silence();
    assert!(matches!(failure, Failure::Silent(_)), "{failure}");
}

#[test]
fn a_peer_that_answers_slowly_is_kept() {
    let mut line = Line::new();
    for number in 1..=9 {
        line.offer(number);
    }
    for number in 1..=9 {
        line.wait(299);
        line.hears(&format!("438 <{number}@x>"));
    }
    assert_eq!(line.connection.patience(), None);
    line.connection.idle_since = Some(line.now);
    line.now += LIMIT;
    // As one that answers CHECK at once, and TAKETHIS after its commit.
    for number in 10..20 {
        line.send(number, b"a\r\n.\r\n");
        line.wait(100);
        line.offer(100 + number);
        line.hears(&format!("438 <{}@x>", 100 + number));
        line.wait(290);
        line.hears(&format!("239 <{number}@x>"));
    }
    assert_eq!(line.settled.len(), 29);
    assert_eq!(line.connection.patience(), None);
}

#[test]
fn a_peer_that_takes_a_long_article_slowly_is_kept() {
    let mut line = Line::new();
    let wire = [b"a".repeat(32 << 20), b"\r\n.\r\n".to_vec()].concat();
    line.send(1, &wire);
    let mut room = vec![0; 1 << 20];
    let mut turns = 0;
    while !line.connection.is_flushed() {
        line.wait(299);
        while !is_writable(&line.connection) {
            _ = line.peer.read(&mut room).unwrap();
        }
        line.take(PollFlags::OUT, EventFlags::OUT);
        line.flush();
        turns += 1;
    }
    assert!(turns > 1, "{turns}");
    line.hears("239 <1@x>");
    assert_eq!(line.settled, [flying(1)]);
}
