//! ihave and sendme between two sites: ids are offered, what is unknown is asked for, and only that travels.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use crate::program;

use program::articles::{self, batch, id, many};
use program::{Program, Told};

const GROUPS: &str =
    "control 0 1 y\njunk 0 1 y\ncomp.test 0 1 y\ncomp.secret 0 1 y\nrec.test 0 1 y\n";

/// Two news directories, `a` and `b`, that know nothing of each other yet.
fn two() -> Program {
    let program = Program::new();
    program.write("active.list", GROUPS.as_bytes());
    for name in ["a", "b"] {
        let host = format!("{name}.example");
        program.init(name, &host);
        std::fs::create_dir_all(program.path(&format!("{name}/in.coming"))).expect("made");
    }
    program
}

/// In `sys` and `batchparms`, as in C News: `from` offers to `to` what is in comp, except for comp.secret.
fn offers(program: &Program, from: &str, to: &str) {
    let add = |name: String, text: String| {
        let old = std::fs::read_to_string(program.path(&name)).unwrap_or_default();
        program.write(&name, (old + &text).as_bytes());
    };
    let rnews = |dir: &str| {
        let binary = env!("CARGO_BIN_EXE_broadsheet");
        format!(
            "sh -c 'cd .. && cat > last.SITE && {binary} rnews --dir {dir} last.SITE && cat last.SITE >> all.SITE'"
        )
    };
    add(
        format!("{from}/sys"),
        format!("{to}.example:comp,!comp.secret,!to/all:I:\n{to}.example.sendme:none:I:\n"),
    );
    add(
        format!("{from}/batchparms"),
        format!(
            "{to}.example u 100000 - batchih | {}\n{to}.example.sendme u 20000 - batchra | {}\n",
            rnews(to),
            rnews(to)
        ),
    );
    add(
        format!("{to}/sys"),
        format!("{from}.example.ihave:none:I:\n"),
    );
    add(
        format!("{to}/batchparms"),
        format!(
            "{from}.example.ihave u 100000 - batchsm | {}\n",
            rnews(from)
        ),
    );
}

fn rnews(program: &Program, dir: &str, articles: &[Vec<u8>]) -> Told {
    let told = program.feed(&["rnews", "--dir", dir, "--json"], &batch(articles));
    assert_eq!(told.status, 0, "{told:?}");
    told
}

fn send(program: &Program, dir: &str) -> Vec<serde_json::Value> {
    let told = program.run(&["sendbatches", "--dir", dir, "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    let lines = told.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// How many articles, or ids, went out to a site.
fn sent(told: &[serde_json::Value], site: &str) -> u64 {
    let line = told.iter().find(|line| line["site"] == site);
    line.and_then(|line| line["articles"].as_u64()).expect(site)
}

fn has(program: &Program, dir: &str, id: &str) -> bool {
    program.run(&["article", "--dir", dir, id]).status == 0
}

#[test]
fn only_what_is_unknown_travels() {
    let program = two();
    offers(&program, "a", "b");
    let both = many("both", 7, "comp.test", 500);
    rnews(&program, "b", &both);
    rnews(&program, "a", &many("new", 30, "comp.test", 2000));
    rnews(&program, "a", &both);
    rnews(&program, "a", &many("other", 3, "rec.test", 500));
    // An ihave with 37 ids, a sendme with 30, and 30 articles in several batches.
    assert_eq!(sent(&send(&program, "a"), "b.example"), 37);
    assert!(!has(&program, "b", &id("new", 1)));
    assert_eq!(sent(&send(&program, "b"), "a.example.ihave"), 30);
    let told = send(&program, "a");
    assert_eq!(sent(&told, "b.example.sendme"), 30);
    let line = told.iter().find(|line| line["site"] == "b.example.sendme");
    assert_eq!(line.expect("told")["batches"], 3);
    for number in 1..=30 {
        let id = id("new", number);
        let there = program.run_bytes(&["article", "--dir", "b", &id]);
        let there = String::from_utf8_lossy(&there).into_owned();
        assert!(
            there.contains("Path: b.example!a.example!far!near!user\n"),
            "{there}"
        );
    }
    let log = program.read("b/log");
    assert!(!log.to_lowercase().contains("duplicate"), "{log}");
    // Nothing is left to be said.
    for dir in ["a", "b", "a"] {
        for line in send(&program, dir) {
            assert_eq!(line["batches"], 0, "{dir}: {line}");
        }
    }
    // The messages were filed on the other side only, with an id and a Path that are the sender's.
    let all = program.read("all.b.example");
    assert!(all.contains("Control: ihave a.example\n"), "{all}");
    assert!(all.contains("Newsgroups: to.b.example\n"), "{all}");
    let made = all
        .lines()
        .find_map(|line| line.strip_prefix("Message-ID: <ihave"));
    let made = format!("<ihave{}", made.expect("an id"));
    assert!(!has(&program, "a", &made) && has(&program, "b", &made));
}

#[test]
fn both_ways_at_once() {
    let program = two();
    offers(&program, "a", "b");
    offers(&program, "b", "a");
    rnews(&program, "a", &many("of-a", 5, "comp.test", 100));
    rnews(&program, "b", &many("of-b", 6, "comp.test", 100));
    rnews(&program, "a", &many("both", 3, "comp.test", 100));
    rnews(&program, "b", &many("both", 3, "comp.test", 100));
    for dir in ["a", "b", "a", "b", "a", "b"] {
        send(&program, dir);
    }
    for dir in ["a", "b"] {
        assert!(has(&program, dir, &id("of-a", 5)), "{dir}");
        assert!(has(&program, dir, &id("of-b", 6)), "{dir}");
        let log = program.read(&format!("{dir}/log")).to_lowercase();
        assert!(!log.contains("duplicate"), "{log}");
    }
    for dir in ["a", "b"] {
        for line in send(&program, dir) {
            assert_eq!(line["batches"], 0, "{dir}: {line}");
        }
    }
}

#[test]
fn tables_say_the_same() {
    let program = two();
    let add = |dir: &str, name: &str, groups: &str, via: &str| {
        let settings = program.read(&format!("{dir}/broadsheet.toml"))
            + &format!("\n[[site]]\nname = \"{name}\"\ngroups = \"{groups}\"\nvia = {via}\n");
        program.write(&format!("{dir}/broadsheet.toml"), settings.as_bytes());
    };
    let to = |dir: &str, build: &str| {
        format!(
            "{{ directory = \"../{dir}/in.coming\", build = \"{build}\", compress = \"gzip\" }}"
        )
    };
    add("a", "b.example", "comp", &to("b", "ihave"));
    add("a", "b.example.sendme", "none", &to("b", "requested"));
    add("b", "a.example.ihave", "none", &to("a", "sendme"));
    rnews(&program, "a", &many("new", 3, "comp.test", 500));
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
        send(&program, from);
        let told = program.run(&["newsrun", "--dir", to]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    assert!(has(&program, "b", &id("new", 3)));
    let settings = program.read("b/broadsheet.toml");
    program.write(
        "b/broadsheet.toml",
        settings.replace("a.example.ihave", "a.example").as_bytes(),
    );
    let told = program.run(&["sendbatches", "--dir", "b"]);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(told.err.contains("should be HOST.ihave"), "{told:?}");
}

fn control(id: &str, kind: &str, host: &str, body: &str) -> Vec<u8> {
    let header = format!("Control: {kind} {host}\n");
    articles::with(id, "comp.test", &header, body.as_bytes())
}

#[test]
fn a_hostile_sendme_gets_what_the_site_may_have_and_once() {
    let program = two();
    offers(&program, "a", "b");
    rnews(&program, "a", &many("new", 2, "comp.test", 500));
    rnews(&program, "a", &many("secret", 2, "comp.secret", 500));
    rnews(&program, "a", &many("other", 2, "rec.test", 500));
    // From there already: it is not sent back.
    let back = String::from_utf8(articles::article("<back@x>", "comp.test")).expect("ASCII");
    let back = back
        .replace("Path: far!", "Path: b.example!far!")
        .into_bytes();
    rnews(&program, "a", &[back]);
    let mut body = String::from(
        "<new.1@example.com> <secret.1@example.com>\n<other.1@example.com> <back@x>\n",
    );
    body += "<unknown@x> <bad <> >< <a@b\n.\n..\n<../../etc/passwd> $(reboot)\n";
    body += &"<new.1@example.com>\n".repeat(5_000);
    body += &"<no@x>\n".repeat(5_000);
    // Beyond what is looked at.
    body += "<new.2@example.com>\n";
    rnews(
        &program,
        "a",
        &[control("<ask@b>", "sendme", "b.example", &body)],
    );
    // One that nobody is configured to answer, and one to a site of another name.
    rnews(
        &program,
        "a",
        &[control("<ask2@b>", "sendme", "elsewhere.example", &body)],
    );
    assert_eq!(sent(&send(&program, "a"), "b.example.sendme"), 1);
    assert!(has(&program, "b", &id("new", 1)));
    for id in [
        "<secret.1@example.com>",
        "<other.1@example.com>",
        "<back@x>",
        "<new.2@example.com>",
    ] {
        assert!(!has(&program, "b", id), "{id}");
    }
    // By hand it is the same, where the site is named.
    let by_hand = |words: &[&str]| {
        let told = program.feed(&[&["batchra", "--dir", "a"], words].concat(), b"<ask@b>\n");
        assert_eq!(told.status, 0, "{told:?}");
        told.out.matches("#! rnews ").count()
    };
    assert_eq!((by_hand(&["b.example"]), by_hand(&[])), (1, 4));
}

#[test]
fn a_hostile_ihave_stays_bounded() {
    let program = two();
    offers(&program, "a", "b");
    let mut body = String::new();
    for number in 0..300_000 {
        body += &format!("<{number}@x>\n");
    }
    let mut ihave = control("<offer@a>", "ihave", "a.example", &body);
    rnews(&program, "b", &[std::mem::take(&mut ihave)]);
    let told = send(&program, "b");
    assert_eq!(sent(&told, "a.example.ihave"), 10_000);
    let asked = program.read("last.a.example");
    assert_eq!(asked.matches("Control: sendme b.example\n").count(), 10);
    assert!(asked.contains("<9999@x>\n") && !asked.contains("<10000@x>\n"));
    // A's answer: none of them is here.
    for line in send(&program, "a") {
        assert_eq!(line["batches"], 0, "{line}");
    }
}

#[test]
fn a_long_sendme_goes_on_where_it_was() {
    let program = two();
    offers(&program, "a", "b");
    rnews(&program, "a", &many("new", 30, "comp.test", 2000));
    let body = (1..=30)
        .map(|number| id("new", number) + "\n")
        .collect::<String>();
    rnews(
        &program,
        "a",
        &[control("<ask@b>", "sendme", "b.example", &body)],
    );
    let words = [
        "sendbatches",
        "--dir",
        "a",
        "--json",
        "--batches",
        "1",
        "b.example.sendme",
    ];
    let mut all = 0;
    for _ in 0..3 {
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{told:?}");
        assert!(told.count("articles") > 0, "{told:?}");
        all += told.count("articles");
    }
    assert_eq!(all, 30);
    assert_eq!(program.run(&words).count("batches"), 0);
    let log = program.read("b/log").to_lowercase();
    assert!(!log.contains("duplicate"), "{log}");
    assert!(!program.path("a/feeds/b.example.sendme/asked").exists());
}

/// Such as those of `bad/lost.ids`.
#[test]
fn ids_that_are_no_messages_are_asked_for_themselves() {
    let program = two();
    rnews(&program, "a", &many("here", 1, "comp.test", 100));
    let list = format!("<lost.1@x>\n{}\n<lost.2@x>\n<lost.1@x>\n", id("here", 1));
    let told = program.feed(&["batchsm", "--dir", "a", "b.example"], list.as_bytes());
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("Control: sendme a.example"), "{told:?}");
    assert!(told.out.contains("\n<lost.1@x>\n<lost.2@x>\n"), "{told:?}");
    assert!(!told.out.contains("here.1"), "{told:?}");
}
