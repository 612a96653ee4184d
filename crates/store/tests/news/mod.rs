//! A news directory for tests.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use store::{Filing, OverviewFields, Piece, Position, Spool};

/// A temporary news directory with some groups.
pub struct News {
    dir: tempfile::TempDir,
}

impl News {
    pub fn new(groups: &[&str]) -> News {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("segments")).unwrap();
        std::fs::create_dir(dir.path().join("bad")).unwrap();
        let active: String = groups
            .iter()
            .map(|group| format!("{group} 0000000000 00001 y\n"))
            .collect();
        std::fs::write(dir.path().join("active"), active).unwrap();
        News { dir }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Files a small article; it waits for a commit.
    pub fn file(&self, spool: &mut Spool, id: &str, groups: &[&str]) -> Position {
        self.file_with(spool, id, groups, "")
    }

    pub fn file_with(
        &self,
        spool: &mut Spool,
        id: &str,
        groups: &[&str],
        filler: &str,
    ) -> Position {
        self.try_file(spool, id, groups, filler).unwrap()
    }

    pub fn try_file(
        &self,
        spool: &mut Spool,
        id: &str,
        groups: &[&str],
        filler: &str,
    ) -> Result<Position, store::Error> {
        self.file_at(spool, id, groups, (filler, 1000))
    }

    /// Files an article that arrived then.
    pub fn file_at(
        &self,
        spool: &mut Spool,
        id: &str,
        groups: &[&str],
        (filler, arrival): (&str, i64),
    ) -> Result<Position, store::Error> {
        let mut links = Vec::new();
        for group in groups {
            let found = spool.active().find(group.as_bytes()).unwrap();
            links.push((
                group.as_bytes(),
                spool.active_mut().take_number(found).unwrap(),
            ));
        }
        let text = article(id) + filler;
        let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
        let subject = format!("subject {id}");
        spool.append(&Filing {
            id: id.as_bytes(),
            arrival,
            expires: None.into(),
            is_late: false,
            links: &links,
            sites: b"one two",
            header: &[Piece::Native(header.as_bytes())],
            body: Piece::Native(body.as_bytes()),
            left_out: None,
            overview: OverviewFields {
                subject: subject.as_bytes(),
                from: b"u@x",
                date: b"then",
                id: id.as_bytes(),
                references: b"",
                xref: b"",
            },
        })
    }
}

/// The native text of the article with an id.
pub fn article(id: &str) -> String {
    format!(
        "Path: x!u\nFrom: u@x\nSubject: subject {id}\nDate: then\nMessage-ID: {id}\n\nbody of {id}\n.dot\n..two\nend"
    )
}
