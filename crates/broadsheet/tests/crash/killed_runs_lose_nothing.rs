//! rnews killed at random moments: what the log tells of is there, byte for byte; no number is given
//! twice, no id accepted twice, and fsck is clean.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::HashSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, filed, id, many};
use program::dice::Dice;

const KILLS: usize = 60;
const ARTICLES: usize = 400;

#[test]
fn killed_sixty_times() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("commit_bytes = \"8 MiB\"", "commit_bytes = \"16 KiB\"")
        .replace(
            "checkpoint_bytes = \"64 MiB\"",
            "checkpoint_bytes = \"1 MiB\"",
        );
    assert!(settings.contains("16 KiB") && settings.contains("\"1 MiB\""));
    program.write("news/broadsheet.toml", settings.as_bytes());

    let mut dice = Dice::new(1987);
    let mut killed = 0;
    // How long a whole run takes here, which the first one shows; moments are chosen within it.
    let mut whole = Duration::ZERO;
    let mut batches = Vec::new();
    for run in 0..KILLS {
        let prefix = format!("run{run}");
        let text = batch(&many(&prefix, ARTICLES, "comp.test", 400));
        program.write("batch", &text);
        let began = Instant::now();
        let mut child = program
            .command(&["rnews", "--dir", "news", "batch"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moment = match run {
            0 => Duration::MAX,
            _ => Duration::from_micros(dice.below(whole.as_micros() as u64)),
        };
        while began.elapsed() < moment && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(50));
        }
        let _ = child.kill();
        let status = child.wait().unwrap();
        if status.success() {
            whole = if run == 0 {
                began.elapsed()
            } else {
                (whole + began.elapsed()) / 2
            };
        } else {
            killed += 1;
        }
        batches.push((prefix, text, status.success()));
        if run % 10 == 9 {
            program.assert_clean();
        }
    }
    eprintln!("{killed} of {KILLS} runs were killed");
    assert!(killed > KILLS / 4, "the moments were too late");

    acknowledged_is_there(&program, &batches);
    // The same batches once more: what was filed is a duplicate, and the rest comes in.
    let mut accepted = 0;
    for (prefix, text, _) in &batches {
        let told = program.rnews(text);
        assert_eq!(told.status, 0, "{prefix}: {told:?}");
        assert_eq!(told.count("refused"), 0);
        accepted += told.count("accepted");
    }
    assert!(
        accepted > 0,
        "nothing was lost in mid-run, so nothing was tested"
    );
    whole_and_once(&program, &batches);
    program.assert_clean();
}

/// Every id of a `+` line of the log, and every id of a run that ended well, has its article.
fn acknowledged_is_there(program: &Program, batches: &[(String, Vec<u8>, bool)]) {
    let mut acknowledged: HashSet<String> = program
        .read("news/log")
        .lines()
        .filter_map(|line| line.split(" + ").nth(1))
        .filter(|id| id.ends_with('>'))
        .map(str::to_owned)
        .collect();
    for (prefix, ..) in batches.iter().filter(|(_, _, done)| *done) {
        acknowledged.extend((1..=ARTICLES).map(|number| id(prefix, number)));
    }
    assert!(acknowledged.len() > ARTICLES);
    let ids: Vec<&str> = acknowledged.iter().map(String::as_str).collect();
    for some in ids.chunks(1000) {
        let mut words = vec!["history", "find", "--dir", "news"];
        words.extend(some);
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{}", told.err);
    }
}

/// Every article is there once, under a number of its own, with its bytes.
fn whole_and_once(program: &Program, batches: &[(String, Vec<u8>, bool)]) {
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let fields = |row: &str, at: usize| row.split('\t').nth(at).unwrap().to_owned();
    let ids: Vec<String> = rows.lines().map(|row| fields(row, 4)).collect();
    let numbers: HashSet<String> = rows.lines().map(|row| fields(row, 0)).collect();
    assert_eq!(ids.len(), KILLS * ARTICLES);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), KILLS * ARTICLES);
    assert_eq!(numbers.len(), KILLS * ARTICLES);
    let number_of: std::collections::HashMap<String, String> = rows
        .lines()
        .map(|row| (fields(row, 4), fields(row, 0)))
        .collect();
    for (prefix, ..) in batches {
        let articles = many(prefix, ARTICLES, "comp.test", 400);
        let ids: Vec<String> = (1..=ARTICLES).map(|number| id(prefix, number)).collect();
        let mut words = vec!["article", "--dir", "news"];
        words.extend(ids.iter().map(String::as_str));
        let expected: Vec<u8> = articles
            .iter()
            .zip(&ids)
            .flat_map(|(article, id)| filed(article, &format!("comp.test:{}", number_of[id])))
            .collect();
        assert!(program.run_bytes(&words) == expected, "{prefix}");
    }
}
