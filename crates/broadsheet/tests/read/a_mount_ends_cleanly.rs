//! A mount ends by a signal, by unmounting, and by kill -9, after which the next one takes its place; open files of articles that expire
//! can be read to their end, or give an error.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Stdio;

use program::Program;
use program::articles::{batch, many};
use program::daemon::until;
use program::mounted::{Mounted, is_mounted};
use rustix::mount::{UnmountFlags, unmount};

fn news() -> Program {
    let program = Program::with_news("a.b 0 1 y\n");
    let told = program.rnews(&batch(&many("e", 3, "a.b", 400_000)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    program
}

#[test]
fn by_a_signal() {
    let program = news();
    for signal in ["TERM", "INT", "HUP"] {
        let Some(mut mounted) = Mounted::start(&program, &[]) else {
            return;
        };
        assert_eq!(mounted.names("a/b").len(), 4);
        mounted.signal(signal);
        assert_eq!(mounted.until_ended(), 0);
        assert!(!is_mounted(&mounted.at));
        assert_eq!(mounted.names("").len(), 0);
    }
    // No file of counts stays.
    assert_eq!(program.files("news/mounts").len(), 0);
}

#[test]
fn by_a_signal_while_it_is_used() {
    let program = news();
    let Some(mut mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    let mut file = File::open(mounted.path("a/b/1")).unwrap();
    mounted.signal("TERM");
    until("it is no longer visible", || !is_mounted(&mounted.at));
    // There is time to read on.
    let mut text = Vec::new();
    file.read_to_end(&mut text).unwrap();
    assert_eq!(text.len() as u64, file.metadata().unwrap().len());
    drop(file);
    assert_eq!(mounted.until_ended(), 0);
}

#[test]
fn by_unmounting() {
    let program = news();
    let Some(mut mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    if unmount(&mounted.at, UnmountFlags::empty()).is_err() {
        eprintln!("skipped: unmounting as root");
        return;
    }
    assert_eq!(mounted.until_ended(), 0);
}

#[test]
fn a_killed_one_is_replaced() {
    let program = news();
    let Some(mut mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    let mut file = File::open(mounted.path("a/b/1")).unwrap();
    mounted.signal("KILL");
    assert_eq!(mounted.until_ended(), -1);
    assert!(is_mounted(&mounted.at));
    // Who reads gets an error, and does not wait.
    assert!(file.read_to_end(&mut Vec::new()).is_err());
    assert!(std::fs::read_dir(&mounted.at).is_err());
    let status = program.run(&["status", "--dir", "news", "--json"]);
    assert_eq!(status.summary()["mounts"].as_array().unwrap().len(), 0);

    let second = Mounted::start(&program, &[]).unwrap();
    assert!(second.said[0].contains("was killed"), "{:?}", second.said);
    assert_eq!(second.names("a/b").len(), 4);
    // The first one's end does not unmount the second.
    std::mem::forget(mounted);
    program.assert_clean();
}

#[test]
fn an_open_file_outlives_its_article() {
    let program = news();
    let Some(mounted) = Mounted::start(&program, &["--cache-seconds", "0"]) else {
        return;
    };
    let expected = mounted.read("a/b/2");
    let mut file = File::open(mounted.path("a/b/2")).unwrap();
    let mut start = vec![0; 1000];
    file.read_exact(&mut start).unwrap();
    program.write("news/explist", b"all x 1 -\n");
    let words = ["expire", "--dir", "news", "--now", "4102444800", "--force"];
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(mounted.names("a/b").len(), 0);
    assert!(File::open(mounted.path("a/b/2")).is_err());
    // As of an unlinked file: no name, and all its bytes, as long as the kernel or the mount has them.
    match file.metadata() {
        Ok(metadata) => assert_eq!(metadata.nlink(), 0),
        Err(error) => assert_eq!(error.raw_os_error(), Some(116), "{error}"),
    }
    let mut text = Vec::new();
    file.rewind().unwrap();
    match file.read_to_end(&mut text) {
        Ok(_) => assert_eq!(text, expected),
        Err(error) => assert!(matches!(error.raw_os_error(), Some(5 | 116)), "{error}"),
    }
}

#[test]
fn a_wrong_place_is_an_error() {
    let program = news();
    for (words, status) in [
        (&["mount", "--dir", "news", "nowhere"][..], 2),
        (&["mount", "--dir", "news"], 64),
        (&["mount", "--dir", "nowhere", "news"], 2),
        (
            &["mount", "--dir", "news", "--name-cache", "many", "news"],
            64,
        ),
    ] {
        let told = program.run(words);
        assert_eq!(told.status, status, "{told:?}");
        assert!(!told.err.is_empty());
    }
}

/// Each of these mounts would hide what it serves, and so wait for itself for ever.
#[test]
fn nothing_of_the_news_directory_is_hidden() {
    let program = news();
    std::fs::rename(program.path("news/segments"), program.path("disk")).unwrap();
    symlink("../disk", program.path("news/segments")).unwrap();
    std::fs::create_dir(program.path("disk/empty")).unwrap();
    symlink("news", program.path("link")).unwrap();
    for (at, what) in [
        ("news", "it is in the news directory"),
        ("link", "it is in the news directory"),
        ("news/in.coming", "it is in the news directory"),
        ("news/segments", "it is in the news directory"),
        ("disk", "it is in the news directory"),
        ("disk/empty", "it is in the news directory"),
        (".", "the mount would hide"),
        ("news/broadsheet.toml", "not a directory"),
        ("news/active", "not a directory"),
    ] {
        let mut command = program.command(&["mount", "--dir", "news", at]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        // Ended and unmounted also if the test fails.
        let mut mounted = Mounted {
            child,
            at: program.path(at).canonicalize().unwrap(),
            said: Vec::new(),
        };
        assert_eq!(mounted.until_ended(), 2, "{at}");
        let mut said = String::new();
        let mut stderr = mounted.child.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        assert!(said.contains(what), "{at}: {said}");
    }
    // A neighbour whose name begins in the same way is another directory.
    std::fs::create_dir(program.path("news.mounted")).unwrap();
    let Some(mounted) = Mounted::start_at(&program, "news.mounted", &[]) else {
        return;
    };
    assert_eq!(mounted.names("a/b").len(), 4);
}
