//! The bytes that a rate limit counts.

use super::*;

/// The rate counted the whole articles, and so did the totals of the feed.
#[test]
fn a_header_only_feed_counts_headers() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut news = news();
    news.more_lines = 2000;
    let mut fixture = Fixture::new(
        news,
        NntpVia {
            rate: Some(20_000),
            headfeed: true,
            ..via(port)
        },
    );
    fixture.file(40);
    let began = Instant::now();
    fixture.until("all are there", |fixture| fixture.accepted() == 40);
    // 400,000 bytes with their bodies.
    assert!(began.elapsed() < Duration::from_secs(8));
    let dir = fixture.news.dir().join("feeds/one");
    let mut sent_bytes = 0;
    fixture.until("the cursor is at the end", |fixture| {
        let cursor = CursorFile::read(&dir).unwrap().unwrap();
        sent_bytes = cursor.sent_bytes;
        cursor.position == fixture.news.spool.end()
    });
    // Path, Message-ID, Bytes and Lines.
    assert!((40 * 40..40 * 80).contains(&sent_bytes), "{sent_bytes}");
}

/// The connection of the backlog came first, and took the whole rate.
#[test]
fn new_articles_go_before_the_backlog_within_the_rate() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut news = news();
    news.more_lines = 400;
    let rate = Some(2000);
    let mut fixture = Fixture::new(news, NntpVia { rate, ..via(port) });
    fixture.file(60);
    fixture.until("the backlog is on its way", |fixture| {
        fixture.accepted() > 2
    });
    let split = |peer: &mut Peer, context: &mut Context<'_>| peer.split(context.snapshot.end());
    fixture.peers.with_peer(0, split);
    fixture.file(1);
    let dir = fixture.news.dir().join("feeds/one");
    let end = fixture.news.spool.end();
    let before = fixture.accepted();
    fixture.until("the new one is there", |_| {
        let cursor = CursorFile::read(&dir).unwrap().unwrap();
        cursor.ahead.is_some_and(|(_, to)| to == end)
    });
    assert!(fixture.accepted() < before + 15);
}

#[test]
fn the_rate_does_not_count_what_was_not_sent() {
    let (port, _) = peer(|number, stream| {
        _ = super::deferred_articles::stream_to(&stream, |id| match (number, id) {
            (1, _) => None,
            (_, "<1@x>") => Some(format!("431 {id}\r\n")),
            _ => Some(format!("438 {id}\r\n")),
        });
    });
    let mut news = news();
    news.more_lines = 20_000;
    let rate = Some(20_000);
    let mut fixture = Fixture::new(news, NntpVia { rate, ..via(port) });
    fixture.file(3);
    let began = Instant::now();
    fixture.until("all are answered", |fixture| {
        let counts = fixture.counts();
        let deferred = counts.deferred.load(Ordering::Relaxed);
        deferred + counts.not_wanted.load(Ordering::Relaxed) == 3
    });
    // Each of them takes five seconds.
    assert!(began.elapsed() < Duration::from_secs(4));
}
