//! `[expiry] keep_free` and `max_size`, and `expireiflow`: more goes than the dates say when the disk is too full.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // helpers of tests, too

use crate::program;

use program::{Program, Told};

const ACTIVE: &str = "control 0 1 y\njunk 0 1 y\ncomp.a 0 1 y\nsci.x 0 1 y\nkept.x 0 1 y\n";
const POLICY: &[u8] = b"comp x 10 -\nsci x 20 -\nkept x never -\nall x 9 -\n";

fn article(id: usize, group: &str) -> String {
    let text = format!(
        "Path: far!user\nFrom: user@far\nNewsgroups: {group}\nSubject: s\nDate: Fri, 20 Nov 2026 10:00:00 GMT\nMessage-ID: <{id}@far>\n\n{}\n",
        "x".repeat(50_000)
    );
    format!("#! rnews {}\n{text}", text.len())
}

fn news(limits: &str) -> Program {
    let program = Program::with_news(ACTIVE);
    let groups = ["comp.a", "sci.x", "kept.x"];
    let articles: String = (0..12).map(|id| article(id, groups[id % 3])).collect();
    assert_eq!(program.rnews(articles.as_bytes()).status, 0);
    program.write("news/explist", POLICY);
    let settings = program.read("news/broadsheet.toml") + "\n[expiry]\n" + limits + "\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

fn expire(program: &Program, words: &[&str], days: u64) -> Told {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + days * 86_400;
    let now = now.to_string();
    let mut all = vec!["--dir", "news", "--now", &now];
    all.splice(0..0, words.iter().copied());
    program.run(&all)
}

#[test]
fn what_has_used_up_most_of_its_life_goes_first() {
    // 600 kB are there; 150 kB less means four of comp, half of whose life is over.
    let program = news("max_size = \"480 kB\"");
    let told = expire(&program, &["expire", "-n"], 5);
    assert_eq!(told.status, 0, "{told:?}");
    let mut lines = told.out.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("space: "), "{told:?}");
    assert!(
        first.ends_with(" KiB more needed; lives would be shortened to 50.0 %"),
        "{told:?}"
    );
    // A whole number where the articles arrived in the second from which the test counts.
    let lives: Vec<String> = lines.take(2).map(|line| line.replace(".0 ", " ")).collect();
    assert_eq!(
        lives,
        [
            "space: comp 10 days -> 5 days",
            "space: sci 20 days -> 10 days"
        ]
    );
    assert!(told.out.contains("4 articles would be removed"), "{told:?}");

    let told = expire(&program, &["expire", "--json"], 5);
    assert_eq!(told.status, 0, "{told:?}");
    let told = told.summary();
    assert_eq!(told["hierarchies"]["comp"]["articles"], 4, "{told}");
    assert_eq!(told["space"]["bytes_missing"], 0, "{told}");
    assert_eq!(told["space"]["lives"][0]["patterns"], "comp", "{told}");
    let again = expire(&program, &["expire"], 5);
    assert_eq!(again.out, "0 articles removed, 0 of 8 links\n", "{again:?}");
}

#[test]
fn what_cannot_be_found_is_told_and_ends_with_1() {
    let program = news("keep_free = \"900 TiB\"");
    let told = expire(&program, &["expire"], 5);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err
            .contains("8 of 12 links would be removed because space is short, more than 60 %"),
        "{told:?}"
    );
    let told = expire(&program, &["expire", "--force"], 5);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("are still missing"), "{told:?}");
    assert!(
        told.out.contains("8 articles removed, 8 of 12 links"),
        "{told:?}"
    );
    let shown = |id: &str| program.run(&["article", "--dir", "news", id]).status;
    assert_eq!(shown("<2@far>"), 0, "what never goes stays");
    assert_ne!(shown("<0@far>"), 0);
}

/// What more a run would have to remove is refused; articles whose time has come go nevertheless.
#[test]
fn where_too_much_would_go_articles_expire_by_dates() {
    let program = news("keep_free = \"900 TiB\"");
    program.write("news/explist", b"comp x 4 -\nsci x 20 -\nall x never -\n");
    for words in [&["expire", "-n"][..], &["expire"]] {
        let told = expire(&program, words, 5);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(
            told.out.contains("more needed; lives stay as they are")
                && told.out.contains("4 articles")
                && told.err.contains(
                    "are still missing: 8 of 12 links would be removed because space is short"
                ),
            "{told:?}"
        );
    }
}

#[test]
fn the_least_life_holds_whatever_is_asked_for() {
    let program = news("keep_free = \"900 TiB\"");
    program.write("news/explist", b"/bounds/ x 4-9-never -\nall x 10 -\n");
    let told = expire(&program, &["expire", "--force"], 3);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("0 articles removed"), "{told:?}");
    let told = expire(&program, &["expire", "--force"], 5);
    assert!(told.out.contains("12 articles removed"), "{told:?}");
}

#[test]
fn expireiflow_runs_only_when_little_is_free() {
    let program = news("");
    let link = program.path("expireiflow");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broadsheet"), &link).unwrap();
    let told = program.run_as(&link, &["--dir", "news", "1"], b"");
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out.ends_with(" are free: expire is not needed\n"),
        "{told:?}"
    );
    assert_eq!(told.out.lines().count(), 1);
    let told = expire(&program, &["expireiflow", "--json", "1"], 30).summary();
    assert_eq!(told["ran"], false);

    let told = expire(&program, &["expireiflow", "-n", "999999999"], 5);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("8 articles would be removed"), "{told:?}");
    let told = expire(&program, &["expireiflow", "--force", "999999999"], 5);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("8 articles removed"), "{told:?}");
    let told = program.run_as(&link, &["--dir", "news", "lots"], b"");
    assert_eq!(told.status, 64, "{told:?}");
}
