//! Dates without a zone are in the time zone of the system: in NEWNEWS and NEWGROUPS (RFC 3977, 7.3.2), and in articles, as in C News.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::time::SystemTime;

use crate::program;

use program::Program;
use program::articles::{batch, with};
use program::daemon::Daemon;
use program::nntp::{ALL_MAY, Client, listen};

const HOUR: u64 = 3600;
/// Local time is 11 hours ahead of UTC.
const ZONE: &str = "XYZ-11";

#[test]
fn in_headers_and_in_commands_of_readers() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let expires = with(
        "<1@example.com>",
        "comp.test",
        "Expires: 1 Jan 2099 11:00:00\n",
        b"hello\n",
    );
    program.write("batch", &batch(&[expires]));
    let mut rnews = program.command(&["rnews", "--dir", "news"]);
    let batch = File::open(program.path("batch")).unwrap();
    assert!(
        rnews
            .env("TZ", ZONE)
            .stdin(batch)
            .status()
            .unwrap()
            .success()
    );
    let line = program.run_bytes(&["history", "find", "--dir", "news", "<1@example.com>"]);
    // 1 January 2099, 0:00 UTC.
    assert_eq!(line.split(|b| *b == b'~').nth(1), Some(&b"4070908800"[..]));

    let mut serve = program.command(&["serve", "--dir", "news"]);
    let daemon = Daemon::launch_by(&program, {
        serve.env("TZ", ZONE);
        serve
    });
    let said = daemon.until_said("listening at ");
    daemon.until_notified("READY=1");
    let mut client = Client::greeted(said.rsplit_once(' ').unwrap().1);
    // The clock shows this time 5 hours ago, and UTC in 6 hours.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut figures = Vec::new();
    article::date::write_nntp(&mut figures, (now.unwrap().as_secs() + 6 * HOUR) as i64);
    let (day, time) = figures.split_at(8);
    let since = format!(
        "{} {}",
        String::from_utf8_lossy(day),
        String::from_utf8_lossy(time)
    );
    let mut newnews = |words: &str| {
        assert!(
            client
                .ask(&format!("NEWNEWS * {words}"))
                .starts_with("230 ")
        );
        client.lines()
    };
    assert_eq!(newnews(&since), ["<1@example.com>"]);
    assert_eq!(newnews(&format!("{since} GMT")), [""; 0]);
}
