//! What an administrator who changed no setting gets: nothing comes back, nothing vanishes, nothing fills up.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use program::articles::{article, batch, with};
use program::daemon::Daemon;
use program::nntp::{Client, Served, listen, take_this};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

fn one(id: &str) -> Vec<u8> {
    article(&format!("<{id}@example.com>"), "comp.test")
}

fn expire_after(program: &Program, days: u64) -> Told {
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs() + days * 86_400;
    let now = now.to_string();
    let told = program.run(&["expire", "--dir", "news", "--now", &now, "--force"]);
    assert_eq!(told.status, 0, "{told:?}");
    told
}

/// Files an article, and one that arrives later: ids are never forgotten before the newest arrival.
fn filed_then_another(program: &Program, article: &[u8]) {
    let told = program.rnews(&batch(&[article.to_vec()]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    std::thread::sleep(Duration::from_millis(1_100));
    let told = program.rnews(&batch(&[one("newest")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
}

#[test]
fn an_expired_article_does_not_come_back() {
    let program = Program::with_news(ACTIVE);
    let old = one("old");
    filed_then_another(&program, &old);
    // The explist of init: 30 days, and ids for 14 more.
    expire_after(&program, 31);
    let gone = program.run(&["article", "--dir", "news", "<old@example.com>"]);
    assert_ne!(gone.status, 0, "{gone:?}");
    let told = program.rnews(&batch(std::slice::from_ref(&old)));
    assert_eq!(told.count("duplicates"), 1, "{told:?}");
    expire_after(&program, 43);
    let told = program.rnews(&batch(std::slice::from_ref(&old)));
    assert_eq!(told.count("duplicates"), 1, "{told:?}");
    // Not for ever.
    expire_after(&program, 45);
    let told = program.rnews(&batch(&[old]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    program.assert_clean();
}

#[test]
fn an_expires_counts_in_how_long_an_id_is_remembered() {
    let program = Program::with_news(ACTIVE);
    let at = UNIX_EPOCH.elapsed().unwrap().as_secs() + 60 * 86_400;
    let expires = format!("Expires: {}\n", program::articles::date(at));
    let kept = with("<kept@example.com>", "comp.test", &expires, b"kept\n");
    filed_then_another(&program, &kept);
    expire_after(&program, 61);
    let told = program.rnews(&batch(&[kept]));
    assert_eq!(told.count("duplicates"), 1, "{told:?}");
}

#[test]
fn check_says_which_policy_lets_articles_come_back() {
    let program = Program::with_news(ACTIVE);
    let told = program.run(&["check", "--dir", "news"]);
    assert!(!told.out.contains("come back"), "{told:?}");
    program.write("news/explist", b"all x 30 -\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert!(
        told.out
            .contains("warning: explist: there is no /expired/ line"),
        "{told:?}"
    );
    program.write("news/explist", b"/expired/ x 14 -\nall x 500 -\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert!(
        told.out
            .contains("warning: explist:2: a life of more than 400 days"),
        "{told:?}"
    );
    assert_eq!(told.status, 0, "a warning is no error");
}

#[test]
fn unknown_groups_of_peers_are_refused_unless_junk_is_true() {
    let program = Program::with_news(ACTIVE);
    let unknown = |id: &str| batch(&[article(id, "no.such.group")]);
    let told = program.rnews(&unknown("<1@example.com>"));
    assert_eq!((told.status, told.count("refused")), (0, 1), "{told:?}");
    assert!(
        program
            .read("news/log")
            .contains("no known groups in `no.such.group'")
    );
    // The next copy is a duplicate.
    let told = program.rnews(&unknown("<1@example.com>"));
    assert_eq!(told.count("duplicates"), 1, "{told:?}");
    program.set("junk = false", "junk = true");
    let told = program.rnews(&unknown("<2@example.com>"));
    assert_eq!(
        (told.count("accepted"), told.count("junked")),
        (1, 1),
        "{told:?}"
    );
}

/// Gives files to `rnews -u`: each must be named, saved, and stay.
fn is_no_batch(name: &str, bytes: &[u8]) {
    let program = Program::with_news(ACTIVE);
    program.write(name, bytes);
    let told = program.run(&["rnews", "--dir", "news", "-u", name]);
    assert_eq!(told.status, 1, "{name}: {told:?}");
    assert!(
        told.err.contains(name) && told.err.contains("bad/"),
        "{told:?}"
    );
    assert!(
        std::fs::read(program.path(name)).unwrap() == bytes,
        "{name}"
    );
    let saved = program.files("news/bad");
    assert_eq!(saved.len(), 1, "{name}: {told:?}");
    assert!(std::fs::read(&saved[0]).unwrap() == bytes, "{name}");
    // On a pipe, too, where nothing else has it.
    let told = program.rnews(bytes);
    assert_eq!(told.status, 1, "{name}: {told:?}");
    let saved = program.files("news/bad");
    assert_eq!(saved.len(), 2, "{name}: {told:?}");
    for path in saved {
        assert!(std::fs::read(&path).unwrap() == bytes, "{name}");
    }
    program.assert_clean();
}

#[test]
fn a_mailbox_is_no_batch() {
    let mut mailbox = Vec::new();
    for id in ["1", "2"] {
        mailbox.extend_from_slice(b"From user@example.com Mon Dec 20 04:39:21 1993\n");
        mailbox.extend_from_slice(&one(id));
        mailbox.push(b'\n');
    }
    is_no_batch("mail.mbox", &mailbox);
}

#[test]
fn an_archive_and_binary_data_are_no_batch() {
    let mut tar = vec![0; 1024];
    tar[..8].copy_from_slice(b"news/123");
    tar[257..262].copy_from_slice(b"ustar");
    is_no_batch("news.tar", &tar);
    let binary: Vec<u8> = (0..40_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    is_no_batch("binary", &binary);
    // Longer than a header may be, and larger than an article may be.
    is_no_batch("zeros", &[0; 200_000]);
    is_no_batch("base64", &b"aGVhZGVyIHdpdGhvdXQgZW5k\n".repeat(10_000));
    is_no_batch("large.tar", &tar.repeat(9 << 10));
}

#[test]
fn an_encrypted_batch_is_no_batch() {
    is_no_batch(
        "batch.asc",
        b"-----BEGIN PGP MESSAGE-----\n\nhQEMA0000000000000\n-----END PGP MESSAGE-----\n",
    );
}

#[test]
fn one_article_that_is_refused_for_its_group_is_an_article() {
    let program = Program::with_news(ACTIVE);
    program.write("one", &article("<1@example.com>", "no.such.group"));
    let told = program.run(&["rnews", "--dir", "news", "-u", "one"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(program.files("news/bad").is_empty() && !program.path("one").exists());
}

#[test]
fn rnews_leaves_the_last_of_the_disk_free() {
    let program = Program::with_news(ACTIVE);
    program.set("keep_free = \"5 MiB\"", "keep_free = \"1000000 GiB\"");
    let told = program.rnews(&batch(&[one("1")]));
    assert_eq!(told.status, 75, "{told:?}");
    assert!(
        told.err
            .contains("bytes are free and [incoming] keep_free is"),
        "{told:?}"
    );
    program.write("batch", &batch(&[one("1")]));
    let told = program.run(&["rnews", "--dir", "news", "-u", "batch"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(program.path("batch").exists());
    program.set("keep_free = \"1000000 GiB\"", "keep_free = \"5 MiB\"");
    let told = program.run(&["rnews", "--dir", "news", "-u", "--json", "batch"]);
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
}

#[test]
fn files_in_in_coming_with_other_names_are_reported() {
    let program = Program::with_news(ACTIVE);
    for name in [
        "README",
        "batch.from-uucp-neighbour",
        "x y\n",
        "stop.no",
        ".hidden",
        "nspool.12",
    ] {
        program.write(&format!("news/in.coming/{name}"), &batch(&[one(name)]));
        let old = SystemTime::now() - Duration::from_secs(3_600);
        let file = std::fs::File::options()
            .write(true)
            .open(program.path("news/in.coming").join(name));
        file.unwrap().set_modified(old).unwrap();
    }
    // Someone may be writing this one still.
    program.write("news/in.coming/fresh", b"#! rn");
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!((told.status, told.count("others")), (0, 4), "{told:?}");
    for name in ["README", "batch.from-uucp-neighbour", "x y\\n", "stop.no"] {
        assert!(
            told.err.contains(&format!("in.coming/{name}: ")),
            "{name}: {told:?}"
        );
    }
    assert!(
        !told.err.contains("hidden") && !told.err.contains("nspool") && !told.err.contains("fresh"),
        "{told:?}"
    );
    let daemon = Daemon::start(&program);
    daemon.until_said("in.coming/README: ");
}

/// A login may post; without one a client may read.
const AFTER_LOGIN: &str = "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\npost = \"*\"\n\
     \n[[access]]\nname = \"all\"\nread = \"*\"\n";

#[test]
fn the_greeting_is_200_where_a_login_may_post() {
    for (access, code) in [
        (AFTER_LOGIN, "200"),
        (
            "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n\n[[access]]\nname = \"all\"\nread = \"*\"\n",
            "201",
        ),
        ("\n[[access]]\nname = \"all\"\nread = \"*\"\n", "201"),
    ] {
        let program = Program::with_news(ACTIVE);
        listen(&program, access);
        let served = Served::start(&program);
        let mut client = Client::connect(&served.address);
        let greeting = client.line();
        assert!(greeting.starts_with(code), "{access}: {greeting}");
        let mode = client.ask("MODE READER");
        assert!(mode.starts_with(code), "{access}: {mode}");
        // 480 asks for the login.
        let post = client.ask("POST");
        assert!(
            post.starts_with(if access == AFTER_LOGIN { "480" } else { "4" }),
            "{post}"
        );
    }
}

#[test]
fn active_times_is_an_empty_list_where_no_group_was_created() {
    let program = Program::with_news(ACTIVE);
    let _ = std::fs::remove_file(program.path("news/active.times"));
    listen(&program, program::nntp::ALL_MAY);
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("LIST ACTIVE.TIMES").starts_with("215 "));
    assert_eq!(client.lines(), Vec::<String>::new());
}

#[test]
fn a_peer_may_list_the_groups_that_it_may_send() {
    let program = Program::with_news("comp.test 0 1 y\nlocal.secret 0 1 y\n");
    listen(
        &program,
        "\n[[access]]\nname = \"peer\"\nfrom = \"local\"\nsend = \"*,@local.*\"\n",
    );
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("CAPABILITIES").starts_with("101 "));
    let lines = client.lines();
    assert!(
        lines.iter().any(|line| line.starts_with("LIST ACTIVE")),
        "{lines:?}"
    );
    assert!(!lines.iter().any(|line| line == "READER"), "{lines:?}");
    for list in ["LIST", "LIST ACTIVE"] {
        assert!(client.ask(list).starts_with("215 "), "{list}");
        let lines = client.lines();
        assert!(
            lines.iter().any(|line| line.starts_with("comp.test ")),
            "{lines:?}"
        );
        assert!(
            !lines.iter().any(|line| line.starts_with("local.")),
            "{lines:?}"
        );
    }
    // It still reads nothing.
    assert!(client.ask("GROUP comp.test").starts_with("502 "));
    client.say(take_this("<1@example.com>", &one("1")));
    assert!(client.line().starts_with("239 "));
    assert!(client.ask("ARTICLE <1@example.com>").starts_with("502 "));
}

#[test]
fn a_quiet_check_prints_only_what_is_wrong() {
    let program = Program::with_news("comp.test 0 1 y\ncomp.mod 0 1 m\n");
    let quiet = || program.run(&["check", "--dir", "news", "--quiet"]);
    let told = quiet();
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .lines()
            .all(|line| line.starts_with("mailpaths: warning: 1 moderated group without")),
        "{told:?}"
    );
    program.write("news/mailpaths", b"all moderator@example.com\n");
    // Not every machine has a sendmail.
    let settings = program.read("news/broadsheet.toml");
    let settings = settings.replace("/usr/sbin/sendmail -oi -t", "true");
    program.write("news/broadsheet.toml", settings.as_bytes());
    assert_eq!(quiet().out, "");
    let sites = "\n[[site]]\nname = \"p\"\ngroups = \"comp\"\nvia = { program = \"no-such-program-here\", gives = \"id\" }\n\
                 \n[[site]]\nname = \"b\"\ngroups = \"comp\"\nvia = { batch = \"cat\", size = \"100 kB\" }\n\
                 \n[[site]]\nname = \"n\"\ngroups = \"comp\"\nvia = { news = \"../nowhere\" }\n";
    let settings = program.read("news/broadsheet.toml") + sites;
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = quiet();
    for part in [
        "sys: warning: p: the program no-such-program-here does not exist",
        "sys: warning: b: nothing sends its batches by itself",
        "sys: warning: n: ",
    ] {
        assert!(told.out.contains(part), "{part}: {told:?}");
    }
    assert_eq!(told.out.lines().count(), 3, "{told:?}");
}

#[test]
fn messages_say_what_is_wrong() {
    let program = Program::with_news(ACTIVE);
    program.rnews(&batch(&[one("1")]));
    assert_eq!(
        program
            .run(&["article", "--dir", "news", "1@example.com"])
            .status,
        0
    );
    let told = program.run(&["article", "--dir", "news", "comp.tset/1"]);
    assert!(
        told.err.contains("the group `comp.tset' is not in active"),
        "{told:?}"
    );
    program.write(
        "descriptions",
        b"comp.test\tTests.\ncomp.misc\tOther things.\n",
    );
    let told = program.run(&[
        "init",
        "--dir",
        "other",
        "--name",
        "x.example",
        "--active",
        "descriptions",
    ]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(
        told.err
            .contains("give a list of descriptions with --newsgroups"),
        "{told:?}"
    );
    assert!(!program.path("other").exists());
}
