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

#[test]
fn faults_of_the_other_files_are_named_as_their_users_name_them() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/newsgroups",
        b"comp.lang.c\tThe language\n../../x\tno\nother.group\tNot carried\n",
    );
    program.write("news/sys", b"ME:all\nsite:comp:f:\nbroken:comp:Z:\n");
    program.write("news/explist", b"comp x 5 -\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    for said in [
        "newsgroups: FAULT: newsgroups line 2: ",
        "sys: FAULT: sys line 3: unknown flag `Z'",
        "explist: FAULT: ",
        "3 faults\n",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
    let rnews = program.run(&["rnews", "--dir", "news"]);
    assert_eq!(rnews.status, 2);
    assert!(
        rnews.err.contains("sys line 3: unknown flag `Z'"),
        "{rnews:?}"
    );
}

#[test]
fn an_idle_rule_is_no_fault() {
    let program = Program::with_news(ACTIVE);
    program.write("news/explist", b"nowhere x 5 -\nall x 5 -\n");
    program.write(
        "news/newsgroups",
        b"comp.lang.c\tThe language\nother.group\tNot carried\n",
    );
    program.write("news/sys", b"ME:all\nsite:comp:f:\nother:all:f:\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    for said in [
        "newsgroups: 2 groups described, 1 of them not in active\n",
        "sys: 2 sites to send to; ",
        "explist: 2 rules\n    note: explist:1: `nowhere' rules no group\n",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}
