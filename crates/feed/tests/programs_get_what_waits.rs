//! Programs that are kept running, and commands run for each article, with real small ones.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::log;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use feed::back_off::BACK_OFF_SECONDS_MAX;
use feed::enrolment::{self, NewSite};
use feed::program::Delivery;
use feed::start::Start;
use feed::{EachArticle, FromCursor, Limit, Program, SiteState};
use groups::CommandLine;
use groups::sites::Gives;
use log::News;

const LIMIT: Duration = Duration::from_secs(60);

fn enrolled() -> News {
    let news = News::new();
    let site = NewSite {
        name: b"one",
        start: Start::Now,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
    news
}

fn with_articles(count: u32) -> News {
    let mut news = enrolled();
    for _ in 0..count {
        news.file("one");
    }
    news.commit();
    news
}

/// Runs `serve` over what waits for the site.
fn serving<T>(news: &News, serve: impl FnOnce(&mut FromCursor<'_>) -> T) -> T {
    let mut snapshot = news.snapshot();
    let place = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
    serve(&mut FromCursor::new(
        &snapshot,
        place,
        Box::new(|_, _| false),
    ))
}

fn sh(script: &str) -> CommandLine {
    CommandLine::parse(format!("sh -c '{script}'").as_bytes()).unwrap()
}

fn ids(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers
        .into_iter()
        .map(|number| format!("<{number}@x>\n"))
        .collect()
}

#[test]
fn a_program_reads_ids_and_stays() {
    let mut news = with_articles(3);
    let out = news.dir().join("got");
    let mut program = Program::new(sh(&format!("cat >{}", out.display())), Gives::Id, LIMIT);
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert_eq!(given, Delivery::All(3));
    let id = program.id();
    news.file("one two");
    news.file("two");
    news.commit();
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert_eq!(given, Delivery::All(1));
    assert_eq!(program.id(), id, "it is the same process");
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert_eq!(given, Delivery::All(0));
    assert_eq!(program.end(LIMIT), None);
    assert_eq!(fs::read_to_string(out).unwrap(), ids(1..=4));
}

#[test]
fn a_call_starts_it_before_its_rest_is_over() {
    let news = with_articles(2);
    let mut program = Program::new(sh("exit 3"), Gives::Id, LIMIT);
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert!(matches!(given, Delivery::Ended { .. }), "{given:?}");
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert!(matches!(given, Delivery::Resting(_)), "{given:?}");
    program.reset_interval();
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert!(matches!(given, Delivery::Ended { .. }), "{given:?}");
}

#[test]
fn one_that_does_not_read_is_not_waited_for_when_all_is_over() {
    let news = with_articles(2);
    let is_over = Arc::new(AtomicBool::new(true));
    let limit = Limit::from(LIMIT).until(is_over, Duration::from_millis(1));
    let mut program = Program::new(sh("exec sleep 600"), Gives::Id, limit);
    let began = Instant::now();
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert!(began.elapsed() < LIMIT);
    let Delivery::Ended { articles, how, .. } = given else {
        panic!("{given:?}")
    };
    assert_eq!(articles, 0);
    assert!(how.contains("before it had read everything"), "{how}");
    assert_eq!(program.id(), None, "it was killed");
}

#[test]
fn articles_come_as_in_a_batch() {
    let news = with_articles(40);
    let out = news.dir().join("got");
    let mut program = Program::new(
        sh(&format!("cat >{}", out.display())),
        Gives::Article,
        LIMIT,
    );
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert_eq!(given, Delivery::All(40));
    assert_eq!(program.end(LIMIT), None);
    let batch = fs::read(out).unwrap();
    let mut rest = &batch[..];
    let mut articles = 0;
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap();
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        let bytes: usize = line.strip_prefix("#! rnews ").unwrap().parse().unwrap();
        assert!(rest[end + 1..].starts_with(b"Path: "));
        rest = &rest[end + 1 + bytes..];
        articles += 1;
    }
    assert_eq!(articles, 40);
}

#[test]
fn one_that_ends_rests_and_what_it_did_not_read_goes_to_the_next() {
    let news = with_articles(20_000);
    let out = news.dir().join("got");
    // Reads a thousand ids and ends.
    let script = format!("head -c 20000 >>{}; exit 3", out.display());
    let mut program = Program::new(sh(&script), Gives::Id, LIMIT);
    let started = Instant::now();
    let Delivery::Ended { how, restart, .. } =
        serving(&news, |togo| program.deliver(togo, started).unwrap())
    else {
        panic!("it ended");
    };
    assert!(how.starts_with("sh: ") && how.contains('3'), "{how}");
    assert!(restart > started);
    assert_eq!(program.id(), None);
    // It rests.
    let given = serving(&news, |togo| program.deliver(togo, started).unwrap());
    assert_eq!(given, Delivery::Resting(restart));
    // The next one, from the cursor on: at most what was in flight comes twice, and nothing is left out.
    let rest = news.dir().join("rest");
    let mut next = Program::new(sh(&format!("cat >{}", rest.display())), Gives::Id, LIMIT);
    let given = serving(&news, |togo| next.deliver(togo, Instant::now()).unwrap());
    assert!(matches!(given, Delivery::All(_)));
    assert_eq!(next.end(LIMIT), None);
    let (got, rest) = (
        fs::read_to_string(out).unwrap(),
        fs::read_to_string(rest).unwrap(),
    );
    let first = rest.lines().next().unwrap();
    let before = got.find(first).unwrap_or(got.len());
    let all = format!("{}{rest}", &got[..before]);
    assert_eq!(all, ids(1..=20_000));
    assert!(got.len() - before <= feed::program::IN_FLIGHT_BYTES_MAX + 32);
}

#[test]
fn the_rest_grows_and_has_an_end() {
    let news = with_articles(1);
    let mut program = Program::new(sh("exit 1"), Gives::Id, LIMIT);
    let mut now = Instant::now();
    for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        let began = Instant::now();
        let Delivery::Ended { restart, .. } =
            serving(&news, |togo| program.deliver(togo, now).unwrap())
        else {
            panic!("it ends at once");
        };
        let rests = restart - began;
        assert!(rests >= Duration::from_secs(expected), "{rests:?}");
        assert!(rests < Duration::from_secs(expected + 60), "{rests:?}");
        now = restart;
    }
    assert_eq!(BACK_OFF_SECONDS_MAX, 300);
}

#[test]
fn one_that_cannot_be_started_or_does_not_read_is_told() {
    let news = with_articles(1);
    let absent = CommandLine::parse(b"/no/such/program").unwrap();
    let mut program = Program::new(absent, Gives::Id, LIMIT);
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert!(
        matches!(&given, Delivery::Ended { how, .. } if how.contains("cannot be started")),
        "{given:?}"
    );
    // It keeps its input and never reads: killed when its time is over, with its children.
    let mut program = Program::new(
        sh("sleep 1000; exit 0"),
        Gives::Id,
        Duration::from_millis(200),
    );
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert!(
        matches!(&given, Delivery::Ended { how, .. } if how.contains("did not read")),
        "{given:?}"
    );
    assert_eq!(program.id(), None);
}

#[test]
fn a_command_gets_each_article_on_its_input_and_in_its_file() {
    let news = with_articles(3);
    let directory = news.dir().join("feeds/one");
    let (input, file) = (news.dir().join("input"), news.dir().join("file"));
    let line = format!(
        "sh -c 'cat >>{}; cat \"$1\" >>{}' sh %s",
        input.display(),
        file.display()
    );
    let line = CommandLine::parse(line.as_bytes()).unwrap();
    let each = EachArticle {
        line: &line,
        directory: &directory,
        news: news.dir(),
        limit: LIMIT.into(),
    };
    let given = serving(&news, |togo| each.run(togo).unwrap());
    assert_eq!(given.articles, 3);
    assert!(given.failed.is_none(), "{given:?}");
    let text = fs::read_to_string(&input).unwrap();
    assert_eq!(text, fs::read_to_string(&file).unwrap());
    assert_eq!(text.matches("Message-ID: ").count(), 3);
    assert!(!directory.join(feed::each_article::FILE).exists());
}

#[test]
fn a_command_that_fails_keeps_its_article_waiting() {
    let news = with_articles(4);
    let got = news.dir().join("got");
    // Refuses the third article while it may.
    let script = format!(
        "grep Message-ID: >t; grep -q 3@x t && test ! -e {0}.open && exit 7; cat t >>{0}",
        got.display()
    );
    let script = script.replace("t;", &format!("{}.t;", got.display()));
    let script = script.replace(" t ", &format!(" {}.t ", got.display()));
    let line = sh(&script);
    let each = EachArticle {
        line: &line,
        directory: &news.dir().join("feeds/one"),
        news: news.dir(),
        limit: LIMIT.into(),
    };
    let given = serving(&news, |togo| each.run(togo).unwrap());
    assert_eq!(given.articles, 2);
    let failed = given.failed.unwrap().to_string();
    assert!(
        failed.contains("did not take <3@x>: exit status 7"),
        "{failed}"
    );
    fs::write(news.dir().join("got.open"), "").unwrap();
    let given = serving(&news, |togo| each.run(togo).unwrap());
    assert_eq!(given.articles, 2);
    let text = fs::read_to_string(&got).unwrap();
    assert_eq!(text.replace("Message-ID: ", ""), ids(1..=4));
}

/// Each command runs in the news directory, where it finds the file.
const PAUSE: &str = "touch feeds/one/paused; cat >>got";

#[test]
fn a_feed_that_is_paused_in_its_turn_stops_there() {
    let news = with_articles(20_000);
    let paused = news.dir().join("feeds/one/paused");
    let got = || fs::read_to_string(news.dir().join("got")).unwrap();
    // A program: after what is given at a time.
    let mut program = Program::new(sh(PAUSE), Gives::Id, LIMIT).in_directory(news.dir());
    let given = serving(&news, |togo| program.deliver(togo, Instant::now()).unwrap());
    assert_eq!(program.end(LIMIT), None);
    let articles = got().lines().count();
    assert_eq!(given, Delivery::All(articles as u64));
    assert!((1..20_000).contains(&articles), "{articles}");
    // A command: after one article.
    fs::remove_file(&paused).unwrap();
    let line = sh(PAUSE);
    let each = EachArticle {
        line: &line,
        directory: &news.dir().join("feeds/one"),
        news: news.dir(),
        limit: LIMIT.into(),
    };
    let given = serving(&news, |togo| each.run(togo).unwrap());
    assert!(given.failed.is_none() && given.articles == 1, "{given:?}");
    // Batches: after one.
    fs::remove_file(&paused).unwrap();
    let parms = feed::BatchParms {
        size: 1000,
        size_max: 3000,
        queue: groups::sites::Queue::Unlimited,
        build: groups::sites::Build::Articles,
        peer: b"one".to_vec(),
        packing: article::wrap::WrapFormat::default(),
        to: groups::sites::To::Command(sh(PAUSE)),
        is_off: false,
    };
    let sending = feed::Sending {
        site: b"one",
        parms: &parms,
        news: news.dir(),
        uucp_spool: news.dir(),
        limit: LIMIT.into(),
        batches_max: u64::MAX,
    };
    let sent = serving(&news, |togo| sending.run(togo).unwrap());
    assert!(matches!(sent.stopped, feed::Stopped::Paused), "{sent:?}");
    assert_eq!(sent.batches, 1);
    assert!(sent.backlog > 100, "{sent:?}");
    // A list is not begun.
    let list = feed::FileList {
        form: groups::sites::ListForm::Id,
        path: news.dir().join("togo"),
    };
    assert_eq!(serving(&news, |togo| list.run(togo).unwrap()), 0);
    fs::remove_file(&paused).unwrap();
    let left = 20_000 - articles as u64 - 1 - sent.articles;
    assert_eq!(serving(&news, |togo| list.run(togo).unwrap()), left);
}
