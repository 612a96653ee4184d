//! The disk gets back what expire takes away, counted in its blocks; what stays is byte for byte what it was, and all that is
//! derived can be made again from segments that have been punched or written anew.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};

use program::articles::{batch, filed, id, many, with};
use program::{Program, Told};
use store::disk::{Disk, Open, RealDisk};

const DAY: u64 = 86_400;
const ACTIVE: &str = "control 0 1 n\njunk 0 1 n\none.a 0 1 y\none.b 0 1 y\none.c 0 1 y\none.d 0 1 y\none.short 0 1 y\n";
const GROUPS: [&str; 5] = ["one.a", "one.b", "one.c", "one.d", "one.short"];
/// Blocks that a file may take up beyond its bytes, and records beyond their articles, for each segment.
const SLACK_BYTES: u64 = 64 << 10;

fn news(policy: &str) -> Program {
    let program = Program::with_small_segments(ACTIVE, 1);
    program.write("news/explist", policy.as_bytes());
    program
}

fn clock() -> u64 {
    UNIX_EPOCH.elapsed().unwrap().as_secs()
}

fn file_all(program: &Program, articles: &[Vec<u8>]) {
    let told = program.rnews(&batch(articles));
    assert_eq!(
        (told.status, told.count("accepted")),
        (0, articles.len() as u64),
        "{told:?}"
    );
}

fn expire(program: &Program, now: u64) -> Told {
    let now = now.to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--now", &now, "--force", "--json",
    ]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    told
}

/// Bytes of the disk that the segments take up, without the reserve for repacking.
fn disk_bytes(program: &Program) -> u64 {
    let mut files = program.files("news/segments");
    files.retain(|path| !path.ends_with(store::REPACK_RESERVE));
    let blocks = files
        .iter()
        .map(|path| std::fs::metadata(path).unwrap().blocks());
    // stat(2) counts in units of 512 bytes.
    blocks.sum::<u64>() * 512
}

fn segments(program: &Program) -> usize {
    let files = program.files("news/segments");
    let is_art = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "art");
    files.iter().filter(is_art).count()
}

fn can_punch(program: &Program) -> bool {
    let path = program.path("probe");
    let file = RealDisk.open(&path, Open::Create).unwrap();
    file.write_at(&[1; 8192], 0).unwrap();
    let can = file.punch(0, 4096).unwrap();
    if !can {
        eprintln!("skipped: this file system makes no holes");
    }
    can
}

/// About so many bytes: what each article takes up beyond its text is little.
fn assert_about(fell: u64, went: u64) {
    assert!(
        fell * 10 > went * 8 && fell < went * 12 / 10 + SLACK_BYTES,
        "{went} bytes of articles went, {fell} of the disk came back"
    );
}

/// The log of the current segment has grown a little meanwhile.
fn assert_tells(told: &Told, fell: u64) {
    let freed = told.count("bytes_freed");
    assert!(
        freed.abs_diff(fell) <= SLACK_BYTES,
        "{freed} told, {fell} came back"
    );
}

/// What readers see.
#[derive(PartialEq)]
struct Seen {
    rows: BTreeMap<&'static str, String>,
    by_number: Vec<u8>,
    by_id: Vec<u8>,
}

fn seen(program: &Program) -> Seen {
    let mut rows = BTreeMap::new();
    let (mut numbers, mut ids) = (Vec::new(), Vec::new());
    for group in GROUPS {
        let told = program.run(&["overview", "--dir", "news", group]);
        assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
        for row in told.out.lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            numbers.push(format!("{group}/{}", fields[0]));
            ids.push(fields[4].to_owned());
        }
        rows.insert(group, told.out);
    }
    let read = |names: &[String]| {
        let mut text = Vec::new();
        for some in names.chunks(1000) {
            let mut words = vec!["article", "--dir", "news"];
            words.extend(some.iter().map(String::as_str));
            text.extend(program.run_bytes(&words));
        }
        text
    };
    Seen {
        rows,
        by_number: read(&numbers),
        by_id: read(&ids),
    }
}

/// Everything derived is made again, all at once and by and by, and readers see the same.
fn assert_mends(program: &Program, gone: &[u8]) {
    let before = seen(program);
    let check = |what: &str| {
        assert!(seen(program) == before, "{what}: readers see otherwise");
        program.assert_clean();
    };
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    check("rebuilt");
    let again = program.rnews(gone);
    assert!(
        again.count("articles") > 0 && again.count("duplicates") == again.count("articles"),
        "ids of the dead are kept: {again:?}"
    );
    for view in ["ovr", "exp", "index", "his", "expired"] {
        let mut lost = program.files("news/segments");
        lost.retain(|path| path.extension().is_some_and(|end| end == view));
        lost.extend(
            [program.path(&format!("news/{view}"))]
                .into_iter()
                .filter(|path| path.exists()),
        );
        assert!(!lost.is_empty(), "{view}");
        for path in lost {
            std::fs::remove_file(path).unwrap();
        }
        let told = program.run(&["fsck", "--dir", "news", "--repair"]);
        assert_eq!(told.status, 0, "{view}: {told:?}");
        check(view);
    }
}

#[test]
fn a_dead_prefix_is_punched_out() {
    let program = news("/expired/ x 30 -\nall x 1 -\n");
    if !can_punch(&program) {
        return;
    }
    let old = many("old", 150, "one.a", 4000);
    file_all(&program, &old);
    std::thread::sleep(Duration::from_millis(2100));
    let middle = clock();
    let new = many("new", 300, "one.a", 4000);
    file_all(&program, &new);
    assert!(segments(&program) > 1);
    let before = disk_bytes(&program);
    let told = expire(&program, middle + DAY);
    let fell = before - disk_bytes(&program);
    assert_eq!(told.count("articles"), 150);
    assert_eq!(
        (
            told.count("holes"),
            told.count("segments_repacked"),
            told.count("segments_removed")
        ),
        (1, 0, 0),
        "{told:?}"
    );
    assert_tells(&told, fell);
    assert_about(fell, 150 * 4000);
    let fsck = program.run(&["fsck", "--dir", "news", "--json"]);
    assert_eq!((fsck.status, fsck.count("holes")), (0, 1), "{fsck:?}");
    let mut words = vec!["article".to_owned(), "--dir".into(), "news".into()];
    words.extend((1..=300).map(|number| id("new", number)));
    words.extend((1..=300).map(|number| format!("one.a/{}", 150 + number)));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let once: Vec<u8> = (1..)
        .zip(&new)
        .flat_map(|(number, article)| filed(article, &format!("one.a:{}", 150 + number)))
        .collect();
    assert!(program.run_bytes(&words) == [&once[..], &once[..]].concat());
    for number in [1, 75, 150] {
        let told = program.run(&["article", "--dir", "news", &id("old", number)]);
        assert_eq!(told.status, 1, "{told:?}");
    }
    assert_mends(&program, &batch(&old));
}

#[test]
fn a_scattered_fifth_is_left_out() {
    let program = news("/expired/ x 30 -\none.short x 1 -\none.b x 7 -\nall x 9 -\n");
    let began = clock();
    let mut articles = Vec::new();
    for number in 0..1000 {
        // The groups in turn, and now and then two at once; of these none goes yet.
        let group = GROUPS[number % 5];
        let groups = match number % 50 {
            14 => format!("{group},one.c"),
            _ => group.to_owned(),
        };
        let body = format!("{number} of many\n..\n").repeat(240);
        articles.push(with(&id("all", number), &groups, "", body.as_bytes()));
    }
    file_all(&program, &articles);
    let full = segments(&program);
    assert!(full > 3, "{full}");
    let (earlier, before) = (seen(&program), disk_bytes(&program));
    let told = expire(&program, began + 2 * DAY);
    let fell = before - disk_bytes(&program);
    assert_eq!((told.count("articles"), told.count("links")), (180, 200));
    assert_eq!(told.count("segments_removed"), 0);
    // All but the current one, when that is small.
    assert!(
        told.count("segments_repacked") as usize >= full - 1,
        "{told:?}"
    );
    // A new segment may have been begun, the dead of the current one may lie there still.
    let went: usize = (0..1000)
        .filter(|number| number % 5 == 4 && number % 50 != 14)
        .map(|number| articles[number].len())
        .sum();
    let whole = went * (full - 1) / full;
    assert!(
        fell as usize * 10 > whole * 8 && fell as usize <= went * 12 / 10,
        "{went} bytes went, {fell} came back"
    );
    let later = seen(&program);
    assert_eq!(later.rows["one.short"], "");
    for group in ["one.a", "one.b", "one.c", "one.d"] {
        assert!(
            later.rows[group] == earlier.rows[group],
            "the rows of {group} are those there were"
        );
    }
    // By number and by id in the same order, each as it was filed.
    assert!(later.by_number == later.by_id);
    assert!(
        earlier.by_number.starts_with(&later.by_number),
        "one.short came last"
    );
    let text = String::from_utf8_lossy(&later.by_number);
    assert_eq!(
        text.matches("\nMessage-ID: ").count(),
        800 + 20,
        "those across come in both groups"
    );
    let gone: Vec<Vec<u8>> = (0..1000)
        .filter(|number| number % 5 == 4 && number % 50 != 14)
        .map(|number| articles[number].clone())
        .collect();
    assert_eq!(gone.len(), 180);
    assert_mends(&program, &batch(&gone));
    // What was written anew may be written anew again, and go.
    let before = disk_bytes(&program);
    let told = expire(&program, began + 8 * DAY);
    assert_eq!(told.count("links"), 200);
    assert!(told.count("segments_repacked") as usize >= full - 1);
    assert!(before > disk_bytes(&program));
    program.assert_clean();
    expire(&program, began + 10 * DAY);
    assert!(segments(&program) <= 2);
    assert!(seen(&program).by_id.is_empty());
    program.assert_clean();
}

#[test]
fn dead_segments_go_and_their_ids_after_them() {
    let program = news("/expired/ x 5 -\nall x 1 -\n");
    let began = clock();
    let articles = many("all", 700, "one.a", 5000);
    file_all(&program, &articles);
    let (full, before) = (segments(&program), disk_bytes(&program));
    assert!(full > 2);
    let told = expire(&program, began + 2 * DAY);
    assert_eq!(told.count("articles"), 700);
    assert!(
        told.count("segments_removed") as usize >= full - 1,
        "{told:?}"
    );
    let left = disk_bytes(&program);
    assert_tells(&told, before - left);
    assert!(
        left < (1 << 20) + SLACK_BYTES,
        "{before} before, {left} now"
    );
    program.assert_clean();
    for days in [2, 4] {
        expire(&program, began + days * DAY);
        let told = program.rnews(&batch(&articles));
        assert_eq!(told.count("duplicates"), 700, "after {days} days: {told:?}");
    }
    // The life and `/expired/`.
    expire(&program, began + 7 * DAY);
    program.assert_clean();
    // Of their segments nothing at all is left.
    assert!(
        program.files("news/segments").len() <= 2 * 4,
        "{:?}",
        program.files("news/segments")
    );
    file_all(&program, &articles);
    program.assert_clean();
}
