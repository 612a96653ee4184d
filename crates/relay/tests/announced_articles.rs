//! What a peer announces by id over NNTP is taken as it is, or refused by name.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::wire_facts::WireFacts;
use newsdir::{NOW, Newsdir};
use relay::{Filer, Rules, Verdict};

fn article(id: &str, body: &str) -> Vec<u8> {
    format!(
        "Path: far.example!not-for-mail\r\nFrom: a@b.example\r\nNewsgroups: comp.std\r\nSubject: s\r\n\
         Date: Fri, 1 Jun 2001 11:00:00 GMT\r\nMessage-ID: {id}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[test]
fn one_with_another_id_is_refused() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let text = article("<1@far.example>", "text\r\n");
    let other = filer
        .file_announced(None, b"<2@far.example>", (&text, WireFacts::of(&text)), NOW)
        .unwrap();
    assert!(matches!(other, Verdict::Refused(_)));
    let reason = |verdict: Verdict| match verdict {
        Verdict::Refused(refusal) => String::from_utf8_lossy(&refusal.text).into_owned(),
        other => format!("{other:?}"),
    };
    assert!(reason(other).contains("differs from the announced one"));
    // Only its form is wrong: the reason says which.
    for (own, why) in [
        ("2@far.example", "not bracketed"),
        ("<2@far .example>", "whitespace"),
        ("", "empty"),
    ] {
        let text = article(own, "text\r\n");
        let verdict = filer
            .file_announced(None, b"<2@far.example>", (&text, WireFacts::of(&text)), NOW)
            .unwrap();
        let told = reason(verdict);
        assert!(told.contains(why), "{told}");
    }
    let own = filer
        .file_announced(None, b"<1@far.example>", (&text, WireFacts::of(&text)), NOW)
        .unwrap();
    assert_eq!(own, Verdict::Filed);
}

/// Our name is put before Path, and `us!.POSTED` is what a post made here has.
#[test]
fn one_that_looks_as_if_it_was_posted_here_is_refused() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let mut verdict = |id: &str, path: &str| {
        let text = String::from_utf8(article(id, "text\r\n")).unwrap();
        let text = text.replacen("far.example!not-for-mail", path, 1);
        let facts = WireFacts::of(text.as_bytes());
        filer
            .file_announced(None, id.as_bytes(), (text.as_bytes(), facts), NOW)
            .unwrap()
    };
    let refused = [
        ".POSTED!u",
        ".POSTED.x.example!u",
        ".posted!u",
        " .POSTED!u",
    ];
    for (number, path) in (1..).zip(refused) {
        let verdict = verdict(&format!("<{number}@far.example>"), path);
        assert!(matches!(verdict, Verdict::Refused(_)), "{path}");
    }
    let filed = ["far.example!.POSTED!u", ".POSTEDX!u", "u"];
    for (number, path) in (11..).zip(filed) {
        let verdict = verdict(&format!("<{number}@far.example>"), path);
        assert_eq!(verdict, Verdict::Filed, "{path}");
    }
}

/// Offers an article with this Path and these groups.
fn announce(filer: &mut Filer, number: usize, path: &str, groups: &str) -> Verdict {
    let id = format!("<{number}@far.example>");
    let text = String::from_utf8(article(&id, "text\r\n")).unwrap();
    let text = text.replacen("far.example!not-for-mail", path, 1);
    let text = text.replacen("Newsgroups: comp.std", &format!("Newsgroups: {groups}"), 1);
    let facts = WireFacts::of(text.as_bytes());
    filer
        .file_announced(None, id.as_bytes(), (text.as_bytes(), facts), NOW)
        .unwrap()
}

const LOCAL_SYS: &str =
    "ME:comp,!comp.mod,control,junk/all::\nown.example:all/all:L0:\nfar.example:all/all::\n";

/// A Path of one element is that of a local article in a batch. From a peer it gets around neither the subscription nor `junk = false`,
/// and sites that get local articles alone do not get it.
#[test]
fn one_with_a_path_of_one_element_is_not_local() {
    let newsdir = Newsdir::with(newsdir::ACTIVE, LOCAL_SYS);
    let mut filer = newsdir.filer();
    filer.set_rules(Rules {
        junk: false,
        ..filer.rules().clone()
    });
    for (number, groups) in (1..).zip(["comp.mod", "comp.none"]) {
        let verdict = announce(&mut filer, number, "q", groups);
        assert!(matches!(verdict, Verdict::Refused(_)), "{groups}");
    }
    let filed = announce(&mut filer, 3, "q", "comp.std");
    assert_eq!(filed, Verdict::Filed);
    let native = "Path: q\nFrom: a@b.example\nNewsgroups: comp.std\nSubject: s\nDate: Fri, 1 Jun 2001 11:00:00 GMT\nMessage-ID: <4@a>\n\ntext\n";
    let filed = filer.file(native.as_bytes(), article::Form::Native, NOW);
    assert_eq!(filed.unwrap(), Verdict::Filed);
    filer.commit().unwrap();
    let log = newsdir.log();
    assert!(log[2].ends_with("<3@far.example> far.example"), "{log:?}");
    assert!(log[3].ends_with("<4@a> own.example far.example"), "{log:?}");
}

#[test]
fn a_header_with_a_bare_cr_is_refused() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let refused = announce(&mut filer, 1, "a!q\r\nX: a\rb", "comp.std");
    assert!(matches!(refused, Verdict::Refused(_)), "{refused:?}");
}

/// RFC 5536, 3.1.4: white space around the names is accepted by all, and stays as it was. C News refused it.
#[test]
fn names_in_newsgroups_may_be_folded() {
    let folded = "comp.std ,\r\n\tcomp.lang.c";
    let path = "far.example!not-for-mail";
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let verdict = announce(&mut filer, 1, path, folded);
    assert_eq!(verdict, Verdict::Filed);
    let within = announce(&mut filer, 2, path, "comp.std comp.lang.c");
    assert!(matches!(within, Verdict::Refused(_)), "{within:?}");
    filer.commit().unwrap();
    let id = "<1@far.example>";
    let links = newsdir.links(id);
    assert_eq!(links.as_deref(), Some("comp.lang.c/42 comp.std/1"));
    assert!(newsdir.article(id).contains(&folded.replace('\r', "")));
}

/// The limit is one of the article as rnews counts it: without the CRs and doubled dots of the wire.
#[test]
fn the_limits_of_size_do_not_count_what_the_wire_adds() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let text = article("<1@far.example>", &"..\r\n".repeat(100));
    let facts = WireFacts::of(&text);
    let native = facts.counts.native_length(text.len());
    let header = text
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 2;
    let header = header - 6;
    let usual = Rules::new(newsdir::HOST.as_bytes());
    for (bytes, header_bytes) in [(native - 1, header), (native, header - 1)] {
        filer.set_rules(Rules {
            article_bytes_max: bytes,
            header_bytes_max: header_bytes,
            ..usual.clone()
        });
        let verdict = filer.file_announced(None, b"<1@far.example>", (&text, facts), NOW);
        assert!(matches!(verdict.unwrap(), Verdict::Refused(_)));
    }
    filer.set_rules(Rules {
        article_bytes_max: native,
        header_bytes_max: header,
        ..usual
    });
    let verdict = filer.file_announced(None, b"<1@far.example>", (&text, facts), NOW);
    assert_eq!(verdict.unwrap(), Verdict::Filed);
}
