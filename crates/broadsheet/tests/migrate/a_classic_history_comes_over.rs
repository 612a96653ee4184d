//! `broadsheet history import`: the text history of C News and old INN, with dates as people wrote them.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch};

/// Lines of C News (with and without size, with a header's text for the expiry, without groups), of B News with
/// human dates, and faults.
const HISTORY: &[u8] = b"\
<1@example.com>\t756362361~-~1234\tcomp.test/1 comp.misc/7\n\
<2@example.com>\t756362361~760000000\tcomp.test/2\n\
<3@example.com>\t756362361~Fri, 14 Jan 1994 00:00:00 GMT~99\tcomp.test/3\n\
<4@example.com>\t756362361~-~\n\
<5@example.com>\tMon Dec 20 04:39:21 GMT 1993~-\tcomp.test/5\n\
<6@example.com>\t12/20/93 04:39\tcomp.test/6\n\
<1@EXAMPLE.com>\t1~-\n\
no id\t1~-\n\
<garbled@example.com>\n\
[0123456789ABCDEF0123456789ABCDEF]\t1~-~1\t@0102@\n\
\n";

#[test]
fn its_ids_are_duplicates_from_then_on() {
    let program = Program::with_news("comp.test 0000000009 00001 y\n");
    program.write("history", HISTORY);
    let told = program.run(&["history", "import", "--dir", "news", "history"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(
        told.out,
        "6 ids imported, 1 known already, 4 lines not read\n"
    );
    for (line, why) in [
        (8, "not a Message-ID"),
        (9, "garbled"),
        (10, "a hash, not a Message-ID"),
        (11, "garbled"),
    ] {
        assert!(
            told.err
                .lines()
                .any(|said| said.contains(&format!("history line {line}: ")) && said.contains(why)),
            "{line} {why}: {told:?}"
        );
    }

    let found = program.run(&[
        "history",
        "find",
        "--dir",
        "news",
        "<2@example.com>",
        "<3@example.com>",
        "<5@example.com>",
    ]);
    assert_eq!(found.status, 0, "{found:?}");
    let fields: Vec<Vec<&str>> = found
        .out
        .lines()
        .map(|line| line.split('\t').nth(1).unwrap().split('~').collect())
        .collect();
    assert_eq!(fields[0][..2], ["756362361", "760000000"]);
    assert_eq!(fields[1][..2], ["756362361", "758505600"]);
    assert_eq!(fields[2][..2], ["756362361", "-"]);

    let articles: Vec<Vec<u8>> = (1..=6)
        .map(|number| article(&format!("<{number}@example.com>"), "comp.test"))
        .collect();
    let again = program.rnews(&batch(&articles));
    assert_eq!(again.count("duplicates"), 6, "{again:?}");
    assert_eq!(
        program
            .rnews(&batch(&[article("<7@example.com>", "comp.test")]))
            .count("accepted"),
        1
    );
    program.assert_clean();

    let twice = program.run(&["history", "import", "--dir", "news", "history"]);
    assert_eq!(
        twice.out,
        "0 ids imported, 7 known already, 4 lines not read\n"
    );
}

#[test]
fn lines_without_end_and_ids_without_end_are_named() {
    let program = Program::with_news("");
    let mut text = b"<1@example.com>\t1~-\n".to_vec();
    text.extend_from_slice(&vec![b'x'; 3 << 20]);
    text.extend_from_slice(format!("\n<{}@example.com>\t1~-\n", "y".repeat(100_000)).as_bytes());
    text.extend_from_slice(
        b"<2@example.com>\t1~-\n\0\0\t\t\n<3@example.com>\t99999999999999999999~-",
    );
    program.write("history", &text);
    let told = program.run(&["history", "import", "--dir", "news", "history"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(
        told.out, "3 ids imported, 0 known already, 3 lines not read\n",
        "{told:?}"
    );
    for (line, why) in [
        (2, "too long"),
        (3, "longer than limits.message_id_bytes_max"),
        (5, "not a Message-ID"),
    ] {
        let place = format!("history line {line}: ");
        assert!(
            told.err
                .lines()
                .any(|said| said.contains(&place) && said.contains(why)),
            "{line} {why}: {told:?}"
        );
    }
    program.assert_clean();
}

#[test]
fn our_own_dump_comes_over() {
    let from = Program::with_news("comp.test 0000000000 00001 y\n");
    let articles: Vec<Vec<u8>> = (1..=50)
        .map(|number| article(&format!("<{number}@example.com>"), "comp.test"))
        .collect();
    assert_eq!(from.rnews(&batch(&articles)).count("accepted"), 50);
    let dump = from.run_bytes(&["history", "dump", "--dir", "news"]);
    let to = Program::with_news("");
    to.write("history", &dump);
    let told = to.run(&["history", "import", "--dir", "news", "history"]);
    assert_eq!(
        (told.status, told.out.as_str()),
        (0, "50 ids imported, 0 known already, 0 lines not read\n")
    );
    assert_eq!(to.rnews(&batch(&articles)).count("duplicates"), 50);
}

#[test]
fn ids_that_expire_would_have_forgotten_are_counted() {
    let program = Program::with_news("comp.test 0000000009 00001 y\n");
    program.write("news/explist", b"/expired/ x 14 -\nall x 10 -\n");
    let told = program.rnews(&batch(&[article("<1@example.com>", "comp.test")]));
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["expire", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let lines = format!("<2@example.com>\t1700000000~-\n<3@example.com>\t{now}~-\n");
    program.write("history", lines.as_bytes());
    let told = program.run(&["history", "import", "--dir", "news", "history"]);
    assert_eq!(
        (told.status, told.out.as_str()),
        (
            0,
            "1 ids imported, 0 known already, 0 lines not read, 1 too old to be remembered\n"
        ),
        "{told:?}"
    );
    let ids = ["<2@example.com>", "<3@example.com>"].map(|id| article(id, "comp.test"));
    assert_eq!(program.rnews(&batch(&ids)).count("duplicates"), 1);
    program.assert_clean();
}
