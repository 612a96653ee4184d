//! Every file damaged in every way: told by name, mended where `.art` allows, and never anything else lost.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;
use crate::news;
use crate::story;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use double::Double;
use double::dice::{Dice, first_seed, rounds};
use news::News;
use store::disk::{Disk, RealDisk};
use store::fsck::fsck_on;
use store::{ExpiryDecision, Position, ReclaimPolicy, Snapshot, Spool, reclaim_on};
use story::{Deed, Filed, GROUPS, Story, native, small};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    /// Bits flip at some places.
    Flip,
    /// A block of the disk comes back as zeros.
    Zeros,
    /// The tail is gone.
    Cut,
    /// Nothing is left but the name.
    Empty,
    /// The name is gone too.
    Remove,
}

const ALL: [Damage; 5] = [
    Damage::Flip,
    Damage::Zeros,
    Damage::Cut,
    Damage::Empty,
    Damage::Remove,
];

/// A news directory of several segments, and what is in it.
struct Sound {
    news: News,
    story: Story,
    /// Articles that are gone by expire, or cancelled before it: only their ids are there.
    dead: HashSet<Position>,
    extents: Vec<Extent>,
    files: Vec<PathBuf>,
}

/// Where the record of an article lies.
struct Extent {
    position: Position,
    base: u64,
    /// In the file of its segment.
    at: u64,
    length: u64,
}

impl Sound {
    fn new() -> Sound {
        let news = News::new(&GROUPS);
        let mut story = Story::default();
        let mut dice = Dice::new(5);
        let mut spool = Spool::open(news.dir(), small()).unwrap();
        while segments(news.dir()).len() < 3 || story.deeds.len() % 50 != 49 {
            story.step(&mut spool, &mut dice).unwrap();
        }
        story.commit(&mut spool).unwrap();
        drop(spool);
        Sound::look(news, story, HashSet::new())
    }

    /// After expire: of the first segment a long run is punched out, the second is written anew.
    fn spent() -> Sound {
        let Sound { news, story, .. } = Sound::new();
        let bases = segments(news.dir());
        let mut dead = HashSet::new();
        let mut gone = Vec::new();
        for (place, filed) in story.articles().enumerate() {
            let offset = filed.position.0 - segment_of(&bases, filed.position.0);
            let goes = match bases.partition_point(|&base| base <= filed.position.0) {
                1 => (100_000..700_000).contains(&offset),
                2 => place % 2 == 0,
                _ => false,
            };
            if goes {
                dead.insert(filed.position);
                let links = filed.links.iter();
                gone.extend(links.map(|(name, number)| (name.clone().into_bytes(), *number)));
            }
        }
        gone.sort();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let expiry = ExpiryDecision {
            gone,
            touched: bases.clone(),
            ..ExpiryDecision::default()
        };
        Spool::open(news.dir(), small())
            .unwrap()
            .expire(&expiry)
            .unwrap();
        let told = reclaim_on(disk, news.dir(), small(), ReclaimPolicy::usual(0.3)).unwrap();
        assert!(told.holes > 0 && told.repacked > 0, "{told:?}");
        assert_eq!(segments(news.dir()), bases);
        for deed in &story.deeds {
            if let Deed::Cancel(position, _) = deed {
                dead.insert(*position);
            }
        }
        Sound::look(news, story, dead)
    }

    fn look(news: News, story: Story, dead: HashSet<Position>) -> Sound {
        let bases = segments(news.dir());
        let arts: Vec<Vec<u8>> = bases
            .iter()
            .map(|&base| fs::read(art(news.dir(), base)).unwrap())
            .collect();
        let reader = Snapshot::open(news.dir()).unwrap();
        let extents = story
            .articles()
            .filter_map(|filed| {
                let mut buffer = Vec::new();
                let stored = reader.record(filed.position, &mut buffer).ok()??;
                let bytes = stored.bytes().to_vec();
                let place = bases.partition_point(|&base| base <= filed.position.0) - 1;
                let at = arts[place]
                    .windows(bytes.len())
                    .position(|window| window == bytes);
                Some(Extent {
                    position: filed.position,
                    base: bases[place],
                    at: at.unwrap() as u64,
                    length: bytes.len() as u64,
                })
            })
            .collect();
        let mut files: Vec<PathBuf> = fs::read_dir(news.dir().join("segments"))
            .unwrap()
            .map(|entry| Path::new("segments").join(entry.unwrap().file_name()))
            .collect();
        // Nobody reads what the reserve holds.
        files.retain(|path| !path.ends_with(store::REPACK_RESERVE));
        files.sort();
        files.extend(["index", "index.key", "active", "cancels", "expired"].map(PathBuf::from));
        Sound {
            news,
            story,
            dead,
            extents,
            files,
        }
    }

    fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join("segments")).unwrap();
        fs::create_dir(copy.path().join("bad")).unwrap();
        for file in &self.files {
            fs::copy(self.news.dir().join(file), copy.path().join(file)).unwrap();
        }
        copy
    }

    /// The articles that lie in `from..to` of a segment.
    fn hit(&self, file: &Path, places: &[(u64, u64)]) -> HashSet<Position> {
        let Some(base) = base_of(file) else {
            return HashSet::new();
        };
        let is_hit = |extent: &&Extent| {
            extent.base == base
                && places
                    .iter()
                    .any(|&(from, to)| extent.at < to && extent.at + extent.length > from)
        };
        self.extents
            .iter()
            .filter(is_hit)
            .map(|extent| extent.position)
            .collect()
    }

    /// The articles that are there still.
    fn kept(&self) -> impl Iterator<Item = &Filed> {
        let is_kept = |filed: &&Filed| !self.dead.contains(&filed.position);
        self.story.articles().filter(is_kept)
    }
}

fn art(dir: &Path, base: u64) -> PathBuf {
    dir.join(format!("segments/{base:020}.art"))
}

fn segments(dir: &Path) -> Vec<u64> {
    let mut bases: Vec<u64> = fs::read_dir(dir.join("segments"))
        .unwrap()
        .filter_map(|entry| base_of(Path::new(&entry.unwrap().file_name())))
        .collect();
    bases.sort_unstable();
    bases
}

fn segment_of(bases: &[u64], position: u64) -> u64 {
    bases[bases.partition_point(|&base| base <= position) - 1]
}

fn base_of(file: &Path) -> Option<u64> {
    (file.extension()? == "art").then(|| file.file_stem()?.to_str()?.parse().ok())?
}

/// Damages a file; returns the places that changed.
fn damage(path: &Path, how: Damage, dice: &mut Dice) -> Vec<(u64, u64)> {
    let mut bytes = fs::read(path).unwrap();
    let length = bytes.len() as u64;
    match how {
        Damage::Flip => {
            let mut places = Vec::new();
            for _ in 0..=dice.below(3) {
                // Often near the start, where headers are.
                let end = if dice.chance(40) { 200 } else { length };
                let at = dice.below(end.min(length));
                bytes[at as usize] ^= 1 << dice.below(8);
                places.push((at, at + 1));
            }
            fs::write(path, bytes).unwrap();
            places
        }
        Damage::Zeros => {
            let at = dice.below(length) / 512 * 512;
            let end = (at + 512).min(length);
            bytes[at as usize..end as usize].fill(0);
            fs::write(path, bytes).unwrap();
            vec![(at, end)]
        }
        Damage::Cut => {
            let at = dice.below(length);
            bytes.truncate(at as usize);
            fs::write(path, bytes).unwrap();
            vec![(at, u64::MAX)]
        }
        Damage::Empty => {
            fs::write(path, b"").unwrap();
            vec![(0, u64::MAX)]
        }
        Damage::Remove => {
            fs::remove_file(path).unwrap();
            vec![(0, u64::MAX)]
        }
    }
}

#[test]
fn any_damage_is_told_and_mended() {
    damage_everywhere(&Sound::new());
}

#[test]
fn any_damage_after_expire_is_told_and_mended() {
    damage_everywhere(&Sound::spent());
}

/// What expire left behind says where others lie: without it nothing may be lost either.
#[test]
fn damage_to_holes_and_tables_loses_nothing() {
    let sound = Sound::spent();
    let mut met = HashSet::new();
    for &base in &segments(sound.news.dir()) {
        let bytes = fs::read(art(sound.news.dir(), base)).unwrap();
        let mut marks = vec![(0, 64)];
        for (kind, at, length) in left_by_expire(&bytes) {
            let counts = if kind == HOLE { 48 } else { length };
            marks.push((at, at + counts));
        }
        for &(from, to) in &marks {
            met.insert(bytes[from + 12]);
            for seed in first_seed()..first_seed() + rounds(6) {
                let mut dice = Dice::new(seed * 1000 + from as u64);
                one_mark(&sound, base, &[(from, to)], &mut dice, seed);
            }
        }
        // All of them at once.
        for seed in first_seed()..first_seed() + rounds(3) {
            one_mark(&sound, base, &marks, &mut Dice::new(seed), seed);
        }
    }
    assert!(met.contains(&TABLE) && met.contains(&HOLE));
}

/// Kinds of records, as docs/formats/segment.md has them.
const TABLE: u8 = 8;
const HOLE: u8 = 9;

/// Kind, place and length of the records in a segment's file that only expire writes.
fn left_by_expire(bytes: &[u8]) -> Vec<(u8, usize, usize)> {
    let places = (64..bytes.len().saturating_sub(48)).step_by(8);
    places
        .filter(|&at| bytes[at..].starts_with(b"BSr1"))
        .filter(|&at| bytes[at + 12] == TABLE || bytes[at + 12] == HOLE)
        .map(|at| {
            let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
            (bytes[at + 12], at, length as usize)
        })
        .collect()
}

/// Flips a bit of each of these marks of a segment.
fn one_mark(sound: &Sound, base: u64, marks: &[(usize, usize)], dice: &mut Dice, seed: u64) {
    let copy = sound.copy();
    let path = art(copy.path(), base);
    let mut bytes = fs::read(&path).unwrap();
    let mut what = format!("seed {seed} {}:", path.display());
    for &(from, to) in marks {
        let at = from + dice.below((to - from) as u64) as usize;
        bytes[at] ^= 1 << dice.below(8);
        what += &format!(" {at} of {from}..{to}");
    }
    fs::write(&path, bytes).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let told = match fsck_on(disk.clone(), copy.path(), false) {
        Ok(report) => format!("{report:?}"),
        Err(error) => error.to_string(),
    };
    assert!(
        told.contains(path.to_str().unwrap()),
        "{what}: not told: {told}"
    );
    let repaired = fsck_on(disk.clone(), copy.path(), true)
        .unwrap_or_else(|error| panic!("{what}: repair: {error}"));
    assert!(
        repaired.is_clean() && repaired.lost == 0,
        "{what}: {repaired:?}"
    );
    let clean = fsck_on(disk.clone(), copy.path(), false).unwrap();
    assert!(clean.faults == 0, "{what}: {clean:?}\nafter {repaired:?}");
    check(sound, &disk, copy.path(), &HashSet::new(), &what);
}

fn damage_everywhere(sound: &Sound) {
    assert!(sound.files.len() >= 12, "{:?}", sound.files);
    let first = first_seed();
    for seed in first..first + rounds(2) {
        for (place, file) in sound.files.iter().enumerate() {
            for how in ALL {
                if fs::metadata(sound.news.dir().join(file)).unwrap().len() > 0 {
                    let mut dice = Dice::new(seed * 1000 + place as u64 * 10 + how as u64);
                    one_damage(sound, file, how, &mut dice, seed);
                }
            }
        }
    }
}

fn one_damage(sound: &Sound, file: &Path, how: Damage, dice: &mut Dice, seed: u64) {
    let copy = sound.copy();
    let dir = copy.path();
    let before = fs::read(dir.join(file)).unwrap();
    let places = damage(&dir.join(file), how, dice);
    let what = format!("seed {seed} {} {how:?} {places:?}", file.display());
    let hit = sound.hit(file, &places);
    // In this run of the machine, or after it was started again.
    let disk: Arc<dyn Disk> = if dice.chance(50) {
        Arc::new(RealDisk)
    } else {
        Double::new(dir).disk()
    };
    let changed = fs::read(dir.join(file)).map_or(true, |after| after != before);
    let is_read_first = dice.chance(30);
    if is_read_first {
        read_what_there_is(sound, &disk, dir, &what);
    }
    let told = fsck_on(disk.clone(), dir, false);
    // Bits of the index that say nothing, and numbers in active that could have been meant so, cannot be told.
    let can_be_told = how != Damage::Flip && how != Damage::Zeros
        || !matches!(file.to_str(), Some("index" | "active"));
    // Nothing else tells of the line of an article whose record is gone.
    let can_be_told =
        can_be_told && !(how == Damage::Flip && what.contains(".his") && !sound.dead.is_empty());
    // What lies in a hole is nothing.
    let holes = match base_of(file) {
        Some(_) => left_by_expire(&before),
        None => Vec::new(),
    };
    let is_in_hole = |&(from, to): &(u64, u64)| {
        holes.iter().any(|&(kind, at, length)| {
            let (start, end) = (at as u64 + 48, (at + length) as u64);
            kind == HOLE && start <= from && to <= end
        })
    };
    let can_be_told = can_be_told && !places.iter().all(is_in_hole);
    // Readers may have started a recovery, which mends and tells as well.
    if changed && can_be_told && !is_read_first {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = match &told {
            Ok(report) => format!("{report:?}"),
            Err(error) => error.to_string(),
        };
        // What lay behind the last checkpoint is simply read again after a power cut.
        let is_told = text.contains(name) || text.contains("were taken up again");
        assert!(is_told, "{what}: not told: {text}");
    }
    let repaired =
        fsck_on(disk.clone(), dir, true).unwrap_or_else(|error| panic!("{what}: repair: {error}"));
    let clean =
        fsck_on(disk.clone(), dir, false).unwrap_or_else(|error| panic!("{what}: again: {error}"));
    assert!(
        clean.is_clean() && clean.faults == 0,
        "{what}: {clean:?}\nafter {repaired:?}"
    );
    check(sound, &disk, dir, &hit, &what);
    let clean = fsck_on(disk, dir, false).unwrap();
    assert!(clean.faults == 0, "{what}: {clean:?}");
}

/// Readers get what is sound, or an error.
fn read_what_there_is(sound: &Sound, disk: &Arc<dyn Disk>, dir: &Path, what: &str) {
    let Ok(reader) = Snapshot::open_on(disk.clone(), dir) else {
        return;
    };
    for filed in sound.story.articles() {
        if let Ok(Some(stored)) = reader.record(filed.position, &mut Vec::new()) {
            assert!(native(&stored) == filed.text, "{what}: {}", filed.id);
        }
        if let Ok(Some(stored)) = reader.article(filed.id.as_bytes(), &mut Vec::new()) {
            assert!(native(&stored) == filed.text, "{what}: {}", filed.id);
        }
        for (name, number) in &filed.links {
            let _ = reader.article_by_number(name.as_bytes(), *number, &mut Vec::new());
        }
    }
    for group in GROUPS {
        let _ = reader.overview(group.as_bytes(), (0, u64::MAX), |_| Ok(()));
    }
}

fn check(sound: &Sound, disk: &Arc<dyn Disk>, dir: &Path, hit: &HashSet<Position>, what: &str) {
    let mut spool = Spool::open_on(disk.clone(), dir, small()).unwrap();
    for deed in &sound.story.deeds {
        match deed {
            Deed::Article(filed) => {
                let found = spool.find(filed.id.as_bytes()).unwrap();
                // The ids of the dead are in .his alone, which goes to bad/ with the rest when .art is gone.
                let in_his_only = sound.dead.contains(&filed.position)
                    && (what.contains(".his") || what.contains(".art Remove"));
                if in_his_only {
                    continue;
                }
                let is_hit = hit.contains(&filed.position);
                assert!(found.is_some() || is_hit, "{what}: {} is lost", filed.id);
                assert!(
                    found.is_none_or(|line| line.position == Some(filed.position)),
                    "{what}: {}",
                    filed.id
                );
            }
            Deed::Seen(id) if !what.contains(".art") => {
                assert!(spool.has(id.as_bytes()).unwrap(), "{what}: {id}");
            }
            Deed::Cancel(position, id) if !what.contains(".art") => {
                assert!(spool.cancelled().contains(*position), "{what}: {id}");
            }
            _ => {}
        }
    }
    // A number is never given again.
    for group in GROUPS {
        let Some(found) = spool.active().find(group.as_bytes()) else {
            assert!(what.contains("active"), "{what}: {group} is gone");
            continue;
        };
        let given = numbers(sound.story.articles(), group);
        let number = spool.active_mut().take_number(found).unwrap();
        assert!(number > given, "{what}: {group}/{number} again");
        let id = format!("<new.{group}@example.org>");
        let links = [(group.to_owned(), number)];
        story::append(&mut spool, &id, &news::article(&id), (&links, false)).unwrap();
    }
    spool.commit().unwrap();
    drop(spool);
    let reader = Snapshot::open_on(disk.clone(), dir).unwrap();
    for filed in sound.kept().filter(|filed| !hit.contains(&filed.position)) {
        story::check_article(&reader, filed, what);
    }
    for filed in sound.story.articles() {
        if sound.dead.contains(&filed.position) {
            let mut buffer = Vec::new();
            let found = reader.article(filed.id.as_bytes(), &mut buffer).unwrap();
            // The cancel may have been hit.
            let is_again = found.is_some() && !what.contains(".art");
            assert!(!is_again, "{what}: {} is there again", filed.id);
        }
    }
}

fn numbers<'a>(articles: impl Iterator<Item = &'a Filed>, group: &str) -> u64 {
    articles
        .flat_map(|filed| &filed.links)
        .filter(|(name, _)| name == group)
        .map(|(_, number)| *number)
        .max()
        .unwrap_or(0)
}
