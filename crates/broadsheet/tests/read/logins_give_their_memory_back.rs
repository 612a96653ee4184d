//! What argon2 needs for a login goes back to the system when the login is over.

use crate::program;

use program::Program;
use program::nntp::{Served, listen};

/// A login takes 19 MiB; so much more than before it may stay, of other things.
const LEFT_BYTES_MAX: usize = 10 << 20;

#[test]
fn at_once() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(
        &program,
        "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n",
    );
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let told = program.feed(&["user", "add", "--dir", "news", "anna"], b"secretive\n");
    assert_eq!(told.status, 0, "{told:?}");
    let served = Served::start(&program);
    let before = served.memory();
    for _ in 0..3 {
        // Several at once, on several threads.
        let mut clients: Vec<_> = (0..4).map(|_| served.client()).collect();
        for client in &mut clients {
            assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
            client.say("AUTHINFO PASS secretive\r\n");
        }
        for client in &mut clients {
            assert!(client.line().starts_with("281 "));
        }
    }
    let after = served.memory();
    assert!(after < before + LEFT_BYTES_MAX, "{before} {after}");
}
