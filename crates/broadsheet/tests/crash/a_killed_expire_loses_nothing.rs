//! `expire` killed with -9, at random moments and before each of its system calls: fsck is clean, nothing that stays is
//! lost, and in the end all is as if nobody had killed it.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant, UNIX_EPOCH};

use program::Program;
use program::articles::{batch, date, id, with};
use program::dice::Dice;
use program::faults;

const DAY: u64 = 86_400;
const GROUPS: [&str; 5] = ["go.run", "go.some", "mid.one", "mid.two", "stay.here"];
const POLICY: &str = "/expired/ x 0.5 -\n/bounds/ x 0-9-12 -\ngo.run x 1 -\ngo.some x 2 -\nmid.one x 4 -\nmid.two x 7 -\nstay.here x never -\nall x 9 -\n";
/// Moments at which expire is told that it is, half days after filing.
const MOMENTS: u64 = 20;
/// Kills at random before each moment.
const KILLS: u64 = 3;
/// Of the system calls before which it is killed, so many, evenly chosen; BROADSHEET_TEST_ROUNDS tells another number.
const CALLS: usize = 36;
/// What changes the disk, or makes ready for it.
const CHANGES: &str =
    "openat,write,pwrite64,ftruncate,fallocate,fsync,fdatasync,?rename,?renameat,?unlink,?unlinkat";

/// A news directory of small segments, and when it was filed.
struct Story {
    program: Program,
    filed: u64,
    ids: Vec<String>,
}

impl Story {
    fn new() -> Story {
        let active: String = GROUPS
            .iter()
            .map(|group| format!("{group} 0 1 y\n"))
            .collect();
        let program =
            Program::with_small_segments(&format!("control 0 1 n\njunk 0 1 n\n{active}"), 1);
        program.write("news/explist", POLICY.as_bytes());
        let filed = UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut ids = Vec::new();
        for part in 0..6 {
            let articles = articles(part, filed, &mut ids);
            let told = program.rnews(&batch(&articles));
            assert_eq!(
                (told.status, told.count("accepted")),
                (0, articles.len() as u64),
                "{told:?}"
            );
        }
        assert!(segments(&program, "news").len() > 4);
        Story {
            program,
            filed,
            ids,
        }
    }

    fn moment(&self, half_days: u64) -> String {
        // Seconds passed while filing.
        (self.filed + half_days * DAY / 2 + 600).to_string()
    }

    fn copy(&self, from: &str, to: &str) {
        faults::copy(&self.program.path(from), &self.program.path(to));
    }

    /// One run that nobody kills.
    fn expire(&self, dir: &str, half_days: u64) {
        let now = self.moment(half_days);
        let told = self
            .program
            .run(&["expire", "--dir", dir, "--force", "--now", &now]);
        assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    }

    fn assert_clean(&self, dir: &str, what: &str) {
        let told = self.program.run(&["fsck", "--dir", dir]);
        assert_eq!(told.status, 0, "{what}: {told:?}");
    }

    /// All that one can see.
    fn seen(&self, dir: &str) -> Seen {
        let mut seen = Seen {
            active: self.program.read(&format!("{dir}/active")),
            ..Seen::default()
        };
        let mut living = Vec::new();
        for group in GROUPS {
            let rows = self.program.run(&["overview", "--dir", dir, group]);
            assert_eq!((rows.status, rows.err.as_str()), (0, ""), "{rows:?}");
            for row in rows.out.lines() {
                let fields: Vec<&str> = row.split('\t').collect();
                living.push(format!("{group}/{}", fields[0]));
                living.push(fields[4].to_owned());
            }
            seen.rows.insert(group, rows.out);
        }
        let mut words = vec!["article", "--dir", dir];
        words.extend(living.iter().map(String::as_str));
        if !living.is_empty() {
            seen.articles = self.program.run_bytes(&words);
        }
        let history = self.program.run(&["history", "dump", "--dir", dir]);
        assert_eq!(
            (history.status, history.err.as_str()),
            (0, ""),
            "{history:?}"
        );
        seen.history = history.out;
        seen
    }

    /// After whatever happened one run finishes; then all is as it is without a kill.
    fn finish(&self, dir: &str, half_days: u64, uncut: &Seen, what: &str) {
        self.expire(dir, half_days);
        assert_same(&self.seen(dir), uncut, what);
        self.assert_clean(dir, what);
        assert_swept(&self.program, dir, what);
    }
}

#[derive(Default)]
struct Seen {
    active: String,
    rows: BTreeMap<&'static str, String>,
    /// Every living article, by number and by id, byte for byte.
    articles: Vec<u8>,
    history: String,
}

fn assert_same(seen: &Seen, uncut: &Seen, what: &str) {
    assert_eq!(seen.active, uncut.active, "{what}");
    for group in GROUPS {
        assert!(
            seen.rows[group] == uncut.rows[group],
            "{what}: rows of {group}: {}\nuncut: {}",
            seen.rows[group],
            uncut.rows[group]
        );
    }
    assert!(seen.articles == uncut.articles, "{what}: articles differ");
    assert_eq!(seen.history, uncut.history, "{what}");
}

/// Runs of one group, then all groups mixed, posted across, some with an Expires.
fn articles(part: usize, filed: u64, ids: &mut Vec<String>) -> Vec<Vec<u8>> {
    let mut made = Vec::new();
    for number in 0..60 {
        let turn = part * 60 + number;
        let groups = match number {
            0..30 => "go.run".to_owned(),
            _ if turn.is_multiple_of(7) => format!("go.some,{}", GROUPS[2 + turn % 3]),
            _ => GROUPS[1 + turn % 4].to_owned(),
        };
        let header = match turn % 11 {
            0 => format!("Expires: {}\n", date(filed + turn as u64 % 13 * DAY)),
            _ => String::new(),
        };
        let id = id(&format!("part{part}"), number);
        let body = format!("{turn} lies here\n.\n").repeat(400 + turn * 37 % 900);
        made.push(with(&id, &groups, &header, body.as_bytes()));
        ids.push(id);
    }
    made
}

fn segments(program: &Program, dir: &str) -> Vec<String> {
    let names = program.files(&format!("{dir}/segments"));
    let name = |path: std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let names = names.into_iter().map(name);
    names.filter(|name| name.ends_with(".art")).collect()
}

/// Nothing half-written lies about.
fn assert_swept(program: &Program, dir: &str, what: &str) {
    for folder in [dir.to_owned(), format!("{dir}/segments")] {
        for path in program.files(&folder) {
            let is_left = path.extension().is_some_and(|end| end == "new")
                && !path.ends_with(store::REPACK_RESERVE);
            assert!(!is_left, "{what}: {} was left", path.display());
        }
    }
}

#[test]
fn killed_at_random_moments() {
    let story = Story::new();
    story.copy("news", "uncut");
    story.copy("news", "killed");
    let mut dice = Dice::new(1987);
    // The longest time before a kill. It follows the machine: after a run that ends by itself it shrinks, after a killed run it grows.
    let mut longest = Duration::from_millis(20);
    let (mut killed, mut runs) = (0, 0);
    for moment in 1..=MOMENTS {
        story.expire("uncut", moment);
        let now = story.moment(moment);
        for _ in 0..KILLS {
            let after = Duration::from_micros(dice.below(longest.as_micros() as u64));
            let began = Instant::now();
            let mut child = story
                .program
                .command(&["expire", "--dir", "killed", "--force", "--now", &now])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            while began.elapsed() < after && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_micros(50));
            }
            let _ = child.kill();
            let is_killed = !child.wait().unwrap().success();
            longest = match is_killed {
                true => longest * 9 / 8,
                false => longest * 7 / 8,
            };
            longest = longest.max(Duration::from_millis(1));
            killed += u64::from(is_killed);
            runs += 1;
        }
        story.assert_clean("killed", &format!("half day {moment}"));
    }
    eprintln!("{killed} of {runs} runs were killed");
    assert!(killed > runs / 4, "the moments were too late");
    let uncut = story.seen("uncut");
    assert!(
        (1..20).contains(&uncut.rows["go.run"].lines().count()),
        "some go, some stay"
    );
    assert!(
        uncut.history.lines().count() < story.ids.len(),
        "some are forgotten"
    );
    story.finish("killed", MOMENTS, &uncut, "in the end");
    let told = story
        .program
        .run(&["history", "rebuild", "--dir", "killed"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_same(&story.seen("killed"), &uncut, "rebuilt");
}

#[test]
fn killed_before_each_of_its_calls() {
    if !faults::can_trace() {
        return;
    }
    let story = Story::new();
    // Each of them has all there is: runs that are punched, segments that are written anew, removed, forgotten.
    for (before, moment) in [(0, 5), (5, 16)] {
        if before > 0 {
            story.expire("news", before);
        }
        story.copy("news", "uncut");
        assert!(strace(&story, "uncut", moment, &["-f"]));
        let calls = faults::calls(&story.program.path(""), "uncut");
        let uncut = story.seen("uncut");
        story.assert_clean("uncut", "uncut");
        let wanted = faults::rounds(CALLS / 2).min(calls.len());
        let mut met = 0;
        for (name, count) in calls.iter().step_by(calls.len().div_ceil(wanted)) {
            let what = format!("half day {moment}, before {name} {count}");
            story.copy("news", "killed");
            let inject = faults::inject(name, "signal=SIGKILL", *count);
            let status = strace(&story, "killed", moment, &["-f", "-e", &inject]);
            if status {
                continue;
            }
            met += 1;
            story.assert_clean("killed", &what);
            story.finish("killed", moment, &uncut, &what);
        }
        eprintln!("killed before {met} of {} calls", calls.len());
        assert!(met > wanted / 3, "killed {met} times only");
    }
}

/// True when it came to its end.
fn strace(story: &Story, dir: &str, half_days: u64, options: &[&str]) -> bool {
    let now = story.moment(half_days);
    let mut strace = faults::strace(&story.program.path(""), CHANGES, options);
    strace.args(["expire", "--dir", dir, "--force", "--now", &now]);
    strace.status().unwrap().success()
}
