//! Bad sectors under a running daemon: who asks for what lies there hears of a fault, all others are served, fsck names the article,
//! and after `--repair` it can come again.
//!
//! The news directory lies on btrfs in a file. A byte that is changed in that file makes a block whose checksum is wrong, which
//! the kernel refuses to read: EIO, and SIGBUS under a map. Needs root, loop devices and mkfs.btrfs; is skipped without them.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use program::articles::{batch, with};
use program::daemon::PATIENCE;
use program::nntp::{ALL_MAY, Client, Served, listen};
use program::{Program, Told};

/// Enough that the last lines of the history lie in another block than those of the bad articles.
const ARTICLES: usize = 100;
const BAD: usize = 17;
/// Too large to be sent from a copy.
const BAD_LARGE: usize = 30;

/// A file system in a file, mounted.
struct Mounted {
    image: PathBuf,
    at: PathBuf,
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

impl Mounted {
    /// `None`: this machine, or this user, cannot.
    fn new(program: &Program) -> Option<Mounted> {
        let (image, at) = (program.path("image"), program.path("news"));
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(256 << 20).unwrap();
        std::fs::create_dir(&at).unwrap();
        let mut make = Command::new("mkfs.btrfs");
        make.args(["-q", "-d", "single", "-m", "single"]);
        if !succeeds(make.arg(&image)) {
            eprintln!("skipped: mkfs.btrfs does not run here");
            return None;
        }
        let mounted = Mounted { image, at };
        if !mounted.mount() {
            eprintln!(
                "skipped: no file can be mounted here (that needs root, loop devices and btrfs)"
            );
            return None;
        }
        Some(mounted)
    }

    fn mount(&self) -> bool {
        let mut mount = Command::new("mount");
        succeeds(
            mount
                .args(["-t", "btrfs", "-o", "loop"])
                .args([&self.image, &self.at]),
        )
    }

    /// Other tests of this process start programs meanwhile, which have our open files until they begin.
    fn unmount(&self) -> bool {
        let began = Instant::now();
        while !succeeds(Command::new("umount").arg(&self.at)) {
            if began.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Makes the blocks unreadable in which these bytes lie; returns where.
    fn spoil(&self, wanted: &[&[u8]]) -> Vec<usize> {
        assert!(self.unmount());
        let bytes = std::fs::read(&self.image).unwrap();
        let mut places = Vec::new();
        for wanted in wanted {
            let found = memchr::memmem::find_iter(&bytes, wanted).map(|at| at + 1);
            let before = places.len();
            places.extend(found);
            assert!(places.len() > before, "{}", String::from_utf8_lossy(wanted));
        }
        assert!(self.mount());
        self.flip(&places);
        places
    }

    /// Changes these bytes, or changes them back.
    fn flip(&self, places: &[usize]) {
        assert!(self.unmount());
        let mut bytes = std::fs::read(&self.image).unwrap();
        places.iter().for_each(|at| bytes[*at] ^= 0xff);
        std::fs::write(&self.image, &bytes).unwrap();
        assert!(self.mount());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
    }
}

fn id(number: usize) -> String {
    format!("<a{number}@example.org>")
}

fn article(number: usize) -> Vec<u8> {
    let lines = if number == BAD_LARGE { 6000 } else { 2000 };
    let body: String = (0..lines)
        .map(|line| format!("line {line} of {number}.\n"))
        .collect();
    with(&id(number), "comp.test", "", body.as_bytes())
}

fn ask(client: &mut Client, number: usize) -> bool {
    let answer = client.ask(&format!("ARTICLE {}", id(number)));
    if answer.starts_with("220") {
        assert!(client.lines().len() > 2000);
        return true;
    }
    assert!(answer.starts_with("403"), "{answer}");
    false
}

fn damaged_places(program: &Program) -> u64 {
    let told = program.run(&["status", "--dir", "news", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    told["daemon"]["nntp"]["damaged"].as_u64().unwrap()
}

fn fsck(program: &Program, words: &[&str]) -> Told {
    program.run(&[&["fsck", "--dir", "news"], words].concat())
}

/// Syncs what is derived from the articles. After another mount, the next program makes the rest anew from the log, and stops where it cannot
/// be read.
fn settle(program: &Program) {
    assert_eq!(fsck(program, &["--repair"]).status, 0);
}

#[test]
fn readers_of_other_articles_do_not_notice() {
    let program = Program::new();
    let Some(disk) = Mounted::new(&program) else {
        return;
    };
    program.write("active.list", b"comp.test 0000000000 00001 y\n");
    program.init("news", "news.example.org");
    listen(&program, ALL_MAY);
    let all: Vec<_> = (1..=ARTICLES).map(article).collect();
    assert_eq!(
        program.rnews(&batch(&all)).count("accepted"),
        ARTICLES as u64
    );
    settle(&program);
    disk.spoil(&[
        format!("line 1000 of {BAD}.\r\n").as_bytes(),
        format!("line 3000 of {BAD_LARGE}.\r\n").as_bytes(),
    ]);

    let served = Served::start(&program);
    let mut clients: Vec<_> = (0..3).map(|_| served.client()).collect();
    for client in &mut clients {
        for number in 1..=ARTICLES {
            assert_eq!(
                ask(client, number),
                ![BAD, BAD_LARGE].contains(&number),
                "{number}"
            );
        }
    }
    served.daemon.until_said("the disk cannot read it");
    // However often they were asked for.
    assert_eq!(damaged_places(&program), 2);
    drop(clients);
    served.daemon.stop();

    let told = fsck(&program, &[]);
    assert_eq!(told.status, 1, "{told:?}");
    for bad in [BAD, BAD_LARGE] {
        let name = format!("{} (comp.test/{bad})", id(bad));
        assert!(
            told.out.contains(&name) && told.out.contains("cannot read"),
            "{told:?}"
        );
    }
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert!(
        told.status == 1 && told.out.contains("were rebuilt"),
        "{told:?}"
    );
    let told = fsck(&program, &["--repair"]);
    assert!(
        told.status == 1 && told.out.contains("clean now, but articles were lost"),
        "{told:?}"
    );
    program.assert_clean();

    let again = program.rnews(&batch(&all));
    assert_eq!(again.count("accepted"), 2, "{again:?}");
    let served = Served::start(&program);
    let mut client = served.client();
    for number in 1..=ARTICLES {
        assert!(ask(&mut client, number));
    }
    served.daemon.stop();
}

#[test]
fn derived_files_fail_where_they_are_bad_and_are_made_again() {
    let program = Program::new();
    let Some(disk) = Mounted::new(&program) else {
        return;
    };
    program.write("active.list", b"comp.test 0000000000 00001 y\n");
    program.init("news", "news.example.org");
    listen(&program, ALL_MAY);
    let all: Vec<_> = (1..=ARTICLES).map(article).collect();
    assert_eq!(
        program.rnews(&batch(&all)).count("accepted"),
        ARTICLES as u64
    );
    settle(&program);
    disk.spoil(&[
        // A row, and a line of history: in an article they stand otherwise.
        format!("\t{}\t", id(BAD_LARGE)).as_bytes(),
        format!("\n{}\t", id(BAD)).as_bytes(),
    ]);

    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("GROUP comp.test").starts_with("211"));
    assert!(client.ask("OVER 1-").starts_with("224"));
    let rows = client.lines();
    for row in &rows {
        assert!(row.split('\t').count() >= 8, "{row}");
    }
    assert!((1..ARTICLES).contains(&rows.len()), "{rows:?}");
    assert!(client.ask("CHECK <other@example.org>").starts_with("238"));
    for number in 1..=ARTICLES {
        let answer = client.ask(&format!("STAT {}", id(number)));
        assert!(
            answer.starts_with("223") || answer.starts_with("403"),
            "{answer}"
        );
        // Nobody is asked to send it a second time.
        let answer = client.ask(&format!("CHECK {}", id(number)));
        assert!(answer.starts_with("438"), "{answer}");
    }
    assert!(damaged_places(&program) > 0);
    served.daemon.stop();
    let told = fsck(&program, &[]);
    assert_eq!(told.status, 1, "{told:?}");
    let told = fsck(&program, &["--repair"]);
    assert_eq!(told.status, 0, "{told:?}");
    program.assert_clean();
    assert_eq!(
        program.rnews(&batch(&all)).count("duplicates"),
        ARTICLES as u64
    );
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
    assert_eq!(rows.out.lines().count(), ARTICLES);
}

/// It waits for each site that has come to it, all others are sent, and it is sent when it can be read, to the site that gets it.
#[test]
fn a_feed_keeps_what_cannot_be_read_and_a_backup_has_the_rest() {
    let program = Program::new();
    let Some(disk) = Mounted::new(&program) else {
        return;
    };
    program.write(
        "active.list",
        b"comp.test 0000000000 00001 y\nmisc.test 0000000000 00001 y\n",
    );
    program.init("news", "news.example.org");
    let sites = |name: &str, groups: &str| {
        let out = program.path(name);
        std::fs::create_dir(&out).unwrap();
        let out = out.display();
        format!(
            "\n[[site]]\nname = \"{name}\"\ngroups = \"{groups}\"\nvia = {{ directory = \"{out}\" }}\n"
        )
    };
    let settings = program.path("news/broadsheet.toml");
    let mut text = std::fs::read_to_string(&settings).unwrap();
    text += &sites("north", "comp");
    text += &sites("south", "misc");
    std::fs::write(&settings, text).unwrap();
    let sent = |name: &str| {
        let told = program.run(&["sendbatches", "--dir", "news", "--json", name]);
        let lines = told.out.lines().next_back().unwrap_or("{}");
        let line: serde_json::Value = serde_json::from_str(lines).unwrap();
        let count = |key: &str| line[key].as_u64().unwrap_or(0) as usize;
        (told.status, count("articles"), count("unreadable"))
    };
    assert_eq!(sent("north"), (0, 0, 0));
    let all: Vec<_> = (1..=ARTICLES).map(article).collect();
    assert_eq!(
        program.rnews(&batch(&all)).count("accepted"),
        ARTICLES as u64
    );
    settle(&program);
    let places = disk.spoil(&[format!("line 1000 of {BAD}.\r\n").as_bytes()]);

    assert_eq!(sent("north"), (2, ARTICLES - 1, 1));
    assert_eq!(sent("north"), (2, 0, 1));
    assert_eq!(sent("south"), (2, 0, 1));
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert!(
        told.err
            .contains("1 article waits that the disk cannot read"),
        "{told:?}"
    );

    let backup = |status| {
        let told = program.run(&["backup", "--dir", "news", "backups"]);
        assert_eq!(told.status, status, "{told:?}");
        told
    };
    let told = backup(2);
    assert!(
        told.err.contains("the disk cannot read 4096 bytes"),
        "{told:?}"
    );
    // The file did not change, and is read again.
    backup(2);
    let told = program.run(&["restore", "backups", "--dir", "restored"]);
    assert!(program.path("restored/active").exists(), "{told:?}");
    let told = program.run(&["fsck", "--dir", "restored", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(report["articles"], ARTICLES as u64 - 1, "{told:?}");
    // Its line was made from the article, too.
    assert_eq!(
        (&report["lost"], &report["history_lines"]),
        (&1.into(), &(ARTICLES as u64 - 1).into())
    );

    disk.flip(&places);
    assert_eq!(sent("north"), (0, 1, 0));
    assert_eq!(sent("north"), (0, 0, 0));
    assert_eq!(sent("south"), (0, 0, 0));
    backup(0);
}

/// A file is mapped by rnews, and its article must not be filed with zeros in it.
#[test]
fn a_batch_that_cannot_be_read_is_not_filed() {
    let program = Program::new();
    let Some(disk) = Mounted::new(&program) else {
        return;
    };
    // On the bad disk lies the batch, and the news directory elsewhere.
    let all: Vec<_> = (1..=ARTICLES).map(article).collect();
    std::fs::write(program.path("news/batch"), batch(&all)).unwrap();
    disk.spoil(&[format!("line 1000 of {BAD}.\n").as_bytes()]);
    program.write("active.list", b"comp.test 0000000000 00001 y\n");
    program.init("other", "news.example.org");
    let input = std::fs::File::open(program.path("news/batch")).unwrap();
    let mut rnews = program.command(&["rnews", "--dir", "other"]);
    let output = rnews.stdin(input).output().unwrap();
    assert!(matches!(output.status.code(), Some(1..)), "{output:?}");
    assert!(program.path("news/batch").exists());
    for number in 1..=ARTICLES {
        let told = program.run(&["article", "--dir", "other", &id(number)]);
        assert!(number != BAD || told.status != 0);
        assert!(!told.out.contains('\0'));
    }
}
