//! Real UUCP between two sites on one machine: `uux other!rnews` at one, uucico over a pipe, uuxqt and our rnews at the
//! other. What our rnews cannot take is not lost.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs;

use program::articles::{batch, many};
use program::uucp::Uucp;

/// Queues a batch at `here` by hand, and calls `there`.
fn send(uucp: &Uucp, text: &[u8]) {
    uucp.program.write("batch", text);
    let input = fs::File::open(uucp.program.path("batch")).unwrap();
    let done = uucp.run(
        "here",
        "uux",
        &["-", "-r", "-z", "there!rnews"],
        input.into(),
    );
    assert!(done.status.success(), "{done:?}");
    uucp.call();
}

#[test]
fn batches_are_filed() {
    let Some(uucp) = Uucp::new("") else { return };
    send(&uucp, &batch(&many("one", 40, "comp.test", 5000)));
    send(&uucp, &batch(&many("two", 3, "comp.test", 10)));
    uucp.execute();
    assert_eq!(uucp.waiting(), (0, 0), "{}", uucp.told());
    assert_eq!(uucp.filed(), 43, "{}", uucp.told());
}

#[test]
fn batches_are_spooled_and_a_full_disk_makes_uucp_try_again() {
    let Some(uucp) = Uucp::new("--spool") else {
        return;
    };
    let settings = uucp.program.read("news/broadsheet.toml");
    let full = settings.replace("keep_free = \"5 MiB\"", "keep_free = 1000000000000000000");
    assert_ne!(settings, full);
    uucp.program.write("news/broadsheet.toml", full.as_bytes());
    send(&uucp, &batch(&many("later", 40, "comp.test", 5000)));
    uucp.execute();
    assert_eq!(uucp.waiting(), (1, 0), "{}", uucp.told());
    assert!(uucp.program.files("news/in.coming").is_empty());

    uucp.program
        .write("news/broadsheet.toml", settings.as_bytes());
    uucp.execute();
    assert_eq!(uucp.waiting(), (0, 0), "{}", uucp.told());
    assert_eq!(uucp.program.files("news/in.coming").len(), 1);
    let told = uucp.program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.count("accepted"), 40, "{told:?}");
}
