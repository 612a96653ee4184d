//! `broadsheet pull` from INN's nnrpd when something goes wrong: nothing is lost or filed twice, and the next run goes on.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use program::articles::{id, many};
use program::daemon::until;
use program::inn::Inn;
use program::link::Link;
use program::pulling::{filed, has, pull, pulled, pulling};

const GROUPS: [&str; 2] = ["comp.other", "comp.test"];

#[test]
fn cut_connections_and_a_restarted_server() {
    const COUNT: usize = 60;
    let Some(mut inn) = Inn::start(&GROUPS) else {
        return;
    };
    inn.let_readers_in();
    inn.feed(&many("a", COUNT, "comp.test", 20_000));
    let link = Link::start();
    let leaf = pulling(&link.address, "");
    // In the middle of an article, each time a little further.
    for (round, bytes) in [100_000, 150_000, 200_000].into_iter().enumerate() {
        link.heal_for(&inn.address(), bytes);
        let told = pull(&leaf);
        assert_eq!(told.status, 75, "{told:?}");
        let so_far = filed(&leaf, "comp.test");
        assert!(so_far > round as u64 && so_far < COUNT as u64, "{so_far}");
        // Those that came whole are filed, and no others.
        assert!(has(&leaf, &id("a", usize::try_from(so_far).unwrap())));
        link.cut();
    }
    let before = filed(&leaf, "comp.test");
    inn.stop();
    link.heal(&inn.address());
    let told = pull(&leaf);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(told.summary()["why"].is_string(), "{told:?}");
    inn.start_again();
    inn.feed(&many("b", 3, "comp.other", 500));
    link.heal(&inn.address());
    let rest = COUNT as u64 - before + 3;
    assert_eq!(pulled(&leaf), (rest, rest));
    assert_eq!(pulled(&leaf), (0, 0));
    assert_eq!(filed(&leaf, "comp.test"), COUNT as u64);
    leaf.assert_clean();
}

#[test]
fn groups_that_go_and_are_numbered_anew() {
    let Some(inn) = Inn::start(&GROUPS) else {
        return;
    };
    inn.let_readers_in();
    inn.feed(&many("a", 20, "comp.test", 500));
    inn.feed(&many("b", 20, "comp.other", 500));
    let link = Link::start();
    link.heal(&inn.address());
    let leaf = pulling(&link.address, "");
    assert_eq!(pulled(&leaf), (40, 40));
    inn.control(&["rmgroup", "comp.other"]);
    inn.feed(&many("c", 2, "comp.test", 500));
    let told = pull(&leaf);
    assert_eq!(told.status, 0, "{told:?}");
    let counts = ["groups", "groups_missing", "accepted"].map(|of| told.count(of));
    assert_eq!(counts, [1, 1, 2]);
    // The server is set up anew: other numbers for old and new articles, and nothing in the other group.
    let Some(anew) = Inn::start(&GROUPS) else {
        return;
    };
    anew.let_readers_in();
    anew.feed(&many("b", 20, "comp.other", 500)[15..]);
    anew.feed(&many("d", 3, "comp.other", 500));
    link.cut();
    link.heal(&anew.address());
    let told = pull(&leaf);
    assert_eq!(told.status, 0, "{told:?}");
    let counts = ["groups", "groups_renumbered", "accepted"].map(|of| told.count(of));
    assert_eq!(counts, [2, 1, 3], "{told:?}");
    anew.feed(&many("e", 1, "comp.other", 500));
    assert_eq!(pulled(&leaf), (1, 1));
    assert_eq!(
        (filed(&leaf, "comp.test"), filed(&leaf, "comp.other")),
        (22, 24)
    );
}

#[test]
fn articles_that_go_between_the_overview_and_the_fetch() {
    let Some(mut inn) = Inn::start(&GROUPS) else {
        return;
    };
    inn.let_readers_in();
    // The overview tells of articles that are gone, as it does for the moment between the two commands.
    inn.stop();
    let settings = std::fs::read_to_string(inn.path("etc/inn.conf")).unwrap();
    inn.write("etc/inn.conf", &(settings + "nnrpdcheckart: false\n"));
    inn.start_again();
    inn.feed(&many("a", 10, "comp.test", 500));
    for number in [1, 4, 10] {
        std::fs::remove_file(inn.path(&format!("spool/articles/comp/test/{number}"))).unwrap();
    }
    let leaf = pulling(&inn.address(), "");
    let told = pull(&leaf);
    assert_eq!(told.status, 0, "{told:?}");
    let counts = ["gone", "fetched", "accepted"].map(|of| told.count(of));
    assert_eq!(counts, [3, 7, 7], "{told:?}");
    // It does not ask for them again.
    let told = pull(&leaf);
    let counts = ["gone", "fetched"].map(|of| told.count(of));
    assert_eq!(counts, [0, 0], "{told:?}");
    inn.feed(&many("b", 1, "comp.test", 500));
    assert_eq!(pulled(&leaf), (1, 1));
}

#[test]
fn a_login_is_required() {
    let Some(inn) = Inn::start(&GROUPS) else {
        return;
    };
    inn.let_users_in();
    inn.feed(&many("a", 5, "comp.test", 500));
    let login = "user = \"anna\"\npassword_file = \"password\"\nallow_plaintext_login = true";
    let leaf = |keys: &str, password: &str| {
        let leaf = pulling(&inn.address(), keys);
        leaf.write("news/password", password.as_bytes());
        let owner_only = Permissions::from_mode(0o600);
        std::fs::set_permissions(leaf.path("news/password"), owner_only).unwrap();
        leaf
    };
    for (keys, password, code) in [("", "", "480"), (login, "walnutshell\n", "481")] {
        let told = pull(&leaf(keys, password));
        assert_eq!(told.status, 75, "{told:?}");
        let why = told.summary()["why"].as_str().unwrap().to_owned();
        assert!(why.contains(code), "{why}");
    }
    let leaf = leaf(login, "hazelnut\n");
    assert_eq!(pulled(&leaf), (5, 5));
    until("all are here", || filed(&leaf, "comp.test") == 5);
}
