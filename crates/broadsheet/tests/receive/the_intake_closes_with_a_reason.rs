//! While articles are not taken over NNTP, peers and people hear why and may come again: an administrator said so, or the disk is too
//! full. Reading goes on.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::daemon::{Daemon, until};
use program::small::Small;
use program::wire::{Wire, address};

const ALL: &str = "\n[[access]]\nname = \"all\"\nfrom = \"127.0.0.1\"\nsend = \"*\"\nread = \"*\"\npost = \"*\"\n";

fn served(keep_free: &str) -> (Program, Daemon, String) {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.set("listen = \"\"", "listen = \"127.0.0.1:0\"");
    program.set("keep_free = \"128 MiB\"", keep_free);
    let text = program.read("news/broadsheet.toml") + ALL;
    program.write("news/broadsheet.toml", text.as_bytes());
    let daemon = Daemon::launch(&program);
    let nntp = address(&daemon, "listening at ");
    daemon.until_notified("READY=1");
    (program, daemon, nntp)
}

fn greeted(nntp: &str) -> Wire {
    let mut wire = Wire::connect(nntp);
    wire.line();
    wire
}

fn show(program: &Program) -> String {
    program.run(&["intake", "show", "--dir", "news"]).out
}

#[test]
fn paused_by_an_administrator() {
    let (program, daemon, nntp) = served("keep_free = \"0 B\"");
    assert_eq!(show(&program), "open\n");
    let paused = program.run(&["intake", "pause", "--dir", "news", "new", "disk\r\n200 ok"]);
    assert_eq!(paused.status, 0, "{paused:?}");
    assert_eq!(show(&program), "paused: new disk  200 ok\n");
    let told = daemon.until_said("intake state=paused");
    assert!(told.ends_with("why=\"new disk  200 ok\""), "{told}");
    let again = program.run(&["intake", "pause", "--dir", "news", "still", "copying"]);
    assert_eq!(again.status, 0, "{again:?}");
    let told = daemon.until_said("still");
    assert!(
        told.ends_with("intake state=paused why=\"still copying\""),
        "{told}"
    );
    let again = program.run(&["intake", "pause", "--dir", "news", "new", "disk\r\n200 ok"]);
    assert_eq!(again.status, 0, "{again:?}");
    let mut wire = greeted(&nntp);
    let why = "new disk  200 ok";
    assert_eq!(wire.ask("CHECK <a@example.com>\r\n"), "431 <a@example.com>");
    assert_eq!(wire.ask("IHAVE <a@example.com>\r\n"), format!("436 {why}"));
    assert_eq!(wire.ask("POST\r\n"), format!("440 {why}"));
    assert_eq!(wire.ask("GROUP comp.test\r\n")[..3], *"211");
    let told = wire.ask("TAKETHIS <a@example.com>\r\n\r\n.\r\n");
    assert_eq!(told, format!("400 {why}"));
    assert_eq!(wire.rest(), "");
    let resumed = program.run(&["intake", "resume", "--dir", "news"]);
    assert_eq!(resumed.status, 0, "{resumed:?}");
    let mut wire = greeted(&nntp);
    assert_eq!(wire.ask("CHECK <a@example.com>\r\n"), "238 <a@example.com>");
    daemon.stop();
    assert_eq!(program.run(&["intake", "show", "--dir", "news"]).status, 1);
    assert_eq!(
        program.run(&["intake", "resume", "--dir", "news"]).status,
        1
    );
}

#[test]
fn too_little_of_the_disk_is_free() {
    let (program, daemon, nntp) = served("keep_free = \"1000000 GiB\"");
    assert!(show(&program).starts_with("full: The disk is too full: "));
    let mut wire = greeted(&nntp);
    assert_eq!(wire.ask("CHECK <a@example.com>\r\n"), "431 <a@example.com>");
    let told = wire.ask("IHAVE <a@example.com>\r\n");
    assert!(told.starts_with("436 The disk is too full: "), "{told}");
    program.set("keep_free = \"1000000 GiB\"", "keep_free = \"0 B\"");
    daemon.signal("HUP");
    until("the end of it", || show(&program) == "open\n");
    assert_eq!(wire.ask("CHECK <a@example.com>\r\n"), "238 <a@example.com>");
    daemon.stop();
}

#[test]
fn a_disk_that_others_fill_shows_at_once() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.set("listen = \"\"", "listen = \"127.0.0.1:0\"");
    program.set("keep_free = \"128 MiB\"", "keep_free = \"16 MiB\"");
    let Some(small) = Small::under(&program, "64m") else {
        return;
    };
    let daemon = Daemon::launch(&program);
    daemon.until_notified("READY=1");
    assert_eq!(show(&program), "open\n");
    small.fill(8 << 10);
    // No article has come meanwhile.
    let room = "make room (`broadsheet expire' may have space to give back)";
    let told = program.run(&["status", "--dir", "news"]).out;
    for part in [
        "intake           full: The disk is too full: ",
        " are free, 16.0 MiB must stay free; make room",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let told = show(&program);
    assert!(
        told.starts_with("full: ") && told.trim_end().ends_with(room),
        "{told}"
    );
    let told = program.run(&["check", "-q", "--dir", "news"]).out;
    assert!(
        told.contains("less than [nntp] keep_free (16 MiB)") && told.contains(room),
        "{told}"
    );
    let told = daemon.until_said("intake state=full");
    assert!(told.contains("remedy=\"make room"), "{told}");
    // It closes below 16 MiB and opens at 17.
    small.fill((16 << 10) + 512);
    let told = show(&program);
    assert!(
        told.contains(" are free, 17.0 MiB must stay free"),
        "{told}"
    );
    small.make_room();
    assert_eq!(show(&program), "open\n");
    daemon.stop();
}
