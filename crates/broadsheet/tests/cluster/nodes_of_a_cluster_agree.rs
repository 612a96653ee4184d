//! A cluster of three nodes with a log in three NATS servers: all nodes hold the same articles under the same numbers, and what each sender
//! heard is true, through the deaths of nodes and servers.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;

use program::Program;
use program::articles::{batch, id, many, with};
use program::cluster::{applied, make_node, nodes, reseed_by_hand, seen, until_equal};
use program::daemon::until;
use program::nats::Servers;
use program::nntp::{Client, Served, take_this};
use program::wire::http;

const GROUPS: [&str; 2] = ["comp.test", "comp.misc"];
const ACTIVE: &str = "comp.test 0 1 y\ncomp.misc 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";
/// Articles that each peer sends: every third of them goes to all nodes.
const ARTICLES: usize = 150;

/// An article of a peer. The shared ones are the same from all.
fn article(peer: usize, number: usize) -> (String, Vec<u8>) {
    let (prefix, groups) = match number % 3 {
        0 => ("shared".to_owned(), "comp.test,comp.misc"),
        1 => (format!("p{peer}"), "comp.test"),
        _ => (format!("p{peer}"), "comp.misc"),
    };
    let id = id(&prefix, number);
    let body = format!("..{number}\n").repeat(number * 10);
    (id.clone(), with(&id, groups, "", body.as_bytes()))
}

/// Sends the articles; returns the ids with their replies. A connection that ends is the end.
fn send(mut client: Client, peer: usize, numbers: std::ops::Range<usize>) -> Vec<(String, String)> {
    let articles: Vec<(String, Vec<u8>)> = numbers.map(|number| article(peer, number)).collect();
    let stream: Vec<u8> = articles
        .iter()
        .flat_map(|(id, article)| take_this(id, article))
        .collect();
    let said = client.say_beside(stream);
    let mut replies = Vec::new();
    for (id, _) in articles {
        match client.line_if_any() {
            Some(line) if line.ends_with("\r\n") => replies.push((id, line[..3].to_owned())),
            _ => break,
        }
    }
    let _ = said.join().unwrap();
    replies
}

#[test]
fn through_the_deaths_of_nodes_and_servers() {
    let Some(mut servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let mut served: Vec<Option<Served>> = programs.iter().map(|p| Some(Served::start(p))).collect();
    let mut replies: Vec<(String, String)> = Vec::new();
    for round in 0..3 {
        let clients: Vec<Client> = served.iter().flatten().map(Served::client).collect();
        let numbers = round * ARTICLES + 1..(round + 1) * ARTICLES + 1;
        let heard: Vec<Vec<(String, String)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = clients
                .into_iter()
                .enumerate()
                .map(|(peer, client)| {
                    let numbers = numbers.clone();
                    scope.spawn(move || send(client, peer, numbers))
                })
                .collect();
            match round {
                1 => served[1].as_mut().unwrap().daemon.kill(),
                2 => servers.kill(2),
                _ => {}
            }
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for (peer, heard) in heard.into_iter().enumerate() {
            assert!(
                heard.len() == ARTICLES || (peer == 1 && round == 1),
                "{peer}: {}",
                heard.len()
            );
            replies.extend(heard);
        }
        if round == 1 {
            served[1] = Some(Served::start(&programs[1]));
            // Its peer sends everything again.
            let again = send(served[1].as_ref().unwrap().client(), 1, numbers);
            assert_eq!(again.len(), ARTICLES);
            replies.extend(again);
        }
    }
    servers.restart(2);
    until_equal(&programs);
    let first = seen(&programs[0], &GROUPS);
    for program in &programs {
        program.assert_clean();
        for (what, text) in seen(program, &GROUPS) {
            assert!(text == first[&what], "{what} differs");
        }
    }
    // Every article is there, once; and it was accepted at most once.
    let rows = [&first["comp.test"], &first["comp.misc"]];
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows.iter().flat_map(|rows| rows.lines()) {
        *found.entry(row.split('\t').nth(4).unwrap()).or_default() += 1;
    }
    let mut accepted: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, code) in &replies {
        assert!(code == "239" || code == "439", "{id}: {code}");
        let expected = if id.contains("shared") { 2 } else { 1 };
        assert_eq!(found.get(id.as_str()), Some(&expected), "{id}: {code}");
        *accepted.entry(id).or_default() += usize::from(code == "239");
    }
    assert!(accepted.values().all(|times| *times <= 1));
    assert!(accepted.values().filter(|times| **times == 1).count() > 4 * ARTICLES);
    // A post at one node is read at another.
    let mut poster = served[0].as_ref().unwrap().client();
    assert!(poster.ask("POST").starts_with("340 "));
    poster.say(
        "From: a@example.org\r\nNewsgroups: comp.test\r\nSubject: here\r\n\r\nposted\r\n.\r\n",
    );
    assert!(poster.line().starts_with("240 "));
    let mut reader = served[2].as_ref().unwrap().client();
    until("the post", || {
        let told = reader.ask("GROUP comp.test");
        let last = told.split(' ').nth(3).unwrap().to_owned();
        let stat = reader.ask(&format!("HEAD {last}"));
        stat.starts_with("221 ") && reader.lines().iter().any(|line| line == "Subject: here")
    });
    // Its cancel at the third goes to all.
    let (gone, _) = article(0, 1);
    let cancel = with(
        "<cancel@example.org>",
        "comp.test",
        &format!("Control: cancel {gone}\n"),
        b"x\n",
    );
    let mut peer = served[1].as_ref().unwrap().client();
    peer.say(take_this("<cancel@example.org>", &cancel));
    assert_eq!(peer.line(), "239 <cancel@example.org>");
    until("the cancel", || {
        reader.ask(&format!("STAT {gone}")).starts_with("430 ")
    });
    until_equal(&programs);
    for served in served.into_iter().flatten() {
        served.daemon.stop();
    }
    assert_eq!(seen(&programs[0], &GROUPS), seen(&programs[1], &GROUPS));
    assert_eq!(seen(&programs[0], &GROUPS), seen(&programs[2], &GROUPS));
}

#[test]
fn nodes_that_would_decide_otherwise_stop() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let one = Served::start(&programs[0]);
    let mut client = one.client();
    let (first, text) = article(0, 1);
    client.say(take_this(&first, &text));
    assert_eq!(client.line(), format!("239 {first}"));
    // The other decides by another limit.
    let settings = programs[1].read("news/broadsheet.toml");
    let other = settings.replace("groups_per_article_max = 256", "groups_per_article_max = 3");
    assert_ne!(settings, other);
    programs[1].write("news/broadsheet.toml", other.as_bytes());
    let two = Served::start(&programs[1]);
    two.daemon.until_said("decides by other settings");
    // It sends clients away, and waits for an administrator.
    let greeting = Client::connect(&two.address).line();
    assert!(greeting.starts_with("400 "), "{greeting}");
    two.daemon.stop();
    // Other commands do not write there.
    let told = programs[1].run(&["upact", "--dir", "news"]);
    assert_ne!(told.status, 0);
    assert!(told.err.contains("belongs to a cluster"), "{told:?}");
    // One with other groups takes those of the cluster, if it decides alike; one with articles cannot join.
    let third = Program::with_news("comp.own 0 1 y\n");
    make_node(&third, servers.options());
    let told = third.run(&["cluster", "join", "--dir", "news"]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(
        told.err
            .contains("decides by other settings than this one: control.cancel;"),
        "{told:?}"
    );
    third.cancel_as_c_news();
    let told = third.run(&["cluster", "join", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(third.read("news/active"), programs[0].read("news/active"));
    let fourth = Program::with_news(ACTIVE);
    fourth.rnews(&batch(&[text]));
    make_node(&fourth, servers.options());
    let told = fourth.run(&["cluster", "join", "--dir", "news"]);
    assert!(told.err.contains("has articles"), "{told:?}");
    // With the settings as before it goes on.
    programs[1].write("news/broadsheet.toml", settings.as_bytes());
    let two = Served::start(&programs[1]);
    until_equal(&programs);
    assert!(
        two.client()
            .ask(&format!("STAT {first}"))
            .starts_with("223 ")
    );
    two.daemon.stop();
    one.daemon.stop();
    // All of them change them.
    for program in &programs {
        program.write("news/broadsheet.toml", other.as_bytes());
    }
    let told = programs[1].run(&["cluster", "apply", "--dir", "news", "--dry-run"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .contains("limits.groups_per_article_max: 256 -> 3\n"),
        "{told:?}"
    );
    let told = programs[0].run(&["cluster", "rules", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let (second, text) = article(0, 2);
    // Not before the node has applied the entry with the new settings.
    until("an article by the new settings", || {
        let mut client = served[1].client();
        client.say(take_this(&second, &text));
        let line = client.line();
        line == format!("239 {second}") || line == format!("439 {second}")
    });
    until_equal(&programs);
}

#[test]
fn commands_that_no_node_takes_name_another_way() {
    let Some(mut servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 1, ACTIVE);
    let program = &programs[0];
    program.write("mbox", b"From x\nSubject: x\n\nx\n");
    program.write("history", b"");
    for (words, remedy) in [
        (
            vec!["inews", "-n", "comp.test", "-t", "s"],
            "post over NNTP",
        ),
        (vec!["injnews"], "post over NNTP"),
        (vec!["import", "mbox", "mbox"], "import into another"),
        (vec!["control", "run"], "broadsheet group add"),
        (vec!["history", "import", "history"], "before `broadsheet"),
        (vec!["upact"], "broadsheet expire"),
    ] {
        let told = program.feed(&[&words[..], &["--dir", "news"]].concat(), b"x\n");
        assert_eq!(told.status, 2, "{words:?}: {told:?}");
        assert!(
            told.err.contains("belongs to a cluster") && told.err.contains(remedy),
            "{words:?}: {told:?}"
        );
    }
    assert!(!program.path("news/keys/cancel.secret").exists());
    // The daemon files what waits, if it can.
    let newsrun = || program.run(&["newsrun", "--dir", "news"]);
    assert_eq!(newsrun().status, 0);
    program.write("batch", &batch(&many("waits", 5, "comp.test", 100)));
    let told = program.run(&["newsspool", "--dir", "news", "batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = newsrun();
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("start `broadsheet serve'"), "{told:?}");
    let served = Served::start(program);
    let waits = || {
        let files = program.files("news/in.coming");
        files.iter().any(|file| file.extension().is_some())
    };
    until("a drained in.coming", || !waits());
    servers.kill(0);
    servers.kill(1);
    let told = program.run(&["newsspool", "--dir", "news", "batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    until("a reason", || {
        let told = newsrun();
        told.status == 2
            && told
                .err
                .contains("the log of the cluster cannot be reached")
    });
    // A batch that nobody else has stays with its sender.
    let input = std::fs::File::open(program.path("batch")).unwrap();
    let mut rnews = program.command(&["rnews", "--dir", "news"]);
    let done = rnews.stdin(input).output().unwrap();
    assert_eq!(done.status.code(), Some(75), "{done:?}");
    servers.restart(0);
    servers.restart(1);
    until("a drained in.coming", || !waits());
    served.daemon.stop();
}

#[test]
fn batches_go_through_the_log() {
    let Some(mut servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let articles: Vec<Vec<u8>> = many("batch", 700, "comp.test", 1000);
    // Without a daemon nothing is filed, and the sender keeps the batch.
    let told = programs[1].rnews(&batch(&articles));
    assert_ne!(told.status, 0);
    assert!(told.err.contains("belongs to a cluster"), "{told:?}");
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let told = programs[1].rnews(&batch(&articles));
    assert_eq!((told.status, told.count("accepted")), (0, 700), "{told:?}");
    let more = many("batch", 800, "comp.test", 1000);
    let told = programs[0].rnews(&batch(&more));
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        (told.count("accepted"), told.count("duplicates")),
        (100, 700),
        "{told:?}"
    );
    // One article alone, which is none.
    let told = programs[0].rnews(b"no header at all\n");
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("neither a batch nor an article"),
        "{told:?}"
    );
    // Articles in CRLF, and of early B News, are converted before they are proposed; a batch without an id is bad here, too.
    let crlf = many("crlf", 2, "comp.test", 100);
    let crlf = crlf.iter().map(|text| {
        let text = String::from_utf8_lossy(text);
        text.replace('\n', "\r\n").into_bytes()
    });
    let told = programs[0].rnews(&batch(&crlf.collect::<Vec<_>>()));
    assert_eq!((told.status, told.count("accepted")), (0, 2), "{told:?}");
    let early = b"Path: a!u\nFrom: a!u\nNewsgroups: comp.test\nTitle: t\nArticle-I.D.: a.12\nPosted: Sat Apr 16 01:34:35 1983\n\nbody\n";
    let told = programs[0].rnews(&batch(&[early.to_vec()]));
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    let without_at =
        String::from_utf8_lossy(early).replace("Article-I.D.: a.12", "Message-ID: <12>");
    let told = programs[0].rnews(&batch(&[without_at.into_bytes()]));
    assert_eq!((told.status, told.count("refused")), (1, 1), "{told:?}");
    assert!(
        told.err.contains("none of its 1 articles has the header"),
        "{told:?}"
    );
    // A file in in.coming/ of the other node.
    let late = many("late", 50, "comp.misc", 100);
    programs[1].write("batch", &batch(&late));
    let told = programs[1].run(&["newsspool", "--dir", "news", "batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    let mut reader = served[0].client();
    until("the batch of in.coming", || {
        reader.ask("GROUP comp.misc").starts_with("211 50 ")
    });
    // While most servers are away the batch stays with its sender.
    servers.kill(0);
    servers.kill(1);
    let told = programs[0].rnews(&batch(&many("down", 5, "comp.misc", 100)));
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("the log of the cluster"), "{told:?}");
    // Nodes that are cut off say so, and go on serving readers.
    until("a node that says so", || {
        let told = programs[0].run(&["status", "--dir", "news", "--json"]);
        let node = &told.summary()["daemon"]["cluster_node"];
        assert_eq!(node["is_stale"], false, "{node}");
        node["unreachable_seconds"].as_u64().unwrap() > 0
    });
    served[0].client();
    servers.restart(0);
    servers.restart(1);
    until("the log", || {
        let told = programs[0].rnews(&batch(&many("down", 5, "comp.misc", 100)));
        told.status == 0
    });
    until_equal(&programs);
    for served in served {
        served.daemon.stop();
    }
    let first = seen(&programs[0], &GROUPS);
    assert!(first == seen(&programs[1], &GROUPS));
    assert_eq!(first["comp.test"].lines().count(), 803);
    assert_eq!(first["comp.misc"].lines().count(), 55);
}

#[test]
fn expire_and_commands_act_on_all_nodes() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let mut filed = many("old", 200, "comp.test", 5000);
    filed.extend(many("other", 30, "comp.misc", 100));
    let told = programs[0].rnews(&batch(&filed));
    assert_eq!(told.status, 0, "{told:?}");
    until_equal(&programs);
    // The policy of the node on which expire runs counts: everything of one group goes.
    programs[1].write(
        "news/explist",
        b"/expired/ x 0 -\ncomp.test x 0 -\nall x 90 -\n",
    );
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    let later = later.duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = later.as_secs().to_string();
    let words = [
        "expire", "--dir", "news", "--now", &now, "--force", "--json",
    ];
    let told = programs[1].run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("200"), "{told:?}");
    // Groups change by a command on another node.
    for (node, words) in [
        (
            2,
            vec![
                "group",
                "add",
                "--dir",
                "news",
                "comp.new",
                "m",
                "--description",
                "A new one",
            ],
        ),
        (0, vec!["group", "set", "--dir", "news", "comp.misc", "n"]),
        (1, vec!["group", "remove", "--dir", "news", "junk2"]),
        (0, vec!["group", "add", "--dir", "news", "comp.gone"]),
        (2, vec!["group", "remove", "--dir", "news", "comp.gone"]),
    ] {
        let told = programs[node].run(&words);
        let expected = i32::from(words.contains(&"junk2"));
        assert_eq!(told.status, expected, "{words:?} {told:?}");
        until_equal(&programs);
    }
    for program in &programs {
        let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
        assert_eq!((rows.status, rows.out.as_str()), (0, ""));
        let active = program.read("news/active");
        assert!(active.contains("comp.new 0000000000 00001 m\n"), "{active}");
        assert!(
            active
                .lines()
                .any(|line| line.starts_with("comp.misc ") && line.ends_with(" n"))
        );
        assert!(
            active.contains("comp.test 0000000200 0000000201 y\n"),
            "{active}"
        );
        assert!(!active.contains("comp.gone"));
        assert!(
            program
                .read("news/newsgroups")
                .contains("comp.new\t\tA new one\n")
        );
        assert!(program.read("news/active.times").contains("comp.new "));
    }
    // Its space is given back where expire runs; the others give back theirs when it runs there.
    let kept = |program: &Program| {
        let told = program.run(&["segments", "list", "--dir", "news", "--json"]);
        assert_eq!(told.status, 0, "{told:?}");
        told.out
    };
    assert_ne!(kept(&programs[1]), kept(&programs[2]));
    let told = programs[2].run(&["expire", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    // The ids are forgotten on all nodes at the same entry: who offers the articles again is believed everywhere.
    let told = programs[2].rnews(&batch(&filed[..10]));
    assert_eq!(told.status, 0, "{told:?}");
    until_equal(&programs);
    let fresh = programs[2].rnews(&batch(&many("fresh", 5, "comp.test", 100)));
    assert_eq!(fresh.count("accepted"), 5, "{fresh:?}");
    until_equal(&programs);
    // Without a daemon the decision goes to the log all the same, and expire does not wait long for it.
    served.remove(1).daemon.stop();
    let begun = std::time::Instant::now();
    let expired = programs[1].run(&words);
    assert_eq!(expired.status, 2, "{expired:?}");
    assert!(expired.err.contains("has not applied yet"), "{expired:?}");
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    served.push(Served::start(&programs[1]));
    until_equal(&programs);
    for served in served {
        served.daemon.stop();
    }
    let first = seen(&programs[0], &GROUPS);
    for program in &programs {
        program.assert_clean();
        assert!(seen(program, &GROUPS) == first);
    }
    assert_eq!(first["comp.test"], "");
    assert_eq!(told.count("accepted") + told.count("duplicates"), 10);
}

#[test]
fn a_node_that_files_otherwise_stops() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = free.local_addr().unwrap().to_string();
    drop(free);
    let setting = format!("metrics = \"{metrics}\"");
    programs[2].set("metrics = \"\"", &setting);
    reseed_by_hand(&programs[2]);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let file = |served: &Served, numbers: std::ops::Range<usize>| {
        let mut client = served.client();
        for number in numbers {
            let (id, text) = article(0, number);
            client.say(take_this(&id, &text));
            assert_eq!(client.line(), format!("239 {id}"));
        }
    };
    file(&served[0], 1..11);
    until_equal(&programs);
    served.pop().unwrap().daemon.stop();
    // As if it had made something else of these entries.
    let place = applied(&programs[2]);
    let mut words: Vec<&str> = place.split(' ').collect();
    let none = "0".repeat(32);
    words[4] = &none;
    let other = format!("{}\n", words.join(" "));
    programs[2].write("news/cluster.applied", other.as_bytes());
    served.push(Served::start(&programs[2]));
    let mut reader = served[2].client();
    assert!(reader.ask("GROUP comp.test").starts_with("211 "));
    file(&served[0], 11..150);
    served[2].daemon.until_said("it has filed otherwise than");
    // Readers see nothing that the others contradict: those that are there are sent away, and new ones too.
    let last = reader.line();
    assert!(last.starts_with("400 "), "{last}");
    assert_eq!(reader.rest(), b"");
    let is_shut = |served: &Served| Client::connect(&served.address).line().starts_with("400 ");
    assert!(is_shut(&served[2]));
    let page = http(&metrics, "GET /metrics HTTP/1.0\r\n\r\n");
    for line in [
        "cluster_stopped 1",
        "cluster_stale 1",
        "cluster_lag_seconds 0",
    ] {
        assert!(page.contains(&format!("\nbroadsheet_{line}\n")), "{page}");
    }
    let told = programs[2].run(&["status", "--dir", "news", "--json"]);
    let node = &told.summary()["daemon"]["cluster_node"];
    assert_eq!(
        (&node["is_stopped"], &node["is_stale"]),
        (&true.into(), &true.into())
    );
    let told = programs[2].run(&["status", "--dir", "news"]);
    assert!(told.out.contains("stopped behind entry"), "{told:?}");
    // The others show why.
    let gone = program::cluster::name(&programs[2]);
    until("the reason at another node", || {
        let told = programs[1].run(&["cluster", "status", "--dir", "news", "--json"]);
        let told = told.summary();
        let nodes = told["log_extent"]["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["node"] == *gone).unwrap();
        let differs = &node["stopped"]["differs"];
        assert!(
            nodes.len() == 3 && (differs.is_null() || differs[1] == 64),
            "{told}"
        );
        !differs.is_null()
    });
    let told = programs[1].run(&["cluster", "status", "--dir", "news"]);
    assert!(told.out.contains("it has filed otherwise than"), "{told:?}");
    // After a restart it does not go on.
    for _ in 0..2 {
        served.pop().unwrap().daemon.stop();
        served.push(Served::start(&programs[2]));
        served[2].daemon.until_said("it has filed otherwise than");
        until("no more clients", || is_shut(&served[2]));
    }
    // The others go on, and all of them are listed.
    file(&served[1], 150..160);
    served[0]
        .daemon
        .until_said(&format!("node {gone} applies no more entries"));
    let told = programs[1].run(&["cluster", "status", "--dir", "news", "--json"]);
    let told = told.summary();
    assert_eq!(told["log_extent"]["nodes"].as_array().unwrap().len(), 3);
    // One that will not come back is taken out.
    for expected in [0, 1] {
        let told = programs[1].run(&["cluster", "leave", "--dir", "news", &gone]);
        assert_eq!(told.status, expected, "{told:?}");
    }
    for served in served {
        served.daemon.stop();
    }
}

#[test]
fn a_news_directory_outside_a_cluster_says_so_in_json() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let told = program.run(&["cluster", "status", "--json", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.summary()["node"].is_null(), "{told:?}");
}
