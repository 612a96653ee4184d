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

use super::rig::{COUNT, LOSSY, Rig};
use crate::program::dice::Dice;

/// Most faults at once.
const FAULTS_MAX: usize = 3;
/// Longest fault, ms.
const LASTS_MS: u64 = 6_000;
/// Longest pause before the next one, ms.
const PAUSE_MS: u64 = 1_500;
/// Longest wait for the servers before one of them is damaged, and after it; then there is no damage, or the server is emptied.
const WHOLE_PATIENCE: Duration = Duration::from_secs(30);

/// Longest wait for commands that run at a node.
const PATIENCE_AT_GATE: Duration = Duration::from_secs(2);

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
    /// The power of the node whose disk then lacks what was not synced.
    PowerCut,
    /// A node is away until the log has forgotten what it lacks.
    Away(usize),
    /// A node loses its disk, and joins again.
    LoseDisk(usize),
    /// A node has other numbers than the others.
    Diverge(usize),
}

/// A part of the rig that has at most one fault at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Node(usize),
    Server(usize),
    NodeLink(usize, usize),
    ServerLink(usize, usize),
    Disk,
    /// A node that gets the articles of another one: the others must have all of them.
    Comeback,
}

struct Active {
    fault: Fault,
    parts: Vec<Part>,
    until: Instant,
}

/// Plays faults for this time, and heals all of them, but for nodes that still get the articles of others. Returns their number.
pub fn play(rig: &mut Rig, seed: u64, time: Duration) -> usize {
    let mut dice = Dice::new(seed ^ 0xfa01);
    // Only one server is ever damaged: two damaged ones of three may have lost something for good.
    let damaged = dice.below(COUNT as u64) as usize;
    let mut needed = needed(rig, seed);
    let mut active: Vec<Active> = Vec::new();
    let (mut count, mut is_calm) = (0, false);
    let begun = Instant::now();
    while begun.elapsed() < time || !needed.is_empty() {
        heal(rig, &mut active, Instant::now(), seed);
        rig.tend();
        let is_time = begun.elapsed() < time;
        let is_needed = begun.elapsed() > time / 6 && !needed.is_empty();
        if active.len() < FAULTS_MAX && (is_needed || is_time && !is_calm) {
            let fault = match needed.last() {
                Some(fault) if is_needed => fault.clone(),
                _ => any(&mut dice, damaged, rig),
            };
            let lasts = Duration::from_millis(200 + dice.below(LASTS_MS));
            let parts = parts(&fault);
            let busy = busy(rig, &active);
            if !parts.iter().any(|part| busy.contains(part)) && begin(rig, &fault) {
                count += 1;
                if is_needed {
                    needed.pop();
                }
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
    let healing = Instant::now();
    while !active.is_empty() {
        assert!(healing.elapsed() < super::PATIENCE, "faults that never end");
        heal(rig, &mut active, healing + Duration::from_secs(3600), seed);
        std::thread::sleep(Duration::from_millis(20));
    }
    rig.note("healed");
    count
}

/// Faults that no run is without.
fn needed(rig: &Rig, seed: u64) -> Vec<Fault> {
    let mut dice = Dice::new(seed ^ 0x3eed);
    let node = dice.below(COUNT as u64) as usize;
    let comeback = match seed % 3 {
        0 => Fault::Diverge(node),
        1 => Fault::LoseDisk(node),
        _ => Fault::Away(node),
    };
    let power = rig.has_lossy().then_some(Fault::PowerCut);
    [comeback].into_iter().chain(power).collect()
}

/// The parts that have a fault now.
fn busy(rig: &Rig, active: &[Active]) -> BTreeSet<Part> {
    let faulty = active.iter().flat_map(|active| active.parts.clone());
    let coming = (0..COUNT).filter(|node| rig.comes_back(*node));
    let coming = coming.flat_map(|node| [Part::Node(node), Part::Comeback]);
    faulty.chain(coming).collect()
}

fn any(dice: &mut Dice, damaged: usize, rig: &Rig) -> Fault {
    let place = dice.below(COUNT as u64) as usize;
    let other = (place + 1 + dice.below(COUNT as u64 - 1) as usize) % COUNT;
    let is_silent = dice.chance(50);
    let some = |dice: &mut Dice| match dice.below(10) {
        0 => (0..COUNT).collect(),
        1..=3 => vec![place, other],
        _ => vec![place],
    };
    match dice.below(100) {
        0..=16 => Fault::KillNodes(some(dice)),
        17..=22 => Fault::StopNode(place),
        23..=36 => Fault::KillServers(some(dice)),
        37..=42 => Fault::StopServer(place),
        43..=49 => Fault::CutNode {
            node: dice.below(COUNT as u64) as usize,
            servers: some(dice),
            is_silent,
        },
        50..=56 => Fault::CutServers {
            one: place,
            other,
            is_silent,
        },
        57..=63 => Fault::Isolate {
            server: place,
            is_silent,
        },
        64..=71 if rig.disk().is_some() => {
            Fault::FullDisk([0, 100, 3_000, 30_000][dice.below(4) as usize])
        }
        72..=79 if rig.has_lossy() => Fault::PowerCut,
        80..=83 => Fault::Away(place),
        84..=87 => Fault::LoseDisk(place),
        88..=91 => Fault::Diverge(place),
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
        Fault::PowerCut => vec![Part::Node(LOSSY)],
        Fault::Away(node) | Fault::Diverge(node) => vec![Part::Node(*node), Part::Comeback],
        Fault::LoseDisk(node) if node + 1 == COUNT => {
            vec![Part::Node(*node), Part::Comeback, Part::Disk]
        }
        Fault::LoseDisk(node) => vec![Part::Node(*node), Part::Comeback],
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
        Fault::PowerCut => rig.cut_power(),
        Fault::Away(node) => rig.kill_node(*node),
        Fault::LoseDisk(node) => {
            rig.kill_node(*node);
            if !until(PATIENCE_AT_GATE, || rig.lose_disk(*node)) {
                rig.note("somebody works there");
                rig.start_node(*node);
                return false;
            }
            rig.counts.lost_disks += 1;
        }
        Fault::Diverge(node) => {
            rig.kill_node(*node);
            rig.diverge(*node);
            rig.start_node(*node);
        }
        Fault::FlippedBit { .. } => {}
    }
    true
}

/// Whether something comes in this time.
fn until(patience: Duration, mut comes: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !comes() {
        if begun.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
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
fn heal(rig: &mut Rig, active: &mut Vec<Active>, now: Instant, seed: u64) {
    let (over, rest) = std::mem::take(active)
        .into_iter()
        .partition(|active| active.until <= now);
    *active = rest;
    let over: Vec<Active> = over;
    for Active { fault, parts, .. } in over {
        if let Fault::PowerCut = fault
            && !rig.power_is_back()
        {
            // A command still runs there.
            active.push(Active {
                fault,
                parts,
                until: now,
            });
            continue;
        }
        rig.note(&format!("end of {fault:?}"));
        match fault {
            Fault::PowerCut => {}
            Fault::Away(node) => rig.stay_away(node, seed),
            Fault::LoseDisk(node) => rig.fetch(node, "join", seed),
            // It may have noticed by itself.
            Fault::Diverge(node) => {
                if !rig.comes_back(node) && rig.diverged == Some(node) {
                    rig.kill_node(node);
                    rig.fetch(node, "reseed", seed);
                }
            }
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
    until(WHOLE_PATIENCE, || rig.servers_are_whole())
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
