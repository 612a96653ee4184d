//! `bench sink`: a server that does nothing. It reads its input, detects only the ends of commands, and
//! replies from memory: the maximum of the load program and the machine's TCP. With `--ports N` it listens on
//! more than one port; with `--wants` it wants every article, as a peer that has none. It counts, and XCOUNT asks for the counts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};

/// Number of connections served at once, all ports together.
const THREADS: usize = 256;

/// Most connections of one port among several.
const THREADS_A_PORT: usize = 8;

/// Bytes per read.
const READ_BYTES: usize = 256 << 10;

/// Length of a row, the mean of the generator's.
const ROW_BYTES: usize = 330;

/// Length of an article, the mean of the generator's.
const ARTICLE_BYTES: usize = 3_000;

/// The options of `bench sink`.
#[derive(Clone, Copy)]
pub struct SinkOptions {
    /// Number of ports.
    pub ports: usize,
    /// Whether CHECK finds each article wanted.
    pub wants: bool,
}

/// The counts since XRESET, over all ports.
struct Counts {
    begin: Instant,
    /// Articles of each port.
    articles: Vec<AtomicU64>,
    /// Nanoseconds since `begin` at the first offer, and at the end of the last read with an article; 0: none.
    first: AtomicU64,
    last: AtomicU64,
}

impl Counts {
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn offered(&self) {
        if self.first.load(Ordering::Relaxed) == 0 {
            let now = self.now();
            let _ = self
                .first
                .compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn came(&self, port: usize, articles: u64) {
        if let (Some(count), 1..) = (self.articles.get(port), articles) {
            count.fetch_add(articles, Ordering::Relaxed);
            self.last.fetch_max(self.now(), Ordering::Relaxed);
        }
    }

    fn reset(&self) {
        let all = self.articles.iter().chain([&self.first, &self.last]);
        all.for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// "articles fewest-of-a-port first last".
    fn line(&self) -> String {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let all: u64 = self.articles.iter().map(read).sum();
        let fewest = self.articles.iter().map(read).min().unwrap_or(0);
        format!(
            "290 {all} {fewest} {} {}\r\n",
            read(&self.first),
            read(&self.last)
        )
    }
}

/// Listens on free ports, which it prints on one line, until it is killed.
///
/// # Errors
/// There is no free port.
pub fn sink(options: SinkOptions) -> Result<()> {
    let listeners = (0..options.ports.max(1))
        .map(|_| TcpListener::bind("127.0.0.1:0").context("listening"))
        .collect::<Result<Vec<_>>>()?;
    let mut ports = Vec::new();
    for listener in &listeners {
        ports.push(listener.local_addr()?.port().to_string());
    }
    println!("{}", ports.join(" "));
    let threads = match listeners.len() {
        1 => THREADS,
        _ => THREADS_A_PORT,
    };
    let counts = Counts {
        begin: Instant::now(),
        articles: listeners.iter().map(|_| AtomicU64::new(0)).collect(),
        first: AtomicU64::new(0),
        last: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        for (port, listener) in listeners.iter().enumerate() {
            for _ in 0..threads {
                let counts = &counts;
                scope.spawn(move || {
                    let (canned, mut buffer) = (Canned::new(options.wants), vec![0; READ_BYTES]);
                    while let Ok((stream, _)) = listener.accept() {
                        // A client that disconnects is not an error of the sink.
                        let _ = serve(stream, &canned, &mut buffer, (counts, port));
                    }
                });
            }
        }
    });
    Ok(())
}

struct Canned {
    row: Vec<u8>,
    article: Vec<u8>,
    /// The reply to CHECK.
    check: &'static [u8],
}

impl Canned {
    fn new(wants: bool) -> Canned {
        let row = format!("1\t{}\r\n", "x".repeat(ROW_BYTES - 4));
        let mut article = String::new();
        while article.len() < ARTICLE_BYTES {
            article
                .push_str("A line as long as the lines of most articles are, or about that.\r\n");
        }
        Canned {
            row: row.into_bytes(),
            article: (article + ".\r\n").into_bytes(),
            check: if wants { b"238 " } else { b"438 " },
        }
    }
}

fn serve(
    mut stream: TcpStream,
    canned: &Canned,
    buffer: &mut Vec<u8>,
    (counts, port): (&Counts, usize),
) -> std::io::Result<()> {
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
        let mut articles = 0;
        loop {
            if let Some(reply) = &article_of {
                let Some(end) = memchr::memmem::find(left, b"\r\n.\r\n") else {
                    break;
                };
                out.extend_from_slice(reply);
                article_of = None;
                articles += 1;
                left = left.get(end + 5..).unwrap_or_default();
            }
            let Some(end) = memchr::memchr(b'\n', left) else {
                break;
            };
            let (line, rest) = left.split_at(end + 1);
            left = rest;
            match line.trim_ascii_end() {
                b"XCOUNT" => out.extend_from_slice(counts.line().as_bytes()),
                b"XRESET" => {
                    counts.reset();
                    out.extend_from_slice(b"290 0\r\n");
                }
                line if !answer(line, canned, &mut out, &mut article_of) => {
                    return stream.write_all(&out);
                }
                b"CAPABILITIES" => {}
                _ => counts.offered(),
            }
        }
        counts.came(port, articles);
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
    let (command, word) = match memchr::memchr(b' ', line) {
        Some(end) => (line.get(..end), line.get(end + 1..)),
        None => (Some(line), None),
    };
    let (command, word) = (command.unwrap_or_default(), word.unwrap_or_default());
    let reply = |out: &mut Vec<u8>, before: &[u8], after: &[u8]| {
        for part in [before, word, after, b"\r\n"] {
            out.extend_from_slice(part);
        }
    };
    let mut held = |code: &[u8]| {
        let mut held = Vec::with_capacity(code.len() + word.len() + 2);
        reply(&mut held, code, b"");
        *article_of = Some(held);
    };
    match command {
        b"TAKETHIS" => held(b"239 "),
        b"IHAVE" => {
            out.extend_from_slice(b"335 send\r\n");
            held(b"235 ");
        }
        b"CHECK" => reply(out, canned.check, b""),
        b"MODE" => out.extend_from_slice(b"203 stream\r\n"),
        b"CAPABILITIES" => {
            out.extend_from_slice(b"101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.\r\n");
        }
        b"GROUP" => reply(out, b"211 1000000 1 1000000 ", b""),
        b"OVER" => {
            out.extend_from_slice(b"224 rows\r\n");
            let range = String::from_utf8_lossy(word);
            let mut ends = range.split('-').map(|end| end.parse::<u64>().unwrap_or(0));
            let (from, to) = (ends.next().unwrap_or(0), ends.next().unwrap_or(0));
            for _ in from..=to {
                out.extend_from_slice(&canned.row);
            }
            out.extend_from_slice(b".\r\n");
        }
        b"ARTICLE" => {
            reply(out, b"220 ", b" <sink@bench.example>");
            out.extend_from_slice(&canned.article);
        }
        b"QUIT" => {
            out.extend_from_slice(b"205 bye\r\n");
            return false;
        }
        _ => out.extend_from_slice(b"500 what?\r\n"),
    }
    true
}
