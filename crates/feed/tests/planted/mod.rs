//! A news directory with a tree, and what the tree should have.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use feed::enrolment::{self, NewSite};
use feed::start::Start;
use feed::{ArticleSource, Error, FromCursor, Limit, SiteState, Tree, site_state};
use groups::Pattern;
use store::{
    ExpiryDecision, Filing, Options, OverviewFields, Piece, Position, Record, Snapshot, Spool,
};

const GROUPS: [&str; 4] = [
    "alt.test",
    "comp.lang.c",
    "comp.lang.c.1",
    "comp.lang.c.moderated",
];

/// An article as it was filed.
pub struct Filed {
    pub position: Position,
    pub id: String,
    pub native: Vec<u8>,
    pub links: Vec<(String, u64)>,
}

pub struct Planted {
    dir: tempfile::TempDir,
    pub spool: Spool,
    pub filed: Vec<Filed>,
    tree: Option<Tree>,
    groups: String,
    /// Whether the tree has `.overview` files.
    pub overview: bool,
}

impl Planted {
    pub fn new() -> Planted {
        let dir = tempfile::tempdir().unwrap();
        let news = dir.path().join("news");
        fs::create_dir_all(news.join("segments")).unwrap();
        fs::create_dir(news.join("feeds")).unwrap();
        let active: String = GROUPS
            .iter()
            .map(|group| format!("{group} 0000000000 00001 y\n"))
            .collect();
        fs::write(news.join("active"), active).unwrap();
        let spool = Spool::open(&news, Options::default()).unwrap();
        let site = NewSite {
            name: b"one",
            start: Start::Now,
        };
        enrolment::enrol(&spool, &[site]).unwrap();
        Planted {
            dir,
            spool,
            filed: Vec::new(),
            tree: None,
            groups: "all".to_owned(),
            overview: false,
        }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn news(&self) -> PathBuf {
        self.dir().join("news")
    }

    /// A file in the tree.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join("tree").join(name)
    }

    pub fn aside(&self) -> PathBuf {
        self.dir().join("aside")
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn groups(&mut self, groups: &str) {
        self.groups = groups.to_owned();
        self.restart();
    }

    /// As another process.
    pub fn restart(&mut self) {
        self.tree = None;
    }

    pub fn marker(&self) -> String {
        let news = self.news().canonicalize().unwrap();
        format!("BStree1\nfeed one\nnews {}\n", news.display())
    }

    /// Files an article; gives its native form.
    pub fn file(&mut self, groups: &[&str], body: &[u8]) -> Vec<u8> {
        let number = self.filed.len();
        let id = format!("<{number}@x>");
        let mut links = Vec::new();
        for group in groups {
            let found = self.spool.active().find(group.as_bytes()).unwrap();
            let number = self.spool.active_mut().take_number(found).unwrap();
            links.push((group.to_string(), number));
        }
        let xref: Vec<String> = links
            .iter()
            .map(|(group, number)| format!("{group}:{number}"))
            .collect();
        let xref = format!("x {}", xref.join(" "));
        let header = format!(
            "Path: x!u\nFrom: u@x\nSubject: number {number}\nDate: then\nMessage-ID: {id}\nXref: {xref}\n\n"
        );
        let filing: Vec<(&[u8], u64)> = links
            .iter()
            .map(|(group, number)| (group.as_bytes(), *number))
            .collect();
        let position = self
            .spool
            .append(&Filing {
                id: id.as_bytes(),
                arrival: 1000 + number as i64,
                expires: None.into(),
                is_late: false,
                links: &filing,
                sites: b"one",
                header: &[Piece::Native(header.as_bytes())],
                body: Piece::Native(body),
                left_out: None,
                overview: OverviewFields {
                    subject: format!("number {number}").as_bytes(),
                    from: b"u@x",
                    date: b"then",
                    id: id.as_bytes(),
                    references: b"",
                    xref: xref.as_bytes(),
                },
            })
            .unwrap();
        let native = [header.as_bytes(), body].concat();
        self.filed.push(Filed {
            position,
            id,
            native: native.clone(),
            links,
        });
        native
    }

    /// Cancels an article by its place among the filed ones.
    pub fn cancel(&mut self, which: usize) {
        let Filed { position, id, .. } = &self.filed[which];
        self.spool.cancel(*position, id.as_bytes()).unwrap();
    }

    /// Expires everything below a number of groups, and single numbers.
    pub fn expire(&mut self, below: &[(&str, u64)], single: &[(&str, u64)]) {
        let owned = |links: &[(&str, u64)]| {
            let links = links.iter();
            links
                .map(|(group, number)| (group.as_bytes().to_vec(), *number))
                .collect()
        };
        self.spool.commit().unwrap();
        let cuts: Vec<(Vec<u8>, u64)> = below
            .iter()
            .map(|(group, number)| (group.as_bytes().to_vec(), number + 1))
            .collect();
        let decision = ExpiryDecision {
            cuts,
            gone: owned(single),
            ..ExpiryDecision::default()
        };
        self.spool.expire(&decision).unwrap();
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::open(&self.news()).unwrap()
    }

    /// Commits, and writes what waits into the tree.
    pub fn write(&mut self) -> Result<u64, String> {
        self.run(usize::MAX)
    }

    /// As a run that is killed after so many articles, in the middle of the last one: the cursor stays where it was.
    pub fn write_some(&mut self, articles: usize) {
        let before = self.names();
        if self.run(articles).is_ok() {
            return;
        }
        let is_new = |name: &&String| !before.contains(name);
        let names = self.names();
        let fresh: Vec<&String> = names.iter().filter(is_new).collect();
        if let [first, .., last] = fresh.as_slice() {
            let text = self.read(first);
            fs::remove_file(self.path(last)).unwrap();
            fs::write(self.path(first), &text[..text.len() / 2]).unwrap();
        }
    }

    fn run(&mut self, articles: usize) -> Result<u64, String> {
        self.spool.commit().unwrap();
        let mut snapshot = self.snapshot();
        let taken = SiteState::take(&self.news(), b"one", &mut snapshot).unwrap();
        let is_begun = taken.cursor().last.is_some();
        let mut togo = Cut {
            togo: FromCursor::new(&snapshot, taken, Box::new(|_, _| false)),
            left: articles,
        };
        let mut tree = match self.tree.take() {
            Some(tree) => tree,
            None => {
                let groups = Pattern::parse(self.groups.as_bytes());
                let owner: (&[u8], &Path) = (b"one", &self.news());
                Tree::new(&self.path(""), owner, groups, self.overview).unwrap()
            }
        };
        let limit = Limit::from(Duration::from_secs(600));
        let written = tree.run(&mut togo, (&snapshot, is_begun), &limit);
        self.tree = Some(tree);
        written.map_err(|error| error.to_string())
    }

    /// `feed reset --to oldest`.
    pub fn reset(&mut self) {
        let mut snapshot = self.snapshot();
        let mut taken = SiteState::take(&self.news(), b"one", &mut snapshot).unwrap();
        taken.move_to(snapshot.oldest()).unwrap();
    }

    pub fn sent(&self) -> u64 {
        let told = site_state::look(&self.news(), b"one").unwrap().unwrap();
        told.cursor.sent
    }

    /// Does not expect the files that are missing now.
    pub fn forget_lost(&mut self) {
        let names = self.names();
        for filed in &mut self.filed {
            filed
                .links
                .retain(|(group, number)| names.contains(&name(group, *number)));
        }
    }

    /// All files of the tree but the marker.
    pub fn names(&self) -> Vec<String> {
        if self.path("").exists() {
            names(&self.path(""))
        } else {
            Vec::new()
        }
    }

    /// The overview of each group has the rows of its visible articles.
    pub fn assert_overview(&self) {
        let snapshot = self.snapshot();
        for group in GROUPS {
            let mut expected = String::new();
            let range = (0, u64::MAX);
            let rows = snapshot.overview(group.as_bytes(), range, |row| {
                expected += &String::from_utf8_lossy(row.text).replace("\r\n", "\n");
                Ok(())
            });
            rows.unwrap();
            let path = self.path(&format!("{}/.overview", group.replace('.', "/")));
            let found = fs::read_to_string(path).unwrap_or_default();
            assert_eq!(found, expected, "{group}");
        }
    }

    /// The tree has every visible article under each of its visible numbers, once on the disk, and nothing else.
    pub fn assert_equal(&self) {
        let snapshot = self.snapshot();
        let mut expected: BTreeMap<String, &[u8]> = BTreeMap::new();
        for filed in &self.filed {
            for (group, number) in &filed.links {
                if snapshot.is_alive_in(group.as_bytes(), *number, filed.position) {
                    expected.insert(name(group, *number), &filed.native);
                }
            }
        }
        let names = self.names();
        let wanted: Vec<&String> = expected.keys().collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), wanted);
        for (name, native) in expected {
            assert!(self.read(&name) == native, "{name}");
        }
    }
}

/// Articles that wait; after some of them everything fails.
struct Cut<'a> {
    togo: FromCursor<'a>,
    left: usize,
}

impl ArticleSource for Cut<'_> {
    fn offer(&mut self, put: &mut dyn FnMut(&Record<'_>) -> bool) -> Result<(), Error> {
        let left = &mut self.left;
        self.togo.offer(&mut |record| {
            let is_taken = *left > 0 && put(record);
            *left = left.saturating_sub(1);
            is_taken
        })
    }

    fn delivered(&mut self) -> Result<(), Error> {
        match self.left {
            0 => Err(Error::Unknown("killed".to_owned())),
            _ => self.togo.delivered(),
        }
    }

    fn waiting_bytes(&mut self) -> Result<u64, Error> {
        self.togo.waiting_bytes()
    }

    fn is_paused(&self) -> bool {
        self.togo.is_paused()
    }
}

fn name(group: &str, number: u64) -> String {
    format!("{}/{number}", group.replace('.', "/"))
}

/// All files below a directory, sorted; not the files with a dot in front.
pub fn names(top: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(place) = waiting.pop() {
        for entry in fs::read_dir(top.join(&place)).unwrap() {
            let entry = entry.unwrap();
            let path = place.join(entry.file_name());
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if fs::metadata(entry.path()).is_ok_and(|told| told.is_dir()) {
                waiting.push(path);
            } else if !is_hidden {
                names.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    names.sort_unstable();
    names
}
