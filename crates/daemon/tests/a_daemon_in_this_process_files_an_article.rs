//! The daemon starts, files an article over NNTP and stops, all inside this process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

use daemon::{Daemon, Listen, Options};
use settings::{NewsDirectory, Settings};
use store::Snapshot;

const ARTICLE: &str = "Path: peer.example!not-for-mail\r\nFrom: a@b.example\r\nNewsgroups: misc.test\r\n\
    Subject: s\r\nDate: Mon, 1 Jan 2024 00:00:00 GMT\r\nMessage-ID: <1@b.example>\r\n\r\nbody\r\n.\r\n";

fn news() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["segments", "feeds", "in.coming", "bad"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let line = |group| format!("{group} 0000000000 00001 y\n");
    let active: String = ["control", "junk", "misc.test"].map(line).concat();
    std::fs::write(dir.path().join("active"), active).unwrap();
    std::fs::write(dir.path().join("sys"), "ME:all::\n").unwrap();
    let settings = Settings {
        name: "news.example".to_owned(),
        ..Settings::default()
    };
    let text = settings::template(&settings);
    std::fs::write(dir.path().join(settings::FILE), text).unwrap();
    dir
}

struct Peer(BufReader<TcpStream>);

impl Peer {
    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    fn says(&mut self, text: &str) -> String {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
        self.reply()
    }
}

#[test]
fn an_article_is_filed_and_the_daemon_stops() {
    let dir = news();
    let listen = Listen {
        plain: vec!["127.0.0.1:0".to_owned()],
        tls: Vec::new(),
    };
    let options = Options {
        listen: &listen,
        program: Path::new("/nonexistent/broadsheet"),
        takes_signals: false,
        before_open: &|_| Ok(()),
    };
    let daemon = Daemon::start(NewsDirectory::at(dir.path()), &options);
    let daemon = daemon.unwrap().expect("nothing stopped it");
    let address = *daemon.addresses().first().unwrap();
    let stopper = daemon.stopper();
    let running = std::thread::spawn(move || daemon.run());

    let mut peer = Peer(BufReader::new(TcpStream::connect(address).unwrap()));
    assert!(peer.reply().starts_with("200 "));
    assert!(peer.says("IHAVE <1@b.example>\r\n").starts_with("335"));
    assert!(peer.says(ARTICLE).starts_with("235"));
    assert!(peer.says("IHAVE <1@b.example>\r\n").starts_with("435"));
    let filed = peer.says("STAT <1@b.example>\r\n");
    assert!(filed.starts_with("223"), "{filed}");

    stopper.stop();
    running.join().unwrap().unwrap();
    assert!(peer.reply().starts_with("400 "));
    assert_eq!(peer.reply(), "");
    assert!(!dir.path().join("control.sock").exists());
    let snapshot = Snapshot::open(dir.path()).unwrap();
    assert!(snapshot.history_line(b"<1@b.example>").unwrap().is_some());
}
