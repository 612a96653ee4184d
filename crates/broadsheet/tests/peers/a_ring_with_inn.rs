//! Three sites in a ring, two of ours and an INN, each of which feeds only the next by NNTP: links are cut and healed, our daemons are
//! killed, INN is stopped (it does not claim to survive a kill), all of it at random and again and again; in the end every article is at
//! every site, filed once. Ten minutes of it: `BROADSHEET_TEST_ROUNDS=600 cargo test -p broadsheet --test all a_ring_with_inn`.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, id, many};
use program::dice::Dice;
use program::inn::Inn;
use program::link::Link;
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};

/// Rounds; BROADSHEET_TEST_ROUNDS tells another number.
const ROUNDS: usize = 12;
/// Most articles of a round.
const ARTICLES: u64 = 30;
/// Longest round, ms.
const ROUND_MS: u64 = 1_500;
/// How long it may take after the last round until every article is everywhere.
const PATIENCE: Duration = Duration::from_secs(180);
/// The sites; each feeds the next, and the last the first.
const SITES: [&str; 3] = ["red.example", "green.example", "inn.example.org"];
const INN: usize = 2;

/// The ring.
struct Ring {
    ours: [Program; 2],
    served: [Option<Served>; 2],
    inn: Inn,
    is_inn_up: bool,
    /// Link `n` leads from site `n` to the next.
    links: [Link; 3],
}

impl Ring {
    fn start() -> Option<Ring> {
        let links = [Link::start(), Link::start(), Link::start()];
        let inn = Inn::start_feeding(&["comp.test"], &[(SITES[0], links[2].port())])?;
        let ours = [0, 1].map(|own| {
            let program = Program::new();
            program.write("active.list", b"comp.test 0000000000 00001 y\n");
            program.init("news", SITES[own]);
            let site = format!(
                "\n[[site]]\nname = \"{}\"\ngroups = \"all\"\nvia = {{ nntp = \"{}\" }}\n",
                SITES[own + 1],
                links[own].address
            );
            listen(&program, &(ALL_MAY.to_owned() + &site));
            program
        });
        let mut ring = Ring {
            ours,
            served: [None, None],
            inn,
            is_inn_up: true,
            links,
        };
        ring.repair();
        Some(ring)
    }

    /// Starts what does not run, and heals all links.
    fn repair(&mut self) {
        for own in [0, 1] {
            if self.served[own].is_none() {
                self.served[own] = Some(Served::start(&self.ours[own]));
            }
        }
        if !self.is_inn_up {
            self.inn.start_again();
            self.is_inn_up = true;
        }
        for (number, link) in self.links.iter().enumerate() {
            link.heal(&self.address((number + 1) % SITES.len()));
        }
    }

    fn address(&self, site: usize) -> String {
        match site {
            INN => format!("127.0.0.1:{}", self.inn.port),
            own => self.served[own].as_ref().unwrap().address.clone(),
        }
    }

    /// One thing goes wrong.
    fn spoil(&mut self, dice: &mut Dice) {
        match dice.below(10) {
            0..=4 => self.links[dice.below(3) as usize].cut(),
            5..=8 => {
                if let Some(mut served) = self.served[dice.below(2) as usize].take() {
                    served.daemon.kill();
                }
            }
            _ if self.is_inn_up => {
                self.inn.stop();
                self.is_inn_up = false;
            }
            _ => {}
        }
    }

    /// Articles arrive at a site, if it runs; at ours also while the daemon is dead.
    fn arrive(&self, site: usize, prefix: &str, count: usize) -> Vec<String> {
        let articles = many(prefix, count, "comp.test", 4_000);
        let ids: Vec<String> = (1..=count).map(|number| id(prefix, number)).collect();
        if site != INN {
            let told = self.ours[site].rnews(&batch(&articles));
            assert_eq!(told.count("accepted") as usize, count, "{told:?}");
            return ids;
        }
        if !self.is_inn_up {
            return Vec::new();
        }
        let mut client = Client::greeted(&self.address(INN));
        for (id, article) in ids.iter().zip(&articles) {
            client.say(take_this(id, article));
            let reply = client.line();
            assert!(reply.starts_with("239"), "{reply}");
        }
        ids
    }

    /// The ids that a site does not have.
    fn missing(&self, site: usize, ids: &[String]) -> Vec<String> {
        let mut client = Client::greeted(&self.address(site));
        let mut is_missing = |id: &&String| !client.ask(&format!("STAT {id}")).starts_with("223");
        ids.iter().filter(|id| is_missing(id)).cloned().collect()
    }
}

#[test]
fn every_article_is_everywhere_once() {
    let Some(mut ring) = Ring::start() else {
        return;
    };
    let told = std::env::var("BROADSHEET_TEST_ROUNDS").ok();
    let rounds = told.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut dice = Dice::new(1987);
    let mut ids = Vec::new();
    for round in 0..rounds {
        let until = Instant::now() + Duration::from_millis(100 + dice.below(ROUND_MS));
        for (site, letter) in ["r", "g", "i"].into_iter().enumerate() {
            let count = 1 + dice.below(ARTICLES) as usize;
            ids.extend(ring.arrive(site, &format!("{letter}{round}"), count));
            if dice.below(2) == 0 {
                ring.spoil(&mut dice);
            }
        }
        // What was spoilt stays so until the round ends, and sometimes longer.
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        if dice.below(3) > 0 {
            ring.repair();
        }
    }
    ring.repair();
    let began = Instant::now();
    for (site, name) in SITES.iter().enumerate() {
        loop {
            let missing = ring.missing(site, &ids);
            if missing.is_empty() {
                break;
            }
            let late = began.elapsed() > PATIENCE;
            assert!(
                !late,
                "{name} lacks {} of {}: {missing:?}",
                missing.len(),
                ids.len()
            );
            // Ours try again after minutes at last.
            for program in &ring.ours {
                program.run(&["feed", "flush", "--dir", "news"]);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    eprintln!(
        "{} articles, {rounds} rounds, {:?} until all were everywhere",
        ids.len(),
        began.elapsed()
    );
    for served in ring.served.iter_mut().filter_map(Option::take) {
        served.daemon.stop();
    }
    for (program, site) in ring.ours.iter().zip(SITES) {
        let mut filed: BTreeMap<String, usize> = BTreeMap::new();
        for line in program.read("news/log").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [.., "+", id] | [.., "+", id, _] = words.as_slice() {
                *filed.entry((*id).to_owned()).or_default() += 1;
            }
        }
        assert!(filed.values().all(|&times| times == 1), "{site}: {filed:?}");
        // A killed daemon has filed articles whose lines in the log it had not written.
        assert!(filed.len() <= ids.len(), "{site}");
        let told = program.run(&["overview", "--dir", "news", "comp.test"]);
        assert_eq!(told.out.lines().count(), ids.len(), "{site}");
        program.assert_clean();
    }
    ring.inn.stop();
    assert_eq!(ring.inn.filed(), ids.len());
}
