//! `block add|list|remove` refuses a sender in batches, over NNTP and in posts; `article remove` takes criteria; `article show` tells why an
//! article is not here.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, with};
use program::nntp::{ALL_MAY, Served, listen, take_this};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0 1 y\ncomp.misc 0 1 y\ncomp.mod 0 1 m\n";

fn run(program: &Program, words: &[&str]) -> Told {
    let (command, rest) = words.split_at(2);
    program.run(&[command, &["--dir", "news"], rest].concat())
}

fn ok(program: &Program, words: &[&str]) -> String {
    let told = run(program, words);
    assert_eq!(told.status, 0, "{words:?}: {told:?}");
    told.out
}

fn by(id: &str, from: &str) -> Vec<u8> {
    let text = String::from_utf8(article(id, "comp.test")).unwrap();
    text.replace("user@example.com", from).into_bytes()
}

#[test]
fn a_batch_of_a_blocked_sender_is_refused_until_the_block_goes() {
    let program = Program::with_news(ACTIVE);
    let reason = ["--reason", "flood of 5,000"];
    ok(
        &program,
        &[&["block", "add", "from", "*@bad.example"][..], &reason].concat(),
    );
    ok(
        &program,
        &["block", "add", "injector", "near", "--until", "1 Jan 2099"],
    );
    let listed = ok(&program, &["block", "list"]);
    let expected =
        "from\t*@bad.example\t-\tflood of 5,000\ninjector\tnear\tThu, 1 Jan 2099 00:00:00 GMT\t\n";
    assert_eq!(listed, expected);
    let told = program.rnews(&batch(&[by("<1@a>", "spam@bad.example")]));
    assert_eq!(told.count("refused"), 1, "{told:?}");
    let log = program.read("news/log");
    assert!(
        log.contains("- <1@a> blocked from `User <spam@bad.example>'"),
        "{log}"
    );
    let told = program.rnews(&batch(&[by("<2@a>", "good@fine.example")]));
    assert_eq!(told.count("refused"), 1, "{told:?}");
    assert!(
        program
            .read("news/log")
            .contains("- <2@a> blocked injector `near'")
    );
    let shown = ok(&program, &["article", "show", "<1@a>"]);
    assert!(shown.contains(" far: refused: blocked from"), "{shown}");
    assert!(shown.contains("not here"), "{shown}");

    ok(&program, &["block", "remove", "from", "*@bad.example"]);
    ok(&program, &["block", "remove", "injector", "near"]);
    let told = run(&program, &["block", "remove", "injector", "near"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(ok(&program, &["block", "list"]), "");
    // It was not remembered.
    let told = program.rnews(&batch(&[by("<1@a>", "spam@bad.example")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    let shown = ok(&program, &["article", "show", "<1@a>"]);
    assert!(
        shown.contains("refused: blocked") && shown.contains("filed"),
        "{shown}"
    );
}

#[test]
fn invalid_blocks_are_errors() {
    let program = Program::with_news(ACTIVE);
    for words in [
        &["block", "add", "form", "a@b"][..],
        &["block", "add", "from", ""],
        &["block", "add", "from", "spam"],
        &["block", "add", "from", "X <a@b>"],
        &["block", "add", "from", "a\tb"],
        &["block", "add", "from", "a@b", "--until", "soon"],
        &["block", "add", "from", "a@b", "--until", "1 Jan 2001"],
        &["block", "add", "from", "a@b", "--until", "0 h"],
        &["block", "add", "from", "a@b", "--reason", "a\tb"],
    ] {
        assert_eq!(run(&program, words).status, 64, "{words:?}");
    }
    assert!(!program.path("news/blocks").exists());
    program.write("news/blocks", b"# mine\nfrom a@b\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(format!("{told:?}").contains("blocks, line 2"), "{told:?}");
}

#[test]
fn the_daemon_refuses_articles_and_posts_at_once() {
    let program = Program::with_news(ACTIVE);
    listen(&program, ALL_MAY);
    program.write("news/mailpaths", b"comp.mod mod@example.com\n");
    let served = Served::start(&program);
    ok(&program, &["block", "add", "from", "spam@bad.example"]);
    let mut peer = served.client();
    peer.say(take_this("<1@a>", &by("<1@a>", "spam@bad.example")));
    assert!(peer.line().starts_with("439"));
    let log = program.read("news/log");
    assert!(log.contains("- <1@a> blocked from"), "{log}");
    let post = |id: &str, from: &str, group: &str| {
        let mut client = served.client();
        assert!(client.ask("POST").starts_with("340"));
        client.say(format!(
            "From: {from}\r\nNewsgroups: {group}\r\nSubject: s\r\nMessage-ID: {id}\r\n\r\nx\r\n.\r\n"
        ));
        client.line()
    };
    let reply = post("<2@a.example>", "Spam <SPAM@bad.example>", "comp.test");
    assert!(
        reply.starts_with("441") && reply.contains("blocked"),
        "{reply}"
    );
    let reply = post("<3@a.example>", "a@b.example", "comp.nowhere");
    assert!(reply.starts_with("441"), "{reply}");
    let reply = post("<4@a.example>", "a@b.example", "comp.mod");
    assert!(reply.starts_with("240"), "{reply}");
    ok(&program, &["block", "add", "host", "127.0.0.*"]);
    let reply = post("<5@a.example>", "a@b.example", "comp.test");
    assert!(
        reply.starts_with("441") && reply.contains("blocked host"),
        "{reply}"
    );
    for (id, part) in [
        ("<2@a.example>", "(local): refused: blocked from"),
        ("<3@a.example>", "(local): refused: no such group"),
        (
            "<4@a.example>",
            "(local): queued for the moderator mod@example.com",
        ),
    ] {
        let shown = ok(&program, &["article", "show", id]);
        assert!(shown.contains(part), "{shown}");
    }
    // A post without an id gets one for the logs, which lead to its poster.
    let mut client = served.client();
    assert!(client.ask("POST").starts_with("340"));
    client.say("From: a@b.example\r\nNewsgroups: comp.nowhere\r\nSubject: s\r\n\r\nx\r\n.\r\n");
    let reply = client.line();
    let (_, id) = reply.split_once("(logged as ").expect(&reply);
    let id = id.strip_suffix(')').expect(&reply);
    for id in [id, "<3@a.example>"] {
        let shown = ok(&program, &["article", "show", id]);
        assert!(shown.contains("(local): refused: "), "{shown}");
        assert!(shown.contains("posted by  127.0.0.1\n"), "{shown}");
        let owner = ok(&program, &["post-owner", id]);
        assert!(owner.ends_with("\trefused\n"), "{owner}");
    }
    let json = ok(&program, &["article", "show", "--json", "<3@a.example>"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["log"][0]["code"], "-");
    ok(&program, &["block", "remove", "host", "127.0.0.*"]);
    assert!(post("<6@a.example>", "a@b.example", "comp.test").starts_with("240"));
    let shown = ok(&program, &["article", "show", "<6@a.example>"]);
    assert!(shown.contains("posted by  127.0.0.1"), "{shown}");
}

#[test]
fn criteria_remove_what_a_dry_run_printed() {
    let program = Program::with_news(ACTIVE);
    let all = [
        by("<1@a>", "spam@bad.example"),
        by("<2@a>", "good@fine.example"),
        with("<3@a>", "comp.misc", "", b"x\n"),
    ];
    assert_eq!(program.rnews(&batch(&all)).count("accepted"), 3);
    let ids = |words: &[&str]| -> Vec<String> {
        let told = run(
            &program,
            &[&["article", "remove", "-n"][..], words].concat(),
        );
        let lines = told.out.lines();
        lines
            .map(|line| line.split('\t').nth(4).unwrap().to_owned())
            .collect()
    };
    let two = ["--from", "@bad.example"];
    assert_eq!(ids(&two), ["<1@a>"]);
    assert_eq!(
        ids(&["--path", "near!user", "--group", "comp.misc"]),
        ["<3@a>"]
    );
    assert_eq!(ids(&["--path", "nowhere"]), [""; 0]);
    assert_eq!(ids(&["--subject", "A TEST", "--since", "1 day"]).len(), 3);
    // Nothing has gone.
    assert_eq!(ids(&["--subject", "test"]).len(), 3);
    let told = run(&program, &[&["article", "remove"][..], &two].concat());
    assert_eq!(
        (told.status, told.out.as_str()),
        (0, "removed <1@a>\n"),
        "{told:?}"
    );
    assert_eq!(ids(&["--subject", "test"]), ["<2@a>", "<3@a>"]);
    let told = run(&program, &[&["article", "remove"][..], &two].concat());
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("no article meets"), "{told:?}");
    for words in [
        &["article", "remove"][..],
        &["article", "remove", "-n"],
        &["article", "remove", "--from", ""],
        &["article", "remove", "--path", ""],
        &["article", "remove", "--login", ""],
        &["article", "remove", "--from", "x", "<2@a>"],
    ] {
        assert_eq!(run(&program, words).status, 64, "{words:?}");
    }
    assert_eq!(ids(&["--subject", "test"]).len(), 2);
    let told = run(&program, &["article", "remove", "-n", "--login", "nobody"]);
    assert_eq!(told.status, 1, "{told:?}");
}

const PEOPLE: &str = "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\npost = \"*\"\n";

#[test]
fn a_login_is_blocked_and_what_it_posted_is_removed() {
    let program = Program::with_news(ACTIVE);
    listen(&program, PEOPLE);
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    for user in ["anna", "berta"] {
        let words = ["user", "add", "--dir", "news", user];
        let told = program.feed(&words, b"hazelnuts\n");
        assert_eq!(told.status, 0, "{told:?}");
    }
    let served = Served::start(&program);
    let post = |user: &str, id: &str| {
        let mut client = served.client();
        client.ask(&format!("AUTHINFO USER {user}"));
        assert!(client.ask("AUTHINFO PASS hazelnuts").starts_with("281"));
        assert!(client.ask("POST").starts_with("340"));
        client.say(format!(
            "From: {user}@b.example\r\nNewsgroups: comp.test\r\nSubject: s\r\nMessage-ID: {id}\r\n\r\nx\r\n.\r\n"
        ));
        client.line()
    };
    for (user, id) in [("anna", "<1@a>"), ("berta", "<2@a>"), ("anna", "<3@a>")] {
        let reply = post(user, id);
        assert!(reply.starts_with("240"), "{reply}");
    }
    let before = relay::Now::read().seconds;
    let add = ["block", "add", "login", "ANNA", "--until", "7 days"];
    ok(&program, &add);
    let reply = post("anna", "<4@a>");
    assert!(
        reply.starts_with("441") && reply.contains("blocked login `anna'"),
        "{reply}"
    );
    let shown = ok(&program, &["article", "show", "<4@a>"]);
    assert!(shown.contains("(local): refused: blocked login"), "{shown}");
    assert!(post("berta", "<5@a>").starts_with("240"));
    let listed: serde_json::Value =
        serde_json::from_str(&ok(&program, &["block", "list", "--json"])).unwrap();
    let until = listed["until"].as_i64().unwrap();
    let after = relay::Now::read().seconds;
    assert!((before..=after).contains(&(until - 7 * 86_400)), "{listed}");

    let by_anna = ["--login", "anna"];
    let told = ok(
        &program,
        &[&["article", "remove", "-n"][..], &by_anna].concat(),
    );
    let ids = told.lines().map(|line| line.split('\t').nth(4).unwrap());
    assert_eq!(ids.collect::<Vec<_>>(), ["<1@a>", "<3@a>"]);
    let told = ok(&program, &[&["article", "remove"][..], &by_anna].concat());
    assert_eq!(told, "removed <1@a>\nremoved <3@a>\n");
    let left = ok(&program, &["article", "remove", "-n", "--login", "berta"]);
    assert_eq!(left.lines().count(), 2, "{left}");
    // Another criterion narrows it.
    let both = ["article", "remove", "-n", "--login", "berta", "--from"];
    let told = run(&program, &[&both[..], &["anna"]].concat());
    assert_eq!(told.status, 1, "{told:?}");
}

#[test]
fn clients_without_a_login_are_no_login() {
    let program = Program::with_news(ACTIVE);
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    ok(&program, &["block", "add", "login", "*"]);
    let mut client = served.client();
    assert!(client.ask("POST").starts_with("340"));
    client.say("From: a@b.example\r\nNewsgroups: comp.test\r\nSubject: s\r\n\r\nx\r\n.\r\n");
    let reply = client.line();
    assert!(reply.starts_with("240"), "{reply}");
}

#[test]
fn inews_refuses_a_blocked_account() {
    let program = Program::with_news(ACTIVE);
    std::fs::create_dir(program.path("home")).unwrap();
    let home = program.path("home").display().to_string();
    let environment = &program.environment;
    environment.lock().unwrap().push(("HOME".to_owned(), home));
    let post = |from: &str| {
        let words = [
            "inews",
            "--dir",
            "news",
            "-n",
            "comp.test",
            "-t",
            "s",
            "-f",
            from,
        ];
        program.feed(&words, b"hello\n")
    };
    let told = post("a@b.example");
    assert_eq!(told.status, 0, "{told:?}");
    let log = program.read("news/posts.log");
    let account = log.trim_end().split('\t').nth(3).unwrap().to_owned();
    assert!(!account.is_empty(), "{log}");
    for (kind, pattern) in [("login", account.as_str()), ("from", "*@b.example")] {
        ok(&program, &["block", "add", kind, pattern]);
        let told = post("a@b.example");
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.err.contains(&format!("blocked {kind}")), "{told:?}");
        assert!(program.read("home/dead.article").contains("hello"));
        ok(&program, &["block", "remove", kind, pattern]);
    }
    // injnews asks, too.
    ok(&program, &["block", "add", "login", &account]);
    let text = b"Newsgroups: comp.test\nSubject: s\nFrom: c@d.example\n\nx\n";
    let told = program.feed(&["injnews", "--dir", "news"], text);
    assert_eq!(told.status, 1, "{told:?}");
    ok(&program, &["block", "remove", "login", &account]);
    let told = post("a@b.example");
    assert_eq!(told.status, 0, "{told:?}");
    program.assert_clean();
}
