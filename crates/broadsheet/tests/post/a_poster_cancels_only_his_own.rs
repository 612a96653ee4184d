//! Who posts over NNTP may cancel that post, by his login or by the Cancel-Key to a lock of his own; nobody else may.

use crate::program;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use program::Program;
use program::clients::{Server, set};
use program::cluster::{make_node, until_equal};
use program::daemon::until;
use program::nats::Servers;
use program::nntp::{ALL_MAY, Client, Served, listen};

/// A session of somebody who has logged in.
struct Reader {
    lines: BufReader<TcpStream>,
}

impl Reader {
    fn of(server: &Server, user: &str, password: &str) -> Reader {
        let stream = TcpStream::connect(format!("127.0.0.1:{}", server.port)).expect("connected");
        let mut reader = Reader {
            lines: BufReader::new(stream),
        };
        // No posting before the login.
        reader.answer("200");
        reader.ask(&format!("AUTHINFO USER {user}"), "381");
        reader.ask(&format!("AUTHINFO PASS {password}"), "281");
        reader
    }

    fn say(&mut self, text: &str) {
        let stream = self.lines.get_mut();
        stream.write_all(text.as_bytes()).expect("said");
    }

    fn answer(&mut self, code: &str) {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("an answer");
        assert!(line.starts_with(code), "{code} was to come, but: {line}");
    }

    fn ask(&mut self, command: &str, code: &str) {
        self.say(&format!("{command}\r\n"));
        self.answer(code);
    }

    fn post(&mut self, id: &str, header: &str) {
        self.ask("POST", "340");
        self.say(&format!(
            "From: Anna <anna@example.com>\r\nNewsgroups: test.two\r\nSubject: a post\r\nMessage-ID: {id}\r\n\
             {header}\r\nbody\r\n.\r\n"
        ));
        self.answer("240");
    }

    fn cancel(&mut self, id: &str, header: &str) {
        let own = format!("<cancel.{}.{}", self.number(), id.trim_start_matches('<'));
        self.post(&own, &format!("Control: cancel {id}\r\n{header}"));
    }

    /// Of the connection: cancels of different people have different ids.
    fn number(&self) -> u16 {
        let address = self.lines.get_ref().local_addr();
        address.expect("connected").port()
    }
}

fn server() -> Server {
    Server::start_with(|program, settings| {
        for (user, password) in [("anna", "hazelnut\n"), ("berta", "walnutshell\n")] {
            let told = program.feed(&["user", "add", "--dir", "news", user], password.as_bytes());
            assert_eq!(told.status, 0, "{told:?}");
        }
        let settings = set(settings, "listen", "\"127.0.0.1:0\"");
        let settings = set(settings, "plaintext_passwords", "true");
        settings + "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\npost = \"*\"\n"
    })
}

#[test]
fn by_the_login() {
    let server = server();
    let mut anna = Reader::of(&server, "anna", "hazelnut");
    let mut berta = Reader::of(&server, "berta", "walnutshell");
    let id = "<own@example.com>";
    anna.post(id, "");
    assert!(server.has(id));
    // The same From, the same address.
    berta.cancel(id, "");
    assert!(server.has(id));
    // Who has logged in anew is the same.
    Reader::of(&server, "anna", "hazelnut").cancel(id, "");
    assert!(!server.has(id));
    anna.ask(&format!("STAT {id}"), "430");

    let id = "<superseded@example.com>";
    anna.post(id, "");
    berta.post("<by-berta@example.com>", &format!("Supersedes: {id}\r\n"));
    assert!(server.has(id));
    anna.post("<by-anna@example.com>", &format!("Supersedes: {id}\r\n"));
    assert!(!server.has(id));
    server.program.assert_clean();
}

/// The key is `sha256:` and any text; its lock is the SHA-256 of that text in base64 (RFC 8315, 3.1).
#[test]
fn by_a_key_of_his_own() {
    let server = server();
    let mut anna = Reader::of(&server, "anna", "hazelnut");
    let mut berta = Reader::of(&server, "berta", "walnutshell");
    let id = "<locked@example.com>";
    // SHA-256 of `c2VjcmV0`.
    let lock = "Cancel-Lock: sha256:HBGF4C/z4js+WhxbyGzxXUEmyqPc3g/bbpOtxN7sEZ4=\r\n";
    anna.post(id, lock);
    berta.cancel(id, "Cancel-Key: sha256:d3Jvbmc=\r\n");
    assert!(server.has(id));
    Reader::of(&server, "berta", "walnutshell").cancel(id, "Cancel-Key: sha256:c2VjcmV0\r\n");
    assert!(!server.has(id));
}

/// Posts as a client on this machine; such clients share an identity.
fn post(client: &mut Client, id: &str, header: &str) {
    assert!(client.ask("POST").starts_with("340 "));
    client.say(format!(
        "From: a@example.com\r\nNewsgroups: test.one\r\nSubject: a post\r\nMessage-ID: {id}\r\n{header}\r\nbody\r\n.\r\n"
    ));
    let line = client.line();
    assert!(line.starts_with("240 "), "{line}");
}

#[test]
fn by_another_node_of_a_cluster() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = [(); 2].map(|()| Program::with_news("test.one 0 1 y\ncontrol 0 1 y\n"));
    for program in &programs {
        listen(program, ALL_MAY);
    }
    let early = "<early@example.com>";
    let late = "<late@example.com>";
    // Before it is a node, the first has a secret of its own.
    let served = Served::start(&programs[0]);
    post(&mut served.client(), early, "");
    served.daemon.stop();
    for program in &programs {
        make_node(program, servers.options());
    }
    until("the log", || {
        let words = ["cluster", "init", "--dir", "news", "--log-bytes", "1 GiB"];
        let told = programs[0].run(&words);
        told.status == 0 || told.err.contains("follows the log")
    });
    let one = Served::start(&programs[0]);
    let told = programs[1].run(&["cluster", "join", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let two = Served::start(&programs[1]);
    let (mut here, mut there) = (one.client(), two.client());
    let has = |client: &mut Client, id: &str| client.ask(&format!("STAT {id}")).starts_with("223 ");
    post(&mut here, late, "");
    until_equal(&programs);
    assert!(has(&mut there, early) && has(&mut there, late));
    let cancel = |client: &mut Client, id: &str, number: usize| {
        let own = format!("<cancel.{number}@example.com>");
        post(client, &own, &format!("Control: cancel {id}\r\n"));
    };
    cancel(&mut there, late, 1);
    assert!(!has(&mut there, late));
    // Posts of before have locks of the first node.
    cancel(&mut here, early, 2);
    assert!(!has(&mut here, early));
    until_equal(&programs);
    assert!(!has(&mut here, late) && !has(&mut there, early));
}
