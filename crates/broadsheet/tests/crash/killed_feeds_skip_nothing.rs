//! rnews, sendbatches, newsrun, feed flush and expire killed at random moments and before their system calls, and these calls
//! failing: what the sender took is at every
//! receiver, filed there once; what went out twice is at most what was in flight when something was killed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, id, many};
use program::dice::Dice;
use program::faults;

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";
/// Rounds at random moments; BROADSHEET_TEST_ROUNDS tells another number.
const ROUNDS: usize = 25;
const ARTICLES: usize = 12;
/// Of 1500 bytes and a header, and of a batch of 6000 bytes: so many come into one.
const BATCH_ARTICLES: u64 = 4;
/// Of the system calls before which a program is killed, so many, evenly chosen.
const CALLS: usize = 14;
/// What happens at such a call.
const FAULTS: [&str; 3] = ["signal=SIGKILL", "error=EIO", "error=ENOSPC"];
/// What changes the disk, starts a command, or makes ready for it.
const CHANGES: &str = "openat,write,pwrite64,ftruncate,fsync,fdatasync,syncfs,?link,linkat,?rename,?renameat,?unlink,?unlinkat,?mkdir,?mkdirat,sendfile,?clone,clone3";

/// `news` feeds `west` by a directory, `south` by a command, `lists` by a file; nobody has a cursor yet.
fn sites() -> String {
    let rnews = format!(
        "{} rnews --json --dir ../south >> ../told.south",
        env!("CARGO_BIN_EXE_broadsheet")
    );
    format!(
        "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = {{ directory = \"../west/in.coming\", size = \"6 kB\", compress = \"gzip\" }}\n\
         \n[[site]]\nname = \"south\"\ngroups = \"comp\"\nvia = {{ batch = \"\"\"sh -c 'cd $DIR && {rnews}'\"\"\", size = \"6 kB\" }}\n\
         \n[[site]]\nname = \"lists\"\ngroups = \"comp\"\nvia = {{ files = \"../list\", form = \"I\" }}\n"
    )
}

/// In `room`, which is a directory of `program`.
struct Room<'p> {
    program: &'p Program,
    room: String,
}

/// Makes the news directories in `room`.
fn made(program: &Program, room: &str) {
    std::fs::create_dir(program.path(room)).unwrap();
    program.write("active.list", ACTIVE.as_bytes());
    for site in ["news", "west", "south"] {
        let dir = format!("{room}/{site}");
        program.init(&dir, site);
        let path = format!("{dir}/broadsheet.toml");
        let settings = program.read(&path);
        let small = settings.replace("commit_bytes = \"8 MiB\"", "commit_bytes = \"16 KiB\"");
        assert_ne!(settings, small);
        program.write(&path, small.as_bytes());
    }
}

impl Room<'_> {
    fn add_sites(&self) {
        let path = format!("{}/news/broadsheet.toml", self.room);
        let settings = self.program.read(&path) + &sites();
        self.program.write(&path, settings.as_bytes());
    }

    fn command(&self, words: &[&str]) -> Command {
        let room = self.program.path(&self.room);
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadsheet"));
        command
            .args(words)
            .env("DIR", room.join("news"))
            .env_remove("BROADSHEET_DIR")
            .current_dir(room)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs to its end, which must be good.
    fn run(&self, words: &[&str]) {
        let mut command = self.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let done = command.output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }

    /// Kills before a call of `words`. True: it came to its end. `trace` has the calls.
    fn strace(&self, words: &[&str], options: &[&str]) -> bool {
        let room = self.program.path(&self.room);
        let mut strace = faults::strace(&room, CHANGES, options);
        strace.env("DIR", room.join("news")).args(words);
        strace.status().unwrap().success()
    }

    /// Until nothing moves any more. What killed programs started may still be at work: everybody waits for locks.
    fn finish(&self) {
        self.run(&["sendbatches", "--dir", "news"]);
        self.run(&["feed", "flush", "--dir", "news"]);
        self.run(&["newsrun", "--dir", "west"]);
        self.run(&["rnews", "--dir", "south", "nothing"]);
    }

    fn ids(&self, site: &str) -> Vec<String> {
        let dir = format!("{}/{site}", self.room);
        let rows = self.program.run(&["overview", "--dir", &dir, "comp.test"]);
        assert_eq!(rows.status, 0, "{rows:?}");
        let mut ids: Vec<String> = rows
            .out
            .lines()
            .map(|row| row.split('\t').nth(4).unwrap().to_owned())
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The lines of the list, and how often each is there.
    fn listed(&self) -> BTreeMap<String, u64> {
        let mut listed = BTreeMap::new();
        let text = std::fs::read_to_string(self.program.path(&format!("{}/list", self.room)));
        for line in text.unwrap_or_default().lines() {
            *listed.entry(line.to_owned()).or_default() += 1;
        }
        listed
    }

    /// Every article of `news` is everywhere, filed once.
    fn assert_whole(&self, what: &str) {
        let here = self.ids("news");
        for site in ["west", "south"] {
            // A name twice would be filed twice.
            assert_same(&self.ids(site), &here, &format!("{what}: {site}"));
        }
        let listed: Vec<String> = self.listed().into_keys().collect();
        assert_same(&listed, &here, &format!("{what}: the list"));
        let distinct: BTreeSet<&String> = here.iter().collect();
        assert_eq!(distinct.len(), here.len(), "{what}");
        for site in ["news", "west", "south"] {
            let dir = format!("{}/{site}", self.room);
            let told = self.program.run(&["fsck", "--dir", &dir]);
            assert_eq!(told.status, 0, "{what}: {told:?}");
        }
    }

    fn duplicates(&self, site: &str) -> u64 {
        let log = self.program.read(&format!("{}/{site}/log", self.room));
        let lines = log.lines().filter(|line| line.ends_with(" duplicate"));
        lines.count() as u64
    }
}

fn assert_same(there: &[String], here: &[String], what: &str) {
    let missing: Vec<_> = here.iter().filter(|id| !there.contains(id)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "{what}");
    assert_eq!(there, here, "{what}");
}

/// Kills it at a moment; gives whether it was.
fn killed(room: &Room<'_>, dice: &mut Dice, usual: &mut Duration, words: &[&str]) -> bool {
    // One in three is let go on, and shows how long it takes.
    let moment = match dice.below(3) {
        0 => Duration::MAX,
        _ => Duration::from_micros(dice.below(usual.as_micros() as u64)),
    };
    let began = Instant::now();
    let mut child = room.command(words).spawn().unwrap();
    while began.elapsed() < moment && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(50));
    }
    let _ = child.kill();
    let is_killed = child.wait().unwrap().code().is_none();
    if !is_killed {
        *usual = (*usual + began.elapsed()) / 2;
    }
    is_killed
}

#[test]
fn at_random_moments() {
    let program = Program::new();
    made(&program, "room");
    let room = Room {
        program: &program,
        room: "room".to_owned(),
    };
    room.add_sites();
    program.write("room/nothing", b"");
    let mut dice = Dice::new(1992);
    let steps: [&[&str]; 5] = [
        &["rnews", "--dir", "news", "batch"],
        &["sendbatches", "--dir", "news"],
        &["newsrun", "--dir", "west"],
        &["feed", "flush", "--dir", "news"],
        &["expire", "--dir", "news", "--force"],
    ];
    let mut usual = [Duration::from_millis(20); 5];
    let mut kills = [0; 5];
    let rounds = faults::rounds(ROUNDS);
    for number in 0..rounds {
        let text = batch(&many(&format!("run{number}"), ARTICLES, "comp.test", 1500));
        program.write("room/batch", &text);
        for ((words, usual), kills) in steps.iter().zip(&mut usual).zip(&mut kills) {
            *kills += u64::from(killed(&room, &mut dice, usual, words));
        }
        if dice.below(2) == 0 {
            room.run(steps[0]);
        }
    }
    let [rnews, sendbatches, newsrun, flush, expire] = kills;
    eprintln!(
        "of {rounds} runs each, killed: rnews {rnews}, sendbatches {sendbatches}, newsrun {newsrun}, feed flush {flush}, expire {expire}"
    );
    assert!(kills.iter().sum::<u64>() > rounds as u64 / 2, "{kills:?}");
    room.finish();
    assert!(room.ids("news").len() > rounds * ARTICLES / 3);
    room.assert_whole("in the end");
    // A batch in flight went out again; and newsrun looks again at the batch it was in.
    for (site, kills) in [
        ("west", sendbatches + flush + newsrun),
        ("south", sendbatches + flush),
    ] {
        let duplicates = room.duplicates(site);
        eprintln!("{site}: {duplicates} duplicates");
        assert!(duplicates <= kills * BATCH_ARTICLES, "{site}: {duplicates}");
    }
    let again: u64 = room.listed().values().map(|times| times - 1).sum();
    eprintln!("lists: {again} lines again");
    assert!(again <= (rnews + flush) * 2 * ARTICLES as u64, "{again}");
}

/// The calls that one run of `words` makes in a copy of `from`, from its first look at the news directory on.
fn calls(program: &Program, from: &str, words: &[&str]) -> Vec<(String, usize)> {
    let room = copy(program, from, "traced");
    assert!(room.strace(words, &[]), "{words:?}");
    faults::calls(&program.path("traced"), "broadsheet.toml")
}

fn copy<'p>(program: &'p Program, from: &str, to: &str) -> Room<'p> {
    faults::copy(&program.path(from), &program.path(to));
    Room {
        program,
        room: to.to_owned(),
    }
}

/// Kills `words` before some of its calls, lets others fail; afterwards everything runs to its end, and all is there.
fn before_calls(program: &Program, from: &str, words: &[&str], in_flight: u64) {
    if !faults::can_trace() {
        return;
    }
    let calls = calls(program, from, words);
    let wanted = faults::rounds(CALLS).min(calls.len());
    let each = calls.iter().step_by(calls.len().div_ceil(wanted));
    for (number, (name, count)) in each.enumerate() {
        let fault = FAULTS[number % FAULTS.len()];
        let what = format!("{}: {fault} at {name} {count}", words[0]);
        let room = copy(program, from, "killed");
        let inject = faults::inject(name, fault, *count);
        let is_done = room.strace(words, &["-e", &inject]);
        assert!(!is_done || fault != FAULTS[0], "{what}: it was not met");
        // Whoever sent that batch sends it again.
        if words[0] == "rnews" {
            room.run(words);
        }
        room.finish();
        room.assert_whole(&what);
        for site in ["west", "south"] {
            let duplicates = room.duplicates(site);
            assert!(duplicates <= in_flight, "{what}: {site}: {duplicates}");
        }
    }
}

#[test]
fn before_calls_of_sendbatches_and_feed_flush() {
    let program = Program::new();
    made(&program, "room");
    let room = copy(&program, "room", "made");
    room.add_sites();
    program.write("made/nothing", b"");
    program.write("made/batch", &batch(&many("before", 9, "comp.test", 1500)));
    room.run(&["rnews", "--dir", "news", "batch"]);
    std::fs::remove_file(program.path("made/list")).unwrap();
    // The list begins anew, too.
    room.run(&["feed", "reset", "--dir", "news", "--to", "oldest", "lists"]);
    before_calls(
        &program,
        "made",
        &["sendbatches", "--dir", "news"],
        BATCH_ARTICLES,
    );
    before_calls(
        &program,
        "made",
        &["feed", "flush", "--dir", "news"],
        BATCH_ARTICLES,
    );
}

#[test]
fn before_calls_of_rnews_that_meets_new_sites() {
    let program = Program::new();
    made(&program, "room");
    let room = Room {
        program: &program,
        room: "room".to_owned(),
    };
    room.add_sites();
    program.write("room/nothing", b"");
    program.write("room/batch", &batch(&many("before", 9, "comp.test", 1500)));
    before_calls(&program, "room", &["rnews", "--dir", "news", "batch"], 0);
    assert!(!room.listed().contains_key(&id("before", 1)));
}
