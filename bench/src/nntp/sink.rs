//! `bench sink`: a server that does nothing. It reads its input, detects only the ends of commands, and
//! replies from memory: the maximum of the load program and the machine's TCP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::{Context, Result};

/// Number of connections served at once.
const THREADS: usize = 256;

/// Bytes per read.
const READ_BYTES: usize = 256 << 10;

/// Length of a row, the mean of the generator's.
const ROW_BYTES: usize = 330;

/// Length of an article, the mean of the generator's.
const ARTICLE_BYTES: usize = 3_000;

/// Listens on a free port, which it prints, until it is killed.
///
/// # Errors
/// There is no free port.
pub fn sink() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").context("listening")?;
    println!("{}", listener.local_addr()?.port());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let (canned, mut buffer) = (Canned::new(), vec![0; READ_BYTES]);
                while let Ok((stream, _)) = listener.accept() {
                    // A client that disconnects is not an error of the sink.
                    let _ = serve(stream, &canned, &mut buffer);
                }
            });
        }
    });
    Ok(())
}

struct Canned {
    row: Vec<u8>,
    article: Vec<u8>,
}

impl Canned {
    fn new() -> Canned {
        let row = format!("1\t{}\r\n", "x".repeat(ROW_BYTES - 4));
        let mut article = String::new();
        while article.len() < ARTICLE_BYTES {
            article
                .push_str("A line as long as the lines of most articles are, or about that.\r\n");
        }
        Canned {
            row: row.into_bytes(),
            article: (article + ".\r\n").into_bytes(),
        }
    }
}

fn serve(mut stream: TcpStream, canned: &Canned, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(b"200 sink\r\n")?;
    let (mut held, mut out) = (0, Vec::new());
    let mut article_of: Option<Vec<u8>> = None;
    loop {
        let count = stream.read(buffer.get_mut(held..).unwrap_or_default())?;
        if count == 0 {
            return Ok(());
        }
        held += count;
        let mut left = buffer.get(..held).unwrap_or_default();
        loop {
            if let Some(reply) = &article_of {
                let Some(end) = memchr::memmem::find(left, b"\r\n.\r\n") else {
                    break;
                };
                out.extend_from_slice(reply);
                article_of = None;
                left = left.get(end + 5..).unwrap_or_default();
            }
            let Some(end) = memchr::memchr(b'\n', left) else {
                break;
            };
            let (line, rest) = left.split_at(end + 1);
            left = rest;
            if !answer(line, canned, &mut out, &mut article_of) {
                stream.write_all(&out)?;
                return Ok(());
            }
        }
        let rest = left.len();
        buffer.copy_within(held - rest..held, 0);
        held = rest;
        if held == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        stream.write_all(&out)?;
        out.clear();
    }
}

/// Replies to a command; returns `false` after QUIT.
fn answer(
    line: &[u8],
    canned: &Canned,
    out: &mut Vec<u8>,
    article_of: &mut Option<Vec<u8>>,
) -> bool {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let (command, word) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    match command {
        "TAKETHIS" => *article_of = Some(format!("239 {word}\r\n").into_bytes()),
        "IHAVE" => {
            out.extend_from_slice(b"335 send\r\n");
            *article_of = Some(format!("235 {word}\r\n").into_bytes());
        }
        "CHECK" => out.extend_from_slice(format!("438 {word}\r\n").as_bytes()),
        "MODE" => out.extend_from_slice(b"203 stream\r\n"),
        "GROUP" => out.extend_from_slice(format!("211 1000000 1 1000000 {word}\r\n").as_bytes()),
        "OVER" => {
            out.extend_from_slice(b"224 rows\r\n");
            let mut ends = word.split('-').map(|end| end.parse::<u64>().unwrap_or(0));
            let (from, to) = (ends.next().unwrap_or(0), ends.next().unwrap_or(0));
            for _ in from..=to {
                out.extend_from_slice(&canned.row);
            }
            out.extend_from_slice(b".\r\n");
        }
        "ARTICLE" => {
            out.extend_from_slice(format!("220 {word} <sink@bench.example>\r\n").as_bytes());
            out.extend_from_slice(&canned.article);
        }
        "QUIT" => {
            out.extend_from_slice(b"205 bye\r\n");
            return false;
        }
        _ => out.extend_from_slice(b"500 what?\r\n"),
    }
    true
}
