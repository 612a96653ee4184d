//! Real articles with the Expires their posters gave: each leaves each of its groups when a slow, obvious computation from
//! its own header, the policy and its arrival says so, not a run earlier or later.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::UNIX_EPOCH;

use article::date::{self, Utc};
use article::{Article, Form, Header};
use program::corpus::{batches, name, split_header, unbatch, unpack};
use program::{Program, Told, shared};
use relay::{Filer, FilerOptions, Now, Rules, Verdict};
use store::{Options, Snapshot, Spool};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// Further than this from its arrival an Expires is absurd.
const ABSURD: i64 = 300 * DAY;
const SEGMENT_MIB: u64 = 4;
const EXPLIST: &str = "\
/expired/ x 40 -
/bounds/ x 2-9-60 -
comp.sources,mod x never -
alt m 3 -
comp.sys.amiga x 0-20-90 -
rec,talk.politics x 0-5-30 -
sci x 1-5 -
soc,misc x 10-10-never -
all x 14 -
";

/// The same as EXPLIST, by hand: low, default and high in days; `None` is never.
fn days(group: &str, moderated: bool) -> [Option<i64>; 3] {
    let under = |word: &str| group == word || group.starts_with(&format!("{word}."));
    if under("comp.sources") || under("mod") {
        // Bounds stretch to what a line says.
        [Some(2), None, None]
    } else if under("alt") && moderated {
        [Some(2), Some(3), Some(60)]
    } else if under("comp.sys.amiga") {
        [Some(0), Some(20), Some(90)]
    } else if under("rec") || under("talk.politics") {
        [Some(0), Some(5), Some(30)]
    } else if under("sci") {
        // Two numbers are default and high: the one expects them ascending.
        [Some(1), Some(1), Some(5)]
    } else if under("soc") || under("misc") {
        [Some(10), Some(10), None]
    } else {
        [Some(2), Some(14), Some(60)]
    }
}

/// C News's order of questions.
fn stays([low, default, high]: [Option<i64>; 3], filed: &Filed, now: i64) -> bool {
    let age = now - filed.arrival;
    let is_older = |days: Option<i64>| days.is_some_and(|days| age > days * DAY);
    if !is_older(low) {
        return true;
    }
    if high.is_some_and(|days| age >= days * DAY) {
        return false;
    }
    match filed.expires {
        Some(date) => now < date,
        None => !is_older(default),
    }
}

/// An article of the feed, and what is known of it by its own header.
struct Real {
    text: Vec<u8>,
    id: String,
    groups: BTreeSet<String>,
    date: i64,
    expires: Option<i64>,
    /// There is an Expires, and not an empty one.
    has_expires: bool,
    /// Ids that it cancels or supersedes.
    takes: Vec<String>,
}

struct Filed {
    arrival: i64,
    expires: Option<i64>,
    id: String,
    body: Vec<u8>,
    /// Its groups, and whether it is still there.
    links: BTreeMap<String, bool>,
}

impl Filed {
    fn is_alive(&self) -> bool {
        self.links.values().any(|alive| *alive)
    }
}

fn feed(corpus: &Path) -> Vec<Real> {
    let paths = batches(&corpus.join("feed"));
    let paths = paths
        .iter()
        .filter(|path| !name(path).starts_with("duplicates"));
    let articles = paths.flat_map(|path| unbatch(&unpack(path)));
    articles.filter_map(real).collect()
}

fn real(text: Vec<u8>) -> Option<Real> {
    let article = Article::parse(&text, Form::Native);
    let value = |header| {
        let value: &[u8] = article.value(header).unwrap_or_default();
        String::from_utf8_lossy(value).trim().to_owned()
    };
    let time = |header| {
        article
            .value(header)
            .and_then(|value| date::parse(value, &Utc))
    };
    let control = value(Header::Control);
    let takes = [
        value(Header::Supersedes),
        control
            .strip_prefix("cancel ")
            .unwrap_or_default()
            .to_owned(),
    ];
    Some(Real {
        id: value(Header::MessageId),
        groups: value(Header::Newsgroups)
            .split(',')
            .map(|group| group.trim().to_owned())
            .collect(),
        date: time(Header::Date)?,
        expires: time(Header::Expires),
        has_expires: !value(Header::Expires).is_empty(),
        takes: takes
            .iter()
            .flat_map(|ids| ids.split_whitespace())
            .map(str::to_owned)
            .collect(),
        text,
    })
}

/// Ids that some article cancels or supersedes.
fn taken(feed: &[Real]) -> HashSet<String> {
    feed.iter().flat_map(|real| real.takes.clone()).collect()
}

fn moderated(corpus: &Path) -> HashMap<String, bool> {
    let active = std::fs::read_to_string(corpus.join("admin/active.corpus")).unwrap();
    let group = |line: &str| {
        let word = line.split(' ').next()?;
        Some((word.to_owned(), line.ends_with(" m")))
    };
    active.lines().filter_map(group).collect()
}

fn news(corpus: &Path) -> Program {
    let active = std::fs::read_to_string(corpus.join("admin/active.corpus")).unwrap();
    let program = Program::with_small_segments(&active, SEGMENT_MIB);
    program.cancel_as_c_news();
    program.write("news/explist", EXPLIST.as_bytes());
    program
}

fn expire(program: &Program, now: i64) -> Told {
    let now = now.to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--now", &now, "--force", "--json",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    told
}

/// Files them as if they came an hour after they were posted.
fn file(program: &Program, articles: &[Real], groups: &HashMap<String, bool>) -> Vec<Filed> {
    let options = Options {
        segment_bytes: SEGMENT_MIB << 20,
        ..Options::default()
    };
    let spool = Spool::open(&program.path("news"), options).unwrap();
    let sys = std::fs::read(program.path("news/sys")).unwrap();
    let sys = groups::Sites::parse(&sys, b"news.example.org").unwrap();
    let rules = Rules {
        article_bytes_max: (SEGMENT_MIB as usize) << 19,
        age_seconds_max: None,
        ..Rules::new(b"news.example.org")
    };
    let mut filer = Filer::new(
        spool,
        sys,
        rules,
        FilerOptions {
            cancel: relay::CancelPolicy::Classic,
            ..FilerOptions::default()
        },
    )
    .unwrap();
    let mut filed = Vec::new();
    for real in articles {
        let arrival = real.date + HOUR;
        let now = Now {
            seconds: arrival,
            millis: 0,
        };
        let verdict = filer.file(&real.text, Form::Native, now).unwrap();
        if verdict != Verdict::Filed && verdict != Verdict::Junked {
            continue;
        }
        let mut links: BTreeMap<String, bool> = real
            .groups
            .iter()
            .filter(|group| groups.contains_key(*group))
            .map(|group| (group.clone(), true))
            .collect();
        if links.is_empty() {
            links.insert("junk".into(), true);
        }
        filed.push(Filed {
            arrival,
            expires: real.expires,
            id: real.id.clone(),
            body: split_header(&real.text).1.to_vec(),
            links,
        });
        if filer.pending_bytes() > 1 << 20 {
            filer.commit().unwrap();
        }
    }
    filer.commit().unwrap();
    filed
}

/// All groups have the rows that they should, all ids tell what they should; returns how many links there are.
fn check(program: &Program, filed: &[Filed], forgotten_before: i64, what: &str) -> usize {
    let snapshot = Snapshot::open(&program.path("news")).unwrap();
    let mut wanted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for article in filed {
        for (group, _) in article.links.iter().filter(|(_, alive)| **alive) {
            wanted.entry(group).or_default().insert(&article.id);
        }
        let mut buffer = Vec::new();
        let found = snapshot
            .article(article.id.as_bytes(), &mut buffer)
            .unwrap();
        assert_eq!(
            found.is_some(),
            article.is_alive(),
            "{what}: an article with Expires {:?}, arrived {}, of {:?}",
            article.expires,
            article.arrival,
            article.links
        );
        if let Some(found) = found {
            let mut native = Vec::new();
            found.push_native(&mut native);
            assert!(native.ends_with(&article.body), "{what}: {}", article.id);
        }
        let known = snapshot
            .history_line(article.id.as_bytes())
            .unwrap()
            .is_some();
        // As long as if it had lived for the longest time, or until its Expires.
        let from = article
            .expires
            .map_or(article.arrival, |date| date.max(article.arrival));
        let should = article.is_alive() || from >= forgotten_before;
        assert_eq!(known, should, "{what}: {}", article.id);
    }
    for group in snapshot.active().ids() {
        let group = String::from_utf8_lossy(snapshot.active().name(group)).into_owned();
        let mut rows = BTreeSet::new();
        snapshot
            .overview(group.as_bytes(), (0, u64::MAX), |row| {
                let id = row.text.split(|&b| b == b'\t').nth(4).unwrap_or_default();
                rows.insert(String::from_utf8_lossy(id).into_owned());
                Ok(())
            })
            .unwrap();
        let wanted = wanted.get(group.as_str()).cloned().unwrap_or_default();
        let rows: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
        assert_eq!(rows, wanted, "{what}: {group}");
    }
    wanted.values().map(BTreeSet::len).sum()
}

/// Decides again, slowly; returns how many links go.
fn decide(filed: &mut [Filed], groups: &HashMap<String, bool>, now: i64) -> u64 {
    let mut going = 0;
    for article in filed {
        let mut links = std::mem::take(&mut article.links);
        for (group, alive) in &mut links {
            let moderated = groups.get(group).copied().unwrap_or(false);
            let stays = stays(days(group, moderated), article, now);
            going += u64::from(*alive && !stays);
            *alive &= stays;
        }
        article.links = links;
    }
    going
}

/// What there is of Expires headers in what was filed: those that can be read, and of these how many were past at arrival and
/// how many absurdly late; and those that cannot be read.
fn count_expires<'a>(filed: impl Iterator<Item = (&'a Real, i64)>) -> [usize; 4] {
    let mut counts = [0; 4];
    for (real, arrival) in filed {
        let after = real.expires.map(|date| date - arrival);
        counts[0] += usize::from(after.is_some());
        counts[1] += usize::from(after.is_some_and(|after| after < 0));
        counts[2] += usize::from(after.is_some_and(|after| after > ABSURD));
        counts[3] += usize::from(real.has_expires && after.is_none());
    }
    let [read, past, absurd, unreadable] = counts;
    eprintln!(
        "{read} Expires can be read, {past} of them past at arrival, {absurd} absurdly late; {unreadable} cannot be read"
    );
    counts
}

#[test]
fn each_goes_when_its_own_header_says_so() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let groups = moderated(&corpus);
    let program = news(&corpus);
    let mut feed = feed(&corpus);
    feed.sort_by_key(|real| real.date);
    // What a later one takes away is no matter of expire.
    let taken = taken(&feed);
    let all = feed.len();
    feed.retain(|real| !taken.contains(&real.id));
    assert!(feed.len() + 5 > all && all > 15_000, "{all} articles");

    let mut moments = Vec::new();
    for text in [
        "1 Jan 1990 00:00:00 GMT",
        "15 Apr 1993 00:00:00 GMT",
        "25 Apr 1993 04:00:00 GMT",
        "1 May 1993 04:00:00 GMT",
        "6 May 1993 20:00:00 GMT",
        "10 May 1993 10:00:00 GMT",
        "20 May 1993 12:00:00 GMT",
        "15 Jun 1993 00:00:00 GMT",
        "1 Jan 1994 00:00:00 GMT",
        "1 Jun 2026 00:00:00 GMT",
    ] {
        moments.push(date::parse(text.as_bytes(), &Utc).unwrap());
    }
    let mut filed = Vec::new();
    let mut next = 0;
    let mut by_expires = 0;
    for now in moments {
        let what = format!("at {now}");
        let end = feed.partition_point(|real| real.date + HOUR <= now);
        filed.extend(file(&program, &feed[next..end], &groups));
        next = end;
        let told = expire(&program, now);
        by_expires += filed
            .iter()
            .filter(|article| article.is_alive() && article.expires.is_some_and(|date| now >= date))
            .count();
        let going = decide(&mut filed, &groups, now);
        assert_eq!(told.count("links"), going, "{what}");
        // `/expired/`, and the longest default life that ends: that of comp.sys.amiga.
        let left = check(&program, &filed, now - (40 + 20) * DAY, &what);
        eprintln!(
            "{what}: {going} gone, {left} left; {} segments removed, {} written anew, {} holes",
            told.count("segments_removed"),
            told.count("segments_repacked"),
            told.count("holes")
        );
        program.assert_clean();
    }
    let known: HashSet<&str> = filed.iter().map(|article| article.id.as_str()).collect();
    let known = feed.iter().filter(|real| known.contains(real.id.as_str()));
    let [read, .., unreadable] = count_expires(known.map(|real| (real, real.date + HOUR)));
    assert!(read > 60 && unreadable > 0, "the corpus has them");
    assert!(by_expires > 20, "Expires decided of {by_expires}");
    assert!(filed.iter().any(Filed::is_alive) && !filed.iter().all(Filed::is_alive));
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    check(&program, &filed, moments_end(), "rebuilt");
    program.assert_clean();
}

/// Before this, after the last moment, ids are forgotten.
fn moments_end() -> i64 {
    date::parse(b"1 Jun 2026 00:00:00 GMT", &Utc).unwrap() - 40 * DAY
}

#[test]
fn what_came_with_an_expires_long_past_goes_at_once() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let program = news(&corpus);
    // By its Expires alone.
    program.write("news/explist", b"/expired/ x 9 -\nall x 0-never-never -\n");
    let paths = batches(&corpus.join("feed"));
    let mut words = vec!["rnews", "--dir", "news", "--json"];
    words.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs() as i64 + HOUR;

    // For a clock far behind, all of it came in the future: nothing goes.
    let behind = expire(&program, 735_000_000);
    assert_eq!(behind.count("articles"), 0, "{behind:?}");
    assert!(behind.count("in_future") > 15_000, "{behind:?}");

    let told = expire(&program, now);
    let snapshot = Snapshot::open(&program.path("news")).unwrap();
    let (mut gone, mut left, mut cancelled, mut filed) = (0, 0, 0, Vec::new());
    let feed = feed(&corpus);
    let taken = taken(&feed);
    for real in &feed {
        let Some(line) = snapshot.history_line(real.id.as_bytes()).unwrap() else {
            continue;
        };
        if line.position.is_none() {
            continue;
        }
        if taken.contains(&real.id) {
            cancelled += line.links().count();
            continue;
        }
        filed.push((real, now - HOUR));
        let is_there = snapshot
            .article(real.id.as_bytes(), &mut Vec::new())
            .unwrap()
            .is_some();
        let goes = real.expires.is_some_and(|date| date <= now);
        if goes {
            assert!(!is_there, "{}", real.id);
            gone += line.links().count();
        } else {
            assert!(is_there, "{}", real.id);
            left += 1;
        }
    }
    let [read, past, ..] = count_expires(filed.into_iter());
    assert!(past > 60 && past <= read, "{past}");
    // Those that others superseded were gone before, which a count of rows does not know.
    let told = told.count("links") as usize;
    assert!(
        told >= gone && told <= gone + cancelled,
        "{told} told, {gone} gone, {cancelled} gone before"
    );
    assert!(left > 14_000, "{left} are left");
    program.assert_clean();
}
