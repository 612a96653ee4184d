//! The administrator edits `active` between two runs: it is taken up, with a notice, and no number is given
//! twice even where the file says so.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch, id, many};

fn file(program: &Program, id: &str, group: &str) -> program::Told {
    let told = program.rnews(&batch(&[article(id, group)]));
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    told
}

fn links(program: &Program, id: &str) -> String {
    let line = program.run(&["history", "find", "--dir", "news", id]).out;
    line.trim_end()
        .split('\t')
        .nth(2)
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn numbers_are_never_given_again() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("a", 10, "comp.test", 50)))
            .count("accepted"),
        10
    );
    assert_eq!(links(&program, &id("a", 10)), "comp.test/10");

    // A lower high mark, a new group in front, another flag.
    let edited = program.read("news/active").replace(
        "comp.test 0000000010",
        "comp.aaa 0000000000 00001 y\ncomp.test 0000000003",
    );
    program.write("news/active", edited.as_bytes());
    let told = file(&program, "<1@example.com>", "comp.test,comp.aaa");
    assert!(told.err.contains("active"), "a notice: {told:?}");
    assert!(!told.err.contains("panicked"), "{told:?}");
    assert_eq!(
        links(&program, "<1@example.com>"),
        "comp.aaa/1 comp.test/11"
    );
    assert!(
        program
            .read("news/active")
            .contains("comp.test 0000000011 ")
    );

    // A higher one is believed: numbers may be left out.
    let edited = program
        .read("news/active")
        .replace("comp.test 0000000011", "comp.test 0000000500");
    program.write("news/active", edited.as_bytes());
    file(&program, "<2@example.com>", "comp.test");
    assert_eq!(links(&program, "<2@example.com>"), "comp.test/501");
    let quiet = file(&program, "<3@example.com>", "comp.test");
    assert_eq!(quiet.err, "", "what has been taken up is not told again");
    program.assert_clean();
}

#[test]
fn a_group_taken_out_is_gone_and_its_articles_stay() {
    let program =
        Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\n");
    program.junk_as_c_news();
    file(&program, "<1@example.com>", "comp.test,comp.misc");
    let kept: String = program
        .read("news/active")
        .lines()
        .filter(|line| !line.starts_with("comp.misc "))
        .map(|line| format!("{line}\n"))
        .collect();
    program.write("news/active", kept.as_bytes());
    let told = program.rnews(&batch(&[article("<2@example.com>", "comp.misc")]));
    assert_eq!(told.count("junked"), 1, "{told:?}");
    assert_eq!(
        program
            .run(&["article", "--dir", "news", "<1@example.com>"])
            .status,
        0
    );
    program.assert_clean();
}

#[test]
fn a_spoilt_active_stops_nothing_silently() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    file(&program, "<1@example.com>", "comp.test");
    let mut text = program.read("news/active").into_bytes();
    text.extend_from_slice(b"no marks at all\n\0\0\0\ncomp.test 0000000099 00001 y\n");
    program.write("news/active", &text);
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    let told = program.rnews(&batch(&[article("<2@example.com>", "comp.test")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    assert!(told.err.contains("active"), "{told:?}");
    // Once for each change of the file.
    assert!(told.err.contains("active line 4"), "{told:?}");
    let quiet = file(&program, "<3@example.com>", "comp.test");
    assert_eq!(quiet.err, "");
    let mut text = program.read("news/active").into_bytes();
    text.extend_from_slice(b"another bad line\n");
    program.write("news/active", &text);
    let told = file(&program, "<4@example.com>", "comp.test");
    assert!(told.err.contains("active line 4"), "{told:?}");
    let quiet = file(&program, "<5@example.com>", "comp.test");
    assert_eq!(quiet.err, "");
}

/// Half a copy of the file: articles of the groups that are missing would be refused, and known from then on.
#[test]
fn half_an_active_files_nothing() {
    let program = Program::with_news(
        "comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\nrec.test 0000000000 00001 y\n",
    );
    file(&program, "<1@example.com>", "comp.test");
    let whole = program.read("news/active");
    program.write("news/active", &whole.as_bytes()[..whole.len() / 2]);
    let late = batch(&[article("<2@example.com>", "rec.test")]);
    let told = program.rnews(&late);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(told.err.contains("in the middle of a line"), "{told:?}");
    // Nor was the file changed: the message says what to do, and either helps.
    assert_eq!(program.read("news/active").len(), whole.len() / 2);
    std::fs::remove_file(program.path("news/active")).unwrap();
    let told = program.rnews(&late);
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    assert_eq!(links(&program, "<2@example.com>"), "rec.test/1");
    program.assert_clean();
}

/// The same of a copy that was cut between two lines, where no line tells of it. A single group may well be taken out.
#[test]
fn an_active_without_its_end_files_nothing() {
    let groups = ["comp.test", "comp.misc", "rec.test"];
    let lines = groups.map(|group| format!("{group} 0000000000 00001 y\n"));
    let program = Program::with_news(&lines.concat());
    file(&program, "<1@example.com>", "rec.test");
    let whole = program.read("news/active");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let cut = lines[..lines.len() - 2].concat();
    let late = batch(&[article("<2@example.com>", "rec.test")]);
    let repair = ["fsck", "--dir", "news", "--repair"];
    for is_removed in [true, false] {
        program.write("news/active", cut.as_bytes());
        let told = program.rnews(&late);
        assert_eq!(told.status, 75, "{told:?}");
        assert!(told.err.contains("its end is missing, with"), "{told:?}");
        let told = program.run(&["check", "--dir", "news", "-q"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.out.contains("its end is missing"), "{told:?}");
        assert_eq!(program.read("news/active"), cut);
        match is_removed {
            true => std::fs::remove_file(program.path("news/active")).unwrap(),
            false => assert_eq!(program.run(&repair).status, 0),
        }
        assert_eq!(program.rnews(&late).status, 0);
    }
    assert_eq!(links(&program, "<2@example.com>"), "rec.test/2");
    let kept = lines[..lines.len() - 1].concat();
    program.write("news/active", kept.as_bytes());
    file(
        &program,
        "<3@example.com>",
        lines[0].split(' ').next().unwrap(),
    );
    program.assert_clean();
}

/// The line before the lost ones is whole but for its end, so no line is bad.
#[test]
fn fsck_repairs_an_active_that_ends_behind_a_line() {
    let program = Program::with_news(
        "comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\nrec.test 0000000000 00001 y\n",
    );
    file(&program, "<1@example.com>", "comp.test");
    let whole = program.read("news/active");
    let (first, _) = whole.split_once('\n').unwrap();
    program.write("news/active", first.as_bytes());
    let late = batch(&[article("<2@example.com>", "rec.test")]);
    assert_eq!(program.rnews(&late).status, 75);
    let told = program.run(&["fsck", "--dir", "news", "--repair"]);
    assert!(told.out.contains("in the middle of a line"), "{told:?}");
    assert_eq!(program.read("news/active"), whole);
    assert_eq!(program.read("news/bad/active"), first);
    let told = program.rnews(&late);
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    program.assert_clean();
    // An editor that writes no newline at the end has lost no group.
    let whole = program.read("news/active");
    program.write("news/active", whole.trim_end().as_bytes());
    let told = program.run(&["fsck", "--dir", "news", "--repair"]);
    assert!(!told.out.contains("in the middle of a line"), "{told:?}");
    program.assert_clean();
}

/// One bad line: articles of its group would be refused, and known from then on.
#[test]
fn a_group_whose_line_is_bad_stops_filing() {
    let program =
        Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\n");
    file(&program, "<1@example.com>", "comp.test");
    let whole = program.read("news/active");
    let bad = whole.replace(
        "comp.misc 0000000000 00001 y",
        "comp.misc 0000000000 00001 yes",
    );
    let late = batch(&[article("<2@example.com>", "comp.misc")]);
    for is_started_again in [false, true] {
        program.write("news/active", bad.as_bytes());
        if is_started_again {
            forget_the_boot(&program);
        }
        let told = program.rnews(&late);
        assert_eq!(told.status, 75, "{told:?}");
        assert!(told.err.contains("lacks comp.misc:"), "{told:?}");
        assert_eq!(program.read("news/active"), bad);
    }
    program.write("news/active", whole.as_bytes());
    assert_eq!(program.rnews(&late).count("accepted"), 1);
    program.assert_clean();
}

/// After a power cut the time of the file tells nothing.
#[test]
fn half_or_none_of_active_after_a_power_cut_files_nothing_wrongly() {
    for keep in [0, 40] {
        let program = Program::with_news(
            "comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\nrec.test 0000000000 00001 y\n",
        );
        file(&program, "<1@example.com>", "comp.test");
        let whole = program.read("news/active");
        // All zeros, or the beginning.
        let damaged = match keep {
            0 => vec![0; whole.len()],
            keep => whole.as_bytes()[..keep].to_vec(),
        };
        program.write("news/active", &damaged);
        forget_the_boot(&program);
        let late = batch(&[article("<2@example.com>", "rec.test")]);
        let mut told = program.rnews(&late);
        if keep > 0 {
            assert_eq!(told.status, 75, "{told:?}");
            assert!(told.err.contains("in the middle of a line"), "{told:?}");
            assert_eq!(program.read("news/active").as_bytes(), damaged);
            std::fs::remove_file(program.path("news/active")).unwrap();
            told = program.rnews(&late);
        }
        assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
        assert_eq!(links(&program, "<2@example.com>"), "rec.test/1");
        program.assert_clean();
    }
}

/// Records of groups that an edit contradicts come before it in the log: a replay, a rebuild and a restore keep the edit.
#[test]
fn a_replay_keeps_what_was_edited_by_hand() {
    let program = Program::with_news(
        "comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\nrec.test 0000000000 00001 y\n",
    );
    assert_eq!(
        program
            .rnews(&batch(&many("a", 5, "comp.misc", 50)))
            .count("accepted"),
        5
    );
    assert_eq!(
        program
            .rnews(&batch(&many("b", 5, "comp.test", 50)))
            .count("accepted"),
        5
    );
    let take_up = |text: &str| {
        program.write("news/active", text.as_bytes());
        let told = program.run(&["group", "set", "--dir", "news", "junk", "n"]);
        assert_eq!(told.status, 0, "{told:?}");
    };
    let run = |words: &[&str]| {
        let told = program.run(words);
        assert_eq!(told.status, 0, "{told:?}");
    };
    // A line out, and in again; every group once, so that the table would be empty in between.
    let whole = program.read("news/active");
    for name in ["comp.test", "comp.misc", "rec.test"] {
        let without: Vec<&str> = whole
            .lines()
            .filter(|line| !line.starts_with(name))
            .collect();
        take_up(&(without.join("\n") + "\n"));
        take_up(&whole);
    }
    // A flag by command, and back by hand; a group that goes by command and comes back by hand, and one that goes by hand.
    run(&["group", "set", "--dir", "news", "rec.test", "m"]);
    for name in ["comp.gone", "comp.back"] {
        run(&["group", "add", "--dir", "news", name]);
    }
    run(&["group", "remove", "--dir", "news", "comp.back"]);
    // A low mark rises, and is lowered by hand.
    run(&["article", "remove", "--dir", "news", &id("a", 1)]);
    run(&["upact", "--dir", "news"]);
    let edited = program.read("news/active");
    let edited = edited
        .replace("rec.test 0000000000 00001 m", "rec.test 0000000000 00001 y")
        .replace("comp.misc 0000000005 00002", "comp.misc 0000000005 00001");
    let edited: Vec<&str> = edited
        .lines()
        .filter(|line| !line.starts_with("comp.gone"))
        .collect();
    let edited = edited.join("\n") + "\ncomp.back 0000000000 0000000001 y\n";
    take_up(&edited);
    let wanted = program.read("news/active");
    for line in [
        "rec.test 0000000000 00001 y
",
        "comp.misc 0000000005 00001 ",
    ] {
        assert!(wanted.contains(line), "{wanted}");
    }
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let assert_kept = |program: &Program, place: &str| {
        let now = program.read(&format!("{place}/active"));
        assert_eq!(sorted(&now), sorted(&wanted), "{place}");
    };
    forget_the_boot(&program);
    let told = program.run(&["group", "set", "--dir", "news", "junk", "n"]);
    assert_eq!(
        (told.status, told.err.contains("no line for")),
        (0, false),
        "{told:?}"
    );
    assert_kept(&program, "news");
    run(&["history", "rebuild", "--dir", "news"]);
    assert_kept(&program, "news");
    std::fs::remove_file(program.path("news/index")).unwrap();
    run(&["group", "set", "--dir", "news", "junk", "n"]);
    assert_kept(&program, "news");
    // From the log alone.
    let active = program.path("news/active");
    std::fs::rename(&active, program.path("kept")).unwrap();
    run(&["group", "set", "--dir", "news", "junk", "n"]);
    assert_kept(&program, "news");
    // The marks of a restored directory are 10,000 higher.
    run(&["backup", "--dir", "news", "backups"]);
    run(&["restore", "--dir", "again", "backups"]);
    let restored = program.read("again/active");
    for name in ["comp.test", "comp.misc"] {
        assert!(
            restored.contains(&format!("{name} 0000010005 ")),
            "{restored}"
        );
    }
    let names = |text: &str| {
        let names = text
            .lines()
            .map(|line| line.split(' ').next().unwrap().to_owned());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(&restored), names(&wanted));
    program.assert_clean();
}

/// A power cut may leave the file of an earlier commit: the log has the changes since.
#[test]
fn a_replay_makes_good_an_older_active() {
    const CHANGES: [&[&str]; 5] = [
        &["group", "add", "--dir", "news", "comp.new"],
        &["group", "set", "--dir", "news", "comp.misc", "m"],
        &["group", "remove", "--dir", "news", "comp.test"],
        &["group", "set", "--dir", "news", "comp.misc", "y"],
        &["group", "add", "--dir", "news", "comp.last"],
    ];
    for left in 0..=CHANGES.len() {
        let program =
            Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\n");
        file(&program, "<1@example.com>", "comp.misc");
        let mut files = vec![program.read("news/active")];
        for words in CHANGES {
            let told = program.run(words);
            assert_eq!(told.status, 0, "{told:?}");
            files.push(program.read("news/active"));
        }
        file(&program, "<2@example.com>", "comp.new");
        let wanted = program.read("news/active");
        program.write("news/active", files[left].as_bytes());
        forget_the_boot(&program);
        let told = program.run(&["group", "set", "--dir", "news", "junk", "n"]);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(program.read("news/active"), wanted, "{left}");
        program.assert_clean();
    }
}

/// The pages of the file reach the disk one by one: it may have a later change, and lack an earlier one.
#[test]
fn a_replay_makes_good_a_mixed_active() {
    let program =
        Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\n");
    file(&program, "<1@example.com>", "comp.misc");
    for group in ["comp.test", "comp.misc"] {
        let told = program.run(&["group", "set", "--dir", "news", group, "m"]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let wanted = program.read("news/active");
    let mixed = wanted.replace(
        "comp.test 0000000000 00001 m",
        "comp.test 0000000000 00001 y",
    );
    assert_ne!(mixed, wanted);
    program.write("news/active", mixed.as_bytes());
    forget_the_boot(&program);
    let told = program.run(&["group", "set", "--dir", "news", "junk", "n"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(program.read("news/active"), wanted);
    program.assert_clean();
}

/// An edit that no program has taken up yet is no older state of the file, and stays, too.
#[test]
fn a_replay_keeps_an_edit_that_nobody_has_seen() {
    for is_index_lost in [false, true] {
        let program =
            Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\n");
        assert_eq!(
            program
                .rnews(&batch(&many("a", 5, "comp.misc", 50)))
                .count("accepted"),
            5
        );
        let replay = || match is_index_lost {
            true => std::fs::remove_file(program.path("news/index")).unwrap(),
            false => forget_the_boot(&program),
        };
        let edit = |pairs: &[(&str, &str)]| {
            let mut text = program.read("news/active");
            for (old, new) in pairs {
                assert!(text.contains(old), "{text}");
                text = text.replace(old, new);
            }
            program.write("news/active", text.as_bytes());
        };
        let set = || {
            let told = program.run(&["group", "set", "--dir", "news", "junk", "n"]);
            assert_eq!(told.status, 0, "{told:?}");
            told
        };
        // The program takes up a wrong flag and a slip in a name.
        edit(&[(
            "comp.misc 0000000005 00001 y",
            "comp.misc 0000000005 00001 m\ncomp.typo 0000000000 00001 y",
        )]);
        set();
        // The administrator mends both, and no program takes that up.
        edit(&[
            (
                "comp.misc 0000000005 00001 m",
                "comp.misc 0000000005 00001 y",
            ),
            ("comp.typo", "comp.right"),
        ]);
        let wanted = program.read("news/active");
        replay();
        let told = set();
        assert!(
            told.err.contains("active has no line for comp.typo"),
            "{told:?}"
        );
        assert_eq!(program.read("news/active"), wanted);
        // A low mark that rises by hand stays, behind one that an article's removal has raised.
        let told = program.run(&["article", "remove", "--dir", "news", &id("a", 1)]);
        assert_eq!(told.status, 0, "{told:?}");
        program.run(&["upact", "--dir", "news"]);
        edit(&[(
            "comp.test 0000000000 00001 y",
            "comp.test 0000000000 00001 m",
        )]);
        set();
        edit(&[("comp.misc 0000000005 00002", "comp.misc 0000000005 00004")]);
        set();
        let wanted = program.read("news/active");
        replay();
        set();
        assert_eq!(program.read("news/active"), wanted);
        program.assert_clean();
    }
}

fn edit(program: &Program, old: &str, new: &str) {
    let text = program.read("news/active");
    assert!(text.contains(old), "{text}");
    program.write("news/active", text.replace(old, new).as_bytes());
}

fn group_set(program: &Program, group: &str, flag: &str) -> program::Told {
    let told = program.run(&["group", "set", "--dir", "news", group, flag]);
    assert_eq!(told.status, 0, "{told:?}");
    told
}

/// The file is as long as before, and the replay begins behind the numbers.
#[test]
fn a_lower_high_mark_before_a_reboot_gives_no_number_twice() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let articles = batch(&many("a", 10, "comp.test", 50));
    assert_eq!(program.rnews(&articles).count("accepted"), 10);
    forget_the_boot(&program);
    group_set(&program, "junk", "n");
    edit(&program, "comp.test 0000000010", "comp.test 0000000003");
    forget_the_boot(&program);
    let told = file(&program, "<1@example.com>", "comp.test");
    assert!(
        told.err
            .contains("the high mark of comp.test was below numbers given"),
        "{told:?}"
    );
    assert_eq!(links(&program, "<1@example.com>"), "comp.test/11");
    program.assert_clean();
}

/// Without a record of it the next power cut would undo the edit, or later commands.
#[test]
fn an_edit_before_a_reboot_reaches_the_log() {
    let program =
        Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000000 00001 y\n");
    let articles = batch(&many("a", 2, "comp.misc", 50));
    assert_eq!(program.rnews(&articles).count("accepted"), 2);
    edit(&program, "comp.misc ", "comp.mist ");
    forget_the_boot(&program);
    let told = file(&program, "<1@example.com>", "comp.mist");
    assert!(told.err.contains("no line for comp.misc"), "{told:?}");
    edit(
        &program,
        "comp.mist 0000000003 00001 y",
        "comp.mist 0000000003 00001 m",
    );
    forget_the_boot(&program);
    file(&program, "<2@example.com>", "comp.test");
    let older = program.read("news/active");
    group_set(&program, "comp.test", "m");
    let wanted = program.read("news/active");
    program.write("news/active", older.as_bytes());
    forget_the_boot(&program);
    group_set(&program, "junk", "n");
    assert_eq!(program.read("news/active"), wanted);
    std::fs::remove_file(program.path("news/active")).unwrap();
    group_set(&program, "junk", "n");
    assert_eq!(program.read("news/active"), wanted);
    program.assert_clean();
}

#[test]
fn a_low_mark_above_the_next_number_is_lowered() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    file(&program, "<1@example.com>", "comp.test");
    edit(
        &program,
        "comp.test 0000000001 00001",
        "comp.test 0000000001 00050",
    );
    let told = file(&program, "<2@example.com>", "comp.test");
    assert!(told.err.contains("lowered to 2"), "{told:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
    assert!(rows.out.contains("<2@example.com>"), "{rows:?}");
    program.assert_clean();
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let text = program.read("news/active");
    program.write("news/active", format!("\u{feff}{text}").as_bytes());
    let told = program.rnews(&batch(&[article("<1@example.com>", "comp.test")]));
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("line 1"), "{told:?}");
    assert!(told.err.contains("byte order mark"), "{told:?}");
    program.write("news/active", text.as_bytes());
    file(&program, "<1@example.com>", "comp.test");
}

/// A high mark that leaves no number is a mistake in the file: the article is kept, and can be filed when it is mended.
#[test]
fn an_article_without_a_number_is_kept() {
    let program = Program::with_news("comp.test 9223372036854775807 00001 y\n");
    let told = program.rnews(&batch(&[article("<1@example.com>", "comp.test")]));
    assert_eq!((told.status, told.count("refused")), (2, 1), "{told:?}");
    assert!(
        told.err.contains("no number left in group `comp.test'"),
        "{told:?}"
    );
    let kept = program.files("news/bad");
    assert_eq!(kept.len(), 1, "{kept:?}");
    let found = program.run(&["history", "find", "--dir", "news", "<1@example.com>"]);
    assert_eq!(found.status, 1, "{found:?}");
}

/// RFC 3977, 6 forbids numbers above 2,147,483,647; `check` warns before.
#[test]
fn the_last_number_is_the_highest_that_clients_understand() {
    let program = Program::with_news("comp.test 2147483646 00001 y\ncomp.other 7 1 y\n");
    let warned = program.run(&["check", "--dir", "news"]);
    assert!(
        warned
            .out
            .contains("the numbers in comp.test are above 1932735276"),
        "{warned:?}"
    );
    let told = program.rnews(&batch(&[article("<1@example.com>", "comp.test")]));
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.rnews(&batch(&[article(
        "<2@example.com>",
        "comp.other,comp.test",
    )]));
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("no number left in group `comp.test'"),
        "{told:?}"
    );
    assert_eq!(program.files("news/bad").len(), 1);
    let active = program.read("news/active");
    assert!(
        active.contains("2147483647") && active.contains("comp.other 7 "),
        "{active}"
    );
}

/// Makes the index one of an earlier run of the machine: words 4 and 5 (docs/formats/index.md).
fn forget_the_boot(program: &Program) {
    use std::os::unix::fs::FileExt;
    let index = std::fs::OpenOptions::new()
        .write(true)
        .open(program.path("news/index"))
        .unwrap();
    index.write_all_at(&[1; 16], 4 * 8).unwrap();
}
