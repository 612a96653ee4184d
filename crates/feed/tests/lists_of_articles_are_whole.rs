//! File lists: each form, appended by whole lines, from the cursor on.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::log;

use std::fs;
use std::path::Path;

use feed::deferred::Deferred;
use feed::enrolment::{self, NewSite};
use feed::start::Start;
use feed::{FileList, FromCursor, SiteState};
use groups::sites::ListForm;
use log::News;

fn enrol(news: &News) {
    let site = NewSite {
        name: b"one",
        start: Start::Now,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
}

/// Lists what waits for the site; gives how many articles.
fn list(news: &News, form: ListForm, path: &Path) -> Result<u64, feed::Error> {
    let mut snapshot = news.snapshot();
    let place = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
    let mut togo = FromCursor::new(&snapshot, place, Box::new(|_, _| false));
    let path = path.to_owned();
    FileList { form, path }.run(&mut togo)
}

#[test]
fn every_form_has_its_words() {
    for (form, second) in [
        (ListForm::Name, "a/2"),
        (ListForm::NameSize, "a/2 SIZE"),
        (ListForm::NameId, "a/2 <2@x>"),
        (ListForm::Id, "<2@x>"),
    ] {
        let mut news = News::new();
        enrol(&news);
        news.file("two");
        let position = news.file("one two");
        news.file("one");
        news.commit();
        let path = news.dir().join("out.going/one/togo");
        assert_eq!(list(&news, form, &path).unwrap(), 2);
        let text = fs::read_to_string(&path).unwrap();
        let mut native = Vec::new();
        let snapshot = news.snapshot();
        let mut buffer = Vec::new();
        let record = snapshot.record(position, &mut buffer).unwrap().unwrap();
        record.push_native(&mut native);
        let second = second.replace("SIZE", &native.len().to_string());
        assert_eq!(text.lines().next(), Some(second.as_str()));
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with('\n'));
        // Once only; more is appended.
        assert_eq!(list(&news, form, &path).unwrap(), 0);
        news.file("one");
        news.commit();
        assert_eq!(list(&news, form, &path).unwrap(), 1);
        let more = fs::read_to_string(&path).unwrap();
        assert!(more.starts_with(&text) && more.lines().count() == 3);
        // Moved aside, it begins anew.
        fs::rename(&path, news.dir().join("togo.more")).unwrap();
        news.file("one");
        news.commit();
        assert_eq!(list(&news, form, &path).unwrap(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }
}

/// Those of the list behind the cursor are met once.
#[test]
fn what_a_peer_deferred_comes_first_and_once() {
    let mut news = News::new();
    enrol(&news);
    let places = [(); 4].map(|()| news.file("one"));
    news.spool.cancel(places[1], b"<2@x>").unwrap();
    news.commit();
    let mut state = SiteState::take_only(news.dir(), b"one").unwrap();
    state.move_to(places[2]).unwrap();
    let deferred = [places[3], places[1], places[0]];
    let deferred = deferred.map(|position| Deferred::new(position, 1, 0));
    state.set_deferred(deferred.to_vec()).unwrap();
    drop(state);
    let path = news.dir().join("togo");
    assert_eq!(list(&news, ListForm::Id, &path).unwrap(), 3);
    assert_eq!(fs::read_to_string(&path).unwrap(), "<1@x>\n<3@x>\n<4@x>\n");
    let state = SiteState::take_only(news.dir(), b"one").unwrap();
    assert!(state.deferred().is_empty());
    assert_eq!((state.cursor().sent, state.cursor().skipped), (3, 1));
}

#[test]
fn a_half_line_is_ended_first() {
    let mut news = News::new();
    enrol(&news);
    news.file("one");
    news.commit();
    let path = news.dir().join("togo");
    fs::write(&path, "a/77 <77@x>\na/7").unwrap();
    list(&news, ListForm::Name, &path).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "a/77 <77@x>\na/7\na/1\n"
    );
}

#[test]
fn what_cannot_be_written_waits_on() {
    let mut news = News::new();
    enrol(&news);
    news.file("one");
    news.commit();
    let full = Path::new("/dev/full");
    assert!(list(&news, ListForm::Name, full).is_err());
    let path = news.dir().join("togo");
    assert_eq!(list(&news, ListForm::Name, &path).unwrap(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a/1\n");
}

#[test]
fn a_long_list_is_cut_nowhere() {
    let mut news = News::new();
    enrol(&news);
    let articles = 60_000;
    for _ in 0..articles {
        news.file("one");
    }
    news.commit();
    let path = news.dir().join("togo");
    assert_eq!(list(&news, ListForm::NameId, &path).unwrap(), articles);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() > 2 * feed::file_list::LINES_BYTES_MAX);
    for (number, line) in (1..).zip(text.lines()) {
        assert_eq!(line, format!("a/{number} <{number}@x>"));
    }
}

#[test]
fn a_list_that_is_locked_while_it_is_moved_goes_to_a_new_file() {
    let mut news = News::new();
    enrol(&news);
    news.file("one");
    news.commit();
    let path = news.dir().join("togo");
    fs::write(&path, "a/77\n").unwrap();
    let held = fs::File::open(&path).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let listing = scope.spawn(|| list(&news, ListForm::Name, &path).unwrap());
        fs::rename(&path, news.dir().join("togo.more")).unwrap();
        held.unlock().unwrap();
        assert_eq!(listing.join().unwrap(), 1);
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), "a/1\n");
    assert_eq!(
        fs::read_to_string(news.dir().join("togo.more")).unwrap(),
        "a/77\n"
    );
}

#[test]
fn a_device_takes_all_and_a_fifo_or_directory_nothing() {
    let mut news = News::new();
    enrol(&news);
    // More than a FIFO holds.
    for _ in 0..20_000 {
        news.file("one");
    }
    news.commit();
    let fifo = news.dir().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    for no_list in [&fifo, news.dir()] {
        assert!(list(&news, ListForm::Name, no_list).is_err());
    }
    let nothing = Path::new("/dev/null");
    assert_eq!(list(&news, ListForm::Name, nothing).unwrap(), 20_000);
    assert_eq!(list(&news, ListForm::Name, nothing).unwrap(), 0);
}
