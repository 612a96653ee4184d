//! Segments that were lost, cut, exchanged or not mounted: every command that meets them says so, and none makes it worse.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use crate::program;

use program::articles::{batch, many};
use program::{Program, Told};

const ARTICLES: usize = 600;

/// Several segments, of a MiB.
fn news() -> Program {
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 1);
    let told = program.rnews(&batch(&many("a", ARTICLES, "comp.test", 8_000)));
    assert_eq!(told.count("accepted"), ARTICLES as u64);
    assert!(arts(&program).len() > 3);
    program
}

/// The files with the articles, ascending.
fn arts(program: &Program) -> Vec<PathBuf> {
    let mut arts = program.files("news/segments");
    arts.retain(|path| path.extension().is_some_and(|end| end == "art"));
    arts.sort();
    arts
}

/// The histories of segments without articles, ascending.
fn kept_histories(program: &Program) -> Vec<PathBuf> {
    let mut kept = program.files("news/segments");
    kept.retain(|path| {
        path.extension().is_some_and(|end| end == "his") && !path.with_extension("art").exists()
    });
    kept.sort();
    kept
}

/// Runs expire with the time so many days ahead.
fn expire(program: &Program, days: u64) {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + days * 86_400;
    let told = run(program, &["expire", "--force", "--now", &now.to_string()]);
    assert_eq!(told.status, 0, "{told:?}");
}

fn run(program: &Program, words: &[&str]) -> Told {
    let told = program.run(&[words, &["--dir", "news"]].concat());
    assert!(!told.err.contains("panicked"), "{told:?}");
    told
}

/// The ids in bad/lost.ids, and how many of their articles are accepted when they come again.
fn lost(program: &Program) -> (usize, u64) {
    let listed = program.read("news/bad/lost.ids");
    let again = program.rnews(&batch(&many("a", ARTICLES, "comp.test", 8_000)));
    program.assert_clean();
    (listed.lines().count(), again.count("accepted"))
}

#[test]
fn a_lost_segment_and_a_cut_one() {
    for is_cut in [false, true] {
        let program = news();
        assert_eq!(run(&program, &["backup", "backups"]).status, 0);
        let art = arts(&program)[1].clone();
        let history = fs::read_to_string(art.with_extension("his")).unwrap();
        let id = &history[history.find('<').unwrap()..=history.find('>').unwrap()];
        match is_cut {
            false => fs::remove_file(&art).unwrap(),
            true => {
                let file = fs::OpenOptions::new().write(true).open(&art).unwrap();
                file.set_len(file.metadata().unwrap().len() - 100_000)
                    .unwrap();
            }
        }
        let name = art.file_name().unwrap().to_str().unwrap();
        let told = run(&program, &["backup", "backups", "--keep", "1"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.err.contains(name), "{told:?}");
        let lists = program.files("backups").into_iter();
        let lists = lists.filter(|path| path.extension().is_some_and(|end| end == "list"));
        assert_eq!(lists.count(), 2, "an older backup may have it");
        let told = run(&program, &["check"]);
        assert!(told.status == 1 && told.out.contains(name), "{told:?}");
        if !is_cut {
            let told = run(&program, &["article", id]);
            assert_eq!(told.status, 2, "{told:?}");
            assert!(told.err.contains(name), "{told:?}");
        }
        let told = run(&program, &["history", "rebuild"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.out.contains("bad/lost.ids"), "{told:?}");
        // It puts the rest of a cut article aside.
        run(&program, &["fsck", "--repair"]);
        let (listed, accepted) = lost(&program);
        assert!(
            listed > 5 && listed as u64 == accepted,
            "{listed} {accepted}"
        );
    }
}

/// Removes files of a segment; the last one is the current one.
fn remove(program: &Program, place: usize, ends: &[&str]) {
    let art = arts(program)[place].clone();
    for end in ends {
        fs::remove_file(art.with_extension(end)).unwrap();
    }
}

#[test]
fn each_loss_is_told_by_each_command() {
    const ALL: [&str; 3] = ["art", "ovr", "his"];
    type Loss = fn(&Program);
    let losses: [(&str, Loss); 5] = [
        ("the current one", |program| {
            remove(program, arts(program).len() - 1, &ALL)
        }),
        ("the end of the current one", |program| {
            let art = arts(program).pop().unwrap();
            let file = fs::OpenOptions::new().write(true).open(art).unwrap();
            file.set_len(8_000).unwrap();
        }),
        ("the last two", |program| {
            remove(program, arts(program).len() - 1, &ALL);
            remove(program, arts(program).len() - 1, &ALL);
        }),
        ("all but its history", |program| {
            remove(program, 1, &["art", "ovr"])
        }),
        ("all but its rows", |program| {
            remove(program, 1, &["art", "his"])
        }),
    ];
    for (what, lose) in losses {
        let program = news();
        assert_eq!(run(&program, &["check", "-q"]).status, 0, "{what}");
        assert_eq!(run(&program, &["backup", "backups"]).status, 0, "{what}");
        lose(&program);
        let whole = program.path("news");
        for words in [
            &["check"][..],
            &["backup", "backups", "--keep", "1"],
            &["history", "rebuild"],
            &["fsck", "--repair"],
        ] {
            let copy = program.path("copy");
            let _ = fs::remove_dir_all(&copy);
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .args([&whole, &copy])
                .status();
            assert!(copied.unwrap().success());
            let told = program.run(&[words, &["--dir", "copy"]].concat());
            assert_eq!(told.status, 1, "{what}: {words:?}: {told:?}");
        }
        let lists = program.files("backups").into_iter();
        let lists = lists.filter(|path| path.extension().is_some_and(|end| end == "list"));
        assert_eq!(lists.count(), 2, "{what}");
    }
}

/// The history of an expired segment stays, and has the ids of its removed articles.
#[test]
fn a_rebuild_beside_a_kept_history_gives_no_id_twice() {
    let program = Program::with_small_segments(
        "comp.keep 0000000000 00001 y\ncomp.test 0000000000 00001 y\n",
        1,
    );
    for (name, group, count) in [
        ("k", "comp.keep", 5),
        ("a", "comp.test", ARTICLES),
        ("l", "comp.keep", 5),
    ] {
        let told = program.rnews(&batch(&many(name, count, group, 8_000)));
        assert_eq!(told.count("accepted"), count as u64);
    }
    let history = fs::read_to_string(arts(&program)[1].with_extension("his")).unwrap();
    let id = &history[history.find('<').unwrap()..=history.find('>').unwrap()];
    assert_eq!(run(&program, &["article", "remove", id]).status, 0);
    program.write(
        "news/explist",
        b"/expired/ x 14 -\ncomp.test x 1 -\nall x never -\n",
    );
    expire(&program, 9);
    assert!(!kept_histories(&program).is_empty());
    assert_eq!(run(&program, &["history", "rebuild"]).status, 0);
    program.assert_clean();
}

#[test]
fn a_segment_of_which_only_the_history_is_left() {
    let program = news();
    let art = arts(&program)[1].clone();
    for end in ["art", "ovr"] {
        fs::remove_file(art.with_extension(end)).unwrap();
    }
    let told = run(&program, &["fsck"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out.contains("its .art and .ovr are missing"),
        "{told:?}"
    );
    assert_eq!(run(&program, &["fsck", "--repair"]).status, 1);
    let (listed, accepted) = lost(&program);
    assert!(
        listed > 50 && listed as u64 == accepted,
        "{listed} {accepted}"
    );
}

/// Their disk is not mounted.
#[test]
fn no_segments_at_all() {
    let program = news();
    fs::rename(program.path("news/segments"), program.path("away")).unwrap();
    fs::create_dir(program.path("news/segments")).unwrap();
    let more = batch(&many("b", 1, "comp.test", 100));
    for (words, input, status) in [
        (&["rnews"][..], &more[..], 75),
        (&["expire"], b"", 2),
        (&["fsck", "--repair"], b"", 2),
        (&["history", "rebuild"], b"", 2),
        (&["backup", "backups", "--keep", "1"], b"", 2),
    ] {
        let told = program.feed(&[words, &["--dir", "news"]].concat(), input);
        assert_eq!(told.status, status, "{told:?}");
        assert!(told.err.contains("mount the disk"), "{told:?}");
        assert!(program.files("news/segments").is_empty());
    }
    fs::remove_dir(program.path("news/segments")).unwrap();
    fs::rename(program.path("away"), program.path("news/segments")).unwrap();
    program.assert_clean();
    assert_eq!(program.rnews(&more).count("accepted"), 1);
}

#[test]
fn files_under_each_others_names() {
    let program = news();
    let (first, second) = (arts(&program)[0].clone(), arts(&program)[1].clone());
    let exchange = || {
        fs::rename(&first, program.path("x")).unwrap();
        fs::rename(&second, &first).unwrap();
        fs::rename(program.path("x"), &second).unwrap();
    };
    exchange();
    let before = [&first, &second].map(|path| fs::read(path).unwrap());
    for words in [
        &["fsck"][..],
        &["fsck", "--repair"],
        &["history", "rebuild"],
    ] {
        let told = run(&program, words);
        assert_eq!(told.status, 2, "{told:?}");
        assert!(
            told.err.contains("is the file of another segment"),
            "{told:?}"
        );
        let after = [&first, &second].map(|path| fs::read(path).unwrap());
        assert!(before == after, "{words:?}");
    }
    exchange();
    program.assert_clean();
}

#[test]
fn a_damaged_history_of_an_expired_segment() {
    let program = news();
    program.write("news/explist", b"/expired/ x 14 -\nall x 1 -\n");
    expire(&program, 2);
    let histories = kept_histories(&program);
    let history = &histories[0];
    let text = fs::read_to_string(history).unwrap();
    fs::write(history, &text[..text.len() / 2]).unwrap();
    let told = run(&program, &["fsck"]);
    assert_eq!(told.status, 1, "{told:?}");
    let name = history.file_name().unwrap().to_str().unwrap();
    assert!(
        told.out.contains(name) && told.out.contains("are lost"),
        "{told:?}"
    );
    run(&program, &["fsck", "--repair"]);
    program.assert_clean();
    // The ids before the damage are still known.
    let again = program.rnews(&batch(&many("a", ARTICLES, "comp.test", 8_000)));
    let lines = text[..text.len() / 2].lines().count() - 1;
    let all = text.lines().count();
    assert_eq!(again.count("accepted"), (all - lines) as u64, "{again:?}");
}
