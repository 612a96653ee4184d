//! A pipeline of short commands or articles does not keep the other sessions waiting longer than a time slice, and its replies stay the
//! same.
#![allow(clippy::format_push_string, reason = "a test may be slow")]

use std::sync::Arc;

use crate::backend;

use backend::{ALL, Client, Fake, capabilities};
use groups::Active;
use nntp::{Next, OutBuffer, Permissions, SaslStep, Session};

/// The replies to a pipeline, and the number of time slices, if each is over before the first look at the clock.
fn in_slices(pipeline: &str) -> usize {
    let mut client = Client::new(Fake::usual());
    let whole = client.say(pipeline);
    assert_eq!((client.next, client.slices), (Next::More, 1));
    let mut client = Client::new(Fake::usual());
    client.backend.checks_per_slice = Some(0);
    let pieces = client.say(pipeline);
    assert_eq!(client.next, Next::More);
    assert!(whole == pieces, "{pipeline}");
    client.slices
}

#[test]
fn offers_and_unknown_commands() {
    for line in [
        "CHECK <9@test>",
        "NONSENSE",
        "CHECK",
        "IHAVE <1@test>",
        "MODE STREAM",
    ] {
        let slices = in_slices(&format!("{line}\r\n").repeat(1000));
        assert!(slices >= 1000 / 16, "{line}: {slices} slices");
    }
    assert_eq!(in_slices(&"CHECK <9@test>\r\n".repeat(16)), 1);
}

#[test]
fn articles() {
    let wanted = "TAKETHIS <9@test>\r\nA: b\r\n\r\n..x\r\n.\r\n";
    let known = "TAKETHIS <1@test>\r\nA: b\r\n\r\n..x\r\n.\r\n";
    let unlawful = "TAKETHIS nonsense\r\nA: b\r\n\r\n..x\r\n.\r\n";
    for article in [wanted, known, unlawful] {
        assert_eq!(in_slices(&article.repeat(100)), 100, "{article}");
    }
    let mixed = [wanted, "CHECK <8@test>\r\n", known, "CHECK <7@test>\r\n"].concat();
    assert_eq!(in_slices(&mixed.repeat(50)), 101);
}

/// What follows in the input is processed with the permissions and capabilities of the user.
#[test]
fn a_login_yields() {
    let permissions = Permissions {
        could_log_in: true,
        ..ALL
    };
    let logged_in = Permissions {
        is_logged_in: true,
        ..permissions
    };
    for login in [
        "AUTHINFO SASL SCRAM-SHA-256 AA==\r\nAA==\r\n",
        "AUTHINFO SASL SCRAM-SHA-256 AA==\r\n",
        "AUTHINFO USER a\r\nAUTHINFO PASS b\r\n",
    ] {
        let mut backend = Fake::usual();
        backend.mechanisms = vec!["SCRAM-SHA-256"];
        backend.sasl = vec![SaslStep::Accepted(logged_in, None)];
        if login.lines().count() == 2 && login.contains("SASL") {
            backend.sasl.insert(0, SaslStep::Challenge(b"c".to_vec()));
        }
        let mut session = Session::new(capabilities().into(), permissions, false);
        let mut out = OutBuffer::default();
        let input = format!("{login}NEWNEWS * 19700101 000000\r\n").into_bytes();
        let processed = session.process(&input, &mut backend, &mut out);
        assert_eq!((processed.used, processed.next), (login.len(), Next::Yield));
        let mut without = capabilities();
        without.disabled = vec!["NEWNEWS".to_owned()];
        session.set_capabilities(Arc::new(without));
        out.sent(out.ready().map(<[u8]>::len).sum());
        let rest = &input[processed.used..];
        assert_eq!(
            session.process(rest, &mut backend, &mut out).used,
            rest.len()
        );
        let said: Vec<u8> = out.ready().flatten().copied().collect();
        assert_eq!(said, b"500 Command disabled\r\n");
    }
}

#[test]
fn a_removed_group_is_not_selected_any_more() {
    for command in [
        "STAT",
        "NEXT",
        "LAST",
        "OVER 1-",
        "HDR Subject 1-",
        "ARTICLE 1",
        "LISTGROUP",
    ] {
        let mut client = Client::new(Fake::usual());
        client.say("GROUP misc.test\r\n");
        let others = "misc.empty 0000000007 0000000008 m\n".as_bytes().to_vec();
        client.backend.active = Arc::new(Active::parse(others).unwrap());
        client.play(&format!(
            "> {command}\n< 412 No newsgroup selected\n> STAT\n< 412 No newsgroup selected"
        ));
    }
}
