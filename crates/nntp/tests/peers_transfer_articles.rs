//! IHAVE, CHECK, TAKETHIS, POST (RFC 3977, 6.3; RFC 4644), and their errors.

use crate::backend;

use backend::{ALL, Client, Fake, capabilities};
use nntp::{Intake, Next, OutBuffer, Permissions, Session, TransferKind, TransferOutcome};

#[test]
fn streaming() {
    let mut client = Client::new(Fake::usual());
    client.backend.coming.insert(b"<coming@test>".to_vec());
    client.play(
        "> MODE STREAM
         < 203 Streaming permitted
         > CHECK <1@test>
         < 438 <1@test>
         > CHECK <new@test>
         < 238 <new@test>
         > CHECK <coming@test>
         < 431 <coming@test>
         > CHECK nonsense
         < 438 nonsense
         > IHAVE <a>b>
         < 435 a message-id has 3 to 250 bytes: <something@somewhere>
         > CHECK
         < 501 Syntax: CHECK <message-id>
         > CHECK <a b@x>
         < 501 Syntax: CHECK <message-id>",
    );
    let got =
        client.say("TAKETHIS <new@test>\r\nA: b\r\n\r\n..x\r\n.\r\nTAKETHIS <1@test>\r\n.\r\n");
    assert_eq!(got, b"239 <new@test>\r\n439 <1@test> Duplicate\r\n");
    assert_eq!(client.articles, [b"A: b\r\n\r\n..x\r\n"]);
}

#[test]
fn the_article_after_an_invalid_takethis_is_discarded() {
    for (line, code) in [
        ("TAKETHIS", "501 "),
        ("takethis a b c", "501 "),
        ("TAKETHIS <>", "439 <> "),
    ] {
        let mut client = Client::new(Fake::usual());
        let got = client.say(format!("{line}\r\nQUIT\r\n\r\nQUIT\r\n.\r\nDATE\r\n"));
        let got = String::from_utf8(got).unwrap();
        assert!(got.starts_with(code), "{got}");
        assert_eq!(got.lines().nth(1), Some("111 20010909014640"), "{got}");
    }
    let long = format!("TAKETHIS <{}@x>", "x".repeat(1000));
    // An empty article behind a line that ends with a bare LF, too.
    let inputs = ["\r\nQUIT\r\n.\r\nDATE\r\n", "\n.\r\nDATE\r\n"];
    for (portion, rest) in [10, 600, 5000]
        .into_iter()
        .flat_map(|n| inputs.map(|rest| (n, rest)))
    {
        let mut client = Client::new(Fake::usual());
        let input = format!("{long}{rest}");
        let mut got = Vec::new();
        for bytes in input.as_bytes().chunks(portion) {
            got.extend(client.say(bytes));
        }
        assert_eq!(
            String::from_utf8(got).unwrap(),
            "501 Line too long\r\n111 20010909014640\r\n"
        );
    }
}

#[test]
fn too_long_lines_are_rejected() {
    let mut client = Client::new(Fake::usual());
    let line = format!("STAT {}", "1".repeat(600));
    client.play(&format!(
        "> {line}\n< 501 Line too long\n> DATE\n< 111 20010909014640"
    ));
    assert!(client.say(&line).starts_with(b"501 "));
    assert_eq!(client.say("QUIT"), b"");
    assert_eq!(client.say("\r\nDATE\r\n"), b"111 20010909014640\r\n");
}

#[test]
fn too_large_articles_are_discarded() {
    for (command, answer) in [
        (
            "TAKETHIS <n@test>",
            "439 <n@test> Article exceeds 10000 bytes\r\n",
        ),
        (
            "IHAVE <n@test>",
            "335 Send article\r\n437 Article exceeds 10000 bytes\r\n",
        ),
        (
            "POST",
            "340 Send article\r\n441 Article exceeds 10000 bytes\r\n",
        ),
    ] {
        let mut client = Client::new(Fake::usual());
        let mut got = client.say(format!("{command}\r\n"));
        for _ in 0..30 {
            got.extend(client.say("x".repeat(998) + "\r\n"));
        }
        got.extend(client.say(".\r\nDATE\r\n"));
        let wanted = format!("{answer}111 20010909014640\r\n");
        assert_eq!(String::from_utf8(got).unwrap(), wanted);
        assert_eq!(client.backend.rejected.len(), 1);
    }
}

/// The limit is one of the article in native form, as that of rnews is: without the CRs and doubled dots of the wire.
#[test]
fn what_the_wire_adds_does_not_count_as_size() {
    let header = "A: b\r\n\r\n";
    // In native form the header has 6 bytes, and each line of the body 2.
    for (lines, is_taken) in [(4997, true), (4998, false)] {
        for portion in [usize::MAX, 700] {
            let mut client = Client::new(Fake::usual());
            let text = format!("{header}{}.\r\n", "..\r\n".repeat(lines));
            let mut got = client.say("TAKETHIS <n@test>\r\n");
            for part in text.as_bytes().chunks(portion.min(text.len())) {
                got.extend(client.say(part));
            }
            let code = if is_taken { "239" } else { "439" };
            let got = String::from_utf8(got).unwrap();
            assert!(got.starts_with(code), "{lines} in {portion}: {got}");
            assert_eq!(client.backend.rejected.is_empty(), is_taken);
        }
    }
}

/// RFC 3977, 3.1: an initial line has at most 512 bytes with its CRLF, whatever precedes the reason.
#[test]
fn a_reason_behind_a_long_id_is_cut() {
    let id = format!("<{}@test>", "x".repeat(243));
    let why = "no known groups in ".to_owned() + &"long.name,".repeat(100);
    for (kind, outcome) in [
        (
            TransferKind::TakeThis,
            TransferOutcome::Refused(why.clone().into_bytes()),
        ),
        (
            TransferKind::Post,
            TransferOutcome::Deferred(why.clone().into_bytes()),
        ),
        (
            TransferKind::Ihave,
            TransferOutcome::Refused(why.clone().into_bytes()),
        ),
    ] {
        let mut out = OutBuffer::default();
        for _ in 0..2 {
            Session::complete_transfer(kind, id.as_bytes(), &outcome, &mut out);
        }
        let replies: Vec<u8> = out.ready().flatten().copied().collect();
        for line in replies.split_inclusive(|byte| *byte == b'\n') {
            assert_eq!(line.len(), 512, "{kind:?}");
            assert!(line.ends_with(b"\r\n"));
        }
    }
}

#[test]
fn closed_intake() {
    let closed = || {
        let mut client = Client::new(Fake::usual());
        client.backend.intake = Intake::Closed("no\r\nspace".into());
        client
    };
    closed().play(
        "> CHECK <n@test>
         < 431 <n@test>
         > IHAVE <n@test>
         < 436 no  space
         > POST
         < 440 no  space",
    );
    let mut client = closed();
    assert_eq!(client.say("TAKETHIS <n@test>\r\n"), b"400 no  space\r\n");
    assert_eq!(client.next, Next::Close);
}

#[test]
fn a_client_without_permissions() {
    let mut permissions = Permissions {
        sends: false,
        posts: false,
        ..ALL
    };
    let mut client = Client::with(Fake::usual(), capabilities(), permissions);
    client.play(
        "> CHECK <n@test>
         < 502 Permission denied
         > IHAVE <n@test>
         < 502 Permission denied
         > POST
         < 440 Posting not permitted
         > MODE STREAM
         < 502 Permission denied",
    );
    let got = client.say("TAKETHIS <n@test>\r\nQUIT\r\n.\r\n");
    assert_eq!(got, b"502 Permission denied\r\n");
    permissions.could_log_in = true;
    Client::with(Fake::usual(), capabilities(), permissions).play(
        "> CHECK <n@test>
         < 480 Authentication required (AUTHINFO)
         > POST
         < 440 Posting not permitted",
    );
    permissions.could_post = true;
    Client::with(Fake::usual(), capabilities(), permissions).play(
        "> POST
         < 480 Authentication required (AUTHINFO)",
    );
}

/// The end of such a post would never come.
#[test]
fn a_post_with_bare_line_feeds_is_answered() {
    let mut client = Client::new(Fake::usual());
    let mut got = client.say("POST\r\n");
    for part in ["From: a@b\nSubject: s\n", "\nbody\n", ".\n", "DATE\r\n"] {
        got.extend(client.say(part));
    }
    assert_eq!(
        String::from_utf8(got).unwrap(),
        "340 Send article\r\n441 The lines end with LF without CR; send CRLF\r\n111 20010909014640\r\n"
    );
    assert!(client.articles.is_empty());
    // In a post with CRLF, no text ends it.
    let got = client.say("POST\r\nFrom: a@b\r\n\r\nbody\n.\n");
    assert_eq!(got, b"340 Send article\r\n");
    client.say("more\r\n.\r\n");
    assert_eq!(client.articles.len(), 1);
}
