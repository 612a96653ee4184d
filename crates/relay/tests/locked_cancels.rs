//! By default an article is cancelled and superseded by who has the key to its lock.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use ::article::Form;
use newsdir::{HOST, NOW, Newsdir, article};
use relay::{CancelPolicy, Filer, FilerOptions, Rules, Verdict};

/// RFC 8315, 5: the lock of a key, and the key.
const LOCK: &str = "Cancel-Lock: sha256:s/pmK/3grrz++29ce2/mQydzJuc7iqHn1nqcJiQTPMc=";
const KEY: &str = "Cancel-Key: sha256:qv1VXHYiCGjkX/N1nhfYKcAeUn8bCVhrWhoKuBSnpMA=";
const WRONG: &str = "Cancel-Key: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=";

fn filer(newsdir: &Newsdir, cancel: CancelPolicy) -> Filer {
    let options = FilerOptions {
        cancel,
        ..FilerOptions::default()
    };
    newsdir.filer_with(Rules::new(HOST.as_bytes()), options)
}

fn file(newsdir: &Newsdir, articles: &[&str]) -> Vec<Verdict> {
    let mut filer = filer(newsdir, CancelPolicy::Locked);
    let verdicts = articles
        .iter()
        .map(|text| filer.file(text.as_bytes(), Form::Native, NOW).unwrap())
        .collect();
    filer.commit().unwrap();
    verdicts
}

fn is_there(newsdir: &Newsdir, id: &str) -> bool {
    !newsdir.article(id).is_empty()
}

#[test]
fn only_the_key_opens_the_lock() {
    let newsdir = Newsdir::new();
    let cancel = |id: &str, more: &[&str]| {
        article(id, "comp.std", &[&["Control: cancel <1@a>"], more].concat())
    };
    file(
        &newsdir,
        &[
            &article("<1@a>", "comp.std", &[LOCK]),
            &cancel("<2@a>", &[]),
            &cancel("<3@a>", &[WRONG]),
        ],
    );
    assert!(is_there(&newsdir, "<1@a>"));
    let told = "not cancelled `<1@a>': no Cancel-Key matches its Cancel-Lock";
    assert!(newsdir.log()[2].ends_with(told), "{:?}", newsdir.log());
    file(&newsdir, &[&cancel("<4@a>", &[KEY])]);
    assert!(!is_there(&newsdir, "<1@a>"));
}

#[test]
fn what_has_no_lock_is_cancelled_by_nobody_from_outside() {
    let newsdir = Newsdir::new();
    file(
        &newsdir,
        &[
            &article("<1@a>", "comp.std", &[]),
            &article("<2@a>", "comp.std", &["Control: cancel <1@a>", KEY]),
        ],
    );
    assert!(is_there(&newsdir, "<1@a>"));
}

#[test]
fn supersedes_needs_the_key_too_and_the_new_article_is_filed_all_the_same() {
    let newsdir = Newsdir::new();
    let fresh = |id: &str, more: &str| article(id, "comp.std", &["Supersedes: <1@a>", more]);
    file(
        &newsdir,
        &[
            &article("<1@a>", "comp.std", &[LOCK]),
            &fresh("<2@a>", WRONG),
        ],
    );
    assert!(is_there(&newsdir, "<1@a>") && is_there(&newsdir, "<2@a>"));
    file(&newsdir, &[&fresh("<3@a>", KEY)]);
    assert!(!is_there(&newsdir, "<1@a>") && is_there(&newsdir, "<3@a>"));
}

#[test]
fn what_was_posted_here_needs_the_key_too() {
    let newsdir = Newsdir::new();
    let local = |text: String| text.replace("near.example!user", ".POSTED!user");
    let cancel = article("<2@a>", "comp.std", &["Control: cancel <1@a>"]);
    file(
        &newsdir,
        &[&local(article("<1@a>", "comp.std", &[])), &local(cancel)],
    );
    assert!(is_there(&newsdir, "<1@a>"));
}

#[test]
fn a_stranger_keeps_no_early_cancel_from_counting() {
    let newsdir = Newsdir::new();
    let mut filer = filer(&newsdir, CancelPolicy::Locked);
    let mut file = |text: &str| filer.file(text.as_bytes(), Form::Native, NOW).unwrap();
    let cancel = |id: &str, of: &str, key: &str| {
        article(id, "comp.std", &[&format!("Control: cancel {of}"), key])
    };
    // A comment that is never closed, junk, and then the right key for the same article, its domain written otherwise.
    file(&cancel(
        "<c1@a>",
        "<1@a.example>",
        "Cancel-Key: sha1:xx (unclosed",
    ));
    file(&cancel(
        "<c2@a>",
        "<1@a.example>",
        &format!("Cancel-Key: {}", "x".repeat(1024)),
    ));
    file(&cancel("<c3@a>", "<1@A.EXAMPLE>", KEY));
    // Thousands of ids in one message put nobody out.
    let many: String = (0..6000).map(|n| format!(" <n{n}@a>")).collect();
    file(&cancel("<c4@a>", &many, WRONG));
    let locked = article("<1@a.example>", "comp.std", &[LOCK]);
    assert!(matches!(file(&locked), Verdict::Refused(_)));
    filer.commit().unwrap();
    let kept = std::fs::read_to_string(newsdir.path().join("cancels.early")).unwrap();
    assert_eq!(
        kept.lines().count(),
        2 + relay::file::CANCEL_IDS_MAX,
        "{kept}"
    );
    assert!(
        newsdir
            .log()
            .iter()
            .any(|line| line.contains("ids after the first 4 ignored"))
    );
}

#[test]
fn a_cancel_before_its_article_waits_for_the_lock() {
    let newsdir = Newsdir::new();
    let cancel = |id: &str, of: &str, more: &[&str]| {
        let control = format!("Control: cancel {of}");
        article(id, "comp.std", &[&[control.as_str()], more].concat())
    };
    let mut filer = filer(&newsdir, CancelPolicy::Locked);
    let mut file = |text: &str| filer.file(text.as_bytes(), Form::Native, NOW).unwrap();
    file(&cancel("<c1@a>", "<1@a>", &[WRONG]));
    file(&cancel("<c2@a>", "<1@a>", &[KEY]));
    file(&cancel("<c3@a>", "<2@a>", &[]));
    file(&cancel("<c4@a>", "<3@a>", &[WRONG]));
    let locked = |id: &str| article(id, "comp.std", &[LOCK]);
    assert!(matches!(file(&locked("<1@a>")), Verdict::Refused(_)));
    assert_eq!(file(&locked("<1@a>")), Verdict::Duplicate);
    assert_eq!(file(&locked("<2@a>")), Verdict::Filed);
    assert_eq!(file(&locked("<3@a>")), Verdict::Filed);
    assert_eq!(file(&article("<4@a>", "comp.std", &[])), Verdict::Filed);
    filer.commit().unwrap();
    let log = newsdir.log();
    assert!(
        log.contains(&"near.example - <1@a> cancelled in advance by <c1@a>".to_owned()),
        "{log:?}"
    );
    assert_eq!(newsdir.links("<1@a>").unwrap(), "");
}

#[test]
fn an_early_cancel_that_is_not_kept_tells_why() {
    let newsdir = Newsdir::new();
    let early = |id: &str, key: &str| {
        let text = article(id, "comp.std", &["Control: cancel <9@a>", key]);
        file(&newsdir, &[&text]);
        newsdir.log().pop().unwrap()
    };
    assert!(early("<1@a>", KEY).ends_with("its Cancel-Lock will decide"));
    assert!(early("<2@a>", KEY).ends_with("the same Cancel-Key waits for it already"));
    assert!(early("<3@a>", "X-No: key").ends_with("the cancel has no Cancel-Key"));
    for number in 10..30 {
        early(
            &format!("<{number}@a>"),
            &WRONG.replace(":aa", &format!(":{number}")),
        );
    }
    let told = early("<4@a>", &WRONG.replace(":aa", ":bb"));
    assert!(
        told.ends_with("no more Cancel-Keys may wait for it"),
        "{told}"
    );
    // The right one came first, and counts.
    file(&newsdir, &[&article("<9@a>", "comp.std", &[LOCK])]);
    assert!(!is_there(&newsdir, "<9@a>"));
}

#[test]
fn none_is_none() {
    let newsdir = Newsdir::new();
    let mut filer = filer(&newsdir, CancelPolicy::Never);
    for text in [
        article("<1@a>", "comp.std", &[LOCK]),
        article("<2@a>", "comp.std", &["Control: cancel <1@a> <9@a>", KEY]),
    ] {
        filer.file(text.as_bytes(), Form::Native, NOW).unwrap();
    }
    filer.commit().unwrap();
    assert!(is_there(&newsdir, "<1@a>"));
    assert_eq!(newsdir.links("<9@a>"), None);
}
