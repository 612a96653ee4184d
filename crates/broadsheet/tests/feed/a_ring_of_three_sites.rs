//! Three sites, each feeding both others by batches dropped into a directory: every article reaches every site, and is filed there
//! once; what has passed a site is not sent back to it; what comes on both ways is counted as duplicate.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use crate::program;

use std::collections::BTreeMap;

use program::{Program, articles, corpus};

const SITES: [&str; 3] = ["red.example", "green.example", "blue.example"];

/// A news directory for each site, in which only `feeds` are fed: (from, to).
fn ring(active: &str, feeds: &[(usize, usize)]) -> Program {
    let program = Program::new();
    program.write("active.list", active.as_bytes());
    for (own, site) in SITES.iter().enumerate() {
        program.init(site, site);
        let mut settings = program.read(&format!("{site}/broadsheet.toml"));
        for (_, to) in feeds.iter().filter(|(from, _)| *from == own) {
            let to = SITES[*to];
            let compress = if own == 0 { "zstd" } else { "none" };
            settings.push_str(&format!(
                "\n[[site]]\nname = \"{to}\"\ngroups = \"all\"\n\
                 via = {{ directory = \"../{to}/in.coming\", compress = \"{compress}\", size = \"60 kB\" }}\n"
            ));
        }
        program.write(&format!("{site}/broadsheet.toml"), settings.as_bytes());
    }
    program
}

/// Sends and files until nothing moves any more; gives how many turns that took.
fn exchange(program: &Program) -> usize {
    for turn in 0.. {
        assert!(turn < 20, "articles go round and round");
        for site in SITES {
            let told = program.run(&["sendbatches", "--dir", site]);
            assert_eq!(told.status, 0, "{told:?}");
        }
        let waiting: usize = SITES
            .iter()
            .map(|site| program.files(&format!("{site}/in.coming")).len())
            .sum();
        if waiting == 0 {
            return turn;
        }
        for site in SITES {
            let told = program.run(&["newsrun", "--dir", site]);
            assert_eq!(told.status, 0, "{told:?}");
        }
    }
    0
}

/// What each site's log says became of each id: `+`, `-` with its reason, `j`; without the lines about senders.
fn outcomes(program: &Program, site: &str) -> BTreeMap<String, Vec<String>> {
    let mut by_id: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in program.read(&format!("{site}/log")).lines() {
        // Mon dd hh:mm:ss.mmm SITE CODE ID text
        let line = line.split_whitespace().skip(4).collect::<Vec<_>>();
        if let [code, id, rest @ ..] = line.as_slice()
            && *code != "s"
        {
            let told = match *code {
                "+" => "+".to_owned(),
                code => format!("{code} {}", rest.join(" ")),
            };
            by_id.entry((*id).to_owned()).or_default().push(told);
        }
    }
    by_id
}

fn filed(program: &Program, site: &str) -> Vec<String> {
    let told = outcomes(program, site);
    let filed = told
        .iter()
        .filter(|(_, told)| told.iter().any(|told| told == "+"));
    filed.map(|(id, _)| id.clone()).collect()
}

const BOTH_WAYS: [(usize, usize); 6] = [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)];

#[test]
fn every_article_reaches_every_site_once() {
    let active = "control 0 1 y\njunk 0 1 y\ncomp.a 0 1 y\nrec.b 0 1 y\n";
    let program = ring(active, &BOTH_WAYS);
    for (site, prefix) in SITES.iter().zip(["r", "g", "b"]) {
        let mut posted = articles::many(prefix, 40, "comp.a,rec.b", 3000);
        posted.extend(articles::many(&format!("{prefix}2"), 40, "rec.b", 700));
        let told = program.feed(&["rnews", "--dir", site], &articles::batch(&posted));
        assert_eq!(told.status, 0, "{told:?}");
    }
    // One comes back that passed green already: it is not sent there.
    let passed = articles::with("<passed@x>", "rec.b", "", b"b\n");
    let passed = [
        b"Path: green.example!".as_slice(),
        &passed["Path: ".len()..],
    ]
    .concat();
    let told = program.feed(&["rnews", "--dir", SITES[0]], &articles::batch(&[passed]));
    assert_eq!(told.status, 0, "{told:?}");

    let turns = exchange(&program);
    assert!(
        turns <= 3,
        "{turns}: whoever has an article does not get it back"
    );
    let all = filed(&program, SITES[0]);
    assert_eq!(all.len(), 241);
    let mut duplicates = 0;
    for site in SITES {
        let others = filed(&program, site);
        let passed = others.iter().any(|id| id == "<passed@x>");
        assert_eq!(passed, site != "green.example");
        assert_eq!(others.len(), 240 + usize::from(passed), "{site}");
        for (id, told) in outcomes(&program, site) {
            assert_eq!(
                told.iter().filter(|told| *told == "+").count(),
                1,
                "{site} {id}"
            );
            duplicates += told.iter().filter(|told| *told == "- duplicate").count();
        }
        let told = program.run(&["fsck", "--dir", site]);
        assert_eq!(told.status, 0, "{told:?}");
        let list = program.run(&["feed", "list", "--dir", site, "--json"]);
        assert!(
            list.out
                .lines()
                .all(|line| line.contains("\"articles\":0,")),
            "{list:?}"
        );
    }
    // Each of 80 articles of a site came to both others directly, and from each of them to the other one once more
    // unless the Path of the first copy told it in time.
    assert!(duplicates > 0 && duplicates <= 480, "{duplicates}");
}

#[test]
fn the_whole_corpus_goes_round() {
    let Some(feed) = program::shared("corpus/feed") else {
        return;
    };
    let Some(groups) = program::shared("corpus/groups.tsv") else {
        return;
    };
    let mut active = "control 0000000000 00001 y\njunk 0000000000 00001 y\n".to_owned();
    for line in std::fs::read_to_string(groups).expect("read").lines() {
        let name = line.split("\t").nth(1).unwrap_or_default();
        if name.contains('.') {
            active.push_str(&format!("{name} 0000000000 00001 y\n"));
        }
    }
    // One way only: every site passes on what it got.
    let program = ring(&active, &[(0, 1), (1, 2), (2, 0)]);
    let (mut accepted, mut number) = (0, 0);
    for path in corpus::batches(&feed) {
        let batch = corpus::unpack(&path);
        let told = program.feed(&["rnews", "--dir", SITES[number % 3], "--json"], &batch);
        assert!(told.status == 0, "{}: {told:?}", corpus::name(&path));
        accepted += told.count("accepted");
        number += 1;
    }
    let turns = exchange(&program);
    assert!(turns <= 4, "{turns}");
    let counts: Vec<usize> = SITES
        .iter()
        .map(|site| filed(&program, site).len())
        .collect();
    assert!(counts[0] > 10_000, "{counts:?}");
    // What is fed to two sites, or was on its way past one of these names, is counted once.
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert!(counts[0] as u64 <= accepted);
    for site in SITES {
        for (id, told) in outcomes(&program, site) {
            assert!(
                told.iter().filter(|told| *told == "+").count() <= 1,
                "{site} {id}"
            );
        }
    }
}
