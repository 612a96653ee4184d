//! Addresses, options that accepted sockets inherit, and errors that say what to do.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::{ipv6_v6only, socket_keepalive, tcp_keepidle, tcp_nodelay};
use server::socket::{
    ListenError, Listener, addresses, bind_beside, canonical, collide, inherited,
};

fn accept(listening: &Listener) -> (TcpStream, SocketAddr) {
    let mut ready = [PollFd::new(&listening.socket, PollFlags::IN)];
    poll(&mut ready, None).unwrap();
    listening.socket.accept().unwrap()
}

#[test]
fn what_is_accepted_has_the_options() {
    let [listening] = &bind_beside(&[], "127.0.0.1:0", false).unwrap()[..] else {
        panic!("one");
    };
    assert!(!listening.is_tls && listening.address.port() != 0);
    let none = listening.socket.accept().unwrap_err();
    assert_eq!(none.kind(), std::io::ErrorKind::WouldBlock);
    let client = TcpStream::connect(listening.address).unwrap();
    let (accepted, peer) = accept(listening);
    assert_eq!(peer, client.local_addr().unwrap());
    assert!(tcp_nodelay(&accepted).unwrap() && socket_keepalive(&accepted).unwrap());
    assert_eq!(tcp_keepidle(&accepted).unwrap().as_secs(), 120);
}

#[test]
fn a_star_is_both_families() {
    let found = bind_beside(&[], "*:0", true).unwrap();
    assert!(found[0].address.is_ipv4() && found[0].is_tls);
    let Some(second) = found.get(1) else {
        eprintln!("skipped: no IPv6 here");
        return;
    };
    assert_eq!(second.address.port(), found[0].address.port());
    assert!(ipv6_v6only(&second.socket).unwrap());
    let _client = TcpStream::connect(("::1", second.address.port())).unwrap();
    accept(second);
}

#[test]
fn a_port_in_use_is_told() {
    let first = bind_beside(&[], "127.0.0.1:0", false).unwrap();
    let told = bind_beside(&[], &first[0].address.to_string(), false).unwrap_err();
    assert!(matches!(told, ListenError::InUse { .. }));
    assert!(told.to_string().contains("`ss -ltnp sport = :"), "{told}");
}

#[test]
fn where_a_given_socket_listens_already_it_will_do() {
    let given = bind_beside(&[], "127.0.0.1:0", false).unwrap();
    let address = given[0].address;
    assert!(
        bind_beside(&given, &address.to_string(), false)
            .unwrap()
            .is_empty()
    );
    // Not for another kind of service.
    let told = bind_beside(&given, &address.to_string(), true).unwrap_err();
    assert!(matches!(told, ListenError::InUse { .. }), "{told}");
    // The wildcard address covers each address.
    let given = bind_beside(&[], "0.0.0.0:0", false).unwrap();
    let text = format!("127.0.0.1:{}", given[0].address.port());
    assert!(bind_beside(&given, &text, false).unwrap().is_empty());
    // An IPv6 socket of systemd accepts IPv4, too, unless the unit says otherwise.
    let Ok(both) = std::net::TcpListener::bind("[::]:0") else {
        eprintln!("skipped: no IPv6 here");
        return;
    };
    let address = both.local_addr().unwrap();
    let given = [Listener {
        socket: both,
        is_tls: false,
        address,
    }];
    let text = format!("*:{}", address.port());
    assert!(bind_beside(&given, &text, false).unwrap().is_empty());
}

#[test]
fn addresses_of_which_one_takes_in_the_other_collide() {
    for (one, other, are) in [
        ("127.0.0.1:119", "127.0.0.1:119", true),
        ("127.0.0.1:119", "127.0.0.1:120", false),
        ("127.0.0.1:119", "127.0.0.2:119", false),
        ("127.0.0.1:0", "127.0.0.1:0", false),
        ("0.0.0.0:119", "127.0.0.1:119", true),
        ("[::]:119", "[::1]:119", true),
        ("[::]:119", "127.0.0.1:119", false),
    ] {
        let [a, b] = [one, other].map(|text| text.parse().unwrap());
        assert_eq!((collide(a, b), collide(b, a)), (are, are), "{one} {other}");
    }
}

#[test]
fn an_address_of_another_machine_is_told() {
    let told = bind_beside(&[], "192.0.2.1:0", false).unwrap_err();
    assert!(matches!(told, ListenError::NotLocal { .. }), "{told}");
}

#[test]
fn only_addresses_with_ports_are_taken() {
    for wrong in [
        "119",
        "*",
        "*:",
        "*:+1",
        "*:65536",
        "news.example:119",
        "1.2.3:119",
        "::1",
        "[::1]",
        "a\n:1",
    ] {
        let told = addresses(wrong).unwrap_err().to_string();
        assert!(
            told.contains("is not a valid listening address") && !told.contains('\n'),
            "{told}"
        );
    }
    assert_eq!(
        addresses("[::1]:563").unwrap(),
        ["[::1]:563".parse().unwrap()]
    );
    assert_eq!(addresses("*:119").unwrap().len(), 2);
    assert_eq!(addresses("127.0.0.1:119, [::1]:119,").unwrap().len(), 2);
    assert!(addresses(" ").unwrap().is_empty());
}

#[test]
fn mapped_addresses_are_ipv4() {
    let peer = "[::ffff:192.0.2.1]:7".parse().unwrap();
    assert_eq!(canonical(peer).to_string(), "192.0.2.1:7");
    let peer = "[2001:db8::1]:7".parse().unwrap();
    assert_eq!(canonical(peer), peer);
}

#[test]
fn without_systemd_nothing_is_inherited() {
    assert!(inherited().unwrap().is_empty());
}

/// The words of the one below.
const GREETING: &[u8] = b"200 by systemd\r\n";

#[test]
fn sockets_of_systemd_are_taken() {
    let free = bind_beside(&[], "127.0.0.1:0", false).unwrap()[0].address;
    let spawned = Command::new("systemd-socket-activate")
        .args(["-l", &free.to_string(), "--fdname=nntps"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sockets_listen_on_configured_addresses::started_by_systemd",
            "--ignored",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        eprintln!("skipped: systemd-socket-activate is not installed");
        return;
    };
    // It reports when it listens.
    let mut told = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut told).unwrap();
    assert!(told.contains("Listening on"), "{told}");
    let mut client = TcpStream::connect(free).unwrap();
    let mut read = Vec::new();
    client.read_to_end(&mut read).unwrap();
    assert_eq!(read, GREETING);
    assert!(child.wait().unwrap().success());
}

#[test]
#[ignore = "the test above runs it in a process with an inherited socket"]
fn started_by_systemd() {
    let found = inherited().unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_tls, "by its name");
    // A connection that waited has the options of the unit; later ones have ours.
    let listener = &found[0].socket;
    assert!(tcp_nodelay(listener).unwrap() && socket_keepalive(listener).unwrap());
    let (mut accepted, _) = accept(&found[0]);
    accepted.write_all(GREETING).unwrap();
    assert!(inherited().unwrap().is_empty(), "only once");
}
