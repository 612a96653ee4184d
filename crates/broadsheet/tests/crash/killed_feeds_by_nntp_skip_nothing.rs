//! `feed flush` to a peer killed before its system calls, and the daemon killed at random moments while it feeds: the peer gets every
//! article, and at most what was in flight at a kill twice.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use program::Program;
use program::articles::id;
use program::daemon::{Daemon, until};
use program::dice::Dice;
use program::faults;
use program::feeding::{feeding, file};
use program::taker::Taker;

/// Kills of the daemon, and system calls before which `feed flush` is killed; BROADSHEET_TEST_ROUNDS tells another number.
const ROUNDS: usize = 12;
/// Articles of a round.
const ARTICLES: usize = 150;
/// Most articles that a kill costs, as `broadsheet limits' says.
const IN_FLIGHT_MAX: usize = 4_000;
/// The system calls that read the log, move the cursor, or talk to the peer.
const CALLS: &str = "openat,write,pwrite64,ftruncate,fsync,fdatasync,?rename,?renameat,?unlink,?unlinkat,?mkdir,socket,connect,sendto,sendmsg,writev,read,recvfrom,close";

/// Every article came, and no more of them again than were in flight at a kill.
fn assert_whole(got: &BTreeMap<String, usize>, rounds: usize, kills: usize) {
    for round in 0..rounds {
        for number in 1..=ARTICLES {
            let id = id(&format!("r{round}"), number);
            assert!(got.contains_key(&id), "{id}");
        }
    }
    assert_eq!(got.len(), rounds * ARTICLES);
    let again: usize = got.values().map(|times| times - 1).sum();
    assert!(again <= kills * IN_FLIGHT_MAX, "{again} in {kills} kills");
    let most = got.values().max().unwrap_or(&0) - 1;
    assert!(
        most <= kills,
        "one came again {most} times in {kills} kills"
    );
    eprintln!("{kills} kills: {again} articles came again");
}

#[test]
fn the_daemon_at_random_moments() {
    let taker = Taker::start();
    let program = feeding(&taker.address, "");
    let mut dice = Dice::new(1986);
    let rounds = faults::rounds(ROUNDS);
    for round in 0..rounds {
        let mut daemon = Daemon::start(&program);
        file(&program, &format!("r{round}"), ARTICLES, 1_500);
        // A few ms after the commit it is in the middle of its work.
        let moment = Duration::from_micros(dice.below(20_000));
        let began = Instant::now();
        while began.elapsed() < moment {
            std::thread::yield_now();
        }
        daemon.kill();
    }
    let daemon = Daemon::start(&program);
    until("all articles are there", || {
        taker.count() == rounds * ARTICLES
    });
    daemon.stop();
    assert_whole(&taker.got(), rounds, rounds);
    program.assert_clean();
}

/// Runs `feed flush` under strace; whether it came to its end.
fn strace(program: &Program, options: &[&str]) -> bool {
    let mut strace = faults::strace(&program.path(""), CALLS, options);
    strace.args(["feed", "flush", "peer", "--dir", "news"]);
    strace.status().unwrap().success()
}

/// Files articles for a feed that is paused meanwhile, so that nothing is sent at once.
fn file_paused(program: &Program, prefix: &str) {
    let pause = program.run(&["feed", "pause", "peer", "--dir", "news"]);
    assert_eq!(pause.status, 0, "{pause:?}");
    file(program, prefix, ARTICLES, 1_500);
    let resume = program.run(&["feed", "resume", "peer", "--dir", "news"]);
    assert_eq!(resume.status, 0, "{resume:?}");
}

#[test]
fn feed_flush_before_its_calls() {
    let taker = Taker::start();
    let program = feeding(&taker.address, "");
    if !faults::can_trace() {
        return;
    }
    program.rnews(b"");
    file_paused(&program, "r0");
    assert!(strace(&program, &["-f"]));
    let mut calls = faults::calls(&program.path(""), "");
    // The first third starts the process, and reads settings.
    let calls: Vec<_> = calls.split_off(calls.len() / 3);
    let rounds = faults::rounds(ROUNDS).min(calls.len());
    let mut kills = 0;
    for (round, (name, count)) in calls
        .iter()
        .step_by(calls.len() / rounds)
        .take(rounds)
        .enumerate()
    {
        file_paused(&program, &format!("r{}", round + 1));
        let inject = faults::inject(name, "signal=SIGKILL", *count);
        kills += usize::from(!strace(&program, &["-f", "-e", &inject]));
    }
    assert!(kills > rounds / 2, "{kills} of {rounds}");
    let told = program.run(&["feed", "flush", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_whole(&taker.got(), rounds + 1, kills);
    program.assert_clean();
}
