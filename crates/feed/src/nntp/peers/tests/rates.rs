//! The bytes that a rate limit counts.

use super::*;

/// The rate counted the whole articles, and so did the totals of the feed.
#[test]
fn a_header_only_feed_counts_headers() {
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut news = news();
    news.more_lines = 2000;
    let mut desk = Desk::new(
        news,
        NntpVia {
            rate: Some(20_000),
            headfeed: true,
            ..via(port)
        },
    );
    desk.file(40);
    let began = Instant::now();
    desk.until("all are there", |desk| desk.accepted() == 40);
    // 400,000 bytes with their bodies.
    assert!(began.elapsed() < Duration::from_secs(8));
    let dir = desk.news.dir().join("feeds/one");
    let mut sent_bytes = 0;
    desk.until("the cursor is at the end", |desk| {
        let cursor = CursorFile::read(&dir).unwrap().unwrap();
        sent_bytes = cursor.sent_bytes;
        cursor.position == desk.news.spool.end()
    });
    // Path, Message-ID, Bytes and Lines.
    assert!((40 * 40..40 * 80).contains(&sent_bytes), "{sent_bytes}");
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
    let mut desk = Desk::new(news, NntpVia { rate, ..via(port) });
    desk.file(3);
    let began = Instant::now();
    desk.until("all are answered", |desk| {
        let counts = desk.counts();
        let deferred = counts.deferred.load(Ordering::Relaxed);
        deferred + counts.not_wanted.load(Ordering::Relaxed) == 3
    });
    // Each of them takes five seconds.
    assert!(began.elapsed() < Duration::from_secs(4));
}
