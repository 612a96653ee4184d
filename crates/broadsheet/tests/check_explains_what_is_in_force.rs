//! `broadsheet check`: every setting with its value and origin, every control file looked over.

mod program;
use program::{Program, golden};

const ACTIVE: &str = "comp.lang.c 0000000123 00007 y\nnews.admin 0000000000 00001 m\nold.name 0000000000 00001 =comp.lang.c\n";

#[test]
fn a_fresh_news_directory() {
    let program = Program::with_news(ACTIVE);
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    golden("check.txt", &told.out);
}

#[test]
fn a_setting_taken_out_is_the_default() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/broadsheet.toml",
        b"name = \"a\"\n[store]\nsync = \"each\"\n",
    );
    let told = program.run(&["check", "--dir", "news"]);
    assert!(
        told.out
            .contains("store.sync = \"each\"  (broadsheet.toml line 3)\n"),
        "{told:?}"
    );
    assert!(
        told.out
            .contains("limits.clock_skew_seconds = 86400  (the default)\n"),
        "{told:?}"
    );
}

#[test]
fn a_missing_file_is_a_fault() {
    let program = Program::with_news(ACTIVE);
    std::fs::remove_file(program.path("news/sys")).unwrap();
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    assert!(told.out.contains("sys: FAULT: is missing"), "{told:?}");
    assert!(told.out.ends_with("1 fault\n"), "{told:?}");
}

#[test]
fn json_says_the_same() {
    let program = Program::with_news(ACTIVE);
    let told = program.run(&["check", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0);
    let said: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(said["settings"][0]["setting"], "name");
    assert_eq!(said["settings"][0]["value"], "news.example.org");
    assert!(said["settings"][0]["line"].is_u64());
    assert_eq!(said["files"][0]["file"], "active");
    assert_eq!(said["files"][0]["fault"], false);
}

#[test]
fn bad_lines_of_active_are_named() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/active",
        b"comp.lang.c 1 1 y\nbad line\nloop.a 0 1 =loop.b\nloop.b 0 1 =loop.a\njunk 0 1 n\n",
    );
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    for said in [
        "active line 2",
        "no group `control'",
        "`loop.a' is an alias that leads to no group",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}
