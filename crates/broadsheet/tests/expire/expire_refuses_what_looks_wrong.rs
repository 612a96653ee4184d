//! What looks wrong stops expire before it starts: a damaged policy, a clock set back, too much at once, another run.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::symlink;
use std::time::UNIX_EPOCH;

use program::articles::{batch, id, many, with};
use program::{Program, Told};

const ACTIVE: &str = "control 0 1 n\njunk 0 1 n\ntest.a 0 1 y\ntest.b 0 1 y\n";
const DAY: u64 = 86_400;
const LATER: u64 = 1000 * DAY;

/// Six articles in test.a, four in test.b.
fn news() -> Program {
    let program = Program::with_news(ACTIVE);
    let mut articles = many("a", 6, "test.a", 50);
    articles.extend(many("b", 4, "test.b", 50));
    assert_eq!(program.rnews(&batch(&articles)).count("accepted"), 10);
    program
}

fn expire(program: &Program, now: u64, flags: &[&str]) -> Told {
    let now = now.to_string();
    program.run(&[&["expire", "--dir", "news", "--now", &now], flags].concat())
}

fn now() -> u64 {
    UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// Everything that tells what is there.
fn state(program: &Program) -> String {
    let shown = |words: &[&str]| {
        let told = program.run(words);
        assert_eq!(told.status, 0, "{told:?}");
        told.out
    };
    [
        shown(&["overview", "--dir", "news", "test.a"]),
        shown(&["overview", "--dir", "news", "test.b"]),
        shown(&["history", "dump", "--dir", "news"]),
        shown(&["article", "--dir", "news", &id("a", 1), &id("b", 4)]),
        program.read("news/active"),
    ]
    .concat()
}

/// Policies that are damaged or say nothing, and a word of what is told.
const DAMAGED: &[(&[u8], &str)] = &[
    (b"", "contains no rule"),
    (b"\n \t\r\n\n", "contains no rule"),
    (
        b"# all x 0 -\n  # nothing but comments\n",
        "contains no rule",
    ),
    (b"/expired/ x 0 -\n/bounds/ x 0-0-0 -\n", "contains no rule"),
    (&[0; 4096], "has 1 fields"),
    (b"all x 0\n", "has 3 fields"),
    (b"all x 0 - -\n", "has 5 fields"),
    (b"all z 0 -\n", "m (moderated), u (unmoderated) or x (any)"),
    (b"all x -1 -\n", "explist:1"),
    (b"all x 0-0-0-0 -\n", "explist:1"),
    (b"all x 9-1-5 -\n", "out of order"),
    (b"all x \xff\xfe -\n", "explist:1"),
    (b"all x 99999999999999999999999999 -\n", "explist:1"),
    (b"all x 0 @\n", "no archive directory"),
    (b"test.a x 0 -\n", "no line covers group"),
    (b"all m 0 -\n", "no line covers group"),
    (
        b"all x 0 -\n/expired/ x 1 -\n/expired/ x 2 -\n",
        "second /expired/",
    ),
    (b"all x 0 -\nall x 0", "has 3 fields"),
    (
        b"/unknown/ x 0 -\nall x 0 -\n",
        "only /bounds/ and /expired/",
    ),
];

#[test]
fn a_damaged_policy_removes_nothing() {
    let program = news();
    let before = state(&program);
    for (text, word) in DAMAGED {
        let shown = text.escape_ascii();
        program.write("news/explist", text);
        for flags in [
            &["--force"][..],
            &["-n"],
            &["-c"],
            &["--force", "news/explist"],
            &["--what-if", "news/explist"],
        ] {
            let told = expire(&program, now() + LATER, flags);
            assert_eq!(told.status, 2, "{shown} {flags:?}: {told:?}");
            assert!(
                told.err.contains("explist") && told.err.contains(word),
                "{shown}: {told:?}"
            );
            assert_eq!(told.out, "", "{shown}");
        }
    }
    assert_eq!(state(&program), before);
    program.assert_clean();
}

#[test]
fn a_policy_that_cannot_be_read_removes_nothing() {
    let program = news();
    let before = state(&program);
    let path = program.path("news/explist");
    let refused = |word: &str| {
        for flags in [
            &["--force"][..],
            &["--force", "news/explist"],
            &["--what-if", "news/explist"],
        ] {
            let told = expire(&program, now() + LATER, flags);
            assert_eq!(told.status, 2, "{flags:?}: {told:?}");
            assert!(
                told.err.contains("explist") && told.err.contains(word),
                "{told:?}"
            );
        }
    };
    std::fs::remove_file(&path).unwrap();
    refused("does not exist");
    std::fs::create_dir(&path).unwrap();
    refused("cannot read");
    std::fs::remove_dir(&path).unwrap();
    symlink("explist", &path).unwrap();
    refused("cannot read");
    std::fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    refused("does not exist");
    std::fs::remove_file(&path).unwrap();
    let huge = std::fs::File::create(&path).unwrap();
    huge.set_len(1 << 40).unwrap();
    refused("larger than");
    program.write("news/explist", b"all x 0 -\n");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_err() {
        refused("cannot read");
    } else {
        eprintln!("skipped: a file without permissions is read all the same (root)");
    }
    assert_eq!(state(&program), before);
    program.assert_clean();
}

#[test]
fn damaged_settings_remove_nothing_though_explist_is_well() {
    let program = news();
    program.write("news/explist", b"all x 0 -\n");
    let before = state(&program);
    let whole = program.read("news/broadsheet.toml");
    let rule = "[[expire]]\npatterns = \"all\"\n";
    for (text, status) in [
        (String::new(), 78),
        (format!("{whole}\n[[expire"), 78),
        (format!("{whole}\n\u{0}\u{0}"), 78),
        (format!("{whole}\n{rule}"), 78),
        (format!("{whole}\n{rule}default = -1\n"), 78),
        (format!("{whole}\n{rule}default = 0\ndefualt = 9\n"), 78),
        (
            format!("{whole}\n{rule}default = 0\n[expiry]\nmax_fraction = 60\n"),
            78,
        ),
        (
            format!("{whole}\n[[expire]]\npatterns = \"test.a\"\ndefault = 0\n"),
            2,
        ),
    ] {
        program.write("news/broadsheet.toml", text.as_bytes());
        let told = expire(&program, now() + LATER, &["--force"]);
        let end = text.get(text.len().saturating_sub(80)..).unwrap_or(&text);
        assert_eq!(
            (told.status, told.out.as_str()),
            (status, ""),
            "{end}: {told:?}"
        );
        assert!(told.err.contains("broadsheet.toml"), "{end}: {told:?}");
    }
    program.write("news/broadsheet.toml", whole.as_bytes());
    assert_eq!(state(&program), before);
    assert_eq!(
        expire(&program, now() + LATER, &["-n"]).status,
        0,
        "the tables can be right, too"
    );
}

#[test]
fn what_seems_to_have_come_in_the_future_stays_and_is_reported() {
    let program = news();
    // Their time had come long before they arrived.
    let expires = "Expires: Mon, 3 Jan 1994 00:00:00 GMT\n";
    let early = [
        with("<early@x>", "test.a", expires, b"hello\n"),
        with("<never@x>", "test.b", "", b"x\n"),
    ];
    assert_eq!(program.rnews(&batch(&early)).count("accepted"), 2);
    program.write(
        "news/explist",
        b"/expired/ x 0 -\ntest.a x 0-0-0 -\nall x 0 -\n",
    );
    let before = state(&program);
    for back in [1000, 10 * DAY, now()] {
        let told = expire(&program, now() - back, &["--force"]);
        assert_eq!(told.status, 0, "{told:?}");
        assert!(
            told.err
                .contains("12 articles have an arrival time in the future and stay"),
            "{told:?}"
        );
        assert!(
            told.out.contains("0 articles removed, 0 of 12 links"),
            "{told:?}"
        );
    }
    let told = expire(&program, 0, &["--force", "--json"]);
    assert_eq!((told.count("articles"), told.count("in_future")), (0, 12));
    assert_eq!(state(&program), before);
    // Ids are not forgotten either.
    assert_eq!(
        program
            .rnews(&batch(&many("a", 6, "test.a", 50)))
            .count("duplicates"),
        6
    );
    // The clock is right again.
    let told = expire(&program, now() + DAY, &["--force", "--json"]);
    assert_eq!((told.count("articles"), told.count("in_future")), (12, 0));
    program.assert_clean();
}

#[test]
fn more_than_a_part_of_all_needs_force() {
    let program = news();
    let six = b"test.a x 1 -\nall x never -\n";
    let seven = b"all x 1 -\n";
    program.write("news/explist", seven);
    let before = state(&program);
    let told = expire(&program, now() + 2 * DAY, &[]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err
            .contains("10 of 10 links would be removed, more than 60 %"),
        "{told:?}"
    );
    assert!(
        told.err.contains("-n") && told.err.contains("--force"),
        "what to do: {told:?}"
    );
    let told = expire(&program, now() + 2 * DAY, &["-n", "--force"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    let told = expire(&program, now() + 2 * DAY, &["-n"]);
    assert!(
        told.err.contains(
            "a run without -n refuses this: 10 of 10 links would be removed, more than 60 %"
        ),
        "{told:?}"
    );
    assert!(
        told.status == 0
            && told
                .out
                .contains("10 articles would be removed, 10 of 10 links"),
        "{told:?}"
    );
    assert_eq!(state(&program), before);

    let settings = program.read("news/broadsheet.toml");
    let with_part = |part: &str| {
        let text = format!("{settings}\n[expiry]\nmax_fraction = {part}\n");
        program.write("news/broadsheet.toml", text.as_bytes());
    };
    program.write("news/explist", six);
    for part in ["0.01", "0.59"] {
        with_part(part);
        assert_eq!(expire(&program, now() + 2 * DAY, &[]).status, 2, "{part}");
    }
    assert_eq!(state(&program), before);
    with_part("0.6");
    let told = expire(&program, now() + 2 * DAY, &[]);
    assert!(
        told.status == 0 && told.out.contains("6 articles removed, 6 of 10 links"),
        "{told:?}"
    );
    program.write("news/explist", seven);
    let told = expire(&program, now() + 2 * DAY, &[]);
    assert!(
        told.err.contains("4 of 4 links would be removed"),
        "{told:?}"
    );
    let told = expire(&program, now() + 2 * DAY, &["--force"]);
    assert!(
        told.status == 0 && told.out.contains("4 articles removed, 4 of 4 links"),
        "{told:?}"
    );
    assert_eq!(
        expire(&program, now() + 2 * DAY, &[]).status,
        0,
        "nothing is no part of nothing"
    );
    program.assert_clean();
}

/// An expire at night that meets a backup runs after it.
#[test]
fn a_second_run_waits_for_the_first() {
    let program = news();
    program.write("news/explist", b"all x 1 -\n");
    let before = state(&program);
    let first = store::Lock::take_named(&program.path("news"), "lock.expire", false).unwrap();
    std::thread::scope(|threads| {
        let second = threads.spawn(|| expire(&program, now() + LATER, &["--force"]));
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(!second.is_finished());
        assert_eq!(state(&program), before);
        assert_eq!(
            program.rnews(&batch(&many("c", 1, "test.b", 9))).status,
            0,
            "filing goes on"
        );
        drop(first);
        let told = second.join().unwrap();
        assert_eq!(told.status, 0, "{told:?}");
        assert!(told.err.contains("this run waits for its end"), "{told:?}");
    });
    program.assert_clean();
}
