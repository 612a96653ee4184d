//! Articles that expire while they wait for a site are skipped, and counted where their records still lie in the log; the others arrive, whatever expire did to the segments under the
//! cursor: punched, written anew, removed; and whoever of the two is killed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant, UNIX_EPOCH};

use program::Program;
use program::articles::{batch, id, with};
use program::dice::Dice;

const ACTIVE: &str = "go.run 0 1 y\ngo.some 0 1 y\nmid.one 0 1 y\nstay.here 0 1 y\n";
const POLICY: &str = "/expired/ x 30 -\n/bounds/ x 0-9-12 -\ngo.run x 1 -\ngo.some x 2 -\nmid.one x 4 -\nstay.here x never -\nall x 9 -\n";
const DAY: u64 = 86_400;
const PARTS: usize = 6;
const ARTICLES: usize = 60;
/// Articles of a batch, at most: 60 kB of them, and each has at least 6 kB.
const BATCH_ARTICLES: u64 = 12;

/// What goes lies in runs, and scattered among what stays.
fn articles(part: usize) -> Vec<Vec<u8>> {
    let article = |number: usize| {
        let group = match number {
            0..25 => "go.run",
            _ => ["go.some", "stay.here", "mid.one"][number % 3],
        };
        let line = format!("{part} {number} lies here\n");
        let body = line.repeat(400 + number * 37 % 400);
        with(&id(&format!("p{part}"), number), group, "", body.as_bytes())
    };
    (0..ARTICLES).map(article).collect()
}

struct Story {
    program: Program,
    filed: u64,
}

impl Story {
    fn new() -> Story {
        let program = Program::with_small_segments(ACTIVE, 1);
        program.write("news/explist", POLICY.as_bytes());
        let settings = program.read("news/broadsheet.toml")
            + "\n[[site]]\nname = \"west\"\ngroups = \"all\"\nvia = { directory = \"../west/in.coming\", size = \"60 kB\" }\n";
        program.write("news/broadsheet.toml", settings.as_bytes());
        program.init("west", "west");
        let filed = UNIX_EPOCH.elapsed().unwrap().as_secs();
        for part in 0..PARTS {
            let told = program.rnews(&batch(&articles(part)));
            assert_eq!(told.count("accepted"), ARTICLES as u64, "{told:?}");
        }
        Story { program, filed }
    }

    fn run(&self, words: &[&str]) {
        let told = self.program.run(words);
        assert_eq!(
            (told.status, told.err.as_str()),
            (0, ""),
            "{words:?} {told:?}"
        );
    }

    fn days(&self, days: u64) -> String {
        (self.filed + days * DAY + 600).to_string()
    }

    fn ids(&self, dir: &str) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for group in ["go.run", "go.some", "mid.one", "stay.here"] {
            let rows = self.program.run(&["overview", "--dir", dir, group]);
            assert_eq!((rows.status, rows.err.as_str()), (0, ""), "{rows:?}");
            let id = |row: &str| row.split('\t').nth(4).unwrap().to_owned();
            ids.extend(rows.out.lines().map(id));
        }
        ids
    }

    /// Articles sent, skipped, and still waiting.
    fn counts(&self) -> (u64, u64, u64) {
        let told = self
            .program
            .run(&["feed", "list", "--dir", "news", "--json"]);
        (
            told.count("sent"),
            told.count("skipped"),
            told.count("articles"),
        )
    }

    fn segments(&self) -> Vec<(String, u64)> {
        let paths = self.program.files("news/segments").into_iter();
        let art = paths.filter(|path| path.extension().is_some_and(|end| end == "art"));
        art.map(|path| {
            let blocks = std::os::unix::fs::MetadataExt::blocks(&path.metadata().unwrap());
            (path.to_string_lossy().into_owned(), blocks)
        })
        .collect()
    }
}

#[test]
fn under_a_waiting_cursor() {
    let story = Story::new();
    let program = &story.program;
    let all = story.ids("news");
    assert_eq!(all.len(), PARTS * ARTICLES);
    // The cursor stands in the first segment; then its end goes, and more, then whole segments.
    story.run(&["sendbatches", "--dir", "news", "--batches", "1"]);
    story.run(&["newsrun", "--dir", "west"]);
    let mut arrived = story.ids("west");
    assert!(!arrived.is_empty());
    for days in [1, 2, 4] {
        let before = story.segments();
        story.run(&[
            "expire",
            "--dir",
            "news",
            "--force",
            "--now",
            &story.days(days),
        ]);
        assert_ne!(
            story.segments(),
            before,
            "expire gave nothing back on day {days}"
        );
        let living = story.ids("news");
        let (sent, _, waiting) = story.counts();
        let unsent = living.difference(&arrived).count();
        assert_eq!(waiting, unsent as u64, "day {days}");
        assert_eq!(sent, arrived.len() as u64, "day {days}");
        story.run(&["sendbatches", "--dir", "news", "--batches", "2"]);
        story.run(&["newsrun", "--dir", "west"]);
        let now = story.ids("west");
        let fresh: BTreeSet<String> = now.difference(&arrived).cloned().collect();
        assert!(!fresh.is_empty() && fresh.is_subset(&living), "day {days}");
        arrived = now;
    }
    let living = story.ids("news");
    story.run(&["sendbatches", "--dir", "news"]);
    story.run(&["newsrun", "--dir", "west"]);
    let arrived = story.ids("west");
    assert!(living.is_subset(&arrived));
    let (sent, skipped, waiting) = story.counts();
    assert_eq!(waiting, 0);
    assert_eq!(sent, arrived.len() as u64);
    // Those whose record had been given back nobody can count.
    assert!(
        skipped > 0 && sent + skipped <= all.len() as u64,
        "{skipped}"
    );
    let log = program.read("west/log");
    assert!(!log.contains(" duplicate"), "{log}");
    program.assert_clean();
}

#[test]
fn whoever_is_killed() {
    let story = Story::new();
    let program = &story.program;
    let mut dice = Dice::new(1993);
    let mut usual = [Duration::from_millis(30); 2];
    let (mut killed, mut sending_killed) = (0, 0);
    for round in 0..16 {
        let now = story.days(round / 3);
        let steps: [&[&str]; 2] = [
            &["expire", "--dir", "news", "--force", "--now", &now],
            &["sendbatches", "--dir", "news", "--batches", "3"],
        ];
        // Both at once, as cron has it.
        let began = Instant::now();
        let mut children = steps.map(|words| {
            let mut command = program.command(words);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(Stdio::null()).spawn().unwrap()
        });
        for (which, child) in children.iter_mut().enumerate() {
            let after = match dice.below(3) {
                0 => Duration::MAX,
                _ => Duration::from_micros(dice.below(usual[which].as_micros() as u64)),
            };
            while began.elapsed() < after && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_micros(50));
            }
            let _ = child.kill();
            let is_killed = child.wait().unwrap().code().is_none();
            killed += u64::from(is_killed);
            sending_killed += u64::from(is_killed && which == 1);
            if !is_killed {
                usual[which] = (usual[which] + began.elapsed()) / 2;
            }
        }
        if round % 5 == 4 {
            program.assert_clean();
        }
    }
    eprintln!("{killed} of 32 were killed");
    assert!(killed > 6);
    let last = story.days(5);
    story.run(&["expire", "--dir", "news", "--force", "--now", &last]);
    story.run(&["sendbatches", "--dir", "news"]);
    story.run(&["newsrun", "--dir", "west"]);
    let (living, arrived) = (story.ids("news"), story.ids("west"));
    assert!(living.is_subset(&arrived));
    let (sent, skipped, waiting) = story.counts();
    assert_eq!(waiting, 0);
    assert!(sent + skipped <= (PARTS * ARTICLES) as u64);
    let log = program.read("west/log");
    let duplicates = log.lines().filter(|line| line.ends_with(" duplicate"));
    assert!(duplicates.count() as u64 <= sending_killed * BATCH_ARTICLES);
    program.assert_clean();
}
