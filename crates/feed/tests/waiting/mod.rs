//! Articles that wait for a site, and what may be asked about them afterwards.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Duration;

use article::wrap::WrapFormat;
use feed::{ArticleSource, BatchParms, Error, Sending, Sent};
use groups::CommandLine;
use groups::sites::{Build, Queue, To};
use store::{Filing, Options, OverviewFields, Piece, Position, Record, Snapshot, Spool};

/// A news directory with articles in it, all of which wait.
pub struct Waiting {
    room: tempfile::TempDir,
    positions: Vec<Position>,
    sizes: Vec<u64>,
    taken: usize,
    /// How many are delivered.
    pub delivered: usize,
}

impl Waiting {
    /// Articles whose bodies have so many bytes.
    pub fn new(bodies: &[usize]) -> Waiting {
        let room = tempfile::tempdir().unwrap();
        let news = room.path().join("news");
        std::fs::create_dir_all(news.join("segments")).unwrap();
        std::fs::write(news.join("active"), "test.a 0000000000 00001 y\n").unwrap();
        let mut spool = Spool::open(&news, Options::default()).unwrap();
        let mut positions = Vec::new();
        let mut sizes = Vec::new();
        for (number, bytes) in bodies.iter().enumerate() {
            let text = article(number, *bytes);
            sizes.push(text.len() as u64);
            positions.push(file(&mut spool, number, &text));
        }
        spool.commit().unwrap();
        Waiting {
            room,
            positions,
            sizes,
            taken: 0,
            delivered: 0,
        }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.room.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Sends by these parameters.
    pub fn send(&mut self, parms: &BatchParms) -> Sent {
        self.send_within(parms, Duration::from_secs(60), u64::MAX)
    }

    pub fn send_within(&mut self, parms: &BatchParms, limit: Duration, batches_max: u64) -> Sent {
        let room = self.room.path().to_owned();
        self.taken = self.delivered; // as after a restart
        let sending = Sending {
            site: b"north",
            parms,
            news: &room,
            uucp_spool: &room.join("uucp"),
            limit: limit.into(),
            batches_max,
        };
        sending.run(self).unwrap()
    }

    /// What was put in a file of the room.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The articles `from..until` as a batch has them.
    pub fn batch(&self, bodies: &[usize], from: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, bytes) in (from..).zip(bodies) {
            let text = article(number, *bytes);
            out.extend_from_slice(format!("#! rnews {}\n{text}", text.len()).as_bytes());
        }
        out
    }
}

impl ArticleSource for Waiting {
    fn offer(&mut self, put: &mut dyn FnMut(&Record<'_>) -> bool) -> Result<(), Error> {
        let snapshot = Snapshot::open(&self.room.path().join("news"))?;
        while let Some(position) = self.positions.get(self.taken) {
            let mut buffer = Vec::new();
            if !put(&snapshot.record(*position, &mut buffer)?.unwrap()) {
                break;
            }
            self.taken += 1;
        }
        Ok(())
    }

    fn delivered(&mut self) -> Result<(), Error> {
        self.delivered = self.taken;
        Ok(())
    }

    fn waiting_bytes(&mut self) -> Result<u64, Error> {
        Ok(self.sizes[self.delivered..].iter().sum())
    }
}

/// Batches of `size` bytes, given to this command.
pub fn by_command(size: u64, command: &str) -> BatchParms {
    BatchParms {
        size,
        size_max: size * 3,
        queue: Queue::Unlimited,
        build: Build::Articles,
        peer: b"north".to_vec(),
        packing: WrapFormat::default(),
        to: To::Command(CommandLine::parse(command.as_bytes()).unwrap()),
        is_off: false,
    }
}

/// A command for a shell, with `FILE` made a file of the room.
pub fn in_shell(size: u64, script: &str, room: &Path) -> BatchParms {
    let mut parms = by_command(size, "x");
    let script = script.replace("ROOM", room.to_str().unwrap());
    parms.to = To::Command(CommandLine::parse(format!("sh -c '{script}'").as_bytes()).unwrap());
    parms
}

fn article(number: usize, bytes: usize) -> String {
    let body = "a line of the body\n..\n.\n".repeat(bytes / 24 + 1);
    let body = &body[..bytes];
    format!("Path: x!u\nMessage-ID: <{number}@x>\n\n{body}")
}

fn file(spool: &mut Spool, number: usize, text: &str) -> Position {
    let group = spool.active().find(b"test.a").unwrap();
    let taken = spool.active_mut().take_number(group).unwrap();
    let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
    let id = format!("<{number}@x>");
    spool
        .append(&Filing {
            id: id.as_bytes(),
            arrival: 1000,
            expires: None.into(),
            is_late: false,
            links: &[(b"test.a".as_slice(), taken)],
            sites: b"north",
            header: &[Piece::Native(header.as_bytes())],
            body: Piece::Native(body.as_bytes()),
            left_out: None,
            overview: OverviewFields::default(),
        })
        .unwrap()
}
