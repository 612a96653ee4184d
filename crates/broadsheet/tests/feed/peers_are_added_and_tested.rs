//! `peer add`, `peer test` and `peer show`: what they write and print makes two sites exchange articles, and a test says where it fails.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use program::articles::article;
use program::clients::Server;
use program::daemon::until;
use program::inn::Inn;
use program::nntp::{ALL_MAY, Served, listen};
use program::{Program, Told};
use serde_json::Value;

const ACTIVE: &str = "comp.test 0000000000 00001 y\nmisc.test 0000000000 00001 y\n";

fn test(program: &Program, words: &[&str]) -> (i32, Value) {
    let words = [&["peer", "test", "--dir", "news", "--json"], words].concat();
    let told = program.run(&words);
    (told.status, told.summary())
}

/// The result of a step, and what was found.
fn step<'v>(told: &'v Value, step: &str) -> (&'v str, &'v str) {
    let mut all = told["steps"].as_array().unwrap().iter();
    let step = all.find(|told| told["step"] == step);
    let step = step.unwrap_or_else(|| panic!("no such step: {told}"));
    (
        step["result"].as_str().unwrap(),
        step["found"].as_str().unwrap(),
    )
}

#[test]
fn each_step_is_tested() {
    let there = Program::with_news(ACTIVE);
    let access = ALL_MAY.replace("send = \"*\"", "send = \"comp.*,misc.*\"");
    listen(&there, &access);
    let served = Served::start(&there);
    let here = Program::with_news(ACTIVE);
    let (status, told) = test(&here, &[&served.address, "--article", "misc.test"]);
    assert_eq!((status, &told["ok"]), (0, &Value::Bool(true)), "{told}");
    for name in [
        "name",
        "port",
        "greeting",
        "capabilities",
        "streaming",
        "clock",
        "offer",
        "article",
        "arrival",
    ] {
        assert_eq!(step(&told, name).0, "ok", "{told}");
    }
    assert_eq!(step(&told, "tls").0, "skipped");
    assert!(
        step(&told, "capabilities").1.contains("STREAMING"),
        "{told}"
    );
    let rows = there.run(&["overview", "--dir", "news", "misc.test"]);
    assert_eq!(rows.out.lines().count(), 1, "{rows:?}");
    // Without --article nothing is sent.
    let (status, told) = test(&here, &[&served.address, "--compress"]);
    assert_eq!((status, step(&told, "compression").0), (0, "ok"), "{told}");
    assert_eq!(step(&told, "streaming").0, "ok", "{told}");
    let rows = there.run(&["overview", "--dir", "news", "comp.test"]);
    assert_eq!(rows.out, "");
    // A group that it does not take from us.
    let (status, told) = test(&here, &[&served.address, "--article", "alt.test"]);
    assert_eq!((status, step(&told, "article").0), (1, "failed"), "{told}");
    served.daemon.stop();
    let (status, told) = test(&here, &[&served.address]);
    assert_eq!((status, step(&told, "port").0), (1, "failed"), "{told}");
    let (status, told) = test(&here, &["nowhere.invalid"]);
    assert_eq!((status, step(&told, "name").0), (1, "failed"), "{told}");
    // For people: the step, and what to do.
    let told = here.run(&["peer", "test", "--dir", "news", &served.address]);
    let lines: Vec<&str> = told.out.lines().collect();
    assert_eq!(told.status, 1);
    assert!(
        lines[0].starts_with("ok       name          127.0.0.1 is 127.0.0.1"),
        "{told:?}"
    );
    assert!(
        lines[1].starts_with("failed   port ") && lines[2].contains("-> check the port"),
        "{told:?}"
    );
}

#[test]
fn a_peer_that_does_not_know_us() {
    let there = Program::with_news(ACTIVE);
    listen(
        &there,
        "\n[[access]]\nname = \"all\"\nfrom = [\"local\"]\nread = \"*\"\n",
    );
    let served = Served::start(&there);
    let here = Program::with_news(ACTIVE);
    let told = here.run(&["peer", "test", "--dir", "news", &served.address]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out.contains("-> the peer has to know our address"),
        "{told:?}"
    );
    served.daemon.stop();
    // One that lets nobody in, and one that is no news server.
    for (greeting, part) in [
        ("502 go away", "the peer does not let us in"),
        ("400 full", "try again later"),
        ("HTTP/1.0 400 what?", "is it a news server?"),
        // A terminal obeys nothing that a stranger's server writes.
        ("200 \u{1b}[2J\u{7}welcome", "200 \\x1b[2J\\x07welcome"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .write_all(format!("{greeting}\r\n").as_bytes())
                .unwrap();
        });
        let told = here.run(&["peer", "test", "--dir", "news", &address]);
        assert!(told.status == 1 && told.out.contains(part), "{told:?}");
        thread.join().unwrap();
    }
}

#[test]
fn tls_and_logins_are_tested() {
    let server = Server::start_with_users();
    let here = Program::with_news(ACTIVE);
    let address = format!("127.0.0.1:{}", server.port);
    // Its certificate is signed by nobody.
    let (status, told) = test(&here, &[&address, "--tls", "starttls"]);
    assert_eq!((status, step(&told, "tls").0), (1, "failed"), "{told}");
    let pem = server.program.path("news/chain.pem");
    let ca = pem.to_str().unwrap();
    let (_, told) = test(&here, &[&address, "--tls", "starttls", "--tls-ca", ca]);
    assert_eq!(step(&told, "tls").0, "ok", "{told}");
    assert!(step(&told, "tls").1.contains("TLSv1.3"), "{told}");
    let (verdict, found) = step(&told, "certificate");
    assert!(
        verdict == "ok" && found.starts_with("for 127.0.0.1; it ends on "),
        "{told}"
    );
    let implicit = format!("127.0.0.1:{}", server.tls_port);
    let (_, told) = test(&here, &[&implicit, "--tls", "implicit", "--tls-ca", ca]);
    assert_eq!(step(&told, "tls").0, "ok", "{told}");
    // The port without TLS.
    let (status, told) = test(&here, &[&address, "--tls", "implicit", "--tls-ca", ca]);
    assert_eq!((status, step(&told, "tls").0), (1, "failed"), "{told}");
    let file = here.path("password");
    for (password, expected) in [("wrong", "failed"), ("hazelnut", "ok")] {
        here.write("password", password.as_bytes());
        let owner_only = PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, owner_only).unwrap();
        let words = [
            &address,
            "--tls",
            "starttls",
            "--tls-ca",
            ca,
            "--user",
            "anna",
            "--password-file",
            file.to_str().unwrap(),
        ];
        // Anna is a reader.
        let (status, told) = test(&here, &words);
        assert_eq!((status, step(&told, "login").0), (1, expected), "{told}");
    }
}

/// A port at which nothing listens now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A site that listens at a port of its own; only what `peer add` writes gives permissions.
pub fn site(name: &str) -> (Program, u16) {
    let program = Program::new();
    program.write("active.list", ACTIVE.as_bytes());
    program.init("news", name);
    let port = free_port();
    program.set("listen = \"\"", &format!("listen = \"127.0.0.1:{port}\""));
    (program, port)
}

fn is_there(program: &Program, id: &str) -> bool {
    program.run(&["article", "--dir", "news", id]).status == 0
}

pub fn good(told: Told) -> Told {
    assert_eq!(told.status, 0, "{told:?}");
    told
}

#[test]
fn two_sites_exchange_articles_by_what_it_writes_and_prints() {
    let (red, red_port) = site("red.example");
    let (green, green_port) = site("green.example");
    let text = red.read("news/broadsheet.toml") + "\n# The last line of mine.\n";
    red.write("news/broadsheet.toml", text.as_bytes());
    let host = format!("127.0.0.1:{green_port}");
    // Its port is that of `listen'.
    let told = red.run(&[
        "peer",
        "add",
        "green.example",
        "--dir",
        "news",
        "--own-host",
        &host,
        "--no-test",
    ]);
    assert_eq!(told.status, 64, "{told:?}");
    assert_eq!(red.read("news/broadsheet.toml"), text);
    let words = [
        "peer",
        "add",
        "green.example",
        "--dir",
        "news",
        "--json",
        "--host",
        &host,
        "--own-host",
        "127.0.0.1",
        "--groups",
        "comp,misc,!comp.sys",
        "--no-test",
    ];
    let told = good(red.run(&words)).summary();
    let after = red.read("news/broadsheet.toml");
    assert!(after.starts_with(&text), "the lines before stay");
    good(red.run(&["check", "--dir", "news"]));
    // What is for the other administrator is all that the other site needs.
    let lines = told["lines"].as_array().unwrap();
    let for_green = lines
        .iter()
        .find(|lines| lines["file"] == "broadsheet.toml");
    let for_green = for_green.unwrap()["text"].as_str().unwrap();
    assert!(
        for_green.contains(&format!("127.0.0.1:{red_port}")),
        "{for_green}"
    );
    let text = green.read("news/broadsheet.toml") + "\n" + for_green;
    green.write("news/broadsheet.toml", text.as_bytes());
    good(green.run(&["check", "--dir", "news"]));
    let (at_red, at_green) = (Served::start(&red), Served::start(&green));
    for (from, to, id) in [(&red, &green, "<1@red>"), (&green, &red, "<1@green>")] {
        good(from.feed(&["rnews", "--dir", "news"], &article(id, "comp.test")));
        until(&format!("{id} has come"), || is_there(to, id));
    }
    good(red.run(&["peer", "test", "green.example", "--dir", "news"]));
    // Clients on this machine may still read.
    let explained = good(red.run(&["access", "explain", "--dir", "news", "--from", "local"]));
    assert!(explained.out.contains("local"), "{explained:?}");
    let told =
        good(red.run(&["peer", "show", "green.example", "--dir", "news", "--json"])).summary();
    assert_eq!(told["groups"], "comp,misc,!comp.sys");
    assert_eq!(
        told["send"],
        "comp,comp.*,misc,misc.*,!comp.sys,!comp.sys.*"
    );
    assert_eq!(told["address"], host.as_str());
    assert_eq!(told["from"][0], "127.0.0.1");
    let inn: Vec<&str> = told["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lines| lines["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        inn,
        [
            "broadsheet.toml",
            "newsfeeds",
            "innfeed.conf",
            "incoming.conf"
        ]
    );
    at_red.daemon.stop();
    at_green.daemon.stop();
}

/// Without flags, `peer add` exchanges no local groups, and no articles of the distribution `local`.
#[test]
fn local_groups_and_articles_stay_here() {
    let active = "local.test 0000000000 00001 y\nmisc.test 0000000000 00001 y\n";
    let program = Program::with_news(active);
    let add = |words: &[&str]| {
        let ends = ["--host", "127.0.0.1:1", "--from", "192.0.2.7"];
        let words = [&["peer", "add", "--dir", "news", "--no-test"], words, &ends].concat();
        program.run(&words)
    };
    let before = program.read("news/broadsheet.toml");
    let told = add(&["a.example", "--groups", "misc.*"]);
    assert_eq!(told.status, 64, "{told:?}");
    assert!(
        told.err.contains("--groups has `*' in `misc.*'")
            && told.err.contains("nothing was changed"),
        "{told:?}"
    );
    let told = add(&["a.example", "--groups", "!local"]);
    assert!(
        told.status == 64 && told.err.contains("--groups only excludes"),
        "{told:?}"
    );
    assert_eq!(program.read("news/broadsheet.toml"), before);
    let told = good(add(&["a.example"]));
    assert!(told.out.contains("/!local:Tm:innfeed!"), "{told:?}");
    // No article was filed yet: the log has lost nothing.
    good(program.run(&["feed", "list", "--dir", "news"]));
    let batch = [
        article("<1@a>", "local.test"),
        article("<2@a>", "misc.test"),
        String::from_utf8(article("<3@a>", "misc.test"))
            .unwrap()
            .replacen("Subject:", "Distribution: local\nSubject:", 1)
            .into_bytes(),
    ];
    for article in batch {
        let told = good(program.feed(&["rnews", "--dir", "news"], &article));
        assert!(!told.err.contains("lost its end"), "{told:?}");
    }
    let told = program.run(&["feed", "list", "--dir", "news", "--json"]);
    let waiting = told.summary()["articles"].clone();
    assert_eq!(waiting, 1, "{told:?}");
}

#[test]
fn flags_say_how_the_peer_is_fed() {
    let program = Program::with_news(ACTIVE);
    let add = |words: &[&str]| {
        let words = [&["peer", "add", "--dir", "news", "--no-test"], words].concat();
        program.run(&words)
    };
    let ends = ["--host", "127.0.0.1", "--from", "127.0.0.1"];
    let told = good(add(&[
        &["slow.example", "--connections", "1", "--rate", "100 kB"][..],
        &["--hours", "22:00-06:00", "--compress"],
        &ends,
    ]
    .concat()));
    let via = "via = { nntp = \"127.0.0.1\", compress = true, connections = 1, rate = \"100 kB\", hours = \"22:00-06:00\" }";
    assert!(told.out.contains(via), "{told:?}");
    good(program.run(&["check", "--dir", "news"]));
    let told = good(add(&[&["heads.example", "--headfeed"][..], &ends].concat()));
    // We take whole articles, and send headers: only the other site needs the key in its table.
    let entries: Vec<&str> = told.out.split("[[access]]").collect();
    assert_eq!(entries.len(), 3, "{told:?}");
    assert!(!entries[1].contains("headfeed"), "{told:?}");
    assert!(entries[2].contains("headfeed = true"), "{told:?}");
    assert!(
        told.out.contains("nntp = \"127.0.0.1\", headfeed = true"),
        "{told:?}"
    );
    let before = program.read("news/broadsheet.toml");
    for (flag, value) in [
        ("--connections", "0"),
        ("--connections", "many"),
        ("--rate", "fast"),
        ("--hours", "always"),
        ("--hours", "99"),
        ("--tls-fingerprint", "x"),
        ("--bind", "here"),
        ("--host", "a b"),
        ("--from", "10.0.0.0/33"),
    ] {
        let others: Vec<&str> = ends
            .chunks(2)
            .filter(|pair| pair[0] != flag)
            .flatten()
            .copied()
            .collect();
        let told = add(&[&["other.example", flag, value][..], &others].concat());
        assert_eq!(told.status, 64, "{flag} {value}: {told:?}");
        assert!(
            told.err.contains(&format!("{flag} ")) && told.err.contains("nothing was changed"),
            "{told:?}"
        );
        assert!(!told.err.contains("broadsheet.toml:"), "{told:?}");
    }
    for flag in [
        &["--rate", "1 MB"][..],
        &["--hours", "22:00-06:00"],
        &["--connections", "2"],
        &["--headfeed"],
    ] {
        let told = add(&[&["in.example", "--direction", "in"][..], flag, &ends].concat());
        assert_eq!(told.status, 64, "{told:?}");
        assert!(told.err.contains(flag[0]), "{told:?}");
    }
    assert_eq!(program.read("news/broadsheet.toml"), before);
    // A directory of headers alone sends nothing else, and takes nothing else.
    let program = Program::with_news(ACTIVE);
    program.set("headers_only = false", "headers_only = true");
    let words = ["peer", "add", "--dir", "news", "--no-test", "heads.example"];
    let told = good(program.run(&[&words[..], &ends].concat()));
    assert_eq!(told.out.matches("headfeed = true").count(), 4, "{told:?}");
    good(program.run(&["check", "--dir", "news"]));
}

#[test]
fn what_is_there_is_not_written_again() {
    let program = Program::with_news(ACTIVE);
    let add = |words: &[&str]| {
        let words = [&["peer", "add", "--dir", "news", "--no-test"], words].concat();
        program.run(&words)
    };
    let told = good(add(&[
        "peer.example",
        "--direction",
        "in",
        "--from",
        "192.0.2.7, 2001:db8::/32",
    ]));
    assert!(
        told.out
            .contains("from = [\"192.0.2.7\", \"2001:db8::/32\"]"),
        "{told:?}"
    );
    assert!(
        !told.out.contains("incoming.conf") && told.out.contains("newsfeeds"),
        "{told:?}"
    );
    let before = program.read("news/broadsheet.toml");
    let told = add(&["peer.example"]);
    assert!(
        told.status == 1 && told.err.contains("is there already"),
        "{told:?}"
    );
    // Nothing that the settings would refuse is written.
    for words in [
        &["other.example", "--host", "a b"][..],
        &[
            "other.example",
            "--host",
            "127.0.0.1",
            "--from",
            "no address",
        ],
        &[
            "other.example",
            "--host",
            "127.0.0.1",
            "--direction",
            "out",
            "--tls-fingerprint",
            "12",
        ],
    ] {
        let told = add(words);
        assert_ne!(told.status, 0, "{told:?}");
    }
    assert_eq!(program.read("news/broadsheet.toml"), before);
    // The second table goes before the first one, and no table for this machine is added again.
    good(add(&[
        "other.example",
        "--host",
        "127.0.0.1:1",
        "--from",
        "192.0.2.8",
    ]));
    let after = program.read("news/broadsheet.toml");
    assert!(
        after.find("other.example") < after.find("peer.example"),
        "{after}"
    );
    assert_eq!(after.matches("\"local\"]\nread").count(), 1);
    good(program.run(&["check", "--dir", "news"]));
    let told = good(program.run(&["peer", "show", "other.example", "--dir", "news"]));
    assert!(
        told.out
            .contains("we feed it: all,!local to 127.0.0.1:1\n    ready, waiting 0 articles"),
        "{told:?}"
    );
    assert_eq!(
        program
            .run(&["peer", "show", "third.example", "--dir", "news"])
            .status,
        1
    );
}

#[test]
fn a_real_inn_is_tested_and_takes_the_lines() {
    let Some(inn) = Inn::start_feeding(&["misc.test"], &[("other.example", 9)]) else {
        return;
    };
    let here = Program::with_news(ACTIVE);
    let address = format!("127.0.0.1:{}", inn.port);
    let (status, told) = test(&here, &[&address, "--article", "misc.test"]);
    assert_eq!(status, 0, "{told}");
    for name in ["streaming", "offer", "article", "arrival"] {
        assert_eq!(step(&told, name).0, "ok", "{told}");
    }
    let words = [
        "peer",
        "add",
        "inn.example.org",
        "--dir",
        "news",
        "--json",
        "--host",
        &address,
        "--own-host",
        "127.0.0.1",
        "--groups",
        "misc,!misc.jobs",
    ];
    let told = good(here.run(&words)).summary();
    assert_eq!(told["test"]["ok"], true, "{told}");
    for lines in told["lines"].as_array().unwrap() {
        if lines["system"] == "INN" {
            let path = inn.path("etc").join(lines["file"].as_str().unwrap());
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text + lines["text"].as_str().unwrap()).unwrap();
        }
    }
    for file in ["newsfeeds", "incoming.conf"] {
        let told = inn.run("ctlinnd", &["reload", file, "tested"], None);
        assert!(told.status.success(), "{file}: {told:?}");
    }
    let path = inn.path("etc/innfeed.conf");
    let told = inn.run("innfeed", &["-C", "-c", path.to_str().unwrap()], None);
    assert!(told.status.success(), "{told:?}");
}

/// With a site of our own name nothing would be filed any more.
#[test]
fn our_own_name_is_no_peer() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let line = settings.lines().find(|line| line.starts_with("name = "));
    let name = line
        .unwrap()
        .trim_start_matches("name = ")
        .trim_matches('"');
    let words = [
        "peer",
        "add",
        "--dir",
        "news",
        "--no-test",
        "--host",
        "127.0.0.1:1",
        name,
    ];
    let told = program.run(&words);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("this system itself"), "{told:?}");
    assert_eq!(program.read("news/broadsheet.toml"), settings);
}

#[test]
fn a_peer_that_hides_another_is_reported() {
    let program = Program::with_news(ACTIVE);
    let add = |name: &str, from: &str| {
        let words = [
            "peer",
            "add",
            name,
            "--dir",
            "news",
            "--from",
            from,
            "--no-test",
            "--direction",
            "in",
        ];
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{told:?}");
        told.err
    };
    assert_eq!(add("a.example", "192.0.2.7"), "");
    assert_eq!(add("b.example", "192.0.2.8"), "");
    let said = add("c.example", "192.0.2.0/29");
    assert!(
        said.contains("table `a.example' is never used now: `c.example', before it,"),
        "{said}"
    );
}

#[test]
fn replaced_files_keep_their_mode() {
    let program = Program::with_news(ACTIVE);
    let mode = |name: &str| {
        let data = std::fs::metadata(program.path(name)).unwrap();
        data.permissions().mode() & 0o777
    };
    let set_mode = |name: &str, mode: u32| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(program.path(name), mode).unwrap();
    };
    let to_umask = |words: &[&str]| {
        let mut command = std::process::Command::new("sh");
        let line = "umask 022 && exec \"$0\" \"$@\"";
        command.args(["-c", line, env!("CARGO_BIN_EXE_broadsheet")]);
        command.args(words).current_dir(program.path(""));
        let output = command.env_remove("BROADSHEET_DIR").output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    program.write("expire.ctl", b"/remember/:7\n*:A:1:10:20\n");
    for (file, words) in [
        (
            "news/broadsheet.toml",
            &[
                "peer",
                "add",
                "--dir",
                "news",
                "--no-test",
                "p.example",
                "--from",
                "192.0.2.7",
            ][..],
        ),
        (
            "news/active",
            &[
                "group",
                "add",
                "--dir",
                "news",
                "a.new",
                "--description",
                "d",
            ],
        ),
        (
            "news/newsgroups",
            &[
                "group",
                "add",
                "--dir",
                "news",
                "a.newer",
                "--description",
                "d",
            ],
        ),
        (
            "news/explist",
            &[
                "import",
                "expire.ctl",
                "--dir",
                "news",
                "expire.ctl",
                "--install",
            ],
        ),
    ] {
        for wanted in [0o600, 0o640] {
            set_mode(file, wanted);
            let before = program.read(file);
            let name = format!("{wanted:o}");
            let words: Vec<String> = words
                .iter()
                .map(|word| match *word {
                    "p.example" | "a.new" | "a.newer" => format!("{word}.n{name}"),
                    word => word.to_owned(),
                })
                .collect();
            to_umask(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(mode(file), wanted, "{file}");
            assert!(
                before != program.read(file) || file == "news/explist",
                "{file}"
            );
        }
    }
}

#[test]
fn the_groups_shown_are_those_of_the_site() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml")
        + r#"
[[site]]
name = "s1.example"
groups = "comp"   # was "all"
via = { nntp = "127.0.0.1:1" }

[[site]]
name = 's2.example'
groups = 'misc'
via = { nntp = "127.0.0.1:1" }

[[ site ]]
groups = [
  "comp", # not "misc"
  "!comp.test",
]
name = "s3.example"
via = { nntp = "127.0.0.1:1" }
"#;
    program.write("news/broadsheet.toml", settings.as_bytes());
    for (name, groups) in [
        ("s1.example", "comp"),
        ("s2.example", "misc"),
        ("s3.example", "comp,!comp.test"),
    ] {
        let told = good(program.run(&["peer", "show", "--dir", "news", "--json", name]));
        assert_eq!(told.summary()["groups"], groups, "{told:?}");
    }
}

#[test]
fn a_peer_of_a_node_is_put_in_force_by_the_cluster() {
    let program = Program::with_news(ACTIVE);
    let text = program.read("news/broadsheet.toml") + "\n[cluster]\nservers = \"127.0.0.1:1\"\n";
    program.write("news/broadsheet.toml", text.as_bytes());
    let add = |name: &str, direction: &str| {
        let words = ["peer", "add", "--dir", "news", "--no-test", name];
        let more = [
            "--from",
            "192.0.2.7",
            "--host",
            "192.0.2.7",
            "--direction",
            direction,
        ];
        good(program.run(&[&words[..], &more].concat())).out
    };
    let told = add("both.example", "both");
    assert!(
        told.contains("broadsheet cluster apply") && told.contains("on this one alone"),
        "{told}"
    );
    let told = add("in.example", "in");
    assert!(
        told.contains("broadsheet reload") && told.contains("on this node alone"),
        "{told}"
    );
}
