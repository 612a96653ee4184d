//! The size of the log and the newest arrival, when expire has just sealed a segment and punched holes into it.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};

use program::Program;
use program::articles::{batch, many};
use program::daemon::Daemon;
use program::wire::{address, http};

const DAY: u64 = 86_400;

fn status(program: &Program) -> serde_json::Value {
    let told = program.run(&["status", "--dir", "news", "--json"]);
    serde_json::from_str(&told.out).unwrap()
}

/// Bytes of the disk that the articles take up.
fn disk_bytes(program: &Program) -> u64 {
    let mut files = program.files("news/segments");
    files.retain(|path| path.extension().is_some_and(|end| end == "art"));
    let blocks = files
        .iter()
        .map(|path| std::fs::metadata(path).unwrap().blocks() * 512);
    blocks.sum()
}

#[test]
fn of_log_and_newest_arrival() {
    let program = Program::with_news("control 0 1 n\njunk 0 1 n\none.a 0 1 y\n");
    program.write("news/explist", b"/expired/ x 30 -\nall x 1 -\n");
    program.set("listen = \"\"", "listen = \"127.0.0.1:0\"");
    program.set("metrics = \"\"", "metrics = \"127.0.0.1:0\"");
    program.rnews(&batch(&many("old", 200, "one.a", 8000)));
    std::thread::sleep(Duration::from_millis(2100));
    let middle = UNIX_EPOCH.elapsed().unwrap().as_secs();
    program.rnews(&batch(&many("new", 200, "one.a", 8000)));
    let before = status(&program);
    let newest = before["newest_arrival"].as_u64().unwrap();
    assert!(newest >= middle);

    let now = (middle + DAY).to_string();
    let told = program.run(&["expire", "--dir", "news", "--now", &now, "--json"]);
    assert_eq!((told.status, told.count("articles")), (0, 200), "{told:?}");
    let after = status(&program);
    assert_eq!(after["newest_arrival"].as_u64(), Some(newest));
    assert_eq!(after["segments"], 2);
    let on_disk = disk_bytes(&program);
    let is_true = |bytes: u64| bytes <= on_disk && bytes + 16_384 > on_disk;
    let told = after["log_bytes"].as_u64().unwrap();
    assert!(is_true(told), "{told} of {on_disk}");
    if on_disk < 2_000_000 {
        assert!(told < before["log_bytes"].as_u64().unwrap());
    }

    let daemon = Daemon::launch(&program);
    let metrics = address(&daemon, "metrics at http://");
    daemon.until_notified("READY=1");
    let page = http(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let sample = |name: &str| {
        let line = page.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {page}"))
            .trim()
            .parse::<u64>()
            .unwrap()
    };
    assert!(is_true(sample("broadsheet_log_bytes ")));
    assert_eq!(
        sample("broadsheet_newest_arrival_timestamp_seconds "),
        newest
    );
}
