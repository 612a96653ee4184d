//! `broadsheet pull`: from INN's nnrpd, and from another Broadsheet. Nothing is lost or filed twice.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{batch, id, many, with};
use program::clients::Server;
use program::daemon::{Daemon, until};
use program::inn::Inn;
use program::nntp::{ALL_MAY, Served, listen};
use program::pulling::{ACTIVE, Fake, filed, has, pull, pulled, pulling, rename};

/// Another Broadsheet with these articles.
fn server(articles: &[Vec<u8>]) -> (Program, Served) {
    let program = Program::with_news(ACTIVE);
    listen(&program, ALL_MAY);
    program.rnews(&batch(articles));
    let served = Served::start(&program);
    (program, served)
}

#[test]
fn from_a_real_nnrpd() {
    let Some(inn) = Inn::start(&["comp.test", "comp.other"]) else {
        return;
    };
    inn.let_readers_in();
    let odd = "<odd@example.com>";
    let mut articles = many("inn", 150, "comp.test", 3000);
    articles.push(with(
        odd,
        "comp.other,comp.test",
        "",
        b"text\n#! rnews 7\n\n\xe9\x80\n",
    ));
    inn.feed(&articles);
    let leaf = pulling(&inn.address(), "post = true\ncompress = true");
    let told = pull(&leaf);
    assert_eq!(
        (told.count("fetched"), told.count("accepted")),
        (151, 151),
        "{told:?}"
    );
    assert!(told.count("bytes") < 150_000, "compressed: {told:?}");
    assert_eq!(
        (filed(&leaf, "comp.test"), filed(&leaf, "comp.other")),
        (151, 1)
    );
    let text = leaf.run_bytes(&["article", "--dir", "news", odd]);
    assert!(text.ends_with(b"\n\ntext\n#! rnews 7\n\n\xe9\x80\n"));
    assert_eq!(pulled(&leaf), (0, 0));
    // New ones, and a post that goes up.
    inn.feed(&many("more", 3, "comp.test", 100));
    let told = leaf.feed(
        &[
            "inews",
            "--dir",
            "news",
            "-V",
            "-S",
            "-n",
            "comp.test",
            "-t",
            "from the leaf",
            "-f",
            "us@example.com",
        ],
        b"posted at the leaf\n",
    );
    assert_eq!(told.status, 0, "{told:?}");
    let told = pull(&leaf);
    assert_eq!((told.status, told.count("posted")), (0, 1), "{told:?}");
    assert_eq!(
        (told.count("fetched"), told.count("known")),
        (3, 1),
        "{told:?}"
    );
    assert_eq!(pulled(&leaf), (0, 0));
    assert_eq!(filed(&leaf, "comp.test"), 155);
    leaf.assert_clean();
}

#[test]
fn a_killed_pull_loses_and_repeats_nothing() {
    const COUNT: usize = 1200;
    let (_there, served) = server(&many("k", COUNT, "comp.test", 40_000));
    let leaf = pulling(&served.address, "rate = \"40 MB\"");
    let marks = leaf.path("news/pull/up");
    let mut before = 0;
    for _ in 0..2 {
        let mut child = leaf.command(&["pull", "--dir", "news"]).spawn().unwrap();
        until("a batch is filed", || {
            let now = filed(&leaf, "comp.test");
            now > before || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        before = filed(&leaf, "comp.test");
    }
    assert!(before > 0);
    let told = pull(&leaf);
    assert_eq!(told.status, 0, "{told:?}");
    // Articles of the commit in which it was killed may come again, and are refused.
    assert_eq!(filed(&leaf, "comp.test"), COUNT as u64);
    let text = std::fs::read_to_string(marks).unwrap();
    assert!(
        text.contains(&format!("comp.test {COUNT} {}\n", id("k", COUNT))),
        "{text}"
    );
    for number in [1, COUNT / 2, COUNT] {
        assert!(has(&leaf, &id("k", number)));
    }
    leaf.assert_clean();
}

#[test]
fn posts_go_up_and_come_back_to_nobody() {
    let (there, served) = server(&many("b", 5, "comp.test", 100));
    let leaf = pulling(&served.address, "post = true");
    assert_eq!(pulled(&leaf), (5, 5));
    let post = |program: &Program, subject: &str| {
        let words = [
            "inews",
            "--dir",
            "news",
            "-S",
            "-n",
            "comp.test",
            "-t",
            subject,
            "-f",
            "us@example.com",
            "-V",
        ];
        let told = program.feed(&words, b".dots\n..and dots\n");
        assert_eq!(told.status, 0, "{told:?}");
    };
    post(&leaf, "from here");
    post(&there, "from there");
    let told = pull(&leaf);
    assert_eq!((told.status, told.count("posted")), (0, 1), "{told:?}");
    assert_eq!(
        (told.count("fetched"), told.count("accepted")),
        (1, 1),
        "{told:?}"
    );
    until("both are there", || filed(&there, "comp.test") == 7);
    let text = there.run_bytes(&["article", "--dir", "news", "comp.test/7"]);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\nSubject: from here\n"), "{text}");
    assert!(text.ends_with("\n\n.dots\n..and dots\n"), "{text}");
    assert!(text.contains("\nPath: news.example.org!.POSTED"), "{text}");
    assert_eq!(text.matches("\nInjection-Info: ").count(), 1, "{text}");
    let told = pull(&leaf);
    assert_eq!(
        (told.count("posted"), told.count("fetched")),
        (0, 0),
        "{told:?}"
    );
}

#[test]
fn by_tls_login_and_compression() {
    let server = Server::start_with_users();
    let articles = many("t", 50, "test.one", 5000);
    let told = server.program.rnews(&batch(&articles));
    assert_eq!(told.count("accepted"), 50, "{told:?}");
    let leaf = |keys: &str| {
        let program = Program::with_news("test.one 0000000000 00001 y\n");
        rename(&program, "leaf.example.org");
        let text = program.read("news/broadsheet.toml")
            + &format!(
                "\n[[pull]]\nname = \"up\"\ngroups = \"*\"\nuser = \"anna\"\npassword_file = \"pw\"\n{keys}\n"
            );
        program.write("news/broadsheet.toml", text.as_bytes());
        program.write("news/pw", b"hazelnut\n");
        use std::os::unix::fs::PermissionsExt;
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(program.path("news/pw"), owner_only).unwrap();
        program
    };
    let ca = server.program.path("news/chain.pem").display().to_string();
    let (plain, secure) = (
        format!(
            "server = \"127.0.0.1:{}\"\ntls = \"starttls\"\n",
            server.port
        ),
        format!(
            "server = \"127.0.0.1:{}\"\ntls = \"implicit\"\ncompress = true\n",
            server.tls_port
        ),
    );
    for keys in [&plain, &secure] {
        let program = leaf(&format!("{keys}tls_ca = \"{ca}\""));
        let (fetched, accepted) = pulled(&program);
        assert!(fetched >= 50 && fetched == accepted, "{fetched} {accepted}");
        assert!(has(&program, &id("t", 50)));
    }
    // Nobody signed it; it is another one; the password is wrong; plain text on the port of TLS.
    let pin = "0".repeat(64);
    for (keys, part) in [
        (plain.clone(), "is signed by nobody this machine knows"),
        (
            format!("{plain}tls_fingerprint = \"{pin}\""),
            "is not the one of tls_fingerprint",
        ),
        (
            format!("{plain}tls_ca = \"{ca}\"\ntls_name = \"other.example\""),
            "is for 127.0.0.1, not for other.example",
        ),
        (
            secure.replace(&server.tls_port, &server.port),
            "does not speak TLS here",
        ),
    ] {
        let told = pull(&leaf(&keys));
        assert_eq!(told.status, 75, "{told:?}");
        assert!(
            told.err.contains(part) || told.out.contains(part),
            "{part}: {told:?}"
        );
    }
}

#[test]
fn the_daemon_pulls_by_its_schedule() {
    let (there, served) = server(&many("d", 20, "comp.test", 100));
    let leaf = pulling(&served.address, "schedule = \"every 1 s\"");
    let _daemon = Daemon::start(&leaf);
    until("they are here", || filed(&leaf, "comp.test") == 20);
    there.rnews(&batch(&many("e", 3, "comp.test", 100)));
    until("the new ones, too", || filed(&leaf, "comp.test") == 23);
}

#[test]
fn names_and_tables_are_checked() {
    let leaf = pulling("127.0.0.1:1", "");
    let told = leaf.run(&["pull", "--dir", "news", "upp"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err
            .contains("no [[pull]] table has the name `upp'; did you mean up?"),
        "{told:?}"
    );
    let told = leaf.run(&["pull", "--dir", "news"]);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(
        told.err.contains("up: cannot connect: Connection refused"),
        "{told:?}"
    );
    let settings = leaf.read("news/broadsheet.toml");
    let told = leaf.run(&["check", "--dir", "news"]);
    assert!(
        told.out
            .contains("[[pull]]: 1 server to pull from\n    up: 2 groups\n"),
        "{told:?}"
    );
    let locked = settings.replace("name = \"up\"", "name = \"up.lock\"");
    leaf.write("news/broadsheet.toml", locked.as_bytes());
    let told = leaf.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(told.err.contains("ends with .lock"), "{told:?}");
    let secure =
        format!("{settings}user = \"us\"\npassword_file = \"absent\"\ntls = \"starttls\"\n");
    leaf.write("news/broadsheet.toml", secure.as_bytes());
    let told = leaf.run(&["check", "--dir", "news"]);
    assert!(
        told.status == 1 && told.out.contains("[[pull]]: ERROR: up: "),
        "{told:?}"
    );
    for (keys, part) in [
        (
            "group = \"x\"",
            "unknown key `group' in [[pull]]; did you mean groups?",
        ),
        ("user = \"us\"", "user needs password_file"),
        ("schedule = \"soon\"", "schedule is a time of the day"),
    ] {
        leaf.write(
            "news/broadsheet.toml",
            format!("{settings}{keys}\n").as_bytes(),
        );
        let told = leaf.run(&["check", "--dir", "news"]);
        assert_eq!(told.status, 78, "{told:?}");
        assert!(told.err.contains(part), "{told:?}");
    }
}

#[test]
fn by_newnews_where_the_server_allows_it() {
    let (there, served) = server(&many("n", 5, "comp.test", 100));
    let leaf = pulling(&served.address, "newnews = true");
    assert_eq!(pulled(&leaf), (5, 5));
    there.rnews(&batch(&many("o", 3, "comp.other", 100)));
    let marks = || leaf.read("news/pull/up");
    assert!(marks().contains("*newnews "), "{}", marks());
    until("they are listed", || pulled(&leaf) == (3, 3));
    // The marks follow, so that no group is read by number whose articles have all come.
    assert!(marks().contains("comp.other 3 <o.3@"), "{}", marks());
    let told = pull(&leaf);
    let counts = ["fetched", "groups"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [0, 0]), "{told:?}");
    // Once a day all groups are.
    let text = marks();
    let line = text.lines().find(|line| line.starts_with("*numbers "));
    let line = line.unwrap();
    let time: i64 = line.strip_prefix("*numbers ").unwrap().parse().unwrap();
    let earlier = format!("*numbers {}", time - 86_401);
    leaf.write("news/pull/up", text.replace(line, &earlier).as_bytes());
    let told = pull(&leaf);
    let counts = ["fetched", "groups"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [0, 2]), "{told:?}");
    // A group without a mark, as one that is new here, is read by number.
    let text = marks();
    let line = text.lines().find(|line| line.starts_with("comp.other "));
    let text = text.replace(&format!("{}\n", line.unwrap()), "");
    leaf.write("news/pull/up", text.as_bytes());
    assert_eq!(pulled(&leaf), (0, 0));
    assert!(marks().contains("comp.other 3 <o.3@"), "{}", marks());
    // A server without it.
    let mut fake = Fake::default();
    fake.put(1, &many("p", 4, "comp.test", 100));
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "newnews = true");
    assert_eq!(pulled(&leaf), (4, 4));
    assert_eq!(pulled(&leaf), (0, 0));
}

#[test]
fn many_groups_and_many_articles() {
    let names: Vec<String> = (0..250).map(|number| format!("many.g{number}")).collect();
    let active: String = names.iter().map(|name| format!("{name} 0 1 y\n")).collect();
    let there = Program::with_news(&active);
    listen(&there, ALL_MAY);
    // Each in its group; some in two; and a group with more than one request tells of.
    let each = names.iter().enumerate().map(|(number, name)| {
        let groups = match number % 10 {
            0 => format!("{name},many.g1"),
            _ => name.clone(),
        };
        with(&id("each", number), &groups, "", b"text\n")
    });
    let mut articles: Vec<Vec<u8>> = each.collect();
    articles.extend(many("large", 4500, "many.g249", 50));
    there.rnews(&batch(&articles));
    let served = Served::start(&there);
    let leaf = Program::with_news(&active);
    rename(&leaf, "leaf.example.org");
    let settings = leaf.read("news/broadsheet.toml")
        + &format!(
            "\n[[pull]]\nname = \"up\"\nserver = \"{}\"\ngroups = \"many.*\"\nfirst = 100000\n",
            served.address
        );
    leaf.write("news/broadsheet.toml", settings.as_bytes());
    assert_eq!(pulled(&leaf), (4750, 4750));
    for name in ["many.g0", "many.g1", "many.g7", "many.g249"] {
        let line = |program: &Program| filed(program, &format!("{name} "));
        assert_eq!(line(&leaf), line(&there), "{name}");
    }
    assert_eq!(pulled(&leaf), (0, 0));
}
