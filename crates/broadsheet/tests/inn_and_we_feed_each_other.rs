//! A real innd and we feed each other by NNTP, innfeed on its side: every article is at both sites, once, with the same groups and the same
//! bytes, whatever is in it.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::articles::{batch, id, many, with};
use program::daemon::until;
use program::inn::Inn;
use program::link::Link;
use program::nntp::{ALL_MAY, Client, Served, listen, set, take_this};

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
fn what_counts(article: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let end = article.windows(2).position(|bytes| bytes == b"\n\n");
    let (header, body) = article.split_at(end.expect("a body"));
    let is_kept = |line: &&[u8]| !line.starts_with(b"Path:") && !line.starts_with(b"Xref:");
    let lines = header.split(|&byte| byte == b'\n').filter(is_kept);
    let mut lines: Vec<_> = lines.map(<[u8]>::to_vec).collect();
    lines.sort();
    (lines, body.to_vec())
}

/// INN's copy.
fn inns(inn: &Inn, id: &str) -> Vec<u8> {
    let token = inn.run("grephistory", &[id], None).stdout;
    let token = String::from_utf8(token).unwrap();
    inn.run("sm", &[token.trim()], None).stdout
}

#[test]
fn both_have_everything() {
    let link = Link::start();
    let Some(mut inn) = Inn::start_feeding(&GROUPS, &[("news.example.org", link.port())]) else {
        return;
    };
    let active: String = GROUPS
        .iter()
        .map(|group| format!("{group} 0000000000 00001 y\n"))
        .collect();
    let program = Program::with_news(&active);
    let site = format!(
        "\n[[site]]\nname = \"inn.example.org\"\ngroups = \"all\"\nvia = {{ nntp = \"127.0.0.1:{}\" }}\n",
        inn.port
    );
    listen(&program, &(ALL_MAY.to_owned() + &site));
    // All that this test asks comes from one address.
    set(
        &program,
        "connections_per_address_max = ",
        "connections_per_address_max = 100 # ",
    );
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
        assert_eq!(what_counts(&ours), what_counts(&inns(&inn, id)), "{id}");
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
