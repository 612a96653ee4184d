//! LIST (RFC 3977, 7.6; RFC 6048), NEWGROUPS, NEWNEWS, XGTITLE, DATE, MODE READER.

use crate::backend;

use std::sync::Arc;

use backend::{ALL, Client, Fake, capabilities};
use groups::Active;
use nntp::{Next, OutBuffer, Permissions, Session};

fn client() -> Client {
    let mut backend = Fake::usual();
    let texts: [(&str, &str); 6] = [
        (
            "Newsgroups",
            "# comment\nmisc.test\tFor tests.\nlocal.secret\tNot told.\n\nmisc.empty Nothing.\n.dot\tdotted\r\n",
        ),
        (
            "ActiveTimes",
            "misc.test 900000000 me\nlocal.secret 900000001 me\nbad line\nmisc.empty 950000000 you\ngone.group 950000000 you\n",
        ),
        ("Motd", "# Hello\n\n.\nthere"),
        ("Distributions", "# comment\nworld\tEverywhere\n"),
        ("Moderators", "*:%s@example.com\n"),
        ("Subscriptions", "misc.empty\nlocal.secret\nmisc.test\n"),
    ];
    for (name, text) in texts {
        backend
            .files
            .insert(name, Arc::new(text.as_bytes().to_vec()));
    }
    Client::new(backend)
}

#[test]
fn lists() {
    client().play(
        "> LIST
         < 215 List follows
         < misc.test 5 1 y
         < misc.empty 7 8 m
         < .
         > LIST ACTIVE *.test,local.*
         < 215 List follows
         < misc.test 5 1 y
         < .
         > LIST ACTIVE misc.*,!*.test
         < 215 List follows
         < misc.empty 7 8 m
         < .
         > LIST XACTIVE misc.test
         < 215 List follows
         < misc.test 5 1 y
         < .
         > LIST ACTIVE local.secret
         < 215 List follows
         < .
         > LIST COUNTS
         < 215 List follows
         < misc.test 5 1 4 y
         < misc.empty 7 8 0 m
         < .
         > LIST NEWSGROUPS
         < 215 List follows
         < misc.test\\tFor tests.
         < misc.empty Nothing.
         < ..dot\\tdotted
         < .
         > LIST NEWSGROUPS misc.t*
         < 215 List follows
         < misc.test\\tFor tests.
         < .
         > LIST ACTIVE.TIMES misc.*
         < 215 List follows
         < misc.test 900000000 me
         < misc.empty 950000000 you
         < .
         > LIST MOTD
         < 215 List follows
         < # Hello
         < 
         < ..
         < there
         < .
         > LIST DISTRIBUTIONS
         < 215 List follows
         < world\\tEverywhere
         < .
         > LIST MODERATORS
         < 215 List follows
         < *:%s@example.com
         < .
         > LIST SUBSCRIPTIONS
         < 215 List follows
         < misc.empty
         < misc.test
         < .
         > LIST DISTRIB.PATS
         < 503 List not available
         > LIST OVERVIEW.FMT
         < 215 Fields of the overview follow
         < Subject:
         < From:
         < Date:
         < Message-ID:
         < References:
         < Bytes:
         < Lines:
         < Xref:full
         < .
         > LIST HEADERS MSGID
         < 215 Field list follows
         < :
         < :bytes
         < :lines
         < .
         > XGTITLE misc.e*
         < 282 List follows
         < misc.empty Nothing.
         < .
         > XGTITLE
         < 481 Wildmat or selected group required
         > GROUP misc.test
         < 211 4 1 5 misc.test
         > XGTITLE
         < 282 List follows
         < misc.test\\tFor tests.
         < .",
    );
}

#[test]
fn new_groups_and_articles() {
    client().play(
        "> DATE
         < 111 20010909014640
         > NEWGROUPS 19980101 000000 GMT
         < 231 New groups follow
         < misc.test 5 1 y
         < misc.empty 7 8 m
         < .
         > NEWGROUPS 20000208 085320 GMT
         < 231 New groups follow
         < misc.empty 7 8 m
         < .
         > NEWGROUPS 000208 085321 gmt
         < 231 New groups follow
         < .
         > NEWGROUPS 20000230 000000
         < 501 Invalid date or time: use [yy]yymmdd hhmmss
         > NEWNEWS * 19980709 160002 GMT
         < 230 New articles follow
         < <2@test>
         < <4@test>
         < <5@test>
         < .
         > NEWNEWS *,!misc.test 19980709 160002 GMT
         < 230 New articles follow
         < .
         > MODE READER
         < 200 Posting allowed",
    );
}

#[test]
fn times_without_gmt_are_local() {
    let mut client = client();
    client.backend.zone = article::date::FixedOffset(3600);
    client.play(
        "> NEWNEWS * 19980709 170005
         < 230 New articles follow
         < <5@test>
         < .",
    );
}

#[test]
fn clients_without_permission_to_read() {
    let mut nobody = Permissions {
        reads: false,
        ..ALL
    };
    let mut client = Client::with(Fake::usual(), capabilities(), nobody);
    client.play(
        "> GROUP misc.test
         < 502 Permission denied
         > LIST
         < 502 Permission denied
         > STAT <1@test>
         < 502 Permission denied
         > DATE
         < 111 20010909014640",
    );
    nobody.could_log_in = true;
    nobody.posts = false;
    let mut client = Client::with(Fake::usual(), capabilities(), nobody);
    client.play(
        "> GROUP misc.test
         < 480 Authentication required (AUTHINFO)
         > MODE READER
         < 201 Posting prohibited",
    );
    nobody.could_log_in = false;
    let mut client = Client::with(Fake::usual(), capabilities(), nobody);
    client.play(
        "> MODE READER
         < 502 Reading not permitted",
    );
    assert_eq!(client.next, Next::Close);
}

/// `group remove` while a list is written: the lines that follow have the numbers of their own groups.
#[test]
fn a_list_has_the_numbers_of_its_groups_when_others_go() {
    const COUNT: usize = 300;
    let active = |from: usize| -> String {
        (from..COUNT)
            .map(|number| format!("g{number:03} 0000000{number:03} 0000000001 y\n"))
            .collect()
    };
    let mut backend = Fake::new(&active(0));
    backend.checks_per_slice = Some(1);
    backend.files.insert(
        "ActiveTimes",
        Arc::new((0..COUNT).fold(Vec::new(), |mut text, number| {
            text.extend(format!("g{number:03} 950000000 me\n").bytes());
            text
        })),
    );
    for command in ["LIST\r\n", "NEWGROUPS 19990101 000000\r\n"] {
        backend.active = Arc::new(Active::parse(active(0).into_bytes()).unwrap());
        let mut session = Session::new(Arc::new(capabilities()), ALL, false);
        let mut out = OutBuffer::default();
        let mut processed = session.process(command.as_bytes(), &mut backend, &mut out);
        assert_eq!(processed.next, Next::Yield);
        backend.active = Arc::new(Active::parse(active(1).into_bytes()).unwrap());
        while processed.next == Next::Yield {
            backend.checks_in_slice = 0;
            processed = session.process(b"", &mut backend, &mut out);
        }
        let said: Vec<u8> = out.ready().flatten().copied().collect();
        let said = String::from_utf8(said).unwrap();
        let mut lines: Vec<&str> = said.lines().skip(1).collect();
        assert_eq!(lines.pop(), Some("."));
        assert!(lines.len() >= COUNT - 1, "{command}: {}", lines.len());
        for line in lines {
            let number: usize = line[1..4].parse().unwrap();
            assert_eq!(line, format!("g{number:03} {number} 1 y"));
        }
    }
}
