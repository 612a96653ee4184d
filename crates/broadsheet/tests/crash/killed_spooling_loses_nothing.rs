//! newsspool and newsrun killed at random moments: each batch whose newsspool ended with 0 is filed, each article once,
//! and fsck is clean.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::{HashMap, HashSet};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, id, many};
use program::dice::Dice;

const BATCHES: usize = 150;
const ARTICLES: usize = 20;

fn start(program: &Program, words: &[&str]) -> Child {
    program
        .command(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets it run for so long at most. Did it end well?
fn ended_well(child: &mut Child, moment: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < moment && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(50));
    }
    let _ = child.kill();
    child.wait().unwrap().success()
}

#[test]
fn killed_at_random_moments() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("commit_bytes = \"8 MiB\"", "commit_bytes = \"16 KiB\"");
    assert!(settings.contains("16 KiB"));
    program.write("news/broadsheet.toml", settings.as_bytes());
    let mut dice = Dice::new(1992);
    let (mut spooling, mut filing) = (Duration::from_millis(20), Duration::from_millis(40));
    let mut acknowledged = HashSet::new();
    let (mut spools_killed, mut runs_killed) = (0, 0);
    for number in 0..BATCHES {
        let prefix = format!("run{number}");
        let text = batch(&many(&prefix, ARTICLES, "comp.test", 1500));
        program.write("batch", &text);
        // One in three is let go on, and shows how long it takes.
        let moment = |dice: &mut Dice, usual: Duration| match dice.below(3) {
            0 => Duration::MAX,
            _ => Duration::from_micros(dice.below(usual.as_micros() as u64)),
        };
        let began = Instant::now();
        let mut child = start(&program, &["newsspool", "--dir", "news", "batch"]);
        let until = moment(&mut dice, spooling);
        if ended_well(&mut child, until) {
            acknowledged.insert(prefix);
            spooling = (spooling + began.elapsed()) / 2;
        } else {
            spools_killed += 1;
        }
        if number % 3 == 2 {
            let began = Instant::now();
            let mut child = start(&program, &["newsrun", "--dir", "news"]);
            let until = moment(&mut dice, filing);
            match ended_well(&mut child, until) {
                true => filing = (filing + began.elapsed()) / 2,
                false => runs_killed += 1,
            }
        }
        if number % 50 == 49 {
            program.assert_clean();
        }
    }
    eprintln!("{spools_killed} of newsspool and {runs_killed} of newsrun were killed");
    assert!(spools_killed > BATCHES / 5 && runs_killed > BATCHES / 15);
    assert!(acknowledged.len() > BATCHES / 5);

    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(program.files("news/bad").is_empty());
    for left in program.files("news/in.coming") {
        let name = left.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("nspool."), "{name}");
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let mut times: HashMap<&str, usize> = HashMap::new();
    for row in rows.lines() {
        *times.entry(row.split('\t').nth(4).unwrap()).or_default() += 1;
    }
    assert!(times.values().all(|count| *count == 1));
    for prefix in &acknowledged {
        for number in 1..=ARTICLES {
            assert!(
                times.contains_key(id(prefix, number).as_str()),
                "{prefix} {number}"
            );
        }
    }
    // What was not acknowledged is there whole, or not at all.
    assert_eq!(times.len() % ARTICLES, 0);
    program.assert_clean();
}
