//! `import cnews`: groups, control files and articles of a C News come over, with their numbers and times of arrival; what it had seen is refused;
//! lines that have no counterpart are named.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use crate::program;

use program::Program;
use program::articles::{batch, many, with};
use program::daemon::until;

/// A C News made by hand.
struct Made {
    program: Program,
    history: String,
}

impl Made {
    fn new(active: &str) -> Made {
        let program = Program::new();
        fs::create_dir_all(program.path("ctl/bin")).unwrap();
        fs::create_dir_all(program.path("arts")).unwrap();
        program.write("ctl/active", active.as_bytes());
        program.write("ctl/whoami", b"cnews.example.org\n");
        let arts = program.path("arts").display().to_string();
        let config = format!("# shell variables\nNEWSARTS=${{NEWSARTS-{arts}}}\n");
        program.write("ctl/bin/config", config.as_bytes());
        Made {
            program,
            history: String::new(),
        }
    }

    /// Files an article as relaynews did: one file, links, an Xref of all.
    fn file(&self, article: &[u8], links: &[(&str, usize)]) {
        let list: Vec<String> = links
            .iter()
            .map(|(group, number)| format!("{group}:{number}"))
            .collect();
        let xref = format!("Xref: cnews.example.org {}\n", list.join(" "));
        let text = [xref.as_bytes(), article].concat();
        let mut first = None;
        for (group, number) in links {
            let path = self
                .program
                .path(&format!("arts/{}/{number}", group.replace('.', "/")));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match &first {
                None => {
                    fs::write(&path, &text).unwrap();
                    first = Some(path);
                }
                Some(first) => fs::hard_link(first, &path).unwrap(),
            }
        }
    }

    fn line(&mut self, id: &str, dates: &str, links: &[(&str, usize)]) {
        let links: Vec<String> = links
            .iter()
            .map(|(group, number)| format!("{group}/{number}"))
            .collect();
        let tab = if links.is_empty() { "" } else { "\t" };
        writeln!(self.history, "{id}\t{dates}{tab}{}", links.join(" ")).unwrap();
    }

    fn add(&mut self, article: &[u8], links: &[(&str, usize)]) {
        self.file(article, links);
        self.line(&program::corpus::id(article), "1700000000~-~100", links);
    }

    fn done(self) -> Program {
        self.program.write("ctl/history", self.history.as_bytes());
        self.program
    }
}

const ACTIVE: &str = "comp.test 0000000100 00001 y\nrec.test 0000000007 00001 m\n\
                      control 0000000000 00001 y\njunk 0000000000 00001 y\n";
const IMPORT: [&str; 5] = ["import", "cnews", "ctl", "--dir", "news"];

#[test]
fn articles_keep_their_numbers_and_ids_are_remembered() {
    let mut made = Made::new(ACTIVE);
    let cross = with("<x@example.com>", "comp.test,rec.test", "", b"cross\n");
    made.add(&cross, &[("comp.test", 90), ("rec.test", 7)]);
    made.add(
        &with("<late@example.com>", "comp.test", "", b".\nlate\n"),
        &[("comp.test", 12)],
    );
    // Expired in one of its groups only.
    let half = with("<half@example.com>", "comp.test,rec.test", "", b"half\n");
    made.add(&half, &[("comp.test", 13), ("rec.test", 2)]);
    fs::remove_file(made.program.path("arts/comp/test/13")).unwrap();
    // Cancelled: its file is gone. Cancelled in advance: it never had one. A date as people wrote it.
    made.line("<gone@example.com>", "1700000000~-~1", &[("comp.test", 14)]);
    made.line("<seen@example.com>", "Mon Dec 20 04:39:21 GMT 1993~-", &[]);
    made.history.push_str("garbled\n");
    // Only in the tree: two groups, and one that has no Xref.
    let lost = with("<lost@example.com>", "comp.test,rec.test", "", b"lost\n");
    made.file(&lost, &[("comp.test", 95), ("rec.test", 5)]);
    let bare = with("<bare@example.com>", "comp.test", "", b"bare\n");
    made.program.write("arts/comp/test/96", &bare);
    made.program.write("arts/comp/test/core", b"not an article");
    let program = made.done();
    let dry = program.run(&["import", "cnews", "-n", "ctl"]);
    assert_eq!(dry.status, 0, "{dry:?}");
    assert!(
        dry.out.contains("articles in the history: 4"),
        "{}",
        dry.out
    );
    assert!(!program.path("news").exists());
    let told = program.run(&[&IMPORT[..], &["--json"]].concat());
    assert_eq!(told.status, 1, "{told:?}");
    let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    for (key, count) in [
        ("filed", 5),
        ("gone", 1),
        ("remembered", 1),
        ("garbled", 1),
        ("unfiled", 0),
    ] {
        assert_eq!(answer["counts"][key], count, "{key}: {told:?}");
    }
    program.assert_clean();
    let numbers = |group: &str| -> Vec<String> {
        let rows = program.run(&["overview", "--dir", "news", group]).out;
        rows.lines()
            .map(|row| {
                let fields: Vec<&str> = row.split('\t').collect();
                format!("{} {}", fields[0], fields[4])
            })
            .collect()
    };
    assert_eq!(
        numbers("comp.test"),
        [
            "12 <late@example.com>",
            "90 <x@example.com>",
            "95 <lost@example.com>",
            "96 <bare@example.com>"
        ]
    );
    assert_eq!(
        numbers("rec.test"),
        [
            "2 <half@example.com>",
            "5 <lost@example.com>",
            "7 <x@example.com>"
        ]
    );
    let article = program.run(&["article", "--dir", "news", "comp.test/90"]);
    assert_eq!(
        article.out.as_bytes(),
        fs::read(program.path("arts/comp/test/90")).unwrap()
    );
    let found = program.run(&["history", "find", "--dir", "news", "<x@example.com>"]);
    assert!(found.out.contains("\t1700000000~"), "{found:?}");
    let found = program.run(&["history", "find", "--dir", "news", "<seen@example.com>"]);
    assert!(found.out.contains("\t756362361~"), "{found:?}");
    let active = program.read("news/active");
    assert!(active.contains("comp.test 0000000100 00012 y"), "{active}");
    // What C News had seen is a duplicate; a new article comes after the high mark.
    let again = [
        "<gone@example.com>",
        "<seen@example.com>",
        "<half@example.com>",
    ];
    let again = again.map(|id| with(id, "comp.test", "", b"x\n"));
    assert_eq!(program.rnews(&batch(&again)).count("duplicates"), 3);
    let new = with("<new@example.com>", "comp.test", "", b"x\n");
    assert_eq!(program.rnews(&batch(&[new])).count("accepted"), 1);
    assert!(
        program
            .read("news/active")
            .contains("comp.test 0000000101 ")
    );
    // Again: nothing is filed twice.
    let told = program.run(&[&IMPORT[..], &["--json"]].concat());
    let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(answer["counts"]["filed"], 0, "{told:?}");
    assert_eq!(answer["counts"]["unfiled"], 0, "{told:?}");
    program.assert_clean();
}

#[test]
fn articles_that_an_earlier_run_did_not_find_are_filed() {
    let mut made = Made::new(ACTIVE);
    for (number, article) in (5..).zip(many("c", 2, "comp.test", 20)) {
        made.add(&article, &[("comp.test", number)]);
    }
    let other = with("<other@example.com>", "rec.test", "", b"other\n");
    made.add(&other, &[("rec.test", 3)]);
    let program = made.done();
    let counts = || {
        let told = program.run(&[&IMPORT[..], &["--json"]].concat());
        assert_eq!(told.status, 0, "{told:?}");
        let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        let count = |key| answer["counts"][key].as_u64().unwrap();
        (count("filed"), count("known"), count("gone"))
    };
    // A hierarchy on a disk that is not mounted, and one article.
    let places = [("arts/comp/test/6", "away"), ("arts/rec", "unmounted")];
    for (place, away) in places {
        fs::rename(program.path(place), program.path(away)).unwrap();
    }
    assert_eq!(counts(), (1, 0, 2));
    let again = program.rnews(&batch(std::slice::from_ref(&other)));
    assert_eq!(again.count("duplicates"), 1, "{again:?}");
    for (place, away) in places {
        fs::rename(program.path(away), program.path(place)).unwrap();
    }
    assert_eq!(counts(), (2, 1, 0));
    program.assert_clean();
    let rows = program.run(&["overview", "--dir", "news", "rec.test"]).out;
    assert!(rows.starts_with("3\t"), "{rows}");
}

#[test]
fn what_c_news_did_otherwise_is_reported() {
    let made = Made::new(ACTIVE);
    made.program
        .write("ctl/sys", b"ME:all\nnorth:all/all:f:\nsouth:all/all:f:\n");
    made.program.write(
        "ctl/batchparms",
        b"north\tu\t100000\t20\tbatcher | compcun | viamail\n/default/\tu\t100000\t20\tbatcher | viauux\n",
    );
    let program = made.done();
    let told = program.run(&[&IMPORT[..], &["--settings-only"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    for said in [
        "active: kept: junk = true",
        "controlperm: CHANGED: control.cancel = \"locked\"",
        "controlperm: CHANGED: there is none: only messages signed by a trusted key",
        "explist: CHANGED: there is none: explist keeps 30 days",
        "the site gets no batches (`!') until you have edited it",
    ] {
        assert_eq!(told.out.matches(said).count(), 1, "{said}: {told:?}");
    }
    assert!(program.read("news/explist").contains("all\t\tx\t30\t"));
    // Articles in unknown groups are filed in junk, and relayed.
    let unknown = with("<u@example.com>", "alt.unknown", "", b"x\n");
    assert_eq!(program.rnews(&batch(&[unknown])).count("accepted"), 1);
    let rows = program.run(&["overview", "--dir", "news", "junk"]).out;
    assert_eq!(rows.lines().count(), 1, "{rows}");
    let told = program.run(&["feed", "list", "--dir", "news", "--json"]);
    assert_eq!(told.out.matches("\"articles\":1").count(), 2, "{told:?}");
    // The site whose line cannot be used gets nothing by the line for all.
    let parms = program.read("news/batchparms");
    assert!(parms.contains("\nnorth\tu!\t"), "{parms}");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn a_killed_import_goes_on() {
    const COUNT: usize = 1500;
    let mut made = Made::new(ACTIVE);
    for (number, article) in (1..).zip(many("k", COUNT, "comp.test", 3000)) {
        // The last third is only in the tree.
        match number <= COUNT * 2 / 3 {
            true => made.add(&article, &[("comp.test", number)]),
            false => made.file(&article, &[("comp.test", number)]),
        }
    }
    let program = made.done();
    let told = program.run(&[&IMPORT[..], &["--settings-only"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    program.set_commit_bytes("32 KiB");
    for round in 0..4 {
        let mut child = program
            .command(&IMPORT)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let before = fs::read(program.path("news/active")).unwrap();
        until("it files something, or is done", || {
            fs::read(program.path("news/active")).unwrap() != before
                || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(20 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!program.path("news/import.state").exists());
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let numbers = rows
        .lines()
        .map(|row| row.split('\t').next().unwrap().to_owned());
    let all: Vec<String> = (1..=COUNT).map(|number| number.to_string()).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), all);
    program.assert_clean();
}

#[test]
fn a_bare_tree_is_imported_and_a_tree_that_is_elsewhere_is_noticed() {
    let made = Made::new(ACTIVE);
    let article = with("<1@example.com>", "comp.test", "", b"one\n");
    made.file(&article, &[("comp.test", 5)]);
    made.file(
        &with("<2@example.com>", "alt.none", "", b"two\n"),
        &[("alt.none", 5)],
    );
    // The same article with two numbers: the second one is kept, and named.
    fs::create_dir_all(made.program.path("arts/rec")).unwrap();
    made.program.write("arts/rec/test", b"not a directory");
    made.file(&article, &[("comp.test", 6)]);
    let program = made.program;
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("1 articles filed"), "{told:?}");
    assert!(
        told.err
            .contains("comp.test/6: <1@example.com> is here already"),
        "{told:?}"
    );
    assert!(
        program
            .read("news/import.refused")
            .contains("comp.test/6: ")
    );
    assert!(
        program
            .read("news/bad/import.unfiled")
            .starts_with("#! rnews ")
    );
    program.assert_clean();

    let mut made = Made::new(ACTIVE);
    made.line("<1@example.com>", "1700000000~-~1", &[("comp.test", 14)]);
    let program = made.done();
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("(--articles)"), "{told:?}");
    let told = program.run(&["import", "cnews", "arts", "--dir", "other"]);
    assert!(told.status > 1 && told.err.contains("NEWSCTL"), "{told:?}");
}

#[test]
fn a_directory_that_root_makes_belongs_to_the_user_of_the_server() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root may give a directory to another user");
        return;
    }
    let mut made = Made::new("comp.test 0000000001 00001 y\n");
    made.add(&with("<1@x>", "comp.test", "", b"\n"), &[("comp.test", 1)]);
    let program = made.done();
    // The other user reads the files of C News, and cannot write beside them.
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(program.path(""), open).unwrap();
    let told = program.run(&[&IMPORT[..], &["--run-as", "nobody"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    let owner = |file: &str| fs::metadata(program.path(file)).unwrap().uid();
    assert_ne!(owner("news/broadsheet.toml"), 0);
    // Root goes on as the owner.
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 0, "{told:?}");
    for path in program.files("news") {
        assert_ne!(fs::metadata(&path).unwrap().uid(), 0, "{}", path.display());
    }
    fs::remove_dir_all(program.path("news")).unwrap();
    let told = program.run(&IMPORT);
    assert!(told.err.contains("news belongs to root: "), "{told:?}");
}

/// The results of an import.
fn counts(program: &Program, status: i32) -> serde_json::Value {
    let told = program.run(&[&IMPORT[..], &["--json"]].concat());
    assert_eq!(told.status, status, "{told:?}");
    let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    answer["counts"].clone()
}

#[test]
fn all_articles_of_a_bare_tree_are_seen() {
    let made = Made::new(ACTIVE);
    for (number, article) in (5..).zip(many("b", 3, "comp.test", 20)) {
        made.file(&article, &[("comp.test", number)]);
    }
    let program = made.program;
    assert_eq!(counts(&program, 0)["filed"], 3);
    let active = program.read("news/active");
    assert!(active.contains("comp.test 0000000100 00005 y"), "{active}");
    program.write("news/explist", b"/expired/ x 30 -\nall x never -\n");
    let told = program.run(&["expire", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 3, "{rows}");
    program.assert_clean();
}

#[test]
fn an_article_of_equal_length_is_another_one() {
    let made = Made::new(ACTIVE);
    made.file(
        &with("<1@example.com>", "comp.test,rec.test", "", b"one\n"),
        &[("comp.test", 5), ("rec.test", 3)],
    );
    // Another article took the place in the second group; its Xref has the same length. A copy of a third one.
    fs::remove_file(made.program.path("arts/rec/test/3")).unwrap();
    let mut other = b"Xref: cnews.example.org comp.test:6 rec.test:3\n".to_vec();
    other.extend_from_slice(&with("<2@example.com>", "comp.test,rec.test", "", b"two\n"));
    made.program.write("arts/rec/test/3", &other);
    let third = with("<3@example.com>", "comp.test,rec.test", "", b"x\n");
    made.file(&third, &[("comp.test", 7), ("rec.test", 4)]);
    let copy = fs::read(made.program.path("arts/comp/test/7")).unwrap();
    fs::remove_file(made.program.path("arts/rec/test/4")).unwrap();
    made.program.write("arts/rec/test/4", &copy);
    let program = made.program;
    assert_eq!(counts(&program, 0)["filed"], 3);
    let rows = program.run(&["overview", "--dir", "news", "rec.test"]).out;
    let ids: Vec<&str> = rows
        .lines()
        .map(|row| row.split('\t').nth(4).unwrap())
        .collect();
    assert_eq!(ids, ["<2@example.com>", "<3@example.com>"], "{rows}");
    program.assert_clean();
}

#[test]
fn a_file_without_a_time_arrives_at_its_date() {
    let made = Made::new(ACTIVE);
    made.file(
        &with("<1@example.com>", "comp.test", "", b"one\n"),
        &[("comp.test", 5)],
    );
    let file = fs::File::open(made.program.path("arts/comp/test/5")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let program = made.program;
    assert_eq!(counts(&program, 0)["filed"], 1);
    let found = program.run(&["history", "find", "--dir", "news", "<1@example.com>"]);
    assert!(found.out.contains("\t756362361~"), "{found:?}");
}

#[test]
fn articles_below_the_low_mark_are_named() {
    let made = Made::new(ACTIVE);
    let first = with("<1@example.com>", "comp.test", "", b"one\n");
    made.file(&first, &[("comp.test", 10)]);
    let program = &made.program;
    assert_eq!(counts(program, 0)["filed"], 1);
    // One that came back, and one that is here.
    let late = with("<2@example.com>", "comp.test", "", b"late\n");
    made.file(&late, &[("comp.test", 4)]);
    made.file(&first, &[("comp.test", 3)]);
    let counts = counts(program, 1);
    assert_eq!(
        (&counts["filed"], &counts["unfiled"]),
        (&0.into(), &1.into())
    );
    let refused = program.read("news/import.refused");
    let why = "<2@example.com>: number 4 of comp.test is below the low mark, 10";
    assert!(refused.contains(why), "{refused}");
    let kept = program.read("news/bad/import.unfiled");
    assert!(kept.contains("late\n"), "{kept}");
    // With a fault, the low marks stay.
    let made = Made::new("comp.test 0000000100 00001 y\n");
    made.file(
        &with("<1@example.com>", "comp.test", "", b"one\n"),
        &[("comp.test", 10)],
    );
    made.program.write("arts/comp/test/7", b"not an article\n");
    self::counts(&made.program, 1);
    let active = made.program.read("news/active");
    assert!(active.contains("comp.test 0000000100 00001 y"), "{active}");
}

#[test]
fn a_later_run_takes_over_high_marks_and_new_groups() {
    let mut made = Made::new(ACTIVE);
    made.program.write("ctl/history", b"");
    assert_eq!(counts(&made.program, 0)["added_groups"], 0);
    let later =
        "comp.test 0000000200 00001 y\nrec.test 0000000003 00001 y\nnew.test 0000000009 00001 m\n";
    made.program.write("ctl/active", later.as_bytes());
    let cross = with("<x@example.com>", "comp.test,new.test", "", b"cross\n");
    made.add(&cross, &[("comp.test", 150), ("new.test", 8)]);
    let program = made.done();
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        "rec.test: its flag is m here, and y there",
        "new.test: the group is new",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    for part in ["1 groups are new", "1 groups have another flag"] {
        assert!(told.out.contains(part), "{part}: {told:?}");
    }
    let rows = program.run(&["overview", "--dir", "news", "new.test"]).out;
    assert!(
        rows.starts_with("8\t") && rows.contains("<x@example.com>"),
        "{rows}"
    );
    assert!(program.read("news/active.times").contains("new.test "));
    // The log has the marks, too.
    fs::remove_file(program.path("news/active")).unwrap();
    let groups = "comp.test,rec.test,new.test";
    let new = with("<new@example.com>", groups, "Approved: a@b\n", b"x\n");
    assert_eq!(program.rnews(&batch(&[new])).count("accepted"), 1);
    let active = program.read("news/active");
    for line in [
        "comp.test 0000000201 ",
        "rec.test 0000000008 ",
        "new.test 0000000010 ",
    ] {
        assert!(active.contains(line), "{line}: {active}");
    }
    program.run(&["group", "set", "--dir", "news", "rec.test", "y"]);
    let counts = counts(&program, 0);
    assert_eq!(
        (&counts["added_groups"], &counts["differing_groups"]),
        (&0.into(), &0.into())
    );
    program.assert_clean();
}

const SYS: &str = "# our neighbours\nME:all,!alt/all::\nuunet/oldname:comp,rec/all,!local:f:\n\
    full:all:f:full/togo\nlist:comp:F:/var/lists/x\nshell:all::(cat | uux - x!rnews)\n\
    long:comp,\\\n   rec:f:\nwrong:all:Q:\none:comp::uux - -r one!rnews\n";
const BATCHPARMS: &str = "# site class size queue command\nuunet u 100000 20 batcher | compcun | viauux -z\n\
    full u! 100000 - batcher | gzip -9 | viauux\nmailed u 100000 20 batcher | viamail\n";

#[test]
fn control_files_come_over_and_what_has_no_counterpart_is_named() {
    let made = Made::new(ACTIVE);
    let program = &made.program;
    for (name, text) in [
        ("sys", SYS),
        ("batchparms", BATCHPARMS),
        (
            "explist",
            "/expired/ x 14 -\ncomp x 7-30 -\nall x 14 @\nnone.such x 3 -\n",
        ),
        (
            "mailpaths",
            "rec.test rec-test@example.org\ninternet gateway.example.org\nx y z\n",
        ),
        ("controlperm", "comp tale@example.org nr y\nall any n nv\n"),
        ("mailname", "example.org\n"),
        ("organization", "An \"Organization\"\n"),
        ("server", "other.example.org\n"),
        ("nntp_access", "*.example.org read post *\n"),
        ("distributions", "world\tEverywhere\n"),
        ("moderators", "rec.*:%s@example.org\n"),
        ("newsgroups", "comp.test\tTests.\n"),
        ("active.times", "comp.test 700000000 tale@example.org\n"),
    ] {
        program.write(&format!("ctl/{name}"), text.as_bytes());
    }
    fs::create_dir_all(program.path("arts/out.going/uunet")).unwrap();
    fs::create_dir_all(program.path("arts/in.coming")).unwrap();
    program.write("arts/out.going/uunet/togo", b"comp/test/1 100\n");
    program.write("arts/in.coming/1234.t", b"x");
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 0, "{told:?}");
    for part in [
        "ctl/sys:4: kept: full: batches, by batchparms",
        "ctl/sys:3: NOT KEPT: uunet: articles wait in ",
        "ctl/sys:5: CHANGED: list: a list of articles in /var/lists/x",
        "ctl/sys:6: NOT KEPT: `shell:all::(cat | uux - x!rnews)': ",
        "ctl/sys:7: CHANGED: long: batches: ",
        "ctl/sys:9: NOT KEPT: `wrong:all:Q:': unknown flag",
        "ctl/sys:10: kept: one: `uux' for each article",
        "ctl/batchparms:2: kept: uunet: batches of class u by `uux'",
        "ctl/batchparms:3: kept: full: batches of class u by `uux', off",
        "ctl/batchparms:4: NOT KEPT: `mailed u 100000 20 batcher | viamail': ",
        "ctl/explist: kept: ",
        "ctl/explist:3: CHANGED: ",
        "ctl/mailpaths:2: not needed: internet",
        "ctl/mailpaths:3: NOT KEPT: it is not `PATTERN ADDRESS'",
        "ctl/controlperm: kept: ",
        "ctl/server: NOT KEPT: ",
        "ctl/nntp_access: NOT KEPT: ",
        "ctl/distributions: kept: copied to distributions",
        "ctl/moderators: kept: copied to moderators",
        "in.coming: NOT KEPT: 1 batches wait",
    ] {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    assert!(told.out.contains("none.such"), "{}", told.out);
    let settings = program.read("news/broadsheet.toml");
    for line in [
        "name = \"cnews.example.org\"",
        "mailname = \"example.org\"",
        "organization = \"An \\\"Organization\\\"\"",
    ] {
        assert!(settings.contains(line), "{line}: {settings}");
    }
    assert!(
        program
            .read("news/mailpaths")
            .contains("rec.test rec-test@example.org\n")
    );
    assert!(
        program
            .read("news/sys")
            .contains("\nfull:all:f:full/togo\n")
    );
    assert!(
        program
            .read("news/active.times")
            .contains("tale@example.org")
    );
    // The report says so, too: C News had the directory of `@' on the command line.
    let checked = program.run(&["check", "-q", "--dir", "news"]);
    let said = "explist:3: archives to `@', but no archive directory is set";
    assert!(
        checked.status == 1 && checked.out.contains(said),
        "{checked:?}"
    );
    // As of a new directory: space that expire leaves free.
    assert!(
        program
            .read("news/broadsheet.toml")
            .contains("\n[expiry]\nkeep_free = \"")
    );
    program.set("[expiry]", "[expiry]\narchive_directory = \"old\"");
    let checked = program.run(&["check", "--dir", "news"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    for site in ["uunet: batch", "full: batch", "one: command", "list: files"] {
        assert!(checked.out.contains(site), "{site}: {}", checked.out);
    }
}

#[test]
fn an_explist_with_errors_keeps_everything() {
    let made = Made::new(ACTIVE);
    made.program.write("ctl/explist", b"comp x 7 -\n");
    let told = made.program.run(&IMPORT);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("ctl/explist: CHANGED: "), "{}", told.out);
    assert!(made.program.read("news/explist").contains("all x never -"));
    assert_eq!(made.program.read("news/explist.cnews"), "comp x 7 -\n");
    let checked = made.program.run(&["check", "--dir", "news"]);
    assert_eq!(checked.status, 0, "{checked:?}");
}

#[test]
fn a_second_run_over_a_bare_tree_counts_what_is_here() {
    let made = Made::new(ACTIVE);
    for (number, article) in (5..).zip(many("b", 3, "comp.test", 20)) {
        made.file(&article, &[("comp.test", number)]);
    }
    let cross = with("<x@example.com>", "comp.test,rec.test", "", b"cross\n");
    made.file(&cross, &[("comp.test", 90), ("rec.test", 7)]);
    let program = made.program;
    let of = |counts: serde_json::Value| {
        ["filed", "known", "unfiled"].map(|key| counts[key].as_u64().unwrap())
    };
    assert_eq!(of(counts(&program, 0)), [4, 0, 0]);
    assert_eq!(of(counts(&program, 0)), [0, 4, 0]);
    program.assert_clean();
}

#[test]
fn other_articles_under_used_numbers_are_kept_and_named() {
    let made = Made::new(ACTIVE);
    for (number, article) in (5..).zip(many("b", 3, "comp.test", 20)) {
        made.file(&article, &[("comp.test", number)]);
    }
    let program = &made.program;
    assert_eq!(counts(program, 0)["filed"], 3);
    // A tree of another site: another article, and another text with the same id.
    let other = with("<other@example.com>", "comp.test", "", b"other\n");
    program.write("arts/comp/test/5", &other);
    let text = with("<b.2@example.com>", "comp.test", "", b"changed\n");
    program.write("arts/comp/test/6", &text);
    let told = counts(program, 1);
    let told = ["filed", "known", "unfiled"].map(|key| told[key].as_u64().unwrap());
    assert_eq!(told, [0, 1, 2]);
    let refused = program.read("news/import.refused");
    for why in [
        "<other@example.com>: number 5 of comp.test is taken",
        "comp.test/6: <b.2@example.com>: another article with this id is here",
    ] {
        assert!(refused.contains(why), "{why}: {refused}");
    }
    let kept = program.read("news/bad/import.unfiled");
    assert!(
        kept.contains("other\n") && kept.contains("changed\n"),
        "{kept}"
    );
    program.assert_clean();
}

#[test]
fn a_file_without_a_message_id_is_named_so() {
    let made = Made::new(ACTIVE);
    fs::create_dir_all(made.program.path("arts/comp/test")).unwrap();
    made.program.write(
        "arts/comp/test/7",
        b"From: a@b\nSubject: none\nNewsgroups: comp.test\n\nx\n",
    );
    counts(&made.program, 1);
    let refused = made.program.read("news/import.refused");
    assert!(
        refused.starts_with("comp.test/7: no Message-ID: header; the article is kept in "),
        "{refused}"
    );
}

#[test]
fn articles_that_c_news_cancelled_since_are_listed() {
    let mut made = Made::new(ACTIVE);
    for (number, article) in (5..).zip(many("b", 3, "comp.test", 20)) {
        made.add(&article, &[("comp.test", number)]);
    }
    let program = made.done();
    assert_eq!(counts(&program, 0)["gone_here"], 0);
    for number in [5, 7] {
        fs::remove_file(program.path(&format!("arts/comp/test/{number}"))).unwrap();
    }
    // Of the second one, a later line has another file.
    fs::rename(
        program.path("arts/comp/test/6"),
        program.path("arts/comp/test/9"),
    )
    .unwrap();
    let history = program.read("ctl/history") + "<b.2@example.com>\t1700000000~-~1\tcomp.test/9\n";
    program.write("ctl/history", history.as_bytes());
    assert_eq!(counts(&program, 0)["gone_here"], 2);
    assert_eq!(
        program.read("news/import.gone"),
        "<b.1@example.com>\n<b.3@example.com>\n"
    );
}

#[test]
fn articles_of_groups_that_active_lacks_are_named() {
    let made = Made::new(ACTIVE);
    let article = with("<1@example.com>", "comp.test", "", b"one\n");
    made.file(&article, &[("comp.test", 5)]);
    for (number, article) in (1..).zip(many("g", 2, "gone.group", 20)) {
        made.file(&article, &[("gone.group", number)]);
    }
    let program = made.program;
    for name in ["in.coming/bad/7", "out.going/site/8", "bad/9", "gone/core"] {
        fs::create_dir_all(program.path(&format!("arts/{name}")).parent().unwrap()).unwrap();
        program.write(&format!("arts/{name}"), b"x");
    }
    std::os::unix::fs::symlink(program.path("ctl"), program.path("arts/link")).unwrap();
    program.write("ctl/12", b"x");
    let told = counts(&program, 1);
    assert_eq!((&told["filed"], &told["unfiled"]), (&1.into(), &1.into()));
    let refused = program.read("news/import.refused");
    assert_eq!(refused.lines().count(), 1, "{refused}");
    assert!(
        refused.contains("arts/gone/group: 2 articles, and gone.group is not in active: add it"),
        "{refused}"
    );
    let told = program.run(&["group", "add", "--dir", "news", "gone.group"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(counts(&program, 0)["filed"], 2);
}
