//! The settings by which a cluster decides are edited on one node, and go to all by an entry of the log: without a restart, under load, to nodes
//! that were away, and through kills.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cluster::entry::{Entry, Kind};
use cluster::jetstream::{append, members, new_login};
use cluster::settings_change::{Origin, payload};
use program::Program;
use program::articles::{article, id, with};
use program::cluster::{applied, become_node, nodes, until_equal};
use program::daemon::{Over, until};
use program::feeding::add_peer;
use program::nats::Servers;
use program::nntp::{Served, offer};
use program::taker::Taker;
use store::seen_hashes;

const ACTIVE: &str =
    "comp.test 0 1 y\ncomp.a 0 1 y\ncomp.b 0 1 y\ncomp.c 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";

/// An article in four groups.
fn in_four_groups(id: &str) -> Vec<u8> {
    with(id, "comp.test,comp.a,comp.b,comp.c", "", b"x\n")
}

/// The number of the last entry that a node has applied, and the hash of its settings.
fn place(program: &Program) -> (u64, u64) {
    let line = applied(program);
    let words: Vec<&str> = line.split(' ').collect();
    (words[1].parse().unwrap(), words[3].parse().unwrap())
}

fn apply(program: &Program) -> program::Told {
    program.run(&["cluster", "apply", "--dir", "news", "--json"])
}

fn comment(programs: &[Program]) {
    for (number, program) in programs.iter().enumerate() {
        let text = program.read("news/broadsheet.toml");
        let text = format!("{text}\n# of node {number}\n");
        program.write("news/broadsheet.toml", text.as_bytes());
    }
}

#[test]
fn a_site_and_a_limit_reach_all_nodes_under_load() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    comment(&programs);
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let pids: Vec<u32> = served.iter().map(|served| served.daemon.pid()).collect();
    let taker = Taker::start();
    let (sent, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    // The first entry tells the settings.
    assert_eq!(
        offer(
            &served[0].address,
            &id("before", 1),
            &in_four_groups(&id("before", 1))
        ),
        "239"
    );
    until_equal(&programs);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        for (peer, served) in served.iter().enumerate() {
            let (sent, is_over) = (&sent, &is_over);
            let address = served.address.clone();
            scope.spawn(move || {
                let mut number = 0;
                while !is_over.load(Ordering::SeqCst) {
                    number += 1;
                    let id = id(&format!("load{peer}"), number);
                    assert_eq!(offer(&address, &id, &article(&id, "comp.test")), "239");
                    sent.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        until("some load", || sent.load(Ordering::SeqCst) > 30);
        add_peer(&programs[0], &taker.address, "");
        programs[0].set("groups_per_article_max = 256", "groups_per_article_max = 3");
        // The date of the message below is of 1993.
        programs[0].set("age_days_max = 10", "age_days_max = 0");
        programs[0].write("news/control.ctl", b"newgroup:*:*:doit\n");
        programs[0].write("news/blocks", b"from\t*@blocked.example\t-\tflood\n");
        let before = place(&programs[0]).1;
        let told = programs[0].run(&["cluster", "apply", "--dir", "news", "--dry-run"]);
        assert_eq!(told.status, 0, "{told:?}");
        for part in [
            "limits.groups_per_article_max: 256 -> 3\n",
            "+ [[site]] peer: ",
            "control.ctl: + newgroup:*:*:doit\n",
            "blocks: + from",
            "not in force",
        ] {
            assert!(told.out.contains(part), "{part}: {told:?}");
        }
        assert_eq!(place(&programs[0]).1, before);
        let reload = programs[0].run(&["reload", "--dir", "news"]);
        assert!(
            reload.err.contains("broadsheet cluster apply"),
            "{reload:?}"
        );
        let told = apply(&programs[0]);
        assert_eq!(told.status, 0, "{told:?}");
        let entry = told.count("entry");
        assert_ne!(place(&programs[0]).1, before);
        let now = sent.load(Ordering::SeqCst);
        until("load behind the change", || {
            let is_behind = |program: &Program| place(program).0 > entry;
            programs.iter().all(is_behind) && sent.load(Ordering::SeqCst) > now + 30
        });
        drop(over);
    });
    // All decide by the new settings.
    for (number, served) in served.iter().enumerate() {
        let id = id("four", number);
        assert_eq!(offer(&served.address, &id, &in_four_groups(&id)), "439");
        let blocked = article(&id, "comp.test");
        let blocked = String::from_utf8(blocked).unwrap();
        let blocked = blocked.replace("user@example.com", "user@blocked.example");
        assert_eq!(offer(&served.address, &id, blocked.as_bytes()), "439");
    }
    let control = with(
        "<new@example.org>",
        "comp.test",
        "Control: newgroup comp.new\nApproved: a@example.org\n",
        b"x\n",
    );
    assert_eq!(
        offer(&served[2].address, "<new@example.org>", &control),
        "239"
    );
    assert_eq!(
        offer(
            &served[1].address,
            &id("after", 1),
            &article(&id("after", 1), "comp.test")
        ),
        "239"
    );
    // With the hashes of what each made of all articles.
    until_equal(&programs);
    until("the articles at the peer", || {
        taker.got().contains_key(&id("after", 1))
    });
    assert!(!taker.got().contains_key(&id("before", 1)));
    for (number, program) in programs.iter().enumerate() {
        let text = program.read("news/broadsheet.toml");
        for part in [
            "groups_per_article_max = 3 ",
            "name = \"peer\"\n",
            &format!("# of node {number}\n"),
            &format!("node = \"{}\"", program::cluster::name(program)),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(program.read("news/control.ctl"), "newgroup:*:*:doit\n");
        assert!(program.read("news/active").contains("comp.new "));
        assert!(program.path("news/feeds/peer").is_dir());
        assert_eq!(served[number].daemon.pid(), pids[number]);
        let reload = program.run(&["reload", "--dir", "news"]);
        assert_eq!(reload.status, 0, "{reload:?}");
    }
    // Nothing is left to change.
    let told = apply(&programs[1]);
    assert_eq!(
        (told.status, told.summary()["entry"].as_u64()),
        (0, None),
        "{told:?}"
    );
    for served in served {
        served.daemon.stop();
    }
    // The peer may have got the load behind the change, and nothing of that before.
    programs.iter().for_each(Program::assert_clean);
}

#[test]
fn a_node_that_was_away_takes_the_settings_up() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    comment(&programs);
    let one = Served::start(&programs[0]);
    let two = Served::start(&programs[1]);
    assert_eq!(
        offer(
            &one.address,
            &id("first", 1),
            &in_four_groups(&id("first", 1))
        ),
        "239"
    );
    until_equal(&programs);
    two.daemon.stop();
    // These are filed by the settings before, also there.
    for number in 2..5 {
        let id = id("first", number);
        assert_eq!(offer(&one.address, &id, &in_four_groups(&id)), "239");
    }
    // The node that is away has a change of its own, which nobody puts into force.
    programs[1].write("news/control.ctl", b"all:*:*:drop\n");
    for (before, after) in [(256, 3), (3, 5), (5, 2)] {
        programs[0].set(
            &format!("groups_per_article_max = {before}"),
            &format!("groups_per_article_max = {after}"),
        );
        programs[0].write(
            "news/sys",
            format!("ME:all\nuucp{after}:comp/all:F:out\n").as_bytes(),
        );
        let told = apply(&programs[0]);
        assert_eq!(told.status, 0, "{told:?}");
        let id = id("second", after);
        let expected = if after == 5 { "239" } else { "439" };
        assert_eq!(offer(&one.address, &id, &in_four_groups(&id)), expected);
    }
    let two = Served::start(&programs[1]);
    until_equal(&programs);
    assert_eq!(
        programs[1].read("news/sys"),
        "ME:all\nuucp2:comp/all:F:out\n"
    );
    let text = programs[1].read("news/broadsheet.toml");
    assert!(
        text.contains("groups_per_article_max = 2 ") && text.contains("# of node 1\n"),
        "{text}"
    );
    assert!(!programs[1].path("news/control.ctl").exists());
    assert_eq!(
        programs[1].read("news/control.ctl.replaced"),
        "all:*:*:drop\n"
    );
    assert_eq!(
        offer(
            &two.address,
            &id("third", 1),
            &in_four_groups(&id("third", 1))
        ),
        "439"
    );
    until_equal(&programs);
    for served in [one, two] {
        served.daemon.stop();
    }
}

#[test]
fn kills_leave_the_old_settings_or_the_new_ones() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    assert_eq!(
        offer(
            &served[0].address,
            &id("first", 1),
            &in_four_groups(&id("first", 1))
        ),
        "239"
    );
    until_equal(&programs);
    let mut most = 256;
    for round in 0..12_u64 {
        let next = if most == 3 { 4 } else { 3 };
        programs[0].set(
            &format!("groups_per_article_max = {most}"),
            &format!("groups_per_article_max = {next}"),
        );
        most = next;
        let victim = (round % 2) as usize;
        std::thread::scope(|scope| {
            let command = scope.spawn(|| apply(&programs[0]));
            let program = &programs[0];
            let before = place(program).0;
            if round % 3 == 0 {
                std::thread::sleep(Duration::from_millis(10 * round));
            } else {
                until("the entry", || {
                    command.is_finished() || place(program).0 > before
                });
            }
            served[victim].daemon.kill();
            served[victim] = Served::start(&programs[victim]);
            let told = command.join().unwrap();
            assert!(
                told.status == 0 || told.err.contains("has not applied yet"),
                "{told:?}"
            );
        });
        let id = id("round", round as usize);
        let expected = if most == 3 { "439" } else { "239" };
        assert_eq!(
            offer(&served[victim].address, &id, &in_four_groups(&id)),
            expected,
            "round {round}"
        );
        until_equal(&programs);
        for program in &programs {
            assert!(
                program
                    .read("news/broadsheet.toml")
                    .contains(&format!("groups_per_article_max = {most} ")),
                "round {round}"
            );
            // The others go behind the entry.
            until("the one copy", || {
                let copies = std::fs::read_dir(program.path("news/cluster.settings")).unwrap();
                let names = copies.flatten().map(|entry| entry.file_name());
                names.eq([format!("{:016x}", place(program).1).as_str()])
            });
        }
    }
    for served in served {
        served.daemon.stop();
    }
}

#[test]
fn settings_with_errors_are_refused() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 1, ACTIVE);
    let program = &programs[0];
    let served = Served::start(program);
    assert_eq!(
        offer(
            &served.address,
            &id("first", 1),
            &in_four_groups(&id("first", 1))
        ),
        "239"
    );
    let before = place(program);
    let settings = program.read("news/broadsheet.toml");
    let status = || program.run(&["cluster", "status", "--dir", "news"]).out;
    assert!(!status().contains("not in force"), "{}", status());
    program.write(
        "news/broadsheet.toml",
        settings
            .replace("groups_per_article_max = 256", "groups_per_article_max = 9")
            .as_bytes(),
    );
    assert!(status().contains("not in force"), "{}", status());
    program.write("news/broadsheet.toml", settings.as_bytes());
    for (file, text, expected) in [
        (
            "broadsheet.toml",
            settings.replace(
                "groups_per_article_max = 256",
                "groups_per_article_max = \"x\"",
            ),
            "broadsheet.toml:",
        ),
        ("sys", "ME:all\nother:comp:Z\n".to_owned(), "sys line 2"),
        ("control.ctl", "x\n".to_owned(), "control.ctl line 1"),
        (
            "keys/ABC.asc",
            "no key\n".to_owned(),
            "ABC.asc is not a key file",
        ),
        (
            "broadsheet.toml",
            settings.replace("headers_only = false", "headers_only = true"),
            "headers_only",
        ),
        ("seen.hashes", "x".to_owned(), "seen.hashes has changed"),
    ] {
        let kept = std::fs::read(program.path(&format!("news/{file}"))).ok();
        program.write(&format!("news/{file}"), text.as_bytes());
        let told = apply(program);
        assert_ne!(told.status, 0, "{file}: {told:?}");
        assert!(told.err.contains(expected), "{file}: {told:?}");
        match kept {
            Some(kept) => program.write(&format!("news/{file}"), &kept),
            None => std::fs::remove_file(program.path(&format!("news/{file}"))).unwrap(),
        }
    }
    assert_eq!(place(program), before);
    assert_eq!(
        offer(
            &served.address,
            &id("first", 2),
            &in_four_groups(&id("first", 2))
        ),
        "239"
    );
    served.daemon.stop();
}

#[test]
fn without_tls_the_login_makes_a_change() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    // A name may lead to any machine.
    let mut options = servers.options();
    for server in &mut options.servers {
        *server = server.replace("127.0.0.1", "localhost");
    }
    let programs: Vec<Program> = (0..2)
        .map(|place| {
            let program = Program::with_news(ACTIVE);
            become_node(&program, options.clone(), (place == 0).then_some("1 GiB"));
            program
        })
        .collect();
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let offer = |node: usize, id: &str| offer(&served[node].address, id, &in_four_groups(id));
    assert_eq!(offer(0, &id("first", 1)), "239");
    until_equal(&programs);
    let limit = |to: &str| programs[0].set("groups_per_article_max = 256", to);
    limit("groups_per_article_max = 3");
    // Without a login nobody knows who brings them.
    let login = programs[0].path("news/keys/cluster.login");
    let kept = programs[0].path("login");
    std::fs::rename(&login, &kept).unwrap();
    let told = apply(&programs[0]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("only with a login"), "{told:?}");
    std::fs::rename(&kept, &login).unwrap();
    let told = apply(&programs[0]);
    assert_eq!(told.status, 0, "{told:?}");
    until_equal(&programs);
    for node in [0, 1] {
        assert_eq!(offer(node, &id("second", 1 + node)), "439");
    }
    // Somebody who poses as the servers brings a change that he made with another login.
    let (_, rules) = place(&programs[1]);
    let log = applied(&programs[1]);
    let log = log.split(' ').next().unwrap();
    let origin = Origin {
        login: &new_login().unwrap(),
        log,
        rules: 1,
    };
    let sequence = place(&programs[1]).0;
    let files = [("sys", &b"ME:all\nevil:all:Lx:rm -rf\n"[..])].into_iter();
    let entry = Entry {
        kind: Kind::Settings,
        origin: 1,
        counter: 1,
        arrival: 0,
        rules: 1,
        payload: &payload(&origin, (rules, sequence), files).unwrap(),
    };
    options.log = log.to_owned();
    let entries = vec![("1-1".to_owned(), entry.to_bytes().into())];
    append(&options, entries).unwrap();
    for served in &served {
        served
            .daemon
            .until_said("not made with the login of this node");
    }
    assert!(programs.iter().all(|program| place(program).1 == rules));
    for served in served {
        served.daemon.stop();
    }
}

#[test]
fn of_two_changes_at_the_same_time_one_counts() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let first = id("first", 1);
    assert_eq!(
        offer(&served[0].address, &first, &in_four_groups(&first)),
        "239"
    );
    until_equal(&programs);
    for (number, program) in programs.iter().enumerate() {
        program.write(
            "news/sys",
            format!("ME:all\nsite{number}:comp/all:F:out\n").as_bytes(),
        );
    }
    let (_, log) = members(&servers.options()).unwrap();
    let last = log.last;
    // Neither node is told of the other command before it appends.
    served
        .iter()
        .for_each(|served| served.daemon.signal("STOP"));
    let told = std::thread::scope(|scope| {
        let commands: Vec<_> = programs
            .iter()
            .map(|program| scope.spawn(|| apply(program)))
            .collect();
        until("both entries", || {
            members(&servers.options()).is_ok_and(|(_, log)| log.last >= last + 2)
        });
        served
            .iter()
            .for_each(|served| served.daemon.signal("CONT"));
        let told = commands.into_iter().map(|command| command.join().unwrap());
        told.collect::<Vec<_>>()
    });
    let statuses: Vec<i32> = told.iter().map(|told| told.status).collect();
    assert_eq!(
        statuses.iter().filter(|status| **status == 0).count(),
        1,
        "{told:?}"
    );
    let winner = statuses.iter().position(|status| *status == 0).unwrap();
    let loser = 1 - winner;
    assert!(
        told[loser]
            .err
            .contains("another change of the settings came first"),
        "{told:?}"
    );
    until_equal(&programs);
    for program in &programs {
        assert_eq!(
            program.read("news/sys"),
            format!("ME:all\nsite{winner}:comp/all:F:out\n")
        );
    }
    assert_eq!(
        programs[loser].read("news/sys.replaced"),
        format!("ME:all\nsite{loser}:comp/all:F:out\n")
    );
    for served in served {
        served.daemon.stop();
    }
}

#[test]
fn seen_hashes_change_while_all_nodes_are_stopped() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let file = |served: &Served, id: &str| offer(&served.address, id, &article(id, "comp.test"));
    assert_eq!(file(&served[0], &id("first", 1)), "239");
    until_equal(&programs);
    let old = place(&programs[0]).1;
    let elsewhere = id("elsewhere", 1);
    let see = |program: &Program| {
        let hash = (seen_hashes::md5_of(elsewhere.as_bytes()), u32::MAX);
        seen_hashes::write(&program.path("news"), vec![hash]).unwrap();
    };
    let rules = |program: &Program| program.run(&["cluster", "rules", "--dir", "news", "--json"]);
    // Not while the nodes run.
    see(&programs[0]);
    let told = rules(&programs[0]);
    assert!(told.err.contains("are not put into force"), "{told:?}");
    assert!(told.summary()["settings"].is_null(), "{told:?}");
    assert_eq!(file(&served[1], &id("first", 2)), "239");
    until_equal(&programs);
    assert_eq!(place(&programs[0]).1, old);
    served.drain(..).for_each(|served| served.daemon.stop());
    programs[0].set("headers_only = false", "headers_only = true");
    let told = rules(&programs[0]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("headers_only has changed"), "{told:?}");
    programs[0].set("headers_only = true", "headers_only = false");
    // One is forgotten.
    see(&programs[1]);
    let told = rules(&programs[0]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.summary()["settings"].is_string(), "{told:?}");
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let said = served[2].daemon.until_said("applies no more entries");
    assert!(
        said.contains("decides by other settings") && said.contains("seen.hashes"),
        "{said}"
    );
    served.pop().unwrap().daemon.stop();
    see(&programs[2]);
    served.push(Served::start(&programs[2]));
    until_equal(&programs);
    for _ in 0..2 {
        for served in &served {
            assert_eq!(file(served, &elsewhere), "439");
        }
        until_equal(&programs);
        let new = place(&programs[0]).1;
        assert_ne!(new, old);
        for program in &programs {
            assert_eq!(place(program).1, new);
            let copies = std::fs::read_dir(program.path("news/cluster.settings")).unwrap();
            let copies: Vec<_> = copies.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(copies, [std::ffi::OsString::from(format!("{new:016x}"))]);
            let status = program.run(&["cluster", "status", "--dir", "news"]);
            assert!(!status.out.contains("not in force"), "{status:?}");
        }
        // Also after a restart.
        served.drain(..).for_each(|served| served.daemon.stop());
        served.extend(programs.iter().map(Served::start));
    }
    // Other settings change by an entry that brings them, as before.
    programs[1].write("news/sys", b"ME:all\nuucp:comp/all:F:out\n");
    let told = apply(&programs[1]);
    assert_eq!(told.status, 0, "{told:?}");
    until_equal(&programs);
    assert_eq!(file(&served[0], &elsewhere), "439");
    for served in served {
        served.daemon.stop();
    }
}
