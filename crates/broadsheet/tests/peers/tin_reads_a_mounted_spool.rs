//! tin with a local spool, as the readers of C News' time worked: the spool is a mount.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::articles::batch;
use program::clients::{client, thread};
use program::mounted::Mounted;
use program::screen::Screen;

#[test]
fn what_is_new_and_a_thread() {
    let program = Program::with_news("test.one 0 1 y\n");
    assert_eq!(program.rnews(&batch(&thread())).count("accepted"), 5);
    let Some(mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    let tin = || {
        let mut tin = client(&program, "usr/bin/tin", "tin")?;
        tin.arg("-q");
        for variable in ["TIN_SPOOLDIR", "TIN_NOVROOTDIR", "TIN_LIBDIR"] {
            tin.env(variable, &mounted.at);
        }
        Some(tin)
    };
    program.write(".newsrc", b"test.one: 1-2\n");
    let Some(mut news) = tin() else {
        return;
    };
    let told = news.args(["-Z", "-v"]).output().unwrap();
    let said = String::from_utf8_lossy(&told.stdout);
    // 2: there is something new.
    assert_eq!(told.status.code(), Some(2), "{said}");
    assert!(said.contains("3 unread"), "{said}");

    program.write(".newsrc", b"test.one:\n");
    let Some(screen) = tin().and_then(|tin| Screen::start(&program, &tin)) else {
        return;
    };
    screen.until_shows("test.one").keys(&["Enter"]);
    // Subjects and the thread from .overview, texts from the files.
    screen.until_shows("Grüße, 1").until_shows("+   5");
    screen.keys(&["Enter"]).until_shows("Line one of 1");
    screen.keys(&["Tab"]).until_shows("Line one of 2");
    screen.until_shows(".a line with a dot in front");
}
