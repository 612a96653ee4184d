//! newgroup, rmgroup and checkgroups change active, active.times and newsgroups as the policy lets them, and tell of it.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use std::fs;

use newsdir::{NOW, Newsdir, article};
use relay::control::events::{Event, newest};

/// Anybody may, as far as control.ctl goes.
const ANYBODY: &str = "all:*:*:doit\n";

fn newsdir(control_ctl: &str) -> Newsdir {
    newsdir_with(newsdir::ACTIVE, control_ctl)
}

fn newsdir_with(active: &str, control_ctl: &str) -> Newsdir {
    let newsdir = Newsdir::with(active, newsdir::SYS);
    fs::write(newsdir.path().join("control.ctl"), control_ctl).unwrap();
    fs::write(
        newsdir.path().join("newsgroups"),
        "comp.std\t\tStandards.\ncomp.lang.c\t\tThe language C.\n",
    )
    .unwrap();
    fs::write(newsdir.path().join("active.times"), "comp.std 1 old@x\n").unwrap();
    newsdir
}

fn control(id: &str, control: &str, body: &str) -> String {
    let control = format!("Control: {control}");
    article(id, "comp.std", &[&control, "Approved: boss@near.example"])
        .replace("body\n.dot\n", body)
}

fn read(newsdir: &Newsdir, file: &str) -> String {
    fs::read_to_string(newsdir.path().join(file)).unwrap()
}

fn line_of(newsdir: &Newsdir, group: &str) -> Option<String> {
    let active = read(newsdir, "active");
    let line = active
        .lines()
        .find(|line| line.split(' ').next() == Some(group));
    line.map(str::to_owned)
}

fn events(newsdir: &Newsdir) -> Vec<Event> {
    newest(newsdir.path(), 1000).unwrap()
}

fn last(newsdir: &Newsdir) -> (String, String) {
    let event = events(newsdir).pop().unwrap();
    (event.done, event.why)
}

#[test]
fn a_new_group_is_made_with_all_that_belongs_to_it() {
    let newsdir = newsdir(ANYBODY);
    let body = "A charter.\n\nFor your newsgroups file:\ncomp.new\tNew things. (Moderated)\n";
    newsdir.file(&[
        &control("<1@a>", "newgroup comp.new moderated", body),
        &article("<2@a>", "comp.new", &["Approved: mod@x"]),
    ]);
    assert_eq!(
        line_of(&newsdir, "comp.new").unwrap(),
        "comp.new 0000000001 00001 m"
    );
    let times = format!(
        "comp.std 1 old@x\ncomp.new {} user@near.example\n",
        NOW.seconds
    );
    assert_eq!(read(&newsdir, "active.times"), times);
    assert_eq!(
        read(&newsdir, "newsgroups"),
        "comp.std\t\tStandards.\ncomp.lang.c\t\tThe language C.\ncomp.new\t\tNew things. (Moderated)\n"
    );
    assert_eq!(newsdir.links("<2@a>").unwrap(), "comp.new/1");
    assert_eq!(
        newsdir.log()[..2],
        [
            "near.example + <1@a> all.example",
            "near.example c <1@a> control `newgroup comp.new moderated': made, moderated"
        ]
    );
    let event = events(&newsdir).pop().unwrap();
    assert_eq!(
        [
            event.done,
            event.id,
            event.control,
            event.group,
            event.from,
            event.approved
        ],
        [
            "acted",
            "<1@a>",
            "newgroup comp.new moderated",
            "comp.new",
            "user@near.example",
            "boss@near.example"
        ]
    );
    assert_eq!(
        event.verified,
        "no: it is not signed: it has no X-PGP-Sig header"
    );
    assert_eq!(event.why, "made, moderated");
}

#[test]
fn the_status_of_a_group_changes_and_what_is_so_already_is_ignored() {
    let active = format!("{}comp.local 0000000000 00001 n\n", newsdir::ACTIVE);
    let newsdir = newsdir_with(&active, ANYBODY);
    newsdir.file(&[&control("<1@a>", "newgroup comp.lang.c moderated", "")]);
    assert_eq!(
        line_of(&newsdir, "comp.lang.c").unwrap(),
        "comp.lang.c 0000000041 00001 m"
    );
    newsdir.file(&[&control("<2@a>", "newgroup comp.lang.c moderated", "")]);
    assert_eq!(
        last(&newsdir),
        (
            "nothing".into(),
            "the group exists already, moderated".into()
        )
    );
    newsdir.file(&[&control("<3@a>", "newgroup comp.lang.c unmoderated", "")]);
    assert_eq!(
        line_of(&newsdir, "comp.lang.c").unwrap(),
        "comp.lang.c 0000000041 00001 y"
    );
    let body = "For your newsgroups file:\ncomp.lang.c\tC and only C.\n";
    newsdir.file(&[&control("<4@a>", "newgroup comp.lang.c", body)]);
    assert_eq!(last(&newsdir), ("acted".into(), "new description".into()));
    assert!(read(&newsdir, "newsgroups").contains("comp.lang.c\t\tC and only C.\n"));
    // The administrator's own flags stay.
    let before = read(&newsdir, "active");
    let own = before.lines().filter(|line| !line.ends_with(['y', 'm']));
    let own: Vec<&str> = own.collect();
    assert_eq!(own.len(), 3, "{own:?}");
    for line in own {
        let group = line.split(' ').next().unwrap();
        for kind in ["newgroup", "rmgroup"] {
            let message = format!("{kind} {group}");
            newsdir.file(&[&control(&format!("<{kind}.{group}@a>"), &message, "")]);
            assert_eq!(last(&newsdir).0, "nothing", "{message}");
            assert_eq!(line_of(&newsdir, group).unwrap(), line);
        }
    }
    // Times are those of the making.
    assert_eq!(read(&newsdir, "active.times"), "comp.std 1 old@x\n");
}

#[test]
fn a_removed_group_is_out_of_three_files_and_its_numbers_are_not_given_again() {
    let active = newsdir::ACTIVE.replace("comp.alias 0000000000 00001 =comp.std\n", "");
    let newsdir = newsdir_with(&active, ANYBODY);
    newsdir.file(&[
        &article("<1@a>", "comp.std", &[]),
        &control("<2@a>", "rmgroup comp.std", ""),
    ]);
    assert_eq!(line_of(&newsdir, "comp.std"), None);
    assert_eq!(read(&newsdir, "active.times"), "");
    assert_eq!(
        read(&newsdir, "newsgroups"),
        "comp.lang.c\t\tThe language C.\n"
    );
    assert_eq!(last(&newsdir), ("acted".into(), "removed".into()));
    newsdir.file(&[&control("<3@a>", "rmgroup comp.std", "")]);
    assert_eq!(last(&newsdir), ("nothing".into(), "no such group".into()));
    newsdir.file(&[&control("<4@a>", "newgroup comp.std", "")]);
    assert_eq!(
        line_of(&newsdir, "comp.std").unwrap(),
        "comp.std 0000000001 00001 y"
    );
    for group in ["control", "junk"] {
        newsdir.file(&[&control(
            &format!("<{group}@a>"),
            &format!("rmgroup {group}"),
            "",
        )]);
        assert_eq!(last(&newsdir).0, "refused");
        assert!(line_of(&newsdir, group).is_some());
    }
}

#[test]
fn what_lacks_something_is_refused() {
    let newsdir = newsdir(ANYBODY);
    let unapproved = article("<0@a>", "comp.std", &["Control: newgroup comp.new"]);
    let old = control("<00@a>", "newgroup comp.new", "").replace("1 Jun 2001", "1 May 2001");
    let mut messages = vec![(unapproved, "no Approved"), (old, "more than 10 days old")];
    for (number, (text, why)) in [
        ("newgroup", "names no group"),
        ("newgroup comp.new maybe", "its flag is `maybe'"),
        ("newgroup ../../etc/passwd", "dot"),
        ("newgroup -rf", "begin with a letter"),
        ("newgroup comp.`reboot`", "`"),
        ("newgroup comp.$(id)", "`$"),
        ("newgroup Comp.New", "upper-case"),
        ("newgroup comp.a-name-that-is-too-long-for-this", "30"),
        ("newgroup alt.new", "the ME line of sys"),
        ("newgroup control.new", "reserved"),
        ("newgroup control moderated", "reserved"),
        ("newgroup junk moderated", "reserved"),
        ("newgroup to", "reserved"),
        ("newgroup to.near", "reserved"),
        ("newgroup poster", "reserved"),
        ("newgroup example.a", "reserved"),
        ("rmgroup control", "reserved"),
    ]
    .into_iter()
    .enumerate()
    {
        messages.push((control(&format!("<{}@a>", number + 1), text, ""), why));
    }
    let before = read(&newsdir, "active");
    for (text, why) in &messages {
        newsdir.file(&[text]);
        let told = last(&newsdir);
        assert_eq!(told.0, "refused", "{text}");
        assert!(told.1.contains(why), "{why}: {told:?}");
    }
    // The same but for the number in `control`.
    let after = read(&newsdir, "active");
    assert_eq!(before.lines().count(), after.lines().count());
    assert_eq!(events(&newsdir).len(), messages.len());
}

#[test]
fn hostile_descriptions_stay_one_line() {
    let newsdir = newsdir(ANYBODY);
    let body = format!(
        "For your newsgroups file:\ncomp.new\t\u{1b}[2J\0evil\rline\t{}\ncomp.two\tNot asked for.\n",
        "x".repeat(5000)
    );
    newsdir.file(&[&control("<1@a>", "newgroup comp.new", &body)]);
    let text = read(&newsdir, "newsgroups");
    assert_eq!(text.lines().count(), 3);
    let line = text.lines().last().unwrap();
    assert!(line.starts_with("comp.new\t\t[2J evil line x"), "{line}");
    assert!(line.len() < 600);
}

#[test]
fn the_policy_may_change_while_filing_goes_on() {
    let newsdir = newsdir("newgroup:*:*:drop\n");
    let mut filer = newsdir.filer();
    let mut file = |text: &str| {
        filer
            .file(text.as_bytes(), article::Form::Native, NOW)
            .unwrap();
        filer.commit().unwrap();
    };
    use ::article;
    file(&control("<1@a>", "newgroup comp.one", ""));
    assert!(events(&newsdir).is_empty(), "what is dropped is not told");
    fs::write(newsdir.path().join("control.ctl"), "newgroup:*:*:doit\n").unwrap();
    file(&control("<2@a>", "newgroup comp.two", ""));
    assert_eq!(last(&newsdir).0, "acted");
    fs::write(newsdir.path().join("control.ctl"), "newgroup:*:*:do it\n").unwrap();
    file(&control("<3@a>", "newgroup comp.three", ""));
    let told = last(&newsdir);
    assert_eq!(told.0, "refused");
    assert!(
        told.1
            .contains("control.ctl line 1: `do it' is not an action"),
        "{told:?}"
    );
    fs::write(newsdir.path().join("control.ctl"), "newgroup:*:*:mail\n").unwrap();
    file(&control("<4@a>", "newgroup comp.four", ""));
    assert_eq!(last(&newsdir).0, "waits");
    let groups = ["one", "two", "three", "four"]
        .map(|name| line_of(&newsdir, &format!("comp.{name}")).is_some());
    assert_eq!(groups, [false, true, false, false]);
}

#[test]
fn obsolete_and_unknown_messages_are_only_noted() {
    let newsdir = newsdir("all:*:*:log\nsendsys:*:*:mail\n");
    for (number, kind) in [
        "sendsys us.example",
        "version",
        "senduuname",
        "frobnicate; rm -rf /",
    ]
    .iter()
    .enumerate()
    {
        newsdir.file(&[&control(&format!("<{number}@a>"), kind, "")]);
    }
    let told: Vec<_> = events(&newsdir)
        .into_iter()
        .map(|event| (event.done, event.control))
        .collect();
    assert_eq!(told[0], ("waits".into(), "sendsys us.example".into()));
    assert_eq!(told[1], ("refused".into(), "version".into()));
    assert_eq!(told[2], ("refused".into(), "senduuname".into()));
    assert_eq!(told[3], ("refused".into(), "frobnicate; rm -rf /".into()));
}

#[test]
fn a_checkgroups_changes_its_hierarchies_only_and_never_too_much() {
    let newsdir = newsdir("checkgroups:*:comp.*:doit\n/maxdocheckgroups/:*:*:3\n");
    let body = "comp.std\t\tStandards, anew.\ncomp.lang.c\t\tThe language C.\ncomp.mod\t\tNo more moderated.\n\
                comp.new\t\tNew. (Moderated)\nalt.other\t\tNot ours.\n";
    newsdir.file(&[&control("<1@a>", "checkgroups comp #7", body)]);
    assert_eq!(
        last(&newsdir),
        (
            "acted".into(),
            "1 to add, 1 to change, 0 to remove, 3 to describe".into()
        )
    );
    assert!(line_of(&newsdir, "comp.new").unwrap().ends_with(" m"));
    assert!(line_of(&newsdir, "comp.mod").unwrap().ends_with(" y"));
    assert!(line_of(&newsdir, "comp.x").is_some() && line_of(&newsdir, "comp.alias").is_some());
    assert!(read(&newsdir, "newsgroups").contains("comp.std\t\tStandards, anew.\n"));
    assert!(!read(&newsdir, "newsgroups").contains("alt.other"));
    newsdir.file(&[&control("<2@a>", "checkgroups comp #7", body)]);
    assert_eq!(
        last(&newsdir),
        ("nothing".into(), "the groups are already as listed".into())
    );
    // An older list does not come back.
    newsdir.file(&[&control("<3@a>", "checkgroups comp #6", "comp.std\tOld.\n")]);
    let told = last(&newsdir);
    assert_eq!(told.0, "refused");
    assert!(
        told.1
            .starts_with("its serial number 6 is older than 7; if that one was an error"),
        "{told:?}"
    );
    // Three of four groups would go.
    newsdir.file(&[&control(
        "<4@a>",
        "checkgroups comp #8",
        "comp.std\t\tStandards, anew.\n",
    )]);
    let told = last(&newsdir);
    assert_eq!(told.0, "waits");
    assert!(
        told.1
            .contains("it would remove 3 and change 0 of 4 groups"),
        "{told:?}"
    );
    // Two may go.
    let less = "comp.std\t\tStandards, anew.\ncomp.lang.c\t\tThe language C.\n";
    newsdir.file(&[&control("<5@a>", "checkgroups comp #9", less)]);
    assert_eq!(last(&newsdir).0, "acted");
    assert_eq!(line_of(&newsdir, "comp.mod"), None);
    let many: String = (0..4)
        .map(|number| format!("comp.n{number}\tOne more.\n"))
        .collect();
    newsdir.file(&[&control(
        "<6@a>",
        "checkgroups comp #10",
        &format!("{less}{many}"),
    )]);
    let told = last(&newsdir);
    assert!(
        told.0 == "waits" && told.1.contains("/maxdocheckgroups/"),
        "{told:?}"
    );
}

#[test]
fn a_group_behind_an_alias_stays_until_the_administrator_decides() {
    let newsdir = newsdir(ANYBODY);
    newsdir.file(&[&control("<1@a>", "rmgroup comp.std", "")]);
    let told = last(&newsdir);
    assert_eq!(told.0, "waits", "{told:?}");
    assert!(told.1.contains("comp.alias is an alias of the group"));
    let less = "comp.lang.c\t\tThe language C.\n";
    newsdir.file(&[&control("<2@a>", "checkgroups comp", less)]);
    let told = last(&newsdir);
    assert_eq!(told.0, "acted", "{told:?}");
    assert!(
        told.1.contains("1 to remove")
            && told
                .1
                .contains("comp.std stays, because comp.alias is an alias of it"),
        "{told:?}"
    );
    assert_eq!(line_of(&newsdir, "comp.mod"), None);
    assert!(line_of(&newsdir, "comp.std").is_some());
    newsdir.file(&[&control("<3@a>", "checkgroups comp", less)]);
    assert_eq!(last(&newsdir).0, "waits");
    // Without the alias it goes.
    let active = read(&newsdir, "active").replace("comp.alias 0000000000 00001 =comp.std\n", "");
    fs::write(newsdir.path().join("active"), active).unwrap();
    newsdir.file(&[&control("<4@a>", "rmgroup comp.std", "")]);
    assert_eq!(last(&newsdir), ("acted".into(), "removed".into()));
}

#[test]
fn a_checkgroups_removes_no_group_that_it_mentions() {
    let newsdir = newsdir(ANYBODY);
    let body =
        "comp.std\t\tStandards.\ncomp.lang.c  The language C. (Moderated)\n comp.mod\tMod.\n";
    newsdir.file(&[&control("<1@a>", "checkgroups comp #7", body)]);
    let told = last(&newsdir);
    assert_eq!(told.0, "waits", "{told:?}");
    assert!(
        told.1
            .contains("comp.lang.c stays, because a line with blanks in place of the tab begins with it; 1 more such groups stay"),
        "{told:?}"
    );
    assert!(line_of(&newsdir, "comp.lang.c").unwrap().ends_with(" y"));
    assert!(line_of(&newsdir, "comp.mod").is_some());
}

#[test]
fn a_checkgroups_about_other_hierarchies_than_its_own_is_refused() {
    let newsdir = newsdir(ANYBODY);
    newsdir.file(&[&control(
        "<1@a>",
        "checkgroups comp",
        "alt.a\tA.\nalt.b\tB.\n",
    )]);
    let told = last(&newsdir);
    assert_eq!(told.0, "refused", "{told:?}");
    assert!(
        told.1.contains("none of the groups of its list"),
        "{told:?}"
    );
}

#[test]
fn a_checkgroups_leaves_the_groups_of_the_news_system_alone() {
    let newsdir = newsdir(ANYBODY);
    let body = "control\tAll. (Moderated)\njunk\tRest. (Moderated)\n";
    newsdir.file(&[&control("<1@a>", "checkgroups control junk", body)]);
    assert_eq!(last(&newsdir).0, "nothing");
    assert!(line_of(&newsdir, "control").unwrap().ends_with(" y"));
    assert!(!read(&newsdir, "newsgroups").contains("junk"));
}

#[test]
fn a_checkgroups_names_the_groups_that_it_leaves_out() {
    let newsdir = newsdir(ANYBODY);
    let long = "x".repeat(30);
    let body = format!(
        "comp.std\tS.\ncomp.lang.c\tC.\ncomp.mod\tM. (Moderated)\ncomp.local\tL.\ncomp.{long}\tLong.\ncomp.{long}y\tLonger.\n"
    );
    newsdir.file(&[&control("<1@a>", "checkgroups comp", &body)]);
    let told = last(&newsdir);
    assert_eq!(told.0, "acted", "{told:?}");
    assert!(line_of(&newsdir, &format!("comp.{long}")).is_some());
    assert!(told.1.contains("1 left out"), "{told:?}");
    assert!(told.1.contains(&format!("comp.{long}y")), "{told:?}");
}

#[test]
fn the_word_moderated_goes_with_the_moderation() {
    let newsdir = newsdir(ANYBODY);
    let body = "For your newsgroups file:\ncomp.new\tNew. (Moderated)\n";
    newsdir.file(&[&control("<1@a>", "newgroup comp.new Moderated", body)]);
    assert_eq!(last(&newsdir), ("acted".into(), "made, moderated".into()));
    assert!(read(&newsdir, "newsgroups").contains("comp.new\t\tNew. (Moderated)\n"));
    newsdir.file(&[&control("<2@a>", "newgroup comp.new", "")]);
    assert!(line_of(&newsdir, "comp.new").unwrap().ends_with(" y"));
    assert!(read(&newsdir, "newsgroups").contains("comp.new\t\tNew.\n"));
    // The same by the name alone in a list.
    newsdir.file(&[&control("<3@a>", "newgroup comp.new MODERATED", body)]);
    let list = "comp.new\ncomp.std\ncomp.lang.c\ncomp.mod\tM. (Moderated)\n";
    newsdir.file(&[&control("<4@a>", "checkgroups comp", list)]);
    assert!(line_of(&newsdir, "comp.new").unwrap().ends_with(" y"));
    assert!(read(&newsdir, "newsgroups").contains("comp.new\t\tNew.\n"));
}

#[test]
fn a_flood_of_control_messages_is_bounded() {
    let newsdir = newsdir(ANYBODY);
    let mut filer = newsdir.filer();
    let long = "x".repeat(3000);
    for number in 0..200 {
        let text = control(&format!("<{number}@a>"), &format!("newgroup {long}"), "");
        filer
            .file(text.as_bytes(), ::article::Form::Native, NOW)
            .unwrap();
    }
    filer.commit().unwrap();
    drop(filer);
    let log = read(&newsdir, "control.log");
    assert_eq!(log.lines().count(), 200);
    assert!(log.lines().all(|line| line.len() < 4096));
    // A full log is moved away, once.
    let full = "x".repeat(relay::control::events::LOG_BYTES_MAX as usize);
    fs::write(newsdir.path().join("control.log"), full).unwrap();
    newsdir.file(&[&control("<full@a>", "newgroup", "")]);
    assert_eq!(read(&newsdir, "control.log").lines().count(), 1);
    assert!(newsdir.path().join("control.log.old").exists());
}

#[test]
fn groups_made_by_control_messages_survive_a_rebuild() {
    let newsdir = newsdir(ANYBODY);
    newsdir.file(&[
        &control("<1@a>", "newgroup comp.new moderated", ""),
        &control("<2@a>", "rmgroup comp.lang.c", ""),
        &article("<3@a>", "comp.new", &["Approved: mod@x"]),
    ]);
    let before = read(&newsdir, "active");
    fs::remove_file(newsdir.path().join("active")).unwrap();
    fs::remove_file(newsdir.path().join("index")).unwrap();
    drop(newsdir.filer());
    assert_eq!(read(&newsdir, "active"), before);
}

#[test]
fn ihave_and_sendme_go_to_the_sites_that_answer_them() {
    let sys = format!(
        "{}near.example.ihave:none:f:\nus.example.ihave:none:f:\nnear.example.sendme:none:f:\n",
        newsdir::SYS
    );
    let newsdir = Newsdir::with(newsdir::ACTIVE, &sys);
    newsdir.file(&[
        &control("<1@a>", "ihave <x@y> near.example", ""),
        &control("<2@a>", "sendme near.example", "<x@y>\n"),
        &control("<3@a>", "ihave us.example", ""),
        &control("<4@a>", "ihave unknown.example", ""),
    ]);
    assert_eq!(
        newsdir.log(),
        [
            "near.example + <1@a> all.example near.example.ihave",
            "near.example c <1@a> ignored control `ihave <x@y> near.example': for the batcher",
            "near.example + <2@a> all.example near.example.sendme",
            "near.example c <2@a> ignored control `sendme near.example': for the batcher",
            "near.example + <3@a> all.example",
            "near.example c <3@a> ignored control `ihave us.example': for the batcher",
            "near.example + <4@a> all.example",
            "near.example c <4@a> ignored control `ihave unknown.example': for the batcher",
        ]
    );
}

const LIST: &str = "comp.std\tStandards.\ncomp.lang.c\tThe language C.\ncomp.mod\tModerated. (Moderated)\n\
    comp.local\tOurs.\n";

/// A checkgroups of a sender.
fn checkgroups(id: &str, sender: &str, words: &str, body: &str) -> String {
    control(id, &format!("checkgroups {words}"), body).replace("user@near.example", sender)
}

#[test]
fn a_serial_number_counts_only_of_whom_may_act_and_where() {
    let newsdir = newsdir(
        "checkgroups:*:*:mail\ncheckgroups:boss@x:comp.*:doit\ncheckgroups:part@x:comp.std:doit\n",
    );
    let body = format!("{LIST}other.group\tElsewhere.\n");
    // Neither who may nothing nor who may act on a part keeps out who may act on all.
    newsdir.file(&[
        &checkgroups("<1@a>", "evil@x", "comp other nowhere #999", &body),
        &checkgroups(
            "<2@a>",
            "part@x",
            "comp other nowhere #999",
            "comp.std\tPart.\n",
        ),
        &checkgroups("<3@a>", "boss@x", "comp other nowhere #7", LIST),
    ]);
    assert_eq!(last(&newsdir).0, "acted", "{:?}", last(&newsdir));
    assert_eq!(
        read(&newsdir, "checkgroups.serials"),
        "comp 7 boss@x\ncomp 999 part@x\n"
    );
    for (number, serial) in ["#6 #8", "#99999999999999999999999", "#", "#6"]
        .iter()
        .enumerate()
    {
        let words = format!("comp {serial}");
        let old = "comp.std\tOld.\n";
        newsdir.file(&[&checkgroups(
            &format!("<4.{number}@a>"),
            "boss@x",
            &words,
            old,
        )]);
        let told = last(&newsdir);
        assert_eq!(told.0, "refused", "{told:?}");
        assert!(told.1.contains("serial number"), "{told:?}");
    }
}

#[test]
fn what_the_sender_may_not_touch_does_not_make_room_for_more() {
    let many: String = (0..60)
        .map(|n| format!("misc.g{n} 0000000000 00001 y\n"))
        .collect();
    let active = format!("{}{many}", newsdir::ACTIVE);
    let newsdir = Newsdir::with(&active, &newsdir::SYS.replace("comp", "comp,misc"));
    let rules = "checkgroups:*:comp.*:doit\n/maxdocheckgroups/:*:*:1000\n";
    fs::write(newsdir.path().join("control.ctl"), rules).unwrap();
    let groups: Vec<String> = ["comp.std", "comp.lang.c", "comp.mod"]
        .map(str::to_owned)
        .into();
    let before = groups
        .iter()
        .map(|group| line_of(&newsdir, group))
        .collect::<Vec<_>>();
    newsdir.file(&[&checkgroups(
        "<1@a>",
        "a@x",
        "comp misc",
        "comp.new\tNew.\n",
    )]);
    let told = last(&newsdir);
    assert!(
        told.0 == "waits" && told.1.contains("it would remove 3"),
        "{told:?}"
    );
    // Nor do changes of flags slip by.
    let flags = "comp.std\tA (Moderated)\ncomp.lang.c\tB (Moderated)\ncomp.mod\tC\n";
    newsdir.file(&[&checkgroups("<2@a>", "a@x", "comp misc", flags)]);
    let told = last(&newsdir);
    assert!(told.0 == "waits" && told.1.contains("change 3"), "{told:?}");
    let after = groups
        .iter()
        .map(|group| line_of(&newsdir, group))
        .collect::<Vec<_>>();
    assert_eq!(before, after);
}

#[test]
fn a_list_left_to_the_administrator_says_so() {
    let newsdir = newsdir("checkgroups:*:comp.*:doit\ncheckgroups:*:comp.new:mail\n");
    let text = format!("{LIST}comp.new\tNew.\n");
    newsdir.file(&[&checkgroups("<1@a>", "a@x", "comp", &text)]);
    assert_eq!(last(&newsdir).0, "acted");
    newsdir.file(&[&checkgroups("<2@a>", "a@x", "comp", &text)]);
    let told = last(&newsdir);
    assert!(
        told.0 == "waits" && told.1.contains("left to the administrator: 1 to add"),
        "{told:?}"
    );
    assert_eq!(line_of(&newsdir, "comp.new"), None);
}

#[test]
fn a_newsgroups_that_cannot_be_used_stops_no_filing() {
    let newsdir = newsdir(ANYBODY);
    let file = newsdir.path().join("newsgroups");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    for (number, text) in ["newgroup comp.new", "rmgroup comp.std", "checkgroups comp"]
        .iter()
        .enumerate()
    {
        newsdir.file(&[&control(&format!("<{number}@a>"), text, LIST)]);
        let told = last(&newsdir);
        assert!(
            told.0 == "refused" && told.1.contains("until this error is corrected"),
            "{told:?}"
        );
        assert_eq!(
            newsdir
                .links(&format!("<{number}@a>"))
                .unwrap()
                .split('/')
                .next(),
            Some("control")
        );
    }
    assert!(line_of(&newsdir, "comp.std").is_some());
}

#[test]
fn commands_count_in_any_case() {
    let newsdir = newsdir(ANYBODY);
    newsdir.file(&[&control("<1@a>", "NewGroup comp.new", "")]);
    assert_eq!(last(&newsdir).0, "acted");
    newsdir.file(&[&control("<2@a>", "RMGROUP comp.new", "")]);
    assert_eq!(last(&newsdir), ("acted".into(), "removed".into()));
}
