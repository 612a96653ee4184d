//! Posts become articles by RFC 5536 and RFC 5537, point by point.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::site;
use inject::{Draft, Poster, Reveal, Route};
use site::{JANE, TestSite};

fn text(post: &str) -> String {
    let done = TestSite::new().post(post.as_bytes(), &JANE).unwrap();
    assert_eq!(done.route, Route::File);
    String::from_utf8(done.bytes).unwrap()
}

fn code(post: &str) -> &'static str {
    match TestSite::new().post(post.as_bytes(), &JANE) {
        Ok(done) => unreachable!("taken: {}", String::from_utf8_lossy(&done.bytes)),
        Err(refusal) => refusal.code(),
    }
}

const PLAIN: &str = "Newsgroups: misc.test\nSubject: s\n\nbody\n";

/// `PLAIN` with more headers.
fn with(header: &str) -> String {
    format!("{header}\n{PLAIN}")
}

#[test]
fn a_minimal_post_is_completed() {
    assert_eq!(
        text(PLAIN),
        "Path: .POSTED!not-for-mail\n\
         Newsgroups: misc.test\n\
         Subject: s\n\
         From: jane@example.org (Jane Doe)\n\
         Message-ID: <nhab3r.1@example.org>\n\
         Date: Mon, 20 Dec 1993 04:39:21 GMT\n\
         Injection-Date: Mon, 20 Dec 1993 04:39:21 GMT\n\
         Injection-Info: news.example.org\n\
         \n\
         body\n"
    );
}

#[test]
fn the_classic_regression_a_messy_header_becomes_clean() {
    let messy = "newsgroups:misc.test\n\
                 Message-Id:<1@a.example>\n\
                 date: 20 Dec 93 04:30\n\
                 expires: 31 dec 1993\n\
                 PATH: news.example.org!news.example.org!user\n\
                 Distribution: world\n\
                 Organization:\n\
                 X-odd:   kept\n\
                 SUBJECT: a subject\n\
                 \n\
                 body\n";
    assert_eq!(
        text(messy),
        "Path: .POSTED!user\n\
         Newsgroups: misc.test\n\
         Message-ID: <1@a.example>\n\
         Date: Mon, 20 Dec 1993 04:30:00 GMT\n\
         Expires: Fri, 31 Dec 1993 00:00:00 GMT\n\
         X-odd: kept\n\
         Subject: a subject\n\
         From: jane@example.org (Jane Doe)\n\
         Injection-Info: news.example.org\n\
         \n\
         body\n"
    );
}

#[test]
fn headers_of_the_news_system_are_refused() {
    for header in [
        "Injection-Info: x",
        "Xref: a b:1",
        "NNTP-Posting-Host: h",
        "nntp-posting-date: now",
    ] {
        assert_eq!(code(&with(header)), "header-forbidden", "{header}");
    }
    assert_eq!(code(&with("Path: a!.POSTED.b!c")), "header-value");
    assert_eq!(code(&with("Path: .POSTED!c")), "header-value");
    assert_eq!(code(&with("Path: a b!c")), "header-value");
    assert!(text(&with("Path: gate!user")).starts_with("Path: .POSTED!gate!user\n"));
}

#[test]
fn required_headers_occur_once() {
    assert_eq!(code("Newsgroups: misc.test\n\nx\n"), "header-missing");
    assert_eq!(code("Subject: s\n\nx\n"), "header-missing");
    assert_eq!(
        code("Newsgroups: misc.test\nSubject: \n\nx\n"),
        "header-missing"
    );
    assert_eq!(code(&with("Subject: t")), "header-twice");
    assert_eq!(code(&with("Reply-To: a@b\nREPLY-TO: c@d")), "header-twice");
    assert!(text(&with("X-A: 1\nX-A: 2")).contains("X-A: 1\nX-A: 2\n"));
    let nobody = Poster::default();
    let refused = TestSite::new().post(PLAIN.as_bytes(), &nobody).unwrap_err();
    assert_eq!(refused.to_string(), "no From: header");
}

/// Old relays refuse them.
#[test]
fn blanks_around_names_of_groups_are_removed() {
    let post = PLAIN.replace("misc.test", "misc.test ,\n\tno.such");
    let article = text(&post.replacen("Subject", "Followup-To: misc.test, poster.a\nSubject", 1));
    assert!(
        article.contains("\nNewsgroups: misc.test,no.such\n"),
        "{article}"
    );
    assert!(
        article.contains("\nFollowup-To: misc.test,poster.a\n"),
        "{article}"
    );
}

#[test]
fn empty_names_of_groups_are_removed() {
    for list in ["misc.test,", ",misc.test", "misc.test,,", "misc.test, ,"] {
        let article = text(&PLAIN.replace("misc.test", list));
        assert!(article.contains("\nNewsgroups: misc.test\n"), "{article}");
    }
}

#[test]
fn values_are_checked() {
    for header in [
        "From: nobody",
        "From: a b@c",
        "Date: yesterday",
        "Expires: soon",
        "Message-ID: <a b@c>",
        "Message-ID: a@b",
        "Followup-To: a b",
        "Distribution: a b",
        "Supersedes: x",
        "Control: cancel x",
        "Control: cancel",
    ] {
        assert_eq!(code(&with(header)), "header-value", "{header}");
    }
    assert_eq!(
        code(&with("Control: cancel <1@a>\nSupersedes: <1@a>")),
        "header-value"
    );
    for groups in ["misc.test misc.j", "misc/test", ",", ", ,"] {
        let post = PLAIN.replace("misc.test", groups);
        assert_eq!(code(&post), "header-value", "{groups}");
    }
    assert!(text(&with("Followup-To: poster")).contains("Followup-To: poster\n"));
}

#[test]
fn unclosed_comments_are_refused() {
    for header in [
        "From: a@b.example ((((",
        "From: a@b.example (",
        "From: a@b.example (Joe \\)",
        "Sender: a@b.example (",
        "Approved: a@b.example (",
        "Reply-To: a@b.example (",
        "Date: Mon, 20 Dec 1993 04:00:00 +0000 ((((",
        "Injection-Date: Mon, 20 Dec 1993 04:00:00 +0000 (UTC",
        "Expires: Mon, 27 Dec 1993 04:00:00 +0000 (",
        // In another form, which would be rewritten.
        "Date: 20 Dec 93 4:00 (",
    ] {
        let refused = TestSite::new()
            .post(with(header).as_bytes(), &JANE)
            .unwrap_err();
        assert!(
            refused.to_string().contains("no `)'"),
            "{header}: {refused}"
        );
        assert_eq!(refused.code(), "header-value", "{header}");
    }
    for header in [
        "From: a@b.example (Joe (Smith) \\( 5\" long)",
        "From: \"Joe (\" <a@b.example>",
        "Reply-To: nobody in particular",
        // As INN's inews has it.
        "Sender: news%example.org",
        "Date: Mon, 20 Dec 1993 04:00:00 +0000 (UTC)",
    ] {
        let kept = format!("{header}\n");
        assert!(text(&with(header)).contains(&kept), "{header}");
    }
}

#[test]
fn each_member_of_a_list_is_an_address() {
    for list in ["a@b.example, ,;garbage", "a@b.example, x", "x, a@b.example"] {
        for header in ["From", "Approved"] {
            let post = with(&format!("{header}: {list}"));
            assert_eq!(code(&post), "header-value", "{header}: {list}");
        }
    }
    let two = "From: \"Doe, J\" <a@b.example>, c@d.example (C, D)\n";
    assert!(text(&with(two.trim_end())).contains(two));
}

#[test]
fn dates_out_of_range_are_refused() {
    for header in ["Date", "Injection-Date"] {
        let ahead = format!("{header}: 21 Dec 1993 04:39:22 GMT");
        assert_eq!(code(&with(&ahead)), "header-value");
        let long_ago = format!("{header}: 10 Dec 1993 04:39:20 GMT");
        assert_eq!(code(&with(&long_ago)), "header-value");
    }
    let just = "Date: 21 Dec 1993 04:39:21 +0000";
    assert!(text(&with(just)).contains(just), "left as it stands");
}

#[test]
fn injection_date_is_added_unless_another_site_may_inject_as_well() {
    let both = with("Message-ID: <1@a>\nDate: 20 Dec 1993 04:00:00 GMT");
    assert!(!text(&both).contains("Injection-Date"));
    let one = with("Message-ID: <1@a>");
    assert!(text(&one).contains("\nInjection-Date: Mon, 20 Dec 1993 04:39:21 GMT\n"));
    let given = with("Injection-Date: 20 Dec 1993 04:00:00 GMT");
    assert!(text(&given).contains("Injection-Date: 20 Dec 1993 04:00:00 GMT\n"));
}

#[test]
fn only_permitted_data_about_the_poster_is_revealed() {
    let mut site = TestSite::new();
    site.rules.complaints = b"abuse@example.org".to_vec();
    site.rules.organization = b"The House".to_vec();
    site.rules.reveal = Reveal::parse("account, host,logging,sender").unwrap();
    let post = with("From: other@else.example");
    let done = site.post(post.as_bytes(), &JANE).unwrap();
    let text = String::from_utf8(done.bytes).unwrap();
    assert!(
        text.starts_with("Path: .POSTED.client.example!not-for-mail\n"),
        "{text}"
    );
    assert!(text.contains("\nSender: jane@example.org\n"), "{text}");
    assert!(text.contains("\nOrganization: The House\n"), "{text}");
    let info = "\nInjection-Info: news.example.org;\n\tposting-account=\"jane\";\n\t\
                posting-host=\"client.example\";\n\tlogging-data=\"4711\";\n\t\
                mail-complaints-to=\"abuse@example.org\"\n";
    assert!(text.contains(info), "{text}");
    site.rules.reveal = Reveal::default();
    let done = site.post(post.as_bytes(), &JANE).unwrap();
    let text = String::from_utf8(done.bytes).unwrap();
    assert!(!text.contains("jane") && !text.contains("client"), "{text}");
    assert!(Reveal::parse("hosts").is_err());
}

#[test]
fn approved_and_control_messages_need_the_right() {
    let moderator = Poster {
        sender: &inject::EveryGroup { may_approve: true },
        ..JANE
    };
    let site = TestSite::new();
    for post in [
        with("Approved: mod@mods.example"),
        with("Control: newgroup misc.new\nApproved: a@b"),
        with("Control: sendsys"),
        with("Also-Control: sendsys"),
    ] {
        assert_eq!(code(&post), "not-allowed", "{post}");
        assert!(site.post(post.as_bytes(), &moderator).is_ok(), "{post}");
    }
    // A newgroup names the group that it creates, and needs no text.
    let newgroup =
        "Newsgroups: misc.new\nSubject: s\nControl: newgroup misc.new\nApproved: a@b\n\n";
    assert!(site.post(newgroup.as_bytes(), &moderator).is_ok());
    assert!(text(&with("Control: cancel <1@a>")).contains("Control: cancel <1@a>\n"));
}

#[test]
fn subjects_make_control_messages_only_if_configured() {
    let post = PLAIN.replace("Subject: s", "Subject: cmsg cancel <1@a>");
    assert!(!text(&post).contains("Control"));
    let mut site = TestSite::new();
    site.rules.subject_control = true;
    let done = site.post(post.as_bytes(), &JANE).unwrap();
    assert!(
        String::from_utf8(done.bytes)
            .unwrap()
            .contains("\nControl: cancel <1@a>\n")
    );
}

#[test]
fn the_flags_of_the_groups_decide() {
    assert_eq!(code(&PLAIN.replace("misc.test", "misc.no")), "no-posting");
    assert_eq!(
        code(&PLAIN.replace("misc.test", "misc.test,misc.x")),
        "no-posting"
    );
    assert_eq!(
        code(&PLAIN.replace("misc.test", "no.such")),
        "no-such-group"
    );
    let done = TestSite::new()
        .post(
            PLAIN.replace("misc.test", "no.such,old.test").as_bytes(),
            &JANE,
        )
        .unwrap();
    assert_eq!(
        done.notes,
        ["no such group here: `no.such'; the article is filed in the other groups"]
    );
}

#[test]
fn bodies_are_unchanged() {
    let site = TestSite::new();
    let mut post = b"Newsgroups: misc.test\nSubject: s\n\n".to_vec();
    let body = b".\n..x\nbare\rcr\xe9\xff\n\n\ttail \nFrom x\n-- \nsig\n";
    post.extend_from_slice(body);
    assert!(site.post(&post, &JANE).unwrap().bytes.ends_with(body));
    assert!(text("Newsgroups: misc.test\nSubject: s\n\nno end").ends_with("\n\nno end\n"));
    assert_eq!(
        code("Newsgroups: misc.test\nSubject: s\n\n\n \n"),
        "no-text"
    );
    assert_eq!(code("Newsgroups: misc.test\nSubject: s\n\na\0b\n"), "nul");
}

#[test]
fn sizes_are_bounded() {
    let mut site = TestSite::new();
    site.rules.limits.article_bytes_max = 400;
    let long = format!("{PLAIN}{}\n", "x".repeat(400));
    assert_eq!(
        site.post(long.as_bytes(), &JANE).unwrap_err().code(),
        "too-large"
    );
    site.rules.limits.article_bytes_max = 1 << 20;
    site.rules.limits.header_bytes_max = 100;
    assert_eq!(
        site.post(PLAIN.as_bytes(), &JANE).unwrap_err().code(),
        "too-large"
    );
    site.rules.limits.header_bytes_max = 1 << 20;
    site.rules.limits.groups_max = 1;
    let two = PLAIN.replace("misc.test", "misc.test,old.test");
    let refused = site.post(two.as_bytes(), &JANE).unwrap_err();
    assert_eq!(refused.code(), "too-large");
    assert_eq!(refused.to_string(), "the article has more than 1 groups");
    let many = format!("{}{PLAIN}", "X-A: b\n".repeat(1000));
    let refused = site.post(many.as_bytes(), &JANE).unwrap_err();
    assert_eq!(refused.code(), "too-large");
    assert_eq!(
        refused.to_string(),
        "the article has more than 1000 header fields"
    );
}

#[test]
fn posts_to_moderated_groups_become_mail() {
    let site = TestSite::new();
    let post = with("To: x@y\nReferences: <0@a>").replace("misc.test", "misc.test,misc.mod");
    let done = site.post(post.as_bytes(), &JANE).unwrap();
    assert_eq!(
        done.route,
        Route::Mail {
            group: b"misc.mod".to_vec(),
            address: b"misc-mod@mods.example".to_vec()
        }
    );
    assert_eq!(
        String::from_utf8(done.bytes).unwrap(),
        "To: misc-mod@mods.example\n\
         References: <0@a>\n\
         Newsgroups: misc.test,misc.mod\n\
         Subject: s\n\
         From: jane@example.org (Jane Doe)\n\
         Message-ID: <nhab3r.1@example.org>\n\
         Date: Mon, 20 Dec 1993 04:39:21 GMT\n\
         \n\
         body\n"
    );
    let mut nobody = TestSite::new();
    nobody.moderators = inject::Moderators::default();
    assert_eq!(
        nobody.post(post.as_bytes(), &JANE).unwrap_err().code(),
        "no-moderator"
    );
}

#[test]
fn posts_are_locked_and_their_posters_have_the_key() {
    let site = TestSite::new();
    let posted = site.post_locked(PLAIN.as_bytes(), &JANE).unwrap();
    let posted = Draft::parse(&posted.bytes).unwrap();
    let lock = posted.value("Cancel-Lock").unwrap();
    let id = String::from_utf8(posted.value("Message-ID").unwrap().to_vec()).unwrap();
    let fits = |poster: &Poster<'_>, header: &str| {
        let cancel = site.post_locked(with(header).as_bytes(), poster).unwrap();
        let cancel = Draft::parse(&cancel.bytes).unwrap();
        relay::cancel_lock::matches(lock, cancel.value("Cancel-Key").unwrap())
    };
    let joe = Poster {
        account: b"joe",
        ..JANE
    };
    let news = Poster {
        account: b"news",
        is_admin: true,
        ..JANE
    };
    for header in [format!("Control: cancel {id}"), format!("Supersedes: {id}")] {
        assert!(fits(&JANE, &header), "{header}");
        assert!(!fits(&joe, &header), "{header}");
        assert!(fits(&news, &header), "{header}");
    }
    assert!(!fits(&JANE, "Control: cancel <other@a>"));
    // Also-Control cancels too.
    assert!(fits(&JANE, &format!("Also-Control: Cancel {id}")));
    // The poster's own lock stays, after ours.
    let own = site
        .post_locked(
            with("Cancel-Lock: (mine) sha256:abcd= junk").as_bytes(),
            &JANE,
        )
        .unwrap();
    let own = Draft::parse(&own.bytes).unwrap();
    let own = String::from_utf8(own.value("Cancel-Lock").unwrap().to_vec()).unwrap();
    assert!(
        own.starts_with("sha256:") && own.ends_with("\n\tsha256:abcd="),
        "{own}"
    );
    assert_eq!(own.lines().count(), 3);
}

#[test]
fn no_poster_can_hide_the_locks_of_the_site() {
    let site = TestSite::new();
    let element = format!("sha256:{}=", "A".repeat(43));
    for junk in [
        "sha256:AAAA (".to_owned(),
        format!("{element}\n\t").repeat(40) + &element,
        format!("{element}\n\t").repeat(400) + &element,
    ] {
        let post = with(&format!("Cancel-Lock: {junk}"));
        let posted = site.post_locked(post.as_bytes(), &JANE).unwrap();
        let posted = Draft::parse(&posted.bytes).unwrap();
        let id = posted.value("Message-ID").unwrap();
        let holder = relay::cancel_lock::Holder::Site;
        let key = site.secret.key(holder, id).unwrap();
        let lock = posted.value("Cancel-Lock").unwrap();
        assert!(relay::cancel_lock::matches(lock, key.as_bytes()));
        // Nor can he hide his own key.
        let id = String::from_utf8_lossy(id);
        let cancel = with(&format!("Control: cancel {id}\nCancel-Key: {junk}"));
        let cancel = site.post_locked(cancel.as_bytes(), &JANE).unwrap();
        let cancel = Draft::parse(&cancel.bytes).unwrap();
        let key = cancel.value("Cancel-Key").unwrap();
        assert!(relay::cancel_lock::matches(lock, key));
    }
}
