//! A tree of files loses what expire and cancels removed. What the store lost stays there: it may be the last copy.
// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::articles::{batch, id, many};

/// A news directory with a site for a tree that is beside it, and articles 1 to 3.
fn three() -> Program {
    let program = Program::with_news("alt.test 0 1 y\ncomp.test 0 1 y\ncontrol 0 1 y\n");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"grove\"\ngroups = \"comp\"\nvia = { tree = \"../tree\", overview = true }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.rnews(&batch(&many("first", 3, "comp.test", 100)));
    program
}

fn numbers(program: &Program) -> Vec<u64> {
    let files = program.files("tree/comp/test");
    let name = |path: &std::path::PathBuf| path.file_name()?.to_str()?.parse().ok();
    let mut numbers: Vec<u64> = files.iter().filter_map(name).collect();
    numbers.sort_unstable();
    numbers
}

/// Runs expire, which removes an article of another group, so that the feed compares the whole tree; then serves the feed. Articles of the
/// tree go some days from now. Returns the messages.
fn expire(program: &Program, tag: &str, days: u64) -> String {
    let filed = program.rnews(&batch(&many(tag, 1, "alt.test", 10)));
    assert_eq!(filed.count("accepted"), 1, "{filed:?}");
    program.write("explist", b"alt x 0 -\nall x 2000 -\n");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let now = (now.as_secs() + 60 + days * 86400).to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--force", "--now", &now, "explist",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    filed.err + &told.err + &flush(program)
}

/// Serves the feed; returns its messages.
fn flush(program: &Program) -> String {
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    told.err
}

/// Files an article again from its file in the tree; returns the messages.
fn file_again(program: &Program, number: u64) -> String {
    let file = format!("tree/comp/test/{number}");
    let told = program.run(&["rnews", "--dir", "news", "--json", &file]);
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    told.err
}

#[test]
fn articles_after_the_backup() {
    let program = three();
    let told = program.run(&["backup", "backups", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    program.rnews(&batch(&many("second", 2, "comp.test", 100)));
    assert_eq!(numbers(&program), [1, 2, 3, 4, 5]);
    std::fs::remove_dir_all(program.path("news")).unwrap();
    let told = program.run(&["restore", "backups", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = flush(&program);
    assert!(
        told.contains(" and 1 more are kept: the store does not have"),
        "{told}"
    );
    assert_eq!(numbers(&program), [1, 2, 3, 4, 5]);
    // What is removed goes, and nothing is reported again.
    let told = program.run(&["article", "remove", "--dir", "news", &id("first", 2)]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(expire(&program, "once", 0), "");
    assert_eq!(numbers(&program), [1, 3, 4, 5]);
    // Filed again, they have other numbers, and the old files go.
    file_again(&program, 4);
    file_again(&program, 5);
    assert_eq!(expire(&program, "twice", 0), "");
    let found = numbers(&program);
    assert!(
        found.len() == 4 && found[..2] == [1, 3] && found[2] > 10_000,
        "{found:?}"
    );
}

#[test]
fn an_article_that_is_damaged() {
    let program = three();
    let segments = program.files("news/segments");
    let is_log = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "art");
    let path = segments.iter().find(is_log).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let text = b"first 2 first 2";
    let place = bytes.windows(text.len()).position(|piece| piece == text);
    bytes[place.unwrap()] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let told = program.run(&["fsck", "--dir", "news", "--repair"]);
    assert!(told.out.contains("lost to damage"), "{told:?}");
    // The feed passes what the repair wrote behind the articles: the log has not lost its end.
    assert_eq!(flush(&program), "");
    let told = expire(&program, "once", 0);
    assert!(!told.contains("lost its end"), "{told}");
    assert!(told.contains("tree/comp/test/2 is kept: "), "{told}");
    assert_eq!(numbers(&program), [1, 2, 3]);
    assert_eq!(file_again(&program, 2), "");
    assert_eq!(numbers(&program), [1, 2, 3, 4]);
    assert_eq!(expire(&program, "twice", 0), "");
    assert_eq!(numbers(&program), [1, 3, 4]);
    expire(&program, "thrice", 5000);
    assert_eq!(numbers(&program), [0; 0]);
}
