//! What was filed for another site goes there in batches, by command and by directory, once.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use crate::program;
use program::{Program, articles};

const GROUPS: &str = "test.a 0000000000 00001 y\n";

/// A news directory that feeds `north` in this way, with `count` articles filed.
fn feeding(via: &str, count: usize) -> (Program, Vec<Vec<u8>>) {
    let program = Program::with_news(GROUPS);
    let site = format!("\n[[site]]\nname = \"north\"\ngroups = \"test\"\nvia = {via}\n");
    let settings = program.read("news/broadsheet.toml") + &site;
    program.write("news/broadsheet.toml", settings.as_bytes());
    let list = articles::many("out", count, "test.a", 2000);
    let told = program.rnews(&articles::batch(&list));
    assert_eq!(told.count("accepted") as usize, count, "{told:?}");
    (program, list)
}

/// A second news directory, `far`, files what came.
fn far(program: &Program) {
    program.init("far", "far.example.net");
}

fn send(program: &Program) -> serde_json::Value {
    let told = program.run(&["sendbatches", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    told.summary()
}

#[test]
fn a_command_gets_every_article_once_with_each_compression() {
    for compress in ["none", "compress", "gzip", "bzip2", "xz", "zstd"] {
        let script = format!(
            "cd .. && cat > batch.$$ && {} rnews --dir far batch.$$",
            env!("CARGO_BIN_EXE_broadsheet")
        );
        let via = format!(
            "{{ batch = \"\"\"sh -c '{script}'\"\"\", size = \"10 kB\", compress = \"{compress}\" }}"
        );
        let (program, list) = feeding(&via, 23);
        far(&program);
        let sent = send(&program);
        assert_eq!(sent["articles"], 23, "{compress}: {sent}");
        assert!(sent["batches"].as_u64() >= Some(5), "{compress}: {sent}");
        assert_eq!(sent["state"], "batches flowing");
        let is_smaller = sent["packed_bytes"].as_u64() < sent["bytes"].as_u64();
        assert_eq!(is_smaller, compress != "none", "{sent}");
        for (number, article) in list.iter().enumerate() {
            let id = articles::id("out", number + 1);
            let here = program.run_bytes(&["article", "--dir", "news", &id]);
            let there = program.run_bytes(&["article", "--dir", "far", &id]);
            let body = |text: &[u8]| {
                let at = text.windows(2).position(|two| two == b"\n\n");
                text[at.expect("a body")..].to_vec()
            };
            assert_eq!(body(&there), body(article), "{compress}");
            assert_eq!(body(&there), body(&here), "{compress}");
            let there = String::from_utf8_lossy(&there).into_owned();
            assert!(there.contains("Path: far.example.net!news.example.org!far!near!user\n"));
        }
        assert_eq!(send(&program)["batches"], 0);
    }
}

#[test]
fn a_command_that_fails_leaves_everything_and_says_why() {
    let via = "{ batch = \"\"\"sh -c 'cat > /dev/null; echo line busy >&2; exit 9'\"\"\", size = \"10 kB\" }";
    let (program, _) = feeding(via, 23);
    for state in [
        "batching slow or stalled",
        "batching stalled",
        "batching stalled",
    ] {
        let told = program.run(&["sendbatches", "--dir", "news"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(
            told.err.contains("north: about 5 batches wait: `sh' did not take the batch: exit status 9; its standard error: line busy"),
            "{told:?}"
        );
        let log = program.read("news/batchlog");
        let line = log.lines().rev().find(|line| line.starts_with("north\t"));
        assert_eq!(line, Some(format!("north\tbacklog 5 ({state})").as_str()));
    }
    let settings = program
        .read("news/broadsheet.toml")
        .replace("exit 9", "exit 0");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.starts_with("north: 23 articles in "), "{told:?}");
    assert!(
        program
            .read("news/batchlog")
            .contains("north\tbacklog 0 (batches flowing)\n")
    );
}

#[test]
fn killed_before_it_knew_it_sends_that_batch_again_and_no_other() {
    let rnews = format!(
        "{} rnews --json --dir far batch >> told",
        env!("CARGO_BIN_EXE_broadsheet")
    );
    let via = format!(
        "{{ batch = \"\"\"sh -c 'cd .. && cat > batch && {rnews} && kill -9 $PPID'\"\"\", size = \"10 kB\" }}"
    );
    let (program, _) = feeding(&via, 23);
    far(&program);
    let killed = program.run(&["sendbatches", "--dir", "news"]);
    assert_ne!(killed.status, 0, "{killed:?}");
    let settings = program
        .read("news/broadsheet.toml")
        .replace(" && kill -9 $PPID", "");
    program.write("news/broadsheet.toml", settings.as_bytes());
    assert_eq!(send(&program)["articles"], 23);
    let told: Vec<serde_json::Value> = program
        .read("told")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let sum = |of: &str| told.iter().filter_map(|run| run[of].as_u64()).sum::<u64>();
    assert_eq!(sum("accepted"), 23);
    assert_eq!(Some(sum("duplicates")), told[0]["accepted"].as_u64());
    assert!(told.len() > 5, "{told:?}");
}

#[test]
fn a_directory_of_another_news_system_is_filled_up_to_the_queue() {
    let via =
        "{ directory = \"../far/in.coming\", size = \"10 kB\", queue = 3, compress = \"gzip\" }";
    let (program, _) = feeding(via, 23);
    far(&program);
    let told = program.run(&["sendbatches", "--dir", "news", "--json"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(told.count("batches"), 3);
    assert_eq!(told.summary()["why"], "3 batches are in its queue already");
    let told = program.run(&["queuelen", "--dir", "news", "north"]);
    assert_eq!(told.out, "3\n");
    let mut all = 0;
    while all < 23 {
        for path in program.files("far/in.coming") {
            let name = path.to_str().expect("UTF-8").to_owned();
            assert!(name.ends_with(".gz"), "{name}");
            let told = program.run(&["rnews", "--dir", "far", "--json", "-u", &name]);
            all += told.count("accepted");
        }
        program.run(&["sendbatches", "--dir", "news"]);
    }
    assert_eq!(
        program.files("far/in.coming"),
        Vec::<std::path::PathBuf>::new()
    );
    assert_eq!(send(&program)["batches"], 0);
}

#[test]
fn batchparms_says_how_and_by_class() {
    let (program, _) = feeding("\"batchparms\"", 3);
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err
            .contains("north: batches for north have no destination: "),
        "{told:?}"
    );
    let lines = "north n 10000 - batcher | gzip -9 | sh -c 'cat > night'\n\
                 /default/ u 10000 - batcher | viauux\n";
    program.write("news/batchparms", lines.as_bytes());
    let told = program.run(&["sendbatches", "--dir", "news", "-c", "x"]);
    assert_eq!((told.status, told.out.as_str()), (0, ""), "{told:?}");
    let told = program.run(&["sendbatches", "--dir", "news", "-c", "n"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out.starts_with("north: 3 articles in 1 batch, "),
        "{told:?}"
    );
    let told = program.run(&["rnews", "--dir", "news", "--json", "news/night"]);
    assert_eq!(told.count("duplicates"), 3, "{told:?}");
    program.write(
        "news/batchparms",
        b"north u! 100 - batcher | sh -c 'cat > day'\n",
    );
    // Nothing waits for it.
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    program.rnews(&articles::batch(&articles::many("more", 1, "test.a", 10)));
    let told = program.run(&["sendbatches", "--dir", "news", "--json"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(
        told.summary()["why"],
        "batches are disabled in batchparms (`!')"
    );
}

#[test]
fn faults_are_named() {
    let (program, _) = feeding("{ batch = \"cat\" }", 1);
    let told = program.run(&["sendbatches", "--dir", "news", "south"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("no feed `south'"), "{told:?}");
    program.write("news/batchparms", b"north u 100 x batcher | viauux\n");
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("batchparms: line 1: the queue is `x'"),
        "{told:?}"
    );
    // Who needs no batchparms is served, by rnews and by hand.
    program.write("news/sys", b"list:all:F:togo\n");
    program.rnews(&articles::batch(&articles::many("more", 1, "test.a", 10)));
    assert_eq!(program.read("news/out.going/togo"), "test/a/2\n");
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("list: 0 articles"), "{told:?}");
    assert!(told.err.contains("north: "), "{told:?}");
}
