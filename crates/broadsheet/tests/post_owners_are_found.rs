//! posts.log, the token in Injection-Info, and `post-owner`.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::PermissionsExt;

use program::Program;
use program::nntp::{Client, Served, listen, set};

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
    set(
        &program,
        "plaintext_passwords = false",
        "plaintext_passwords = true",
    );
    for user in ["anna", "berta"] {
        let told = program.feed(&["user", "add", "--dir", "news", user], b"secret\n");
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
        assert!(client.ask("AUTHINFO PASS secret").starts_with("281 "));
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
    client.ask("AUTHINFO PASS secret");
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
    set(&program, "log_days = 30", "log_days = 0");
    std::fs::remove_file(program.path("news/posts.log")).unwrap();
    let id = inews();
    assert!(!program.path("news/posts.log").exists());
    let text = program.run(&["article", "--dir", "news", &id]).out;
    assert!(!text.contains("logging-data"), "{text}");
}
