//! A connection is closed after `LOGINS_FAILED_MAX` wrong passwords.

use crate::backend;

use backend::{ALL, Client, Fake, capabilities};
use nntp::{LOGINS_FAILED_MAX, Next, Permissions, SaslStep};

#[test]
fn after_the_limit() {
    let permissions = Permissions {
        could_log_in: true,
        ..ALL
    };
    let mut client = Client::with(Fake::new(""), capabilities(), permissions);
    let guess = "AUTHINFO USER a\r\nAUTHINFO PASS b\r\n";
    client.backend.sasl = vec![
        SaslStep::Failed("Too many"),
        SaslStep::Malformed("no such thing"),
    ];
    assert_eq!(
        client.say(guess),
        b"381 Password required\r\n403 Too many\r\n"
    );
    assert_eq!(
        client.say(guess),
        b"381 Password required\r\n482 no such thing\r\n"
    );
    for number in 1..=LOGINS_FAILED_MAX {
        assert_eq!(client.next, Next::More, "{number}");
        let said = client.say(guess);
        assert!(said.ends_with(b"481 Wrong name or password\r\n"));
    }
    assert_eq!(client.next, Next::Close);
    assert_eq!(client.say("DATE\r\n"), b"");
}
