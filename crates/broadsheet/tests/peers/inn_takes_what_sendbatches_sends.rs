//! Two more ways between a real INN and us: sendbatches hands its batches to INN's rnews, which gives them to innd; and INN's innxbatch sends
//! the batches of its batcher, of which our rnews takes each.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use program::Program;
use program::articles::{batch, id, many, with};
use program::inn::Inn;

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";
const ARTICLES: usize = 20;

#[test]
fn sendbatches_to_rnews_of_inn() {
    let Some(inn) = Inn::start(&["comp.test"]) else {
        return;
    };
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    for compress in ["none", "compress", "gzip", "bzip2"] {
        let site = format!(
            "\n[[site]]\nname = \"inn.example.org\"\ngroups = \"comp\"\nvia = {{ batch = \"{} -N\", size = \"20 kB\", compress = \"{compress}\" }}\n",
            inn.words("rnews")
        );
        program.write(
            "news/broadsheet.toml",
            (settings.clone() + &site).as_bytes(),
        );
        let odd = format!("<odd.{compress}@example.com>");
        let mut articles = many(compress, ARTICLES, "comp.test", 3000);
        articles.push(with(
            &odd,
            "comp.test",
            "",
            b".\n..two\n#! rnews 7\n\n\xe9\x80\n",
        ));
        let told = program.rnews(&batch(&articles));
        assert_eq!(told.count("accepted"), articles.len() as u64, "{told:?}");
        let told = program.run(&["sendbatches", "--dir", "news", "--json"]);
        assert_eq!(told.status, 0, "{compress}: {told:?}");
        assert_eq!(told.count("articles"), articles.len() as u64, "{told:?}");
        assert!(told.count("batches") > 2, "{told:?}");
        let ids = (1..=ARTICLES).map(|number| id(compress, number));
        for id in ids.chain([odd]) {
            assert!(inn.has(&id), "{compress}: {id}");
        }
    }
    // What it has, it has as it was here, but for its own name in Path and its own Xref.
    let id = "<odd.gzip@example.com>";
    let there = inn.article(id);
    let here = program.run_bytes(&["article", "--dir", "news", id]);
    let body = b"\n\n.\n..two\n#! rnews 7\n\n\xe9\x80\n";
    assert!(here.ends_with(body) && there.ends_with(body));
    let there = String::from_utf8_lossy(&there).into_owned();
    let path = "Path: inn.example.org!";
    assert!(
        there.contains(path) && there.contains("!news.example.org!"),
        "{there}"
    );
}

/// Serves one innxbatch; gives the batches it sent.
fn taken(listener: &TcpListener, count: usize) -> Vec<Vec<u8>> {
    let (stream, _) = listener.accept().unwrap();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    let mut batches = Vec::new();
    out.write_all(b"200 ready\r\n").unwrap();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).unwrap() == 0 {
            return batches;
        }
        let mut words = line.split_whitespace();
        match words
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "xbatch" => {
                let size = words.next().unwrap().parse().unwrap();
                out.write_all(b"339 send it\r\n").unwrap();
                let mut batch = vec![0; size];
                input.read_exact(&mut batch).unwrap();
                batches.push(batch);
                assert!(batches.len() <= count);
                out.write_all(b"239 thanks\r\n").unwrap();
            }
            "quit" => {
                out.write_all(b"205 bye\r\n").unwrap();
                return batches;
            }
            _ => out.write_all(b"500 what?\r\n").unwrap(),
        }
    }
}

#[test]
fn innxbatch_to_our_rnews() {
    let Some(inn) = Inn::start(&["comp.test"]) else {
        return;
    };
    // innxbatch knows one port only. This address is of this machine alone, as all of 127.
    let Ok(listener) = TcpListener::bind("127.0.0.119:119") else {
        eprintln!("skipped: innxbatch (port 119 of 127.0.0.119 cannot be listened at)");
        return;
    };
    let text = inn.path("to-inn");
    std::fs::write(&text, batch(&many("inn-back", ARTICLES, "comp.test", 3000))).unwrap();
    let done = inn.run("rnews", &["-N"], Some(&text));
    assert!(done.status.success(), "{done:?}");
    assert!(inn.has(&id("inn-back", ARTICLES)));
    let flushed = inn.run("ctlinnd", &["flush", "elsewhere"], None);
    assert!(flushed.status.success(), "{flushed:?}");
    let togo = inn.path("spool/outgoing/elsewhere");
    let list = std::fs::read(&togo).unwrap();
    for (line, compressor) in [
        ("", "cat"),
        ("#! gunbatch", "gzip -c"),
        ("#! cunbatch", "compress -c"),
        ("#! bunbatch", "bzip2 -c"),
    ] {
        std::fs::write(&togo, &list).unwrap();
        let first = match line {
            "" => String::new(),
            line => format!("echo '{line}'; "),
        };
        let tmp = inn.path("tmp");
        let each = format!("( {first}exec {compressor} ) > {}/batch.$$", tmp.display());
        let togo = togo.to_str().unwrap();
        let words = ["-r", "-b", "20000", "-p", &each, "elsewhere", togo];
        let done = inn.run("batcher", &words, None);
        assert!(done.status.success(), "{done:?}");
        let files: Vec<String> = std::fs::read_dir(&tmp)
            .unwrap()
            .map(|entry| entry.unwrap().path().to_string_lossy().into_owned())
            .collect();
        assert!(files.len() > 2, "{files:?}");
        let batches = std::thread::scope(|scope| {
            let server = scope.spawn(|| taken(&listener, files.len()));
            let mut words = vec!["-t", "20", "127.0.0.119"];
            words.extend(files.iter().map(String::as_str));
            let done = inn.run("innxbatch", &words, None);
            if !done.status.success() {
                // Whoever waits for it waits no longer.
                drop(std::net::TcpStream::connect("127.0.0.119:119"));
            }
            assert!(done.status.success(), "{done:?}");
            server.join().unwrap()
        });
        assert_eq!(batches.len(), files.len(), "{line}");
        let left = std::fs::read_dir(&tmp).unwrap().count();
        assert_eq!(left, 0, "innxbatch removes what was taken");
        let program = Program::with_news(ACTIVE);
        let mut accepted = 0;
        for batch in batches {
            let told = program.rnews(&batch);
            assert_eq!(
                (told.status, told.err.as_str()),
                (0, ""),
                "{line}: {told:?}"
            );
            accepted += told.count("accepted");
        }
        assert_eq!(accepted, ARTICLES as u64, "{line}");
        program.assert_clean();
    }
}
