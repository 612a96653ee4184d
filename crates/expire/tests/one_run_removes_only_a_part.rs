//! A run that would remove more than a part of what is there refuses. What has gone before does not count, wherever it left traces.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use expire::run_error::RunError;
use expire::{Archiving, Explist, RunOptions, SpaceLimits};
use newsdir::{FRESH, NOW, NewsDir, OLD, file, options};

/// Runs expire; the error names the links that would go, and those there are.
fn expire(news: &NewsDir, force: bool) -> Result<u64, (u64, u64)> {
    let list = Explist::parse(b"all x 90 -\n", "explist", None).unwrap();
    let order = RunOptions {
        now: NOW,
        dry: false,
        force,
        trace: false,
        space: SpaceLimits {
            max_fraction: 0.6,
            // No segment is rewritten.
            dead_fraction: 1.0,
            ..SpaceLimits::default()
        },
        disk: None,
        store: options(),
    };
    match expire::run(&news.news(), list, &order, Archiving::default()) {
        Ok(report) => Ok(report.plan.total.links),
        Err(RunError::TooMuch { going, live, .. }) => Err((going, live)),
        Err(error) => panic!("{error}"),
    }
}

fn fill(news: &NewsDir, stem: &str, count: usize, arrival: i64) -> Vec<store::Position> {
    let names: Vec<String> = (0..count).map(|at| format!("{stem}{at}")).collect();
    let articles: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "a.b", arrival))
        .collect();
    news.file(&articles)
}

/// One article with an Expires of its own holds the low mark of its group.
#[test]
fn expired_articles_do_not_count() {
    let news = NewsDir::new(&["a.b"]);
    let mut spool = news.spool();
    file(&mut spool, "faq", "a.b", OLD, Some(NOW + 86_400));
    spool.commit().unwrap();
    drop(spool);
    fill(&news, "old", 20, OLD);
    assert_eq!(expire(&news, true), Ok(20));
    fill(&news, "next", 10, OLD);
    assert_eq!(expire(&news, false), Err((10, 11)));
    fill(&news, "fresh", 6, FRESH);
    assert_eq!(expire(&news, false), Ok(10));
    news.assert_clean();
}

#[test]
fn cancelled_articles_do_not_count() {
    let news = NewsDir::new(&["a.b"]);
    let gone = fill(&news, "gone", 20, FRESH);
    fill(&news, "old", 10, OLD);
    let mut spool = news.spool();
    for (at, position) in gone.iter().enumerate() {
        spool
            .cancel(*position, format!("<gone{at}@x>").as_bytes())
            .unwrap();
    }
    spool.commit().unwrap();
    drop(spool);
    assert_eq!(expire(&news, false), Err((10, 10)));
    fill(&news, "fresh", 7, FRESH);
    assert_eq!(expire(&news, false), Ok(10));
    news.assert_clean();
}
