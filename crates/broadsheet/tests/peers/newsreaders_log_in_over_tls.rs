//! Newsreaders that know TLS log in with AUTHINFO; where nobody has logged in nothing is read.

use crate::program;

use std::path::Path;
use std::process::Command;

use program::clients::{Server, at_home, client, thread_here};
use program::screen::Screen;
use program::{Told, peers};

fn run(command: &mut Command) -> Told {
    let told = command.output().expect("it runs");
    Told {
        status: told.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&told.stdout).into_owned(),
        err: String::from_utf8_lossy(&told.stderr).into_owned(),
    }
}

#[test]
fn nntplib() {
    let server = Server::start_with_users();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/nntplib_login.py");
    let told = run(at_home(&server.program, Path::new("python3"))
        .env("PYTHONPATH", peers::unpacked().join("python"))
        .arg("-Wignore")
        .arg(script)
        .args(["127.0.0.1", &server.port, &server.tls_port])
        .arg(server.program.path("news/chain.pem")));
    match told.status {
        127 => println!("skipped: nntplib (no python3 here)"),
        _ if told.err.contains("skipped:") => println!("{}", told.err),
        status => assert_eq!(status, 0, "{told:?}"),
    }
}

#[test]
fn slrnpull() {
    let server = Server::start_with_users();
    let Some(mut pull) = client(&server.program, "usr/bin/slrnpull", "slrnpull") else {
        return;
    };
    std::fs::create_dir(server.program.path("pulled")).expect("made");
    server
        .program
        .write("pulled/slrnpull.conf", b"default 0 0 0\ntest.one\n");
    server.program.write("pulled/authinfo", b"anna\nhazelnut\n");
    let told = run(pull
        .args(["-d", "pulled", "-h"])
        .arg(format!("snews://127.0.0.1:{}", server.tls_port)));
    assert_eq!(told.status, 0, "{told:?}");
    for (number, article) in (1..).zip(thread_here()) {
        let pulled = server
            .program
            .path(&format!("pulled/news/test/one/{number}"));
        assert_eq!(std::fs::read(pulled).expect("pulled"), article);
    }
}

#[test]
fn suck() {
    let server = Server::start_with_users();
    server.program.write("sucknewsrc", b"test.one 0\n");
    let Some(mut suck) = client(&server.program, "usr/bin/suck", "suck") else {
        return;
    };
    suck.args([
        "127.0.0.1",
        "-ssl",
        "-N",
        &server.tls_port,
        "-H",
        "-K",
        "-m",
    ])
    .args(["-U", "anna", "-P", "hazelnut"])
    .args(["-dd", ".", "-dt", ".", "-dm", "sucked"]);
    let told = run(&mut suck);
    let files = server.program.files("sucked");
    let sucked = files.iter().map(|path| std::fs::read(path).expect("read"));
    let sucked: Vec<_> = sucked.collect();
    assert!(sucked == thread_here(), "{told:?}");
}

#[test]
fn tin() {
    let server = Server::start_with_users();
    server.program.write(".newsrc", b"test.one: 1-2\n");
    server
        .program
        .write(".newsauth", b"127.0.0.1 hazelnut anna\n");
    let Some(mut tin) = client(&server.program, "usr/bin/tin", "tin") else {
        return;
    };
    // -k: whoever signed the certificate.
    let told = run(tin.args(["-r", "-T", "-k", "-A", "-g", "127.0.0.1"]).args([
        "-p",
        &server.tls_port,
        "-q",
        "-Z",
        "-v",
    ]));
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.out.contains("3 unread"), "{told:?}");
}

#[test]
fn slrn() {
    let server = Server::start_with_users();
    let Some(mut slrn) = client(&server.program, "usr/bin/slrn", "slrn") else {
        return;
    };
    let host = format!("snews://127.0.0.1:{}", server.tls_port);
    let settings = format!(
        "set username \"slrn\"\nset hostname \"example.com\"\nset realname \"Slrn Reader\"\n\
         nnrpaccess \"{host}\" \"anna\" \"hazelnut\"\n"
    );
    server.program.write("slrnrc", settings.as_bytes());
    server.program.write("newsrc", b"test.one: 1-2\n");
    let root = peers::root_of("usr/bin/slrn", "slrn").expect("it is there");
    slrn.env("SLRN_SLANG_DIR", root.join("usr/share/slrn/slang"))
        .args(["-h", &host, "-f", "newsrc", "-i", "slrnrc"]);
    let Some(screen) = Screen::start(&server.program, &slrn) else {
        return;
    };
    screen.until_shows("->     3  test.one");
    screen.keys(&["Enter"]).until_shows("Grüße, 3");
    screen.keys(&["Enter"]).until_shows("Line one of 3");
}

#[test]
fn neomutt() {
    let server = Server::start_with_users();
    let settings = format!(
        "set news_server = \"news://127.0.0.1:{port}\"\n\
         set spoolfile = \"news://127.0.0.1:{port}/test.one\"\n\
         set newsrc = ~/newsrc\nset news_cache_dir = ~/cache\nset folder = ~/mail\nset record = \"\"\n\
         set ssl_starttls = yes\nset ssl_force_tls = yes\nset certificate_file = ~/news/chain.pem\n\
         set nntp_user = anna\nset nntp_pass = hazelnut\nset nntp_context = 0\n",
        port = server.port
    );
    server.program.write("muttrc", settings.as_bytes());
    server.program.write("newsrc", b"test.one:\n");
    for folder in ["cache", "mail"] {
        std::fs::create_dir(server.program.path(folder)).expect("made");
    }
    let Some(mut mutt) = client(&server.program, "usr/bin/neomutt", "neomutt") else {
        return;
    };
    mutt.args(["-n", "-F", "muttrc"]);
    let Some(screen) = Screen::start(&server.program, &mutt) else {
        return;
    };
    screen.until_shows("Msgs:5").until_shows("Grüße, 1");
}
