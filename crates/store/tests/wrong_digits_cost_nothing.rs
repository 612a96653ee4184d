//! A wrong bit, digit or number in any file of a store: a repair ends clean at once, makes no file longer, and loses no article that was intact.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;
use crate::news;
use crate::story;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use double::dice::{Dice, first_seed, rounds};
use news::News;
use store::disk::{Disk, RealDisk};
use store::fsck::fsck_on;
use store::{
    Expires, ExpiryDecision, Filing, Options, OverviewFields, Piece, ReclaimPolicy, Snapshot,
    Spool, rebuild, reclaim_on,
};
use story::{Filed, native};

/// Bytes that the log may grow by: the record laid over damage at its end, a copy of active, and the cancels of damaged records.
const FILED_BYTES: u64 = 4096;

/// A small news directory: of its first segment only the history is left, its second is repacked, its third has articles that were cancelled or have an
/// Expires, and its fourth is the current one.
struct Small {
    files: BTreeMap<PathBuf, Vec<u8>>,
    alive: Vec<Filed>,
    /// Ids of articles that have expired or were cancelled, and ids that were only seen.
    gone: Vec<String>,
    bases: Vec<u64>,
}

fn file(spool: &mut Spool, number: u64, expires: Expires<'_>, is_late: bool) -> Filed {
    let id = format!("<{number}.small@example.org>");
    let names: &[&str] = if number.is_multiple_of(3) {
        &["a.b", "c"]
    } else {
        &["a.b"]
    };
    let mut links = Vec::new();
    for name in names {
        let group = spool.active().find(name.as_bytes()).unwrap();
        links.push((
            (*name).to_owned(),
            spool.active_mut().take_number(group).unwrap(),
        ));
    }
    let text = news::article(&id) + &"filler ".repeat((number * 37 % 90) as usize);
    let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
    let of_links: Vec<(&[u8], u64)> = links
        .iter()
        .map(|(name, at)| (name.as_bytes(), *at))
        .collect();
    let subject = format!("subject {id}");
    let position = spool
        .append(&Filing {
            id: id.as_bytes(),
            arrival: 1_000_000 + number as i64,
            expires,
            is_late,
            links: &of_links,
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
        .unwrap();
    Filed {
        id,
        text,
        position,
        links,
    }
}

impl Small {
    fn new() -> Small {
        let news = News::new(&["a.b", "c"]);
        let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
        let (mut alive, mut gone) = (Vec::new(), Vec::new());
        let mut expired = Vec::new();
        for segment in 0..4u64 {
            for number in segment * 100..segment * 100 + 14 {
                let (expires, is_late) = match number % 10 {
                    3 => (Expires::At(2_000_000_000), false),
                    7 => (Expires::Absent, true),
                    _ => (Expires::Absent, false),
                };
                let filed = file(&mut spool, number, expires, is_late);
                match (segment, number % 10) {
                    (0, _) | (1, 0 | 2 | 5 | 6 | 7) => {
                        expired.extend(filed.links.iter().cloned());
                        gone.push(filed.id);
                    }
                    (1.., 4) => {
                        spool.cancel(filed.position, filed.id.as_bytes()).unwrap();
                        gone.push(filed.id);
                    }
                    _ => alive.push(filed),
                }
                if number % 5 == 4 {
                    let id = format!("<seen.{number}@example.org>");
                    spool
                        .remember(id.as_bytes(), 1_000_000, Expires::Absent)
                        .unwrap();
                    gone.push(id);
                    spool.commit().unwrap();
                }
            }
            spool.commit().unwrap();
            if segment < 3 {
                spool.seal().unwrap();
            }
        }
        drop(spool);
        let bases = bases(news.dir());
        let expiry = ExpiryDecision {
            gone: expired
                .iter()
                .map(|(name, number)| (name.clone().into_bytes(), *number))
                .collect(),
            touched: bases.clone(),
            ..ExpiryDecision::default()
        };
        let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
        spool.expire(&expiry).unwrap();
        drop(spool);
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let done = reclaim_on(
            disk.clone(),
            news.dir(),
            Options::default(),
            ReclaimPolicy::usual(0.1),
        );
        let done = done.unwrap();
        assert!(done.repacked > 0, "{done:?}");
        // The last two have no other copy yet.
        let report = fsck_on(disk, news.dir(), false).unwrap();
        assert_eq!(report.faults, 0, "{report:?}");
        assert!(!art(news.dir(), bases[0]).exists() && his(news.dir(), bases[0]).exists());
        Small {
            files: files(news.dir()),
            alive,
            gone,
            bases,
        }
    }

    fn laid_down(&self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["segments", "bad"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for (name, bytes) in &self.files {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        dir
    }

    /// What must hold after a repair. `hit`: the articles whose record was damaged itself.
    fn check(&self, dir: &Path, (hit, with_numbers): (&[&str], bool), what: &str) {
        let reader = Snapshot::open(dir).unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut buffer = Vec::new();
        for filed in self
            .alive
            .iter()
            .filter(|filed| !hit.contains(&filed.id.as_str()))
        {
            let stored = reader.article(filed.id.as_bytes(), &mut buffer);
            let stored = stored.unwrap_or_else(|error| panic!("{what}: {}: {error}", filed.id));
            let stored = stored.unwrap_or_else(|| panic!("{what}: {} is lost", filed.id));
            assert!(native(&stored) == filed.text, "{what}: {}", filed.id);
            for (name, number) in filed.links.iter().filter(|_| with_numbers) {
                let stored = reader.article_by_number(name.as_bytes(), *number, &mut buffer);
                let stored = stored
                    .unwrap()
                    .unwrap_or_else(|| panic!("{what}: {name}/{number}"));
                assert!(native(&stored) == filed.text, "{what}: {name}/{number}");
            }
        }
    }
}

fn bases(dir: &Path) -> Vec<u64> {
    let names = fs::read_dir(dir.join("segments")).unwrap();
    let paths = names.map(|entry| entry.unwrap().path());
    let arts = paths.filter(|path| path.extension().is_some_and(|end| end == "art"));
    let mut bases: Vec<u64> = arts
        .map(|path| path.file_stem().unwrap().to_str().unwrap().parse().unwrap())
        .collect();
    bases.sort_unstable();
    bases
}

fn art(dir: &Path, base: u64) -> PathBuf {
    dir.join(format!("segments/{base:020}.art"))
}

fn his(dir: &Path, base: u64) -> PathBuf {
    art(dir, base).with_extension("his")
}

/// The files of a directory by their names in it; those of bad/ are copies of what was damaged.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["", "segments"] {
        for entry in fs::read_dir(dir.join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                let name = Path::new(folder).join(entry.file_name());
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Files of one kind, by the end of their names.
fn kind(name: &Path) -> String {
    let text = name.to_str().unwrap();
    match text.starts_with("segments/") {
        true => text.rsplit('.').next().unwrap().to_owned(),
        false => text.to_owned(),
    }
}

/// Changes a bit or a digit, or makes a number of a text longer. Returns the place, and what was done.
fn flip(bytes: &mut Vec<u8>, is_text: bool, dice: &mut Dice) -> (usize, &'static str) {
    let digits: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at].is_ascii_digit())
        .collect();
    let digit = dice.pick(&digits).copied().filter(|_| dice.chance(50));
    match digit {
        Some(at) if is_text && dice.chance(15) => {
            bytes.splice(at..at, *b"0000");
            (at, "zeros before")
        }
        Some(at) => {
            bytes[at] = b'0' + (bytes[at] - b'0' + 1 + dice.below(9) as u8) % 10;
            (at, "another digit at")
        }
        None => {
            let at = dice.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << dice.below(8);
            (at, "a bit of")
        }
    }
}

/// Damages one file, repairs, and checks.
fn one_flip(small: &Small, name: &Path, seed: u64) {
    let mut dice = Dice::new(seed);
    let copy = small.laid_down();
    let dir = copy.path();
    let mut bytes = small.files[name].clone();
    let (at, how) = flip(&mut bytes, kind(name) != "art", &mut dice);
    fs::write(dir.join(name), &bytes).unwrap();
    let is_without_index = dice.chance(30);
    if is_without_index && name != Path::new("index") {
        fs::remove_file(dir.join("index")).unwrap();
    }
    let way = dice.below(4);
    let what = format!(
        "seed {seed}: {how} byte {at} of {}, without index: {is_without_index}, way {way}",
        name.display()
    );
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    match way {
        0 => drop(rebuild(dir)),
        1 => drop(Spool::open(dir, Options::default())),
        _ => {}
    }
    let first = fsck_on(disk.clone(), dir, true).unwrap_or_else(|error| panic!("{what}: {error}"));
    let again = fsck_on(disk, dir, false).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(again.faults, 0, "{what}: {again:?}\nafter {first:?}");
    let hit: Vec<&str> = match kind(name) == "art" {
        true => hit_at(small, name, at),
        false => Vec::new(),
    };
    // The numbers and flags of groups may be edited by hand.
    let with_numbers = name != Path::new("active");
    small.check(dir, (&hit, with_numbers), &what);
    if kind(name) != "art" {
        assert_eq!(
            (first.lost, &first.lost_ids),
            (0, &Vec::new()),
            "{what}: {first:?}"
        );
    }
    for (file, after) in files(dir) {
        let before = small.files.get(&file).map_or(0, |bytes| bytes.len() as u64);
        let before = before.max(if file == name { bytes.len() as u64 } else { 0 });
        let is_log = file.extension().is_some_and(|end| end == "art");
        // The files that are derived need more for what a repair keeps of damaged lines, and the index is made again.
        let room = if is_log { FILED_BYTES } else { 300 << 10 };
        let length = after.len() as u64;
        assert!(
            length <= before + room,
            "{what}: {} has {length} bytes, not {before}: {first:?}",
            file.display()
        );
    }
    let known = Spool::open(dir, Options::default()).unwrap();
    let lost = small
        .gone
        .iter()
        .filter(|id| !known.has(id.as_bytes()).unwrap());
    // A line of an article that is gone has no other copy.
    let lost_max = match kind(name).as_str() {
        "his" => 2,
        "art" => small.gone.len(),
        _ => 0,
    };
    let lost: Vec<_> = lost.collect();
    assert!(lost.len() <= lost_max, "{what}: {lost:?}");
}

/// The articles of whose records the byte at an offset of a segment's file is a part.
fn hit_at<'s>(small: &'s Small, name: &Path, at: usize) -> Vec<&'s str> {
    let bytes = &small.files[name];
    let starts: Vec<usize> = memchr::memmem::find_iter(bytes, b"BSr1").collect();
    let place = starts.partition_point(|start| *start <= at);
    let Some(start) = place.checked_sub(1).map(|place| starts[place]) else {
        return Vec::new();
    };
    let end = starts.get(place).copied().unwrap_or(bytes.len());
    let is_in = |filed: &&Filed| {
        let record = &bytes[start..end];
        memchr::memmem::find(record, format!("{}\t", filed.id).as_bytes()).is_some()
    };
    let hit = small.alive.iter().filter(is_in);
    hit.map(|filed| filed.id.as_str()).collect()
}

/// BROADSHEET_TEST_ROUNDS flips of each kind of file, BROADSHEET_TEST_KIND of that kind alone.
#[test]
fn a_flip_of_any_file_is_repaired_at_once() {
    let small = Small::new();
    let mut kinds: BTreeMap<String, Vec<&PathBuf>> = BTreeMap::new();
    for name in small
        .files
        .keys()
        .filter(|name| !small.files[*name].is_empty())
    {
        kinds.entry(kind(name)).or_default().push(name);
    }
    for wanted in [
        "art", "his", "ovr", "exp", "index", "active", "cancels", "expired",
    ] {
        assert!(kinds.contains_key(wanted), "{kinds:?}");
    }
    let only = std::env::var("BROADSHEET_TEST_KIND").ok();
    let (first, count) = (first_seed(), rounds(12));
    for (kind, names) in kinds {
        if only.as_ref().is_some_and(|only| *only != kind) {
            continue;
        }
        for seed in first..first + count {
            let name = Dice::new(seed ^ 77).pick(&names).copied().unwrap();
            one_flip(&small, name, seed);
        }
    }
}

/// A position far ahead in the history makes no log longer, whoever reads it: a repair, a rebuild, or a program that files and finds no index.
#[test]
fn a_position_far_ahead_makes_no_log_longer() {
    let small = Small::new();
    let current = *small.bases.last().unwrap();
    for base in &small.bases[1..] {
        for way in 0..3 {
            let copy = small.laid_down();
            let dir = copy.path();
            let path = his(dir, *base);
            let text = fs::read_to_string(&path).unwrap();
            // That of the last article.
            let start = text.trim_end().rfind("~-~").or(text.rfind('~')).unwrap();
            let line_end = start + text[start..].find('\n').unwrap();
            let line = &text[..line_end];
            let tab = line.rfind('\t').unwrap();
            let text = format!("{}0000{}", &text[..tab], &text[tab..]);
            fs::write(&path, &text).unwrap();
            fs::remove_file(dir.join("index")).unwrap();
            let before = fs::metadata(art(dir, current)).unwrap().len();
            match way {
                0 => drop(rebuild(dir).unwrap()),
                1 => {
                    let mut spool = Spool::open(dir, Options::default()).unwrap();
                    let damaged = spool
                        .notices()
                        .iter()
                        .any(|notice| notice.contains("damaged at"));
                    assert!(!damaged, "{:?}", spool.notices());
                    file(&mut spool, 999, Expires::Absent, false);
                    spool.commit().unwrap();
                }
                _ => {
                    let report = fsck_on(Arc::new(RealDisk), dir, true).unwrap();
                    assert_eq!((report.lost, report.is_clean()), (0, true), "{report:?}");
                }
            }
            let after = fs::metadata(art(dir, current)).unwrap().len();
            assert!(after < before + 4096, "{base} {way}: {before} to {after}");
            let first = fsck_on(Arc::new(RealDisk), dir, true).unwrap();
            assert_eq!(first.lost, 0, "{first:?}");
            let again = fsck_on(Arc::new(RealDisk), dir, false).unwrap();
            assert_eq!(again.faults, 0, "{base} {way}: {again:?}");
            small.check(dir, (&[], true), &format!("{base} {way}"));
        }
    }
}

/// Whoever believes such a position makes the log as long as it says.
#[test]
fn a_hole_at_the_end_of_the_log_is_cut_off() {
    let small = Small::new();
    for base in &small.bases[1..] {
        for is_without_index in [false, true] {
            let copy = small.laid_down();
            let dir = copy.path();
            let path = art(dir, *base);
            let before = fs::metadata(&path).unwrap().len();
            let log = fs::OpenOptions::new().write(true).open(&path).unwrap();
            if log.set_len(2_700 << 30).is_err() {
                println!("skipped: the file system has no files of 2.7 TB");
                return;
            }
            drop(log);
            match is_without_index {
                true => fs::remove_file(dir.join("index")).unwrap(),
                false => set_art_end(&dir.join("index"), *base, 2_700 << 30),
            }
            let what = format!("{base} {is_without_index}");
            let disk: Arc<dyn Disk> = Arc::new(RealDisk);
            let told = fsck_on(disk.clone(), dir, false).unwrap();
            let is_replayed = is_without_index && base == small.bases.last().unwrap();
            assert_eq!(told.faults, u64::from(!is_replayed), "{what}: {told:?}");
            fsck_on(disk.clone(), dir, true).unwrap();
            let after = fs::metadata(&path).unwrap().len();
            assert!(after < before + 4096, "{what}: {before} to {after}");
            let again = fsck_on(disk, dir, false).unwrap();
            assert_eq!(again.faults, 0, "{what}: {again:?}");
            small.check(dir, (&[], true), &what);
        }
    }
}

/// What is filed at the position of a cancelled article that the log lost with its end is not cancelled.
#[test]
fn positions_behind_a_lost_end_are_free_of_cancels() {
    let news = News::new(&["a.b", "c"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    file(&mut spool, 1, Expires::Absent, false);
    let lost = file(&mut spool, 2, Expires::Absent, false);
    spool.cancel(lost.position, lost.id.as_bytes()).unwrap();
    spool.commit().unwrap();
    drop(spool);
    let base = bases(news.dir())[0];
    let log = fs::OpenOptions::new()
        .write(true)
        .open(art(news.dir(), base))
        .unwrap();
    log.set_len(lost.position.0 - base).unwrap();
    let report = fsck_on(Arc::new(RealDisk), news.dir(), true).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let filed = file(&mut spool, 3, Expires::Absent, false);
    spool.commit().unwrap();
    drop(spool);
    assert_eq!(filed.position, lost.position);
    let reader = Snapshot::open(news.dir()).unwrap();
    let mut buffer = Vec::new();
    assert!(
        reader
            .article(filed.id.as_bytes(), &mut buffer)
            .unwrap()
            .is_some()
    );
}

/// Expire takes the boundary of a segment from positions in its history: one that is too large moves it back, never forward.
#[test]
fn a_position_far_ahead_expires_nothing_more() {
    let small = Small::new();
    let base = small.bases[2];
    let text = String::from_utf8(small.files[&his(Path::new(""), base)].clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let arrival_of = |line: &str| {
        line.split(['\t', '~'])
            .nth(1)
            .unwrap()
            .parse::<i64>()
            .unwrap()
    };
    for place in 0..lines.len() {
        let copy = small.laid_down();
        let line = lines[place];
        let Some(start) = line.find("~-~").filter(|_| line.contains("\ta.b/")) else {
            continue;
        };
        let at = start + 3 + line[start + 3..].find('~').unwrap() + 1;
        let mut damaged: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for wrong in ["9", "999999999"] {
            damaged[place] = format!("{}{wrong}{}", &line[..at], &line[at..]);
            fs::write(his(copy.path(), base), damaged.join("\n") + "\n").unwrap();
            let of = |dir: &Path| {
                let survey = Snapshot::open(dir).unwrap().survey(base).unwrap();
                survey.boundary(arrival_of(line))
            };
            let whole = small.laid_down();
            let (right, found) = (of(whole.path()).unwrap(), of(copy.path()).unwrap());
            assert!(
                found.record <= right.record,
                "{place}: {found:?}, not {right:?}"
            );
        }
    }
}

/// Sets the end of `.art` in the marks of an index, if they are of this segment (docs/formats/index.md).
fn set_art_end(index: &Path, base: u64, end: u64) {
    let mut bytes = fs::read(index).unwrap();
    for mark in [16, 24, 32, 40] {
        let words = &mut bytes[mark * 8..mark * 8 + 64];
        if words[8..16] == base.to_ne_bytes() {
            words[16..24].copy_from_slice(&end.to_ne_bytes());
            let numbers = words[..56]
                .chunks_exact(8)
                .map(|word| word.try_into().unwrap());
            let check = numbers.fold(0, |sum, word| {
                crc32c::crc32c_append(sum, &u64::from_ne_bytes(word).to_le_bytes())
            });
            words[56..].copy_from_slice(&(u64::from(check) | 1 << 32).to_ne_bytes());
        }
    }
    fs::write(index, bytes).unwrap();
}
