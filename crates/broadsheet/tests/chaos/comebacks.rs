//! Nodes that get the articles of another one, while everything else goes on: after the loss of a disk, after too long an absence, and
//! because they filed otherwise.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cluster::jetstream::members;

use super::rig::{COUNT, Rig};
use crate::program::Program;
use crate::program::articles::{batch, with};
use crate::program::cluster::{applied, name};
use crate::program::dice::Dice;
use crate::program::nntp::{ALL_MAY, listen};

/// Longest wait for a copy of another node, and until the log has gone on without one.
const PATIENCE: Duration = Duration::from_secs(150);
/// Size of the articles that fill the log, bytes.
const FILLER_BYTES: usize = 60_000;
/// Longest time after which a copy is interrupted, ms.
const INTERRUPT_MS: u64 = 900;
/// Files of a node that are no articles: somebody puts them there again when its disk is lost. A batch that waits in `in.coming` is on no
/// other disk, and is lost with it, as rnews says; so it stays.
const KEPT: [&str; 4] = ["broadsheet.toml", "sys", "keys", "in.coming"];

/// The numbers of comebacks, by their reasons.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub put_out: usize,
    pub lost_disks: usize,
    pub diverged: usize,
    pub power_cuts: usize,
    pub reseeded: usize,
}

/// The event after which a node that does not run comes back.
pub enum Comeback {
    /// The log goes on without it; then it is started.
    Absence(JoinHandle<Result<Vec<String>, String>>),
    /// It gets the articles of another one; then it is started.
    Copy(JoinHandle<Result<Vec<String>, String>>),
}

impl Rig {
    /// Lets others file articles until the log has forgotten what this node lacks.
    pub fn stay_away(&mut self, place: usize, seed: u64) {
        let options = self.servers.options();
        let place_of = applied(&self.nodes[place].program);
        let next: u64 = place_of.split(' ').nth(1).unwrap().parse().unwrap();
        let others = (0..COUNT).filter(|other| *other != place);
        let others: Vec<(Arc<Program>, _)> = others
            .map(|other| {
                (
                    self.nodes[other].program.clone(),
                    self.nodes[other].gate.clone(),
                )
            })
            .collect();
        let worker = std::thread::spawn(move || {
            let begun = Instant::now();
            let mut refused = (0, String::new());
            for round in 0_u64.. {
                match members(&options) {
                    Ok((_, extent)) if extent.first > next + 1 => {
                        return Ok(vec![format!(
                            "the log begins with entry {}, and node {place} has applied {next}; {round} batches more in {:.1} s, {} refused: {}",
                            extent.first,
                            begun.elapsed().as_secs_f64(),
                            refused.0,
                            refused.1
                        )]);
                    }
                    _ if begun.elapsed() > PATIENCE => {
                        return Err(format!("the log never went on without node {place}"));
                    }
                    _ => {}
                }
                let (other, gate) = &others[(round % 2) as usize];
                let filler = |number| {
                    let id = format!("<filler.{place}.{seed:x}.{round}.{number}@example.org>");
                    let body = format!("{id}\n").repeat(FILLER_BYTES / id.len());
                    with(&id, "comp.test", "", body.as_bytes())
                };
                let articles: Vec<Vec<u8>> = (0..16).map(filler).collect();
                if let Ok(_open) = gate.try_read() {
                    let told = other.rnews(&batch(&articles));
                    if told.status != 0 {
                        refused = (refused.0 + 1, told.err);
                    }
                }
            }
            Ok(Vec::new())
        });
        self.nodes[place].comeback = Some(Comeback::Absence(worker));
    }

    /// Puts the articles of another node in the place of those of one that does not run, by `cluster join` or `cluster reseed`.
    pub fn fetch(&mut self, place: usize, word: &'static str, seed: u64) {
        self.nodes[place].life.fetch_add(1, Ordering::SeqCst);
        // Nobody knows yet that the diverged one does not have what the others have.
        let sound = (0..COUNT).find(|other| *other != place && Some(*other) != self.diverged);
        let from = match (self.diverged, sound) {
            (Some(diverged), Some(sound)) if diverged != place => {
                Some(name(&self.nodes[sound].program))
            }
            _ => None,
        };
        let program = self.nodes[place].program.clone();
        let worker = std::thread::spawn(move || copy(&program, word, from.as_deref(), seed));
        self.nodes[place].comeback = Some(Comeback::Copy(worker));
    }

    /// Starts nodes that are ready to come back.
    pub fn tend_comebacks(&mut self) {
        for place in 0..COUNT {
            let is_over = |comeback: &mut Comeback| match comeback {
                Comeback::Absence(worker) | Comeback::Copy(worker) => worker.is_finished(),
            };
            let comeback = self.nodes[place].comeback.take_if(is_over);
            let (worker, is_copy) = match comeback {
                None => continue,
                Some(Comeback::Absence(worker)) => (worker, false),
                Some(Comeback::Copy(worker)) => (worker, true),
            };
            let notes = worker.join().unwrap();
            let notes = notes.unwrap_or_else(|why| panic!("node {place}: {why}"));
            notes.iter().for_each(|note| self.note(note));
            if is_copy {
                self.note(&format!("node {place} has the articles of another one"));
                self.counts.reseeded += 1;
                self.nodes[place].life.fetch_add(1, Ordering::SeqCst);
                self.nodes[place].is_new.store(false, Ordering::SeqCst);
                if self.diverged == Some(place) {
                    self.diverged = None;
                }
            }
            self.start_node(place);
        }
    }

    /// Whether a node is not there, and will come back by itself.
    pub fn comes_back(&self, place: usize) -> bool {
        self.nodes[place].comeback.is_some()
    }

    /// Acts on what nodes say that cannot go on, as an administrator would.
    pub fn hear_nodes(&mut self) {
        for place in 0..COUNT {
            let node = &mut self.nodes[place];
            if node.daemon.is_none() {
                continue;
            }
            let unread = node.said.get(node.read..).unwrap_or_default();
            // Of another one it says `node NAME applies no more entries'.
            let line = unread
                .iter()
                .find(|line| {
                    line.contains("this node applies no more entries") && line.contains("reseed")
                })
                .cloned();
            node.read = node.said.len();
            let Some(line) = line else {
                continue;
            };
            self.note(&format!("node {place}: {line}"));
            let is_away = line.contains("it was away for too long");
            assert!(
                is_away || self.diverged == Some(place),
                "node {place} stopped: {line}"
            );
            self.counts.put_out += usize::from(is_away);
            self.kill_node(place);
            self.fetch(place, "reseed", place as u64);
        }
    }

    /// Takes everything from a node that does not run, and makes its directory anew. Returns false if somebody works there.
    pub fn lose_disk(&mut self, place: usize) -> bool {
        let fresh = Program::new();
        let told = fresh.run(&["init", "--dir", "news", "--name", "news.example.org"]);
        assert_eq!(told.status, 0, "{told:?}");
        listen(&fresh, ALL_MAY);
        let node = &self.nodes[place];
        let Ok(_closed) = node.gate.try_write() else {
            return false;
        };
        let script = format!(
            "for kept in {}; do rm -rf \"$1/$kept\"; if test -e \"$2/$kept\"; then cp -a \"$2/$kept\" \"$1/$kept\"; fi; done\n\
             find \"$2\" -mindepth 1 -delete && cp -a \"$1/.\" \"$2\"",
            KEPT.join(" ")
        );
        let news = [fresh.path("news"), node.program.path("news")];
        let done = Command::new("sh")
            .args(["-ec", &script, "sh"])
            .args(news)
            .status();
        assert!(done.unwrap().success());
        node.life.fetch_add(1, Ordering::SeqCst);
        node.is_new.store(true, Ordering::SeqCst);
        true
    }

    /// Lets a node that does not run have other numbers than the others.
    pub fn diverge(&mut self, place: usize) {
        let program = &self.nodes[place].program;
        let active = program.read("news/active");
        let lines = active.lines().map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            match (fields[0], fields[1].parse::<u64>()) {
                ("comp.test", Ok(high)) => {
                    format!(
                        "{} {:010} {} {}\n",
                        fields[0],
                        high + 1,
                        fields[2],
                        fields[3]
                    )
                }
                _ => format!("{line}\n"),
            }
        });
        let changed: String = lines.collect();
        assert_ne!(changed, active);
        program.write("news/active", changed.as_bytes());
        self.diverged = Some(place);
        self.counts.diverged += 1;
    }
}

/// Runs it until it succeeds; the first time it may be interrupted.
fn copy(
    program: &Program,
    word: &str,
    from: Option<&str>,
    seed: u64,
) -> Result<Vec<String>, String> {
    let (mut dice, begun) = (Dice::new(seed ^ 0xc097), Instant::now());
    let mut notes = Vec::new();
    let mut words = vec!["cluster", word, "--dir", "news"];
    if let Some(from) = from {
        words.extend(["--from", from]);
    }
    if dice.chance(50) {
        let mut command = program.command(&words);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(dice.below(INTERRUPT_MS)));
        let _ = child.kill();
        let status = child.wait().unwrap();
        notes.push(format!("cluster {word} is interrupted: {status}"));
    }
    loop {
        let told = program.run(&words);
        let last = told.err.lines().last().unwrap_or_default().to_owned();
        if told.status == 0 {
            let took = begun.elapsed().as_secs_f64();
            notes.push(format!("cluster {word} took {took:.1} s: {last}"));
            return Ok(notes);
        }
        // It was interrupted after its end.
        if last.contains("has articles, so it cannot begin") {
            words[1] = "reseed";
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("cluster {word} never succeeded: {told:?}"));
        }
        let took = begun.elapsed().as_secs_f64();
        notes.push(format!("cluster {word} failed after {took:.1} s: {last}"));
        std::thread::sleep(Duration::from_millis(300));
    }
}
