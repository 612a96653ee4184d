//! `broadsheet pull`: from INN's nnrpd, from another Broadsheet, and from servers that misbehave. Nothing is lost or filed twice.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use program::Program;
use program::Told;
use program::articles::{batch, id, many, with};
use program::clients::Server;
use program::daemon::{Daemon, until};
use program::inn::Inn;
use program::nntp::{ALL_MAY, Client, Served, listen, wire};

const ACTIVE: &str = "comp.other 0000000000 00001 y\ncomp.test 0000000000 00001 y\n";

/// A news directory that pulls from this address.
fn pulling(address: &str, keys: &str) -> Program {
    let program = Program::with_news(ACTIVE);
    rename(&program, "leaf.example.org");
    let settings = program.read("news/broadsheet.toml")
        + &format!(
            "\n[[pull]]\nname = \"up\"\nserver = \"{address}\"\ngroups = \"comp.*\"\nfirst = 100000\n{keys}\n"
        );
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

/// Sites refuse articles that have their own name in Path.
fn rename(program: &Program, name: &str) {
    let settings = program.read("news/broadsheet.toml");
    let renamed = settings.replacen("news.example.org", name, 1);
    assert_ne!(settings, renamed);
    program.write("news/broadsheet.toml", renamed.as_bytes());
}

fn pull(program: &Program) -> Told {
    program.run(&["pull", "--dir", "news", "--json"])
}

/// Pulls without an error; returns the numbers of fetched and accepted articles.
fn pulled(program: &Program) -> (u64, u64) {
    let told = pull(program);
    assert_eq!(told.status, 0, "{told:?}");
    (told.count("fetched"), told.count("accepted"))
}

/// The number of articles in a group.
fn filed(program: &Program, group: &str) -> u64 {
    let active = program.read("news/active");
    let line = active.lines().find(|line| line.starts_with(group)).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

fn has(program: &Program, id: &str) -> bool {
    program.run(&["article", "--dir", "news", id]).status == 0
}

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
    let readers = "auth all {\n  hosts: \"*\"\n  default: \"<reader>\"\n}\naccess all {\n  users: \"*\"\n  newsgroups: \"*\"\n  access: \"RPA\"\n}\n";
    std::fs::write(inn.path("etc/readers.conf"), readers).unwrap();
    let address = format!("127.0.0.1:{}", inn.port);
    let feed = |articles: &[Vec<u8>]| {
        let mut client = Client::greeted(&address);
        for article in articles {
            let id = program::corpus::id(article);
            client.say(format!("TAKETHIS {id}\r\n"));
            client.say(wire(article));
            let answer = client.line();
            assert!(answer.starts_with("239"), "{answer}");
        }
    };
    let odd = "<odd@example.com>";
    let mut articles = many("inn", 150, "comp.test", 3000);
    articles.push(with(
        odd,
        "comp.other,comp.test",
        "",
        b"text\n#! rnews 7\n\n\xe9\x80\n",
    ));
    feed(&articles);
    let leaf = pulling(&address, "post = true");
    assert_eq!(pulled(&leaf), (151, 151));
    assert_eq!(
        (filed(&leaf, "comp.test"), filed(&leaf, "comp.other")),
        (151, 1)
    );
    let text = leaf.run_bytes(&["article", "--dir", "news", odd]);
    assert!(text.ends_with(b"\n\ntext\n#! rnews 7\n\n\xe9\x80\n"));
    assert_eq!(pulled(&leaf), (0, 0));
    // New ones, and a post that goes up.
    feed(&many("more", 3, "comp.test", 100));
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

/// A server with one group, comp.test, whose articles a test changes.
#[derive(Default)]
struct Fake {
    /// Number, id, and text in wire form without the terminator.
    articles: Vec<(u64, String, Vec<u8>)>,
    /// The connection ends in the middle of the article after so many.
    articles_max: Option<usize>,
}

impl Fake {
    fn start(self) -> (String, Arc<Mutex<Fake>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let fake = Arc::new(Mutex::new(self));
        let shared = Arc::clone(&fake);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let _ = serve(&shared, &socket.unwrap());
            }
        });
        (address, fake)
    }

    fn put(&mut self, first: u64, articles: &[Vec<u8>]) {
        for (number, article) in (first..).zip(articles) {
            let mut text = wire(article);
            text.truncate(text.len() - 3);
            let id = program::corpus::id(article);
            self.articles.push((number, id, text));
        }
    }
}

fn serve(fake: &Mutex<Fake>, mut socket: &TcpStream) -> std::io::Result<()> {
    socket.write_all(b"200 ready\r\n")?;
    let mut sent = 0;
    for line in BufReader::new(socket.try_clone()?).lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let fake = fake.lock().unwrap();
        let articles = &fake.articles;
        let mut out = Vec::new();
        match words[0] {
            "MODE" => out.extend_from_slice(b"201 read\r\n"),
            "GROUP" if words[1] == "comp.test" => {
                let low = articles.first().map_or(1, |article| article.0);
                let high = articles.last().map_or(0, |article| article.0);
                writeln!(out, "211 {} {low} {high} comp.test\r", articles.len())?;
            }
            "GROUP" => out.extend_from_slice(b"411 no such group\r\n"),
            "XOVER" => {
                let (from, until) = words[1].split_once('-').unwrap();
                let range = from.parse().unwrap()..=until.parse().unwrap();
                out.extend_from_slice(b"224 rows\r\n");
                for (number, id, _) in articles.iter().filter(|one| range.contains(&one.0)) {
                    writeln!(out, "{number}\tsubject\tfrom\tdate\t{id}\t\t100\t1\r")?;
                }
                out.extend_from_slice(b".\r\n");
            }
            "ARTICLE" => match articles.iter().find(|one| one.1 == words[1]) {
                Some((_, _, text)) if text.is_empty() => {
                    out.extend_from_slice(b"430 it has gone\r\n")
                }
                None => out.extend_from_slice(b"430 no such article\r\n"),
                Some((_, id, text)) => {
                    writeln!(out, "220 0 {id}\r")?;
                    if fake.articles_max == Some(sent) {
                        out.extend_from_slice(&text[..text.len() / 2]);
                        return socket.write_all(&out);
                    }
                    sent += 1;
                    out.extend_from_slice(text);
                    out.extend_from_slice(b".\r\n");
                }
            },
            "QUIT" => return Ok(()),
            _ => out.extend_from_slice(b"500 what?\r\n"),
        }
        socket.write_all(&out)?;
    }
    Ok(())
}

#[test]
fn a_server_that_numbers_anew() {
    let old = many("old", 30, "comp.test", 100);
    let mut fake = Fake::default();
    fake.put(1001, &old);
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "");
    assert_eq!(pulled(&leaf), (30, 30));
    // Lower numbers; some of the old ones are there, and new ones behind them.
    let new = many("new", 5, "comp.test", 100);
    let replace = |first: u64, articles: &[Vec<u8>]| {
        let mut fake = fake.lock().unwrap();
        fake.articles.clear();
        fake.put(first, articles);
    };
    let other = many("ancient", 10, "comp.test", 100);
    replace(1, &[&other, &old[20..], &new].concat());
    let told = pull(&leaf);
    assert_eq!(
        (told.count("fetched"), told.count("groups_renumbered")),
        (5, 1),
        "{told:?}"
    );
    assert_eq!(pulled(&leaf), (0, 0));
    // Higher numbers than before, and the mark's number is that of another article.
    let newer = many("newer", 40, "comp.test", 100);
    replace(10, &[&new[..], &newer].concat());
    let told = pull(&leaf);
    assert_eq!(
        (told.count("fetched"), told.count("groups_renumbered")),
        (40, 1),
        "{told:?}"
    );
    // Everything else has gone, and there are only new ones.
    let last = many("last", 7, "comp.test", 100);
    replace(5000, &last);
    assert_eq!(pulled(&leaf), (7, 7));
    assert_eq!(filed(&leaf, "comp.test"), 82);
    leaf.assert_clean();
}

#[test]
fn a_server_that_ends_in_the_middle() {
    let articles = many("cut", 50, "comp.test", 2000);
    let mut fake = Fake {
        articles_max: Some(20),
        ..Fake::default()
    };
    fake.put(1, &articles);
    let (address, _fake) = fake.start();
    let leaf = pulling(&address, "");
    for (fetched, status) in [(20, 75), (20, 75), (10, 0), (0, 0)] {
        let told = pull(&leaf);
        assert_eq!(
            (told.count("fetched"), told.status),
            (fetched, status),
            "{told:?}"
        );
        let why = told.summary()["why"].as_str().map(str::to_owned);
        assert_eq!(why.is_some(), status != 0, "{told:?}");
    }
    assert_eq!(filed(&leaf, "comp.test"), 50);
    leaf.assert_clean();
}

#[test]
fn bad_and_missing_articles_stop_nothing() {
    let mut fake = Fake::default();
    fake.put(1, &many("g", 3, "comp.test", 100));
    // Without a body, without a header, too large, and gone.
    fake.articles.push((
        4,
        "<cut@x>".into(),
        b"Path: a\r\nMessage-ID: <cut@x>\r\nSubj".to_vec(),
    ));
    fake.articles
        .push((5, "<no@x>".into(), b"\r\nno header\r\n".to_vec()));
    let mut large = with("<large@x>", "comp.test", "", &[b'x'; 3000]);
    large.extend_from_slice(&b"line\n".repeat(1 << 20));
    fake.put(6, &[large]);
    let (address, fake) = fake.start();
    {
        let mut fake = fake.lock().unwrap();
        let after = many("h", 2, "comp.test", 100);
        fake.put(7, &after);
        fake.articles.push((9, "<gone@x>".into(), Vec::new()));
        fake.articles[3].2.extend_from_slice(b"\r\n");
    }
    let leaf = pulling(&address, "");
    let settings = leaf.read("news/broadsheet.toml");
    let smaller = program::clients::set(settings, "article_bytes_max", "\"1 MiB\"");
    leaf.write("news/broadsheet.toml", smaller.as_bytes());
    let told = pull(&leaf);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        (told.count("fetched"), told.count("too_large")),
        (7, 1),
        "{told:?}"
    );
    assert_eq!(told.count("gone"), 1, "{told:?}");
    assert_eq!(told.count("accepted"), 5, "{told:?}");
    assert_eq!(pulled(&leaf), (0, 0));
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
