//! Programs that check names and passwords: what they are told, what counts as yes, and that none holds us up.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use access::program::ANSWER_BYTES_MAX;
use access::{Access, Authenticator, Connection, Login, Outcome, Tables, User, Users, UsersFile};
use groups::CommandLine;

/// A script as the program, asked about a name and password.
fn ask_within(script: &str, limit: Duration, name: &str, password: &[u8]) -> Outcome {
    let line = CommandLine::from_words(&[b"/bin/sh", b"-c", script.as_bytes()]);
    let program = Authenticator::new(line, Path::new("/"), limit);
    program.check(name, password, &connection())
}

fn ask(script: &str) -> Outcome {
    ask_within(script, Duration::from_secs(30), "tester", b"s0pers3cret")
}

fn connection() -> Connection {
    let address = |text: &str| text.parse::<SocketAddr>().ok();
    Connection {
        host: Some("example.com".to_owned()),
        client: address("10.10.10.10:50000"),
        local: address("10.0.0.2:119"),
    }
}

fn is_tester() -> Outcome {
    Outcome::LoggedIn {
        user: "tester".to_owned(),
        data: None,
    }
}

fn why(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_told_who_connects_and_what_he_says() {
    let said = tempfile::tempdir().unwrap();
    let path = said.path().join("said");
    let script = format!("cat > {}; echo User:tester", path.display());
    assert_eq!(ask(&script), is_tester());
    let expected = "ClientHost: example.com\r\nClientIP: 10.10.10.10\r\nClientPort: 50000\r\nLocalIP: 10.0.0.2\r\nLocalPort: 119\r\nClientAuthname: tester\r\nClientPassword: s0pers3cret\r\n.\r\n";
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
}

#[test]
fn one_line_user_and_status_0_are_a_yes() {
    for script in [
        "echo User:tester",
        "printf 'User:tester'",
        "printf 'User:tester\\r\\n'",
        "printf 'what\\nuser:no\\n\\nUse:r:x\\nUser:tester\\r\\nUser:other\\r\\n'",
        // Neither a word on standard error nor deafness makes it a no.
        "echo oops >&2; echo User:tester",
        "exec <&-; echo User:tester",
        // A child that goes on with our pipe does not hold us up.
        "echo User:tester; sleep 60 &",
    ] {
        let begin = Instant::now();
        assert_eq!(ask(script), is_tester(), "{script}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{script}");
    }
}

#[test]
fn anything_else_is_a_no_with_its_reason() {
    for (script, told) in [
        ("true", "program wrote no User:"),
        ("exit 1", "program exited with status 1"),
        ("echo User:tester; exit 3", "program exited with status 3"),
        (
            "echo User:tester; echo 'not now' >&2; exit 1",
            "program error: not now",
        ),
        ("kill -HUP $$", "program caught signal 1"),
        ("echo User:", "program wrote an invalid name after User:"),
        (
            "echo 'User:a b'",
            "program wrote an invalid name after User:",
        ),
        (
            "printf 'User:a\\000b\\n'",
            "program wrote an invalid name after User:",
        ),
        ("echo ' User:tester'", "program wrote no User:"),
    ] {
        let why = why(ask(script));
        assert!(
            why.ends_with(told) && why.starts_with("/bin/sh: "),
            "{script}: {why}"
        );
    }
}

#[test]
fn one_that_takes_too_long_or_says_too_much_is_killed_with_its_children() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("child");
    let script = format!(
        "sleep 300 & echo $! > {}; echo User:tester; wait",
        path.display()
    );
    // A busy machine may not even have begun it by the end of a short time: then it has a longer one.
    let child = [500, 5_000, 30_000].into_iter().find_map(|limit| {
        let outcome = ask_within(&script, Duration::from_millis(limit), "tester", b"x");
        assert_eq!(outcome.code(), 403, "{outcome:?}");
        let child = std::fs::read_to_string(&path).unwrap_or_default();
        child.ends_with('\n').then_some(child)
    });
    let child = child.expect("a child");
    let stat = Path::new("/proc").join(child.trim()).join("stat");
    // It is gone, or is a dead one whose parent has yet to see it.
    let until = Instant::now() + Duration::from_secs(10);
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < until, "the child lives on");
        std::thread::yield_now();
    }
    let begin = Instant::now();
    let outcome = ask("yes User:tester");
    let Outcome::Failed(why) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        why.contains(&format!("wrote more than {ANSWER_BYTES_MAX} bytes")),
        "{why}"
    );
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn no_line_of_its_own_is_smuggled_in() {
    let limit = Duration::from_secs(30);
    for (name, password) in [
        ("a\r\nClientIP: 127.0.0.1", "x"),
        ("a", "x\r\nClientAuthname: root"),
        ("a", "x\n.\n"),
        ("a", "x\0"),
        ("", "x"),
    ] {
        let outcome = ask_within("echo User:tester", limit, name, password.as_bytes());
        assert_eq!(outcome.code(), 481, "{name:?} {password:?}");
    }
}

#[test]
fn a_program_that_is_not_there_is_our_fault() {
    let line = CommandLine::from_words(&[b"/nowhere/at/all"]);
    let program = Authenticator::new(line, Path::new("/"), Duration::from_secs(5));
    let outcome = program.check("tester", b"x", &Connection::default());
    assert_eq!(outcome.code(), 403);
}

#[test]
fn users_of_the_file_are_known_by_the_file_alone() {
    let news = tempfile::tempdir().unwrap();
    let mut users = Users::default();
    users
        .add(User::with_password("anna", b"hers", false).unwrap())
        .unwrap();
    users.write(news.path()).unwrap();
    let line = CommandLine::from_words(&[b"/bin/sh", b"-c", b"echo User:by.program"]);
    let login = Login {
        users: UsersFile::of(news.path()),
        program: Some(Authenticator::new(
            line,
            news.path(),
            Duration::from_secs(30),
        )),
        plaintext_passwords: false,
    };
    let access = Access::new(&Tables::default(), login);
    let check = |name: &[u8], password: &[u8]| {
        access
            .check_password(name, password, &Connection::default())
            .run()
    };
    assert_eq!(check(b"anna", b"wrong").code(), 481);
    let of = |outcome| match outcome {
        Outcome::LoggedIn { user, .. } => user,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(check(b"anna", b"hers")), "anna");
    assert_eq!(of(check(b"bert", b"x")), "by.program");
}

/// INN's own program, with a file of passwords.
#[test]
fn inns_ckpasswd_is_understood() {
    let program = "/usr/lib/news/bin/auth/passwd/ckpasswd";
    if !Path::new(program).exists() {
        println!("skipped: no {program}; install inn2");
        return;
    }
    let room = tempfile::tempdir().unwrap();
    // crypt(3), of `hazelnut'.
    let text = "# ours\nzoe:zoOFPI1AcAmAo:7:7:Zoe\nyves:zoOFPI1AcAmAo\n";
    std::fs::write(room.path().join("passwd"), text).unwrap();
    let line = CommandLine::parse(format!("{program} -f passwd").as_bytes()).unwrap();
    let program = Authenticator::new(line, room.path(), Duration::from_secs(30));
    for (name, password, told) in [
        ("zoe", "hazelnut", None),
        ("yves", "hazelnut", None),
        ("zoe", "walnut", Some("invalid password for user zoe")),
        ("nobody", "hazelnut", Some("user nobody unknown")),
    ] {
        let outcome = program.check(name, password.as_bytes(), &connection());
        match (outcome, told) {
            (Outcome::LoggedIn { user, .. }, None) => assert_eq!(user, name),
            (Outcome::Refused(why), Some(told)) => assert!(why.contains(told), "{why}"),
            (outcome, _) => panic!("{name}: {outcome:?}"),
        }
    }
}

/// The cases gathered from INN: output, status and signal in, user and log line out.
#[test]
fn inns_cases() {
    let Some(shared) = std::env::var_os("BROADSHEET_SHARED") else {
        println!("skipped: BROADSHEET_SHARED is not set");
        return;
    };
    let path = Path::new(&shared).join("cases/inn/auth.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return;
    };
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let protocol = &all["external_protocol"];
    let mut lines: Vec<String> = Vec::new();
    for key in ["resolver_input", "authenticator_extra"] {
        let listed = protocol[key].as_array().unwrap().iter();
        lines.extend(listed.map(|line| line.as_str().unwrap().to_owned()));
    }
    lines.retain(|line| line != ".");
    lines.push(".".to_owned());
    let told = format!("{}\r\n", lines.join("\r\n"));
    let mut count = 0;
    for case in protocol["cases"].as_array().unwrap() {
        count += 1;
        if case["command"].as_str() == Some("(empty)") {
            assert!(CommandLine::parse(b"").is_err());
            continue;
        }
        let room = tempfile::tempdir().unwrap();
        let text = |key: &str| {
            let text = case[key].as_str().unwrap_or_default();
            // One case describes in words how standard output and standard error are interleaved.
            match text.split_once(" (split writes interleaved with stderr \"") {
                Some((out, err)) if key == "stdout" => {
                    (out.to_owned(), err.split('"').next().unwrap().to_owned())
                }
                _ => (text.to_owned(), String::new()),
            }
        };
        let (out, interleaved) = text("stdout");
        let (err, _) = text("stderr");
        let unescaped = |text: &str| text.replace("\\r", "\r").replace("\\n", "\n");
        std::fs::write(room.path().join("out"), unescaped(&out)).unwrap();
        let err = unescaped(&format!("{err}{interleaved}"));
        std::fs::write(room.path().join("err"), err).unwrap();
        let end = match (case["signal"].as_i64(), case["exit"].as_i64()) {
            (Some(signal), _) => format!("kill -{signal} $$"),
            (None, exit) => format!("exit {}", exit.unwrap_or_default()),
        };
        let script = format!("cat > said; cat out; cat err >&2; {end}");
        let line = CommandLine::from_words(&[b"/bin/sh", b"-c", script.as_bytes()]);
        let program = Authenticator::new(line, room.path(), Duration::from_secs(30));
        let outcome = program.check("tester", b"s0pers3cret", &connection());
        let said = std::fs::read_to_string(room.path().join("said")).unwrap();
        assert_eq!(said, told);
        match (&outcome, case["user"].as_str()) {
            (Outcome::LoggedIn { user, .. }, Some(wanted)) => assert_eq!(user, wanted, "{case}"),
            (Outcome::Refused(why), None) => {
                let log = case["log"].as_str().unwrap_or_default();
                assert!(why.ends_with(log), "{case}: {why}");
            }
            _ => panic!("{case}: {outcome:?}"),
        }
    }
    assert!(count > 10, "{count} cases");
}
