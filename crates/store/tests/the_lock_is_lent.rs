//! Who waits for the lock asks the daemon over its socket, and the daemon hears when it comes back.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use store::{Lock, control_socket};

/// What a daemon does for one borrower: waits for `lend`, gives the lock up, and waits for the end.
fn lend(lock: Lock, listener: &std::os::unix::net::UnixListener) -> UnixStream {
    let (mut stream, _) = listener.accept().expect("a borrower");
    let mut line = Vec::new();
    BufReader::new(&stream)
        .read_until(b'\n', &mut line)
        .expect("a line");
    assert_eq!(line, control_socket::LEND);
    drop(lock);
    // The borrower may be done already.
    drop(stream.write_all(control_socket::LENT));
    stream
}

fn until_given_back(mut stream: UnixStream) {
    // A borrower who did not read the answer ends the connection with a reset.
    assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)));
}

#[test]
fn a_borrower_gets_the_lock_and_the_daemon_gets_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::take_as_daemon(dir.path()).unwrap();
    let listener = control_socket::listen(dir.path()).unwrap();
    let place = dir.path().to_owned();
    let borrower = std::thread::spawn(move || {
        let lock = Lock::take(&place, None).unwrap();
        assert!(Lock::is_held(&place));
        drop(lock);
    });
    until_given_back(lend(lock, &listener));
    let lock = Lock::take_as_daemon(dir.path());
    assert!(lock.is_ok());
    borrower.join().unwrap();
}

#[test]
fn without_a_daemon_the_lock_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::take(dir.path(), None).unwrap();
    let (sender, taken) = channel();
    let place = dir.path().to_owned();
    let waiting = std::thread::spawn(move || {
        let lock = Lock::take(&place, None).unwrap();
        sender.send(()).unwrap();
        drop(lock);
    });
    assert!(taken.try_recv().is_err());
    drop(lock);
    taken.recv().unwrap();
    waiting.join().unwrap();
}

#[test]
fn a_daemon_that_comes_later_is_asked_too() {
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::take(dir.path(), None).unwrap();
    let place = dir.path().to_owned();
    // It stands in the line before there is a socket, or after: either way it must come through.
    let waiting = std::thread::spawn(move || Lock::take(&place, None).map(drop));
    let listener = control_socket::listen(dir.path()).unwrap();
    until_given_back(lend(lock, &listener));
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_socket_nobody_answers_at_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    drop(control_socket::listen(dir.path()).unwrap());
    assert!(dir.path().join(control_socket::SOCKET).exists());
    let lock = Lock::take(dir.path(), None).unwrap();
    let place = dir.path().to_owned();
    let waiting = std::thread::spawn(move || Lock::take(&place, None).map(drop));
    drop(lock);
    waiting.join().unwrap().unwrap();
}

#[test]
fn an_idle_holder_is_not_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!Lock::is_held(dir.path()));
    let lock = Lock::take_as_daemon(dir.path()).unwrap();
    assert!(Lock::is_held(dir.path()));
    lock.say_idle(true).unwrap();
    assert!(!Lock::is_held(dir.path()));
    lock.say_idle(false).unwrap();
    assert!(Lock::is_held(dir.path()));
    lock.say_idle(true).unwrap();
    drop(lock);
    // What a killed daemon left in the file says nothing of the next holder.
    let _lock = Lock::take(dir.path(), Some(std::time::Duration::ZERO)).unwrap();
    assert!(Lock::is_held(dir.path()));
}

#[test]
fn a_long_path_has_a_socket_too() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("d".repeat(100)).join("e".repeat(100));
    std::fs::create_dir_all(&deep).unwrap();
    assert!(socket_answers(&deep));
}

fn socket_answers(dir: &Path) -> bool {
    let _listener = control_socket::listen(dir).expect("a socket");
    control_socket::connect(dir).is_ok()
}

#[test]
fn who_has_patience_for_a_while_borrows_too() {
    let most = Some(std::time::Duration::from_secs(60));
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::take_as_daemon(dir.path()).unwrap();
    let listener = control_socket::listen(dir.path()).unwrap();
    let place = dir.path().to_owned();
    let borrower = std::thread::spawn(move || Lock::take(&place, most).map(drop));
    until_given_back(lend(lock, &listener));
    borrower.join().unwrap().unwrap();
    // Where nobody lends, the patience ends.
    drop(listener);
    let _lock = Lock::take_as_daemon(dir.path()).unwrap();
    let short = Some(std::time::Duration::from_millis(20));
    let told = Lock::take(dir.path(), short).map(drop);
    assert!(matches!(told, Err(store::Error::Locked(_))), "{told:?}");
}

#[test]
fn a_borrower_waits_until_the_daemon_has_seen_what_it_did() {
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::take_as_daemon(dir.path()).unwrap();
    let listener = control_socket::listen(dir.path()).unwrap();
    let place = dir.path().to_owned();
    let (seen, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            drop(Lock::take(&place, None).unwrap());
            assert!(seen.load(Ordering::SeqCst));
            ended.store(true, Ordering::SeqCst);
        });
        let mut stream = lend(lock, &listener);
        assert!(matches!(stream.read(&mut [0; 1]), Ok(0)));
        assert!(!ended.load(Ordering::SeqCst));
        // The lock is free before.
        let _lock = Lock::take_as_daemon(dir.path()).unwrap();
        seen.store(true, Ordering::SeqCst);
        drop(stream);
    });
}

#[test]
fn a_borrower_does_not_wait_for_a_dead_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::take_as_daemon(dir.path()).unwrap();
    let listener = control_socket::listen(dir.path()).unwrap();
    let place = dir.path().to_owned();
    let borrower = std::thread::spawn(move || {
        let lock = Lock::take(&place, None).unwrap();
        let began = std::time::Instant::now();
        drop(lock);
        began.elapsed()
    });
    drop(lend(lock, &listener));
    assert!(borrower.join().unwrap() < std::time::Duration::from_secs(4));
}
