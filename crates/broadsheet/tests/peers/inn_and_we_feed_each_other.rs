//! A real innd and we feed each other by NNTP, innfeed on its side: every article is at both sites, once, with the same groups and the same
//! bytes, whatever is in it.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, id, many, with};
use program::corpus;
use program::daemon::until;
use program::inn::Inn;
use program::link::Link;
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};

const GROUPS: [&str; 3] = ["comp.test", "comp.other", "rec.test"];
const ARTICLES: usize = 100;

/// Articles that a transport might change.
fn odd(site: &str) -> Vec<(String, Vec<u8>)> {
    let bodies: [&[u8]; 9] = [
        b"\n",
        b".\n",
        b".\n..\n.x\n.\n",
        b"\xe9\x80\xff\n\tx \n\n\n",
        b"#! rnews 100\n",
        b"QUIT\nTAKETHIS <x@y>\n",
        b"a line\n.\nand after it\n",
        b" \n",
        b"-- \nsignature\n",
    ];
    let long = [b"x".repeat(900), b"\n".to_vec()].concat();
    let large = b"a line of text in a large article\n".repeat(9_000);
    let bodies = bodies.map(<[u8]>::to_vec).into_iter().chain([long, large]);
    let groups = [
        "comp.test",
        "comp.test,rec.test",
        "rec.test,comp.other,comp.test",
    ];
    bodies
        .zip(groups.into_iter().cycle())
        .enumerate()
        .map(|(number, (body, groups))| {
            let id = format!("<odd.{number}@{site}>");
            let header = "X-Long: begins here\n\tand goes on\nX-Bytes: \u{e9}\n";
            let article = with(&id, groups, header, &body);
            (id, article)
        })
        .collect()
}

/// The header without the lines that sites change, sorted, and the body.
type Copied = (Vec<Vec<u8>>, Vec<u8>);

fn what_counts(article: &[u8]) -> Copied {
    let end = article.windows(2).position(|bytes| bytes == b"\n\n");
    let (header, body) = article.split_at(end.expect("a body"));
    let is_kept = |line: &&[u8]| !line.starts_with(b"Path:") && !line.starts_with(b"Xref:");
    let lines = header.split(|&byte| byte == b'\n').filter(is_kept);
    let mut lines: Vec<_> = lines.map(<[u8]>::to_vec).collect();
    lines.sort();
    (lines, body.to_vec())
}

/// Our site, which feeds this INN, with these groups.
fn ours(groups: &[&str], inn: &Inn) -> Program {
    let lines = groups
        .iter()
        .map(|group| format!("{group} 0000000000 00001 y\n"));
    let program = Program::with_news(&lines.collect::<String>());
    let site = format!(
        "\n[[site]]\nname = \"inn.example.org\"\ngroups = \"all\"\nvia = {{ nntp = \"{}\" }}\n",
        inn.address()
    );
    listen(&program, &(ALL_MAY.to_owned() + &site));
    // All that these tests ask comes from one address.
    program.set(
        "connections_per_address_max = ",
        "connections_per_address_max = 100 # ",
    );
    program
}

#[test]
fn both_have_everything() {
    let link = Link::start();
    let Some(mut inn) = Inn::start_feeding(&GROUPS, &[("news.example.org", link.port())]) else {
        return;
    };
    let program = ours(&GROUPS, &inn);
    let served = Served::start(&program);
    link.heal(&served.address);
    // Half of it comes to us, half to INN.
    let mut ids = Vec::new();
    let mut ours = many("ours", ARTICLES, "comp.test", 2_000);
    ids.extend((1..=ARTICLES).map(|number| id("ours", number)));
    for (id, article) in odd("ours") {
        ours.push(article);
        ids.push(id);
    }
    let told = program.rnews(&batch(&ours));
    assert_eq!(told.count("accepted") as usize, ours.len(), "{told:?}");
    let mut theirs = Client::greeted(&format!("127.0.0.1:{}", inn.port));
    let mut given: Vec<_> = (1..=ARTICLES).map(|number| id("theirs", number)).collect();
    let mut texts = many("theirs", ARTICLES, "rec.test", 2_000);
    for (id, article) in odd("theirs") {
        given.push(id);
        texts.push(article);
    }
    for (id, article) in given.iter().zip(&texts) {
        theirs.say(take_this(id, article));
        let reply = theirs.line();
        assert!(reply.starts_with("239"), "{reply}");
    }
    ids.extend(given);
    let mut here = served.client();
    for id in &ids {
        until(&format!("{id} is here"), || {
            here.ask(&format!("STAT {id}")).starts_with("223")
        });
        until(&format!("{id} is there"), || {
            theirs.ask(&format!("STAT {id}")).starts_with("223")
        });
    }
    for id in &ids {
        let ours = program.run_bytes(&["article", "--dir", "news", id]);
        assert_eq!(what_counts(&ours), what_counts(&inn.article(id)), "{id}");
    }
    until("nothing waits", || {
        let told = program.run(&["feed", "list", "--dir", "news", "--json"]);
        told.count("articles") == 0
    });
    served.daemon.stop();
    let log = program.read("news/log");
    let filed = log.lines().filter(|line| line.contains(" + <"));
    assert_eq!(filed.count(), ids.len());
    inn.stop();
    assert_eq!(inn.filed(), ids.len());
    program.assert_clean();
}

/// How long the whole corpus may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// Commands whose replies a client leaves unread at a time.
const WINDOW: usize = 50;

/// The copies at a server, without what sites change.
fn copies(address: &str, ids: &[String]) -> BTreeMap<String, Copied> {
    let mut client = Client::greeted(address);
    assert!(client.ask("MODE READER").starts_with("20"));
    let mut found = BTreeMap::new();
    for ids in ids.chunks(WINDOW) {
        client.say(
            ids.iter()
                .map(|id| format!("ARTICLE {id}\r\n"))
                .collect::<String>(),
        );
        for id in ids {
            let reply = client.line();
            if reply.starts_with("220") {
                let mut article = client.block();
                article.retain(|&byte| byte != b'\r');
                found.insert(id.clone(), what_counts(&article));
            } else {
                assert!(
                    reply.starts_with("430") || reply.starts_with("501"),
                    "{id}: {reply}"
                );
            }
        }
    }
    found
}

#[test]
fn the_whole_corpus_goes_both_ways() {
    let (Some(feed), Some(groups)) = (
        program::shared("corpus/feed"),
        program::shared("corpus/groups.tsv"),
    ) else {
        return;
    };
    let groups = std::fs::read_to_string(groups).unwrap();
    let names = groups.lines().filter_map(|line| line.split('\t').nth(1));
    let names: Vec<&str> = names
        .filter(|name| name.contains('.') && !name.contains('/'))
        .collect();
    let link = Link::start();
    let Some(mut inn) = Inn::start_feeding(&names, &[("news.example.org", link.port())]) else {
        return;
    };
    let program = ours(&names, &inn);
    inn.let_readers_in();
    let served = Served::start(&program);
    link.heal(&served.address);
    // Articles of the two halves alternate; second copies, whose bytes may differ, are not among them.
    let paths = corpus::batches(&feed);
    let paths = paths
        .iter()
        .filter(|path| !corpus::name(path).starts_with("duplicates"));
    let (mut for_us, mut for_inn) = (Vec::new(), Vec::new());
    for path in paths {
        for (number, article) in corpus::unbatch(&corpus::unpack(path))
            .into_iter()
            .enumerate()
        {
            [&mut for_us, &mut for_inn][number % 2].push(article);
        }
    }
    let ids: Vec<String> = for_us
        .iter()
        .chain(&for_inn)
        .map(|article| corpus::id(article))
        .collect();
    assert!(ids.len() > 15_000, "{}", ids.len());
    let began = Instant::now();
    let address = inn.address();
    let giving = std::thread::spawn(move || {
        let mut client = Client::greeted(&address);
        let mut refused = BTreeSet::new();
        for articles in for_inn.chunks(WINDOW) {
            for article in articles {
                client.say(take_this(&corpus::id(article), article));
            }
            for article in articles {
                let reply = client.line();
                assert!(
                    reply.starts_with("239") || reply.starts_with("439"),
                    "{reply}"
                );
                if reply.starts_with("439") {
                    refused.insert(corpus::id(article));
                }
            }
        }
        refused
    });
    let told = program.rnews(&batch(&for_us));
    assert_eq!(
        told.count("accepted") as usize + told.count("refused") as usize,
        for_us.len(),
        "{told:?}"
    );
    // Those that INN refuses for their message-ids are not in its log.
    let refused_at_once = giving.join().unwrap();
    // Each site has an article, or has refused it.
    let refused_here = || refused(&program.read("news/log"));
    let refused_there = || {
        let mut ids = refused(&std::fs::read_to_string(inn.path("log/news")).unwrap());
        ids.extend(refused_at_once.iter().cloned());
        ids
    };
    let (mut here, mut there) = (BTreeMap::new(), BTreeMap::new());
    loop {
        here.extend(copies(&served.address, &lacking(&ids, &here)));
        there.extend(copies(&inn.address(), &lacking(&ids, &there)));
        let (not_here, not_there) = (refused_here(), refused_there());
        let waits = |id: &&String| {
            !(here.contains_key(*id) || not_here.contains(*id) || not_there.contains(*id))
                || !(there.contains_key(*id) || not_there.contains(*id) || not_here.contains(*id))
        };
        let waiting: Vec<&String> = ids.iter().filter(waits).collect();
        if waiting.is_empty() {
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{} wait: {waiting:?}",
            waiting.len()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    for (id, ours) in &here {
        let theirs = there.get(id);
        assert!(theirs.is_none_or(|theirs| theirs == ours), "{id}");
    }
    let (not_here, not_there) = (refused_here(), refused_there());
    eprintln!(
        "{} articles at both sites after {:?}; INN refused {not_there:?}, we refused {not_here:?}",
        here.keys().filter(|id| there.contains_key(*id)).count(),
        began.elapsed()
    );
    assert!(not_here.len() + not_there.len() < 30);
    served.daemon.stop();
    let log = program.read("news/log");
    let filed = log.lines().filter(|line| line.contains(" + <"));
    assert_eq!(filed.count(), here.len());
    inn.stop();
    assert_eq!(inn.filed(), there.len());
    program.assert_clean();
}

/// The ids without a copy yet.
fn lacking(ids: &[String], found: &BTreeMap<String, Copied>) -> Vec<String> {
    ids.iter()
        .filter(|id| !found.contains_key(*id))
        .cloned()
        .collect()
}

/// The ids that a log of either site calls refused, other than as a duplicate.
fn refused(log: &str) -> BTreeSet<String> {
    let lines = log.lines().filter(|line| !line.contains("uplicate"));
    lines
        .filter_map(|line| {
            let (_, rest) = line.split_once(" - ")?;
            let id = rest.split_whitespace().find(|word| word.starts_with('<'))?;
            Some(id.to_owned())
        })
        .collect()
}
