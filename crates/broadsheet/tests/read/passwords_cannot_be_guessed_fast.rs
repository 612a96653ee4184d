//! An address from which many logins failed has to wait, however often it connects; who has the right password gets in after the wait.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::{Duration, Instant};

use access::flood::FAILED_LOGINS_PER_MINUTE_MAX;
use program::Program;
use program::daemon::PATIENCE;
use program::nntp::{Client, Served, listen};

fn login(client: &mut Client, password: &str) -> String {
    assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
    client.ask(&format!("AUTHINFO PASS {password}"))
}

#[test]
fn after_many_failures_an_address_waits() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(
        &program,
        "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n",
    );
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let told = program.feed(&["user", "add", "--dir", "news", "anna"], b"secretive\n");
    assert_eq!(told.status, 0, "{told:?}");
    let served = Served::start(&program);
    let mut failed = 0;
    'guessing: loop {
        let mut client = served.client();
        // The server closes the connection after so many.
        for _ in 0..5 {
            let reply = login(&mut client, "guessed");
            if reply.starts_with("403 Too many failed logins") {
                break 'guessing;
            }
            assert!(reply.starts_with("481 "), "{reply}");
            failed += 1;
            assert!(failed < 5 * FAILED_LOGINS_PER_MINUTE_MAX);
        }
    }
    assert!(failed >= FAILED_LOGINS_PER_MINUTE_MAX, "{failed}");
    let began = Instant::now();
    while !login(&mut served.client(), "secretive").starts_with("281 ") {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(200));
    }
}
