//! Peers that hang, take a byte a second, forget everything, or one answer, do not exist, or have a certificate that has ended: filing and the other peers do not wait for them, the
//! daemon ends in time, and what waits for them stays.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use program::Program;
use program::articles::{batch, id, many};
use program::clients::{self, Server};
use program::daemon::{Daemon, until};
use program::nntp::ALL_MAY;
use program::taker::Taker;

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";
const ARTICLES: usize = 200;
/// Each is larger than what the kernel holds for a socket, together.
const BODY_BYTES: usize = 30_000;

/// A news directory with these peers.
fn feeding(peers: &[(&str, &str)]) -> Program {
    let program = Program::with_news(ACTIVE);
    let mut settings = program.read("news/broadsheet.toml");
    for (name, address) in peers {
        settings += &format!(
            "\n[[site]]\nname = \"{name}\"\ngroups = \"comp\"\nvia = {{ nntp = \"{address}\" }}\n"
        );
    }
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

fn file(program: &Program, prefix: &str) {
    let told = program.rnews(&batch(&many(prefix, ARTICLES, "comp.test", BODY_BYTES)));
    assert_eq!(told.count("accepted") as usize, ARTICLES, "{told:?}");
}

fn waiting(program: &Program, site: &str) -> u64 {
    let told = program.run(&["feed", "list", site, "--dir", "news", "--json"]);
    told.count("articles")
}

/// How the peer behaves after it was greeted and wants everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It accepts connections and says nothing at all.
    Silent,
    /// It answers the first command, then no other.
    Hangs,
    /// It reads a byte a second as soon as articles come.
    Slow,
}

/// Starts such a peer; its threads end with the test program.
fn bad(manner: Manner) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || misbehave(stream, manner));
        }
    });
    address
}

fn misbehave(mut stream: TcpStream, manner: Manner) -> Option<()> {
    let mut byte = [0];
    let mut line = Vec::new();
    let mut said = manner == Manner::Silent;
    if !said {
        stream.write_all(b"200 ready\r\n").ok()?;
    }
    loop {
        let is_slow = manner == Manner::Slow && line.starts_with(b"TAKETHIS");
        if is_slow {
            std::thread::sleep(Duration::from_secs(1));
        }
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        line.extend_from_slice(&byte);
        if is_slow || said || !line.ends_with(b"\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        let mut words = text.split_whitespace();
        let reply = match words.next()? {
            "CAPABILITIES" => "101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.".to_owned(),
            "MODE" => "203 go on".to_owned(),
            "CHECK" => format!("238 {}", words.next()?),
            _ => "500 what?".to_owned(),
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).ok()?;
        said = manner == Manner::Hangs;
        line.clear();
    }
}

#[test]
fn others_do_not_wait_for_them() {
    let taker = Taker::start();
    let (silent, hangs, slow) = (bad(Manner::Silent), bad(Manner::Hangs), bad(Manner::Slow));
    let peers = [
        ("good", taker.address.as_str()),
        ("silent", &silent),
        ("hangs", &hangs),
        ("slow", &slow),
        ("nowhere", "nowhere.invalid:119"),
    ];
    let program = feeding(&peers);
    let daemon = Daemon::start(&program);
    for (round, prefix) in ["a", "b", "c"].into_iter().enumerate() {
        file(&program, prefix);
        let all = (round + 1) * ARTICLES;
        until("the good peer has all", || taker.count() == all);
    }
    // Nothing that the others did not take is passed.
    for (site, _) in peers.iter().skip(1) {
        assert!(waiting(&program, site) > ARTICLES as u64, "{site}");
    }
    assert!(taker.got().values().all(|&times| times == 1));
    let began = Instant::now();
    daemon.stop();
    // It does not wait for answers.
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(waiting(&program, "slow"), 3 * ARTICLES as u64);
    program.assert_clean();
}

#[test]
fn one_that_forgets_everything_gets_it_again() {
    let taker = Taker::start();
    let program = feeding(&[("peer", &taker.address)]);
    let daemon = Daemon::start(&program);
    file(&program, "a");
    until("the peer has all", || taker.count() == ARTICLES);
    until("nothing waits", || waiting(&program, "peer") == 0);
    let told = program.run(&["feed", "reset", "peer", "--to", "oldest", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["feed", "flush", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    until("the peer has all twice", || {
        taker.got().values().all(|&times| times == 2)
    });
    daemon.stop();
}

#[test]
fn one_whose_certificate_has_ended_gets_nothing() {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2019, 1, 1);
    params.not_after = date_time_ymd(2020, 2, 29);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let server = Server::start_with(|program, settings| {
        program.write("news/chain.pem", certificate.pem().as_bytes());
        program.write("news/key.pem", key.serialize_pem().as_bytes());
        let owner_only = PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(program.path("news/key.pem"), owner_only).unwrap();
        let values = [
            ("listen", "\"127.0.0.1:0\""),
            ("listen_tls", "\"127.0.0.1:0\""),
            ("certificate", "\"chain.pem\""),
            ("key", "\"key.pem\""),
        ];
        let settings = values.into_iter().fold(settings, |settings, (key, value)| {
            clients::set(settings, key, value)
        });
        settings + ALL_MAY
    });
    let program = Program::with_news(ACTIVE);
    program.write("news/ca.pem", certificate.pem().as_bytes());
    let site = format!(
        "\n[[site]]\nname = \"peer\"\ngroups = \"comp\"\n\
         via = {{ nntp = \"127.0.0.1:{}\", tls = \"implicit\", tls_ca = \"ca.pem\" }}\n",
        server.tls_port
    );
    let settings = program.read("news/broadsheet.toml") + &site;
    program.write("news/broadsheet.toml", settings.as_bytes());
    let daemon = Daemon::start(&program);
    file(&program, "a");
    daemon.until_said("the certificate of 127.0.0.1 ended on 2020-02-29");
    assert_eq!(waiting(&program, "peer"), ARTICLES as u64);
    daemon.stop();
}

/// Takes everything, and answers all but this article. `got`: the articles that came.
fn take_all_and_answer_all_but(
    stream: TcpStream,
    left_out: &str,
    got: &Mutex<BTreeSet<String>>,
) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    let mut say = |text: &str| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    say("200 ready")?;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut words = line.split_whitespace();
        let (command, id) = (words.next()?, words.next().unwrap_or_default());
        match command {
            "CAPABILITIES" => say("101 list\r\nVERSION 2\r\nSTREAMING\r\n.")?,
            "CHECK" => say(&format!("238 {id}"))?,
            "TAKETHIS" => {
                let mut line = Vec::new();
                while line != b".\r\n" {
                    line.clear();
                    input.read_until(b'\n', &mut line).ok()?;
                    if line.is_empty() {
                        return None;
                    }
                }
                got.lock().unwrap().insert(id.to_owned());
                if id != left_out {
                    say(&format!("239 {id}"))?;
                }
            }
            _ => return say("205 bye"),
        }
    }
}

#[test]
fn one_that_never_answers_an_article_gets_the_others() {
    let got: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = got.clone();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let seen = seen.clone();
            let converse = move || take_all_and_answer_all_but(stream, &id("a", 1), &seen);
            std::thread::spawn(converse);
        }
    });
    let program = feeding(&[("peer", &address), ("odd", "nowhere.invalid:119")]);
    let daemon = Daemon::start(&program);
    file(&program, "a");
    let has = |count: usize| got.lock().unwrap().len() == count;
    until("the peer has all", || has(ARTICLES));
    // Somebody asks for a pass of another feed, and of this one.
    for (count, words) in [
        (2, ["feed", "flush", "odd"]),
        (3, ["feed", "resume", "peer"]),
    ] {
        program.run(&[&words[..], &["--dir", "news"]].concat());
        file(&program, &format!("a{count}"));
        until("the peer has those, too", || has(count * ARTICLES));
    }
    // The cursor stays behind the article without an answer.
    assert_eq!(waiting(&program, "peer"), 3 * ARTICLES as u64);
    daemon.stop();
}
