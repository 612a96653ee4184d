//! The faults, by chance from the seed: each begins, lasts, and is healed; some overlap.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::rig::{COUNT, Rig};
use crate::program::dice::Dice;

/// Most faults at once.
const FAULTS_MAX: usize = 3;
/// Longest fault, ms.
const LASTS_MS: u64 = 6_000;
/// Longest pause before the next one, ms.
const PAUSE_MS: u64 = 1_500;
/// Longest wait for the servers before one of them is damaged, and after it; then there is no damage, or the server is emptied.
const WHOLE_PATIENCE: Duration = Duration::from_secs(30);

/// A fault.
#[derive(Clone, Debug)]
enum Fault {
    KillNodes(Vec<usize>),
    StopNode(usize),
    KillServers(Vec<usize>),
    StopServer(usize),
    /// Between a node and some servers.
    CutNode {
        node: usize,
        servers: Vec<usize>,
        is_silent: bool,
    },
    /// Between two servers.
    CutServers {
        one: usize,
        other: usize,
        is_silent: bool,
    },
    /// Between a server and everything else.
    Isolate {
        server: usize,
        is_silent: bool,
    },
    /// The disk of the last node has so many KiB left.
    FullDisk(u64),
    /// A bit of a file of a server that is down.
    FlippedBit {
        server: usize,
        chance: u64,
    },
}

/// A part of the rig that has at most one fault at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Node(usize),
    Server(usize),
    NodeLink(usize, usize),
    ServerLink(usize, usize),
    Disk,
}

struct Active {
    fault: Fault,
    parts: Vec<Part>,
    until: Instant,
}

/// Plays faults for this time, and heals all of them. Returns their number.
pub fn play(rig: &mut Rig, seed: u64, time: Duration) -> usize {
    let mut dice = Dice::new(seed ^ 0xfa01);
    // Only one server is ever damaged: two damaged ones of three may have lost something for good.
    let damaged = dice.below(COUNT as u64) as usize;
    let mut active: Vec<Active> = Vec::new();
    let (mut count, mut is_calm) = (0, false);
    let end = Instant::now() + time;
    while Instant::now() < end {
        heal(rig, &mut active, Instant::now());
        rig.tend();
        if active.len() < FAULTS_MAX && !is_calm {
            let fault = any(&mut dice, damaged, rig.disk().is_some());
            let lasts = Duration::from_millis(200 + dice.below(LASTS_MS));
            let parts = parts(&fault);
            let busy: BTreeSet<Part> = active
                .iter()
                .flat_map(|active| active.parts.clone())
                .collect();
            if !parts.iter().any(|part| busy.contains(part)) && begin(rig, &fault) {
                count += 1;
                active.push(Active {
                    fault,
                    parts,
                    until: Instant::now() + lasts,
                });
            }
        }
        // Now and then there is time for everything to work again.
        is_calm = match is_calm {
            true => !active.is_empty() || dice.chance(50),
            false => dice.chance(10),
        };
        std::thread::sleep(Duration::from_millis(20 + dice.below(PAUSE_MS)));
    }
    heal(rig, &mut active, end + Duration::from_secs(3600));
    rig.note("healed");
    count
}

fn any(dice: &mut Dice, damaged: usize, has_small_disk: bool) -> Fault {
    let place = dice.below(COUNT as u64) as usize;
    let other = (place + 1 + dice.below(COUNT as u64 - 1) as usize) % COUNT;
    let is_silent = dice.chance(50);
    let some = |dice: &mut Dice| match dice.below(10) {
        0 => (0..COUNT).collect(),
        1..=3 => vec![place, other],
        _ => vec![place],
    };
    match dice.below(100) {
        0..=19 => Fault::KillNodes(some(dice)),
        20..=26 => Fault::StopNode(place),
        27..=43 => Fault::KillServers(some(dice)),
        44..=50 => Fault::StopServer(place),
        51..=58 => Fault::CutNode {
            node: dice.below(COUNT as u64) as usize,
            servers: some(dice),
            is_silent,
        },
        59..=66 => Fault::CutServers {
            one: place,
            other,
            is_silent,
        },
        67..=74 => Fault::Isolate {
            server: place,
            is_silent,
        },
        75..=82 if has_small_disk => {
            Fault::FullDisk([0, 100, 3_000, 30_000][dice.below(4) as usize])
        }
        _ => Fault::FlippedBit {
            server: damaged,
            chance: dice.next(),
        },
    }
}

/// The parts that a fault needs for itself.
fn parts(fault: &Fault) -> Vec<Part> {
    let link = |one: usize, other: usize| Part::ServerLink(one.min(other), one.max(other));
    match fault {
        Fault::KillNodes(nodes) => nodes.iter().map(|node| Part::Node(*node)).collect(),
        Fault::StopNode(node) => vec![Part::Node(*node)],
        Fault::KillServers(servers) => servers.iter().map(|server| Part::Server(*server)).collect(),
        Fault::StopServer(server) => vec![Part::Server(*server)],
        Fault::CutNode { node, servers, .. } => servers
            .iter()
            .map(|server| Part::NodeLink(*node, *server))
            .collect(),
        Fault::CutServers { one, other, .. } => vec![link(*one, *other)],
        Fault::Isolate { server, .. } => {
            let others = (0..COUNT).filter(|other| other != server);
            let links = others.map(|other| link(*server, other));
            links
                .chain((0..COUNT).map(|node| Part::NodeLink(node, *server)))
                .collect()
        }
        Fault::FullDisk(_) => vec![Part::Disk],
        // Until it has got everything from the others, none of them may fail.
        Fault::FlippedBit { .. } => {
            let links = (0..COUNT)
                .flat_map(|one| (one + 1..COUNT).map(move |other| Part::ServerLink(one, other)));
            links.chain((0..COUNT).map(Part::Server)).collect()
        }
    }
}

/// Returns whether it began.
fn begin(rig: &mut Rig, fault: &Fault) -> bool {
    if let Fault::FlippedBit { server, chance } = fault {
        return flip(rig, *server, *chance);
    }
    rig.note(&format!("{fault:?}"));
    match fault {
        Fault::KillNodes(nodes) => nodes.iter().for_each(|node| rig.kill_node(*node)),
        Fault::StopNode(node) => Rig::signal(rig.node_pid(*node), "STOP"),
        Fault::KillServers(servers) => servers.iter().for_each(|server| rig.servers.kill(*server)),
        Fault::StopServer(server) => Rig::signal(rig.servers.pid(*server), "STOP"),
        Fault::CutNode {
            node,
            servers,
            is_silent,
        } => {
            for server in servers {
                fail(rig.node_link(*node, *server), *is_silent);
            }
        }
        Fault::CutServers {
            one,
            other,
            is_silent,
        } => {
            for link in rig.server_links(*one, *other) {
                fail(link, *is_silent);
            }
        }
        Fault::Isolate { server, is_silent } => {
            for other in (0..COUNT).filter(|other| other != server) {
                for link in rig.server_links(*server, other) {
                    fail(link, *is_silent);
                }
            }
            for node in 0..COUNT {
                fail(rig.node_link(node, *server), *is_silent);
            }
        }
        Fault::FullDisk(free) => {
            if let Some(disk) = rig.disk() {
                disk.fill(*free);
            }
        }
        Fault::FlippedBit { .. } => {}
    }
    true
}

fn fail(link: &crate::program::link::Link, is_silent: bool) {
    match is_silent {
        true => link.silence(),
        false => link.cut(),
    }
}

/// Heals the faults whose time is over.
fn heal(rig: &mut Rig, active: &mut Vec<Active>, now: Instant) {
    let (over, rest) = std::mem::take(active)
        .into_iter()
        .partition(|active| active.until <= now);
    *active = rest;
    let over: Vec<Active> = over;
    for Active { fault, .. } in over {
        rig.note(&format!("end of {fault:?}"));
        match fault {
            Fault::KillNodes(nodes) => nodes.into_iter().for_each(|node| rig.start_node(node)),
            Fault::StopNode(node) => Rig::signal(rig.node_pid(node), "CONT"),
            Fault::KillServers(servers) => servers
                .into_iter()
                .for_each(|server| rig.servers.restart(server)),
            Fault::StopServer(server) => Rig::signal(rig.servers.pid(server), "CONT"),
            Fault::CutNode { node, servers, .. } => {
                servers
                    .into_iter()
                    .for_each(|server| rig.heal_node_link(node, server));
            }
            Fault::CutServers { one, other, .. } => rig.heal_server_links(one, other),
            Fault::Isolate { server, .. } => {
                for other in (0..COUNT).filter(|other| *other != server) {
                    rig.heal_server_links(server, other);
                }
                (0..COUNT).for_each(|node| rig.heal_node_link(node, server));
            }
            Fault::FullDisk(_) => {
                if let Some(disk) = rig.disk() {
                    disk.make_room();
                }
            }
            Fault::FlippedBit { server, .. } => mend(rig, server),
        }
    }
}

/// Waits until the servers are whole after one was damaged. One that does not get what it lacks is emptied, as the manual says.
fn mend(rig: &mut Rig, server: usize) {
    let are_others_whole = |rig: &Rig| {
        let mut others = (0..COUNT).filter(|other| *other != server);
        others.all(|other| rig.servers.is_healthy(other))
    };
    if !until_whole(rig) && are_others_whole(rig) {
        rig.note(&format!(
            "server {server} does not mend itself; its directory is emptied"
        ));
        rig.servers.kill(server);
        std::fs::remove_dir_all(rig.servers.store(server)).unwrap();
        rig.servers.restart(server);
    }
    let whole = until_whole(rig);
    rig.note(if whole {
        "the servers are whole"
    } else {
        "the servers are not whole"
    });
}

/// Kills a server that is whole, as the others are, changes a bit of one of its files, and starts it.
fn flip(rig: &mut Rig, server: usize, chance: u64) -> bool {
    if !until_whole(rig) {
        return false;
    }
    rig.servers.kill(server);
    let mut dice = Dice::new(chance);
    let mut files = Vec::new();
    files_below(&rig.servers.store(server), &mut files);
    files.sort();
    if files.is_empty() {
        rig.servers.restart(server);
        return false;
    }
    let path = files.swap_remove(dice.below(files.len() as u64) as usize);
    let size = std::fs::metadata(&path).unwrap().len();
    let (at, bit) = (dice.below(size), dice.below(8));
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ (1 << bit)], at).unwrap();
    rig.note(&format!(
        "bit {bit} of byte {at} of {size} of {} is flipped",
        path.display()
    ));
    if !rig.servers.starts(server) {
        // As the manual says: the other two have everything.
        rig.note(&format!(
            "server {server} does not start any more; its directory is emptied"
        ));
        std::fs::remove_dir_all(rig.servers.store(server)).unwrap();
        rig.servers.restart(server);
    }
    true
}

fn until_whole(rig: &mut Rig) -> bool {
    let begun = Instant::now();
    while !rig.servers_are_whole() {
        if begun.elapsed() > WHOLE_PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// All files that are not empty.
fn files_below(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(found) if found.is_dir() => files_below(&path, files),
            Ok(found) if found.len() > 0 => files.push(path),
            _ => {}
        }
    }
}
