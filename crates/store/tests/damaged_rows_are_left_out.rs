//! Overview rows that are damaged are not served: the others are, whatever was damaged, and nobody waits for their end.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double::dice::{Dice, first_seed, rounds};
use crate::news;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use news::News;
use store::{Options, Position, Published, Snapshot, Spool};

const ARTICLES: u64 = 60;

/// Two segments, the first sealed; each commit of the second has a block of its own.
fn news() -> News {
    let news = News::new(&["a.b", "c"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    for number in 0..ARTICLES {
        let id = format!("<{number}@x>");
        news.file(&mut spool, &id, &["a.b", "c"]);
        if number % 7 == 0 {
            spool.commit().unwrap();
        }
        if number == ARTICLES / 2 {
            spool.commit().unwrap();
            spool.seal().unwrap();
        }
    }
    spool.commit().unwrap();
    news
}

fn overviews(news: &News) -> Vec<PathBuf> {
    let names = fs::read_dir(news.dir().join("segments")).unwrap();
    let mut files: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "ovr"));
    files.sort();
    files
}

/// All rows of a group, as a client asks for them, and whether damage was met. Every line is whole.
fn ask(live: &mut Snapshot) -> (Vec<u64>, bool) {
    let mut numbers = Vec::new();
    let (mut from, mut is_damaged) = (1, false);
    loop {
        let mut text = Vec::new();
        let read = live
            .rows(b"a.b", (from, u64::MAX), 4096, |run| {
                text.extend_from_slice(run.bytes());
            })
            .unwrap();
        assert!(text.is_empty() || text.ends_with(b"\r\n"));
        for line in text.split_inclusive(|&b| b == b'\n') {
            let line = String::from_utf8_lossy(line);
            let mut fields = line.trim_end_matches("\r\n").split('\t');
            numbers.push(fields.next().unwrap().parse().unwrap());
            assert!(fields.count() >= 7, "{line}");
        }
        is_damaged |= read.damage.is_some();
        match read.next {
            Some(next) => {
                assert!(next > from, "it goes round in circles at {from}");
                from = next;
            }
            None => break,
        }
    }
    (numbers, is_damaged)
}

fn live(news: &News) -> Snapshot {
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    Snapshot::open_live(news.dir(), published).unwrap()
}

#[test]
fn a_row_without_its_end_is_left_out_alone() {
    for which in 0..2 {
        let news = news();
        let path = &overviews(&news)[which];
        let text = fs::read(path).unwrap();
        let number = if which == 0 { 12 } else { 45 };
        let row = format!("{number}\tsubject <{}@x>", number - 1);
        let start = memchr::memmem::find(&text, row.as_bytes()).unwrap();
        let end = start + memchr::memchr(b'\n', &text[start..]).unwrap();
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(b"x", end as u64).unwrap();
        let mut live = live(&news);
        let (numbers, is_told) = ask(&mut live);
        let all: Vec<u64> = (1..=ARTICLES).filter(|other| *other != number).collect();
        assert_eq!((numbers, is_told), (all, true));
        // The article itself can be read, and fsck repairs the row.
        let position = live.position(b"a.b", number).unwrap().unwrap();
        assert!(live.record(position, &mut Vec::new()).unwrap().is_some());
        drop(live);
        assert!(!store::fsck(news.dir(), false).unwrap().is_clean());
        assert!(store::fsck(news.dir(), true).unwrap().is_clean());
        let (numbers, is_told) = ask(&mut self::live(&news));
        assert_eq!((numbers.len() as u64, is_told), (ARTICLES, false));
    }
}

#[test]
fn damaged_blocks_are_not_merged_into_sound_ones() {
    let news = news();
    let path = overviews(&news).remove(1);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let text = fs::read(&path).unwrap();
    let at = memchr::memmem::find(&text, b"subject <40@x>").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"S", at as u64).unwrap();
    spool.seal().unwrap();
    drop(spool);
    let told = store::fsck(news.dir(), false).unwrap();
    assert!(
        told.findings.iter().any(|finding| finding.path == path),
        "{told:#?}"
    );
    assert!(store::fsck(news.dir(), true).unwrap().is_clean());
    assert_eq!(ask(&mut live(&news)).0.len() as u64, ARTICLES);
}

/// Every answer about a group by numbers, before its rows were damaged.
struct Answers {
    rows: BTreeMap<u64, Vec<u8>>,
    positions: BTreeMap<u64, Position>,
}

const GROUPS: [&[u8]; 2] = [b"a.b", b"c"];

fn answers(live: &Snapshot, group: &[u8]) -> Answers {
    let mut rows = BTreeMap::new();
    let _ = live.overview(group, (1, u64::MAX), |row| {
        rows.insert(row.number, row.text.to_vec());
        Ok(())
    });
    let mut positions = Vec::new();
    live.articles(group, (1, u64::MAX), usize::MAX, &mut positions)
        .unwrap();
    Answers {
        rows,
        positions: positions.into_iter().collect(),
    }
}

impl Answers {
    /// Asks every reader of rows again: what they give is what it was, or nothing, or the error of damage. Returns whether all is there.
    fn are_right(&self, live: &Snapshot, group: &[u8]) -> bool {
        let now = answers(live, group);
        for (number, text) in &now.rows {
            assert_eq!(self.rows.get(number), Some(text), "row of {number}");
        }
        for (number, position) in &now.positions {
            assert_eq!(self.positions.get(number), Some(position), "{number}");
        }
        let is_right = |found: Option<(u64, Position)>| {
            if let Some((number, position)) = found {
                assert_eq!(self.positions.get(&number), Some(&position), "{number}");
            }
        };
        let mut buffer = Vec::new();
        for number in 0..=ARTICLES + 1 {
            let expected = self.positions.get(&number).copied();
            match live.position(group, number) {
                Ok(found) => assert_eq!(found, expected, "{number}"),
                Err(error) => assert!(matches!(error, store::Error::Damaged { .. }), "{error}"),
            }
            if let Ok(Some(record)) = live.article_by_number(group, number, &mut buffer) {
                let line = store::HistoryLine::parse(record.line()).unwrap();
                assert_eq!(line.id, format!("<{}@x>", number - 1).as_bytes());
            }
            is_right(live.next(group, number, u64::MAX).unwrap());
            is_right(live.previous(group, number, 1).unwrap());
            let mut row = Vec::new();
            let id = format!("<{number}@x>");
            if live.row_of(id.as_bytes(), &mut row).unwrap() && group == b"a.b" {
                let right = self.rows.get(&(number + 1)).unwrap();
                let tab = memchr::memchr(b'\t', right).unwrap();
                assert_eq!(row.strip_prefix(b"0"), right.get(tab..));
            }
        }
        now.rows.len() == self.rows.len()
    }
}

/// Whatever byte is another one: nobody gets a wrong row, nor an article by the number of another.
#[test]
fn a_flipped_byte_gives_no_wrong_row_and_no_wrong_article() {
    let news = news();
    let right: Vec<Answers> = {
        let live = live(&news);
        let marks = live.low_marks(live.active()).unwrap();
        assert!(marks.iter().all(|mark| mark.lowest == 1));
        GROUPS.map(|group| answers(&live, group)).into()
    };
    assert_eq!(right[0].rows.len() as u64, ARTICLES);
    let mut lost = 0;
    let seed = first_seed();
    for round in 0..rounds(300) {
        let mut dice = Dice::new(seed + round);
        let paths = overviews(&news);
        let path = &paths[dice.below(2) as usize];
        let sound = fs::read(path).unwrap();
        let mut bytes = sound.clone();
        let at = dice.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 + dice.below(255) as u8;
        fs::write(path, &bytes).unwrap();
        let live = live(&news);
        for (group, right) in GROUPS.iter().zip(&right) {
            lost += u32::from(!right.are_right(&live, group));
        }
        if let Ok(marks) = live.low_marks(live.active()) {
            assert!(
                marks
                    .iter()
                    .all(|mark| (mark.lowest, mark.high) == (1, ARTICLES))
            );
        }
        drop(live);
        fs::write(path, &sound).unwrap();
    }
    assert!(lost > 0, "no byte meant anything");
}

/// Whatever is in the file: every look ends, and every line that is handed on is one.
#[test]
fn any_damage_ends_and_gives_whole_lines() {
    let news = news();
    let sound: Vec<(PathBuf, Vec<u8>)> = overviews(&news)
        .into_iter()
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    let seed = first_seed();
    for round in 0..rounds(60) {
        let mut dice = Dice::new(seed + round);
        for (path, sound) in &sound {
            let mut bytes = sound.clone();
            for _ in 0..=dice.below(4) {
                let at = dice.below(bytes.len() as u64) as usize;
                let end = bytes.len().min(at + 1 + dice.below(64) as usize);
                match dice.below(3) {
                    0 => bytes[at..end].fill(0),
                    1 => bytes[at..end].fill(0xff),
                    _ => bytes[at] ^= 1 << dice.below(8),
                }
            }
            fs::write(path, &bytes).unwrap();
        }
        let mut live = live(&news);
        for _ in 0..2 {
            ask(&mut live);
        }
        for number in 1..=ARTICLES {
            let _ = live.position(b"a.b", number);
            let _ = live.next(b"a.b", number, u64::MAX).unwrap();
            let _ = live.previous(b"a.b", number, 1).unwrap();
        }
        let group = live.active().find(b"c").unwrap();
        let _ = live.count(group).unwrap();
    }
    for (path, sound) in &sound {
        fs::write(path, sound).unwrap();
    }
}
