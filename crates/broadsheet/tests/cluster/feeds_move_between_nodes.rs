//! The feeds of a cluster run on one node at a time. When it is killed, cut off or stopped, another goes on from what it has told: no article is
//! left out, and only those are sent again that were not told as delivered.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use cluster::feeding::SiteCursor;
use cluster::jetstream::feeder;
use cluster::log::LogOptions;
use daemon::{ClusterFeeds, client};
use program::Program;
use program::articles::{article, batch, id, many};
use program::cluster::{applied, become_node, name};
use program::daemon::until;
use program::feeding::add_peer;
use program::link::Link;
use program::nats::Servers;
use program::nntp::{Client, Served, take_this};
use program::taker::Taker;

const ACTIVE: &str = "comp.test 0 1 y\njunk 0 1 y\ncontrol 0 1 y\n";
/// Articles of a part of the load.
const ARTICLES: usize = 60;

/// A node, and its daemon while it runs.
struct Node {
    program: Program,
    served: Option<Served>,
}

/// Nodes that feed a peer by NNTP and, every second, a directory of batches, which all of them share.
fn nodes(
    taker: &Taker,
    batches: &Path,
    options: &dyn Fn(usize) -> LogOptions,
    count: usize,
) -> Vec<Node> {
    let script = format!("cat > {}/$$.$(date +%N)", batches.display());
    let site = format!(
        "\n[[site]]\nname = \"uucp\"\ngroups = \"comp\"\nvia = {{ batch = \"\"\"sh -c '{script}'\"\"\", size = \"20 kB\", compress = \"none\", schedule = \"every 1 s\" }}\n"
    );
    let start = |place| {
        let program = Program::with_news(ACTIVE);
        add_peer(&program, &taker.address, "");
        let settings = program.read("news/broadsheet.toml") + &site;
        program.write("news/broadsheet.toml", settings.as_bytes());
        become_node(&program, options(place), (place == 0).then_some("1 GiB"));
        Node {
            served: Some(Served::start(&program)),
            program,
        }
    };
    (0..count).map(start).collect()
}

/// What the daemon of a node says about its feeds.
fn told(node: &Node) -> Option<ClusterFeeds> {
    node.served.as_ref()?;
    client::status(&node.program.path("news"))?
        .status
        .cluster_feeds
}

/// Waits until one of the nodes feeds; its place.
fn until_one_feeds(nodes: &[Node]) -> usize {
    let mut feeds = None;
    until("a node that feeds", || {
        let here = |node: &Node| told(node).is_some_and(|told| told.is_here);
        feeds = nodes.iter().position(here);
        feeds.is_some()
    });
    feeds.unwrap()
}

/// Sends articles to the node at an address, which may have to find its servers again first.
fn send(address: &str, prefix: &str) {
    let mut client = None;
    for number in 1..=ARTICLES {
        let id = id(prefix, number);
        until("an article to be taken", || {
            let connected = client.take().or_else(|| Client::greeted_if_any(address));
            let offer = connected.and_then(|mut connected| {
                connected.say_if_any(take_this(&id, &article(&id, "comp.test")))?;
                let line = connected.whole_line()?;
                let is_taken = line.starts_with("239 ") || line.starts_with("439 ");
                is_taken.then_some(connected)
            });
            client = offer;
            client.is_some()
        });
    }
}

/// Where a node listens.
fn address(node: &Node) -> String {
    node.served.as_ref().unwrap().address.clone()
}

/// How often each article is in the batches.
fn batched(batches: &Path) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(batches).unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        for line in String::from_utf8_lossy(&text).lines() {
            if let Some(id) = line.strip_prefix("Message-ID: ") {
                *found.entry(id.to_owned()).or_default() += 1;
            }
        }
    }
    found
}

fn has_all(found: &BTreeMap<String, usize>, prefixes: &[String]) -> bool {
    let mut ids = prefixes
        .iter()
        .flat_map(|prefix| (1..=ARTICLES).map(|number| id(prefix, number)));
    ids.all(|id| found.contains_key(&id))
}

/// Waits until the cursors of both sites are told as behind everything.
fn until_told(options: &LogOptions, node: &Node) {
    until("the cursors", || {
        let last = applied(&node.program);
        let last: u64 = last.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, cursors) = feeder(options).unwrap();
        let is_behind = |name: &str| {
            let site: Option<&SiteCursor> = cursors.sites.get(name);
            site.and_then(|site| site.entry) == Some(last)
        };
        is_behind("peer") && is_behind("uucp")
    });
}

#[test]
fn killed_nodes_hand_over() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let taker = Taker::start();
    let batches = tempfile::tempdir().unwrap();
    let options = servers.options();
    let mut nodes = nodes(&taker, batches.path(), &|_| servers.options(), 3);
    let mut sent: Vec<String> = Vec::new();
    let mut once: Vec<String> = Vec::new();
    let mut terms = Vec::new();
    for round in 0..3 {
        let feeds = until_one_feeds(&nodes);
        terms.push(told(&nodes[feeds]).unwrap().term);
        let other = (0..3).find(|place| *place != feeds).unwrap();
        let sends_to = address(&nodes[other]);
        // What is told as delivered is not sent again.
        let prefix = format!("told{round}");
        send(&sends_to, &prefix);
        sent.push(prefix.clone());
        until("the first part", || {
            taker.count() >= ARTICLES * sent.len() && has_all(&batched(batches.path()), &sent)
        });
        until_told(&options, &nodes[feeds]);
        once.push(prefix);
        // The others say that they do not feed, and by whom it is done.
        if round == 0 {
            let holder = name(&nodes[feeds].program);
            until("the holder", || {
                told(&nodes[other]).is_some_and(|told| told.holder == holder)
            });
            let told = nodes[other]
                .program
                .run(&["feed", "flush", "--dir", "news"]);
            assert_ne!(told.status, 0, "{told:?}");
            assert!(told.err.contains("does not feed the sites"), "{told:?}");
            assert!(told.err.contains(&name(&nodes[feeds].program)), "{told:?}");
            for words in [
                &["sendbatches", "--dir", "news"][..],
                &["feed", "pause", "--dir", "news", "peer"],
            ] {
                let told = nodes[other].program.run(words);
                assert_ne!(told.status, 0, "{told:?}");
            }
            let told = nodes[other].program.run(&["feed", "list", "--dir", "news"]);
            assert!(told.out.contains("does not feed the sites"), "{told:?}");
            let told = nodes[feeds]
                .program
                .run(&["feed", "flush", "--dir", "news"]);
            assert_eq!(told.status, 0, "{told:?}");
            let told = nodes[feeds].program.run(&["feed", "list", "--dir", "news"]);
            assert!(
                told.out.contains("feeds the sites of the cluster"),
                "{told:?}"
            );
            let told = nodes[other]
                .program
                .run(&["cluster", "status", "--dir", "news", "--json"]);
            assert_eq!(
                told.summary()["feeder"],
                name(&nodes[feeds].program).as_str()
            );
        }
        // The node that feeds dies while articles arrive.
        let prefix = format!("killed{round}");
        let mut dead = Instant::now();
        let killed = &mut nodes[feeds];
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| send(&sends_to, &prefix));
            let seen = taker.count();
            until("some of them", || taker.count() > seen);
            killed.served.as_mut().unwrap().daemon.kill();
            killed.served = None;
            dead = Instant::now();
            sending.join().unwrap();
        });
        until_one_feeds(&nodes);
        // No assertion: it would be one about the speed of the machine.
        let seconds = dead.elapsed().as_secs_f64();
        eprintln!("another node feeds {seconds:.1} s after the kill");
        sent.push(prefix);
        until("all articles at the peer", || {
            taker.count() == ARTICLES * sent.len()
        });
        until("all articles in batches", || {
            has_all(&batched(batches.path()), &sent)
        });
        let killed = &mut nodes[feeds];
        killed.served = Some(Served::start(&killed.program));
    }
    assert!(terms.windows(2).all(|pair| pair[0] < pair[1]), "{terms:?}");
    let got = taker.got();
    assert!(has_all(&got, &sent));
    let in_batches = batched(batches.path());
    for prefix in &once {
        for number in 1..=ARTICLES {
            let id = id(prefix, number);
            assert_eq!((got[&id], in_batches[&id]), (1, 1), "{id}");
        }
    }
    let again =
        |found: &BTreeMap<String, usize>| found.values().map(|times| times - 1).sum::<usize>();
    eprintln!(
        "3 kills: {} articles came again, {} in batches",
        again(&got),
        again(&in_batches)
    );
    assert!(again(&got) <= 3 * ARTICLES && again(&in_batches) <= 3 * ARTICLES);
}

#[test]
fn a_node_that_is_cut_off_stops_before_another_begins() {
    const COUNT: usize = 3;
    let links = || -> Vec<Vec<Link>> {
        let row = || (0..COUNT).map(|_| Link::start()).collect();
        (0..COUNT).map(|_| row()).collect()
    };
    let (to_servers, between) = (links(), links());
    let way = |from: usize, to: usize| between[from][to].port();
    let Some(mut servers) = Servers::prepare(COUNT, "always", Some(&way)) else {
        return;
    };
    for from in 0..COUNT {
        for to in 0..COUNT {
            to_servers[from][to].heal(&format!("127.0.0.1:{}", servers.client_port(to)));
            between[from][to].heal(&format!("127.0.0.1:{}", servers.route_port(to)));
        }
    }
    (0..COUNT).for_each(|place| servers.restart(place));
    let options = |place: usize| LogOptions {
        servers: to_servers[place]
            .iter()
            .map(|link: &Link| format!("nats://{}", link.address))
            .collect(),
        ..servers.options()
    };
    let taker = Taker::remembering(0);
    let batches = tempfile::tempdir().unwrap();
    let mut nodes = nodes(&taker, batches.path(), &options, COUNT);
    let mut sent = Vec::new();
    for is_silent in [false, true] {
        let feeds = until_one_feeds(&nodes);
        let other = (feeds + 1) % COUNT;
        let sends_to = address(&nodes[other]);
        let prefix = format!("before{is_silent}");
        send(&sends_to, &prefix);
        sent.push(prefix);
        until("the articles", || taker.count() == ARTICLES * sent.len());
        for link in &to_servers[feeds] {
            match is_silent {
                true => link.silence(),
                false => link.cut(),
            }
        }
        let prefix = format!("cut{is_silent}");
        send(&sends_to, &prefix);
        sent.push(prefix);
        let mut next = feeds;
        until("another node feeds", || {
            let here = |place: &usize| told(&nodes[*place]).is_some_and(|told| told.is_here);
            next = (0..COUNT)
                .filter(|place| *place != feeds)
                .find(here)
                .unwrap_or(feeds);
            next != feeds
        });
        // By the clock of the machine, and whatever each had to do.
        let (before, after) = (told(&nodes[feeds]).unwrap(), told(&nodes[next]).unwrap());
        assert!(
            !before.is_here && before.term < after.term,
            "{before:?} {after:?}"
        );
        assert!(before.until_ms > before.since_ms, "{before:?}");
        assert!(before.until_ms <= after.since_ms, "{before:?} {after:?}");
        until("the articles", || taker.count() == ARTICLES * sent.len());
        for (server, link) in to_servers[feeds].iter().enumerate() {
            link.end_silence();
            link.heal(&format!("127.0.0.1:{}", servers.client_port(server)));
        }
    }
    // In order, it gives the lease back; the next one takes it without waiting for its end.
    let feeds = until_one_feeds(&nodes);
    let before = told(&nodes[feeds]).unwrap();
    let stopped = nodes[feeds].served.take().unwrap();
    stopped.daemon.stop();
    let (claim, cursors) = feeder(&servers.options()).unwrap();
    let claim = claim.unwrap();
    assert!(claim.term > before.term || claim.is_released, "{claim:?}");
    assert!(!cursors.node.is_empty());
    let next = until_one_feeds(&nodes);
    assert_ne!(next, feeds);
    // A node whose setting says so never feeds.
    let settings = nodes[feeds].program.read("news/broadsheet.toml") + "feeds = false\n";
    nodes[feeds]
        .program
        .write("news/broadsheet.toml", settings.as_bytes());
    nodes[feeds].served = Some(Served::start(&nodes[feeds].program));
    until("its reason", || {
        told(&nodes[feeds]).is_some_and(|told| told.why == "cluster.feeds is false here")
    });
    // A batch of rnews at that node is fed by the other.
    let told = nodes[feeds]
        .program
        .rnews(&batch(&many("last", ARTICLES, "comp.test", 100)));
    assert_eq!(told.status, 0, "{told:?}");
    sent.push("last".to_owned());
    until("the last articles", || {
        taker.count() == ARTICLES * sent.len()
    });
    assert!(has_all(&taker.got(), &sent));
    until("the batches", || has_all(&batched(batches.path()), &sent));
}

#[test]
fn commands_end_with_the_permission() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let program = Program::with_news(ACTIVE);
    let running = program.path("running");
    // A slow line: it has the batch, and goes on for an hour.
    let script = format!(
        "cat > /dev/null; echo $$ > {}; exec sleep 3600",
        running.display()
    );
    let site = format!(
        "\n[[site]]\nname = \"uucp\"\ngroups = \"comp\"\nvia = {{ batch = \"\"\"sh -c '{script}'\"\"\", schedule = \"every 1 s\" }}\n"
    );
    let settings = program.read("news/broadsheet.toml") + &site;
    program.write("news/broadsheet.toml", settings.as_bytes());
    become_node(&program, servers.options(), Some("1 GiB"));
    let node = Node {
        served: Some(Served::start(&program)),
        program,
    };
    let nodes = [node];
    until_one_feeds(&nodes);
    send(&address(&nodes[0]), "slow");
    let mut process = String::new();
    until("the command", || {
        let text = std::fs::read_to_string(&running).unwrap_or_default();
        process = text.trim().to_owned();
        text.ends_with('\n')
    });
    let is_running = || Path::new("/proc").join(&process).exists();
    assert!(is_running());
    let program = &nodes[0].program;
    let settings = program.read("news/broadsheet.toml");
    let settings = settings.replace("\n[cluster]\n", "\n[cluster]\nfeeds = false\n");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{}", told.err);
    until("the end of the command", || !is_running());
}
