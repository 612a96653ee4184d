//! `broadsheet check`: every setting with its value and origin, every control file looked over.

use crate::program;
use program::articles::{batch, many};
use program::{Program, golden};

const ACTIVE: &str = "comp.lang.c 0000000123 00007 y\nnews.admin 0000000000 00001 m\nold.name 0000000000 00001 =comp.lang.c\n";

#[test]
fn a_fresh_news_directory() {
    let program = Program::with_news(ACTIVE);
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    golden("check.txt", &told.out);
}

/// A site without groups refuses every article, and accepts the same articles when it has groups.
#[test]
fn a_site_without_groups_remembers_nothing() {
    // The least that INN has.
    let program = Program::with_news("control.cancel 0 1 n\nto 0 1 y\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let warning = "warning: every article is refused before there are more groups";
    assert!(told.out.contains(warning), "{told:?}");
    let text = batch(&many("early", 2, "misc.test", 20));
    assert_eq!(program.rnews(&text).count("refused"), 2);
    let told = program.run(&["group", "add", "--dir", "news", "misc.test"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(program.rnews(&text).count("accepted"), 2);
    // Now it has a group, and an error in the line of ME is one.
    let sys = program.read("news/sys").replace("ME:all", "ME:misc.tset");
    program.write("news/sys", sys.replace('\n', "\r\n").as_bytes());
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out.contains(
            "what this site accepts matches no group of active: every article is refused"
        ),
        "{told:?}"
    );
}

#[test]
fn a_setting_taken_out_is_the_default() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/broadsheet.toml",
        b"name = \"a\"\n[store]\nsync = \"each\"\n",
    );
    let told = program.run(&["check", "--dir", "news"]);
    assert!(
        told.out
            .contains("store.sync = \"each\"  (broadsheet.toml line 3)\n"),
        "{told:?}"
    );
    assert!(
        told.out
            .contains("limits.clock_skew_seconds = 86400  (default)\n"),
        "{told:?}"
    );
}

#[test]
fn a_missing_file_is_a_fault() {
    let program = Program::with_news(ACTIVE);
    std::fs::remove_file(program.path("news/sys")).unwrap();
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    assert!(told.out.contains("sys: ERROR: is missing"), "{told:?}");
    assert!(told.out.ends_with("1 error\n"), "{told:?}");
}

#[test]
fn json_says_the_same() {
    let program = Program::with_news(ACTIVE);
    let told = program.run(&["check", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0);
    let said: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(said["settings"][0]["setting"], "name");
    assert_eq!(said["settings"][0]["value"], "news.example.org");
    assert!(said["settings"][0]["line"].is_u64());
    assert_eq!(said["files"][0]["file"], "active");
    assert_eq!(said["files"][0]["fault"], false);
    // Each finding is a value, too.
    let files = said["files"].as_array().expect("a list");
    let findings = |name: &str| {
        let file = files.iter().find(|file| file["file"] == name);
        file.expect("the file")["findings"].clone()
    };
    assert_eq!(findings("active"), serde_json::json!([]));
    let warning = serde_json::json!([{
        "severity": "warning",
        "place": null,
        "text": "1 moderated group without a moderator: posts to them are rejected",
        "remedy": "add a line such as `GROUP ADDRESS' to mailpaths",
    }]);
    assert_eq!(findings("mailpaths"), warning);
    let advice = findings("mail");
    assert_eq!(advice[0]["severity"], "advice");
    assert_eq!(advice[0]["remedy"], "set it to your address");
}

/// The severity decides what `-q` prints: the line of a site called `note' is none of its notes, and advice is left out.
#[test]
fn quiet_goes_by_the_severity() {
    let program = Program::with_news(ACTIVE);
    program.write("news/sys", b"ME:all\nnote:comp/all:f:\n");
    let full = program.run(&["check", "--dir", "news"]);
    let line = |line: &&str| line.trim_start().starts_with("note: ") && line.ends_with("(sys:2)");
    assert!(full.out.lines().any(|each| line(&each)), "{full:?}");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(!told.out.contains("(sys:2)"), "{told:?}");
    assert!(!told.out.contains("advice: "), "{told:?}");
    let told = program.run(&["check", "-q", "--dir", "news", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let files = said["files"].as_array().expect("a list");
    let is_advice = |file: &serde_json::Value| {
        let findings = file["findings"].as_array().expect("a list");
        findings
            .iter()
            .any(|finding| finding["severity"] == "advice")
    };
    assert!(!files.iter().any(is_advice), "{told:?}");
}

#[test]
fn quiet_json_has_only_what_is_wrong() {
    let program = Program::with_news(ACTIVE);
    let quiet = || program.run(&["check", "-q", "--dir", "news", "--json"]);
    let files = |told: &program::Told| {
        let said: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
        assert!(said.get("settings").is_none(), "{told:?}");
        said["files"].as_array().expect("a list").clone()
    };
    std::fs::remove_file(program.path("news/sys")).unwrap();
    let told = quiet();
    assert_eq!(told.status, 1, "{told:?}");
    let found = files(&told);
    assert!(
        found
            .iter()
            .any(|file| file["file"] == "sys" && file["fault"] == true),
        "{told:?}"
    );
    let text = program.run(&["check", "-q", "--dir", "news"]).out;
    let lines: usize = found
        .iter()
        .map(|file| file["told"].as_str().unwrap_or_default().lines().count())
        .sum();
    assert_eq!(text.lines().count(), lines, "{text}");
}

#[test]
fn a_queue_of_no_batches_is_warned_of() {
    let program = Program::with_news(ACTIVE);
    program.write("news/sys", b"ME:all\nnorth:comp/all:f:\n");
    program.write("news/batchparms", b"north u 100000 0 batcher | true\n");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(
        told.out
            .contains("warning: north: its queue in batchparms is 0"),
        "{told:?}"
    );
}

#[test]
fn bad_lines_of_active_are_named() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/active",
        b"comp.lang.c 1 1 y\nbad line\nloop.a 0 1 =loop.b\nloop.b 0 1 =loop.a\njunk 0 1 n\n",
    );
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    for said in [
        "active line 2",
        "no group `control'",
        "`loop.a' is an alias that leads to no group",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}

#[test]
fn faults_of_the_other_files_are_named_as_their_users_name_them() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/newsgroups",
        b"comp.lang.c\tThe language\n../../x\tno\nother.group\tNot carried\n",
    );
    program.write("news/sys", b"ME:all\nsite:comp:f:\nbroken:comp:Z:\n");
    program.write("news/explist", b"comp x 5 -\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    for said in [
        "newsgroups: ERROR: newsgroups line 2: ",
        "sys: ERROR: sys line 3: unknown flag `Z'",
        "explist: ERROR: ",
        "3 errors\n",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
    let rnews = program.run(&["rnews", "--dir", "news"]);
    assert_eq!(rnews.status, 2);
    assert!(
        rnews.err.contains("sys line 3: unknown flag `Z'"),
        "{rnews:?}"
    );
}

/// In C News patterns a `*` matches nothing: everything would be refused, and the ids kept.
#[test]
fn a_star_in_sys_stops_filing() {
    for line in [
        "ME:misc.*",
        "ME:all\nsite:all,!comp.*/all:f:",
        "ME:all\nsite:all/*:f:",
    ] {
        let program = Program::with_news(ACTIVE);
        program.write("news/sys", format!("{line}\n").as_bytes());
        let told = program.run(&["check", "-q", "--dir", "news"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(
            told.out.contains("there is `*' in `")
                && told.out.contains("patterns are those of C News"),
            "{told:?}"
        );
        let rnews = program.run(&["rnews", "--dir", "news"]);
        assert_eq!(rnews.status, 2, "{rnews:?}");
    }
}

#[test]
fn patterns_that_match_nothing_are_warned_of() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/sys",
        b"ME:mics/world:f:\nnorth:cmop,!junk:f:\nsouth:all/!local:f:\neast:all/all,!local:f:\nwest:comp,world:f:\nnodist:comp:f:\n",
    );
    let told = program.run(&["check", "-q", "--dir", "news"]);
    let fault = "what this site accepts matches no group of active: every article is refused";
    assert!(told.status == 1 && told.out.contains(fault), "{told:?}");
    let sys = program.read("news/sys").replace("ME:mics", "ME:all");
    program.write("news/sys", sys.as_bytes());
    let told = program.run(&["check", "-q", "--dir", "news"]);
    for said in [
        "distributions of this site have no effect",
        "warning: north: its pattern of groups matches no group of active",
        "warning: south: its distributions only exclude",
        "warning: nodist: its line has no distributions",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
    for good in ["east: its", "west: its"] {
        assert!(!told.out.contains(good), "{told:?}");
    }
}

/// `check` prints each fault of a site, not only the first.
#[test]
fn a_site_has_all_its_warnings() {
    let program = Program::with_news(ACTIVE);
    program.write("news/sys", b"ME:all\nnorth:cmop:f:\n");
    program.write(
        "news/batchparms",
        b"north u 100000 5 batcher | no-such-uux - north!rnews\n",
    );
    let told = program.run(&["check", "-q", "--dir", "news"]);
    for said in [
        "north: its pattern of groups",
        "north: nothing sends its batches by itself",
        "north: the program no-such-uux does not exist",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}

/// Under the systemd unit of the daemon, a setuid uux has no rights.
#[test]
fn a_setuid_program_is_for_cron() {
    use std::os::unix::fs::PermissionsExt;
    let program = Program::with_news(ACTIVE);
    program.write("uux", b"#!/bin/sh\n");
    let setuid = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(program.path("uux"), setuid).unwrap();
    let uux = program.path("uux").display().to_string();
    let site = format!(
        "\n[[site]]\nname = \"north\"\ngroups = \"all\"\nvia = {{ batch = \"{uux} - north!rnews\" }}\n"
    );
    let settings = program.read("news/broadsheet.toml") + &site;
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = program.run(&["check", "-q", "--dir", "news"]);
    let said = "nothing sends its batches by itself: run `broadsheet sendbatches' from cron (not by [schedule]: ";
    assert!(told.out.contains(said), "{told:?}");
    program.set("sendbatches = \"off\"", "sendbatches = \"every 6 h\"");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(
        told.out
            .contains("(NoNewPrivileges): leave the schedule off"),
        "{told:?}"
    );
    program.write(
        "news/sys",
        format!("east:all::{uux} - -r east!rnews\n").as_bytes(),
    );
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(
        told.out.contains("(NoNewPrivileges): send batches ("),
        "{told:?}"
    );
}

/// `check` and the programs that file judge the same file alike.
#[test]
fn settings_with_which_nothing_happens_are_told() {
    let program = Program::with_news(ACTIVE);
    let far = program.path("no/such/tree").display().to_string();
    let told = checked(
        &program,
        &format!(
            "[[site]]\nname = \"a\"\ngroups = \"all\"\nvia = {{ tree = \"{far}\" }}\n\
             [[site]]\nname = \"b\"\ngroups = \"all\"\nvia = {{ files = \"{far}/list\" }}\n\
             [[site]]\nname = \"c\"\ngroups = \"all\"\nvia = {{ files = \"out.going/c/list\" }}\n\
             [[site]]\nname = \"d\"\ngroups = \"all\"\nvia = {{ tree = \"mailpaths/tree\" }}\n\
             [expiry]\nkeep_free = \"8000000 TB\"\n"
        ),
    );
    assert_eq!(told.status, 0, "{told:?}");
    let note = format!("note: the directory {far} does not exist, and will be made");
    assert_eq!(told.out.matches(&note).count(), 2, "{told:?}");
    assert!(
        told.out
            .contains("warning: d: news/mailpaths/tree cannot be written")
            && !told.out.contains("warning: c: "),
        "{told:?}"
    );
    assert!(
        told.out
            .contains("warning: keep_free is not less than the whole file system"),
        "{told:?}"
    );
    for (start, status) in [("2199-01-01", 1), ("2020-01-01", 0)] {
        let told = checked(
            &program,
            &format!(
                "[[site]]\nname = \"a\"\ngroups = \"all\"\nstart = \"{start}\"\nvia = {{ files = \"a/list\" }}\n"
            ),
        );
        assert_eq!(told.status, status, "{told:?}");
        assert_eq!(
            told.out.contains("start is in the future"),
            status == 1,
            "{told:?}"
        );
    }
    let told = checked(
        &program,
        "[cluster]\nservers = \"nats://127.0.0.1:4222,http://x\"\n",
    );
    assert_eq!(told.status, 78, "{told:?}");
    assert!(
        told.err
            .contains("cluster.servers has `http://x'; a server is nats://HOST:PORT"),
        "{told:?}"
    );
}

#[test]
fn a_cut_active_without_some_groups_is_an_error() {
    let program = Program::with_news(ACTIVE);
    program.run(&["rnews", "--dir", "news"]);
    let text = program.read("news/active");
    let cut: String = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("news.admin"))
        .collect();
    let cut = cut.trim_end();
    program.write("news/active", cut.as_bytes());
    let rnews = program.run(&["rnews", "--dir", "news"]);
    assert_eq!(rnews.status, 2, "{rnews:?}");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out
            .contains("ends in the middle of a line, and it lacks news.admin"),
        "{told:?}"
    );
    // All groups are there: only the newline is missing, and articles are filed.
    program.write("news/active", text.trim_end().as_bytes());
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn lines_of_control_ctl_without_effect_are_warned_of() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/control.ctl",
        b"all:*:*:drop\nnewgrp:*:comp.*:doit\nnewgroup:*:misc.*:verify-nokey\nrmgroup:*:misc.*:verify-nokey\n",
    );
    let told = program.run(&["check", "-q", "--dir", "news"]);
    for said in [
        "control.ctl line 2: there is no control message `newgrp'; `newgroup'?",
        "control.ctl line 3 and 1 more: verify by keys that are not in keys/",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}

#[test]
fn an_idle_rule_is_no_fault() {
    let program = Program::with_news(ACTIVE);
    program.write("news/explist", b"nowhere x 5 -\nall x 5 -\n");
    program.write(
        "news/newsgroups",
        b"comp.lang.c\tThe language\nother.group\tNot carried\n",
    );
    program.write("news/sys", b"ME:all\nsite:comp:f:\nother:all:f:\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    for said in [
        "newsgroups: 2 groups described, 1 of them not in active\n",
        "sys: 2 sites to feed; ",
        "explist: 2 rules\n    note: explist:1: `nowhere' rules no group\n",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}

#[test]
fn a_site_that_no_batch_can_be_sent_to_is_an_error() {
    let program = Program::with_news(ACTIVE);
    for name in ["x$y", "a*b", "n\u{fc}rnberg", "site.ihave.x"] {
        let sys = format!("ME:all\n{name}:comp:f:\n");
        program.write("news/sys", sys.as_bytes());
        let told = program.run(&["check", "-q", "--dir", "news"]);
        let is_bad = name != "site.ihave.x";
        assert_eq!(told.status, i32::from(is_bad), "{name} {told:?}");
        let said = "no batch can be sent to it";
        assert_eq!(told.out.contains(said), is_bad, "{name} {told:?}");
        assert_eq!(told.out.contains("NAME/OLD"), is_bad, "{name} {told:?}");
    }
    // Its articles do not go in batches.
    program.write("news/sys", b"ME:all\nx$y:comp/all:F:x/togo\n");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(told.status == 0 && !told.out.contains("sys"), "{told:?}");
}

#[test]
fn sites_of_both_files_are_told_with_their_place() {
    let program = Program::with_news(ACTIVE);
    program.write(
        "news/sys",
        b"ME:all\nsite:comp/all:f:\nsite:news/all:F:x/togo\n",
    );
    let settings = program.read("news/broadsheet.toml");
    let table = "[[site]]\nname = \"other\"\ngroups = \"all\"\nvia = { news = \"/srv\" }\n";
    let line = settings.lines().count() + 2;
    program.write(
        "news/broadsheet.toml",
        format!("{settings}{table}").as_bytes(),
    );
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let said = format!(
        "sys: 3 sites to feed; accepted groups: the line of ME\n    site: batch (sys:2)\n        \
         note: batches for site have no destination: add a line for it, class u, to batchparms, or `via = {{ batch = ... }}' to its [[site]]\n        \
         warning: site: nothing sends its batches by itself: set sendbatches in [schedule], or a schedule in its via, or run `broadsheet sendbatches' from cron\n    \
         site:2: files (sys:3)\n    other: news (broadsheet.toml:{line}:8)\n        warning: other: /srv is not a news directory\n"
    );
    assert!(told.out.contains(&said), "{told:?}");
    // The same name in both: told by all who read them.
    program.write("news/sys", b"ME:all\nother:comp:f:\n");
    let said = format!(
        "broadsheet.toml:{line}:8: site `other' is already defined at sys:2; remove one of them"
    );
    for words in [["check", "--dir", "news"], ["rnews", "--dir", "news"]] {
        let told = program.run(&words);
        assert!(told.status != 0, "{told:?}");
        assert!(
            format!("{}{}", told.out, told.err).contains(&said),
            "{told:?}"
        );
    }
    // Tables do without sys.
    std::fs::remove_file(program.path("news/sys")).unwrap();
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .contains("sys: 1 site to feed; accepted groups: all"),
        "{told:?}"
    );
}

#[test]
fn accept_of_the_settings_rules_what_is_taken() {
    let program = Program::with_news(ACTIVE);
    std::fs::remove_file(program.path("news/sys")).unwrap();
    let settings = program.read("news/broadsheet.toml");
    program.write(
        "news/broadsheet.toml",
        format!("accept = \"comp\"\n{settings}").as_bytes(),
    );
    let told = program.run(&["check", "--dir", "news"]);
    let said = "accepted groups: accept (broadsheet.toml:1:1)";
    assert!(told.out.contains(said), "{told:?}");
    // Below a section it would be that section's.
    let wrong = settings.replace("[limits]\n", "[limits]\naccept = \"alt\"\n");
    program.write("news/broadsheet.toml", wrong.as_bytes());
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(
        told.err.contains("`accept' stands at the top of the file"),
        "{told:?}"
    );
}

/// With these tables of `[[access]]`; the lines of `check` about them and about `[auth]`.
fn checked(program: &Program, tables: &str) -> program::Told {
    let settings = program.read("news/broadsheet.toml");
    let text = format!("{settings}{tables}");
    program.write("news/broadsheet.toml", text.as_bytes());
    let told = program.run(&["check", "--dir", "news"]);
    program.write("news/broadsheet.toml", settings.as_bytes());
    told
}

#[test]
fn tables_of_access_that_can_never_fit_are_faults() {
    let program = Program::with_news(ACTIVE);
    for key in [
        "tls = true".to_owned(),
        format!("certificates = [\"sha256:{}\"]", "0".repeat(64)),
    ] {
        let told = checked(&program, &format!("[[access]]\nname = \"a\"\n{key}\n"));
        assert_eq!(told.status, 1, "{told:?}");
        let said = ": a never matches: it requires TLS, and nntp.certificate is not set";
        assert!(told.out.contains(said), "{told:?}");
    }
}

#[test]
fn tables_of_access_behind_others_are_faults() {
    let program = Program::with_news(ACTIVE);
    let table =
        |name: &str, keys: &str| format!("\n[[access]]\nname = \"{name}\"\nread = \"*\"\n{keys}\n");
    let local = table("a", "from = [\"local\"]");
    for (first, second) in [
        (&local, "from = [\"127.0.0.1\"]"),
        (&local, "from = [\"127.0.0.1\", \"::1\"]\nusers = [\"*\"]"),
        (
            &table("a", "from = [\"192.0.2.0/24\"]"),
            "from = [\"192.0.2.7\"]",
        ),
        (
            &table("a", "from = [\"192.0.2.7\"]"),
            "from = [\"192.0.2.7\"]",
        ),
    ] {
        let told = checked(&program, &format!("{first}{}", table("b", second)));
        assert_eq!(told.status, 1, "{second}: {told:?}");
        let said = ": b is never used: a, before it, matches all its clients";
        assert!(told.out.contains(said), "{told:?}");
    }
    for (first, second) in [
        (&local, "from = [\"192.0.2.7\"]"),
        (&local, "from = [\"127.0.0.1\", \"192.0.2.7\"]"),
        (&local, ""),
        (&table("a", "users = [\"*\"]"), "from = [\"local\"]"),
        (
            &table("a", "from = [\"192.0.2.7\"]"),
            "from = [\"192.0.2.0/24\"]",
        ),
    ] {
        let told = checked(&program, &format!("{first}{}", table("b", second)));
        assert_eq!(told.status, 0, "{second}: {told:?}");
        assert!(!told.out.contains("same name"), "{told:?}");
    }
    let same = local.clone() + &table("a", "");
    let told = checked(&program, &same);
    assert!(
        told.status == 0 && told.out.contains(": a has the same name as "),
        "{told:?}"
    );
}

#[test]
fn advice_for_expire_is_in_the_language_of_its_file() {
    let program = Program::with_news(ACTIVE);
    for (table, said) in [
        (
            "patterns = \"comp\"\nkeep_days = 3",
            "add one (a last one with patterns = \"all\" and keep_days = 14 covers everything)",
        ),
        (
            "patterns = \"comp.*\"\nkeep_days = 3",
            "have `*' in `comp.*'; patterns are those of C News, where `comp' takes in all below it",
        ),
        (
            "patterns = \"all\"\nkeep_days = 3",
            "broadsheet.toml: 1 rule of [[expire]]; explist is not used\n    warning: broadsheet.toml: expired_days of [expiry] is not set, so",
        ),
    ] {
        let told = checked(&program, &format!("\n[[expire]]\n{table}\n"));
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
    program.write("news/explist", b"/expired/ x 14 -\nall x 5 nowhere\n");
    let told = program.run(&["check", "--dir", "news"]);
    let said = "warning: the archive directory news/nowhere does not exist";
    assert!(told.out.contains(said), "{told:?}");
}

#[test]
fn what_keeps_articles_from_being_filed_is_a_finding() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let with = |text: String| {
        program.write("news/broadsheet.toml", text.as_bytes());
        program.run(&["check", "-q", "--dir", "news"]).out
    };
    let told = with(settings.replace("keep_free = \"5 MiB\"", "keep_free = \"900 TiB\""));
    assert!(
        told.contains("segments: warning: only ")
            && told.contains(
                "less than [incoming] keep_free (900 TiB): rnews, newsrun and inews file nothing"
            ),
        "{told}"
    );
    let pull = "\n[[pull]]\nname = \"a\"\nserver = \"127.0.0.1:1\"\ngroups = \"nosuch.*\"\n";
    let told = with(settings.clone() + pull);
    assert!(
        told.contains("[[pull]]: warning: a: groups = \"nosuch.*\" matches no group of active"),
        "{told}"
    );
    let told = with(settings.replace("\nurl = \"\"", "\nurl = \"file:///nonexistent/objects\""));
    assert!(
        told.contains("[offload]: ERROR: the directory /nonexistent/objects does not exist"),
        "{told}"
    );
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.run(&["newsrunning", "off", "--dir", "news"]);
    program.write("news/in.coming/7501234560.t", b"");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(
        told.out.contains("in.coming: warning: newsrunning is off"),
        "{told:?}"
    );
    let told = program.run(&["status", "--dir", "news"]);
    assert!(
        told.out
            .contains("batches waiting  1 (newsrunning is off: `broadsheet newsrunning on')\n"),
        "{told:?}"
    );
    let told = program.run(&["status", "--json", "--dir", "news"]);
    assert_eq!(told.summary()["newsrunning"], false, "{told:?}");
}

#[test]
fn keys_of_access_that_change_nothing_are_noted() {
    let program = Program::with_news(ACTIVE);
    let told = checked(
        &program,
        "[[access]]\nname = \"a\"\nread = \"*\"\napprove = true\nheadfeed = true\nposts_per_minute_max = 1\narticles_per_minute_max = 1\n",
    );
    assert_eq!(told.status, 0, "{told:?}");
    for said in [
        ": a has approve without `post', so approve has no effect\n",
        ": a has headfeed without `send', so headfeed has no effect\n",
        ": a has posts_per_minute_max without `post', so posts_per_minute_max has no effect\n",
        ": a has articles_per_minute_max without `send', so articles_per_minute_max has no effect\n",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
    let table = "[[access]]\nname = \"a\"\npost = \"*\"\napprove = true\n";
    let told = checked(&program, table);
    assert!(!told.out.contains("has no effect"), "{told:?}");
}

#[test]
fn a_program_that_is_not_there_is_noted() {
    let program = Program::with_news(ACTIVE);
    for (line, is_there) in [
        ("/nonexistent -f x", false),
        ("bin/none", false),
        ("no-such-program-anywhere", false),
        ("broadsheet.toml", false),
        ("sh", true),
        ("/bin/sh -e", true),
    ] {
        let before = program.read("news/broadsheet.toml");
        program.set("program = \"\"", &format!("program = \"{line}\""));
        let told = program.run(&["check", "--dir", "news"]);
        program.write("news/broadsheet.toml", before.as_bytes());
        assert_eq!(told.status, 0, "{told:?}");
        let is_noted = told
            .out
            .contains("note: the program does not exist or is not executable");
        assert_eq!(is_noted, !is_there, "{line}: {told:?}");
    }
}

#[test]
fn batches_that_cannot_arrive_are_told() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let site = |name: &str, via: &str| {
        format!("[[site]]\nname = \"{name}\"\ngroups = \"all\"\nvia = {via}\n")
    };
    let tables = [
        site(
            "drop",
            "{ directory = \"there\", schedule = \"every 1 h\" }",
        ),
        site(
            "uucp",
            "{ batch = \"no-such-uux - SITE!rnews\", schedule = \"every 1 h\" }",
        ),
        site("list", "{ files = \"mailpaths/togo\", form = \"f\" }"),
    ];
    let text = format!("{settings}{}", tables.concat());
    program.write("news/broadsheet.toml", text.as_bytes());
    let told = program.run(&["check", "-q", "--dir", "news"]);
    for said in [
        "warning: drop: the directory news/there does not exist",
        "warning: uucp: the program no-such-uux does not exist or is not executable",
        "warning: list: news/mailpaths/togo cannot be written",
    ] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
    std::fs::create_dir(program.path("news/there")).unwrap();
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(!told.out.contains("drop"), "{told:?}");
}

#[test]
fn a_new_directory_has_nothing_to_tell_but_that_groups_are_missing() {
    let program = Program::with_news("control 0 1 y\njunk 0 1 y\n");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    let warning = "active: warning: every article is refused before there are more groups";
    assert!(told.out.starts_with(warning), "{told:?}");
    assert_eq!((told.status, told.out.lines().count()), (0, 1), "{told:?}");
}

#[test]
fn unknown_keys_of_rules_are_told_with_the_nearest() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let text = format!("{settings}[[expire]]\npattern = \"all\"\ndefault = 3\n");
    program.write("news/broadsheet.toml", text.as_bytes());
    let told = program.run(&["check", "-q", "--dir", "news"]);
    let said = "unknown key `pattern' in [[expire]]; did you mean patterns?";
    assert!(told.out.contains(said), "{told:?}");
    assert!(
        told.out
            .contains("this rule has no patterns: write patterns = "),
        "{told:?}"
    );
}
