//! A node that most others contradict fetches their articles by itself, and goes on with the log from there. It does so once a day; a copy that
//! a command has made takes its place at the next start.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use program::Program;
use program::articles::{article, batch, id, many};
use program::cluster::{applied, name, nodes, seen, until_equal};
use program::daemon::{Daemon, until};
use program::nats::Servers;
use program::nntp::{Client, Served, offer};

const ACTIVE: &str = "comp.test 0 1 y\ncomp.misc 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";
/// A node says this when most others contradict it.
const DIFFERS: &str = "it has filed otherwise than";
/// Entries after which all nodes have compared their outcomes once.
const COMPARED: usize = 80;

/// Stops the last node, and lets it keep the article comp.test/NUMBER in an expire that removes all others of the group.
fn let_it_differ(programs: &[Program], served: &mut Vec<Served>, number: u64) {
    until_equal(programs);
    served.pop().unwrap().daemon.stop();
    let lines = format!("/expired/ 0\n+ comp.test/{number}\n");
    let sum = ::article::crc32c(lines.as_bytes());
    let text = format!("BSexpired1 {sum}\n{lines}");
    programs[2].write("news/expired", text.as_bytes());
    served.push(Served::start(&programs[2]));
    programs[1].write(
        "news/explist",
        b"/expired/ x 0 -\ncomp.test x 0 -\nall x 90 -\n",
    );
    let later = SystemTime::now() + Duration::from_secs(86_400);
    let now = later.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let words = [
        "expire",
        "--dir",
        "news",
        "--now",
        &now.to_string(),
        "--force",
    ];
    let told = programs[1].run(&words);
    assert_eq!(told.status, 0, "{told:?}");
}

/// Offers articles to a node, so many that the outcomes are compared.
fn offer_many(address: &str, prefix: &str) {
    for number in 0..COMPARED {
        let id = id(prefix, number);
        assert_eq!(offer(address, &id, &article(&id, "comp.test")), "239");
    }
}

/// Offers articles to the first node until the last one finds that it differs; what that one has said since, in lines.
fn until_it_differs(served: &[Served], prefix: &str) -> Vec<String> {
    let (mut number, mut said) = (0, Vec::new());
    until("the contradiction", || {
        number += 1;
        let id = id(prefix, number);
        offer(&served[0].address, &id, &article(&id, "comp.test"));
        said.extend(served[2].daemon.said());
        said.iter().any(|line| line.contains(DIFFERS))
    });
    said
}

/// Waits until the other nodes know that the last one has stopped.
fn until_listed(programs: &[Program]) {
    until("the node is listed as stopped", || stopped(programs) == 1);
}

/// The number of nodes that are listed as stopped.
fn stopped(programs: &[Program]) -> usize {
    let told = programs[0].run(&["cluster", "status", "--dir", "news", "--json"]);
    let told = told.summary();
    let listed = told["log_extent"]["nodes"].as_array().unwrap();
    assert_eq!(listed.len(), 3, "{listed:?}");
    let is_stopped = |node: &&serde_json::Value| !node["stopped"].is_null();
    listed.iter().filter(is_stopped).count()
}

/// Waits until a daemon listens again in the same process; the new address.
fn until_back(daemon: &Daemon) -> String {
    let said = daemon.until_said("listening at ");
    daemon.until_notified("READY=1");
    said.rsplit_once(' ').unwrap().1.to_owned()
}

fn assert_equal(programs: &[Program]) {
    let groups = ["comp.test", "comp.misc"];
    let first = seen(&programs[0], &groups);
    for program in programs {
        program.assert_clean();
        for (what, text) in seen(program, &groups) {
            assert!(text == first[&what], "{what} differs");
        }
    }
}

#[test]
fn by_themselves_once_a_day() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let told = programs[0].rnews(&batch(&many("x", 40, "comp.test", 3000)));
    assert_eq!(told.status, 0, "{told:?}");
    let_it_differ(&programs, &mut served, 7);
    let process = served[2].daemon.pid();
    let said = until_it_differs(&served, "later");
    let line = said.iter().find(|line| line.contains(DIFFERS)).unwrap();
    for other in &programs[..2] {
        assert!(line.contains(&name(other)), "{line}");
    }
    assert!(line.contains("it fetches their articles now"), "{line}");
    let daemon = &served[2].daemon;
    daemon.until_said("the copy is whole");
    daemon.until_said("in the place of those here");
    let address = until_back(daemon);
    assert_eq!(served[2].daemon.ended(), None);
    assert_eq!(served[2].daemon.pid(), process);
    // What it takes reaches all, under the same numbers.
    offer_many(&address, "back");
    until_equal(&programs);
    until("no node is listed as stopped", || stopped(&programs) == 0);
    assert!(!programs[2].path("news/reseed").exists());

    // On the same day it waits for the administrator, also after a restart.
    let_it_differ(&programs, &mut served, 130);
    let said = until_it_differs(&served, "again");
    let line = said.iter().find(|line| line.contains(DIFFERS)).unwrap();
    assert!(line.contains("less than 24 h ago"), "{line}");
    assert!(line.contains("`broadsheet cluster reseed' here"), "{line}");
    until("no more clients", || {
        let greeting = Client::connect(&served[2].address).line();
        greeting.starts_with("400 ")
    });
    until_listed(&programs);
    served.pop().unwrap().daemon.stop();
    served.push(Served::start(&programs[2]));
    let line = served[2].daemon.until_said(DIFFERS);
    assert!(line.contains("less than 24 h ago"), "{line}");
    // Beside the daemon he makes the copy that the next start takes, wherever it is killed.
    let words = ["cluster", "reseed", "--dir", "news", "--json", "--stage"];
    let told = programs[2].run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(told.summary()["staged"], true);
    served.pop().unwrap().daemon.kill();
    served.push(Served::start(&programs[2]));
    offer_many(&served[2].address, "staged");
    until_equal(&programs);
    for served in served {
        served.daemon.stop();
    }
    assert_equal(&programs);
}

#[test]
fn after_a_kill_in_the_middle() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    for part in 0..12 {
        let told = programs[0].rnews(&batch(&many(&format!("x{part}"), 100, "comp.misc", 30_000)));
        assert_eq!(told.status, 0, "{told:?}");
    }
    let told = programs[0].rnews(&batch(&many("y", 40, "comp.test", 3000)));
    assert_eq!(told.status, 0, "{told:?}");
    let_it_differ(&programs, &mut served, 7);
    until_it_differs(&served, "later");
    until("something of the copy", || {
        programs[2].path("news/reseed/segments").exists()
            || programs[2].path("news/cluster.reseeded").exists()
    });
    served.pop().unwrap().daemon.kill();
    // What was there at the kill decides what it does now: it finds again that it differs, fetches the rest, or goes on with the copy.
    let mut daemon = Daemon::launch(&programs[2]);
    let mut number = 0;
    until("the same outcome", || {
        number += 1;
        let id = id("more", number);
        offer(&served[0].address, &id, &article(&id, "comp.test"));
        number % 20 == 0 && {
            std::thread::sleep(Duration::from_millis(500));
            applied(&programs[0]) == applied(&programs[2])
        }
    });
    until_equal(&programs);
    // It may be starting again just now: then the signal ends it before it has a handler.
    daemon.signal("TERM");
    assert!([0, -1].contains(&daemon.until_ended()));
    for served in served {
        served.daemon.stop();
    }
    assert_equal(&programs);
}
