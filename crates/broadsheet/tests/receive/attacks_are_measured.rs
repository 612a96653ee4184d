//! Figures for docs/performance.md, of what others notice of somebody who means no good. They depend on the machine, so nothing is asserted:
//! `cargo test --release -p broadsheet --test all attacks_are_measured -- --ignored --nocapture --test-threads 1`.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use program::Program;
use program::daemon::Daemon;
use program::nntp::{ALL_MAY, Client, Served, listen};

/// Articles of the group, with subjects of so many bytes.
const ARTICLES: usize = 5_000;
const SUBJECT_BYTES: usize = 900;

fn batch() -> Vec<u8> {
    let mut batch = Vec::new();
    let subject = "a".repeat(SUBJECT_BYTES);
    for number in 0..ARTICLES {
        let article = format!(
            "Path: x!y\nFrom: me@example.com\nNewsgroups: comp.test\nSubject: {subject}\nX-Long: {subject}\nDate: Mon, 20 Dec 1993 04:39:21 GMT\nMessage-ID: <{number}@test>\n\nx\n"
        );
        write!(batch, "#! rnews {}\n{article}", article.len()).unwrap();
    }
    batch
}

#[test]
#[ignore = "a measurement of docs/performance.md; `cargo test -p broadsheet --test all attacks_are_measured -- --ignored --nocapture` runs it"]
fn greetings_beside_heavy_patterns() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    assert_eq!(program.rnews(&batch()).status, 0);
    listen(
        &program,
        &(ALL_MAY.to_owned() + "connections_per_address_max = 20000\n"),
    );
    let served = Served::start(&program);
    let stretches = "*a?a?a?a?a?a?a?a?a?a?a?a?a?a?".repeat(15);
    for heavy in [
        format!("XPAT Subject 1- {stretches}b"),
        format!("XPAT X-Long 1- {stretches}b"),
        format!("XPAT Subject 1- *{}b", "?".repeat(430)),
    ] {
        let mut clients: Vec<Client> = (0..4).map(|_| served.client()).collect();
        for client in &mut clients {
            assert!(client.ask("GROUP comp.test").starts_with("211 "));
            // More than can be answered meanwhile.
            client.say_beside(format!("{heavy}\r\n").repeat(5000).into_bytes());
        }
        let mut took: Vec<Duration> = (0..100)
            .map(|_| {
                let begun = Instant::now();
                drop(served.client());
                begun.elapsed()
            })
            .collect();
        took.sort_unstable();
        println!(
            "{} bytes of {:.20}: a greeting after {:?} (median), {:?} (worst of 100)",
            heavy.len() + 2,
            heavy,
            took[50],
            took[99]
        );
    }
}

#[test]
#[ignore = "a measurement of docs/performance.md; `cargo test -p broadsheet --test all attacks_are_measured -- --ignored --nocapture` runs it"]
fn half_hellos() {
    const CONNECTIONS: usize = 8_000;
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let pem = made.cert.pem() + &made.signing_key.serialize_pem();
    program.write("news/both.pem", pem.as_bytes());
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(program.path("news/both.pem"), closed).unwrap();
    listen(
        &program,
        "\n[[access]]\nname = \"all\"\nread = \"*\"\nconnections_per_address_max = 20000\n",
    );
    program.set(
        "listen = \"127.0.0.1:0\"",
        "listen_tls = \"127.0.0.1:0\"\nlisten = \"\"",
    );
    program.set("listen_tls = \"\"", "");
    program.set("certificate = \"\"", "certificate = \"both.pem\"");
    program.set("key = \"\"", "key = \"both.pem\"");
    let daemon = Daemon::launch(&program);
    let said = daemon.until_said("listening at ");
    let address = said.split(' ').find(|word| word.starts_with("127.0.0.1:"));
    let address = address.unwrap().trim_end_matches(',').to_owned();
    daemon.until_notified("READY=1");
    let served = Served { daemon, address };
    let before = served.memory();
    let mut most = 0;
    for bytes in [0x4000usize, 0xfff0] {
        // A record that begins a hello of 64 KB, all but its last byte.
        let mut hello = vec![22, 3, 1, (bytes >> 8) as u8, bytes as u8, 1, 0, 0xff, 0xf0];
        hello.resize(5 + bytes - 1, 0);
        let clients: Vec<TcpStream> = (0..CONNECTIONS)
            .map_while(|_| {
                let mut client = TcpStream::connect(&served.address).ok()?;
                let _ = client.write_all(&hello[..1]);
                let _ = client.write_all(&hello[1..]);
                most = most.max(served.memory());
                Some(client)
            })
            .collect();
        println!(
            "{} half hellos of {bytes} bytes: {} MiB before, {} MiB at most, {} MiB now",
            clients.len(),
            before >> 20,
            most >> 20,
            served.memory() >> 20
        );
    }
}
