//! `feed list` tells what waits for each site; a new site gets what is filed from then on; a cursor can be put elsewhere.

use crate::program;

use program::{Program, articles};

const ACTIVE: &str = "control 0 1 y\njunk 0 1 y\ncomp.a 0 1 y\nrec.b 0 1 y\n";

fn waiting(program: &Program, site: &str) -> u64 {
    let told = program.run(&["feed", "list", "--dir", "news", "--json", site]);
    assert_eq!(told.status, 0, "{told:?}");
    told.count("articles")
}

#[test]
fn what_waits_is_told() {
    let program = Program::with_news(ACTIVE);
    program.write("news/sys", b"ME:all\none:comp/all:f:\ntwo:all:f:\n");
    let batch = |prefix: &str, count, group: &str| {
        articles::batch(&articles::many(prefix, count, group, 100))
    };
    let told = program.rnews(&batch("p", 5, "comp.a"));
    assert_eq!(told.count("accepted"), 5, "{told:?}");
    assert!(told.err.contains("one, two"), "{told:?}");
    let told = program.rnews(&batch("q", 3, "rec.b"));
    assert_eq!(told.err, "", "they are known");
    assert_eq!(waiting(&program, "one"), 5);
    assert_eq!(waiting(&program, "two"), 8);

    program.write(
        "news/sys",
        b"ME:all\none:comp/all:f:\ntwo:all:f:\nthree:all:f:\n",
    );
    assert_eq!(waiting(&program, "three"), 0);
    program.rnews(&batch("r", 2, "rec.b"));
    assert_eq!(waiting(&program, "three"), 2);

    let status = program
        .run(&["status", "--dir", "news", "--json"])
        .summary();
    assert_eq!(status["feeds"]["count"], 3);
    let behind = status["feeds"]["behind"].as_array().expect("a list");
    let waits: Vec<_> = behind.iter().map(|feed| &feed["articles"]).collect();
    assert_eq!(waits, [5, 10, 2]);
    assert_eq!(
        (&status["mail_queue"], &status["in_coming"]),
        (&0.into(), &0.into())
    );
    let text = program.run(&["status", "--dir", "news"]).out;
    let line = "feeds            3, articles wait for 3: one (5 articles), two (10 articles), three (2 articles)\n";
    assert!(
        text.contains(line) && text.contains("daemon           not running\n"),
        "{text}"
    );

    for (to, left) in [
        ("now", 0),
        ("oldest", 10),
        ("1 Jan 1990", 10),
        ("1 Jan 2090", 0),
    ] {
        let told = program.run(&["feed", "reset", "--dir", "news", "two", "--to", to]);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(waiting(&program, "two"), left, "{to}");
    }
    let told = program.run(&["feed", "reset", "--dir", "news", "two", "--to", "nowhere"]);
    assert_eq!(told.status, 64, "{told:?}");

    let told = program.run(&[
        "feed",
        "pause",
        "--dir",
        "news",
        "--why",
        "line down",
        "two",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["feed", "list", "--dir", "news", "two"]);
    assert!(told.out.starts_with("two  paused: line down\n"), "{told:?}");
    assert_eq!(
        program
            .run(&["feed", "resume", "--dir", "news", "two"])
            .status,
        0
    );
    let told = program.run(&["feed", "list", "--dir", "news", "two"]);
    assert!(told.out.starts_with("two  ready\n"), "{told:?}");

    for words in [["feed", "list"], ["feed", "pause"], ["feed", "resume"]] {
        let told = program.run(&[words[0], words[1], "--dir", "news", "nobody"]);
        assert_eq!(told.status, 2, "{told:?}");
        assert!(told.err.contains("no feed `nobody'"), "{told:?}");
    }
}

#[test]
fn a_way_keeps_its_name_when_lines_come_and_go() {
    let program = Program::with_news(ACTIVE);
    let file =
        |prefix: &str| program.rnews(&articles::batch(&articles::many(prefix, 2, "comp.a", 100)));
    program.write(
        "news/sys",
        b"ME:all\nx:comp/all:n:slow\nx:comp/all:F:fast\n",
    );
    file("p");
    for way in ["x", "x:2"] {
        program.run(&["feed", "pause", "--dir", "news", way]);
    }
    file("q");
    assert_eq!((waiting(&program, "x"), waiting(&program, "x:2")), (2, 2));
    // Turned round, and with a new way in front.
    program.write(
        "news/sys",
        b"ME:all\nx:comp/all:I:new\nx:comp/all:F:fast\nx:comp/all:n:slow\n",
    );
    assert_eq!((waiting(&program, "x"), waiting(&program, "x:2")), (2, 2));
    file("r");
    assert_eq!((waiting(&program, "x"), waiting(&program, "x:2")), (4, 4));
    assert_eq!(program.read("news/out.going/new").lines().count(), 2);
    // The first goes: told, and still listed.
    program.write("news/sys", b"ME:all\nx:comp/all:F:fast\n");
    let told = file("s");
    assert!(told.err.contains("x is no longer a site"), "{told:?}");
    assert!(!told.err.contains("x:2 is no longer"), "{told:?}");
    assert_eq!(waiting(&program, "x:2"), 6);
    let told = program.run(&["feed", "list", "--dir", "news"]);
    let left =
        "x  no longer a site: remove feeds/x if the site does not return\n    waiting 4 articles";
    assert!(told.out.contains(left), "{told:?}");
    let told = program.run(&["feed", "list", "--dir", "news", "x"]);
    assert!(told.out.starts_with(left) && told.status == 0, "{told:?}");
    let told = program.run(&["feed", "list", "--dir", "news", "x", "y"]);
    assert!(
        told.err.contains("no feed `y'") && told.status == 2,
        "{told:?}"
    );
    let told = program.run(&["check", "--dir", "news"]);
    let warning = "warning: x is no longer a site, but 4 articles wait for it in feeds/x: ";
    assert!(told.out.contains(warning), "{told:?}");
    program.run(&["feed", "resume", "--dir", "news", "x:2"]);
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(program.read("news/out.going/fast").lines().count(), 8);
    assert_eq!(program.read("news/out.going/slow").lines().count(), 2);
}

#[test]
fn a_damaged_cursor_is_told_and_put_right() {
    let program = Program::with_news(ACTIVE);
    program.write("news/sys", b"ME:all\none:comp/all:F:\ntwo:comp/all:F:\n");
    program.rnews(&articles::batch(&articles::many("p", 1, "comp.a", 100)));
    program.write("news/feeds/one/cursor", b"rubbish");
    let told = program.run(&["feed", "list", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("feed reset"), "{told:?}");
    assert!(
        told.out.starts_with("two  ready"),
        "others are listed: {told:?}"
    );
    let told = program.run(&["status", "--dir", "news", "--json"]);
    assert_eq!(told.summary()["feeds"]["unreadable"][0], "one", "{told:?}");
    std::fs::remove_file(program.path("news/feeds/one/cursor")).expect("removed");
    let told = program.run(&["feed", "list", "--dir", "news"]);
    assert_eq!(told.status, 2, "no cursor though it is known: {told:?}");
    let said = "the cursor of one is missing (feeds/one/cursor)";
    assert!(told.err.contains(said), "{told:?}");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(told.status == 1 && told.out.contains(said), "{told:?}");
    for is_there in [false, true] {
        if is_there {
            program.write("news/feeds/one/cursor", b"rubbish");
        }
        let told = program.run(&["feed", "reset", "--dir", "news", "one", "--to", "oldest"]);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(program.run(&["feed", "list", "--dir", "news"]).status, 0);
        std::fs::remove_file(program.path("news/feeds/one/cursor")).expect("removed");
    }
}

#[test]
fn a_feed_that_fails_says_so() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = { directory = \"../west\" }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.rnews(&articles::batch(&articles::many("a", 1, "comp.test", 50)));
    let list = || program.run(&["feed", "list", "--dir", "news"]).out;
    let send = || program.run(&["sendbatches", "--dir", "news"]).status;
    assert!(list().starts_with("west  ready\n"), "{}", list());
    assert_eq!(send(), 1);
    let told = list();
    assert!(told.starts_with("west  failing\n    "), "{told}");
    assert!(told.contains("No such file or directory"), "{told}");
    let json = program.run(&["feed", "list", "--dir", "news", "--json"]);
    let json = json.summary();
    assert_eq!(json["state"], "failing");
    assert!(json["failure"].as_str().unwrap().contains("No such file"));
    std::fs::create_dir(program.path("west")).unwrap();
    assert_eq!(send(), 0);
    assert!(list().starts_with("west  ready\n"), "{}", list());
}

#[test]
fn the_reason_of_a_pause_sends_nothing_to_the_terminal() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = { directory = \"../west\" }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.rnews(&articles::batch(&articles::many("a", 1, "comp.test", 50)));
    program.write("news/feeds/west/paused", b"disk\x1b[2J of west\n");
    let told = program.run(&["feed", "list", "--dir", "news"]);
    assert!(told.out.contains("disk\\x1b[2J of west"), "{told:?}");
}

/// The mark of the index is of no known run of the machine then: who has the spool open must not wait for its lock to read the log.
#[test]
fn a_site_that_begins_earlier_needs_no_proc_sys() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.rnews(&articles::batch(&articles::many("a", 2, "comp.test", 50)));
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nstart = \"oldest\"\nvia = { directory = \"../west\" }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    let script = "mount -t tmpfs none /proc/sys && exec timeout 60 \"$0\" rnews --dir news --json";
    let ran = std::process::Command::new("unshare")
        .args([
            "--mount",
            "sh",
            "-c",
            script,
            env!("CARGO_BIN_EXE_broadsheet"),
        ])
        .current_dir(program.path(""))
        .stdin(std::process::Stdio::null())
        .output();
    match ran {
        Ok(ran) if ran.status.success() => {}
        Ok(ran) if ran.status.code() == Some(124) => panic!("it waits for itself"),
        ran => {
            eprintln!("skipped: a hidden /proc/sys (unshare, mount): {ran:?}");
            return;
        }
    }
    assert_eq!(waiting(&program, "west"), 2);
}

#[test]
fn articles_of_a_renamed_site_go_to_its_new_name() {
    let program = Program::with_news(ACTIVE);
    program.write("news/sys", b"ME:all\nold:all:f:\n");
    program.rnews(&articles::batch(&articles::many("r", 3, "comp.a", 100)));
    program.write("news/sys", b"ME:all\nnew:all:f:\n");
    let told = program.run(&["feed", "list", "--dir", "news"]);
    let hint = "    under another name: `broadsheet feed reset NAME --to DATE' ";
    assert!(told.out.contains(hint), "{told:?}");
    assert_eq!(waiting(&program, "new"), 0);
    let words = ["feed", "reset", "--dir", "news", "new", "--to"];
    let told = program.run(&[&words[..], &["1 Jan 1990"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(waiting(&program, "new"), 3);
}
