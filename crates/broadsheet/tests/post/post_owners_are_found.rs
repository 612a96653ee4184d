//! posts.log, the token in Injection-Info, and `post-owner`.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::PermissionsExt;

use program::articles::{article, batch};
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};
use program::{Program, faults};

const ACTIVE: &str = "comp.test 0 1 y\n";
const PEOPLE: &str = "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\npost = \"*\"\n";

fn post(client: &mut Client, id: &str) {
    assert!(client.ask("POST").starts_with("340 "));
    client.say(format!(
        "From: Anna <anna@example.com>\r\nNewsgroups: comp.test\r\nSubject: a test\r\nMessage-ID: {id}\r\n\r\nhello\r\n.\r\n"
    ));
    let reply = client.line();
    assert!(reply.starts_with("240 "), "{reply}");
}

fn token(program: &Program, id: &str) -> String {
    let text = program.run(&["article", "--dir", "news", id]).out;
    let (_, rest) = text.split_once("logging-data=\"").expect(&text);
    // Neither the login nor the address shows.
    assert!(
        !text.contains("127.0.0.1")
            && !text.contains("anna\n")
            && !text.contains("posting-account"),
        "{text}"
    );
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_post_leads_to_its_poster_here_only() {
    let program = Program::with_news(ACTIVE);
    listen(&program, PEOPLE);
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    for user in ["anna", "berta"] {
        let told = program.feed(&["user", "add", "--dir", "news", user], b"secretive\n");
        assert_eq!(told.status, 0, "{told:?}");
    }
    let served = Served::start(&program);
    for (user, ids) in [
        ("anna", &["<1@x.example>", "<2@x.example>"][..]),
        ("berta", &["<3@x.example>"]),
    ] {
        let mut client = served.client();
        assert!(
            client
                .ask(&format!("AUTHINFO USER {user}"))
                .starts_with("381 ")
        );
        assert!(client.ask("AUTHINFO PASS secretive").starts_with("281 "));
        for id in ids {
            post(&mut client, id);
        }
    }
    let (first, second, other) = (
        token(&program, "<1@x.example>"),
        token(&program, "<2@x.example>"),
        token(&program, "<3@x.example>"),
    );
    assert!(
        first == second && first != other,
        "{first} {second} {other}"
    );
    let owner = |name: &str| program.run(&["post-owner", "--dir", "news", "--json", name]);
    let told = owner("<2@x.example>");
    assert_eq!(told.status, 0, "{told:?}");
    let found = told.summary();
    assert_eq!(
        (found["account"].as_str(), found["address"].as_str()),
        (Some("anna"), Some("127.0.0.1"))
    );
    assert_eq!(
        (&found["tls"], found["token"].as_str()),
        (&false.into(), Some(first.as_str()))
    );
    // A post that is refused as a duplicate is not his who offered it.
    let mut client = served.client();
    client.ask("AUTHINFO USER berta");
    client.ask("AUTHINFO PASS secretive");
    client.ask("POST");
    client.say("From: b@example.com\r\nNewsgroups: comp.test\r\nSubject: s\r\nMessage-ID: <1@x.example>\r\n\r\nhello\r\n.\r\n");
    assert_eq!(client.line(), "441 Duplicate message-id");
    let told = owner("<1@x.example>");
    assert_eq!(told.out.lines().count(), 1, "{told:?}");
    assert_eq!(told.summary()["account"], "anna");
    // A token tells all posts of its poster; brackets may be left out.
    assert_eq!(owner(&first).out.lines().count(), 2);
    assert_eq!(owner("3@x.example").summary()["account"], "berta");
    let told = owner("<none@x.example>");
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("no such post in posts.log"), "{told:?}");
    for file in ["posts.log", "keys/posts.key"] {
        let data = std::fs::metadata(program.path("news").join(file)).unwrap();
        assert_eq!(data.permissions().mode() & 0o777, 0o600, "{file}");
    }
    served.daemon.stop();
    // The lines go with time, and the key changes.
    let key = program.read("news/keys/posts.key");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    for days in [20, 40] {
        let at = (now + days * 86_400).to_string();
        let told = program.run(&["expire", "--dir", "news", "--force", "--now", &at]);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(owner(&first).status, i32::from(days == 40), "{days}");
    }
    assert_ne!(program.read("news/keys/posts.key"), key);
}

#[test]
fn inews_is_logged_and_nothing_is_where_log_days_is_0() {
    let program = Program::with_news(ACTIVE);
    let inews = || {
        let text = b"hello\n";
        let words = [
            "inews",
            "--dir",
            "news",
            "-n",
            "comp.test",
            "-t",
            "a test",
            "--json",
        ];
        let told = program.feed(&words, text);
        assert_eq!(told.status, 0, "{told:?}");
        told.summary()["message_id"].as_str().unwrap().to_owned()
    };
    let id = inews();
    let told = program.run(&["post-owner", "--dir", "news", &id]);
    assert!(told.out.contains("\tlocalhost\tplain\t"), "{told:?}");
    assert_eq!(
        program
            .run(&["post-owner", "--dir", "news", &token(&program, &id)])
            .status,
        0
    );
    program.set("log_days = 30", "log_days = 0");
    std::fs::remove_file(program.path("news/posts.log")).unwrap();
    let id = inews();
    assert!(!program.path("news/posts.log").exists());
    let text = program.run(&["article", "--dir", "news", &id]).out;
    assert!(!text.contains("logging-data"), "{text}");
}

const POST: &[u8] =
    b"Newsgroups: comp.test\nSubject: s\nFrom: a@b.example\nMessage-ID: <1@b.example>\n\nhello\n";

#[test]
fn whose_post_is_a_duplicate_is_not_named_for_the_article() {
    let program = Program::with_news("comp.test 0 1 y\ncomp.mod 0 1 m\n");
    program.write("news/mailpaths", b"all mod@site.example\n");
    program.set("spool_after_seconds = 0", "spool_after_seconds = 1");
    let article = [&b"Path: b!x\nDate: "[..], date().as_bytes(), b"\n", POST].concat();
    let told = program.rnews(&article);
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    let owner = || program.run(&["post-owner", "--dir", "news", "<1@b.example>"]);
    let refused = |post: &[u8]| {
        let told = program.feed(&["inews", "-h", "--dir", "news", "-N"], post);
        assert_eq!(told.status, 0, "{told:?}");
        let told = program
            .command(&["inews", "-h", "--dir", "news"])
            .env("HOME", program.path("none"))
            .stdin(std::fs::File::open(program.path("post")).unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(err.contains("refused (duplicate)"), "{err}");
    };
    program.write("post", POST);
    refused(POST);
    let to_moderator = String::from_utf8_lossy(POST).replace("comp.test", "comp.mod");
    program.write("post", to_moderator.as_bytes());
    refused(to_moderator.as_bytes());
    assert!(program.files("news/mail.queue").is_empty());
    program.write("post", POST);
    let lock = store::Lock::take(&program.path("news"), None).unwrap();
    refused(POST);
    drop(lock);
    let told = owner();
    assert_eq!((told.status, told.out.as_str()), (1, ""), "{told:?}");
}

fn date() -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    program::articles::date(now)
}

#[test]
fn a_killed_expire_loses_no_line() {
    if !faults::can_trace() {
        return;
    }
    let program = Program::with_news(ACTIVE);
    let told = program.feed(&["injnews", "--dir", "news"], POST);
    assert_eq!(told.status, 0, "{told:?}");
    // The key is of the last period: the line is new, and there is an old one.
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let line = program.read("news/posts.log");
    let old = line.replace("<1@", "<0@").replacen(
        &now.to_string()[..6],
        &(now - 1_400_000).to_string()[..6],
        1,
    );
    program.write("news/posts.log.old", old.as_bytes());
    let key = program.read("news/keys/posts.key");
    let (_, key) = key.split_once(' ').unwrap();
    let made = now - 1_300_000;
    program.write("news/keys/posts.key", format!("{made} {key}").as_bytes());
    let expire = ["expire", "--dir", "news", "--force"];
    let names = "openat,write,ftruncate,fsync,fdatasync,?rename,?renameat,?unlink,?unlinkat";
    let room = program.path("");
    faults::copy(&program.path("news"), &program.path("kept"));
    let traced = |options: &[&str]| {
        faults::copy(&program.path("kept"), &program.path("news"));
        faults::strace(&room, names, options)
            .args(expire)
            .status()
            .unwrap()
    };
    assert!(traced(&[]).success());
    let calls = faults::calls(&room, "keys");
    assert!(calls.len() > 5, "{calls:?}");
    let owns = |id: &str| program.run(&["post-owner", "--dir", "news", id]).status == 0;
    let mut killed = 0;
    for (name, count) in calls {
        let kill = faults::inject(&name, "signal=KILL", count);
        // Two runs may differ by a few calls.
        killed += usize::from(!traced(&["-e", &kill]).success());
        for _ in 0..2 {
            let told = program.run(&expire);
            assert_eq!(told.status, 0, "{told:?}");
            assert!(owns("1@b.example"), "{name} {count}");
        }
        assert!(!owns("0@b.example"), "{name} {count}");
        assert_ne!(
            program
                .read("news/keys/posts.key")
                .split_once(' ')
                .unwrap()
                .1,
            key
        );
        assert!(!program.path("news/keys/posts.key.next").exists());
    }
    assert!(killed > 5, "{killed}");
}

/// Path says what its sender likes.
#[test]
fn the_log_names_who_sent_an_article_and_not_only_its_path() {
    let program = Program::with_news(ACTIVE);
    listen(&program, &ALL_MAY.replace("\"all\"", "\"our-peers\""));
    let served = Served::start(&program);
    let mut peer = served.client();
    for id in ["<1@a>", "<2@a>", "<1@a>"] {
        peer.say(take_this(id, &article(id, "comp.test")));
    }
    let replies = [(); 3].map(|()| peer.line()[..3].to_owned());
    assert_eq!(replies, ["239", "239", "439"]);
    peer.say(take_this("<3@a>", &article("<3@a>", "comp.nowhere")));
    assert!(peer.line().starts_with("439 "));
    post(&mut peer, "<4@a>");
    program.write("a batch", &batch(&[article("<5@a>", "comp.test")]));
    let told = program.run(&["rnews", "--dir", "news", "a batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    let show = |id: &str| program.run(&["article", "show", "--dir", "news", id]).out;
    for (id, part) in [
        (
            "<1@a>",
            "far: filed; no site gets it (sent by our-peers, 127.0.0.1)\n",
        ),
        (
            "<2@a>",
            "far: filed; no site gets it (sent by our-peers, 127.0.0.1)\n",
        ),
        ("<3@a>", "' (sent by our-peers, 127.0.0.1)\n"),
        // `posts.log` tells posters, and is private.
        ("<4@a>", "(local): filed; no site gets it\n"),
        (
            "<5@a>",
            "far: filed; no site gets it (sent by rnews, a batch)\n",
        ),
    ] {
        let shown = show(id);
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let json = program.run(&["article", "show", "--dir", "news", "--json", "<1@a>"]);
    let line = &json.summary()["log"][0];
    assert_eq!(
        (line["sender"].as_str(), line["from"].as_str()),
        (Some("our-peers"), Some("127.0.0.1"))
    );
    // Each article has its line in the classic columns.
    let log = program.read("news/log");
    let codes = |code: &str| {
        log.lines()
            .filter(|line| line.split_whitespace().nth(4) == Some(code))
            .count()
    };
    assert_eq!((codes("+"), codes("-")), (4, 1), "{log}");
    served.daemon.stop();
}
