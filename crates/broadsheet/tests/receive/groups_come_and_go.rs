//! `broadsheet group add`, `set`, `list` and `remove`, and what the three files say after each.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch};
use program::nntp::{ALL_MAY, Served, listen};

fn news() -> Program {
    Program::with_news("comp.test 0000000000 00001 y\n")
}

fn group(program: &Program, words: &[&str]) -> program::Told {
    let mut all = vec!["group"];
    all.extend(&words[..1]);
    all.extend(["--dir", "news"]);
    all.extend(&words[1..]);
    program.run(&all)
}

#[test]
fn a_group_is_added_filed_into_and_removed() {
    let program = news();
    let told = group(
        &program,
        &[
            "add",
            "comp.new",
            "--description",
            "New things",
            "--creator",
            "me",
        ],
    );
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        program
            .read("news/active")
            .contains("comp.new 0000000000 00001 y\n")
    );
    assert!(
        program
            .read("news/newsgroups")
            .ends_with("comp.new\t\tNew things\n")
    );
    let times = program.read("news/active.times");
    let words: Vec<&str> = times.lines().last().unwrap().split(' ').collect();
    assert_eq!((words[0], words[2]), ("comp.new", "me"));
    assert!(words[1].parse::<u64>().unwrap() > 1_600_000_000);
    assert_eq!(
        group(&program, &["add", "comp.new"]).status,
        1,
        "the group exists already"
    );

    let told = group(&program, &["add", "comp.alias", "--flag", "=comp.nowhere"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("names no existing group"), "{told:?}");
    assert!(!program.read("news/active").contains("comp.alias"));

    let text = batch(&[article("<1@example.com>", "comp.new,comp.test")]);
    assert_eq!(program.rnews(&text).count("accepted"), 1);
    let listed = group(&program, &["list", "comp"]).out;
    assert_eq!(
        listed,
        "comp.test 0000000001 00001 y\ncomp.new 0000000001 00001 y\n"
    );

    assert_eq!(group(&program, &["remove", "comp.new"]).status, 0);
    for file in ["active", "active.times", "newsgroups"] {
        assert!(
            !program.read(&format!("news/{file}")).contains("comp.new"),
            "{file}"
        );
    }
    assert_eq!(group(&program, &["remove", "comp.new"]).status, 1);
    assert_eq!(
        program
            .run(&["article", "--dir", "news", "comp.test/1"])
            .status,
        0,
        "cross-posted"
    );
    program.assert_clean();

    // When it comes back its old numbers are not given again.
    assert_eq!(group(&program, &["add", "comp.new"]).status, 0);
    let text = batch(&[article("<2@example.com>", "comp.new")]);
    assert_eq!(program.rnews(&text).count("accepted"), 1);
    let found = program
        .run(&["history", "find", "--dir", "news", "<2@example.com>"])
        .out;
    assert!(found.ends_with("\tcomp.new/2\n"), "{found}");
    program.assert_clean();
}

#[test]
fn a_group_with_aliases_stays() {
    let program = news();
    assert_eq!(
        group(&program, &["add", "comp.alias", "--flag", "=comp.test"]).status,
        0
    );
    let told = group(&program, &["remove", "comp.test"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("comp.alias"), "{told:?}");
    assert!(program.read("news/active").contains("comp.test "));
    assert_eq!(group(&program, &["remove", "comp.alias"]).status, 0);
    assert_eq!(group(&program, &["remove", "comp.test"]).status, 0);
}

#[test]
fn control_keeps_taking_control_messages() {
    let program = news();
    for flag in ["x", "j", "=comp.test"] {
        let told = group(&program, &["set", "control", flag]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.err.contains("cancels included"), "{told:?}");
    }
    assert_eq!(group(&program, &["set", "control", "n"]).status, 0);
    // By hand it may happen.
    let active = program.read("news/active");
    let edited = active
        .lines()
        .map(|line| match line.strip_prefix("control ") {
            Some(_) => "control 0000000000 00001 x\n".to_owned(),
            None => format!("{line}\n"),
        });
    program.write("news/active", edited.collect::<String>().as_bytes());
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out
            .contains("the group control must have the flag y, n or m"),
        "{told:?}"
    );
}

#[test]
fn links_to_the_files_of_groups_stay_links() {
    let program = news();
    std::fs::create_dir(program.path("etc")).unwrap();
    assert_eq!(
        group(&program, &["add", "comp.first", "--description", "One"]).status,
        0
    );
    let files = ["active", "newsgroups", "active.times"];
    for file in files {
        let (here, there) = (
            program.path(&format!("news/{file}")),
            program.path(&format!("etc/{file}")),
        );
        std::fs::rename(&here, &there).unwrap();
        std::os::unix::fs::symlink(&there, &here).unwrap();
    }
    let told = group(&program, &["add", "comp.second", "--description", "Two"]);
    assert_eq!(told.status, 0, "{told:?}");
    for file in files {
        let here = program.path(&format!("news/{file}"));
        let is_link = std::fs::symlink_metadata(&here).unwrap().is_symlink();
        assert!(is_link, "{file}");
        let text = program.read(&format!("etc/{file}"));
        assert!(
            text.contains("comp.first") && text.contains("comp.second"),
            "{file}: {text}"
        );
        assert!(!program.path(&format!("etc/{file}.new")).exists());
    }
    let told = program.rnews(&batch(&[article("<1@example.com>", "comp.second")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    assert!(
        program
            .read("etc/active")
            .contains("comp.second 0000000001 ")
    );
    program.assert_clean();
}

#[test]
fn flags_change_what_is_filed() {
    let program = news();
    for (flag, accepted) in [("x", 0), ("m", 0), ("y", 1), ("n", 1), ("=junk", 1)] {
        assert_eq!(
            group(&program, &["set", "comp.test", flag]).status,
            0,
            "{flag}"
        );
        let listed = group(&program, &["list", "comp"]).out;
        assert!(listed.ends_with(&format!(" {flag}\n")), "{listed}");
        let id = format!("<{}@example.com>", flag.trim_start_matches('='));
        let told = program.rnews(&batch(&[article(&id, "comp.test")]));
        assert_eq!(told.count("accepted"), accepted, "{flag}: {told:?}");
    }
    assert_eq!(group(&program, &["set", "comp.absent", "y"]).status, 1);
    assert_eq!(
        group(&program, &["set", "comp.test", "=comp.test"]).status,
        1,
        "a loop"
    );
    assert!(
        group(&program, &["list", "comp"]).out.ends_with(" =junk\n"),
        "it is as it was"
    );
    assert_eq!(group(&program, &["set", "comp.test", "z"]).status, 64);
    program.assert_clean();
}

#[test]
fn names_that_break_the_rules_are_refused() {
    let program = news();
    for name in [
        "../../x",
        "a..b",
        ".a",
        "a.",
        "comp.123",
        "Comp.test",
        "comp.all",
        "poster",
        "a b",
        "a\tb",
        "a\nb x 1 y",
        "",
    ] {
        let told = group(&program, &["add", name]);
        assert_eq!(told.status, 1, "{name:?}: {told:?}");
    }
    // Old hierarchies have such names; but never what the files or a path could not hold.
    assert_eq!(
        group(&program, &["add", "Comp.123", "--any-name"]).status,
        0
    );
    assert_eq!(group(&program, &["add", "poster", "--any-name"]).status, 0);
    assert_eq!(group(&program, &["remove", "poster"]).status, 0);
    for name in ["../../x", "a b", "a\nb 1 1 y", "", "a..b", "/etc"] {
        let told = group(&program, &["add", "--any-name", name]);
        assert_ne!(told.status, 0, "{name:?}: {told:?}");
    }
    assert_eq!(group(&program, &["remove", "junk"]).status, 1);
    for flag in ["--description", "--creator"] {
        let told = group(&program, &["add", "comp.two", flag, "one\ncomp.evil\tx"]);
        assert_eq!(told.status, 64, "a line of another group: {told:?}");
    }
    program.assert_clean();
    assert_eq!(program.run(&["check", "--dir", "news"]).status, 0);
}

#[test]
fn patterns_are_read_as_people_write_them() {
    let program = Program::with_news("comp.a 0 1 y\ncomp.b.c 0 1 y\nmisc.a 0 1 y\n");
    let names = |pattern: &str| {
        let told = group(&program, &["list", pattern]);
        assert_eq!(told.status, 0, "{told:?}");
        let name = |line: &str| line.split(' ').next().unwrap().to_owned();
        told.out.lines().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("comp.*"), ["comp.a", "comp.b.c"]);
    assert_eq!(names("*,!comp.*"), ["misc.a", "control", "junk"]);
    assert_eq!(names("*.[a]"), ["comp.a", "misc.a"]);
    assert_eq!(names("all,!comp"), ["misc.a", "control", "junk"]);
    assert_eq!(names("comp.all"), ["comp.a", "comp.b.c"]);
    let told = group(&program, &["list", "all,!comp.*"]);
    assert_eq!(told.status, 64, "{told:?}");
    assert!(told.err.contains("write it as one of them"), "{told:?}");
}

#[test]
fn a_name_that_no_flag_makes_valid_is_refused_without_advice() {
    let program = news();
    for name in ["foo bar", "comp..x", "comp/x", ""] {
        let told = group(&program, &["add", name]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(!told.err.contains("--any-name"), "{told:?}");
        let told = group(&program, &["add", "--any-name", name]);
        assert_eq!(told.status, 1, "{told:?}");
    }
    let told = group(&program, &["add", "comp.X"]);
    assert!(told.err.contains("--any-name"), "{told:?}");
    assert_eq!(group(&program, &["add", "--any-name", "comp.X"]).status, 0);
}

#[test]
fn a_removed_group_opens_no_article_of_a_closed_one() {
    let some = ALL_MAY.replace("read = \"*\"", "read = \"open.*\"");
    for (access, after) in [(some.as_str(), "430"), (ALL_MAY, "223")] {
        let program = Program::with_news("open.a 0 1 y\nopen.b 0 1 y\nsecret.c 0 1 y\n");
        listen(&program, access);
        let told = program.rnews(&batch(&[article("<1@a>", "open.a,secret.c")]));
        assert_eq!(told.count("accepted"), 1, "{told:?}");
        let served = Served::start(&program);
        let mut reader = served.client();
        assert!(reader.ask("STAT <1@a>").starts_with("223"));
        assert!(reader.ask("GROUP open.a").starts_with("211"));
        assert_eq!(group(&program, &["remove", "open.a"]).status, 0);
        assert!(reader.ask("STAT <1@a>").starts_with(after), "{access}");
        assert!(reader.ask("STAT").starts_with("412"));
        assert!(
            reader
                .ask("NEWNEWS open.* 19690101 000000")
                .starts_with("230")
        );
        assert_eq!(reader.lines(), Vec::<String>::new());
        served.daemon.stop();
    }
}
