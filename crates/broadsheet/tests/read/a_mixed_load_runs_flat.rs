//! Peers, readers and posters at once, with expire and reloads between: no error, no more memory than at first, no thread gone. It takes
//! as long as BROADSHEET_SOAK_SECONDS says, 600 s where it says nothing:
//! `make soak`.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use program::Program;
use program::articles::with;
use program::daemon::Over;
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};

const GROUPS: [&str; 3] = ["comp.a", "comp.b", "alt.c"];
/// What memory may vary by.
const SLACK_BYTES: usize = 32 << 20;

/// What was done, and whether it is to go on.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    taken: AtomicU64,
    read: AtomicU64,
    gone: AtomicU64,
    posted: AtomicU64,
}

impl Load {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    fn count(&self, of: &AtomicU64) {
        of.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
#[ignore = "takes minutes; `make soak` runs it"]
fn for_as_long_as_it_is_told() {
    let seconds = std::env::var("BROADSHEET_SOAK_SECONDS");
    let seconds = seconds.map_or(600, |text| text.parse().unwrap());
    let program = Program::with_small_segments(
        "comp.a 0000000000 00001 y\ncomp.b 0000000000 00001 y\nalt.c 0000000000 00001 y\n",
        16,
    );
    listen(&program, ALL_MAY);
    program.write(
        "news/explist",
        b"/expired/ x 0.0001 -\nalt x 0-0.001-0.002 -\nall x 0-0.0003-0.0005 -\n",
    );
    let served = Served::start(&program);
    let load = Load::default();
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        let (address, load) = (served.address.as_str(), &load);
        for peer in 0..3 {
            scope.spawn(move || send(address, peer, load));
        }
        for reader in 0..3 {
            scope.spawn(move || read(address, reader, load));
        }
        scope.spawn(move || post(address, load));
        let over = Over(&load.is_over);
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            for word in ["expire", "reload", "fsck", "status"] {
                let told = program.run(&[word, "--dir", "news"]);
                assert_eq!(told.status, 0, "{told:?}");
                std::thread::sleep(Duration::from_millis(500));
                samples.push((served.memory(), threads(&served)));
            }
            let last = samples[samples.len() - 1];
            println!("{} KiB, {} threads", last.0 >> 10, last.1);
        }
        drop(over);
    });
    let (early, late) = samples.split_at(samples.len() / 4);
    let most = |of: &[(usize, usize)]| of.iter().map(|sample| sample.0).max().unwrap();
    assert!(most(late) < most(early) + SLACK_BYTES, "{samples:?}");
    let least = samples.iter().map(|sample| sample.1).min();
    assert_eq!(least, Some(samples[0].1), "{samples:?}");
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "{} taken, {} read, {} gone, {} posted",
        of(&load.taken),
        of(&load.read),
        of(&load.gone),
        of(&load.posted)
    );
    served.daemon.stop();
    program.assert_clean();
}

fn threads(served: &Served) -> usize {
    let tasks = format!("/proc/{}/task", served.daemon.pid());
    std::fs::read_dir(tasks).unwrap().count()
}

fn send(address: &str, peer: usize, load: &Load) {
    let mut client = Client::greeted(address);
    for number in (0..).step_by(50) {
        if !load.goes_on() {
            return;
        }
        let ids: Vec<String> = (number..number + 50)
            .map(|number| format!("<{peer}.{number}@example.com>"))
            .collect();
        let mut bytes = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            let lines = if at == 0 { 3_000 } else { 10 + at };
            let body = "a line of some length\n".repeat(lines);
            let article = with(id, GROUPS[at % 3], "", body.as_bytes());
            bytes.extend(take_this(id, &article));
        }
        let said = client.say_beside(bytes);
        for id in ids {
            assert_eq!(client.line(), format!("239 {id}"));
            load.count(&load.taken);
        }
        said.join().unwrap().unwrap();
    }
}

/// Reads the newest, which expire leaves alone.
fn read(address: &str, reader: usize, load: &Load) {
    let mut client = Client::greeted(address);
    for turn in reader.. {
        if !load.goes_on() {
            return;
        }
        let told = client.ask(&format!("GROUP {}", GROUPS[turn % 3]));
        let high: u64 = told
            .split(' ')
            .nth(3)
            .unwrap_or_default()
            .parse()
            .unwrap_or(0);
        let low = high.saturating_sub(200);
        if client
            .ask(&format!("OVER {low}-{high}"))
            .starts_with("224 ")
        {
            let rows = client.lines();
            assert!(rows.iter().all(|row| row.matches('\t').count() >= 7));
        }
        for number in (low..high).step_by(7) {
            let line = client.ask(&format!("BODY {number}"));
            if !line.starts_with("222 ") {
                assert!(line.starts_with("423 "), "{line}");
                load.count(&load.gone);
                continue;
            }
            let body = client.lines();
            assert!(
                body.iter()
                    .all(|line| line == "a line of some length" || line == "hello")
            );
            load.count(&load.read);
        }
    }
}

fn post(address: &str, load: &Load) {
    let mut client = Client::greeted(address);
    while load.goes_on() {
        assert!(client.ask("POST").starts_with("340 "));
        client.say("From: a@example.com\r\nNewsgroups: comp.a\r\nSubject: x\r\n\r\nhello\r\n.\r\n");
        let line = client.line();
        assert!(line.starts_with("240 "), "{line}");
        load.count(&load.posted);
        std::thread::sleep(Duration::from_millis(20));
    }
}
