//! While the writer is held up, posters hear in time that they have to retry, and neither peers nor readers wait for them. Peers wait where their
//! own articles wait, and are not taken for idle.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use access::{Entry, Limits};

use crate::support::house::{House, line};

/// Size of a large article that the rig still takes, bytes.
const ARTICLE_BYTES: usize = 1_000_000;
/// Number of posts that fill the share of an address.
const POSTS: usize = 17;

fn article(bytes: usize) -> Vec<u8> {
    let line = [&[b'y'; 998][..], b"\r\n"].concat();
    let header = b"From: me@example.com\r\nSubject: x\r\n\r\n".to_vec();
    [header, line.repeat(bytes / 1000), b".\r\n".to_vec()].concat()
}

fn say(client: &mut BufReader<TcpStream>, bytes: &[u8]) {
    client.get_mut().write_all(bytes).expect("sent");
}

fn ask(client: &mut BufReader<TcpStream>, command: &str) -> String {
    say(client, format!("{command}\r\n").as_bytes());
    line(client)
}

fn post(house: &House, bytes: usize) -> BufReader<TcpStream> {
    let mut client = house.greeted();
    assert_eq!(ask(&mut client, "POST"), "340 Send article\r\n");
    say(&mut client, &article(bytes));
    client
}

fn until_in_flight(house: &House, bytes: usize) {
    let began = Instant::now();
    while house.server.in_flight_bytes() < bytes {
        assert!(began.elapsed() < Duration::from_secs(60), "not in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn posters_retry_and_others_go_on() {
    let house = House::held_up(Duration::from_secs(600));
    // All begin before any has its share.
    let mut late = house.greeted();
    assert_eq!(ask(&mut late, "POST"), "340 Send article\r\n");
    let mut posters: Vec<_> = (0..POSTS).map(|_| post(&house, ARTICLE_BYTES)).collect();
    until_in_flight(&house, POSTS * ARTICLE_BYTES);
    say(&mut late, &article(ARTICLE_BYTES));
    let too_many = "Too many posts wait to be written";
    assert_eq!(
        line(&mut late),
        format!("441 Try again later: {too_many}\r\n")
    );
    assert_eq!(
        ask(&mut house.greeted(), "POST"),
        format!("440 {too_many}; try again later\r\n")
    );
    // Who may do everything still reads, offers and sends.
    let mut peer = house.greeted();
    assert!(ask(&mut peer, "GROUP misc.group.1").starts_with("211 "));
    assert_eq!(ask(&mut peer, "CHECK <1@x>"), "238 <1@x>\r\n");
    say(&mut peer, b"TAKETHIS <1@x>\r\n");
    say(&mut peer, &article(ARTICLE_BYTES));
    until_in_flight(&house, (POSTS + 1) * ARTICLE_BYTES);
    house.go_on();
    assert_eq!(line(&mut peer), "439 <1@x> no\r\n");
    for poster in &mut posters {
        assert_eq!(line(poster), "441 no\r\n");
    }
    assert_eq!(house.server.in_flight_bytes(), 0);
    assert_eq!(ask(&mut late, "POST"), "340 Send article\r\n");
}

/// A peer that sends articles, each after the other.
fn send(house: &House, name: usize, count: usize) -> JoinHandle<BufReader<TcpStream>> {
    let mut peer = house.greeted();
    std::thread::spawn(move || {
        for number in 0..count {
            say(
                &mut peer,
                format!("TAKETHIS <{name}.{number}@x>\r\n").as_bytes(),
            );
            say(&mut peer, &article(ARTICLE_BYTES));
        }
        peer
    })
}

#[test]
fn peers_that_wait_for_the_writer_are_not_idle() {
    let limit = Duration::from_secs(2);
    let house = House::held_up(limit);
    let peers: Vec<_> = (0..5).map(|name| send(&house, name, 20)).collect();
    until_in_flight(&house, 64 << 20);
    // It has nothing in flight.
    let mut asks = house.greeted();
    assert_eq!(ask(&mut asks, "CHECK <0@x>"), "238 <0@x>\r\n");
    say(&mut asks, b"CHECK <1@x>\r\n");
    let mut reader = house.greeted();
    // Who may send, but does not, is served.
    let began = Instant::now();
    while began.elapsed() < 3 * limit {
        assert!(ask(&mut reader, "DATE").starts_with("111 "));
        std::thread::sleep(Duration::from_millis(50));
    }
    house.go_on();
    assert_eq!(line(&mut asks), "238 <1@x>\r\n");
    for (name, peer) in peers.into_iter().enumerate() {
        let mut peer = peer.join().expect("sent");
        for number in 0..20 {
            assert_eq!(line(&mut peer), format!("439 <{name}.{number}@x> no\r\n"));
        }
    }
}

/// The replies to CHECK are held behind that of an article: nothing can be done before the writer goes on.
#[test]
fn held_replies_cost_nothing() {
    const CHECKS: usize = 6_000;
    let house = House::held_up(Duration::from_secs(600));
    let mut peer = house.greeted();
    let id = |number: usize| format!("<{number:06}.check@example.com>");
    let mut all = b"TAKETHIS <a@x>\r\n".to_vec();
    all.extend(article(1000));
    for number in 0..CHECKS {
        all.extend(format!("CHECK {}\r\n", id(number)).bytes());
    }
    say(&mut peer, &all);
    until_in_flight(&house, 1000);
    std::thread::sleep(Duration::from_millis(500));
    let before = house.rounds.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(500));
    let rounds = house.rounds.load(Ordering::Relaxed) - before;
    assert!(rounds < 1_000, "{rounds} rounds");
    house.go_on();
    assert_eq!(line(&mut peer), "439 <a@x> no\r\n");
    for number in 0..CHECKS {
        assert_eq!(line(&mut peer), format!("238 {}\r\n", id(number)));
    }
}

#[test]
fn a_peer_that_had_to_rest_is_not_idle() {
    let entry = Entry {
        read: "*".to_owned(),
        send: "*".to_owned(),
        limits: Limits {
            articles_per_minute_max: Some(60),
            ..Limits::default()
        },
        ..Entry::default()
    };
    let house = House::limited(vec![entry], Duration::from_secs(2));
    let mut peer = house.connected();
    assert!(line(&mut peer).starts_with("201 "));
    let mut all = Vec::new();
    for number in 0..64 {
        all.extend(format!("TAKETHIS <{number}@x>\r\n").bytes());
        all.extend(article(100));
    }
    // More than a minute's: the rest is longer than the time limit.
    all.extend(b"DATE\r\n");
    say(&mut peer, &all);
    for number in 0..64 {
        assert_eq!(line(&mut peer), format!("439 <{number}@x> no\r\n"));
    }
    assert!(line(&mut peer).starts_with("111 "));
    std::thread::sleep(Duration::from_secs(1));
    assert!(ask(&mut peer, "DATE").starts_with("111 "));
}
