//! A node of a cluster on a full disk, and with files that were changed under it: it applies no entry twice, none is lost, and it decides
//! by no other rules than the others.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{id, many, with};
use program::cluster::{applied, make_node, nodes};
use program::daemon::until;
use program::nats::Servers;
use program::nntp::{ALL_MAY, Served, listen, take_this};
use program::small::Small;

const ACTIVE: &str = "comp.test 0 1 y\n";
const ARTICLES: usize = 300;

/// The overview of the group.
fn rows(program: &Program) -> String {
    let told = program.run(&["overview", "--dir", "news", "comp.test"]);
    assert_eq!(told.status, 0, "{told:?}");
    told.out
}

#[test]
fn a_node_on_a_full_disk_catches_up() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 1, ACTIVE);
    let second = Program::with_news(ACTIVE);
    listen(&second, ALL_MAY);
    second.cancel_as_c_news();
    // So that it is not the daemon that stops in time.
    second.set("keep_free = \"128 MiB\"", "keep_free = 0");
    second.keep_nothing_free();
    let Some(small) = Small::under(&second, "4m") else {
        return;
    };
    make_node(&second, servers.options());
    let told = second.run(&["cluster", "join", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let one = Served::start(&programs[0]);
    let two = Served::start(&second);
    // 6 MB do not fit there.
    let mut client = one.client();
    for (at, article) in many("full", ARTICLES, "comp.test", 20_000)
        .iter()
        .enumerate()
    {
        client.say(take_this(&id("full", at + 1), article));
        assert_eq!(client.line(), format!("239 {}", id("full", at + 1)));
    }
    two.daemon.until_said("No space left on device");
    // What arrives there goes back to its sender, or its sender waits; nothing is promised.
    small.grow("64m");
    until("the second node at the same entry", || {
        applied(&second) == applied(&programs[0])
    });
    let mut client = two.client();
    client.say(take_this(
        &id("more", 1),
        &many("more", 1, "comp.test", 100)[0],
    ));
    assert_eq!(client.line(), format!("239 {}", id("more", 1)));
    until("the first node at the same entry", || {
        applied(&second) == applied(&programs[0])
    });
    for served in [one, two] {
        served.daemon.stop();
    }
    second.assert_clean();
    let expected = rows(&programs[0]);
    assert_eq!(expected.lines().count(), ARTICLES + 1);
    assert!(rows(&second) == expected);
    drop(small);
}

#[test]
fn a_policy_that_changes_on_one_node_does_not_count() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 2, ACTIVE);
    let one = Served::start(&programs[0]);
    let two = Served::start(&programs[1]);
    let control = with(
        "<new@example.org>",
        "comp.test",
        "Control: newgroup comp.new\nApproved: a@example.org\n",
        b"x\n",
    );
    // By default nobody may; the second node now lets everybody, and has told nobody.
    programs[1].write("news/control.ctl", b"newgroup:*:*:doit\n");
    let mut client = one.client();
    client.say(take_this("<new@example.org>", &control));
    assert_eq!(client.line(), "239 <new@example.org>");
    until("both at the same entry", || {
        applied(&programs[1]) == applied(&programs[0])
    });
    for program in &programs {
        assert!(!program.read("news/active").contains("comp.new"));
    }
    let told = programs[1].run(&["reload", "--dir", "news"]);
    assert_ne!(told.status, 0);
    assert!(told.err.contains("settings by which all nodes"), "{told:?}");
    two.daemon.stop();
    let two = Served::start(&programs[1]);
    // Nor does it after a restart.
    let told = programs[1].run(&["reload", "--dir", "news"]);
    assert!(told.err.contains("broadsheet cluster apply"), "{told:?}");
    let mut client = two.client();
    let (id, text) = (id("more", 1), &many("more", 1, "comp.test", 100)[0]);
    until("the second node takes articles", || {
        client.say(take_this(&id, text));
        let line = client.line();
        line.starts_with("239 ") || line.starts_with("439 ")
    });
    for served in [one, two] {
        served.daemon.stop();
    }
    assert!(rows(&programs[0]) == rows(&programs[1]));
}
