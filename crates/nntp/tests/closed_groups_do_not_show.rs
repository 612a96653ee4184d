//! A closed group or article gets the reply of a missing one: 411 or 480, 430, lists, aliases.

use crate::backend;

use std::sync::Arc;

use backend::{ALL, Client, Fake, capabilities};
use nntp::Permissions;

const ACTIVE: &str = "misc.test 0000000005 0000000001 y\n\
    local.secret 0000000002 0000000001 y\n\
    misc.hidden 0000000000 0000000001 =local.secret\n\
    misc.shown 0000000000 0000000001 =misc.test\n";

/// A backend whose `local.*` is closed, existing groups or not.
fn backend() -> Fake {
    let mut backend = Fake::usual();
    backend.active = Arc::new(groups::Active::parse(ACTIVE.into()).expect("an active"));
    for name in ["local.none", "local."] {
        backend.closed_groups.insert(name.as_bytes().to_vec());
    }
    backend
}

#[test]
fn a_closed_group_gets_the_reply_of_a_missing_one() {
    for could_log_in in [false, true] {
        let permissions = Permissions {
            could_log_in,
            ..ALL
        };
        let mut client = Client::with(backend(), capabilities(), permissions);
        client.say("GROUP misc.test\r\n");
        for command in [
            "GROUP NAME",
            "LISTGROUP NAME",
            "LISTGROUP NAME 1-2",
            "LIST ACTIVE NAME",
            "LIST COUNTS NAME",
            "LIST NEWSGROUPS NAME",
            "XGTITLE NAME",
            "NEWNEWS NAME 19700102 000000 GMT",
        ] {
            let mut answers = ["local.secret", "local.none"].map(|name| {
                let line = format!("{}\r\n", command.replace("NAME", name));
                String::from_utf8(client.say(line)).expect("text")
            });
            assert_eq!(answers[0], answers[1], "{command}");
            let group = client.say(command.replace("NAME", "misc.none") + "\r\n");
            let group = String::from_utf8(group).expect("text");
            if could_log_in && group.starts_with("411") {
                // A missing group that would be open gets 411.
                answers[0] = answers[0].replace(
                    "480 Authentication required (AUTHINFO)",
                    "411 No such group",
                );
            }
            assert_eq!(answers[0], group, "{command}");
        }
        // The selected group is still what it was.
        assert_eq!(client.say("STAT 2\r\n"), b"223 2 <2@test>\r\n");
    }
}

#[test]
fn an_article_of_closed_groups_gets_the_reply_of_a_missing_one() {
    for could_log_in in [false, true] {
        let permissions = Permissions {
            could_log_in,
            ..ALL
        };
        let mut client = Client::with(backend(), capabilities(), permissions);
        for command in [
            "ARTICLE ID",
            "HEAD ID",
            "BODY ID",
            "STAT ID",
            "OVER ID",
            "HDR Subject ID",
            "HDR X-Odd ID",
            "HDR :lines ID",
            "XHDR Newsgroups ID",
            "XPAT Subject ID *",
        ] {
            for id in ["<secret@test>", "<none@test>"] {
                let got = client.say(command.replace("ID", id) + "\r\n");
                let got = String::from_utf8_lossy(&got).into_owned();
                assert_eq!(got, "430 No such article\r\n", "{command} {id}");
            }
        }
    }
}

#[test]
fn lists_do_not_name_it() {
    let mut backend = backend();
    let texts: [(&str, &str); 5] = [
        // The fault of an editor: no group begins with a blank.
        ("Newsgroups", " local.secret\tHidden\nmisc.test\tA test\n"),
        (
            "Subscriptions",
            "\tlocal.secret\n!local.secret\n@local.secret\nmisc.test\n",
        ),
        (
            "ActiveTimes",
            "misc.hidden 950000000 you\nlocal.secret 950000000 you\n",
        ),
        (
            "Moderators",
            "local.secret:a@b\nlocal.*:c@d\nmisc.*, local.*:c@d\n@local.secret:c@d\n!! local.secret:c@d\n\\local.secret:c@d\nmisc.test:e@f\n*:%s@g\n",
        ),
        (
            "DistribPats",
            "5:local.*:local\n7:misc.test,!local.secret:x\n1:*:world\n",
        ),
    ];
    for (name, text) in texts {
        backend
            .files
            .insert(name, Arc::new(text.as_bytes().to_vec()));
    }
    Client::new(backend).play(
        "> LIST
         < 215 List follows
         < misc.test 5 1 y
         < misc.hidden 0 1 n
         < misc.shown 0 1 =misc.test
         < .
         > LIST COUNTS misc.h*
         < 215 List follows
         < misc.hidden 0 1 0 n
         < .
         > NEWGROUPS 19980101 000000 GMT
         < 231 New groups follow
         < misc.hidden 0 1 n
         < .
         > LIST MODERATORS
         < 215 List follows
         < misc.test:e@f
         < *:%s@g
         < .
         > LIST NEWSGROUPS
         < 215 List follows
         < misc.test\tA test
         < .
         > LIST SUBSCRIPTIONS
         < 215 List follows
         < misc.test
         < .
         > LIST DISTRIB.PATS
         < 215 List follows
         < 1:*:world
         < .",
    );
}
