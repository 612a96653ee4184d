//! A program that files is killed at any moment, hundreds of times on the same directory.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use double::dice::{Dice, first_seed, rounds};
use news::News;
use store::disk::RealDisk;
use store::{Snapshot, Spool};
use story::{GROUPS, native, small};

/// Tells the child where to file; without it the child's test does nothing.
const DIRECTORY: &str = "BROADSHEET_TEST_KILL_DIR";
/// The number of the first article to file.
const FIRST: &str = "BROADSHEET_TEST_KILL_FIRST";
/// A round is over when this many articles were filed without a kill.
const ARTICLES_MAX: u64 = 400;

fn id(number: u64) -> String {
    format!("<{number}.kill@example.org>")
}

fn text(number: u64) -> String {
    let filler = format!("line of {number}\n").repeat((number % 97 * number % 61) as usize);
    news::article(&id(number)) + &filler
}

/// Not a test of its own: what the other test kills.
#[test]
fn child_files() {
    let Ok(dir) = std::env::var(DIRECTORY) else {
        return;
    };
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let mut spool = Spool::open(Path::new(&dir), small()).unwrap();
    let mut dice = Dice::new(first);
    let mut out = std::io::stdout();
    writeln!(out, "\nopen").unwrap();
    for number in first..first + ARTICLES_MAX {
        // Filed before the last kill, but not reported.
        if !spool.has(id(number).as_bytes()).unwrap() {
            let group = *dice.pick(&GROUPS).unwrap();
            let (link, is_late) = story::take_number(&mut spool, group).unwrap();
            let links = [(group.to_owned(), link)];
            let links = (&links[..], is_late);
            story::append(&mut spool, &id(number), &text(number), links).unwrap();
        }
        if dice.chance(15) {
            spool.commit().unwrap();
            writeln!(out, "committed {number}").unwrap();
        }
    }
}

/// Starts the child, kills it after a while; returns the last article it reported.
fn kill_once(dir: &Path, first: u64, dice: &mut Dice) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_files", "--nocapture", "--quiet"])
        .env(DIRECTORY, dir)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (opened, is_open) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut last = None;
        for line in lines.map_while(Result::ok) {
            if line == "open" {
                let _ = opened.send(());
            } else if let Some(number) = line.strip_prefix("committed ") {
                last = number.parse().ok().or(last);
            }
        }
        last
    });
    // Most while they file, some while they start and recover.
    if dice.chance(80) {
        let _ = is_open.recv_timeout(Duration::from_secs(20));
        std::thread::sleep(Duration::from_micros(dice.below(12_000)));
    } else {
        std::thread::sleep(Duration::from_micros(dice.below(8_000)));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap()
}

#[test]
fn what_was_reported_survives_kills() {
    let news = News::new(&GROUPS);
    let mut dice = Dice::new(first_seed());
    let mut reported = 0;
    let kills = rounds(220);
    for kill in 1..=kills {
        if let Some(last) = kill_once(news.dir(), reported + 1, &mut dice) {
            assert!(last > reported);
            reported = last;
        }
        if kill % 40 == 0 || kill == kills {
            check(news.dir(), reported);
        }
    }
    assert!(reported > kills, "{reported}");
}

fn check(dir: &Path, reported: u64) {
    let mut spool = Spool::open(dir, small()).unwrap();
    for number in 1..=reported + 500 {
        let found = spool.has(id(number).as_bytes()).unwrap();
        assert!(found || number > reported, "article {number} is lost");
    }
    spool.commit().unwrap();
    drop(spool);
    let report = store::fsck(dir, false).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let reader = Snapshot::open_on(Arc::new(RealDisk), dir).unwrap();
    let mut seen = std::collections::HashSet::new();
    reader
        .each_history_line(|line| {
            let line = store::HistoryLine::parse(line).unwrap();
            assert!(seen.insert(line.id.to_vec()), "{line:?} is there twice");
            for (group, number) in line.links() {
                let key = [group, b"/", number.to_string().as_bytes()].concat();
                assert!(seen.insert(key), "{line:?} has a number given before");
            }
            Ok(())
        })
        .unwrap();
    for number in 1..=reported {
        let mut buffer = Vec::new();
        let stored = reader.article(id(number).as_bytes(), &mut buffer).unwrap();
        assert_eq!(native(&stored.unwrap()), text(number));
    }
}
