//! A news directory that pulls, and a server to pull from whose articles a test changes.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::articles::many;
use super::nntp::wire;
use super::{Program, Told, corpus};

/// Two groups.
pub const ACTIVE: &str = "comp.other 0000000000 00001 y\ncomp.test 0000000000 00001 y\n";

/// A news directory that pulls from this address.
pub fn pulling(address: &str, keys: &str) -> Program {
    let program = Program::with_news(ACTIVE);
    rename(&program, "leaf.example.org");
    let settings = program.read("news/broadsheet.toml")
        + &format!(
            "\n[[pull]]\nname = \"up\"\nserver = \"{address}\"\ngroups = \"comp.*\"\nfirst = 100000\n{keys}\n"
        );
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

/// A server that allows NEWNEWS with three articles from this number on, and a news directory that has pulled them.
pub fn by_newnews(first: u64) -> (Program, Arc<Mutex<Fake>>) {
    let mut fake = Fake {
        date: "20261125000000",
        ..Fake::default()
    };
    fake.put(first, &many("old", 3, "comp.test", 100));
    let (address, fake) = fake.start();
    let leaf = pulling(&address, "newnews = true");
    assert_eq!(pulled(&leaf), (3, 3));
    (leaf, fake)
}

/// Sites refuse articles that have their own name in Path.
pub fn rename(program: &Program, name: &str) {
    let settings = program.read("news/broadsheet.toml");
    let renamed = settings.replacen("news.example.org", name, 1);
    assert_ne!(settings, renamed);
    program.write("news/broadsheet.toml", renamed.as_bytes());
}

pub fn pull(program: &Program) -> Told {
    program.run(&["pull", "--dir", "news", "--json"])
}

/// Takes so many articles of a group when it is read for the first time.
pub fn take_first(program: &Program, count: u64) {
    let settings = program.read("news/broadsheet.toml");
    let changed = settings.replace("first = 100000", &format!("first = {count}"));
    assert_ne!(settings, changed);
    program.write("news/broadsheet.toml", changed.as_bytes());
}

/// Posts an article here.
pub fn post(program: &Program, subject: &str) {
    let words = ["inews", "--dir", "news", "-S", "-V", "-n", "comp.test"];
    let words = [&words[..], &["-t", subject, "-f", "us@example.com"]].concat();
    let told = program.feed(&words, b"text\n");
    assert_eq!(told.status, 0, "{told:?}");
}

/// Pulls without an error; returns the numbers of fetched and accepted articles.
pub fn pulled(program: &Program) -> (u64, u64) {
    let told = pull(program);
    assert_eq!(told.status, 0, "{told:?}");
    (told.count("fetched"), told.count("accepted"))
}

/// The number of articles in a group.
pub fn filed(program: &Program, group: &str) -> u64 {
    let active = program.read("news/active");
    let line = active.lines().find(|line| line.starts_with(group)).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

pub fn has(program: &Program, id: &str) -> bool {
    program.run(&["article", "--dir", "news", id]).status == 0
}

/// A server with one group, comp.test, whose articles a test changes.
#[derive(Default)]
pub struct Fake {
    /// Number, id, and text in wire form without the terminator.
    pub articles: Vec<(u64, String, Vec<u8>)>,
    /// The connection ends in the middle of the article after so many.
    pub articles_max: Option<usize>,
    /// It stays open instead.
    pub hangs: bool,
    /// Its reply to DATE; empty: it knows neither DATE nor NEWNEWS.
    pub date: &'static str,
    /// Number of articles that have gone and that NEWNEWS lists first.
    pub gone: usize,
    /// It has articles by their numbers only.
    pub has_no_ids: bool,
    /// Its overviews begin with the highest number.
    pub falls: bool,
    /// Its replies to commands that begin with these words.
    pub replies: Vec<(&'static str, &'static str)>,
    /// Its reply to the text of a post; empty: it takes the post.
    pub after_post: &'static str,
    /// It closes the connection at a command, or at a line of a post, that is one of these.
    pub breaks_at: Vec<String>,
    /// A line that it repeats without end after these replies.
    pub endless: &'static str,
    /// The commands that it got.
    pub asked: Vec<String>,
}

impl Fake {
    pub fn start(self) -> (String, Arc<Mutex<Fake>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let fake = Arc::new(Mutex::new(self));
        let shared = Arc::clone(&fake);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (shared, socket) = (Arc::clone(&shared), socket.unwrap());
                std::thread::spawn(move || serve(&shared, &socket));
            }
        });
        (address, fake)
    }

    /// An article by its number or id.
    fn article(&self, word: &str) -> Option<&(u64, String, Vec<u8>)> {
        let mut articles = self.articles.iter();
        match word.parse::<u64>() {
            Ok(number) => articles.find(|(own, ..)| *own == number),
            Err(_) => articles.find(|(_, own, _)| own == word && !self.has_no_ids),
        }
    }

    pub fn put(&mut self, first: u64, articles: &[Vec<u8>]) {
        for (number, article) in (first..).zip(articles) {
            let mut text = wire(article);
            text.truncate(text.len() - 3);
            let id = corpus::id(article);
            self.articles.push((number, id, text));
        }
    }
}

fn serve(fake: &Mutex<Fake>, mut socket: &TcpStream) -> std::io::Result<()> {
    socket.write_all(b"200 ready\r\n")?;
    let mut sent = 0;
    let mut lines = BufReader::new(socket.try_clone()?).lines();
    while let Some(line) = lines.next() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let mut fake = fake.lock().unwrap();
        fake.asked.push(line.clone());
        if fake.breaks_at.contains(&line) {
            return Ok(());
        }
        let reply = fake
            .replies
            .iter()
            .find(|(begin, _)| line.starts_with(begin));
        if let Some((_, reply)) = reply {
            let endless = fake.endless.repeat(10_000);
            socket.write_all(reply.as_bytes())?;
            drop(fake);
            while !endless.is_empty() {
                socket.write_all(endless.as_bytes())?;
            }
            continue;
        }
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
                let rows = articles.iter().filter(|one| range.contains(&one.0));
                let mut rows: Vec<_> = rows.collect();
                if fake.falls {
                    rows.reverse();
                }
                for (number, id, _) in rows {
                    writeln!(out, "{number}\tsubject\tfrom\tdate\t{id}\t\t100\t1\r")?;
                }
                out.extend_from_slice(b".\r\n");
            }
            "ARTICLE" => match fake.article(words[1]) {
                Some((_, _, text)) if text.is_empty() => {
                    out.extend_from_slice(b"430 it has gone\r\n")
                }
                None => out.extend_from_slice(b"430 no such article\r\n"),
                Some((_, id, text)) => {
                    writeln!(out, "220 0 {id}\r")?;
                    if fake.articles_max == Some(sent) {
                        out.extend_from_slice(&text[..text.len() / 2]);
                        socket.write_all(&out)?;
                        if fake.hangs {
                            drop(fake);
                            std::thread::park();
                        }
                        return Ok(());
                    }
                    sent += 1;
                    out.extend_from_slice(text);
                    out.extend_from_slice(b".\r\n");
                }
            },
            "POST" => {
                socket.write_all(b"340 send it\r\n")?;
                while let Some(line) = lines.next().transpose()?.filter(|line| line != ".") {
                    if fake.breaks_at.contains(&line) {
                        return Ok(());
                    }
                }
                let reply = match fake.after_post {
                    "" => "240 it is posted\r\n",
                    reply => reply,
                };
                out.extend_from_slice(reply.as_bytes());
            }
            "LIST" => {
                let high = articles.last().map_or(0, |article| article.0);
                writeln!(out, "215 list\r\ncomp.test {high} 1 y\r\n.\r")?;
            }
            "DATE" if !fake.date.is_empty() => writeln!(out, "111 {}\r", fake.date)?,
            "NEWNEWS" if !fake.date.is_empty() => {
                out.extend_from_slice(b"230 ids\r\n");
                for number in 0..fake.gone {
                    writeln!(out, "<gone-{number}@x>\r")?;
                }
                for (_, id, _) in articles {
                    writeln!(out, "{id}\r")?;
                }
                out.extend_from_slice(b".\r\n");
            }
            "QUIT" => return Ok(()),
            _ => out.extend_from_slice(b"500 what?\r\n"),
        }
        socket.write_all(&out)?;
    }
    Ok(())
}
