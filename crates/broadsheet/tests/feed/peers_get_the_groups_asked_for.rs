//! `peer add` and `peer show` write the groups of a peer in the languages of both sides, with one meaning.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, with};
use program::inn::Inn;
use program::{Program, Told};
use serde_json::Value;

const ACTIVE: &str = "comp.test 0000000000 00001 y\nmisc.test 0000000000 00001 y\n";

fn good(told: Told) -> Told {
    assert_eq!(told.status, 0, "{told:?}");
    told
}

/// The text of the lines for a file.
fn lines_of(told: &Value, file: &str) -> String {
    let mut all = told["lines"].as_array().unwrap().iter();
    let lines = all.find(|lines| lines["file"] == file);
    let lines = lines.unwrap_or_else(|| panic!("no lines of {file}: {told}"));
    lines["text"].as_str().unwrap().to_owned()
}

/// Among C News patterns the most exact one decides, in a wildmat the last.
#[test]
fn wildmats_have_the_meaning_of_the_patterns() {
    let program = Program::with_news(ACTIVE);
    let add = |name: &str, groups: &str| {
        let words = ["peer", "add", "--dir", "news", "--no-test", "--json", name];
        let ends = ["--host", "127.0.0.1:1", "--from", "192.0.2.7"];
        good(program.run(&[&words[..], &["--groups", groups], &ends].concat()))
    };
    for (name, groups, wildmat) in [
        (
            "a.example",
            "comp.os.linux,comp,!comp.os",
            "comp,comp.*,!comp.os,!comp.os.*,comp.os.linux,comp.os.linux.*",
        ),
        ("b.example", "!local,all", "*,!local,!local.*"),
        ("c.example", "general", "general,general.*"),
    ] {
        let told = add(name, groups);
        assert!(!told.err.contains("wildmat"), "{told:?}");
        let told = told.summary();
        let access = told["access"].as_str().unwrap();
        assert!(
            access.contains(&format!("send = \"{wildmat}\"\n")),
            "{access}"
        );
        let incoming = lines_of(&told, "incoming.conf");
        assert!(
            incoming.contains(&format!("patterns: \"{wildmat}\"\n")),
            "{incoming}"
        );
        let newsfeeds = lines_of(&told, "newsfeeds");
        assert!(
            newsfeeds.contains(&format!(":!*,{wildmat}/!local:")),
            "{newsfeeds}"
        );
        let theirs = lines_of(&told, "broadsheet.toml");
        assert!(
            theirs.contains(&format!("groups = \"{groups}\"\n")),
            "{theirs}"
        );
    }
    // In a wildmat no pattern stands for exactly one word.
    let told = add("d.example", "all,!comp.all.test");
    assert!(
        told.err
            .contains("in `!comp.all.test', `all' stands for one word"),
        "{told:?}"
    );
    for file in ["broadsheet.toml", "newsfeeds", "incoming.conf"] {
        let text = lines_of(&told.summary(), file);
        assert!(text.contains("# the wildmat is made of"), "{text}");
    }
}

/// The lines of `[[site]]` that `peer show` prints are accepted, and have the meaning of `send`.
#[test]
fn lines_for_another_broadsheet_have_the_meaning_of_send() {
    let active = ["comp.os.linux", "comp.osx", "comp.test", "alt.binaries.x"];
    let active = active
        .map(|name| format!("{name} 0000000000 00001 y\n"))
        .concat();
    let program = Program::with_news(&active);
    let before = program.read("news/broadsheet.toml");
    let show = |send: &str| {
        let table = format!(
            "\n[[access]]\nname = \"p.example\"\nfrom = \"192.0.2.7\"\nsend = \"{send}\"\n"
        );
        program.write("news/broadsheet.toml", (before.clone() + &table).as_bytes());
        let told = good(program.run(&["peer", "show", "--dir", "news", "--json", "p.example"]));
        lines_of(&told.summary(), "broadsheet.toml")
    };
    let there = Program::new();
    there.write("active.list", active.as_bytes());
    there.init("news", "there.example");
    let settings = there.read("news/broadsheet.toml");
    for (send, groups, comment) in [
        ("comp.os.linux.*,comp.*,!comp.os.*", "comp,!comp.os", ""),
        ("*,!local,!local.*", "all,!local", ""),
        ("comp.os*", "comp.os,comp.osx", "`comp.os*' stands for what"),
        ("*,@alt.binaries.*", "all,@alt.binaries", ""),
    ] {
        let lines = show(send);
        assert!(
            lines.contains(&format!("groups = \"{groups}\"\n")),
            "{lines}"
        );
        assert_eq!(lines.contains('#'), !comment.is_empty(), "{lines}");
        assert!(lines.contains(comment), "{lines}");
        there.write(
            "news/broadsheet.toml",
            (settings.clone() + &lines).as_bytes(),
        );
        good(there.run(&["check", "--dir", "news"]));
    }
    let lines = show("rec.?");
    assert!(
        lines.starts_with("# no [[site]]")
            && lines.contains("no group of active")
            && lines.lines().count() == 1,
        "{lines}"
    );
}

/// innd takes from us the groups that we send, and sends the groups that we asked for, whatever its ME has.
#[test]
fn a_real_inn_exchanges_the_groups_asked_for() {
    let groups = ["comp.os.linux", "comp.os.vms", "comp.test", "local", "rec"];
    let wanted = ["comp.os.linux", "comp.test", "rec"];
    let Some(inn) = Inn::start(&groups) else {
        return;
    };
    let active = groups
        .map(|name| format!("{name} 0000000000 00001 y\n"))
        .concat();
    let here = Program::with_news(&active);
    let words = ["peer", "add", "inn.example.org", "--dir", "news", "--json"];
    // incoming.conf of this INN has 127.0.0.1 already.
    let more = [
        "--no-test",
        "--host",
        &inn.address(),
        "--bind",
        "127.0.0.2",
        "--own-host",
        "127.0.0.2",
        "--groups",
        "comp.os.linux,comp,!comp.os,rec",
    ];
    let told = good(here.run(&[&words[..], &more].concat())).summary();
    for file in ["newsfeeds", "incoming.conf"] {
        let path = format!("etc/{file}");
        let text = std::fs::read_to_string(inn.path(&path)).unwrap() + &lines_of(&told, file);
        // A file with the groups of the articles in place of innfeed.
        inn.write(&path, &text.replace(":Tm:innfeed!", ":Tf,Wg:"));
        inn.control(&["reload", file, "tested"]);
    }
    for group in groups {
        let article = article(&format!("<ours.{group}@a>"), group);
        good(here.feed(&["rnews", "--dir", "news"], &article));
    }
    good(here.run(&["feed", "flush", "--dir", "news"]));
    inn.feed(&groups.map(|group| article(&format!("<theirs.{group}@a>"), group)));
    let taken = groups.map(|group| inn.has(&format!("<ours.{group}@a>")));
    assert_eq!(taken, groups.map(|group| wanted.contains(&group)));
    inn.control(&["flush", "news.example.org"]);
    let sent = std::fs::read_to_string(inn.path("spool/outgoing/news.example.org")).unwrap();
    assert_eq!(sent.lines().collect::<Vec<_>>(), wanted);
}

/// `@` of a `[[site]]` and of a line of `sys`, as in newsfeeds(5) of INN.
#[test]
fn an_article_that_is_also_in_a_poison_group_stays_here() {
    let program = Program::with_news(ACTIVE);
    let words = [
        "peer",
        "add",
        "b.example",
        "--dir",
        "news",
        "--no-test",
        "--json",
    ];
    let more = [
        "--host",
        "127.0.0.1:1",
        "--from",
        "192.0.2.7",
        "--groups",
        "all,@misc",
    ];
    let told = good(program.run(&[&words[..], &more].concat())).summary();
    assert!(
        told["access"]
            .as_str()
            .unwrap()
            .contains("send = \"*,@misc,@misc.*\""),
        "{told}"
    );
    assert!(
        lines_of(&told, "newsfeeds").contains(":!*,*,@misc,@misc.*/!local:"),
        "{told}"
    );
    let sys = program.read("news/sys") + "c.example:all,@misc/all:f:/dev/null\n";
    program.write("news/sys", sys.as_bytes());
    good(program.run(&["check", "--dir", "news"]));
    let crosspost = with("<both@a>", "comp.test,misc.test", "", b"x\n");
    let unknown = with("<unknown@a>", "comp.test,misc.none", "", b"x\n");
    let all = [
        article("<1@a>", "comp.test"),
        article("<2@a>", "misc.test"),
        crosspost.clone(),
        unknown,
    ];
    let told = good(program.rnews(&batch(&all)));
    assert_eq!(told.count("accepted"), 4, "{told:?}");
    let log = program.read("news/log");
    let sites = |id: &str| {
        let line = log.lines().find(|line| line.contains(id)).unwrap();
        (line.contains("b.example"), line.contains("c.example"))
    };
    assert_eq!(sites("<1@a>"), (true, true), "{log}");
    for id in ["<2@a>", "<both@a>", "<unknown@a>"] {
        assert_eq!(sites(id), (false, false), "{log}");
    }
    let again = String::from_utf8(crosspost)
        .unwrap()
        .replace("both@a", "new@a");
    let told = good(program.feed(&["explain", "--dir", "news"], again.as_bytes())).out;
    for site in ["b.example", "c.example"] {
        let line = format!("not to     {site}: `@' of its groups matches misc.test\n");
        assert!(told.contains(&line), "{told}");
    }
    let told =
        good(program.feed(&["explain", "--dir", "news", "--json"], again.as_bytes())).summary();
    assert_eq!(told["sites"], serde_json::json!([]), "{told}");
    assert_eq!(told["poisoned"][0]["group"], "misc.test", "{told}");
    let shown = good(program.run(&["peer", "show", "--dir", "news", "b.example"])).out;
    assert!(
        shown.contains("we feed it: all,@misc to 127.0.0.1:1"),
        "{shown}"
    );
    assert!(shown.contains("groups = \"all,@misc\""), "{shown}");
    program.assert_clean();
}
