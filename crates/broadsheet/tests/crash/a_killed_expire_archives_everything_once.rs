//! expire killed at random moments while it archives: every article is in the spool or in the archive, whole, at any time;
//! and in the end in the archive, once.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::program;

use std::process::Stdio;
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, id, many};
use program::dice::Dice;

const ROUNDS: usize = 5;
const ARTICLES: usize = 150;
const BODY_BYTES: usize = 10_000;

fn news(archive: &str) -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("segment_bytes = \"256 MiB\"", "segment_bytes = \"1 MiB\"")
        .replace(
            "article_bytes_max = \"8 MiB\"",
            "article_bytes_max = \"256 KiB\"",
        );
    assert!(settings.contains("segment_bytes = \"1 MiB\"") && settings.contains("256 KiB"));
    let tables = format!(
        "[expiry]\narchive_directory = \"old\"\nexpired_days = 99\n\
         [[expire]]\npatterns = \"all\"\nkeep_days = 10\narchive = \"{archive}\"\n"
    );
    program.write("news/broadsheet.toml", (settings + &tables).as_bytes());
    program
}

/// Runs expire and kills it after `moment`. Returns how long it ran if it ended by itself.
fn expire(program: &Program, moment: Duration) -> Option<Duration> {
    let later = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 11 * 86_400;
    let began = Instant::now();
    let mut child = program
        .command(&[
            "expire",
            "--dir",
            "news",
            "--force",
            "--now",
            &later.to_string(),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while began.elapsed() < moment && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(50));
    }
    let _ = child.kill();
    let is_done = child.wait().unwrap().success();
    is_done.then(|| began.elapsed())
}

/// Files, expires under kills, and calls `lost` after each kill with how many articles there are: it tells how many of
/// them are neither here nor there.
fn story(
    archive: &str,
    lost: impl Fn(&Program, &[(String, Vec<u8>)]) -> usize,
) -> (Program, usize) {
    let program = news(archive);
    if archive == "@" {
        std::fs::create_dir(program.path("news/old")).unwrap();
    }
    let mut dice = Dice::new(1987);
    let (mut killed, mut whole) = (0, Duration::MAX);
    let mut filed: Vec<(String, Vec<u8>)> = Vec::new();
    for round in 0..ROUNDS {
        let prefix = format!("round{round}");
        let told = program.rnews(&batch(&many(&prefix, ARTICLES, "comp.test", BODY_BYTES)));
        assert_eq!(told.status, 0, "{told:?}");
        for number in 1..=ARTICLES {
            let id = id(&prefix, number);
            let bytes = program.run_bytes(&["article", "--dir", "news", &id]);
            filed.push((id, bytes));
        }
        for attempt in 0..20 {
            let moment = match round {
                0 => Duration::MAX,
                // Later each time, so that some are early enough and one is late enough on any machine.
                _ => {
                    whole * attempt / 8
                        + Duration::from_micros(dice.below(whole.as_micros() as u64 / 8))
                }
            };
            let done = expire(&program, moment);
            assert_eq!(lost(&program, &filed), 0, "round {round}");
            if let Some(took) = done {
                // The shortest run so far: the first may have been slow, and moments behind the end kill nothing.
                whole = whole.min(took);
                break;
            }
            killed += 1;
        }
    }
    assert!(expire(&program, Duration::MAX).is_some());
    assert_eq!(lost(&program, &filed), 0);
    program.assert_clean();
    let left = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(left, "");
    eprintln!("{killed} runs were killed");
    assert!(killed > 0, "every run was done before its moment");
    (program, filed.len())
}

/// How many articles cannot be read in the news directory, nor by `archived` elsewhere.
fn lost_of(
    program: &Program,
    filed: &[(String, Vec<u8>)],
    archived: impl Fn(&str, usize) -> Option<Vec<u8>>,
) -> usize {
    let snapshot = store::Snapshot::open(&program.path("news")).unwrap();
    let is_lost = |(place, (id, bytes)): &(usize, &(String, Vec<u8>))| {
        if let Some(copy) = archived(id, place + 1) {
            return copy != *bytes;
        }
        let mut buffer = Vec::new();
        let found = snapshot.article(id.as_bytes(), &mut buffer).unwrap();
        found.is_none_or(|stored| {
            let mut native = Vec::new();
            stored.push_native(&mut native);
            native != *bytes
        })
    };
    filed.iter().enumerate().filter(is_lost).count()
}

#[test]
fn in_a_tree() {
    let (program, count) = story("@", |program, filed| {
        lost_of(program, filed, |_, number| {
            std::fs::read(program.path(&format!("news/old/comp/test/{number}"))).ok()
        })
    });
    assert_eq!(program.files("news/old/comp/test").len(), count);
}

#[test]
fn in_a_second_news_directory() {
    let read = |program: &Program, filed: &[(String, Vec<u8>)]| {
        let archive = store::Snapshot::open(&program.path("news/old")).ok();
        lost_of(program, filed, |id, _| {
            let mut buffer = Vec::new();
            let archive = archive.as_ref()?;
            let stored = archive.article(id.as_bytes(), &mut buffer).unwrap()?;
            let mut native = Vec::new();
            stored.push_native(&mut native);
            Some(native)
        })
    };
    let (program, count) = story("segments", read);
    let rows = program
        .run(&["overview", "--dir", "news/old", "comp.test"])
        .out;
    assert_eq!(rows.lines().count(), count);
    let told = program.run(&["fsck", "--dir", "news/old"]);
    assert_eq!(told.status, 0, "{told:?}");
    let ids: std::collections::HashSet<_> =
        rows.lines().map(|row| row.split('\t').nth(4)).collect();
    assert_eq!(ids.len(), count);
}
