//! in.coming/ on a full disk: newsspool takes nothing, says so and leaves nothing behind; newsrun on a full disk leaves the
//! batches where they are, and files them when there is room again.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{batch, many};
use program::small::Small;

#[test]
fn in_coming_on_a_small_file_system() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let Some(small) = Small::mount(&program.path("news/in.coming"), "8m") else {
        eprintln!("skipped: an in.coming that is full (mounting a tmpfs is not allowed)");
        return;
    };
    let text = batch(&many("full", 1000, "comp.test", 4000));
    assert!(text.len() > 4_000_000);
    // 8 MiB, of which 5 stay free.
    let words = ["newsspool", "--dir", "news"];
    let told = program.feed(&words, &text);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(told.err.contains("keep_free is"), "{told:?}");
    assert!(program.files("news/in.coming").is_empty());
    // To the last byte: the file system itself says no.
    program.set("keep_free = \"5 MiB\"", "keep_free = 0");
    assert_eq!(program.feed(&words, &text).status, 0);
    let told = program.feed(&words, &[&text[..], &text].concat());
    assert_eq!(told.status, 75, "{told:?}");
    assert_eq!(program.files("news/in.coming").len(), 1);
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!((told.status, told.count("accepted")), (0, 1000), "{told:?}");
    drop(small);
}

#[test]
fn the_store_on_a_small_file_system() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.keep_nothing_free();
    program.set("commit_bytes = \"8 MiB\"", "commit_bytes = \"128 KiB\"");
    let Some(small) = Small::under(&program, "8m") else {
        return;
    };
    for number in 0..5 {
        let text = batch(&many(&number.to_string(), 300, "comp.test", 4000));
        let name = format!("news/in.coming/750123456{number}.t");
        if std::fs::write(program.path(&name), &text).is_err() {
            std::fs::remove_file(program.path(&name)).unwrap();
            break;
        }
    }
    let waiting = program.files("news/in.coming").len();
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("No space left"), "{told:?}");
    // It stops at once, and does not say the same of every batch.
    assert_eq!(told.err.matches("No space left").count(), 1, "{told:?}");
    assert_eq!(program.files("news/in.coming").len(), waiting);
    small.grow("64m");
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(
        (told.status, told.count("files")),
        (0, waiting as u64),
        "{told:?}"
    );
    assert!(told.count("duplicates") > 0, "{told:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), waiting * 300);
    program.assert_clean();
    drop(small);
}
