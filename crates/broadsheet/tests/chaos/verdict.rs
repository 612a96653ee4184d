//! The end of a run: everything is healed, and what anybody was told is compared with what the nodes have.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::admins::counts;
use super::articles::{Article, GROUPS, id, number_of};
use super::changes::{Changes, Presence, is_short};
use super::load::{Heard, Load};
use super::rig::{COUNT, Rig};
use crate::program::articles::with;
use crate::program::cluster::{applied, seen};
use crate::program::nntp::{Client, take_this};

/// Articles that are compared byte by byte on each node.
const BODIES: usize = 200;

/// Waits until something is so; nodes that end meanwhile are started again.
pub fn until(what: &str, rig: &mut Rig, mut is_so: impl FnMut(&Rig) -> bool) {
    let begun = Instant::now();
    while !is_so(rig) {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        rig.tend();
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until every node takes an article again, and all of them have applied the same entries.
pub fn until_all_take(rig: &mut Rig) {
    for place in 0..COUNT {
        let id = format!("<last.{place}@example.org>");
        let article = with(&id, GROUPS[0], "", b"the last\n");
        until(&format!("an article at node {place}"), rig, |rig| {
            take(rig, place, &id, &article).is_some()
        });
    }
    until("the same entry on all nodes", rig, |rig| {
        let places: Vec<_> = rig
            .nodes
            .iter()
            .map(|node| applied(&node.program))
            .collect();
        places.iter().all(|place| *place == places[0])
    });
}

fn client(rig: &Rig, place: usize) -> Option<Client> {
    let address = rig.nodes[place].address.lock().unwrap().clone()?;
    Client::greeted_if_any(&address)
}

/// Offers an article: it is taken, or was before.
fn take(rig: &Rig, place: usize, id: &str, article: &[u8]) -> Option<()> {
    let mut client = client(rig, place)?;
    client.say_if_any(take_this(id, article))?;
    let line = client.whole_line()?;
    (line.starts_with("239 ") || line.starts_with("439 ")).then_some(())
}

/// Waits until the peer has every article that is there in the end, whichever node fed it. Returns how many came more than once.
/// One that was removed for a while may have been passed meanwhile.
pub fn until_fed(rig: &mut Rig, load: &Load) -> usize {
    let changes = Changes::of(load);
    let mut all = read(&seen(&rig.nodes[0].program, &GROUPS)).groups;
    all.retain(|id, _| number_of(id).is_none_or(|number| !changes.touches(number)));
    until("every article at the peer", rig, |rig| {
        let got = rig.taker.got();
        all.keys().all(|id| got.contains_key(id))
    });
    let got = rig.taker.got();
    got.values().filter(|times| **times > 1).count()
}

/// What the nodes have in the end.
struct Final {
    /// The id under each number.
    places: BTreeMap<(usize, u64), String>,
    /// The groups of each article that is there.
    groups: BTreeMap<String, Vec<usize>>,
    /// All ids that are known.
    known: BTreeSet<String>,
}

/// Stops the nodes, compares them, and checks everything that was heard and seen. Returns a line about it.
pub fn check(mut rig: Rig, load: &Load) -> String {
    compare_bodies(&rig, load);
    for node in &mut rig.nodes {
        let daemon = node.daemon.take().unwrap();
        daemon.stop();
    }
    let active = rig.nodes[0].program.read("news/active");
    let all: Vec<&str> = active
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let first = seen(&rig.nodes[0].program, &all);
    for (place, node) in rig.nodes.iter().enumerate() {
        node.program.assert_clean();
        assert!(
            node.program.read("news/active") == active,
            "the groups of node {place} are not those of node 0"
        );
        for (what, text) in seen(&node.program, &all) {
            assert!(
                text == first[&what],
                "{what} of node {place} is not that of node 0"
            );
        }
    }
    let found = read(&first);
    let changes = Changes::of(load);
    let cancelled = cancelled(load, &found, &changes);
    let mut faults = std::mem::take(&mut *load.faults.lock().unwrap());
    let mut accepted = 0;
    for (number, heard) in load.heard.lock().unwrap().iter() {
        accepted += usize::from(heard.iter().any(accepts));
        faults.extend(check_article(&found, load.seed, *number, heard));
    }
    for (place, (id, node)) in load.seen.lock().unwrap().iter() {
        let last = found.places.get(place);
        // What expire removed, and what an administrator has not restored.
        let is_gone = cancelled.contains(id)
            || number_of(id).is_some_and(|number| {
                changes.presence(number) != Presence::Here
                    || is_short(place.0) && changes.may_have_expired(number)
            });
        let is_true = last.map_or(is_gone, |last| last == id);
        if !is_true {
            faults.push(format!(
                "{}/{} was {id} at node {node}, and is {last:?} in the end",
                GROUPS[place.0], place.1
            ));
        }
    }
    for (node, id) in load.vanished.lock().unwrap().iter() {
        let may_vanish = number_of(id).is_some_and(|number| {
            changes.may_have_vanished(number, &Article::of(load.seed, number).groups)
        });
        if !cancelled.contains(id) && !may_vanish {
            faults.push(format!("node {node} had taken {id}, and did not show it"));
        }
    }
    let rows = |group: &str| -> BTreeSet<String> {
        let rows = first.get(group).map_or("", String::as_str).lines();
        rows.filter_map(|row| row.split('\t').nth(4))
            .map(str::to_owned)
            .collect()
    };
    faults.extend(changes.check_groups(&active, &rows, &found.known, load.seed));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(accepted > 0, "no article was taken");
    let samples = load.samples.load(Ordering::Relaxed);
    let done = counts(&load.acts.lock().unwrap());
    let expired = changes.have_expired(&load.heard.lock().unwrap()).len();
    assert!(
        done.values().all(|count| *count > 0),
        "administrators could not do everything: {done:?}"
    );
    let nodes = &rig.counts;
    assert!(nodes.reseeded > 0, "no node came back: {nodes:?}");
    assert!(
        nodes.power_cuts > 0 || !rig.has_lossy(),
        "no power was lost: {nodes:?}"
    );
    format!(
        "{accepted} articles were acknowledged, {} are known, {} numbers seen in {samples} looks; {done:?}, {expired} must have expired; {nodes:?}",
        found.known.len(),
        load.seen.lock().unwrap().len()
    )
}

fn read(seen: &BTreeMap<String, String>) -> Final {
    let (mut places, mut groups) = (BTreeMap::new(), BTreeMap::<String, Vec<usize>>::new());
    for (group, name) in GROUPS.iter().enumerate() {
        for row in seen[*name].lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            let id = fields[4].to_owned();
            groups.entry(id.clone()).or_default().push(group);
            let before = places.insert((group, fields[0].parse().unwrap()), id);
            assert_eq!(before, None, "{row}");
        }
    }
    let lines = seen["history"]
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default());
    let known: Vec<String> = lines.map(str::to_owned).collect();
    let count = known.len();
    let known: BTreeSet<String> = known.into_iter().collect();
    assert_eq!(known.len(), count, "the history has an id twice");
    Final {
        places,
        groups,
        known,
    }
}

fn accepts(heard: &Heard) -> bool {
    ["239 ", "235 ", "240 "]
        .iter()
        .any(|code| heard.reply.starts_with(code))
        || heard.reply == "rnews 0"
}

/// Everything that was heard about an article must be true.
fn check_article(found: &Final, seed: u64, number: u64, heard: &[Heard]) -> Vec<String> {
    let article = Article::of(seed, number);
    let mut faults = Vec::new();
    let is_known = found.known.contains(&article.id);
    let codes = ["239 ", "235 ", "240 "];
    let takers = heard
        .iter()
        .filter(|heard| codes.iter().any(|code| heard.reply.starts_with(code)))
        .count();
    if takers > 1 {
        faults.push(format!(
            "{} was taken {takers} times: {heard:?}",
            article.id
        ));
    }
    for told in heard {
        let is_true = match (told.reply.get(..4), article.is_good()) {
            (Some("239 " | "235 " | "240 "), is_good) => is_good && is_known,
            // A batch may have articles that nobody wants.
            (_, is_good) if told.reply == "rnews 0" => is_known || !is_good,
            (Some("439 " | "437 " | "438 " | "435 "), is_good) => is_known || !is_good,
            (Some("441 "), is_good) => {
                is_known || !is_good || told.reply.contains("ry again later")
            }
            _ => true,
        };
        if !is_true {
            faults.push(format!(
                "node {} told {:?} of {}, which is {}known in the end",
                told.node,
                told.reply,
                article.id,
                if is_known { "" } else { "not " }
            ));
        }
    }
    faults
}

/// The articles of which a known article is the cancel. Those of others that are known must be there, in their groups, unless an administrator
/// or expire removed them.
fn cancelled(load: &Load, found: &Final, changes: &Changes) -> BTreeSet<String> {
    let numbers = || found.known.iter().filter_map(|id| number_of(id));
    let cancels = numbers().filter_map(|number| Article::of(load.seed, number).cancels);
    let cancelled: BTreeSet<String> = cancels.map(|number| id(load.seed, number)).collect();
    let is_cancelled = |number: u64| cancelled.contains(&id(load.seed, number));
    let there = |number: u64| found.groups.get(&id(load.seed, number)).cloned();
    let mut faults = changes.check_articles(load, numbers(), &is_cancelled, &there);
    for number in numbers() {
        let article = Article::of(load.seed, number);
        if !article.is_good() && there(number).is_some() {
            faults.push(format!(
                "{} is there, and belongs into no group",
                article.id
            ));
        }
    }
    load.faults.lock().unwrap().extend(faults);
    cancelled
}

/// The bodies of some articles that were taken are those that were sent, on each node.
fn compare_bodies(rig: &Rig, load: &Load) {
    let heard = load.heard.lock().unwrap();
    let taken: Vec<u64> = heard
        .iter()
        .filter(|(_, heard)| heard.iter().any(accepts))
        .map(|(number, _)| *number)
        .collect();
    let step = taken.len() / BODIES + 1;
    for place in 0..COUNT {
        let mut client = client(rig, place).unwrap();
        for number in taken.iter().step_by(step) {
            let article = Article::of(load.seed, *number);
            let told = client.ask(&format!("BODY {}", article.id));
            if told.starts_with("222 ") {
                assert!(
                    client.block() == article.body(),
                    "the body of {} at node {place}",
                    article.id
                );
            } else {
                // Cancelled, as the check says later, or unwanted in a batch.
                assert!(told.starts_with("430 "), "{told}");
            }
        }
    }
}
