//! A news directory on disk, with a filer in it.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use std::fs;
use std::path::Path;

use article::Form;
use groups::Sites;
use relay::rnews::{self, Input, Options, Outcome, Watch};
use relay::{Filer, FilerOptions, Now, Rules, Verdict};
use store::{Snapshot, Spool};
use tempfile::TempDir;

/// 1 June 2001, 12:00:00 UTC.
pub const NOW: Now = Now {
    seconds: 991_396_800,
    millis: 7,
};

pub const HOST: &str = "us.example";

pub const ACTIVE: &str = "\
comp.alias 0000000000 00001 =comp.std
comp.lang.c 0000000041 00001 y
comp.mod 0000000007 00001 m
comp.std 0000000000 00001 y
comp.x 0000000000 00001 x
control 0000000000 00001 y
junk 0000000000 00001 y
";

pub const SYS: &str = "\
ME:comp,control,junk/all::
far.example:comp::
all.example:all/all:f:
";

pub struct Newsdir {
    pub dir: TempDir,
}

/// Anybody may cancel, as in C News.
pub fn classic() -> FilerOptions {
    FilerOptions {
        cancel: relay::CancelPolicy::Classic,
        ..FilerOptions::default()
    }
}

#[derive(Default)]
pub struct Told(pub Vec<String>);

impl Watch for Told {
    fn message(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

impl Newsdir {
    pub fn new() -> Newsdir {
        Newsdir::with(ACTIVE, SYS)
    }

    /// In memory where that is a file system: others hardly change its free space meanwhile.
    pub fn in_memory() -> Newsdir {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Newsdir::at(dir.unwrap(), ACTIVE, SYS)
    }

    pub fn with(active: &str, sys: &str) -> Newsdir {
        Newsdir::at(tempfile::tempdir().unwrap(), active, sys)
    }

    fn at(dir: TempDir, active: &str, sys: &str) -> Newsdir {
        fs::create_dir(dir.path().join("segments")).unwrap();
        fs::write(dir.path().join("active"), active).unwrap();
        fs::write(dir.path().join("sys"), sys).unwrap();
        Newsdir { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn filer(&self) -> Filer {
        self.filer_with(Rules::new(HOST.as_bytes()), classic())
    }

    pub fn filer_with(&self, rules: Rules, options: FilerOptions) -> Filer {
        let spool = Spool::open(self.path(), store::Options::default()).unwrap();
        let sys = fs::read(self.path().join("sys")).unwrap();
        let sys = Sites::parse(&sys, HOST.as_bytes()).unwrap();
        Filer::new(spool, sys, rules, options).unwrap()
    }

    /// Files articles and commits.
    pub fn file(&self, articles: &[&str]) -> Vec<Verdict> {
        let mut filer = self.filer();
        let verdicts = articles
            .iter()
            .map(|text| filer.file(text.as_bytes(), Form::Native, NOW).unwrap())
            .collect();
        filer.commit().unwrap();
        verdicts
    }

    /// The article as filed, in native form; empty if it is not there.
    pub fn article(&self, id: &str) -> String {
        let snapshot = Snapshot::open(self.path()).unwrap();
        let mut text = Vec::new();
        if let Some(stored) = snapshot.article(id.as_bytes(), &mut Vec::new()).unwrap() {
            stored.push_native(&mut text);
        }
        String::from_utf8(text).unwrap()
    }

    /// `group/number group/number` of an id; `None` if it is not in the history.
    pub fn links(&self, id: &str) -> Option<String> {
        let snapshot = Snapshot::open(self.path()).unwrap();
        let line = snapshot.history_line(id.as_bytes()).unwrap()?;
        Some(String::from_utf8(line.links.to_vec()).unwrap())
    }

    /// The lines of the log without their times, and without those about senders.
    pub fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path().join("log")).unwrap();
        log.lines()
            .filter(|line| !line.contains(" s <> "))
            .map(|line| line["Jun  1 12:00:00.007 ".len()..].to_owned())
            .collect()
    }

    /// Runs rnews over inputs.
    pub fn rnews(&self, inputs: &[Input], options: Options) -> (Outcome, Vec<String>) {
        let mut filer = self.filer();
        let mut told = Told::default();
        let options = Options {
            clock: || NOW,
            ..options
        };
        let outcome = rnews::run(inputs, &mut filer, &options, &mut told);
        (outcome, told.0)
    }

    /// Writes a file in the directory and gives it as an input.
    pub fn input(&self, name: &str, bytes: &[u8]) -> Input {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        Input::File(path)
    }

    /// The names in bad/, sorted.
    pub fn bad(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join("bad")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// An article with this id in these groups, and more header lines.
pub fn article(id: &str, newsgroups: &str, more: &[&str]) -> String {
    let mut text = format!(
        "Path: near.example!user\nFrom: user@near.example\nNewsgroups: {newsgroups}\n\
         Subject: a test\nMessage-ID: {id}\nDate: Fri, 1 Jun 2001 10:00:00 GMT\n"
    );
    for line in more {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("\nbody\n.dot\n");
    text
}

/// A batch of articles.
pub fn batch(articles: &[&str]) -> Vec<u8> {
    let entry = |text: &&str| format!("#! rnews {}\n{text}", text.len());
    articles.iter().map(entry).collect::<String>().into_bytes()
}
