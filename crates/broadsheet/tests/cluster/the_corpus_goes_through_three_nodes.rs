//! Real articles go through a cluster of three nodes by four peers, each article to two nodes at the same time: every one is filed once,
//! what each peer heard is true, and all nodes hold the same, also one that applies the whole log afterwards.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;
use crate::receive::real_articles_are_filed_whole::{moderated, superseded, why_refused};

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Barrier;

use program::cluster::{become_node, seen, until_equal};
use program::corpus::{batches, id, split_header, unbatch, unpack};
use program::nats::Servers;
use program::nntp::{Client, Served, take_this, wire};
use program::{Program, shared};

/// The peers, by the nodes to which they send. Peer P sends every fourth article from P on, and those of the next peer: so two nodes get
/// each article.
const PEERS: [usize; 4] = [0, 1, 2, 1];
/// Articles of all peers that are sent at the same time.
const AT_ONCE: usize = 1000;

/// The articles of the corpus, and second copies of some.
fn articles(corpus: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = batches(&corpus.join("feed")).into_iter();
    let articles = paths.flat_map(|path| unbatch(&unpack(&path)));
    articles.map(|article| (id(&article), article)).collect()
}

fn news(active: &str) -> Program {
    let program = Program::with_news(active);
    // The articles are old.
    program.set("age_days_max = 10", "age_days_max = 0");
    program
}

/// Sends the articles of one peer; the replies.
fn send(client: &mut Client, peer: usize, articles: &[(String, Vec<u8>)]) -> Vec<(String, String)> {
    let is_its = |number: usize| [peer, (peer + 1) % PEERS.len()].contains(&(number % PEERS.len()));
    let its = articles.iter().enumerate();
    let its: Vec<_> = its.filter(|(number, _)| is_its(*number)).collect();
    let stream: Vec<u8> = its
        .iter()
        .flat_map(|(_, (id, article))| take_this(id, article))
        .collect();
    let said = client.say_beside(stream);
    let replies = its.iter().map(|(_, (id, _))| {
        let line = client.line();
        let (code, of) = line.split_once(' ').unwrap();
        assert_eq!(of.split(' ').next(), Some(id.as_str()), "{line}");
        (id.clone(), code.to_owned())
    });
    let replies = replies.collect();
    said.join().unwrap().unwrap();
    replies
}

/// The rows of the overview of all groups.
fn overview(client: &mut Client, active: &str) -> String {
    let mut all = String::new();
    for line in active.lines() {
        let group = line.split(' ').next().unwrap();
        let told = client.ask(&format!("GROUP {group}"));
        all.push_str(&told);
        all.push('\n');
        if told.starts_with("211 0 ") {
            continue;
        }
        client.say("OVER 1-\r\n");
        all.push_str(&String::from_utf8_lossy(&client.block()));
    }
    all
}

#[test]
fn all_nodes_hold_the_same() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let active = std::fs::read_to_string(corpus.join("admin/active.corpus")).unwrap();
    let mut programs: Vec<Program> = (0..3)
        .map(|place| {
            let program = news(&active);
            become_node(&program, servers.options(), (place == 0).then_some("1 GiB"));
            program
        })
        .collect();
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let articles = articles(&corpus);
    let together = Barrier::new(PEERS.len());
    let replies: Vec<(String, String)> = std::thread::scope(|scope| {
        let peers: Vec<_> = PEERS
            .iter()
            .enumerate()
            .map(|(peer, node)| {
                let mut client = served[*node].client();
                let (articles, together) = (&articles, &together);
                scope.spawn(move || {
                    let mut replies = Vec::new();
                    for some in articles.chunks(AT_ONCE) {
                        together.wait();
                        replies.extend(send(&mut client, peer, some));
                    }
                    replies
                })
            })
            .collect();
        let replies = peers.into_iter().flat_map(|peer| peer.join().unwrap());
        replies.collect()
    });
    assert_eq!(replies.len(), 2 * articles.len());
    // One that has seen nothing applies the whole log.
    let fresh = news(&active);
    become_node(&fresh, servers.options(), None);
    served.push(Served::start(&fresh));
    programs.push(fresh);
    until_equal(&programs);

    // Each article was taken once, unless the rules refuse it, and then by nobody.
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, code) in &replies {
        assert!(code == "239" || code == "439", "{id}: {code}");
        *taken.entry(id).or_default() += usize::from(code == "239");
    }
    let moderated = moderated(&corpus);
    // One that another supersedes may come after it, and is refused then.
    let superseded = superseded(&batches(&corpus.join("feed")), &moderated);
    let mut refused = HashSet::new();
    for (id, article) in &articles {
        let why = why_refused(article, &moderated);
        if why.is_some() {
            refused.insert(id.as_str());
        }
        let times = taken[id.as_str()];
        let is_late = times == 0 && superseded.contains(id);
        assert!(
            is_late || times == usize::from(why.is_none()),
            "{id}: {times} {why:?}"
        );
    }
    assert!(taken.len() - refused.len() > 10_000);

    // What readers see, and what each remembers.
    let mut clients: Vec<Client> = served.iter().map(Served::client).collect();
    let rows = overview(&mut clients[0], &active);
    assert!(rows.lines().count() > 10_000);
    let first = seen(&programs[0], &[]);
    for (program, client) in programs.iter().zip(&mut clients).skip(1) {
        assert!(overview(client, &active) == rows, "the overview differs");
        for (what, text) in seen(program, &[]) {
            assert!(text == first[&what], "{what} differs");
        }
    }
    // The articles, with their bodies as they were sent.
    let mut bodies: BTreeMap<&str, Vec<&[u8]>> = BTreeMap::new();
    for (id, article) in &articles {
        let (_, body) = split_header(article);
        bodies.entry(id).or_default().push(body);
    }
    for (id, bodies) in bodies.iter().filter(|(id, _)| !refused.contains(*id)) {
        let mut blocks = clients.iter_mut().map(|client| {
            let reply = client.ask(&format!("ARTICLE {id}"));
            match reply.starts_with("220 ") {
                true => client.block(),
                false => reply.into_bytes(),
            }
        });
        let block = blocks.next().unwrap();
        assert!(blocks.all(|other| other == block), "{id} differs");
        if superseded.contains(*id) {
            assert!(block.starts_with(b"430 "), "{id} is superseded");
            continue;
        }
        let is_body = |body: &&[u8]| block.ends_with(wire(body).strip_suffix(b".\r\n").unwrap());
        assert!(bodies.iter().any(is_body), "{id} has another body");
    }
    drop(clients);
    for served in served {
        served.daemon.stop();
    }
    programs.iter().for_each(Program::assert_clean);
}
