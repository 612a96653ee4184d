//! The lease of the feeds and the cursors in real NATS servers: one node holds it, and what another has told since is not overwritten.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use cluster::feeding::{FeedCursors, SiteCursor};
use cluster::jetstream::{FeedLease, Log, begin, feeder};
use cluster::log::{FeedNews, LogEvent, LogIdentity, LogOptions};

use crate::servers::Servers;

/// This machine does not sleep while it tests.
fn clock() -> Duration {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

struct Node {
    feeds: FeedLease,
    news: Receiver<FeedNews>,
    _log: Log,
}

impl Node {
    fn open(options: &LogOptions, name: &str, process: u64) -> Node {
        let (sender, news) = channel();
        let tell = move |event| {
            if let LogEvent::Feeds(news) = event {
                let _ = sender.send(news);
            }
        };
        let options = LogOptions {
            node: name.to_owned(),
            ..options.clone()
        };
        let spawn =
            |work: Box<dyn FnOnce() + Send>| std::thread::Builder::new().spawn(work).map(drop);
        let log = Log::open(options, 0, (process, clock), tell, &spawn).unwrap();
        Node {
            feeds: log.feeds(),
            news,
            _log: log,
        }
    }

    /// The next news that are so.
    fn until<T>(&self, mut is_so: impl FnMut(FeedNews) -> Option<T>) -> T {
        loop {
            let news = self.news.recv_timeout(Duration::from_secs(60)).unwrap();
            if let Some(told) = is_so(news) {
                return told;
            }
        }
    }

    /// Waits until this node holds the lease; its term.
    fn until_held(&self) -> u64 {
        self.until(|news| match news {
            FeedNews::Lease {
                claim: Some(claim),
                until: Some(end),
            } if end > clock() => Some(claim.term),
            _ => None,
        })
    }

    fn cursors(&self) -> FeedCursors {
        self.feeds.read();
        self.until(|news| match news {
            FeedNews::Cursors(cursors) => Some(cursors),
            FeedNews::Untold(why, _) => panic!("{why}"),
            _ => None,
        })
    }

    /// Tells cursors; false: another node has told its own since.
    fn tell(&self, process: u64, entry: u64, is_first: bool) -> bool {
        let site = SiteCursor {
            entry: Some(entry),
            ..SiteCursor::default()
        };
        let cursors = FeedCursors {
            node: format!("n{process}"),
            process,
            sites: [("peer".to_owned(), site)].into(),
        };
        self.feeds.tell(cursors, is_first);
        self.until(|news| match news {
            FeedNews::Told => Some(true),
            FeedNews::Untold(_, true) => Some(false),
            FeedNews::Untold(why, false) => panic!("{why}"),
            _ => None,
        })
    }
}

#[test]
fn it_moves_with_the_cursors() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let options = servers.options();
    let new = LogIdentity {
        name: "l1".to_owned(),
        base: "copy".to_owned(),
    };
    begin(&options, 1 << 30, &new).unwrap();
    let one = Node::open(&options, "n1", 1);
    one.feeds.want(true);
    assert_eq!(one.until_held(), 1);
    assert_eq!(one.cursors(), FeedCursors::default());
    assert!(one.tell(1, 7, true));
    // Another one waits, and knows who holds it.
    let other = Node::open(&options, "n2", 2);
    other.feeds.want(true);
    let holder = other.until(|news| match news {
        FeedNews::Lease { claim, until } => Some((claim.unwrap().node, until)),
        _ => None,
    });
    assert_eq!(holder, ("n1".to_owned(), None));
    // It is given back, and taken at once, with the cursors.
    one.feeds.want(false);
    assert_eq!(other.until_held(), 2);
    let cursors = other.cursors();
    let site = cursors.sites.get("peer").unwrap();
    assert_eq!((site.entry, cursors.process), (Some(7), 1));
    assert!(other.tell(2, 8, true));
    assert!(
        !one.tell(1, 9, false),
        "the cursors of the holder were overwritten"
    );
    // Also if it has read them: only a node that begins to feed replaces those of another one.
    assert_eq!(one.cursors().last_entry(), 8);
    assert!(!one.tell(1, 9, false), "those that were read, neither");
    let (claim, cursors) = feeder(&options).unwrap();
    assert_eq!(
        (claim.unwrap().node.as_str(), cursors.last_entry()),
        ("n2", 8)
    );
    // A holder that is gone without a word is waited for, no longer than its lease.
    drop(other);
    one.feeds.want(true);
    assert_eq!(one.until_held(), 3);
    assert_eq!(one.cursors().last_entry(), 8);
}
