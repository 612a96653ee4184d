//! Articles in an object store that lacks their object for a while.

use super::log::object_double::{ObjectDouble, Wrong};
use super::*;

/// They counted as expired, and the cursor passed them.
#[test]
fn the_articles_of_a_missing_object_wait() {
    let objects = ObjectDouble::new(1 << 30);
    let mut news = news();
    // Longer than what one fetch brings, shorter together than what a search reads at once.
    news.more_lines = 100_000;
    for _ in 0..3 {
        news.file("one");
    }
    news.commit();
    let news = news.offload(&objects);
    objects.set(Wrong::Misses(1 << 20));
    let (port, _) = peer(|_, stream| _ = converse(&stream, |_, _| true));
    let mut fixture = Fixture::new(news, via(port));
    fixture.peers.mailbox.filed();
    fixture.until("the peer is not fed", |fixture| {
        let told = fixture.told.lock().unwrap();
        told.iter()
            .any(|line| line.contains("does not have segments/"))
    });
    objects.set(Wrong::Nothing);
    fixture.peers.mailbox.call(None);
    fixture.until("all are there", |fixture| fixture.accepted() == 3);
    let dir = fixture.news.dir().join("feeds/one");
    assert_eq!(CursorFile::read(&dir).unwrap().unwrap().skipped, 0);
}
