//! A cluster under faults by chance: nodes and servers are killed and stopped, links are cut, a disk is full, a bit of a server's file is
//! flipped, clocks are an hour apart, the power of a node fails, and nodes come back by the articles of others. Four peers send meanwhile,
//! readers look, and administrators remove articles and change groups. In the end every reply that a peer or an administrator got, and every
//! number that a reader saw, must be true on all nodes; and a peer must get every article, whichever node feeds it. `make chaos` does it for
//! as long as CHAOS_SECONDS says; CHAOS_SEED sets the first seed, and CHAOS_OLDER names the program of an earlier build for one
//! node. With BROADSHEET_CHAOS_JOURNAL a run that succeeds prints its faults, too.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod admins;
mod articles;
mod changes;
mod comebacks;
mod faults;
mod load;
mod peers;
mod power;
mod readers;
mod rig;
mod verdict;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, UNIX_EPOCH};

use load::Load;
use rig::{COUNT, Rig};

/// Peers.
const PEERS: u64 = 4;
/// The faults of a run of `make test`; there are two.
const SHORT: Duration = Duration::from_secs(90);
/// The faults of a run of `make chaos`: each has new nodes and servers.
const LONG: Duration = Duration::from_secs(45);
/// The seed of the run that is always the same.
const SEED: u64 = 17;
/// Longest wait for anything after the faults.
const PATIENCE: Duration = Duration::from_secs(180);

#[test]
fn what_a_cluster_promised_is_true() {
    for seed in [SEED, random_seed()] {
        run(seed, SHORT);
    }
}

#[test]
#[ignore = "takes as long as it is told; `make chaos` runs it"]
fn for_as_long_as_it_is_told() {
    let told = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = told("BROADSHEET_CHAOS_SECONDS").unwrap_or(600);
    let first = told("BROADSHEET_CHAOS_SEED").unwrap_or_else(random_seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = first;
    while seed == first || Instant::now() < end {
        if !run(seed, LONG) {
            return;
        }
        seed += 1;
    }
    println!("seeds {first} to {}", seed - 1);
}

/// One cluster from its beginning to its end. Returns false if it was skipped.
fn run(seed: u64, time: Duration) -> bool {
    println!("chaos: seed {seed}");
    let begun = Instant::now();
    let keep = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chaos-{seed}"));
    let Some(mut rig) = Rig::start(keep) else {
        return false;
    };
    let load = Load::new(seed, &rig.nodes);
    let threads = start_load(&load);
    let faults = faults::play(&mut rig, seed, time);
    load.end();
    verdict::until("the peers and readers to end", &mut rig, |_| {
        threads.iter().all(JoinHandle::is_finished)
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let healed = Instant::now();
    verdict::until_all_take(&mut rig);
    let again = verdict::until_fed(&mut rig, &load);
    if std::env::var_os("BROADSHEET_CHAOS_JOURNAL").is_some() {
        println!("{}", rig.journal.join("\n"));
    }
    let waited = healed.elapsed().as_secs_f64();
    let told = verdict::check(rig, &load);
    println!(
        "chaos: seed {seed}: {faults} faults; {told}; {again} came to the peer again; all nodes took articles again after {waited:.1} s; {:.0} s in all",
        begun.elapsed().as_secs_f64()
    );
    true
}

fn start_load(load: &Arc<Load>) -> Vec<JoinHandle<()>> {
    let peers = (0..PEERS).map(|peer| {
        let load = load.clone();
        std::thread::spawn(move || peers::send(&load, peer))
    });
    let readers = (0..COUNT).map(|node| {
        let load = load.clone();
        std::thread::spawn(move || readers::read(&load, node))
    });
    let admins = (0..admins::ADMINS).map(|own| {
        let load = load.clone();
        std::thread::spawn(move || admins::administer(&load, own))
    });
    peers.chain(readers).chain(admins).collect()
}

fn random_seed() -> u64 {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    now.as_millis() as u64 % 1_000_000_000
}
