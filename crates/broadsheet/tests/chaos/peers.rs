//! Peers and posters: each offers articles to one node after the other, often the same as another peer to another node.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::articles::Article;
use super::load::Load;
use super::rig::COUNT;
use crate::program::articles::batch;
use crate::program::dice::Dice;
use crate::program::nntp::{Client, take_this, wire};

/// Articles in flight.
const WINDOW: u64 = 25;
/// How far behind the newest article a peer offers others.
const BEHIND: u64 = 120;
/// Longest pause between two rounds, ms.
const PAUSE_MS: u64 = 120;

struct Peer<'a> {
    load: &'a Load,
    dice: Dice,
    node: usize,
    /// The life of the node before the connection.
    life: u64,
    client: Option<Client>,
}

/// Sends until the load is over.
pub fn send(load: &Arc<Load>, peer: u64) {
    let mut dice = Dice::new(load.seed ^ 0x9ee4 ^ (peer << 32));
    let mut peer = Peer {
        load,
        node: dice.below(COUNT as u64) as usize,
        dice,
        life: 0,
        client: None,
    };
    while load.goes_on() {
        if peer.dice.chance(10) {
            peer.change();
        }
        if peer.round().is_none() {
            peer.change();
        }
        std::thread::sleep(Duration::from_millis(peer.dice.below(PAUSE_MS)));
    }
}

impl Peer<'_> {
    fn change(&mut self) {
        self.client = None;
        self.node = self.dice.below(COUNT as u64) as usize;
    }

    /// `None`: the connection has ended, or the node takes nothing now.
    fn round(&mut self) -> Option<()> {
        if self.dice.chance(12) {
            return self.rnews();
        }
        let mut client = match self.client.take() {
            Some(client) => client,
            None => {
                self.life = self.load.life(self.node);
                self.load.client(self.node)?
            }
        };
        let done = match self.dice.below(10) {
            0..=6 => self.stream(&mut client),
            7..=8 => self.ihave(&mut client),
            _ => self.post(&mut client),
        };
        self.client = done.map(|()| client);
        self.client.as_ref().map(drop)
    }

    /// The number of an article: a new one, or one that was offered lately, perhaps by another peer at this moment.
    fn number(&mut self) -> u64 {
        match self.dice.chance(40) {
            true => self.load.next_number(),
            false => {
                let newest = self.load.newest.load(Ordering::Relaxed);
                newest.saturating_sub(self.dice.below(BEHIND)).max(1)
            }
        }
    }

    fn articles(&mut self, most: u64) -> Vec<(u64, Article)> {
        let count = 1 + self.dice.below(most);
        let mut numbers: Vec<u64> = (0..count).map(|_| self.number()).collect();
        numbers.sort_unstable();
        // A peer sends no article twice at once.
        numbers.dedup();
        let made = numbers
            .into_iter()
            .map(|number| (number, Article::of(self.load.seed, number)));
        made.collect()
    }

    /// TAKETHIS, some without a pause; what CHECK says is true, too.
    fn stream(&mut self, client: &mut Client) -> Option<()> {
        let mut articles = self.articles(WINDOW);
        if self.dice.chance(30) {
            let asked: String = articles
                .iter()
                .map(|(_, article)| format!("CHECK {}\r\n", article.id))
                .collect();
            client.say_if_any(asked)?;
            let mut wanted = Vec::new();
            for (number, article) in articles {
                let line = client.whole_line()?;
                match line.get(..3) {
                    Some("238") => wanted.push((number, article)),
                    _ => self.note(number, &line, &article.id),
                }
            }
            articles = wanted;
        }
        let stream: Vec<u8> = articles
            .iter()
            .flat_map(|(_, article)| take_this(&article.id, &article.bytes))
            .collect();
        let said = client.say_beside(stream);
        let mut done = Some(());
        let mut taken = None;
        for (number, article) in articles {
            let Some(line) = client.whole_line() else {
                done = None;
                break;
            };
            self.note(number, &line, &article.id);
            if line.starts_with("239 ") && article.cancels.is_none() {
                taken = Some(article);
            }
        }
        if done.is_none() {
            let _ = client.socket().shutdown(std::net::Shutdown::Both);
        }
        let _ = said.join().unwrap();
        done?;
        // What a node has taken it shows.
        if let Some(article) = taken {
            self.must_show(client, &article)?;
        }
        Some(())
    }

    fn must_show(&self, client: &mut Client, article: &Article) -> Option<()> {
        let told = client.ask_if_any(&format!("STAT {}", article.id))?;
        // A cancel may have come.
        if !told.starts_with("223 ") && !told.starts_with("430 ") {
            self.load.fault(format!(
                "node {}: {} was taken, and STAT tells: {told}",
                self.node, article.id
            ));
        }
        if told.starts_with("430 ") {
            self.load
                .vanished
                .lock()
                .unwrap()
                .push((self.node, article.id.clone()));
        }
        Some(())
    }

    fn ihave(&mut self, client: &mut Client) -> Option<()> {
        for (number, article) in self.articles(4) {
            let line = client.ask_if_any(&format!("IHAVE {}", article.id))?;
            if !line.starts_with("335 ") {
                self.note(number, &line, &article.id);
                continue;
            }
            client.say_if_any(wire(&article.bytes))?;
            let line = client.whole_line()?;
            self.note(number, &line, &article.id);
        }
        Some(())
    }

    fn post(&mut self, client: &mut Client) -> Option<()> {
        for (number, article) in self.articles(3) {
            // Groups that do not exist, or allow no posts, are another story for a post.
            if article.cancels.is_some() || article.made.is_some() {
                continue;
            }
            let line = client.ask_if_any("POST")?;
            if !line.starts_with("340 ") {
                return match line.get(..3) {
                    Some("440" | "436" | "400") => None,
                    _ => self.unexpected(&line),
                };
            }
            client.say_if_any(wire(&article.post()))?;
            let line = client.whole_line()?;
            self.note(number, &line, &article.id);
        }
        Some(())
    }

    /// A batch on standard input of rnews.
    fn rnews(&mut self) -> Option<()> {
        let articles = self.articles(40);
        let bytes: Vec<Vec<u8>> = articles
            .iter()
            .map(|(_, article)| article.bytes.clone())
            .collect();
        let _open = self.load.gates.get(self.node)?.try_read().ok()?;
        let place = (self.node, self.load.life(self.node));
        let told = self.load.programs.get(self.node)?.rnews(&batch(&bytes));
        for (number, _) in articles {
            self.load
                .hear(number, place, &format!("rnews {}", told.status));
        }
        Some(())
    }

    fn unexpected(&self, line: &str) -> Option<()> {
        self.load
            .fault(format!("node {}: an unexpected reply: {line}", self.node));
        None
    }

    /// Notes a reply about an article.
    fn note(&self, number: u64, line: &str, id: &str) {
        match line.get(..3) {
            Some("239" | "439" | "438" | "431") if !line.contains(id) => {
                let _ = self.unexpected(line);
            }
            Some("239" | "439" | "438" | "235" | "435" | "437" | "240" | "441") => {
                self.load.hear(number, (self.node, self.life), line)
            }
            Some("400" | "431" | "436") => {}
            _ => {
                let _ = self.unexpected(line);
            }
        }
    }
}
