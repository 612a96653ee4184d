//! Peers with `via = { nntp = … }`: new articles do not wait for a backlog; nothing is skipped or sent in masses again when the daemon is
//! killed; TLS, a login and compression; pauses and moved cursors.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs::Permissions;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use program::Program;
use program::articles::id;
use program::clients::set;
use program::daemon::{Daemon, until};
use program::feeding::{feeding, file, listed, waiting};
use program::nntp::{Served, listen};
use program::taker::Taker;

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

#[test]
fn a_backlog_does_not_delay_new_articles_and_a_kill_loses_nothing() {
    const OLD: usize = 1_500;
    let peer = Taker::remembering(20_000);
    let program = feeding(&peer.address, "");
    let mut daemon = Daemon::start(&program);
    program.run(&["feed", "pause", "peer", "--dir", "news"]);
    // More than 16 MiB behind.
    file(&program, "old", OLD, 16_000);
    program.run(&["feed", "resume", "peer", "--dir", "news"]);
    until("the backlog is on its way", || peer.count() > 20);
    for round in 0..4 {
        let prefix = format!("new{round}");
        file(&program, &prefix, 3, 1_000);
        let last = id(&prefix, 3);
        until("a new article is there", || peer.has(&last));
        assert!(peer.count() < OLD, "the backlog went first");
        if round % 2 == 1 {
            daemon.kill();
            daemon = Daemon::start(&program);
            let before = peer.count();
            until("the backlog goes on", || peer.count() > before);
        }
    }
    peer.hurry();
    until("everything is there", || peer.count() == OLD + 12);
    until("nothing waits", || waiting(&program) == 0);
    daemon.stop();
    // The second kill may repeat what was in flight, and the first.
    let got = peer.got();
    assert!(got.values().all(|&times| times <= 3), "{got:?}");
    let repeated: usize = got.values().map(|times| times - 1).sum();
    assert!(repeated <= 2 * 8_000, "{repeated}");
}

#[test]
fn tls_a_login_and_compression() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let there = Program::with_news(ACTIVE);
    there.write("news/chain.pem", made.cert.pem().as_bytes());
    there.write("news/key.pem", made.signing_key.serialize_pem().as_bytes());
    let owner_only = || Permissions::from_mode(0o600);
    std::fs::set_permissions(there.path("news/key.pem"), owner_only()).unwrap();
    let told = there.feed(&["user", "add", "--dir", "news", "us"], b"hazelnut\n");
    assert_eq!(told.status, 0, "{told:?}");
    listen(
        &there,
        "\n[[access]]\nname = \"us\"\nusers = \"us\"\nsend = \"*\"\n",
    );
    let values = [
        ("listen_tls", "\"127.0.0.1:0\""),
        ("certificate", "\"chain.pem\""),
        ("key", "\"key.pem\""),
    ];
    let settings = there.read("news/broadsheet.toml");
    let settings = values
        .into_iter()
        .fold(settings, |settings, (key, value)| set(settings, key, value));
    there.write("news/broadsheet.toml", settings.as_bytes());
    let served = Served::start(&there);
    let said = served.daemon.until_said(" with TLS");
    let tls_address = said.trim_end().trim_end_matches(" with TLS");
    let tls_port = tls_address.rsplit_once(':').unwrap().1;
    let port = served.address.rsplit_once(':').unwrap().1;
    let has = |id: &str| there.run(&["article", "--dir", "news", id]).status == 0;
    let login = ", user = \"us\", password_file = \"password\", tls_ca = \"ca.pem\"";
    let name = ", tls_name = \"localhost\"";
    for (prefix, port, more) in [
        ("a", port, ", tls = \"starttls\""),
        ("b", tls_port, ", tls = \"implicit\""),
        ("c", port, ", tls = \"starttls\", compress = true"),
        ("d", tls_port, ", tls = \"implicit\", compress = true"),
    ] {
        let here = feeding(
            &format!("127.0.0.1:{port}"),
            &format!("{login}{name}{more}"),
        );
        here.write("news/password", b"hazelnut\n");
        std::fs::set_permissions(here.path("news/password"), owner_only()).unwrap();
        here.write("news/ca.pem", made.cert.pem().as_bytes());
        here.run(&["feed", "pause", "peer", "--dir", "news"]);
        file(&here, prefix, 200, 5_000);
        here.run(&["feed", "resume", "peer", "--dir", "news"]);
        let told = here.run(&["feed", "flush", "peer", "--dir", "news"]);
        assert_eq!(told.status, 0, "{more}: {told:?}");
        for number in 1..=200 {
            assert!(has(&id(prefix, number)), "{more}: {number}");
        }
    }
    // Another name than the certificate's, and another password.
    for (more, why) in [
        (
            ", tls = \"starttls\"",
            "the certificate of 127.0.0.1 is for localhost",
        ),
        (
            ", tls = \"starttls\", tls_name = \"localhost\"",
            "does not let us in: 481",
        ),
    ] {
        let here = feeding(&format!("127.0.0.1:{port}"), &format!("{login}{more}"));
        here.write("news/password", b"walnutshell\n");
        std::fs::set_permissions(here.path("news/password"), owner_only()).unwrap();
        here.write("news/ca.pem", made.cert.pem().as_bytes());
        here.run(&["feed", "pause", "peer", "--dir", "news"]);
        file(&here, "e", 1, 100);
        here.run(&["feed", "resume", "peer", "--dir", "news"]);
        let told = here.run(&["feed", "flush", "peer", "--dir", "news"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.err.contains(why), "{told:?}");
    }
    served.daemon.stop();
}

#[test]
fn a_peer_is_paused_and_its_cursor_moved_under_a_daemon() {
    let peer = Taker::remembering(0);
    let program = feeding(&peer.address, "");
    let daemon = Daemon::start(&program);
    file(&program, "a", 20, 1_000);
    until("they are there", || peer.count() == 20);
    until("nothing waits", || waiting(&program) == 0);
    let told = program.run(&["feed", "pause", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    file(&program, "b", 20, 1_000);
    until("it is paused", || {
        listed(&program)["peer"]["state"] == "paused"
    });
    assert_eq!((waiting(&program), peer.count()), (20, 20));
    program.run(&["feed", "resume", "peer", "--dir", "news"]);
    until("they are there, too", || peer.count() == 40);
    until("nothing waits", || waiting(&program) == 0);
    // Offered once more: the peer has them.
    let offered = |listed: &serde_json::Value| listed["peer"]["not_wanted"].as_u64().unwrap();
    let told = program.run(&["feed", "reset", "peer", "--to", "oldest", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    until("all are offered again", || offered(&listed(&program)) >= 36);
    let told = program.run(&["feed", "flush", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(waiting(&program), 0);
    daemon.stop();
    // The cursor stands behind the last article.
    assert_eq!(waiting(&program), 0);
}

#[test]
fn a_peer_that_does_not_answer_is_told_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let program = feeding(&address, "");
    let daemon = Daemon::start(&program);
    file(&program, "a", 5, 1_000);
    until("it fails", || listed(&program)["state"] == "failing");
    let peer = listed(&program)["peer"].clone();
    assert!(
        peer["why"].as_str().unwrap().contains("Connection refused"),
        "{peer}"
    );
    assert!(peer["next"].as_i64().unwrap() >= peer["since"].as_i64().unwrap());
    let told = program.run(&["feed", "list", "--dir", "news"]);
    assert!(told.out.contains("next attempt at "), "{told:?}");
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("Connection refused"), "{told:?}");
    // It comes up, and is called.
    let peer = TcpListener::bind(&address).unwrap();
    let call = std::thread::spawn(move || {
        let (mut stream, _) = peer.accept().unwrap();
        stream.write_all(b"400 full\r\n").unwrap();
    });
    program.run(&["feed", "resume", "peer", "--dir", "news"]);
    program.run(&["feed", "flush", "--dir", "news"]);
    call.join().unwrap();
    until("it tells what the peer said", || {
        listed(&program)["peer"]["why"] == "the peer is not available: 400 full"
    });
    daemon.stop();
}

#[test]
fn headers_alone_for_who_wants_no_bodies() {
    let peer = Taker::remembering(0);
    let program = feeding(&peer.address, ", headfeed = true");
    let daemon = Daemon::start(&program);
    file(&program, "a", 50, 100_000);
    until("they are there", || peer.count() == 50);
    assert!(peer.bytes() < 50 * 1_000);
    until("nothing waits", || waiting(&program) == 0);
    daemon.stop();
}

#[test]
fn a_rate_is_kept() {
    let peer = Taker::remembering(0);
    let program = feeding(&peer.address, ", rate = \"100 KB\"");
    let daemon = Daemon::start(&program);
    let began = std::time::Instant::now();
    file(&program, "a", 30, 10_000);
    until("they are there", || peer.count() == 30);
    let (took, bytes) = (began.elapsed(), peer.bytes());
    // What a second allows was saved up, and the last article may be begun early.
    let least = Duration::from_millis((bytes - 100_000 - 20_000) / 100);
    assert!(bytes > 150_000 && took > least, "{took:?} {bytes}");
    daemon.stop();
}
