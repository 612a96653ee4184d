//! A fault in broadsheet.toml stops every command, with file, line, column and the nearest key.

use crate::program;
use program::Program;

#[test]
fn an_unknown_key() {
    let program = Program::with_news("");
    let text = program
        .read("news/broadsheet.toml")
        .replace("\nsync =", "\nsink =");
    program.write("news/broadsheet.toml", text.as_bytes());
    let line = text
        .lines()
        .position(|line| line.starts_with("sink"))
        .unwrap()
        + 1;
    for command in ["check", "limits", "rnews"] {
        let told = program.run(&[command, "--dir", "news"]);
        assert_eq!(told.status, 78, "{command}: {told:?}");
        let place = format!(
            "news/broadsheet.toml:{line}:1: unknown key `sink' in [store]; did you mean sync?"
        );
        assert!(told.err.contains(&place), "{command}: {told:?}");
    }
}

#[test]
fn no_settings_at_all() {
    let told = Program::new().run(&["check", "--dir", "nowhere"]);
    assert_eq!(told.status, 2);
    assert!(
        told.err.contains("nowhere is not a news directory"),
        "{told:?}"
    );
    assert!(told.err.contains("broadsheet init"), "{told:?}");
}

/// The settings with these keys of `[nntp]`, each with the line it stands on.
fn with_keys(keys: &[(&str, &str)]) -> (Program, Vec<usize>) {
    let program = Program::with_news("");
    let mut lines = Vec::new();
    for (key, value) in keys {
        let before = program.read("news/broadsheet.toml");
        let start = format!("{key} = ");
        let mut numbered = (1..).zip(before.lines());
        let (number, line) = numbered
            .find(|(_, line)| line.starts_with(&start))
            .expect(key);
        program.set(line, &format!("{key} = {value}"));
        lines.push(number);
    }
    (program, lines)
}

#[test]
fn what_the_server_cannot_go_by() {
    for (keys, told) in [
        (
            &[("listen", "\"127.0.0.1\"")][..],
            "nntp.listen `127.0.0.1' is not a valid listening address",
        ),
        (
            &[("listen", "\"localhost:3120\"")],
            "nntp.listen `localhost:3120' is not a valid listening address",
        ),
        (
            &[("listen", "\"*\"")],
            "nntp.listen `*' is not a valid listening address",
        ),
        (
            &[("listen", "\"::1:119\"")],
            "nntp.listen `::1:119' is not a valid listening address",
        ),
        (
            &[("listen", "\"127.0.0.1:3119, 127.0.0.1:3119\"")],
            "nntp.listen has 127.0.0.1:3119 for the second time",
        ),
        (
            &[("listen", "\"*:3119, 127.0.0.1:3119\"")],
            "nntp.listen has 127.0.0.1:3119 beside 0.0.0.0:3119, which takes in the other",
        ),
        (
            &[("listen_tls", "\"127.0.0.1:3563\"")],
            "nntp.listen_tls needs a certificate: set nntp.certificate and nntp.key",
        ),
        (
            &[("certificate", "\"cert.pem\"")],
            "nntp.certificate needs nntp.key beside it: certificate and key go together",
        ),
        (
            &[("key", "\"key.pem\"")],
            "nntp.key needs nntp.certificate beside it: certificate and key go together",
        ),
        (
            &[("without", "\"FOO\"")],
            "nntp.without `FOO' cannot be disabled; these can: newnews, hdr, xpat, compress, streaming, over, authinfo, sasl, starttls",
        ),
        (
            &[("without", "\"xpat, newnews hdr\"")],
            "nntp.without `newnews hdr' cannot be disabled",
        ),
        (
            &[("without", "\"READER\"")],
            "nntp.without `READER' cannot be disabled",
        ),
        (
            &[("program", "\"ckpasswd 'x\"")],
            "auth.program cannot be run: a quote in the command is not closed",
        ),
    ] {
        let (program, lines) = with_keys(keys);
        for command in ["serve", "check"] {
            let told_all = program.run(&[command, "--dir", "news"]);
            assert_eq!(told_all.status, 78, "{command}: {told_all:?}");
            let told = format!("broadsheet.toml:{}:1: {told}", lines[0]);
            assert!(told_all.err.contains(&told), "{told}: {told_all:?}");
        }
    }
    // All of them together.
    let (program, _) = with_keys(&[("listen", "\"*\""), ("key", "\"k\""), ("without", "\"x\"")]);
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.err.lines().count(), 3, "{told:?}");
}

#[test]
fn a_key_that_others_may_read_or_that_is_no_file() {
    use std::os::unix::fs::PermissionsExt;
    let (program, _) = with_keys(&[("certificate", "\"cert.pem\""), ("key", "\"key.pem\"")]);
    let made = rcgen::generate_simple_self_signed(["news.example.org".to_owned()]).unwrap();
    let fault = |part: &str| {
        let told = program.run(&["serve", "--dir", "news"]);
        assert_eq!(told.status, 78, "{told:?}");
        assert!(told.err.contains(part), "{part}: {told:?}");
        let told = program.run(&["check", "--dir", "news"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.out.contains("[nntp]: ERROR: "), "{told:?}");
        assert!(told.out.contains(part), "{part}: {told:?}");
    };
    fault("cert.pem: cannot read");
    program.write("news/cert.pem", made.cert.pem().as_bytes());
    fault("key.pem: cannot read");
    std::fs::create_dir(program.path("news/key.pem")).unwrap();
    fault("key.pem: not a regular file");
    std::fs::remove_dir(program.path("news/key.pem")).unwrap();
    let key = made.signing_key.serialize_pem();
    program.write("news/key.pem", key.as_bytes());
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(program.path("news/key.pem"), mode(0o644)).unwrap();
    fault("key.pem: other users may read this private key (mode 0644)");
    program.write("news/cert.pem", key.as_bytes());
    fault("cert.pem: no certificate found");
    // The right ones.
    program.write("news/cert.pem", made.cert.pem().as_bytes());
    std::fs::set_permissions(program.path("news/key.pem"), mode(0o600)).unwrap();
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let said = "[nntp]: no addresses to listen at; certificate for news.example.org, valid until ";
    assert!(told.out.contains(said), "{told:?}");
}

#[test]
fn files_that_a_site_needs() {
    use std::os::unix::fs::PermissionsExt;
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"peer\"\ngroups = \"comp\"\n\
           via = { nntp = \"news.example\", tls = \"starttls\", tls_ca = \"ca.pem\", user = \"us\", password_file = \"pw\" }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    let check = |part: &str, status| {
        let told = program.run(&["check", "--dir", "news"]);
        assert_eq!(told.status, status, "{told:?}");
        assert!(told.out.contains(part), "{part}: {told:?}");
    };
    check("ca.pem: cannot read", 1);
    program.write("news/ca.pem", b"nothing\n");
    check("ca.pem: no certificate found", 1);
    let made = rcgen::generate_simple_self_signed(["news.example".to_owned()]).unwrap();
    program.write("news/ca.pem", made.cert.pem().as_bytes());
    check("pw: cannot read", 1);
    program.write("news/pw", b"secret\n");
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(program.path("news/pw"), mode(0o644)).unwrap();
    check("pw: other users may read this password (mode 0644)", 1);
    std::fs::set_permissions(program.path("news/pw"), mode(0o600)).unwrap();
    check("1 site to feed", 0);
}
