//! Batches that come into in.coming/ are filed; expire, and the batches of a site with a schedule, run at their time.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use program::Program;
use program::articles::{batch, many};
use program::daemon::{Daemon, PATIENCE, until};

fn filed(program: &Program) -> usize {
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    rows.lines().count()
}

#[test]
fn in_coming_is_drained() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.write("1.batch", &batch(&many("before", 3, "comp.test", 100)));
    std::fs::rename(
        program.path("1.batch"),
        program.path("news/in.coming/5.700000000a.t"),
    )
    .unwrap();
    let daemon = Daemon::start(&program);
    until("the batch that waited", || filed(&program) == 3);
    // A batch that is moved in, and one that is not a batch at all.
    program.write("2.batch", &batch(&many("after", 4, "comp.test", 100)));
    std::fs::rename(
        program.path("2.batch"),
        program.path("news/in.coming/5.700000001a.t"),
    )
    .unwrap();
    until("the batch that came", || filed(&program) == 7);
    until("an empty in.coming", || {
        program.files("news/in.coming").is_empty()
    });
    daemon.stop();
    program.assert_clean();
}

/// Moves a batch into in.coming/ under this name.
fn bring(program: &Program, name: &str, articles: &[Vec<u8>]) {
    program.write("a.batch", &batch(articles));
    let place = program.path(&format!("news/in.coming/{name}"));
    std::fs::rename(program.path("a.batch"), place).unwrap();
}

#[test]
fn what_waits_behind_another_newsrun_is_filed_when_that_has_ended() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    // A newsrun of another grade does as this: it has the turn, and goes away without looking at this batch.
    let turn = store::Lock::take_named(&program.path("news"), "lock.input", false).unwrap();
    let daemon = Daemon::start(&program);
    bring(&program, "5.700000000a.t", &many("a", 3, "comp.test", 100));
    let threads = format!("/proc/{}/task", daemon.pid());
    until("it waits for the other", || {
        let mut threads = std::fs::read_dir(&threads).unwrap();
        threads.any(|thread| {
            let name = std::fs::read_to_string(thread.unwrap().path().join("comm"));
            name.is_ok_and(|name| name.starts_with("another drain"))
        })
    });
    assert_eq!(filed(&program), 0);
    drop(turn);
    until("the batch", || filed(&program) == 3);
    daemon.stop();
}

#[test]
fn a_batch_that_could_not_be_read_is_tried_again() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    // A link is not followed, and stays.
    for name in ["700000000a.t", "700000001a.t"] {
        let place = program.path(&format!("news/in.coming/{name}"));
        std::os::unix::fs::symlink("/nowhere", place).unwrap();
    }
    bring(
        &program,
        "700000002a.t",
        &many("first", 1, "comp.test", 100),
    );
    daemon.until_said("700000000a.t");
    daemon.until_said("700000001a.t");
    until("the first batch", || filed(&program) == 1);
    // One that is put in the place of what could not be read.
    bring(
        &program,
        "700000000a.t",
        &many("second", 1, "comp.test", 100),
    );
    until("the second batch", || filed(&program) == 2);
    // And one that a reload brings to mind: a directory in its place is a change that is not looked for.
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    daemon.until_said("700000001a.t");
    daemon.stop();
}

#[test]
fn a_name_that_is_used_again_at_once_is_another_batch() {
    const BATCHES: usize = 200;
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    // As sendbatches does it, which takes the first name of this second that is free.
    let name = program.path("news/in.coming/10000000000.t");
    for number in 0..BATCHES {
        let partial = program.path("news/in.coming/nspool.1.0");
        let prefix = format!("again{number}");
        std::fs::write(&partial, batch(&many(&prefix, 1, "comp.test", 10))).unwrap();
        // Without a pause: the name is used again in the moment it is free.
        let began = Instant::now();
        while std::fs::hard_link(&partial, &name).is_err() {
            assert!(began.elapsed() < PATIENCE, "batch {number} stays");
        }
        std::fs::remove_file(partial).unwrap();
    }
    until("an empty in.coming", || {
        program.files("news/in.coming").is_empty()
    });
    daemon.stop();
    assert_eq!(filed(&program), BATCHES);
}

#[test]
fn expire_runs_by_itself() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("expire = \"04:30\"", "expire = \"every 6 h\"");
    assert!(settings.contains("every 6 h"));
    program.write("news/broadsheet.toml", settings.as_bytes());
    let daemon = Daemon::start(&program);
    daemon.until_said("expire started");
    let ended = daemon.until_said("expire ended");
    assert_eq!(ended, "broadsheet: expire ended");
    assert!(program.read("news/schedule").starts_with("expire "));
    daemon.stop();
    // It was not long ago: the next daemon does not start it again.
    let daemon = Daemon::start(&program);
    assert_eq!(
        program
            .rnews(&batch(&many("new", 3, "comp.test", 100)))
            .count("accepted"),
        3
    );
    daemon.signal("TERM");
    let mut told = Vec::new();
    while !told
        .last()
        .is_some_and(|line: &String| line.contains("stopped"))
    {
        told.push(daemon.until_said("broadsheet"));
    }
    assert!(!told.iter().any(|line| line.contains("expire")), "{told:?}");
}

#[test]
fn a_site_has_its_batches_by_its_own_schedule() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let site = |name: &str, schedule: &str| {
        format!(
            "\n[[site]]\nname = \"{name}\"\ngroups = \"comp\"\n\
             via = {{ directory = \"out/{name}\"{schedule} }}\n"
        )
    };
    let plain = program.read("news/broadsheet.toml");
    let settings = plain.clone()
        + &site("north", ", schedule = \"every 6 h\"")
        + &site("south", "")
        + &site("west", ", schedule = \"off\"");
    program.write("news/broadsheet.toml", settings.as_bytes());
    for name in ["north", "south", "west"] {
        std::fs::create_dir_all(program.path(&format!("news/out/{name}"))).unwrap();
    }
    let told = program.rnews(&batch(&many("first", 3, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    let batches = |name: &str| program.files(&format!("news/out/{name}")).len();
    let daemon = Daemon::start(&program);
    daemon.until_said("sendbatches north started");
    let ended = daemon.until_said("sendbatches north ended");
    assert_eq!(ended, "broadsheet: sendbatches north ended");
    assert_eq!((batches("north"), batches("south")), (1, 0));
    let started = program.read("news/schedule");
    assert!(started.contains("\nsendbatches north 1"), "{started}");
    // The schedule of all is that of those without their own.
    let all = settings.replace("sendbatches = \"off\"", "sendbatches = \"every 1 h\"");
    assert_ne!(all, settings);
    program.write("news/broadsheet.toml", all.as_bytes());
    program.rnews(&batch(&many("second", 3, "comp.test", 100)));
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    daemon.until_said("sendbatches started");
    daemon.until_said("sendbatches ended");
    assert_eq!(
        (batches("north"), batches("south"), batches("west")),
        (1, 1, 0)
    );
    // A word that is none is told with its place, and nothing changes.
    let bad = settings.replace("every 6 h", "every blue moon");
    program.write("news/broadsheet.toml", bad.as_bytes());
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
    let line = 1 + plain.lines().count() + 4;
    let place = format!("broadsheet.toml:{line}:45: schedule is a time of the day");
    assert!(told.err.contains(&place), "{place}: {told:?}");
    daemon.stop();
    let told = program.run(&["rnews", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
}

#[test]
fn a_daily_task_runs_on_its_first_day() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let seconds = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap().as_secs()
    };
    // The next full minute that is not too close.
    let due = (seconds() + 15) / 60 * 60 + 60;
    let time = format!("expire = \"{:02}:{:02}\"", due / 3_600 % 24, due / 60 % 60);
    program.set("expire = \"04:30\"", &time);
    let daemon = Daemon::start(&program);
    let told = || {
        let text = program.read("news/schedule");
        let last = text.lines().find_map(|line| line.strip_prefix("expire "));
        last.unwrap().parse::<u64>().unwrap()
    };
    until("the file of the schedule", || {
        program.path("news/schedule").exists()
    });
    assert!(told() < due);
    let patience = Instant::now() + PATIENCE + Duration::from_secs(75);
    while told() < due {
        assert!(Instant::now() < patience, "expire was not started");
        std::thread::sleep(Duration::from_millis(500));
    }
    daemon.stop();
    program.assert_clean();
}

/// A task that fails every night is seen by who does not read the journal.
#[test]
fn a_failed_task_shows_until_it_runs_well() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.rnews(&batch(&many("a", 20, "comp.test", 100)));
    // Everything would go, which expire refuses.
    let refused = "/expired/ x 14 -\n/bounds/ x 0-1-90 -\nall x 0.00001 -\n";
    program.write("news/explist", refused.as_bytes());
    program.set("expire = \"04:30\"", "expire = \"every 6 h\"");
    std::thread::sleep(Duration::from_secs(3));
    let status = || {
        program
            .run(&["status", "--dir", "news", "--json"])
            .summary()
    };
    let daemon = Daemon::start(&program);
    until("the failed expire", || {
        status()["failed_tasks"][0]["task"] == "expire"
    });
    assert_eq!(status()["failed_tasks"][0]["how"], "exit status: 2");
    let told = program.run(&["status", "--dir", "news"]);
    assert!(told.out.contains("failed task      expire, "), "{told:?}");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(
        told.out
            .contains("warning: the scheduled run of expire failed"),
        "{told:?}"
    );
    let told = program.run(&["report", "--dir", "news", "--day", "today"]);
    assert!(
        told.out.contains("The last scheduled run of expire failed"),
        "{told:?}"
    );
    daemon.stop();
    // The file stays while no daemon runs; a good run ends it.
    assert_eq!(status()["failed_tasks"][0]["task"], "expire");
    program.write(
        "news/explist",
        refused.replace("0.00001", "never").as_bytes(),
    );
    std::fs::remove_file(program.path("news/schedule")).unwrap();
    let daemon = Daemon::start(&program);
    until("the good expire", || {
        status()["failed_tasks"].as_array().unwrap().is_empty()
    });
    daemon.stop();
}

/// Nothing needs cron: backup and fsck run by themselves, and the report has their results.
#[test]
fn backups_and_checks_run_by_themselves() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.rnews(&batch(&many("a", 20, "comp.test", 100)));
    let copies = program.path("copies");
    program.set("to = \"\"", &format!("to = \"{}\"", copies.display()));
    program.set("backup = \"05:30\"", "backup = \"every 6 h\"");
    program.set("fsck = \"off\"", "fsck = \"every 30 d\"");
    program.set("keep = 7", "keep = 2");
    let daemon = Daemon::start(&program);
    let started = || program.read("news/schedule");
    until("both have been started", || {
        program.path("news/schedule").exists()
            && ["fsck ", "backup "]
                .iter()
                .all(|task| started().contains(task))
    });
    let report = |flags: &[&str]| {
        let words = ["report", "--dir", "news", "--day", "today"];
        program.run(&[&words[..], flags].concat()).out
    };
    let json = || -> serde_json::Value { serde_json::from_str(&report(&["--json"])).unwrap() };
    until("their results", || {
        json()["tasks"].as_array().unwrap().len() == 2
    });
    let tasks = json()["tasks"].clone();
    let result = |name: &str| {
        let mut tasks = tasks.as_array().unwrap().iter();
        let task = tasks.find(|task| task["name"] == name);
        task.unwrap()["result"].as_str().unwrap().to_owned()
    };
    assert_eq!(result("fsck"), "clean: 1 segment, 20 articles");
    assert!(result("backup").contains(" of them new"), "{tasks}");
    let text = report(&[]);
    assert!(text.contains("\nBackup and fsck\n---"), "{text}");
    assert!(
        text.contains("  fsck: clean: 1 segment, 20 articles, in "),
        "{text}"
    );
    // By hand it needs no operand; of three, two are kept.
    for _ in 0..2 {
        let told = program.run(&["backup", "--dir", "news"]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let lists = || {
        let files = program.files("copies");
        let is_list =
            |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "list");
        files.iter().filter(is_list).count()
    };
    assert_eq!(lists(), 2, "{:?}", program.files("copies"));
    daemon.stop();
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert_eq!(told.out, "", "{told:?}");
    // Its disk is not mounted.
    let to = format!("to = \"{}\"", copies.display());
    program.set(&to, "to = \"/nowhere/copies\"");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    let warning = "[backup]: warning: /nowhere/copies: /nowhere does not exist: mount the disk";
    assert!(told.out.contains(warning), "{told:?}");
    std::fs::remove_file(program.path("news/schedule")).unwrap();
    let daemon = Daemon::start(&program);
    let status = || {
        program
            .run(&["status", "--dir", "news", "--json"])
            .summary()
    };
    until("the failed backup", || {
        status()["failed_tasks"][0]["task"] == "backup"
    });
    daemon.stop();
}
