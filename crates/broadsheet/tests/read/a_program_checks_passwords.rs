//! A program of the administrator's is asked about names and passwords, and told where the client comes from and came to, as INN does.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::nntp::{Served, listen};

const ACCESS: &str = "\n[[access]]\nname = \"people\"\nusers = [\"anna\"]\nread = \"*\"\n";

#[test]
fn it_is_told_of_the_connection() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ACCESS);
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let asked = program.path("asked");
    let line = format!("sh -c 'cat > {}; echo User:anna'", asked.display());
    let line = format!("program = {line:?}");
    program.set("program = \"\"", &line);
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
    assert!(client.ask("AUTHINFO PASS secret").starts_with("281 "));
    assert_eq!(client.ask("GROUP comp.test"), "211 0 1 0 comp.test");
    let ours = client.socket().local_addr().unwrap();
    let theirs = client.socket().peer_addr().unwrap();
    let told = std::fs::read_to_string(asked).unwrap();
    for line in [
        format!("ClientIP: {}\r\n", ours.ip()),
        format!("ClientPort: {}\r\n", ours.port()),
        format!("LocalIP: {}\r\n", theirs.ip()),
        format!("LocalPort: {}\r\n", theirs.port()),
        "ClientAuthname: anna\r\n".to_owned(),
        "ClientPassword: secret\r\n".to_owned(),
    ] {
        assert!(told.contains(&line), "{line:?} in {told:?}");
    }
}
