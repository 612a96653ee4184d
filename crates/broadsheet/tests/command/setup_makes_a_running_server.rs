//! `broadsheet setup` makes a server that works, leaves alone what is there, and goes on after an interruption.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use crate::program;
use program::daemon::Daemon;
use program::nntp::Client;
use program::small::Small;
use program::{Program, Told};

/// A port that nobody uses now.
fn port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// Runs it as the user of the test, with these answers.
fn setup(program: &Program, words: &[&str], answers: &str) -> Told {
    let words = [&["setup", "--dir", "news", "--run-as", "root"], words].concat();
    program.feed(&words, answers.as_bytes())
}

fn usual(program: &Program, words: &[&str]) -> Told {
    let words = [
        &[
            "--yes",
            "--name",
            "news.a.example",
            "--keep-free",
            "136 MiB",
        ],
        words,
    ]
    .concat();
    setup(program, &words, "")
}

#[test]
fn it_ends_with_a_running_server_and_a_first_post() {
    let program = Program::new();
    let port = port();
    let words = [
        "setup",
        "--dir",
        "news",
        "--run-as",
        "root",
        "--yes",
        "--name",
        "news.a.example",
        "--port",
        &port,
        "--serve",
    ];
    let daemon = Daemon::launch_by(&program, program.command(&words));
    daemon.until_notified("READY=1");
    let mut client = Client::greeted(&format!("127.0.0.1:{port}"));
    client.say("GROUP local.test\r\n");
    assert_eq!(client.line(), "211 1 1 1 local.test");
    client.say("BODY 1\r\n");
    assert!(client.line().starts_with("222"));
    assert!(
        client
            .line()
            .contains("to see whether news.a.example works")
    );
    daemon.stop();
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert_eq!((told.status, told.out.as_str()), (0, ""), "{told:?}");
    assert!(!program.path("news/setup.unfinished").exists());
    let mode = std::fs::metadata(program.path("news")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o750);
    // Once more it changes nothing.
    let told = usual(&program, &["--port", &port]);
    assert_eq!(told.status, 2);
    assert!(
        told.err
            .contains("is a news directory already; nothing was changed"),
        "{told:?}"
    );
}

#[test]
fn answers_are_lines_of_standard_input() {
    let program = Program::new();
    let port = port();
    // An empty line takes the usual answer.
    let answers = "news.a.example\ncomp.lang.c local\nusers, 192.0.2.0/24\nanna\n192.0.2.7\n\n136 MiB\na long password\n";
    let told = setup(&program, &["--port", &port, "--keep-days", "7"], answers);
    // The name has no address: that is told, and no obstacle.
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        "failed   name          news.a.example has no address in DNS",
        "ok       post          article 1 of local.test was posted over NNTP and read back",
        "peer show 192.0.2.7",
    ] {
        assert!(told.out.contains(part), "{told:?}");
    }
    let settings = program.read("news/broadsheet.toml");
    for part in [
        "name = \"news.a.example\"".to_owned(),
        format!("listen = \"*:{port}\""),
        "\n[expiry]\nkeep_free = \"136 MiB\" ".to_owned(),
        "name = \"192.0.2.7\"\nfrom = [\"192.0.2.7\"]\nsend = \"*,!local,!local.*\"\n".to_owned(),
        "from = [\"192.0.2.0/24\"]\nread = \"*\"\npost = \"*\"\n".to_owned(),
        "users = [\"*\"]\nread = \"*\"\npost = \"*\"\n".to_owned(),
        "name = \"192.0.2.7\"\ngroups = \"all,!local\"\ndistributions = \"all,!local\"\nvia = { nntp = \"192.0.2.7\" }\n"
            .to_owned(),
    ] {
        assert!(settings.contains(&part), "{part} is not in {settings}");
    }
    assert!(
        program
            .read("news/active")
            .contains("comp.lang.c 0000000000")
    );
    assert!(program.read("news/explist").contains("all\t\tx\t7\t"));
    let users = program.run(&["user", "list", "--dir", "news"]);
    assert!(users.out.contains("anna: password"), "{users:?}");
}

#[test]
fn without_answers_it_names_the_flags_and_makes_nothing() {
    let program = Program::new();
    let told = setup(&program, &["--groups", "local"], "news.a.example\n");
    assert_eq!(told.status, 64);
    assert!(
        told.err.contains(
            "nothing was changed: add --readers, --peers, --tls, --keep-free; --yes takes"
        ),
        "{told:?}"
    );
    for (words, why) in [
        (&["--name", "a b"][..], "--name: "),
        (&["--groups", "locla"], "--groups: `locla' is neither"),
        (
            &["--groups", "/nonexistent/active"],
            "--groups: cannot read",
        ),
        (&["--readers", "192.0.2.1/24"], "--readers: `192.0.2.1/24'"),
        (
            &["--peers", "nowhere.invalid"],
            "--peers: `nowhere.invalid' has no address",
        ),
        (
            &["--tls", "/nonexistent/cert.pem"],
            "--tls: /nonexistent/cert.pem does not exist (",
        ),
        (&["--keep-free", "900 TiB"], "--keep-free: only"),
        (&["--keep-free", "1 MiB"], "--keep-free: below 136 MiB"),
        (
            &["--tls", "none", "--tls-port", "1563"],
            "--tls-port needs a certificate",
        ),
        (
            &["--keep-free", "200%"],
            "--keep-free: `200%' is not a size with a unit (",
        ),
        (&["--port", "0"], "--port: "),
        (&["--readers", "users", "--login", "a b"], "--login: "),
    ] {
        let told = usual(&program, words);
        assert_eq!(told.status, 64, "{told:?}");
        assert!(told.err.contains(why), "{why}: {told:?}");
    }
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = busy.local_addr().unwrap().port().to_string();
    let told = usual(&program, &["--port", &port]);
    assert_eq!(told.status, 64);
    assert!(
        told.err.contains("another program listens there"),
        "{told:?}"
    );
    assert!(!program.path("news/broadsheet.toml").exists());
}

#[test]
fn an_empty_name_is_no_missing_one() {
    let program = Program::new();
    let told = setup(&program, &["--yes", "--name", ""], "");
    assert_eq!(told.status, 64, "{told:?}");
    assert!(told.err.contains("--name: write a name"), "{told:?}");
}

/// Who says no at the end gets the answers back.
#[test]
fn a_no_at_the_end_loses_no_answer() {
    let program = Program::new();
    let command = format!(
        "\"{}\" setup --dir news --port {}",
        env!("CARGO_BIN_EXE_broadsheet"),
        port()
    );
    let child = std::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(program.path("."))
        .env_remove("BROADSHEET_DIR")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return println!("skipped: answers on a terminal (script: {error})"),
    };
    let answers = b"news.a.example\nlocal it.s\n\n\n\n136 MiB\nno\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), answers).unwrap();
    let done = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout).replace("\r\n", "\n");
    for part in [
        "Nothing was changed.",
        " --name news.a.example --groups 'local it.s' ",
        " --keep-free '136 MiB'",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!program.path("news/broadsheet.toml").exists());
}

#[test]
fn what_is_there_is_left_alone() {
    let program = Program::new();
    std::fs::create_dir(program.path("news")).unwrap();
    program.write("news/diary", b"mine");
    let told = usual(&program, &["--port", &port()]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("is not empty; nothing was changed"),
        "{told:?}"
    );
    assert_eq!(program.files("news").len(), 1);
}

#[test]
fn groups_come_from_a_file() {
    let program = Program::new();
    program.write(
        "list",
        b"misc.test 0000000007 0000000003 y\nnews.admin.x 0 1 m\n",
    );
    let told = usual(&program, &["--groups", "./list", "--port", &port()]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        program
            .read("news/active")
            .starts_with("misc.test 0000000008 "),
        "{told:?}"
    );
    assert!(told.out.contains("article 8 of misc.test"), "{told:?}");
    program.write("bad", b"misc.test\tDescriptions are another file\n");
    let other = Program::new();
    let told = usual(
        &other,
        &["--groups", &program.path("bad").display().to_string()],
    );
    assert!(
        told.status == 64 && told.err.contains("not lines of active"),
        "{told:?}"
    );
    // A device may have no end.
    let told = usual(&other, &["--groups", "/dev/zero"]);
    assert!(
        told.status == 64 && told.err.contains("/dev/zero is larger than"),
        "{told:?}"
    );
    for list in ["--active", "--newsgroups"] {
        let init = ["init", "--dir", "n", "--name", "a.example"];
        let told = other.run(&[&init[..], &[list, "/dev/zero"]].concat());
        assert!(
            told.status != 0 && told.err.contains("larger than"),
            "{told:?}"
        );
    }
}

#[test]
fn articles_are_kept_for_a_day_at_least() {
    let program = Program::new();
    let told = usual(&program, &["--keep-days", "0"]);
    assert!(
        told.status == 64 && told.err.contains("--keep-days is at least 1"),
        "{told:?}"
    );
    assert!(!program.path("news/broadsheet.toml").exists());
}

#[test]
fn what_failed_can_be_corrected_and_tried_again() {
    let program = Program::new();
    let port = port();
    assert_eq!(usual(&program, &["--port", &port]).status, 0);
    // As if it had been interrupted before the trial.
    program.write(
        "news/setup.unfinished",
        b"name\tnews.a.example\nlogin\tnone\n",
    );
    let settings = program.read("news/broadsheet.toml");
    program.write(
        "news/broadsheet.toml",
        settings.replace("junk = false", "jnk = false").as_bytes(),
    );
    let told = setup(&program, &[], "");
    assert!(
        told.status == 1 && told.out.contains("unknown key `jnk'"),
        "{told:?}"
    );
    program.write("news/broadsheet.toml", settings.as_bytes());
    let busy = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    let told = setup(&program, &[], "");
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.out.contains("failed   port") && told.out.contains("it goes on here"),
        "{told:?}"
    );
    drop(busy);
    let told = setup(&program, &[], "");
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.err.contains("was interrupted; going on"), "{told:?}");
    assert!(told.out.contains("article 2 of local.test"), "{told:?}");
    assert!(!program.path("news/setup.unfinished").exists());
}

#[test]
fn a_setup_that_goes_on_refuses_other_answers() {
    let program = Program::new();
    let port = port();
    let words = ["--port", &port, "--keep-days", "7"];
    assert_eq!(usual(&program, &words).status, 0);
    let settings = program.read("news/broadsheet.toml");
    // As if it had been interrupted before the trial.
    let answers = format!("name\tnews.a.example\nkeep-free\t136 MiB\nkeep-days\t7\nport\t{port}\n");
    program.write("news/setup.unfinished", answers.as_bytes());
    let told = usual(&program, &["--port", "9", "--groups", "usenet"]);
    assert_eq!(told.status, 64, "{told:?}");
    let ports = format!("--port (it was `{port}': edit broadsheet.toml); leave these flags out");
    for part in [
        "with other answers to --groups (it was not given: see `broadsheet group add'), ",
        &ports,
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    assert_eq!(program.read("news/broadsheet.toml"), settings);
    assert!(program.path("news/setup.unfinished").exists());
    assert_eq!(usual(&program, &words).status, 0);
}

#[test]
fn a_setup_is_done_where_only_other_machines_are_concerned() {
    let program = Program::new();
    let words = ["--port", &port(), "--readers", "anyone"];
    let told = usual(&program, &words);
    assert!(
        told.status == 1
            && told.out.contains("has no address in DNS")
            && told
                .out
                .contains("Setup is done, although parts of the trial failed"),
        "{told:?}"
    );
    let told = usual(&program, &words);
    assert!(
        told.status == 2 && told.err.contains("is a news directory already"),
        "{told:?}"
    );
}

#[test]
fn users_log_in_from_the_machine_itself() {
    let program = Program::new();
    let port = port();
    let words = [
        "--yes",
        "--name",
        "news.a.example",
        "--keep-free",
        "136 MiB",
        "--port",
        &port,
    ];
    let words = [&words[..], &["--readers", "users", "--login", "anna"]].concat();
    let told = setup(&program, &words, "a long password\n");
    assert!(told.out.contains("Setup is done"), "{told:?}");
    // TLS makes no difference here.
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let daemon = Daemon::start(&program);
    let mut client = Client::greeted(&format!("127.0.0.1:{port}"));
    assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
    assert!(
        client
            .ask("AUTHINFO PASS a long password")
            .starts_with("281 ")
    );
    assert!(client.ask("GROUP local.test").starts_with("211 "));
    assert!(client.ask("IHAVE <1@news.b.example>").starts_with("502 "));
    daemon.stop();
}

#[test]
fn an_interrupted_one_goes_on_with_its_answers() {
    let program = Program::new();
    // Whatever was made before the settings were.
    std::fs::create_dir_all(program.path("news/segments")).unwrap();
    program.write(
        "news/setup.unfinished",
        b"name\tnews.b.example\ngroups\tcomp.test\nkeep-free\t136 MiB\n",
    );
    program.write("news/active", b"half of it");
    let told = setup(&program, &["--yes", "--port", &port()], "");
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        program
            .read("news/broadsheet.toml")
            .contains("name = \"news.b.example\"")
    );
    assert!(told.out.contains("article 1 of comp.test"), "{told:?}");
}

#[test]
fn killed_at_any_time_it_goes_on() {
    let program = Program::new();
    let port = port();
    let words = [
        "setup",
        "--dir",
        "news",
        "--run-as",
        "root",
        "--yes",
        "--name",
        "news.a.example",
        "--keep-free",
        "136 MiB",
        "--port",
        &port,
    ];
    for milliseconds in [3, 10, 20, 40, 80, 160] {
        let mut command = program.command(&words);
        let mut child = command
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        // The daemon of its trial.
        program.run(&["stop", "--dir", "news"]);
    }
    let is_done = program.path("news/broadsheet.toml").exists()
        && !program.path("news/setup.unfinished").exists();
    let told = program.run(&words);
    assert_eq!(told.status, if is_done { 2 } else { 0 }, "{told:?}");
    program.assert_clean();
}

#[test]
fn root_makes_it_for_the_news_user() {
    let program = Program::new();
    let owner = std::fs::metadata(program.path("")).unwrap().uid();
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let news = users.lines().find_map(|line| line.strip_prefix("news:x:"));
    let Some(uid) = news
        .and_then(|rest| rest.split(':').next())
        .filter(|_| owner == 0)
    else {
        eprintln!("skipped: only root can try this, on a system with the user news");
        return;
    };
    std::fs::set_permissions(program.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = [
        "setup",
        "--dir",
        "news",
        "--yes",
        "--name",
        "news.a.example",
        "--keep-free",
        "136 MiB",
    ];
    let port = port();
    let told = program.run(&[&words[..], &["--port", &port]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .contains("runuser -u news -- broadsheet serve --dir "),
        "{told:?}"
    );
    for file in ["", "broadsheet.toml", "active", "segments"] {
        let facts = std::fs::metadata(program.path("news").join(file)).unwrap();
        assert_eq!(facts.uid().to_string(), uid, "{file}");
    }
    // Root goes on as the owner.
    for words in [
        &["status"][..],
        &["check", "-q"],
        &["group", "list"],
        &["article", "local.test/1"],
        &["history", "dump"],
        &["user", "list"],
        &["group", "add", "local.more"],
    ] {
        let told = program.run(&[words, &["--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{words:?}: {told:?}");
    }
    // Files of root keep the owner from filing.
    let segment = program.files("news/segments").remove(0);
    for (file, said) in [
        (
            segment,
            "cannot be written by the owner of the news directory",
        ),
        (
            program.path("news/in.coming"),
            "in.coming: ERROR: cannot be read",
        ),
    ] {
        std::os::unix::fs::chown(&file, Some(0), Some(0)).unwrap();
        let told = program.run(&["check", "-q", "--dir", "news"]);
        assert!(told.status == 1 && told.out.contains(said), "{told:?}");
        let uid = uid.parse().ok();
        std::os::unix::fs::chown(&file, uid, uid).unwrap();
    }
    for file in program.files("news") {
        assert_eq!(
            std::fs::metadata(&file).unwrap().uid().to_string(),
            uid,
            "{}",
            file.display()
        );
    }
    // init does the same where root names the user.
    let told = program.run(&[
        "init",
        "--dir",
        "third",
        "--name",
        "c.example",
        "--run-as",
        "news",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        std::fs::metadata(program.path("third/active"))
            .unwrap()
            .uid()
            .to_string(),
        uid
    );
    // A mistake leaves nothing behind.
    let told = program.run(&["setup", "--dir", "other", "--yes", "--name", "a b"]);
    assert_eq!(told.status, 64, "{told:?}");
    assert!(!program.path("other").exists());
    let told = program.run(&[
        "setup",
        "--dir",
        "other",
        "--yes",
        "--run-as",
        "nobody-here",
    ]);
    assert!(
        told.status == 64 && told.err.contains("useradd"),
        "{told:?}"
    );
}

#[test]
fn on_a_full_disk_it_says_what_makes_room() {
    let program = Program::new();
    std::fs::create_dir(program.path("news")).unwrap();
    let Some(_small) = Small::mount(&program.path("news"), "100m") else {
        eprintln!("skipped: a full disk (no file system may be mounted here)");
        return;
    };
    let port = port();
    let words = ["--yes", "--name", "news.a.example", "--port", &port];
    let told = setup(&program, &[&words[..], &["--keep-free", "0"]].concat(), "");
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        "POST: 440 The disk is too full",
        "the server takes no articles: full: ",
        "make room (`broadsheet expire'",
    ] {
        assert!(told.out.contains(part), "{part} in {told:?}");
    }
    assert!(!told.out.contains("access explain"), "{told:?}");
}

#[test]
fn a_network_of_this_machine_is_this_machine() {
    let program = Program::new();
    let words = ["--port", &port(), "--readers", "127.0.0.1 ::1 192.0.2.0/24"];
    let told = usual(&program, &words);
    assert!(program.path("news/broadsheet.toml").exists(), "{told:?}");
    let settings = program.read("news/broadsheet.toml");
    assert!(settings.contains("from = [\"192.0.2.0/24\"]"), "{settings}");
    let told = program.run(&["check", "-q", "--dir", "news"]);
    assert!(!told.out.contains("never used"), "{told:?}");
    let alone = Program::new();
    usual(&alone, &["--port", &port(), "--readers", "127.0.0.1"]);
    let settings = alone.read("news/broadsheet.toml");
    assert!(!settings.contains("\"networks\""), "{settings}");
    assert!(settings.contains("listen = \"127.0.0.1:"), "{settings}");
    let told = alone.run(&["check", "-q", "--dir", "news"]);
    assert!(!told.out.contains("[[access]]"), "{told:?}");
}
