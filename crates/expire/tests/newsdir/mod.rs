//! A news directory with articles of chosen arrival, and runs of expire over it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // helpers of tests

use std::path::{Path, PathBuf};

use article::{Article, Form};
use expire::{Archiving, Explist, RunOptions, RunReport, SpaceLimits};
use store::{Filing, Options, OverviewFields, Piece, Position, Snapshot, Spool};

/// The time of the runs: the policies here remove articles older than 90 days.
pub const NOW: i64 = 100 * 86_400;
/// An arrival that is too old by 10 days, and one that is not.
pub const OLD: i64 = 5 * 86_400;
pub const FRESH: i64 = 99 * 86_400;

pub struct NewsDir {
    folder: tempfile::TempDir,
}

impl NewsDir {
    /// Makes a news directory with these groups.
    pub fn new(groups: &[&str]) -> NewsDir {
        let newsdir = NewsDir {
            folder: tempfile::tempdir().unwrap(),
        };
        make_news(&newsdir.news(), groups);
        newsdir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn news(&self) -> PathBuf {
        self.path("news")
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub fn spool(&self) -> Spool {
        Spool::open(&self.news(), options()).unwrap()
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::open(&self.news()).unwrap()
    }

    /// Files articles, each in its groups, with the next numbers. Ids are `<name@x>`.
    pub fn file(&self, articles: &[(&str, &str, i64)]) -> Vec<Position> {
        let mut spool = self.spool();
        let filed = articles
            .iter()
            .map(|(name, groups, arrival)| file(&mut spool, name, groups, *arrival, None))
            .collect();
        spool.commit().unwrap();
        filed
    }

    /// Runs expire with a policy in which `DIR` means this news directory.
    pub fn run(&self, policy: &str) -> RunReport {
        self.run_with(policy, false, Archiving::default())
    }

    pub fn run_with(&self, policy: &str, dry: bool, archiving: Archiving<'_>) -> RunReport {
        let text = policy.replace("DIR", self.folder.path().to_str().unwrap());
        let list = Explist::parse(text.as_bytes(), "explist", None).unwrap();
        let order = RunOptions {
            now: NOW,
            dry,
            force: true,
            trace: false,
            space: SpaceLimits {
                dead_fraction: 0.1,
                ..SpaceLimits::default()
            },
            disk: None,
            store: options(),
        };
        expire::run(&self.news(), list, &order, archiving).unwrap()
    }

    /// Whether each link is still readable.
    pub fn stay(&self, links: &[&str]) -> Vec<bool> {
        let snapshot = self.snapshot();
        let there = |link: &&str| {
            let (group, number) = link.split_once('/').unwrap();
            let number = number.parse().unwrap();
            let mut buffer = Vec::new();
            let found = snapshot.article_by_number(group.as_bytes(), number, &mut buffer);
            found.unwrap().is_some()
        };
        links.iter().map(there).collect()
    }

    /// The relative paths of all files below a directory, sorted.
    pub fn files(&self, name: &str) -> Vec<String> {
        let root = self.path(name);
        let mut found = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    pub fn assert_clean(&self) {
        let report = store::fsck(&self.news(), false).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}

pub fn options() -> Options {
    Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    }
}

pub fn make_news(dir: &Path, groups: &[&str]) {
    for name in ["segments", "bad"] {
        std::fs::create_dir_all(dir.join(name)).unwrap();
    }
    let line = |group: &&str| format!("{group} 0000000000 00001 y\n");
    let active: String = groups.iter().map(line).collect();
    std::fs::write(dir.join("active"), active).unwrap();
    drop(Spool::open(dir, options()).unwrap());
}

/// The text of the article with a name.
pub fn text(name: &str) -> String {
    format!("Subject: {name}\nMessage-ID: <{name}@x>\n\n.body of {name}\nwithout an end")
}

pub fn file(
    spool: &mut Spool,
    name: &str,
    groups: &str,
    arrival: i64,
    expires: Option<i64>,
) -> Position {
    let links: Vec<_> = groups
        .split(',')
        .map(|group| {
            let id = spool.active().find(group.as_bytes()).unwrap();
            (
                group.as_bytes(),
                spool.active_mut().take_number(id).unwrap(),
            )
        })
        .collect();
    let id = format!("<{name}@x>");
    let text = text(name);
    let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
    spool
        .append(&Filing {
            id: id.as_bytes(),
            arrival,
            expires: expires.into(),
            is_late: false,
            links: &links,
            sites: b"",
            header: &[Piece::Native(header.as_bytes())],
            body: Piece::Native(body.as_bytes()),
            left_out: None,
            overview: OverviewFields::of(
                &Article::parse(text.as_bytes(), Form::Native),
                id.as_bytes(),
            ),
        })
        .unwrap()
}
