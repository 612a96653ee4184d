//! A signed checkgroups changes the groups of its hierarchies by itself; one with a changed byte does nothing; and the administrator
//! sees both.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use program::{Program, corpus, shared};

const ACTIVE: &str = "control 0000000000 00001 y\njunk 0000000000 00001 y\nmisc.answers 0000000003 00001 y\n\
    misc.bogus 0000000000 00001 y\ncomp.other 0000000000 00001 y\n";

/// Takes messages of any age.
fn ageless() -> Program {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let settings = settings.replace("\nage_days_max = 10", "\nage_days_max = 0");
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

fn batch(article: &[u8]) -> Vec<u8> {
    [format!("#! rnews {}\n", article.len()).as_bytes(), article].concat()
}

fn has(program: &Program, line: &str) -> bool {
    program
        .read("news/active")
        .lines()
        .any(|known| known.starts_with(line))
}

#[test]
fn the_checkgroups_of_1998_acts_when_its_key_is_trusted() {
    let (Some(feed), Some(keys)) = (
        shared("corpus/edge/control.rnews.gz"),
        shared("corpus/admin/PGPKEYS.1997"),
    ) else {
        return;
    };
    let message = corpus::unbatch(&corpus::unpack(&feed)).remove(0);
    let program = ageless();
    let dry = ["control", "run", "--dry-run", "--dir", "news"];
    let told = program.feed(&dry, &message);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out
            .contains("refused: it is not signed by a trusted key"),
        "{told:?}"
    );
    let told = program.run(&[
        "key",
        "import",
        keys.to_str().unwrap(),
        "--key",
        "B88DA9C1",
        "--hierarchy",
        "humanities.*,misc.*,news.*,soc.*,talk.*",
        "--allow",
        "md5",
        "--dir",
        "news",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.feed(&dry, &message);
    assert_eq!(told.status, 0, "{told:?}");
    for line in [
        "add humanities.misc y\n",
        "change misc.answers m\n",
        "remove misc.bogus\n",
        "verified: ",
    ] {
        assert!(told.out.contains(line), "{line}: {told:?}");
    }
    // One changed byte, under another id.
    let text = String::from_utf8(message.clone()).unwrap();
    let forged = text
        .replace("misc.consumers.house\t", "misc.consumers.hovse\t")
        .replace("<900525604.12931@isc.org>", "<900525605.12931@isc.org>");
    assert_ne!(forged, text);
    let told = program.rnews(&batch(forged.as_bytes()));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    assert!(!has(&program, "humanities.misc "));
    let told = program.rnews(&batch(&message));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    assert!(has(&program, "humanities.misc 0000000000 00001 y"));
    assert!(has(&program, "misc.answers 0000000003 00001 m"));
    assert!(!has(&program, "misc.bogus "));
    assert!(has(&program, "comp.other "));
    let described = program.read("news/newsgroups");
    assert!(described.contains("humanities.misc\t\tGeneral topics in the arts & humanities.\n"));
    // Everything is so already.
    let told = program.feed(&dry, &message);
    assert!(
        told.out
            .ends_with("nothing: the groups are already as listed\n"),
        "{told:?}"
    );
    let told = program.run(&["control", "log", "--dir", "news"]);
    assert!(told.out.contains("checkgroups: refused\n"), "{told:?}");
    assert!(told.out.contains("    not verified: "), "{told:?}");
    assert!(told.out.contains("checkgroups: acted\n"), "{told:?}");
    assert!(told.out.contains(" news.announce.newgroups ("), "{told:?}");
    let told = program.run(&["control", "log", "--json", "-n", "1", "--dir", "news"]);
    assert_eq!(told.summary()["done"], "acted", "{told:?}");
    // What was made stays when all that is derived is made again.
    let active = program.read("news/active");
    std::fs::remove_file(program.path("news/active")).unwrap();
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(program.read("news/active"), active);
    program.assert_clean();
}

const NEWGROUP: &str = "Path: a!b\nFrom: a@example.org\nNewsgroups: misc.new\nSubject: cmsg newgroup misc.new\n\
    Control: newgroup misc.new\nMessage-ID: <1@example.org>\nDate: Wed, 15 Jul 1998 18:00:04 GMT\n\n\
    For your newsgroups file:\nmisc.new\tNew.\n";

#[test]
fn the_administrator_may_act_by_hand() {
    let program = Program::with_news(ACTIVE);
    let run = |words: &[&str]| {
        let words = [&["control", "run", "--dir", "news"], words].concat();
        program.feed(&words, NEWGROUP.as_bytes())
    };
    let told = run(&[]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(!has(&program, "misc.new "));
    let told = run(&["--trust", "--dry-run"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!has(&program, "misc.new "));
    let told = run(&["--trust", "--json"]);
    assert_eq!(told.summary()["changes"][0], "add misc.new y", "{told:?}");
    assert!(has(&program, "misc.new 0000000000 00001 y"));
    assert!(
        program
            .read("news/newsgroups")
            .contains("misc.new\t\tNew.\n")
    );
    let told = program.feed(&["control", "run", "--dir", "news"], b"Path: a!b\n\nx\n");
    assert_eq!(told.status, 2, "{told:?}");
}

#[test]
fn the_administrator_takes_a_wrong_serial_number_back() {
    let program = Program::with_news(ACTIVE);
    let run = |serial: &str, words: &[&str]| {
        let message = NEWGROUP
            .replace("newgroup misc.new", &format!("checkgroups misc #{serial}"))
            .replace("1998", "2026");
        let words = [&["control", "run", "--dir", "news"], words].concat();
        program.feed(&words, message.as_bytes())
    };
    let wrong = u64::MAX.to_string();
    assert_eq!(run(&wrong, &["--trust"]).status, 0);
    program.write("news/control.ctl", b"checkgroups:*:*:doit\n");
    let approved = |text: &str| text.replace("Path: a!b\n", "Path: a!b\nApproved: a\n");
    let told = program.feed(
        &["control", "run", "--dir", "news"],
        approved(NEWGROUP)
            .replace("newgroup misc.new", "checkgroups misc #7")
            .as_bytes(),
    );
    assert_eq!(told.status, 1, "{told:?}");
    let told = run("7", &["--trust"]);
    assert_eq!(told.status, 0, "{told:?}");
    let serials = program.read("news/checkgroups.serials");
    assert_eq!(serials, "misc 7 a@example.org\n");
    program.assert_clean();
}

#[test]
fn check_reads_the_policy() {
    let program = Program::with_news(ACTIVE);
    let check = || program.run(&["check", "--dir", "news"]);
    assert!(
        check()
            .out
            .contains("only messages signed by a trusted key"),
        "{:?}",
        check()
    );
    program.write("news/control.ctl", b"newgroup:*:*:doit\nrmgroup:*:*:dont\n");
    let told = check();
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out
            .contains("control.ctl line 2: `dont' is not an action"),
        "{told:?}"
    );
    program.write("news/control.ctl", b"newgroup:*:*:doit\n");
    program.write("news/controlperm", b"all any nr nq\n");
    let told = check();
    assert!(told.out.contains("controlperm exists too"), "{told:?}");
}

#[test]
fn ihave_is_answered_by_sendme_and_that_by_articles() {
    let program = Program::with_news(ACTIVE);
    let offer = program.feed(
        &["batchih", "them.example", "--dir", "news"],
        b"<7@x.example> misc/7\nno id\n<8@x.example>\n",
    );
    assert_eq!(offer.status, 0, "{offer:?}");
    assert!(
        offer.out.contains("Control: ihave news.example.org\n"),
        "{offer:?}"
    );
    assert!(
        offer.out.ends_with("\n\n<7@x.example>\n<8@x.example>\n"),
        "{offer:?}"
    );
    // Here it comes from them, and one of the two is here.
    let known = "Path: x!y\nFrom: a@x\nNewsgroups: misc.bogus\nSubject: s\nMessage-ID: <7@x.example>\n\
                 Date: Wed, 15 Jul 1998 18:00:04 GMT\n\nbody\n";
    let ihave = "Path: them.example!y\nFrom: a@x\nNewsgroups: to.news.example.org\nSubject: s\nMessage-ID: <i@x>\n\
                 Control: ihave them.example\nDate: Wed, 15 Jul 1998 18:00:04 GMT\n\n<7@x.example>\n<8@x.example>\n";
    let batches = [batch(known.as_bytes()), batch(ihave.as_bytes())].concat();
    assert_eq!(program.rnews(&batches).count("accepted"), 2);
    let wanted = program.feed(&["batchsm", "them.example", "--dir", "news"], b"<i@x>\n");
    assert!(
        wanted.out.contains("Control: sendme news.example.org\n"),
        "{wanted:?}"
    );
    assert!(wanted.out.ends_with("\n\n<8@x.example>\n"), "{wanted:?}");
    let sendme = ihave.replace("ihave", "sendme").replace("<i@x>", "<s@x>");
    assert_eq!(
        program.rnews(&batch(sendme.as_bytes())).count("accepted"),
        1
    );
    let sent = program.feed(&["batchra", "--dir", "news"], b"<s@x>\n<unknown@x>\n");
    assert_eq!(sent.out.matches("#! rnews ").count(), 1, "{sent:?}");
    assert!(sent.out.ends_with("\n\nbody\n"), "{sent:?}");
    let told = program.feed(&["batchih", "../x", "--dir", "news"], b"<7@x.example>\n");
    assert_eq!(told.status, 64, "{told:?}");
}
