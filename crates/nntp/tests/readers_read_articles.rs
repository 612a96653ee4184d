//! GROUP, LISTGROUP, NEXT, LAST, ARTICLE, HEAD, BODY, STAT (RFC 3977, 6.1 and 6.2).

use crate::backend;

use backend::{Client, Fake};
use nntp::Next;

#[test]
fn groups_are_selected() {
    let mut client = Client::new(Fake::usual());
    client.play(
        "> STAT
         < 412 No newsgroup selected
         > GROUP no.such
         < 411 No such group
         > GROUP local.secret
         < 411 No such group
         > GROUP misc.test
         < 211 4 1 5 misc.test
         > STAT
         < 223 1 <1@test>
         > LAST
         < 422 No previous article
         > NEXT
         < 223 2 <2@test>
         > NEXT
         < 223 4 <4@test>
         > LAST
         < 223 2 <2@test>
         > STAT 5
         < 223 5 <5@test>
         > NEXT
         < 421 No next article
         > STAT 3
         < 423 No such article in this group
         > STAT
         < 223 5 <5@test>
         > GROUP no.such
         < 411 No such group
         > STAT
         < 223 5 <5@test>
         > GROUP misc.empty
         < 211 0 8 7 misc.empty
         > STAT
         < 420 No current article
         > NEXT
         < 420 No current article
         > STAT 1
         < 423 No such article in this group",
    );
}

#[test]
fn numbers_are_listed() {
    let mut client = Client::new(Fake::usual());
    client.play(
        "> LISTGROUP
         < 412 No newsgroup selected
         > LISTGROUP misc.test
         < 211 4 1 5 misc.test list follows
         < 1
         < 2
         < 4
         < 5
         < .
         > LISTGROUP misc.test 3-4
         < 211 4 1 5 misc.test list follows
         < 4
         < .
         > STAT
         < 223 1 <1@test>
         > NEXT
         < 223 2 <2@test>
         > LISTGROUP
         < 211 4 1 5 misc.test list follows
         < 1
         < 2
         < 4
         < 5
         < .
         > STAT
         < 223 1 <1@test>
         > LISTGROUP misc.test 9-2
         < 211 4 1 5 misc.test list follows
         < .
         > LISTGROUP misc.test 77-
         < 211 4 1 5 misc.test list follows
         < .
         > LISTGROUP misc.empty
         < 211 0 8 7 misc.empty list follows
         < .",
    );
}

#[test]
fn articles_are_sent_whole_and_in_parts() {
    let mut client = Client::new(Fake::usual());
    let whole = client.backend.articles[1].wire.clone();
    let head = whole[..client.backend.articles[1].header_len].to_vec();
    for is_lent in [false, true] {
        client.backend.shared_above = if is_lent { 0 } else { 2000 };
        client.say("GROUP misc.test\r\n");
        let got = client.say("ARTICLE 2\r\n");
        assert_eq!(got, [b"220 2 <2@test>\r\n", &whole[..]].concat());
        assert_eq!(client.say("ARTICLE"), b"");
        assert_eq!(client.say("\r\n"), got);
        let got = client.say("ARTICLE <2@test>\r\n");
        assert_eq!(got, [b"220 0 <2@test>\r\n", &whole[..]].concat());
        let got = client.say("HEAD <2@test>\r\n");
        assert_eq!(got, [b"221 0 <2@test>\r\n", &head[..], b".\r\n"].concat());
        let got = client.say("BODY\r\n");
        assert_eq!(got, b"222 2 <2@test>\r\n..two\r\ndots\r\n.\r\n");
        assert_eq!(client.say("STAT <2@test>\r\n"), b"223 0 <2@test>\r\n");
    }
    client.play(
        "> ARTICLE <none@test>
         < 430 No such article
         > HEAD <secret@test>
         < 430 No such article
         > STAT 9223372036854775807
         < 423 No such article in this group
         > QUIT
         < 205 Goodbye",
    );
    assert_eq!(client.next, Next::Close);
}

#[test]
fn errors_get_403() {
    let mut client = Client::new(Fake::usual());
    client.say("GROUP misc.test\r\n");
    client.backend.fails_at = Some(0);
    client.play(
        "> ARTICLE 1
         < 403 Lookup failed; try again later
         > ARTICLE <1@test>
         < 403 Lookup failed; try again later
         > NEXT
         < 403 Lookup failed; try again later
         > GROUP misc.test
         < 403 Lookup failed; try again later
         > OVER 1-
         < 403 Lookup failed; try again later
         > LIST NEWSGROUPS
         < 403 Lookup failed; try again later",
    );
}

/// RFC 3977, 3.6: the header ends with an empty line, also of an article that was sent without one.
#[test]
fn an_article_without_a_body_has_its_empty_line() {
    let mut fake = Fake::usual();
    let header = "Path: a\r\nNewsgroups: misc.empty\r\nMessage-ID: <bare@test>\r\n";
    fake.add(header, "", &[("misc.empty", 8)], 900_000_020);
    let stored = fake.articles.last_mut().unwrap();
    stored.wire = format!("{header}.\r\n").into_bytes();
    let mut client = Client::new(fake);
    let got = |client: &mut Client, command: &str| {
        String::from_utf8(client.say(format!("{command} <bare@test>\r\n"))).unwrap()
    };
    assert_eq!(
        got(&mut client, "ARTICLE"),
        format!("220 0 <bare@test>\r\n{header}\r\n.\r\n")
    );
    assert_eq!(
        got(&mut client, "HEAD"),
        format!("221 0 <bare@test>\r\n{header}.\r\n")
    );
    assert_eq!(got(&mut client, "BODY"), "222 0 <bare@test>\r\n.\r\n");
}

#[test]
fn an_error_in_a_long_reply_ends_the_connection() {
    let mut client = Client::new(Fake::usual());
    client.say("GROUP misc.test\r\n");
    client.backend.lookups = 0;
    client.backend.fails_at = Some(2);
    let got = client.say("OVER 1-\r\nDATE\r\n");
    assert!(got.starts_with(b"224 "));
    assert!(!got.ends_with(b"\r\n.\r\n"));
    assert_eq!(client.next, Next::Close);
}

/// RFC 3977, 3.1.1: no NUL is sent. It is a blank, so that no line becomes another one.
#[test]
fn a_nul_of_an_old_batch_is_sent_as_a_blank() {
    for shared_above in [0, 2000] {
        let mut backend = Fake::usual();
        backend.shared_above = shared_above;
        let header =
            "Path: a\r\nNewsgroups: misc.test\r\nSubject: a\0b\r\nMessage-ID: <nul@test>\r\n";
        backend.add(header, "\0.\r\nx\0y\r\n", &[("misc.test", 6)], 900_000_020);
        let mut client = Client::new(backend);
        let all = client.say("ARTICLE <nul@test>\r\n");
        assert!(all.ends_with(b"Subject: a b\r\nMessage-ID: <nul@test>\r\n\r\n .\r\nx y\r\n.\r\n"));
        let head = client.say("HEAD <nul@test>\r\n");
        assert!(head.ends_with(b"Subject: a b\r\nMessage-ID: <nul@test>\r\n.\r\n"));
        let body = client.say("BODY <nul@test>\r\n");
        assert!(body.ends_with(b"<nul@test>\r\n .\r\nx y\r\n.\r\n"));
    }
}
