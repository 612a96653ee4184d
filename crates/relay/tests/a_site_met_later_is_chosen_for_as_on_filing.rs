//! What a site gets of articles that were there before it: the same as if it had been there first.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use std::ops::ControlFlow;

use article::Form;
use groups::sites::{BatchVia, Only, Start, Via};
use groups::{Pattern, Site, Sites, Tables, TextPosition};
use newsdir::{ACTIVE, HOST, NOW, Newsdir};
use relay::sites::Selector;
use relay::{Filer, FilerOptions, Rules};
use store::{Snapshot, Spool};

/// A `[[site]]` that gets all groups by batches.
fn site(name: &str) -> Site {
    Site {
        place: TextPosition::of("broadsheet.toml", "", 0),
        name: name.into(),
        is_me: false,
        exclusions: Vec::new(),
        subs: Pattern::parse(b"all"),
        dists: Some(Pattern::parse(b"all")),
        only: Only::Any,
        hops_max: None,
        size_max: None,
        start: Start::Now,
        via: Via::Batch(BatchVia::default()),
    }
}

fn sites() -> Sites {
    let tables = Tables {
        accept: None,
        sites: vec![
            site("all"),
            Site {
                size_max: Some(400),
                ..site("small")
            },
            Site {
                subs: Pattern::parse(b"comp"),
                hops_max: Some(1),
                ..site("near")
            },
            Site {
                only: Only::Moderated,
                ..site("mod")
            },
            Site {
                dists: Some(Pattern::parse(b"world")),
                ..site("world")
            },
            Site {
                exclusions: vec![b"e_x".into(), b"us.example".into(), b"far.example".into()],
                ..site("odd_name")
            },
        ],
    };
    Sites::read(
        b"ME:all::\nall.x/b:comp.lang/all:F:x\nall.x:comp/all:f:\n",
        &tables,
        HOST.as_bytes(),
    )
    .unwrap()
}

fn article(number: usize, path: &str, groups: &str, more: &str, body: usize) -> String {
    format!(
        "Path: {path}\nFrom: a@b\nNewsgroups: {groups}\nSubject: s\nDate: 1 Jun 2001 10:00:00 GMT\n\
         Message-ID: <{number}@a>\n{more}\n{}",
        "x".repeat(body) + "\n"
    )
}

/// The size of an article as filed, and who got it, by its number.
fn filed(news: &Newsdir, articles: &[String]) -> Vec<(u64, String)> {
    let spool = Spool::open(news.path(), store::Options::default()).unwrap();
    let mut filer = Filer::new(
        spool,
        sites(),
        Rules::new(HOST.as_bytes()),
        FilerOptions::default(),
    )
    .unwrap();
    for article in articles {
        filer.file(article.as_bytes(), Form::Native, NOW).unwrap();
    }
    filer.commit().unwrap();
    drop(filer);
    let snapshot = Snapshot::open(news.path()).unwrap();
    let mut selector = Selector::new(snapshot.active(), sites());
    let mut found = Vec::new();
    let flow = snapshot.each_article((snapshot.oldest(), snapshot.end()), |logged| {
        let record = logged.record;
        let named: Vec<&[u8]> = record.sites().split(|&byte| byte == b' ').collect();
        for (feed, _) in sites().feeds() {
            let (id, feed_shown) = (record.line().escape_ascii(), feed.escape_ascii());
            let wants = selector.wants(&record, feed, snapshot.active());
            assert_eq!(wants, named.contains(&feed), "{id} {feed_shown}");
        }
        let mut native = Vec::new();
        record.push_native(&mut native);
        found.push((
            native.len() as u64,
            String::from_utf8(record.sites().to_vec()).unwrap(),
        ));
        ControlFlow::<()>::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    found
}

#[test]
fn every_condition_says_the_same_again() {
    let news = Newsdir::with(ACTIVE, "");
    let approved = "Approved: m@b\n";
    let articles = [
        article(0, "a!u", "comp.std", "", 9),
        article(1, "a!b!c!u", "comp.lang.c,comp.std", "", 9),
        article(2, "u", "comp.std", "", 2000),
        article(3, "a!u", "comp.mod", approved, 9),
        article(4, "a!u", "comp.std", "Distribution: local\n", 9),
        article(5, "a!e_x!u", "comp.std,unknown.group", "", 9),
        article(6, "a!odd_name!small!u", "comp.std", "", 9),
        article(7, "a!far.example!u", "comp.alias", "", 9),
        article(
            8,
            "a!near!near!near!u",
            "comp.std",
            "Control: cancel <0@a>\n",
            9,
        ),
    ];
    let found = filed(&news, &articles);
    let sites: Vec<&str> = found.iter().map(|(_, sites)| sites.as_str()).collect();
    assert_eq!(
        sites,
        [
            "all.x:2 all small near world odd_name",
            "all.x:2 all small world odd_name",
            "all.x:2 all near world odd_name",
            "all.x:2 all small near mod world odd_name",
            "all.x:2 all small near odd_name",
            "all.x:2 all small world",
            "all.x:2 all world",
            "all.x:2 all small world",
            "all.x:2 all small world odd_name",
        ]
    );
}

#[test]
fn a_site_gets_articles_up_to_its_size_as_filed() {
    let news = Newsdir::with(ACTIVE, "");
    let articles: Vec<String> = (0..200)
        .map(|number| article(number, "a!u", "comp.std", "", 60 + number))
        .collect();
    let found = filed(&news, &articles);
    let gets = |sites: &str| sites.split(' ').any(|site| site == "small");
    for (bytes, sites) in &found {
        assert_eq!(gets(sites), *bytes <= 400, "{bytes} {sites}");
    }
    assert!(
        found.iter().any(|(bytes, _)| *bytes == 400)
            && found.iter().any(|(bytes, _)| *bytes == 401)
    );
}
