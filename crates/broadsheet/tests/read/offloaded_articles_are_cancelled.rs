//! Cancels of articles that are in an object store have the effect that they have on others: by their Cancel-Locks, which stay here, also while
//! the store is down, and on each node of a cluster, whichever of them offloads.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use program::Program;
use program::articles::{batch, id, with};
use program::cluster::{make_node, seen, until_equal};
use program::daemon::until;
use program::faults::can_trace;
use program::nats::Servers;
use program::nntp::{ALL_MAY, Served, listen};

const ACTIVE: &str = "comp.test 0000000000 00001 y\ncontrol 0000000000 00001 y\njunk 0 1 y\n";
/// The lock that [`KEY`] opens.
const LOCK: &str = "Cancel-Lock: sha256:s/pmK/3grrz++29ce2/mQydzJuc7iqHn1nqcJiQTPMc=\n";
const KEY: &str = "Cancel-Key: sha256:qv1VXHYiCGjkX/N1nhfYKcAeUn8bCVhrWhoKuBSnpMA=\n";
const WRONG: &str = "Cancel-Key: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=\n";
/// Every third article has no lock.
const ARTICLES: usize = 24;

fn articles() -> Vec<Vec<u8>> {
    let body = "line\n".repeat(80 << 10);
    let article = |number: usize| {
        let lock = if number.is_multiple_of(3) { "" } else { LOCK };
        with(&id("old", number), "comp.test", lock, body.as_bytes())
    };
    (1..=ARTICLES).map(article).collect()
}

/// A cancel of an article, with a key.
fn cancel(number: usize, key: &str) -> Vec<u8> {
    let gone = id("old", number);
    let own = gone.replacen(
        '<',
        &format!("<cancel.{}.", key.len() + key.as_bytes()[20] as usize),
        1,
    );
    with(
        &own,
        "comp.test",
        &format!("Control: cancel {gone}\n{key}"),
        b"x\n",
    )
}

fn file(program: &Program, articles: &[Vec<u8>]) {
    for article in articles {
        until("a batch", || {
            program.rnews(&batch(std::slice::from_ref(article))).status == 0
        });
    }
}

/// Lets the articles of a news directory move into a directory of its own.
fn set_store(program: &Program) -> PathBuf {
    let objects = program.path("objects");
    fs::create_dir(&objects).unwrap();
    program.set(
        "url = \"\"",
        &format!("url = \"file://{}\"", objects.display()),
    );
    objects
}

/// The numbers of the segments.
fn bases(program: &Program) -> Vec<String> {
    let listed = program.run(&["segments", "list", "--dir", "news", "--json"]);
    let listed = listed.summary();
    let segments = listed["segments"].as_array().unwrap().iter();
    segments
        .map(|segment| segment["base"].to_string())
        .collect()
}

/// Moves all sealed segments away; returns the number of objects.
fn offload(program: &Program, objects: &std::path::Path) -> usize {
    let bases = bases(program);
    let mut words = vec!["segments", "offload", "--dir", "news"];
    words.extend(bases.iter().map(String::as_str));
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        bytes_away(program) > (ARTICLES as u64) * 300_000,
        "{}",
        bytes_away(program)
    );
    let names = fs::read_dir(objects.join("news.example.org/segments"));
    names.map_or(0, Iterator::count)
}

/// Bytes of the articles that are in the object store.
fn bytes_away(program: &Program) -> u64 {
    let listed = program.run(&["segments", "list", "--dir", "news", "--json"]);
    let listed = listed.summary();
    let segments = listed["segments"].as_array().unwrap().iter();
    let away = segments.filter(|segment| segment["object"].is_string());
    away.map(|segment| segment["bytes"].as_u64().unwrap()).sum()
}

/// The articles that are there, of those with locks and those without.
fn there(program: &Program) -> Vec<usize> {
    let overview = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    (1..=ARTICLES)
        .filter(|number| overview.contains(&id("old", *number)))
        .collect()
}

/// A wrong key, a right one, and one where no lock is, for articles from `first` on.
fn attempts(first: usize) -> Vec<Vec<u8>> {
    [(first, WRONG), (first + 1, KEY), (first + 2, KEY)]
        .map(|(number, key)| cancel(number, key))
        .to_vec()
}

#[test]
fn by_their_locks() {
    let program = Program::with_small_segments(ACTIVE, 2);
    let objects = set_store(&program);
    file(&program, &articles());
    assert!(offload(&program, &objects) > 2);
    assert_eq!(there(&program).len(), ARTICLES);
    file(&program, &attempts(1));
    assert_eq!(there(&program).len(), ARTICLES - 1);
    assert!(!there(&program).contains(&2));
    // The writer does not ask the store.
    let away = objects.with_extension("away");
    fs::rename(&objects, &away).unwrap();
    file(&program, &attempts(4));
    assert!(!there(&program).contains(&5));
    fs::rename(&away, &objects).unwrap();
    program.assert_clean();

    // Without the locks nobody vouches for a cancel; fsck says so, and makes them again.
    let is_locks = |path: &PathBuf| path.extension().is_some_and(|end| end == "clk");
    let mut locks: Vec<PathBuf> = fs::read_dir(program.path("news/segments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_locks)
        .collect();
    locks.sort();
    assert!(locks.len() > 2);
    fs::remove_file(&locks[0]).unwrap();
    let mut bytes = fs::read(&locks[1]).unwrap();
    bytes[30] ^= 1;
    fs::write(&locks[1], &bytes).unwrap();
    let told = program.run(&["fsck", "--dir", "news"]);
    assert_ne!(told.status, 0);
    let said = told.out + &told.err;
    assert!(
        said.contains(".clk") && said.contains("missing") && said.contains("checksum"),
        "{said}"
    );
    let told = program.run(&["fsck", "--repair", "--dir", "news"]);
    assert!(told.status < 2, "{told:?}");
    program.assert_clean();
    file(&program, &attempts(7));
    assert_eq!(there(&program).len(), ARTICLES - 3);
    // They go with the object.
    let told = program.run(&["segments", "fetch", "--all", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(locks.iter().all(|path| !path.exists()));
    program.assert_clean();
}

/// The writer looks for the locks, and the segment comes back before it finds them.
#[test]
fn while_a_segment_comes_back() {
    if !can_trace() {
        return;
    }
    let program = Program::with_small_segments(ACTIVE, 2);
    let objects = set_store(&program);
    file(&program, &articles());
    assert!(offload(&program, &objects) > 2);
    let base = bases(&program)[0].clone();
    let locks = program.path(&format!("news/segments/{base:0>20}.clk"));
    assert!(locks.exists());
    program.write("batch", &batch(&attempts(1)));
    let mut writer = Command::new("strace")
        .args(["-f", "-o", "trace", "-e", "trace=openat"])
        .args(["-e", "inject=openat:delay_enter=3000000", "-P"])
        .arg(&locks)
        .arg(env!("CARGO_BIN_EXE_broadsheet"))
        .args(["rnews", "--dir"])
        .arg(program.path("news"))
        .arg("batch")
        .current_dir(program.path(""))
        .spawn()
        .unwrap();
    // It does not wait for the writer: the end of the delay decides nothing but whether this test meets the moment.
    std::thread::sleep(Duration::from_secs(1));
    program.run(&["segments", "fetch", "--dir", "news", &base]);
    assert!(writer.wait().unwrap().success());
    assert!(program.read("trace").contains("DELAYED"));
    assert!(!there(&program).contains(&2));
    assert!(!locks.exists());
    program.assert_clean();
}

#[test]
fn on_all_nodes() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let node = |is_first: bool| {
        let program = Program::with_news(ACTIVE);
        listen(&program, ALL_MAY);
        make_node(&program, servers.options());
        let mut words = vec!["cluster", "join", "--dir", "news"];
        if is_first {
            words = vec!["cluster", "init", "--dir", "news", "--log-bytes", "20 MiB"];
        }
        until("a node", || {
            let told = program.run(&words);
            if told.err.contains("is the log of a cluster already") {
                words = vec!["cluster", "join", "--dir", "news"];
            }
            told.status == 0
        });
        program
    };
    let mut programs = vec![node(true), node(false)];
    let objects = set_store(&programs[0]);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    file(&programs[0], &articles());
    let gone = id("erased", 1);
    file(&programs[0], &[with(&gone, "comp.test", "", b"x\n")]);
    until_equal(&programs);
    // An erased article begins a new segment.
    let told = programs[0].run(&["article", "remove", "--erase", "--dir", "news", &gone]);
    assert_eq!(told.status, 0, "{told:?}");
    until_equal(&programs);
    assert!(offload(&programs[0], &objects) > 0);
    file(&programs[1], &attempts(1));
    until_equal(&programs);
    let away = objects.with_extension("away");
    fs::rename(&objects, &away).unwrap();
    file(&programs[1], &attempts(4));
    until_equal(&programs);
    fs::rename(&away, &objects).unwrap();
    for program in &programs {
        assert_eq!(there(program).len(), ARTICLES - 2);
    }

    // A new node gets the articles that are in the store of the other one.
    file(
        &programs[0],
        &(1..=40)
            .map(|number| {
                with(
                    &id("new", number),
                    "comp.test",
                    "",
                    "line\n".repeat(160 << 10).as_bytes(),
                )
            })
            .collect::<Vec<_>>(),
    );
    let other = programs.remove(1);
    served.remove(1).daemon.stop();
    let newcomer = Program::new();
    let told = newcomer.run(&["init", "--dir", "news", "--name", "news.example.org"]);
    assert_eq!(told.status, 0, "{told:?}");
    listen(&newcomer, ALL_MAY);
    make_node(&newcomer, servers.options());
    assert!(bytes_away(&programs[0]) > (ARTICLES as u64) * 300_000);
    let told = newcomer.run(&["cluster", "join", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    // The log has forgotten them.
    assert!(told.out.contains("files from the node"), "{told:?}");
    assert!(bytes_away(&programs[0]) > 0 && bytes_away(&newcomer) == 0);
    newcomer.assert_clean();
    programs.push(newcomer);
    served.push(Served::start(&programs[1]));
    file(&programs[0], &attempts(7));
    until_equal(&programs);
    let all: Vec<_> = programs
        .iter()
        .map(|program| seen(program, &["comp.test"]))
        .collect();
    assert!(all[0] == all[1]);
    for number in there(&programs[0]) {
        let words = ["article", "--dir", "news", &id("old", number)];
        let (one, two) = (programs[0].run(&words), programs[1].run(&words));
        assert!(one.status == 0 && one.out == two.out, "{number}");
    }
    // A node that takes them anew leaves no objects behind.
    served.remove(0).daemon.stop();
    let told = programs[0].run(&["cluster", "reseed", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(bytes_away(&programs[0]), 0);
    let told = programs[0].run(&["segments", "offload", "--dir", "news", "1"]);
    assert_eq!(told.status, 0, "{told:?}");
    let left = fs::read_dir(objects.join("news.example.org/segments"));
    assert_eq!(left.map_or(0, Iterator::count), 0);
    programs[0].assert_clean();
    for one in served {
        one.daemon.stop();
    }
    drop(other);
}
