//! Every file of the store missing, cut or spoilt: fsck names the file, `--repair` makes it good from the
//! articles where that is possible, and nothing panics.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::path::{Path, PathBuf};

use program::articles::{batch, filed, id, many};
use program::daemon::Daemon;
use program::{Program, Told};

const ARTICLES: usize = 40;

fn news() -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let told = program.rnews(&batch(&many("a", ARTICLES, "comp.test", 500)));
    assert_eq!(told.count("accepted"), ARTICLES as u64);
    program
}

fn segment(program: &Program, kind: &str) -> PathBuf {
    program
        .files("news/segments")
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == kind))
        .expect(kind)
}

fn fsck(program: &Program, repair: bool) -> Told {
    let mut words = vec!["fsck", "--dir", "news"];
    if repair {
        words.push("--repair");
    }
    let told = program.run(&words);
    assert!(
        !told.err.contains("panicked") && told.status != 101,
        "{told:?}"
    );
    assert!((0..=2).contains(&told.status), "{told:?}");
    told
}

/// Every article is there, byte for byte, and the next one is filed.
fn assert_whole(program: &Program) {
    let articles = many("a", ARTICLES, "comp.test", 500);
    for (at, given) in articles.iter().enumerate() {
        let out = program.run_bytes(&["article", "--dir", "news", &id("a", at + 1)]);
        assert!(out == filed(given, &format!("comp.test:{}", at + 1)));
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), ARTICLES);
    let again = program.rnews(&batch(&articles));
    assert_eq!(again.count("duplicates"), ARTICLES as u64, "{again:?}");
    let next = program.rnews(&batch(&many("b", 1, "comp.test", 10)));
    assert_eq!(next.count("accepted"), 1);
    let line = program
        .run(&["history", "find", "--dir", "news", &id("b", 1)])
        .out;
    assert!(
        line.ends_with(&format!("comp.test/{}\n", ARTICLES + 1)),
        "{line}"
    );
    program.assert_clean();
}

/// The file, as fsck names it: of a segment the number is enough, where all its views are made again.
fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Files that can be made again from the articles.
fn derived(program: &Program) -> Vec<PathBuf> {
    vec![
        segment(program, "his"),
        segment(program, "ovr"),
        program.path("news/index"),
        program.path("news/active"),
    ]
}

#[test]
fn a_missing_file() {
    for at in 0..4 {
        let program = news();
        let path = derived(&program).swap_remove(at);
        std::fs::remove_file(&path).unwrap();
        let told = fsck(&program, false);
        assert!(
            (told.out.clone() + &told.err).contains(&name(&path)),
            "{} is named: {told:?}",
            path.display()
        );
        fsck(&program, true);
        program.assert_clean();
        assert!(path.exists());
        assert_whole(&program);
    }
}

#[test]
fn a_file_cut_short() {
    for at in 0..4 {
        for part in [0, 1, 2] {
            let program = news();
            let path = derived(&program).swap_remove(at);
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() * part / 3]).unwrap();
            let told = fsck(&program, false);
            assert!(
                (told.out.clone() + &told.err).contains(&name(&path)),
                "{} cut to {part}/3 is named: {told:?}",
                path.display()
            );
            fsck(&program, true);
            program.assert_clean();
            assert_whole(&program);
        }
    }
}

#[test]
fn a_flipped_bit_in_a_derived_file() {
    for at in 0..2 {
        let length = {
            let program = news();
            std::fs::metadata(&derived(&program)[at]).unwrap().len()
        };
        for step in 0..12 {
            let program = news();
            let path = derived(&program).swap_remove(at);
            let mut bytes = std::fs::read(&path).unwrap();
            let place = (length as usize).min(bytes.len()) * step / 12;
            bytes[place] ^= 0x04;
            std::fs::write(&path, &bytes).unwrap();
            let told = fsck(&program, false);
            assert!(
                (told.out.clone() + &told.err).contains(&name(&path)),
                "{} byte {place}: {told:?}",
                path.display()
            );
            assert_ne!(told.status, 0);
            fsck(&program, true);
            program.assert_clean();
            assert_whole(&program);
        }
    }
}

/// What cannot be made again is told, and the other articles stay.
#[test]
fn a_flipped_bit_in_the_articles() {
    for step in 1..12 {
        let program = news();
        let path = segment(&program, "art");
        let mut bytes = std::fs::read(&path).unwrap();
        let place = bytes.len() * step / 12;
        bytes[place] ^= 0x04;
        std::fs::write(&path, &bytes).unwrap();
        let told = fsck(&program, false);
        assert_ne!(told.status, 0, "byte {place}: {told:?}");
        assert!(
            (told.out.clone() + &told.err).contains(&name(&path)),
            "{told:?}"
        );
        let repaired = fsck(&program, true);
        assert!(
            repaired.out.contains("lost"),
            "what cannot be mended is not hidden: {repaired:?}"
        );
        assert_eq!(repaired.status, 1, "nor called well: {repaired:?}");
        assert!(
            !program.files("news/bad").is_empty(),
            "the damaged bytes are kept"
        );
        let alive = (1..=ARTICLES)
            .filter(|number| {
                program
                    .run(&["article", "--dir", "news", &id("a", *number)])
                    .status
                    == 0
            })
            .count();
        assert!(
            alive >= ARTICLES - 2,
            "byte {place}: {alive} of {ARTICLES} are left"
        );
        let next = program.rnews(&batch(&many("b", 1, "comp.test", 10)));
        assert_eq!((next.status, next.count("accepted")), (0, 1), "{next:?}");
    }
}

/// The ids of all articles that went with it are listed, so that a neighbour can be asked for them.
#[test]
fn articles_that_only_the_history_knows() {
    for left in [None, Some(20_000)] {
        let program = news();
        let path = segment(&program, "art");
        let gone = match left {
            None => {
                std::fs::remove_file(&path).unwrap();
                ARTICLES
            }
            Some(length) => {
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_len(length).unwrap();
                let told = program.run(&["article", "--dir", "news", &id("a", 1)]);
                assert_eq!(told.status, 0, "{told:?}");
                0
            }
        };
        let told = fsck(&program, true);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.out.contains("lost to damage"), "{told:?}");
        let listed = program.read("news/bad/lost.ids").lines().count();
        let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
        let rows = rows.lines().count();
        assert!(
            listed == ARTICLES - rows && listed >= gone,
            "{listed} {rows}"
        );
        // They can come again.
        let again = program.rnews(&batch(&many("a", ARTICLES, "comp.test", 500)));
        assert_eq!(again.count("accepted"), listed as u64, "{again:?}");
        program.assert_clean();
    }
}

/// Nothing can open the news directory, but fsck looks at the rest of it.
#[test]
fn behind_a_damaged_header_the_rest_is_checked() {
    let program = news();
    for (kind, at) in [("art", 62), ("ovr", 40)] {
        let path = segment(&program, kind);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let told = fsck(&program, false);
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        ".art at byte 0: the segment's header is not ours\n",
        ".ovr at byte 0: a block of rows is damaged",
        "only its segments were checked",
        "1 segments, 40 articles",
        "not clean: run `broadsheet fsck --repair'",
    ] {
        assert!(told.out.contains(part), "{part}: {told:?}");
    }
    assert_eq!(fsck(&program, true).status, 0);
    assert_whole(&program);
}

/// Without the lines of `cancels`, removed articles would be shown.
#[test]
fn a_damaged_line_of_cancels_shows_no_removed_article() {
    let program = news();
    let shown = |number: usize| {
        let told = program.run(&["article", "--dir", "news", &id("a", number)]);
        told.status == 0
    };
    for number in [3, 5] {
        let told = program.run(&["article", "remove", "--dir", "news", &id("a", number)]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let whole = program.read("news/cancels");
    for damaged in [
        whole.replacen('\t', "X", 1),
        whole.replacen('\n', " ", 1),
        whole[..whole.len() - 9].to_owned(),
    ] {
        program.write("news/cancels", damaged.as_bytes());
        assert!(shown(4) && !shown(3) && !shown(5), "{damaged}");
        assert_eq!(program.read("news/cancels"), whole);
    }
    let daemon = Daemon::start(&program);
    program.write("news/cancels", whole.replacen('\t', "X", 1).as_bytes());
    assert!(shown(4) && !shown(3) && !shown(5));
    assert_eq!(program.read("news/cancels"), whole);
    daemon.stop();
    program.assert_clean();
}

/// A rebuild keeps the lock to its end: a daemon that replayed the last segment in between would find the damage, and the command tell of none.
#[test]
fn a_rebuild_beside_the_daemon_tells_what_is_damaged() {
    for number in [7, 39, ARTICLES] {
        let program = news();
        let art = segment(&program, "art");
        let mut bytes = std::fs::read(&art).unwrap();
        let text = format!("Message-ID: {}", id("a", number));
        let found = bytes
            .windows(text.len())
            .position(|window| window == text.as_bytes());
        bytes[found.unwrap() + 2] ^= 1;
        let daemon = Daemon::start(&program);
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(&art).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let told = program.run(&["history", "rebuild", "--dir", "news"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.out.contains("39 articles"), "{told:?}");
        assert!(told.out.contains("is damaged at byte"), "{told:?}");
        daemon.stop();
        let told = fsck(&program, true);
        assert!(told.out.contains("lost to damage"), "{told:?}");
        let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
        assert_eq!(rows.lines().count(), ARTICLES - 1);
        program.assert_clean();
    }
}
