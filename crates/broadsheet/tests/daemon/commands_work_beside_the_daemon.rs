//! The daemon lends the lock: every command works beside it, and it sees what they did.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use article::Form;
use groups::active::Flag;
use program::Program;
use program::articles::{article, batch, id, many};
use program::daemon::{Daemon, until};
use program::feeding::add_peer;
use program::nntp::{ALL_MAY, Client, Served, listen};
use program::taker::Taker;
use relay::file::Filer;
use relay::{Now, Verdict};
use settings::NewsDirectory;
use store::Spool;

fn state(program: &Program) -> String {
    let told = program.run(&["status", "--dir", "news", "--json"]);
    told.summary()["daemon"]["state"]
        .as_str()
        .unwrap_or("none")
        .to_owned()
}

#[test]
fn a_group_made_beside_it_takes_articles_at_once() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.junk_as_c_news();
    let daemon = Daemon::start(&program);
    let told = program.rnews(&batch(&many("early", 1, "misc.new", 100)));
    assert_eq!(told.count("junked"), 1, "{told:?}");
    let told = program.run(&["group", "add", "--dir", "news", "misc.new"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.rnews(&batch(&many("late", 3, "misc.new", 100)));
    assert_eq!((told.count("accepted"), told.count("junked")), (3, 0));
    let active = program.read("news/active");
    assert!(active.contains("misc.new 0000000003 "), "{active}");
    assert_eq!(program.run(&["fsck", "--dir", "news"]).status, 0);
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.rnews(&batch(&many("late", 4, "misc.new", 100)));
    assert_eq!((told.count("accepted"), told.count("duplicates")), (1, 3));
    until("idleness", || state(&program) == "idle");
    daemon.stop();
    program.assert_clean();
    assert_eq!(state(&program), "none");
}

#[test]
fn expire_beside_it_takes_effect() {
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 1);
    program.write("news/explist", b"all x 1 -\n");
    let daemon = Daemon::start(&program);
    program.rnews(&batch(&many("old", 2_000, "comp.test", 1_000)));
    let words = ["expire", "--dir", "news", "--now", "4102444800", "--force"];
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 0);
    let told = program.rnews(&batch(&many("new", 3, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert!(rows.starts_with("2001\t"), "{rows}");
    daemon.stop();
    program.assert_clean();
}

#[test]
fn a_borrower_that_dies_gives_the_lock_back() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let mut borrower = UnixStream::connect(program.path("news/control.sock")).unwrap();
    borrower.write_all(b"lend\n").unwrap();
    let mut answer = [0; 5];
    borrower.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"lent\n");
    assert_eq!(state(&program), "lent");
    // A second borrower and a batch stand in the line, and are served when the first is gone.
    let adding = program
        .command(&["group", "add", "--dir", "news", "misc.new"])
        .spawn();
    let text = batch(&many("queued", 3, "comp.test", 100));
    std::thread::scope(|scope| {
        let filing = scope.spawn(|| program.rnews(&text));
        drop(borrower);
        let told = filing.join().unwrap();
        assert_eq!(told.count("accepted"), 3, "{told:?}");
    });
    assert!(adding.unwrap().wait().unwrap().success());
    daemon.stop();
    program.assert_clean();
}

/// Asks for the lock as the next one, and keeps it until the value is dropped.
fn next_borrower(program: &Program) -> UnixStream {
    let mut next = UnixStream::connect(program.path("news/control.sock")).unwrap();
    next.write_all(b"lend\n").unwrap();
    next
}

fn until_lent(mut borrower: &UnixStream) {
    let mut answer = [0; 5];
    borrower.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"lent\n");
}

/// The daemon may lend the lock again before it opens the spool.
#[test]
fn readers_see_what_was_done_while_the_next_one_has_the_lock() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut reader = Client::greeted(&served.address);
    let mut spool = Spool::open(&program.path("news"), store::Options::default()).unwrap();
    let next = next_borrower(&program);
    spool.set_group(b"misc.new", Flag::Open).unwrap();
    spool.commit().unwrap();
    drop(spool);
    until_lent(&next);
    let told = reader.ask("GROUP misc.new");
    assert!(told.starts_with("211 "), "{told}");
    drop(next);
    served.daemon.stop();
}

#[test]
fn peers_get_what_was_filed_while_the_next_one_has_the_lock() {
    let taker = Taker::start();
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    add_peer(&program, &taker.address, "");
    let daemon = Daemon::start(&program);
    // The peer is connected, and has all so far.
    program.rnews(&batch(&many("first", 1, "comp.test", 100)));
    until("the first article", || taker.has(&id("first", 1)));
    let mut filer = borrowing(&program);
    let next = next_borrower(&program);
    let filed = filer.file(
        &article("<second@a>", "comp.test"),
        Form::Native,
        Now::read(),
    );
    assert_eq!(filed.unwrap(), Verdict::Filed);
    filer.commit().unwrap();
    drop(filer);
    until_lent(&next);
    until("the second article", || taker.has("<second@a>"));
    drop(next);
    daemon.stop();
}

/// A filer with the lock of the daemon.
fn borrowing(program: &Program) -> Filer {
    let directory = NewsDirectory::at(program.path("news"));
    let settings = directory.settings().unwrap().settings;
    let options = settings.filer_options();
    let filer = daemon::open_filer(&directory, &settings, settings.rules(), options, None);
    filer.unwrap().unwrap()
}

#[test]
fn readers_see_what_a_command_did_when_it_has_ended() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut reader = Client::greeted(&served.address);
    program.rnews(&batch(&many("old", 5, "comp.test", 100)));
    for number in 1..=5 {
        let group = format!("misc.n{number}");
        let told = program.run(&["group", "add", "--dir", "news", &group]);
        assert_eq!(told.status, 0, "{told:?}");
        let told = reader.ask(&format!("GROUP {group}"));
        assert!(told.starts_with("211 "), "{number}: {told}");
        let id = id("old", number);
        let told = reader.ask(&format!("STAT {id}"));
        assert!(told.starts_with("223 "), "{number}: {told}");
        let told = program.run(&["article", "remove", "--dir", "news", &id]);
        assert_eq!(told.status, 0, "{told:?}");
        let told = reader.ask(&format!("STAT {id}"));
        assert!(told.starts_with("430 "), "{number}: {told}");
    }
    served.daemon.stop();
}

#[test]
fn it_stops_while_the_lock_is_lent() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let mut borrower = UnixStream::connect(program.path("news/control.sock")).unwrap();
    borrower.write_all(b"lend\n").unwrap();
    borrower.read_exact(&mut [0; 5]).unwrap();
    daemon.stop();
}

#[test]
fn nonsense_on_the_socket_is_answered_and_forgotten() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let socket = program.path("news/control.sock");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for line in [
        &b"{}\n"[..],
        b"\n",
        b"lend",
        b"\xff\xff\n",
        &vec![b'x'; 100_000],
    ] {
        let mut client = UnixStream::connect(&socket).unwrap();
        let _ = client.write_all(line);
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = client.read_to_end(&mut Vec::new());
    }
    // A descriptor that is none of a file, or none at all.
    let mut client = UnixStream::connect(&socket).unwrap();
    let request = r#"{"name":"x","tail":"x","strict":false,"no_history":false,"no_xref":false,"older":null,"progress":false}"#;
    writeln!(client, "{request}").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("unknown request"), "{answer}");
    let told = program.rnews(&batch(&many("after", 3, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    daemon.stop();
}

#[test]
fn there_is_one_for_a_news_directory() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let mut daemon = Daemon::start(&program);
    let second = program.run(&["serve", "--dir", "news"]);
    assert_eq!(second.status, 2, "{second:?}");
    let told = format!("is already served by process {}", daemon.pid());
    assert!(second.err.contains(&told), "{second:?}");
    let told = program.run(&["stop", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    // Not only the daemon, also its process: it may hold the address of the metrics.
    assert_eq!(daemon.ended(), Some(0));
    assert_eq!(program.run(&["stop", "--dir", "news"]).status, 1);
    assert_eq!(program.run(&["reload", "--dir", "news"]).status, 1);
    let found = program.run(&["history", "find", "--dir", "news", &id("x", 1)]);
    assert_eq!(found.status, 1);
}

#[test]
fn a_start_waits_for_the_end_of_a_killed_daemon() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let hold = || store::Lock::take_named(&program.path("news"), "lock.serve", false).unwrap();
    let dying = hold();
    let daemon = Daemon::launch(&program);
    daemon.until_said("waiting for the end of another daemon");
    drop(dying);
    daemon.until_notified("READY=1");
    daemon.stop();
    // It does not wait for ever.
    let _stays = hold();
    let second = program.run(&["serve", "--dir", "news"]);
    assert_eq!(second.status, 2, "{second:?}");
    let told = "is already served by a daemon that is starting or stopping";
    assert!(second.err.contains(told), "{second:?}");
}

#[test]
fn status_and_stop_are_heard_beside_many_silent_clients() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let mut daemon = Daemon::start(&program);
    let silent: Vec<_> = (0..70)
        .map(|_| std::os::unix::net::UnixStream::connect(program.path("news/control.sock")))
        .collect();
    let told = program.run(&["status", "--dir", "news", "--json"]);
    assert_eq!(told.summary()["daemon"]["pid"], daemon.pid(), "{told:?}");
    let told = program.run(&["stop", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(daemon.until_ended(), 0);
    drop(silent);
}
