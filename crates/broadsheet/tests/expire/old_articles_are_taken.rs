//! Articles in the form of A News, and with the headers of B News, are filed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::batch;

fn news() -> Program {
    Program::with_news("net.test 0000000000 00001 y\nnet.misc 0000000000 00001 y\n")
}

#[test]
fn a_news() {
    let program = news();
    let article = b"Aduke.123\nnet.test,net.misc\nunc!duke!jim\nSat Jan 17 21:30:30 1981\nAn old title\nold body\n";
    let told = program.rnews(&batch(&[article.to_vec()]));
    assert_eq!(
        (told.status, told.count("accepted"), told.count("junked")),
        (0, 1, 0),
        "{told:?}"
    );
    let rows = program.run(&["overview", "--dir", "news", "net.test"]).out;
    let fields: Vec<&str> = rows.trim_end().split('\t').collect();
    assert_eq!(&fields[..2], ["1", "An old title"]);
    assert_eq!(
        &fields[3..5],
        ["Sat Jan 17 21:30:30 1981", "<123@duke.UUCP>"]
    );
    let text = program.run(&["article", "--dir", "news", "net.misc/1"]).out;
    assert!(text.ends_with("\n\nold body\n"), "{text}");
    assert!(
        text.contains("\nPath: news.example.org!unc!duke!jim\n"),
        "{text}"
    );
    // Bare, without a batch around it, it is the same article.
    let again = program.rnews(article);
    assert_eq!(again.count("duplicates"), 1, "{again:?}");
    program.assert_clean();
}

#[test]
fn b_news() {
    let program = news();
    let article = b"Relay-Version: version B 2.10 5/3/83; site duke.UUCP\n\
        Posting-Version: version B 2.10 5/3/83; site unc.UUCP\n\
        Path: duke!unc!jim\n\
        From: jim@unc.UUCP (Jim)\n\
        Newsgroups: net.test\n\
        Title: From B News\n\
        Article-I.D.: unc.77\n\
        Posted: Mon Jun 20 10:30:30 1983\n\
        Received: Tue Jun 21 01:02:03 1983\n\
        \n\
        body\n";
    let told = program.rnews(&batch(&[article.to_vec()]));
    assert_eq!(
        (told.status, told.count("accepted")),
        (0, 1),
        "{told:?} {}",
        program.read("news/log")
    );
    let text = program.run(&["article", "--dir", "news", "net.test/1"]).out;
    for line in [
        "Relay-Version: version B 2.10 5/3/83; site duke.UUCP\n",
        "Article-I.D.: unc.77\n",
        "Posted: Mon Jun 20",
    ] {
        assert!(text.contains(line), "{line} is kept as it came: {text}");
    }
    let rows = program.run(&["overview", "--dir", "news", "net.test"]).out;
    assert!(
        rows.starts_with("1\tFrom B News\tjim@unc.UUCP (Jim)\tMon Jun 20 10:30:30 1983\t<"),
        "{rows}"
    );
    assert_eq!(
        program
            .rnews(&batch(&[article.to_vec()]))
            .count("duplicates"),
        1
    );
    program.assert_clean();
}
