//! Readers: each looks at its node again and again, and what it sees must stay true.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::articles::{self, GROUPS};
use super::load::Load;
use crate::program::dice::Dice;
use crate::program::nntp::Client;

/// Rows that a reader asks for.
const ROWS: u64 = 60;

/// Reads at a node until the load is over.
pub fn read(load: &Arc<Load>, node: usize) {
    let mut dice = Dice::new(load.seed ^ 0x4ead ^ node as u64);
    while load.goes_on() {
        if let Some(mut client) = load.client(node) {
            let _ = session(load, node, &mut client, &mut dice);
        }
    }
}

/// Reads until the connection ends: `None`.
fn session(load: &Load, node: usize, client: &mut Client, dice: &mut Dice) -> Option<()> {
    let mut highs = [0; GROUPS.len()];
    while load.goes_on() {
        for (group, (name, before)) in GROUPS.iter().zip(&mut highs).enumerate() {
            let told = ask(client, &format!("GROUP {name}"))?;
            let mut words = told.split(' ').map(str::parse::<u64>);
            let Some(Ok(high)) = words.nth(3).filter(|_| told.starts_with("211 ")) else {
                load.fault(format!("node {node}: GROUP {name}: {told}"));
                return None;
            };
            if high < *before {
                load.fault(format!(
                    "node {node}: {name} ended at {before}, and then at {high}"
                ));
            }
            *before = high;
            // The newest, or older ones.
            let last = match dice.chance(70) {
                true => high,
                false => dice.below(high + 1),
            };
            let range = format!("{}-{last}", last.saturating_sub(ROWS).max(1));
            let told = ask(client, &format!("OVER {range}"))?;
            if told.starts_with("224 ") {
                for row in client.lines_if_any()? {
                    let mut fields = row.split('\t');
                    let number = fields.next().and_then(|number| number.parse().ok());
                    match (number, fields.nth(3)) {
                        (Some(number), Some(id)) => see(load, node, (group, number), id),
                        _ => load.fault(format!("node {node}: {name}: the row {row:?}")),
                    }
                }
            }
            let number = dice.below(high + 2);
            let told = ask(client, &format!("STAT {number}"))?;
            if let Some(id) = told.strip_prefix(&format!("223 {number} ")) {
                see(load, node, (group, number), id);
            }
            let article = dice.below(load.newest.load(Ordering::Relaxed) + 1);
            let id = articles::id(load.seed, article);
            let told = ask(client, &format!("STAT {id}"))?;
            if !told.starts_with("223 ") && !told.starts_with("430 ") {
                load.fault(format!("node {node}: STAT {id}: {told}"));
            }
            load.samples.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(20 + dice.below(100)));
    }
    None
}

/// The reply to a command; `None` at the end of the connection. A node that stops ends it with 400.
fn ask(client: &mut Client, command: &str) -> Option<String> {
    let told = client.ask_if_any(command)?;
    (!told.starts_with("400 ")).then_some(told)
}

fn see(load: &Load, node: usize, place: (usize, u64), id: &str) {
    let mut seen = load.seen.lock().unwrap();
    let (first, at) = seen
        .entry(place)
        .or_insert_with(|| (id.to_owned(), node))
        .clone();
    drop(seen);
    if first != id {
        let group = GROUPS.get(place.0).copied().unwrap_or_default();
        load.fault(format!(
            "{group}/{} is {first} at node {at}, and {id} at node {node}",
            place.1
        ));
    }
}
