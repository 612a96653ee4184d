//! A new or lost node takes the segments of another one, and goes on with the log from there: the log has forgotten its beginning, articles have
//! expired and were cancelled, others arrive meanwhile, and runs are interrupted.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use program::Program;
use program::articles::{batch, id, many, with};
use program::cluster::{applied, become_node, make_node, name, nodes_with_log, seen, until_equal};
use program::daemon::{Daemon, Over, until};
use program::link::Link;
use program::nats::Servers;
use program::nntp::{ALL_MAY, Served, listen, offer};

const GROUPS: [&str; 3] = ["comp.test", "comp.misc", "comp.gone"];
const ACTIVE: &str =
    "comp.test 0 1 y\ncomp.misc 0 1 y\ncomp.gone 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";
/// So small that it has forgotten its beginning soon.
const LOG: &str = "20 MiB";

/// Articles of three groups in turns, about 9 KB each.
fn mixed(prefix: &str, count: usize) -> Vec<Vec<u8>> {
    let article = |number: usize| {
        let body = format!("{prefix} {number}\n").repeat(1000 + number % 7 * 10);
        let group = GROUPS[number % 3];
        with(&id(prefix, number), group, "", body.as_bytes())
    };
    (1..=count).map(article).collect()
}

/// Files them on a node, in batches that a small log can take.
fn file(program: &Program, articles: &[Vec<u8>]) {
    for some in articles.chunks(100) {
        let text = batch(some);
        // While the log is full, the batch stays with its sender.
        until("a batch", || program.rnews(&text).status == 0);
    }
}

fn cancel(program: &Program, ids: &[String]) {
    let cancels: Vec<Vec<u8>> = ids
        .iter()
        .map(|gone| {
            let cancel = gone.replacen('<', "<cancel.", 1);
            with(
                &cancel,
                "comp.test",
                &format!("Control: cancel {gone}\n"),
                b"x\n",
            )
        })
        .collect();
    file(program, &cancels);
}

/// The log of the cluster, as a node shows it: its first and its last entry.
fn extent(program: &Program) -> (u64, u64) {
    let told = program.run(&["cluster", "status", "--dir", "news", "--json"]);
    let told = told.summary();
    let number = |what: &str| told["log_extent"][what].as_u64().unwrap();
    (number("first"), number("last"))
}

/// A news directory with the settings of the others, without groups.
fn newcomer(servers: &Servers) -> Program {
    let program = Program::new();
    let words = ["init", "--dir", "news", "--name", "news.example.org"];
    let told = program.run(&[&words[..], &["--keep-free", "0"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    listen(&program, ALL_MAY);
    program.cancel_as_c_news();
    make_node(&program, servers.options());
    program
}

/// Everything of one group expires; the space of a third of each segment comes back.
fn expire(programs: &[Program]) {
    let later = SystemTime::now() + Duration::from_secs(86_400);
    let now = later
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        .to_string();
    for program in programs {
        program.write(
            "news/explist",
            b"/expired/ x 30 -\ncomp.gone x 0 -\nall x 90 -\n",
        );
        let words = ["expire", "--dir", "news", "--now", &now, "--force"];
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{told:?}");
    }
}

/// Three nodes whose log has forgotten its beginning, with articles that expired, were cancelled, and stay.
fn aged(servers: &Servers) -> (Vec<Program>, Vec<Served>) {
    let programs = nodes_with_log(servers, 3, ACTIVE, LOG);
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    file(&programs[0], &mixed("old", 1500));
    cancel(
        &programs[1],
        &(1..100)
            .map(|number| id("old", 5 * number))
            .collect::<Vec<_>>(),
    );
    until_equal(&programs);
    expire(&programs[..2]);
    file(&programs[0], &mixed("new", 500));
    until("the log forgets its beginning", || {
        extent(&programs[0]).0 > 1
    });
    (programs, served)
}

fn assert_equal(programs: &[Program]) {
    let first = seen(&programs[0], &GROUPS);
    for program in programs {
        program.assert_clean();
        for (what, text) in seen(program, &GROUPS) {
            assert!(text == first[&what], "{what} differs");
        }
        for file in ["newsgroups", "active.times"] {
            let read =
                |program: &Program| std::fs::read(program.path(&format!("news/{file}"))).ok();
            assert_eq!(read(program), read(&programs[0]), "{file}");
        }
    }
}

/// The sealed `.art` files of a node.
fn sealed(program: &Program, folder: &str) -> Vec<PathBuf> {
    let mut arts = program.files(folder);
    arts.retain(|path| path.extension().is_some_and(|end| end == "art"));
    arts.pop();
    arts
}

/// Flips a bit in an article that no node has removed.
fn flip(path: &PathBuf) {
    let file = std::fs::File::options().read(true).write(true).open(path);
    let file = file.unwrap();
    let bytes = std::fs::read(path).unwrap();
    let text = b"\r\nold 301\r\n";
    let at = bytes
        .windows(text.len())
        .position(|window| window == text || window == b"\r\nold!301\r\n");
    let at = at.unwrap() + 5;
    let other = if bytes[at] == b' ' { b'!' } else { b' ' };
    file.write_all_at(&[other], at as u64).unwrap();
}

#[test]
fn a_node_joins_while_articles_arrive() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let (mut programs, mut served) = aged(&servers);
    let fourth = newcomer(&servers);
    let is_over = AtomicBool::new(false);
    let address = served[2].address.clone();
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let over = Over(is_over);
        scope.spawn(move || {
            for number in 1.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let mut articles = vec![(id("live", number), "")];
                let control = format!("Control: cancel {}\n", id("new", number));
                articles.push((id("live-cancel", number), control.as_str()));
                for (id, header) in articles {
                    // So few and small that the log keeps what the new node lacks, however long it takes.
                    std::thread::sleep(Duration::from_millis(5));
                    let body = format!("{number}\n").repeat(100);
                    let text = with(&id, "comp.test,comp.misc", header, body.as_bytes());
                    // After a moment without the log it comes again.
                    offer(&address, &id, &text);
                }
            }
        });
        // Slowly, and killed in the middle.
        let words = ["cluster", "join", "--dir", "news", "--rate", "2 MiB"];
        let mut command = fourth.command(&words);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        until("some segments", || {
            sealed(&fourth, "news/reseed/segments").len() > 1
        });
        child.kill().unwrap();
        child.wait().unwrap();
        // The directory is as it was.
        assert_eq!(sealed(&fourth, "news/segments").len(), 0);
        assert!(!fourth.path("news/cluster.applied").exists());
        let record = fourth.read("news/reseed/fetched");
        // What expire changes meanwhile, is fetched anew.
        expire(&programs[..1]);
        let told = fourth.run(&["cluster", "join", "--dir", "news", "--json"]);
        assert_eq!(told.status, 0, "{told:?}");
        let from = told.summary()["from"].as_str().unwrap().to_owned();
        let is_same = record
            .lines()
            .next()
            .unwrap()
            .ends_with(&format!(" {from}"));
        // On a busy machine that node may not answer in time; then the copy of another begins anew.
        assert!(
            !is_same || told.count("fetched_bytes") < told.count("bytes"),
            "{told:?}, after {record}"
        );
        assert!(!fourth.path("news/reseed").exists());
        drop(over);
    });
    served.push(Served::start(&fourth));
    programs.push(fourth);
    file(&programs[3], &mixed("more", 20));
    until_equal(&programs);
    assert!(!applied(&programs[3]).is_empty());
    for served in served {
        served.daemon.stop();
    }
    assert_equal(&programs);
}

#[test]
fn a_node_that_was_away_for_too_long_is_reseeded() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let (programs, mut served) = aged(&servers);
    let away = served.pop().unwrap();
    away.daemon.stop();
    let (_, last) = extent(&programs[0]);
    file(&programs[0], &mixed("meanwhile", 1700));
    until("the log goes on without it", || {
        extent(&programs[0]).0 > last + 1
    });
    let before = seen(&programs[2], &GROUPS);
    // It may stop before it listens.
    let back = Daemon::launch(&programs[2]);
    back.until_said("it was away for too long");
    // The others list it again, and their log does not wait for it.
    let lost = name(&programs[2]);
    until("the reason at another node", || {
        let told = programs[0].run(&["cluster", "status", "--dir", "news", "--json"]);
        let told = told.summary();
        let nodes = told["log_extent"]["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["node"] == *lost);
        node.is_some_and(|node| node["stopped"]["is_out"] == true)
    });
    // Its daemon may run while its copy is made, and the copy waits until it is stopped.
    let words = ["cluster", "reseed", "--dir", "news", "--json"];
    let told = programs[2].run(&words);
    assert_ne!(told.status, 0);
    assert!(
        told.err.contains("the copy is whole, and a daemon serves"),
        "{told:?}"
    );
    assert!(told.err.contains("are missing here"), "{told:?}");
    back.stop();
    assert!(seen(&programs[2], &GROUPS) == before);
    let told = programs[2].run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.count("fetched_bytes") < told.count("bytes") / 2,
        "{told:?}"
    );
    assert!(!programs[2].path("news/reseed").exists());
    served.push(Served::start(&programs[2]));
    file(&programs[2], &mixed("again", 20));
    until_equal(&programs);
    for served in served {
        served.daemon.stop();
    }
    assert_equal(&programs);
}

#[test]
fn what_the_cluster_may_not_have_goes_only_when_told() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let (mut programs, mut served) = aged(&servers);
    // One that decides otherwise is named what differs.
    let other = newcomer(&servers);
    let settings = other.read("news/broadsheet.toml");
    let changed = settings.replace("groups_per_article_max = 256", "groups_per_article_max = 3");
    other.write("news/broadsheet.toml", changed.as_bytes());
    let told = other.run(&["cluster", "join", "--dir", "news"]);
    assert_ne!(told.status, 0);
    assert!(
        told.err.contains("limits.groups_per_article_max"),
        "{told:?}"
    );
    other.write("news/broadsheet.toml", settings.as_bytes());
    // One with articles of its own.
    let plain = settings.split("\n[cluster]").next().unwrap().to_owned();
    other.write("news/broadsheet.toml", plain.as_bytes());
    let told = other.run(&["group", "add", "--dir", "news", "comp.own"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = other.rnews(&batch(&many("own", 3, "comp.own", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    other.write("news/broadsheet.toml", settings.as_bytes());
    for (words, expected) in [
        (vec!["cluster", "join"], "`broadsheet cluster reseed'"),
        (vec!["cluster", "reseed"], "--discard"),
    ] {
        let told = other.run(&[&words[..], &["--dir", "news"]].concat());
        assert_ne!(told.status, 0);
        assert!(told.err.contains(expected), "{told:?}");
    }
    // Not from itself, nor from one that is not there.
    let own = name(&other);
    for (node, expected) in [
        (own.as_str(), "the name of this node"),
        ("nobody", "does not run"),
    ] {
        let words = [
            "cluster",
            "reseed",
            "--dir",
            "news",
            "--discard",
            "--from",
            node,
        ];
        let told = other.run(&words);
        assert_ne!(told.status, 0);
        assert!(told.err.contains(expected), "{told:?}");
    }
    // A damaged segment is noticed, and named with its node.
    let damaged = sealed(&programs[1], "news/segments").remove(0);
    flip(&damaged);
    let node = name(&programs[1]);
    let words = [
        "cluster",
        "reseed",
        "--dir",
        "news",
        "--discard",
        "--from",
        &node,
    ];
    let told = other.run(&words);
    assert_ne!(told.status, 0);
    let file = damaged.file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        told.err.contains(&file) && told.err.contains(&node),
        "{told:?}"
    );
    assert!(other.read("news/active").contains("comp.own"));
    flip(&damaged);
    let node = name(&programs[0]);
    let words = [
        "cluster",
        "reseed",
        "--dir",
        "news",
        "--discard",
        "--from",
        &node,
    ];
    let told = other.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!other.read("news/active").contains("comp.own"));
    served.push(Served::start(&other));
    programs.push(other);
    until_equal(&programs);
    for served in served {
        served.daemon.stop();
    }
    assert_equal(&programs);
}

#[test]
fn a_node_that_has_not_joined_yet_files_nothing() {
    // Made anew after its disk was lost, and a batch comes before `cluster join`.
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let section = "\n[cluster]\nservers = \"nats://127.0.0.1:1\"\n";
    program.write(
        "news/broadsheet.toml",
        (settings.clone() + section).as_bytes(),
    );
    let text = batch(&mixed("early", 3));
    let told = program.rnews(&text);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(told.err.contains("belongs to no cluster yet"), "{told:?}");
    program.write("news/broadsheet.toml", settings.as_bytes());
    assert_eq!(program.rnews(&text).count("accepted"), 3);
}

#[test]
fn bits_that_flip_on_the_way_are_noticed() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let (mut programs, mut served) = aged(&servers);
    let fourth = newcomer(&servers);
    // Its only way to the servers changes a bit now and then.
    let link = Link::start();
    link.heal(&format!("127.0.0.1:{}", servers.client_port(0)));
    let settings = fourth.read("news/broadsheet.toml");
    let line = settings
        .lines()
        .find(|line| line.starts_with("servers = \"nats"))
        .unwrap();
    let by_link = settings.replace(line, &format!("servers = \"nats://{}\"", link.address));
    fourth.write("news/broadsheet.toml", by_link.as_bytes());
    link.flip_every(3 << 20);
    let told = fourth.run(&["cluster", "join", "--dir", "news", "--json"]);
    link.flip_every(0);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.count("damaged_replies") > 0, "{told:?}");
    fourth.write("news/broadsheet.toml", settings.as_bytes());
    served.push(Served::start(&fourth));
    programs.push(fourth);
    until_equal(&programs);
    for served in served {
        served.daemon.stop();
    }
    assert_equal(&programs);
}

#[test]
fn sites_go_on_where_they_were() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    // The log goes on without one node only if two others have everything.
    let programs: Vec<Program> = (0..3)
        .map(|place| {
            let program = Program::with_news(ACTIVE);
            let site = "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = { files = \"../list\", form = \"I\" }\n";
            let settings = program.read("news/broadsheet.toml") + site;
            program.write("news/broadsheet.toml", settings.as_bytes());
            become_node(&program, servers.options(), (place == 0).then_some(LOG));
            if place != 1 {
                let settings = program.read("news/broadsheet.toml") + "feeds = false\n";
                program.write("news/broadsheet.toml", settings.as_bytes());
            }
            program
        })
        .collect();
    // The second node feeds, as soon as it has the lease.
    let list = programs[1].path("list");
    let ids_in_list = || -> Vec<String> {
        let text = std::fs::read_to_string(&list).unwrap_or_default();
        text.lines().map(|line| line.trim().to_owned()).collect()
    };
    let command = |word: &str| programs[1].run(&["feed", word, "--dir", "news", "west"]);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    file(&programs[0], &mixed("old", 900));
    until_equal(&programs);
    until("all in the list", || ids_in_list().len() == 900);
    let told = command("pause");
    assert_eq!(told.status, 0, "{told:?}");
    // The feed holds the lock until the lines are synced. If the list vanishes before that, it writes them again.
    std::fs::File::open(&list).unwrap().lock().unwrap();
    std::fs::remove_file(&list).unwrap();
    file(&programs[0], &mixed("waiting", 50));
    until_equal(&programs);
    expire(&programs[..1]);
    until_equal(&programs);
    served.remove(1).daemon.stop();
    let (_, last) = extent(&programs[0]);
    file(&programs[0], &mixed("meanwhile", 1700));
    until("the log goes on without it", || {
        extent(&programs[0]).0 > last + 1
    });
    let told = programs[1].run(&["cluster", "reseed", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.err.contains("the site west goes on"), "{told:?}");
    served.push(Served::start(&programs[1]));
    until("the lease", || command("resume").status == 0);
    // Everything once that did not go before, without what has expired.
    let last = id("meanwhile", 1700);
    until("the last in the list", || ids_in_list().contains(&last));
    let mut ids = ids_in_list();
    ids.sort_unstable();
    let waiting = (1..=50)
        .filter(|number| number % 3 != 2)
        .map(|number| id("waiting", number));
    let meanwhile = (1..=1700).map(|number| id("meanwhile", number));
    let mut expected: Vec<String> = waiting.chain(meanwhile).collect();
    expected.sort_unstable();
    let lacks = |ids: &[String], id: &String| !ids.contains(id);
    let surplus = ids.iter().find(|id| lacks(&expected, id));
    let missing = expected.iter().find(|id| lacks(&ids, id));
    assert_eq!((surplus, missing, ids.len()), (None, None, expected.len()));
    for served in served {
        served.daemon.stop();
    }
}
