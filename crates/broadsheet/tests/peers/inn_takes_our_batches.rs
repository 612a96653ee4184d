//! INN's rnews expands our batches and offers every article of them to its server; here a made-up server on loopback.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use crate::program;
use program::inn::InnFiles;
use program::{Program, articles};

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

/// Takes whatever is offered; gives the articles as they came, dots taken off.
fn take(stream: TcpStream) -> Vec<Vec<u8>> {
    let mut out = stream.try_clone().expect("the stream again");
    let mut lines = BufReader::new(stream);
    let mut say = |text: &str| out.write_all(text.as_bytes()).expect("said");
    let mut next = || {
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).expect("a line");
        line
    };
    let mut taken = Vec::new();
    say("200 ready\r\n");
    loop {
        let line = next().to_ascii_lowercase();
        if line.starts_with(b"ihave") {
            say("335 send it\r\n");
            let mut article = Vec::new();
            loop {
                let line = next();
                match line.as_slice() {
                    b".\r\n" | b"" => break,
                    line => {
                        let text = line.strip_prefix(b".").unwrap_or(line);
                        article.extend_from_slice(text.strip_suffix(b"\r\n").unwrap_or(text));
                        article.push(b'\n');
                    }
                }
            }
            taken.push(article);
            say("235 thanks\r\n");
        } else if line.is_empty() || line.starts_with(b"quit") {
            return taken;
        } else {
            say("200 fine\r\n");
        }
    }
}

#[test]
fn plain_and_compressed_batches() {
    let Some(inn) = InnFiles::make(&[]) else {
        return;
    };
    let program = Program::with_news("test.a 0000000000 00001 y\n");
    let mut list = articles::many("out", 9, "test.a", 3000);
    list.push(articles::with(
        "<dots@example.com>",
        "test.a",
        "",
        b"..\n.\n.x\n",
    ));
    program.rnews(&articles::batch(&list));
    let names: String = (1..=10)
        .map(|number| format!("test.a/{number}\n"))
        .collect();
    program.write("list", names.as_bytes());
    let filed: Vec<_> = (1..=10)
        .map(|number| program.run_bytes(&["article", "--dir", "news", &format!("test.a/{number}")]))
        .collect();
    for how in ["none", "compress", "gzip", "bzip2"] {
        let batch = program.run_bytes(&["batcher", "--dir", "news", "--compress", how, "list"]);
        program.write("batch", &batch);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener
            .local_addr()
            .expect("an address")
            .port()
            .to_string();
        let child = inn
            .command("rnews")
            .args(["-S", "127.0.0.1", "-P", &port])
            .stdin(std::fs::File::open(program.path("batch")).expect("the batch"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("rnews starts");
        // Whoever ends first: a server that nobody comes to would wait for ever.
        let waiting = std::thread::spawn(move || child.wait_with_output());
        listener.set_nonblocking(true).expect("not waiting");
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break Some(stream),
                Err(_) if waiting.is_finished() => break None,
                Err(_) => std::thread::yield_now(),
            }
        };
        let taken = stream.map(|stream| {
            stream.set_nonblocking(false).expect("waiting");
            take(stream)
        });
        let done = waiting.join().expect("joined").expect("ended");
        assert!(
            done.status.success(),
            "{how}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(
            taken.as_ref() == Some(&filed),
            "{how}: {:?} articles",
            taken.map(|all| all.len())
        );
    }
}
