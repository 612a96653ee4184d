//! A news directory whose articles are for chosen sites.
#![allow(dead_code, reason = "a unit test includes it, too, and uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../store/tests/object_double/mod.rs"]
pub mod object_double;

use std::path::Path;
use std::sync::Arc;

use object_double::ObjectDouble;
use store::offload::{self, Wanted};
use store::{
    AppliedEntry, Durability, Filing, Options, OverviewFields, Piece, Position, Snapshot, Spool,
};

fn place(sequence: u64) -> AppliedEntry {
    AppliedEntry {
        log: "l".to_owned(),
        sequence,
        chain: "c".to_owned(),
        rules: 1,
        outcome: "o".to_owned(),
        decisions: 2,
    }
}

pub struct News {
    dir: tempfile::TempDir,
    pub spool: Spool,
    filed: u64,
    /// Further lines of each body.
    pub more_lines: usize,
}

impl News {
    pub fn new() -> News {
        News::with(Options::default())
    }

    /// A node of a cluster, before the first entry.
    pub fn node(segment_bytes: u64) -> News {
        let mut news = News::with(Options {
            segment_bytes,
            follows_log: true,
            durability: Durability::None,
            ..Options::default()
        });
        news.spool.follow_from(&place(0)).unwrap();
        news
    }

    /// Ends an entry.
    pub fn end_entry(&mut self, sequence: u64) {
        self.spool.set_applied_entry(&place(sequence)).unwrap();
    }

    fn with(options: Options) -> News {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("segments")).unwrap();
        std::fs::create_dir(dir.path().join("feeds")).unwrap();
        std::fs::write(dir.path().join("active"), "a 0000000000 00001 y\n").unwrap();
        let spool = Spool::open(dir.path(), options).unwrap();
        News {
            dir,
            spool,
            filed: 0,
            more_lines: 0,
        }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Files an article for these sites, arrived a second after the one before. Waits for a commit.
    pub fn file(&mut self, sites: &str) -> Position {
        self.filed += 1;
        let id = format!("<{}@x>", self.filed);
        let text = format!(
            "Path: x!u\nMessage-ID: {id}\n\n{}",
            "line\n".repeat(self.filed as usize % 7 + self.more_lines)
        );
        let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
        let group = self.spool.active().find(b"a").unwrap();
        let number = self.spool.active_mut().take_number(group).unwrap();
        self.spool
            .append(&Filing {
                id: id.as_bytes(),
                arrival: 1000 + self.filed as i64,
                expires: None.into(),
                is_late: false,
                links: &[(b"a", number)],
                sites: sites.as_bytes(),
                header: &[Piece::Native(header.as_bytes())],
                body: Piece::Native(body.as_bytes()),
                left_out: None,
                overview: OverviewFields {
                    subject: b"s",
                    from: b"u@x",
                    date: b"then",
                    id: id.as_bytes(),
                    references: b"",
                    xref: b"",
                },
            })
            .unwrap()
    }

    /// Moves the full segments to an object store.
    pub fn offload(mut self, objects: &Arc<ObjectDouble>) -> News {
        self.spool.seal().unwrap();
        self.commit();
        objects.serve(self.dir.path());
        drop(self.spool);
        let bases = Snapshot::open(self.dir.path()).unwrap().segments().to_vec();
        let wanted = Wanted::Bases(&bases);
        loop {
            match offload::move_away(self.dir.path(), Options::default(), wanted, |_| {}) {
                // Other tests of this process start programs, which have our locks for a moment.
                Err(store::Error::Locked(_)) => std::thread::yield_now(),
                done => break done.unwrap(),
            }
        }
        assert!(!objects.names().is_empty());
        News {
            spool: Spool::open(self.dir.path(), Options::default()).unwrap(),
            ..self
        }
    }

    pub fn commit(&mut self) {
        self.spool.commit().unwrap();
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::open(self.dir()).unwrap()
    }
}
