//! `broadsheet access explain`, and what `check` says of `[[access]]`.

use crate::program;
use program::Program;

const TABLES: &str = r#"
[[access]]
name = "news.example.net"
from = "198.51.100.0/24"
send = "*,@local.*"
articles_per_minute_max = 60000

[[access]]
name = "people"
users = "*"
tls = true
read = "*"
post = "*,!news.announce.*"
approve = true
without = ["NEWNEWS"]
size_max = "1 MiB"

[[access]]
name = "lan"
from = ["192.0.2.0/24"]
read = "*,!private.*"
"#;

fn with(tables: &str) -> Program {
    let program = Program::with_news("local.x 0 1 y\nprivate.x 0 1 y\n");
    let text = program.read("news/broadsheet.toml") + tables;
    program.write("news/broadsheet.toml", text.as_bytes());
    program
}

fn explain(program: &Program, words: &[&str]) -> (i32, String) {
    let words = [&["access", "explain", "--dir", "news"], words].concat();
    let told = program.run(&words);
    (told.status, told.out + &told.err)
}

#[test]
fn without_tables_this_machine_reads_posts_and_feeds() {
    let program = Program::with_news("");
    let expected =
        "local (default without [[access]]) matches\n  reads: *\n  posts to: *\n  sends: *\n";
    assert_eq!(
        explain(&program, &["--from", "127.0.0.1"]),
        (0, expected.into())
    );
    assert_eq!(explain(&program, &["--from", "local"]).0, 0);
    let expected = "local (default without [[access]]) does not match: the client has another address\nno entry matches\n  reads: nothing\n  posts to: nothing\n  sends: nothing\n";
    assert_eq!(
        explain(&program, &["--from", "203.0.113.9"]),
        (1, expected.into())
    );
}

#[test]
fn each_entry_is_told_up_to_the_one_that_fits() {
    let program = with(TABLES);
    program.set("program = \"\"", "program = \"/bin/true\"");
    let file = program.read("news/broadsheet.toml");
    let (before, _) = file.split_once("[[access]]\nname = \"lan\"").unwrap();
    let line = before.matches('\n').count() + 1;
    let lan = format!("lan (broadsheet.toml:{line}:1)");
    let (status, told) = explain(&program, &["--from", "192.0.2.7", "--group", "private.x"]);
    assert_eq!(status, 0);
    assert!(
        told.starts_with("news.example.net (broadsheet.toml:"),
        "{told}"
    );
    assert!(
        told.contains("does not match: the client has another address\npeople (broadsheet.toml:"),
        "{told}"
    );
    assert!(
        told.contains("does not match: the client does not use TLS\n"),
        "{told}"
    );
    assert!(
        told.contains(&format!("{lan} matches\n  reads: *,!private.*\n")),
        "{told}"
    );
    assert!(
        told.contains(
            "  private.x: the client may not read it, may not post to it, may not send it\n"
        ),
        "{told}"
    );
    assert!(
        told.ends_with("the client may log in after STARTTLS; another entry can match it then\n"),
        "{told}"
    );
    let (status, told) = explain(
        &program,
        &["--from", "203.0.113.9", "--tls", "--user", "anna"],
    );
    assert_eq!(status, 0);
    assert!(told.ends_with("matches\n  reads: *\n  posts to: *,!news.announce.*\n  sends: nothing\n  may post with: Approved\n  without: newnews\n  an article at most: 1 MiB\n"), "{told}");
    let (status, told) = explain(&program, &["--from", "203.0.113.9", "--tls"]);
    assert_eq!(status, 1);
    assert!(
        told.contains("the client has not logged in\n")
            && told.ends_with("the client may log in; another entry can match it then\n"),
        "{told}"
    );
}

#[test]
fn what_is_switched_off_for_all_is_told() {
    let program = with(TABLES);
    program.set("without = \"\"", "without = \"AUTHINFO, newnews\"");
    let (_, told) = explain(&program, &["--from", "192.0.2.7"]);
    assert!(
        told.ends_with("  without: newnews, authinfo\n"),
        "nobody is told to log in: {told}"
    );
    let (_, told) = explain(&program, &["--from", "192.0.2.7", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).expect(&told);
    assert_eq!(told["can_log_in"], false);
}

#[test]
fn json_says_the_same() {
    let program = with(TABLES);
    let (status, told) = explain(
        &program,
        &["--from", "198.51.100.1", "--json", "--group", "local.x"],
    );
    assert_eq!(status, 0);
    let told: serde_json::Value = serde_json::from_str(&told).expect(&told);
    assert_eq!(told["fits"]["entry"], "news.example.net");
    assert_eq!(told["send"], "*,@local.*");
    assert_eq!(told["articles_per_minute_max"], 60000);
    assert_eq!(told["group"]["send"], false);
    let (status, told) = explain(&program, &["--from", "203.0.113.9", "--json"]);
    assert_eq!(status, 1);
    let told: serde_json::Value = serde_json::from_str(&told).expect(&told);
    assert!(told["fits"].is_null());
    assert_eq!(told["passed"][1]["why"], "does not use TLS");
    assert_eq!(told["can_log_in"], true);
    assert_eq!(told["login_needs_tls"], true);
}

#[test]
fn the_group_behind_an_alias_is_told_of() {
    let program = Program::with_news("open.a 0 1 y\nopen.b 0 1 =closed.a\nclosed.a 0 1 y\n");
    let table =
        "\n[[access]]\nname = \"x\"\nread = \"open.*\"\npost = \"open.*\"\nsend = \"open.*\"\n";
    let settings = program.read("news/broadsheet.toml") + table;
    program.write("news/broadsheet.toml", settings.as_bytes());
    for (group, may) in [
        ("open.a", "may"),
        ("open.b", "may not"),
        ("open.none", "may"),
    ] {
        let (_, told) = explain(&program, &["--from", "local", "--group", group]);
        let line = format!("  {group}: the client may read it, {may} post to it, {may} send it\n");
        assert!(told.contains(&line), "{told}");
    }
}

#[test]
fn what_does_not_exist_is_noted() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let (_, told) = explain(
        &program,
        &["--from", "local", "--group", "comp.tset", "--user", "anna"],
    );
    assert!(
        told.contains("note: active has no group `comp.tset'"),
        "{told}"
    );
    assert!(told.contains("note: there is no user `anna'"), "{told}");
    let (_, told) = explain(&program, &["--from", "local", "--group", "comp.test"]);
    assert!(!told.contains("note: "), "{told}");
    // A program may know any user.
    program.set("program = \"\"", "program = \"/bin/true\"");
    let (_, told) = explain(&program, &["--from", "local", "--user", "anna"]);
    assert!(!told.contains("note: "), "{told}");
}

#[test]
fn the_command_line_is_checked() {
    let program = Program::with_news("");
    assert_eq!(explain(&program, &[]).0, 64);
    assert_eq!(explain(&program, &["--from", "news.example.net"]).0, 64);
    assert_eq!(
        explain(&program, &["--from", "local", "--certificate", "x"]).0,
        64
    );
}

#[test]
fn a_fault_in_a_table_names_its_place() {
    let program = with("[[access]]\nname = \"a\"\nreed = \"*\"\n");
    let (status, told) = explain(&program, &["--from", "local"]);
    assert_eq!(status, 78);
    assert!(
        told.contains("unknown key `reed' in [[access]]; did you mean read?"),
        "{told}"
    );
    let program = Program::with_news("");
    let text = program
        .read("news/broadsheet.toml")
        .replace("program = \"\"", "program = \"a | b\"");
    program.write("news/broadsheet.toml", text.as_bytes());
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 78);
    assert!(
        told.err.contains(
            "auth.program cannot be run: the command contains `|', but runs without a shell"
        ),
        "{told:?}"
    );
}

/// `all` is a pattern of `sys`, not of access.
#[test]
fn check_warns_of_patterns_that_match_no_group() {
    let table = "[[access]]\nname = \"a\"\nread = \"all\"\nsend = \"*\"\n";
    let told = with(table).run(&["check", "-q", "--dir", "news"]);
    let warning = ": a: read = \"all\" matches no group of active; these are wildmats";
    assert!(told.out.contains(warning), "{told:?}");
    assert!(!told.out.contains("send = "), "{told:?}");
}

#[test]
fn check_counts_the_tables_and_tells_those_that_never_count() {
    let tables = TABLES.replace("tls = true\n", "");
    let told = with(&tables).run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .contains("[[access]]: 3 tables: 2 may read, 1 post, 1 send\n"),
        "{told:?}"
    );
    let all =
        "[[access]]\nname = \"all\"\nread = \"*\"\n[[access]]\nname = \"anna\"\nusers = \"anna\"\n";
    let told = with(all).run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    assert!(
        told.out
            .contains("anna is never used: all, before it, matches all clients; "),
        "{told:?}"
    );
    assert!(
        told.out
            .contains("anna names the user `anna', who does not exist"),
        "{told:?}"
    );
    let program = Program::with_news("");
    program.write("news/users", b"anna - - -\n");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(program.path("news/users"), open).unwrap();
    let told = program.run(&["check", "--dir", "news"]);
    assert!(
        told.out.contains("users: ERROR: other users can read it"),
        "{told:?}"
    );
}

#[test]
fn check_tells_of_logins_without_tls() {
    let table = "[[access]]\nname = \"anna\"\nusers = \"*\"\nread = \"*\"\n";
    let program = with(table);
    let warning = "anna requires a login, and without TLS the server accepts only SCRAM-SHA-256";
    for is_told in [true, false] {
        let told = program.run(&["check", "--dir", "news"]);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(told.out.contains(warning), is_told, "{told:?}");
        let text = program.read("news/broadsheet.toml");
        let text = text.replace("plaintext_passwords = false", "plaintext_passwords = true");
        program.write("news/broadsheet.toml", text.as_bytes());
    }
}

#[test]
fn an_error_hides_no_warning() {
    let table = "[[access]]\nname = \"all\"\nread = \"*\"\n[[access]]\nname = \"anna\"\nusers = \"*\"\nread = \"*\"\n";
    let told = with(table).run(&["check", "-q", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        "anna is never used: all, before it",
        "anna requires a login, and without TLS",
    ] {
        assert!(told.out.contains(part), "{part}: {told:?}");
    }
}
