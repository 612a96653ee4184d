//! A batch leaves the backlog when the command that has it ends with 0, and not before.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::waiting;

use std::time::Duration;

use feed::{Error, Stopped};
use waiting::{Waiting, by_command, in_shell};

const BODIES: &[usize] = &[100, 200, 300, 5000, 10, 20];

#[test]
fn everything_is_delivered_in_order_and_once() {
    let mut waiting = Waiting::new(BODIES);
    let parms = in_shell(
        600,
        "cat >> ROOM/out; echo >> ROOM/count",
        &waiting.path(""),
    );
    let sent = waiting.send(&parms);
    assert!(matches!(sent.stopped, Stopped::Empty), "{sent:?}");
    // 100 + 200, 300, 5000 alone, 10 + 20.
    assert_eq!(
        (sent.batches, sent.articles, sent.oversize, sent.backlog),
        (4, 6, 1, 0)
    );
    assert_eq!(waiting.read("out"), waiting.batch(BODIES, 0));
    assert_eq!(waiting.read("count").len(), 4);
    assert_eq!(sent.bytes, waiting.read("out").len() as u64);
    assert_eq!(waiting.send(&parms).batches, 0);
}

#[test]
fn a_command_that_fails_leaves_the_batch() {
    let mut waiting = Waiting::new(BODIES);
    let parms = in_shell(
        600,
        "cat > /dev/null; echo no room >&2; exit 3",
        &waiting.path(""),
    );
    let sent = waiting.send(&parms);
    let Stopped::Failed(error) = &sent.stopped else {
        panic!("{sent:?}");
    };
    assert_eq!(
        error.to_string(),
        "`sh' did not take the batch: exit status 3; its standard error: no room"
    );
    assert_eq!((sent.batches, waiting.delivered), (0, 0));
    assert!(sent.backlog >= 9, "{sent:?}");
    let sent = waiting.send(&in_shell(600, "cat >> ROOM/out", &waiting.path("")));
    assert_eq!(sent.articles, 6);
    assert_eq!(waiting.read("out"), waiting.batch(BODIES, 0));
}

#[test]
fn what_went_before_the_failure_is_not_sent_again() {
    let mut waiting = Waiting::new(BODIES);
    let script = "test ! -e ROOM/second || exit 1; test ! -e ROOM/first || > ROOM/second; > ROOM/first; cat >> ROOM/out";
    let sent = waiting.send(&in_shell(600, script, &waiting.path("")));
    assert!(matches!(sent.stopped, Stopped::Failed(_)));
    assert_eq!((sent.batches, waiting.delivered), (2, 3));
    waiting.send(&in_shell(600, "cat >> ROOM/out", &waiting.path("")));
    assert_eq!(waiting.read("out"), waiting.batch(BODIES, 0));
}

#[test]
fn a_command_killed_in_the_middle_leaves_the_batch() {
    let mut waiting = Waiting::new(BODIES);
    let parms = in_shell(600, "head -c 50 > ROOM/part; kill -9 $$", &waiting.path(""));
    let sent = waiting.send(&parms);
    let Stopped::Failed(Error::Refused { how, .. }) = &sent.stopped else {
        panic!("{sent:?}");
    };
    assert_eq!(how, "killed by signal 9");
    assert_eq!(waiting.delivered, 0);
}

#[test]
fn a_command_that_never_ends_is_killed_with_its_children() {
    let mut waiting = Waiting::new(&[10]);
    let parms = in_shell(
        600,
        "sleep 1000 & echo $! > ROOM/child; wait",
        &waiting.path(""),
    );
    let sent = waiting.send_within(&parms, Duration::from_millis(300), u64::MAX);
    let Stopped::Failed(Error::Refused { how, .. }) = &sent.stopped else {
        panic!("{sent:?}");
    };
    assert!(how.contains("killed"), "{how}");
    let child = String::from_utf8(waiting.read("child")).unwrap();
    let stat = format!("/proc/{}/stat", child.trim());
    // Gone, or dead and not yet collected. The signal is sent, but on a busy machine not yet heard.
    let is_dead = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    let began = std::time::Instant::now();
    while !is_dead() {
        assert!(began.elapsed() < Duration::from_secs(60), "it lives on");
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_does_not_read_may_take_the_batch() {
    let mut waiting = Waiting::new(&[2_000_000]);
    let sent = waiting.send(&by_command(600, "true"));
    assert_eq!(sent.batches, 1);
}

#[test]
fn a_missing_program_is_named() {
    let mut waiting = Waiting::new(&[10]);
    let sent = waiting.send(&by_command(600, "/nowhere/uux - -r"));
    let Stopped::Failed(error) = &sent.stopped else {
        panic!("{sent:?}");
    };
    assert!(
        error.to_string().starts_with("cannot run `/nowhere/uux': "),
        "{error}"
    );
}

#[test]
fn no_more_batches_than_asked_for() {
    let mut waiting = Waiting::new(BODIES);
    let parms = in_shell(600, "cat >> ROOM/out", &waiting.path(""));
    let sent = waiting.send_within(&parms, Duration::from_secs(60), 1);
    assert!(matches!(sent.stopped, Stopped::Enough));
    assert_eq!((sent.batches, waiting.delivered), (1, 2));
}

#[test]
fn a_site_that_is_off_gets_nothing() {
    let mut waiting = Waiting::new(BODIES);
    let mut parms = by_command(600, "true");
    parms.is_off = true;
    let sent = waiting.send(&parms);
    assert!(matches!(sent.stopped, Stopped::Off));
    assert_eq!(waiting.delivered, 0);
}
