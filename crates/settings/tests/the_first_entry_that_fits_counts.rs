//! Of the `[[access]]` tables the first that fits a client says what he may do.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use access::{Access, ClientIdentity, Feature, Grant, Login, Rights, Tables};
use groups::{Destination, Sender};

const CERTIFICATE: [u8; 32] = [0xab; 32];

fn access(text: &str) -> Access {
    let tables = settings::access(text).unwrap_or_else(|faults| panic!("{faults}"));
    Access::new(&tables, Login::none())
}

fn from(address: &str) -> ClientIdentity<'static> {
    ClientIdentity {
        address: Some(address.parse().unwrap()),
        ..ClientIdentity::default()
    }
}

/// Name, reads x.y, posts to x.y, sends x.y, can log in.
fn seen(rights: &Rights) -> (&str, bool, bool, bool, bool) {
    (
        rights.name(),
        rights.may_read(b"x.y"),
        posts(rights, &["x.y"]),
        sends(rights, &["x.y"]),
        rights.can_log_in(),
    )
}

const HOUSE: &str = r#"
[[access]]
name = "banned"
from = "192.0.2.66"

[[access]]
name = "news.example.net"
from = ["198.51.100.0/24", "2001:db8:1::/48"]
send = "*,@x.local.*"
without = "compress"
size_max = "1 MB"

[[access]]
name = "certified"
certificates = "sha256:abababababababababababababababababababababababababababababababab"
tls = true
send = "*"

[[access]]
name = "anna"
users = ["anna"]
read = "*"
post = "*"
approve = true

[[access]]
name = "people"
users = ["*"]
tls = true
read = "*"
post = "x.*,!x.announce"

[[access]]
name = "lan"
from = ["192.0.2.0/24", "local"]
read = "*,!private.*"
"#;

#[test]
fn without_entries_this_machine_reads_posts_and_sends_and_nobody_else_does_anything() {
    let access = access("");
    let own = access.rights(&from("127.0.0.1"));
    assert_eq!(seen(&own), ("local", true, true, true, false));
    assert!(own.may_read(b"private.x") && !own.may_approve() && own.takes_all());
    let pipe = access.rights(&ClientIdentity::default());
    assert_eq!(seen(&pipe), ("local", true, true, true, false));
    let stranger = access.rights(&from("203.0.113.9"));
    assert_eq!(seen(&stranger), ("", false, false, false, false));
    assert!(stranger.is_nothing() && stranger.reads_none() && stranger.posts_none());
    let user = ClientIdentity {
        user: Some("anna"),
        is_secure: true,
        certificate: Some(CERTIFICATE),
        ..from("203.0.113.9")
    };
    assert!(access.rights(&user).is_nothing());
}

#[test]
fn networks_users_and_certificates_choose_the_entry() {
    let access = access(HOUSE);
    let rights = |client| access.rights(&client);
    let banned = rights(from("192.0.2.66"));
    // An entry with nothing in it is a locked door, even to who could log in elsewhere.
    assert_eq!(seen(&banned), ("banned", false, false, false, false));
    let peer = rights(from("198.51.100.7"));
    assert_eq!(seen(&peer), ("news.example.net", false, false, true, false));
    assert!(peer.is_peer() && !peer.is_reader());
    assert_eq!(rights(from("2001:db8:1::5")).name(), "news.example.net");
    assert_eq!(
        rights(from("::ffff:198.51.100.7")).name(),
        "news.example.net"
    );
    let lan = rights(from("192.0.2.7"));
    assert_eq!(seen(&lan), ("lan", true, false, false, true));
    assert!(!lan.may_read(b"private.x") && !lan.reads_none());
    let outside = rights(from("203.0.113.9"));
    assert_eq!(seen(&outside), ("", false, false, false, true));
    let certified = ClientIdentity {
        certificate: Some(CERTIFICATE),
        is_secure: true,
        ..from("203.0.113.9")
    };
    assert_eq!(
        seen(&rights(certified)),
        ("certified", false, false, true, false)
    );
    let open = ClientIdentity {
        is_secure: false,
        ..certified
    };
    assert_eq!(rights(open).name(), "");
    let anna = ClientIdentity {
        user: Some("anna"),
        ..from("203.0.113.9")
    };
    assert_eq!(seen(&rights(anna)), ("anna", true, true, false, false));
    assert!(rights(anna).may_approve());
    let bert = ClientIdentity {
        user: Some("bert"),
        is_secure: true,
        ..from("203.0.113.9")
    };
    assert_eq!(seen(&rights(bert)), ("people", true, true, false, false));
    assert!(!posts(&rights(bert), &["x.announce"]) && !rights(bert).may_approve());
    // Logged in without TLS, where TLS is asked for, and from no other network: nothing, and no second try.
    let open = ClientIdentity {
        is_secure: false,
        ..bert
    };
    assert_eq!(seen(&rights(open)), ("", false, false, false, false));
}

#[test]
fn an_entry_without_users_that_stands_first_leaves_nothing_to_log_in_for() {
    let access = access(
        "[[access]]\nname = \"all\"\nread = \"*\"\n[[access]]\nname = \"u\"\nusers = \"*\"\npost = \"*\"\nread = \"*\"\n",
    );
    assert_eq!(
        seen(&access.rights(&from("203.0.113.9"))),
        ("all", true, false, false, false)
    );
}

/// Groups that are here are written `name`, aliases `name=group`, those that are not here `name=`.
fn destinations<'a>(groups: &[&'a str]) -> Vec<Destination<'a>> {
    let destination = |group: &&'a str| {
        let (name, behind) = group.split_once('=').unwrap_or((group, group));
        Destination {
            name: name.as_bytes(),
            filed_in: (!behind.is_empty()).then_some(behind.as_bytes()),
        }
    };
    groups.iter().map(destination).collect()
}

fn sends(rights: &Rights, groups: &[&str]) -> bool {
    Grant::Send(rights.clone()).may_file_in(&destinations(groups))
}

fn posts(rights: &Rights, groups: &[&str]) -> bool {
    Grant::Post(rights.clone()).may_file_in(&destinations(groups))
}

#[test]
fn an_alias_opens_no_group_behind_it() {
    let access = access(
        "[[access]]\nname = \"poster\"\nfrom = \"192.0.2.1\"\npost = \"open.*\"\n\
         [[access]]\nname = \"peer\"\nfrom = \"192.0.2.2\"\nsend = \"open.*,@closed.*\"\n\
         [[access]]\nname = \"all\"\nfrom = \"192.0.2.3\"\npost = \"*\"\nsend = \"*\"\n",
    );
    let poster = access.rights(&from("192.0.2.1"));
    assert!(posts(&poster, &["open.a", "open.b=open.a", "open.none="]));
    assert!(!posts(&poster, &["open.b=closed.a"]));
    assert!(!posts(&poster, &["open.a", "open.b=closed.a"]));
    assert!(!posts(&poster, &["closed.b=open.a"]));
    assert!(!posts(&poster, &["open.a", "closed.none="]));
    assert!(!posts(&poster, &[]));
    let peer = access.rights(&from("192.0.2.2"));
    assert!(sends(&peer, &["open.a", "other.a"]));
    assert!(sends(&peer, &["open.none="]));
    assert!(!sends(&peer, &["other.b=open.a"]));
    // It would be filed in a group that is not sent.
    assert!(!sends(&peer, &["open.b=other.a"]));
    assert!(!sends(&peer, &["open.none=", "other.a"]));
    // Poison, before the alias and behind it.
    assert!(!sends(&peer, &["open.a", "open.b=closed.a"]));
    assert!(!sends(&peer, &["open.a", "closed.b=open.a"]));
    assert!(!sends(&peer, &["open.a", "closed.none="]));
    assert!(!sends(&peer, &[]) && !posts(&peer, &["open.a"]) && !sends(&poster, &["open.a"]));
    let all = access.rights(&from("192.0.2.3"));
    assert!(!sends(&all, &[]) && !posts(&all, &[]));
    assert!(posts(&all, &["open.b=closed.a"]) && sends(&all, &["open.b=closed.a"]));
}

#[test]
fn a_peers_article_needs_one_group_that_fits_and_none_that_is_poisoned() {
    let access = access(HOUSE);
    let peer = access.rights(&from("198.51.100.7"));
    let takes = |groups: &[&str]| sends(&peer, groups);
    assert!(takes(&["x.y"]));
    assert!(takes(&["x.y", "z"]));
    assert!(!takes(&["x.y", "x.local.talk"]));
    assert!(!takes(&[]));
    assert!(!peer.has(Feature::Compress) && peer.has(Feature::Streaming));
    assert_eq!(peer.limits().size_max, Some(1_000_000));
    let lan = access.rights(&from("192.0.2.7"));
    assert!(!sends(&lan, &["x.y"]));
}

#[test]
fn passwords_want_tls_unless_the_setting_says_otherwise() {
    let open = from("127.0.0.1");
    let secure = ClientIdentity {
        is_secure: true,
        ..open
    };
    let strict = Access::new(&Tables::default(), Login::none());
    assert!(!strict.takes_passwords(&open) && strict.takes_passwords(&secure));
    assert!(strict.mechanisms(&open).is_empty());
    let login = Login {
        plaintext_passwords: true,
        ..Login::none()
    };
    let lax = Access::new(&Tables::default(), login);
    assert!(lax.takes_passwords(&open));
    assert_eq!(lax.mechanisms(&open), [access::sasl::Mechanism::Plain]);
}
