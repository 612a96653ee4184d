//! A build with other decisions goes on by the old ones until all nodes have it. A node whose build cannot apply the version in force stops
//! before it, or does not start.
//!
//! The environment gives debug builds the versions of another build.
#![cfg(debug_assertions)]
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use cluster::decisions::{DecisionRange, FIRST};
use program::articles::{article, id};
use program::cluster::{applied, become_node, make_node, name, nodes, until_equal};
use program::daemon::{Daemon, until};
use program::nats::Servers;
use program::nntp::{ALL_MAY, Client, Served, listen, offer};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";

/// Lets a node have the build that can apply these versions.
fn install(program: &Program, versions: &str) {
    let mut environment = program.environment.lock().unwrap();
    environment.clear();
    let variable = "BROADSHEET_TEST_DECISIONS".to_owned();
    environment.push((variable, versions.to_owned()));
}

fn rules(program: &Program) -> Told {
    program.run(&["cluster", "rules", "--dir", "news", "--json"])
}

/// Waits until the nodes have told their versions, so that these hold a newer one back.
fn until_held(program: &Program, names: &[String]) -> Told {
    let mut told = rules(program);
    until("the versions of the nodes", || {
        // Without any output as long as no node is in the list.
        let is_held = !told.out.is_empty() && told.summary()["held_by"] == serde_json::json!(names);
        if !is_held {
            told = rules(program);
        }
        is_held
    });
    told
}

#[test]
fn a_version_begins_when_all_nodes_have_the_build() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs: Vec<Program> = (0..3)
        .map(|place| {
            let program = Program::with_news(ACTIVE);
            install(&program, "1-1");
            become_node(&program, servers.options(), (place == 0).then_some("1 GiB"));
            program
        })
        .collect();
    install(&programs[0], "1-2");
    install(&programs[1], "1-3");
    let mut served: Vec<Option<Served>> = programs.iter().map(|p| Some(Served::start(p))).collect();
    let file = |served: &Option<Served>, number: usize| {
        let id = id("one", number);
        let address = &served.as_ref().unwrap().address;
        assert_eq!(offer(address, &id, &article(&id, "comp.test")), "239");
    };
    file(&served[0], 1);
    until_equal(&programs);
    // One has the build before.
    let told = until_held(&programs[0], &[name(&programs[2])]);
    assert_eq!((told.status, told.count("decisions")), (1, 1), "{told:?}");
    assert!(told.summary()["entry"].is_null(), "{told:?}");
    let told = programs[0].run(&["cluster", "rules", "--dir", "news"]);
    let waits = format!("a newer version waits for {}", name(&programs[2]));
    assert!(told.out.contains(&waits), "{told:?}");
    // One that is away holds it back, too.
    served[2].take().unwrap().daemon.stop();
    assert_eq!(rules(&programs[1]).status, 1);
    install(&programs[2], "1-2");
    served[2] = Some(Served::start(&programs[2]));
    file(&served[2], 2);
    let before = applied(&programs[0]);
    assert_eq!(before.split(' ').count(), 5, "{before}");
    // The others know no version 3. One of them is away when version 2 begins.
    until("the version of the third", || {
        let told = programs[2].run(&["cluster", "status", "--dir", "news", "--json"]);
        let nodes = &told.summary()["log_extent"]["nodes"];
        let mut nodes = nodes.as_array().unwrap().iter();
        nodes.all(|node| node["decisions"]["newest"].as_u64().unwrap() >= 2)
    });
    served[1].take().unwrap().daemon.stop();
    let told = rules(&programs[0]);
    assert_eq!((told.status, told.count("decisions")), (1, 2), "{told:?}");
    let held = serde_json::json!(held_names(&[&programs[0], &programs[2]]));
    assert_eq!(told.summary()["held_by"], held, "{told:?}");
    let entry = told.count("entry");
    file(&served[0], 3);
    let place = applied(&programs[0]);
    assert_eq!(place.split(' ').nth(5), Some("2"), "{place}");
    // It comes back with a build that cannot apply it, and stops before that entry.
    install(&programs[1], "1-1");
    let stopped = Served::start(&programs[1]);
    let said = stopped.daemon.until_said("applies no more entries");
    for part in [
        format!("from entry {entry} on"),
        "version 2 of the decisions".to_owned(),
        "this build can apply version 1 only".to_owned(),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    until("no more clients", || {
        let greeting = Client::connect(&stopped.address).line();
        greeting.starts_with("400 ")
    });
    let place = applied(&programs[1]);
    let last: u64 = place.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(last, entry - 1, "{place}");
    stopped.daemon.stop();
    // Nor does a build go on there that cannot apply the version before any more.
    install(&programs[1], "2-3");
    let mut refused = Daemon::launch(&programs[1]);
    refused.until_said("version 1 of the decisions, and this build can apply versions 2 to 3 only");
    assert_ne!(refused.until_ended(), 0);
    // With the right build it does.
    install(&programs[1], "1-3");
    served[1] = Some(Served::start(&programs[1]));
    file(&served[1], 4);
    until_equal(&programs);
    // A node whose build is too old for what it has filed does not start.
    served[2].take().unwrap().daemon.stop();
    let place = applied(&programs[2]);
    install(&programs[2], "1-1");
    let mut refused = Daemon::launch(&programs[2]);
    let said = refused.until_said("version 2 of the decisions");
    assert!(said.contains("install a build"), "{said}");
    assert_ne!(refused.until_ended(), 0);
    assert_eq!(applied(&programs[2]), place);
    // Nor does a new one take such articles.
    let fourth = Program::with_news(ACTIVE);
    install(&fourth, "1-1");
    listen(&fourth, ALL_MAY);
    fourth.cancel_as_c_news();
    make_node(&fourth, servers.options());
    let words = ["cluster", "join", "--dir", "news", "--from"];
    let told = fourth.run(&[&words[..], &[&name(&programs[0])]].concat());
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("cannot be taken"), "{told:?}");
    // Version 3 begins when the last one has it; a build that can apply nothing else holds up nobody before.
    for (node, versions) in [(0, "2-3"), (2, "2-3")] {
        if let Some(served) = served[node].take() {
            served.daemon.stop();
        }
        install(&programs[node], versions);
        served[node] = Some(Served::start(&programs[node]));
    }
    until_held(&programs[1], &[]);
    let told = rules(&programs[2]);
    assert_eq!((told.status, told.count("decisions")), (0, 3), "{told:?}");
    file(&served[0], 5);
    until_equal(&programs);
    let told = programs[0].run(&["cluster", "status", "--dir", "news"]);
    assert!(
        told.out
            .contains("version 3 in force, this build can apply versions 2 to 3"),
        "{told:?}"
    );
    for served in served.into_iter().flatten() {
        served.daemon.stop();
    }
    programs.iter().for_each(Program::assert_clean);
}

#[test]
fn a_new_cluster_decides_by_the_newest_version() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let first = id("one", 1);
    let code = offer(&served[1].address, &first, &article(&first, "comp.test"));
    assert_eq!(code, "239");
    until_equal(&programs);
    let newest = DecisionRange::OF_THIS_BUILD.newest;
    let place = applied(&programs[1]);
    // Nothing tells the first version.
    let shown = (newest > FIRST).then(|| newest.to_string());
    assert_eq!(place.split(' ').nth(5), shown.as_deref());
    until_held(&programs[0], &[]);
    let told = rules(&programs[0]);
    assert_eq!(told.count("decisions"), u64::from(newest), "{told:?}");
    assert!(told.summary()["entry"].is_null(), "{told:?}");
    for served in served {
        served.daemon.stop();
    }
}

/// The names of nodes as the list of the nodes has them.
fn held_names(programs: &[&Program]) -> Vec<String> {
    let mut names: Vec<String> = programs.iter().map(|program| name(program)).collect();
    names.sort();
    names
}
