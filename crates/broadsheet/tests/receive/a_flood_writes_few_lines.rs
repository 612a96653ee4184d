//! The daemon's lines: an object each where the setting says so; a flood of connections makes a few of them, and says how many it left
//! out.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::daemon::Daemon;
use program::wire::{Wire, address};

#[test]
fn of_connections_that_are_refused() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.set("listen = \"\"", "listen = \"127.0.0.1:0\"");
    program.set("log_format = \"text\"", "log_format = \"json\"");
    program.set(
        "connections_per_address_max = 64",
        "connections_per_address_max = 1",
    );
    let daemon = Daemon::launch(&program);
    let nntp = address(&daemon, "listening at ");
    daemon.until_notified("READY=1");
    let mut one = Wire::connect(&nntp);
    assert_eq!(one.line()[..2], *"20");
    for _ in 0..300 {
        assert_eq!(Wire::connect(&nntp).line()[..3], *"400");
    }
    let mut lines = Vec::new();
    loop {
        let line = daemon.until_said("");
        let object: serde_json::Value = serde_json::from_str(&line).expect(&line);
        if object["event"] == "connection_refused" {
            assert_eq!(object["why"], "too many connections from this address");
            assert!(
                object["address"]
                    .as_str()
                    .unwrap()
                    .starts_with("127.0.0.1:")
            );
            lines.push(object);
        }
        if lines.len() == 1 {
            daemon.signal("TERM");
        }
        if line.contains("stopped") {
            break;
        }
    }
    // Thirty at once, and one every two seconds that the test takes.
    assert!((30..60).contains(&lines.len()), "{} lines", lines.len());
}
