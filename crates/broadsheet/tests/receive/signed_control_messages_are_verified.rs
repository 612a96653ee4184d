//! A control message counts when a trusted key signed all that matters of it, for groups it may speak for.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::path::PathBuf;
use std::process::Command;

use article::{Article, Form};
use openpgp::Certificate;
use program::{Program, Told, corpus, shared};
use relay::keyring::{Allowed, Keyring, TrustedKey};
use relay::verify::Unverified;

const ACTIVE: &str = "control 0000000000 00001 y\njunk 0000000000 00001 y\n";

fn vector(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../openpgp/tests/vectors/{name}"))
}

/// The value of X-PGP-Sig that says the same as armour.
fn header(names: &str, armor: &str) -> String {
    let (_, lines) = armor.split_once("\n\n").unwrap();
    let lines = lines.lines().filter(|line| !line.starts_with('-'));
    format!(
        "2.6.3 {names}\n\t{}",
        lines.collect::<Vec<_>>().join("\n\t")
    )
}

/// The control message of which the vectors sign the Control header and the body.
fn message(signature: &str) -> String {
    let armor = std::fs::read_to_string(vector(&format!("{signature}.sig.asc"))).unwrap();
    format!(
        "Path: a!b\nFrom: a@example.org\nNewsgroups: example.test\nSubject: cmsg newgroup example.test\n\
         Control: newgroup example.test\nMessage-ID: <1@example.org>\nDate: Wed, 15 Jul 1998 18:00:04 GMT\n\
         X-PGP-Sig: {}\n\nA text of three lines,\n- one with a dash,\n.\n",
        header("Control", &armor)
    )
}

fn import(program: &Program, key: &str, rest: &[&str]) -> Told {
    let path = vector(&format!("{key}.key.asc"));
    let words = ["key", "import", path.to_str().unwrap(), "--dir", "news"];
    program.run(&[&words, rest].concat())
}

fn verify(program: &Program, message: &str) -> Told {
    program.feed(&["control", "verify", "--dir", "news"], message.as_bytes())
}

#[test]
fn keys_of_every_kind_are_imported_and_verify() {
    let program = Program::with_news(ACTIVE);
    for (key, allow) in [
        ("old", "md5"),
        ("rsa2048", ""),
        ("dsa2048", ""),
        ("ed25519", ""),
    ] {
        let unknown = verify(&program, &message(key));
        assert_eq!(unknown.status, 1, "{unknown:?}");
        assert!(unknown.out.contains("not a trusted key"), "{unknown:?}");
        let told = import(
            &program,
            key,
            &["--hierarchy", "comp.*,example.*", "--allow", allow],
        );
        assert_eq!(told.status, 0, "{told:?}");
        let told = verify(&program, &message(key));
        assert_eq!(told.status, 0, "{told:?}");
        let wanted = format!(" {key}.example (example.*)\n");
        assert!(
            told.out.starts_with("verified by ") && told.out.ends_with(&wanted),
            "{told:?}"
        );
    }
    let told = program.run(&["key", "list", "--dir", "news", "--json"]);
    assert_eq!(told.out.lines().count(), 4, "{told:?}");
    let told = program.run(&["key", "list", "--dir", "news"]);
    assert!(
        told.out.contains("RSA of 1024 bits, old key format 3\n"),
        "{told:?}"
    );
}

#[test]
fn a_signature_by_a_subkey_is_called_that() {
    let program = Program::with_news(ACTIVE);
    let packets = |key: &str| {
        let text = std::fs::read(vector(&format!("{key}.key.asc"))).unwrap();
        let mut read = Certificate::read_all(&text).unwrap();
        read.pop().unwrap().unwrap().packets
    };
    let mut subkey = packets("ed25519");
    // The tag of a public key becomes that of a subkey.
    subkey[0] = match subkey[0] {
        first @ 0xc0.. => (first & 0xc0) | 14,
        first => (first & 0x83) | 14 << 2,
    };
    program.write("key", &[packets("rsa2048"), subkey].concat());
    let words = ["key", "import", "key", "--dir", "news", "--hierarchy"];
    let told = program.run(&[&words[..], &["example.*"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.err.contains("the key has subkeys that may sign"),
        "{told:?}"
    );
    let told = verify(&program, &message("ed25519"));
    assert!(
        told.status == 1 && told.out.contains("subkeys are not supported"),
        "{told:?}"
    );
    assert_eq!(verify(&program, &message("rsa2048")).status, 0);
}

#[test]
fn weak_hashes_count_only_where_allowed() {
    let program = Program::with_news(ACTIVE);
    for (key, signature, allow, other) in [
        ("old", "old", "md5", "sha1"),
        ("old", "old-sha1", "sha1", "md5"),
        ("rsa2048", "rsa2048-sha1", "sha1,md5", "md5"),
    ] {
        for allowed in ["", other] {
            import(
                &program,
                key,
                &["--hierarchy", "example.*", "--allow", allowed],
            );
            let told = verify(&program, &message(signature));
            assert_eq!(told.status, 1, "{signature} {allowed}: {told:?}");
            assert!(told.out.contains("which is not secure"), "{told:?}");
        }
        import(
            &program,
            key,
            &["--hierarchy", "example.*", "--allow", allow],
        );
        assert_eq!(
            verify(&program, &message(signature)).status,
            0,
            "{signature}"
        );
    }
    let told = import(
        &program,
        "old",
        &["--hierarchy", "example.*", "--allow", "md4"],
    );
    assert_eq!(told.status, 64, "{told:?}");
}

#[test]
fn a_key_speaks_for_its_hierarchies_only() {
    let program = Program::with_news(ACTIVE);
    import(
        &program,
        "ed25519",
        &["--hierarchy", "example.*,!example.test"],
    );
    let told = verify(&program, &message("ed25519"));
    assert_eq!(told.status, 1);
    assert!(told.out.contains("but not for example.test"), "{told:?}");
    assert_eq!(
        import(&program, "ed25519", &[]).status,
        64,
        "a hierarchy must be said"
    );
}

#[test]
fn what_is_changed_doubled_or_unsigned_does_not_count() {
    let program = Program::with_news(ACTIVE);
    import(&program, "rsa2048", &["--hierarchy", "*"]);
    let whole = message("rsa2048");
    for (from, to, wanted) in [
        (
            "newgroup example.test\nM",
            "newgroup example.tests\nM",
            "is invalid",
        ),
        ("three lines", "three lines,", "is invalid"),
        (
            "Control: n",
            "control: rmgroup example.test\nControl: n",
            "more than once",
        ),
        ("2.6.3 Control", "2.6.3 Control,Approved", "is invalid"),
        (
            "2.6.3 Control",
            "2.6.3 Subject",
            "does not cover the Control header",
        ),
        ("X-PGP-Sig:", "X-PGP-Signature:", "is not signed"),
        (
            "Control: newgroup",
            "X-Control: newgroup",
            "no Control header",
        ),
        ("Path: a!b", "Path a!b", "header is invalid"),
    ] {
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole);
        let told = verify(&program, &changed);
        assert_eq!(told.status, 1, "{from}: {told:?}");
        assert!(told.out.contains(wanted), "{from}: {told:?}");
    }
    // What is not signed may change on the way; blanks at ends of lines do not count.
    for (from, to) in [
        ("Path: a!b", "Path: c!a!b"),
        ("lines,\n", "lines, \t\n"),
        ("2.6.3", "2.6.2"),
    ] {
        assert_eq!(
            verify(&program, &whole.replacen(from, to, 1)).status,
            0,
            "{from}"
        );
    }
}

#[test]
fn one_key_of_several_is_chosen_and_removed() {
    let program = Program::with_news(ACTIVE);
    let both =
        ["old", "ed25519"].map(|key| std::fs::read(vector(&format!("{key}.key.asc"))).unwrap());
    program.write("both", &both.concat());
    let words = [
        "key",
        "import",
        "both",
        "--dir",
        "news",
        "--hierarchy",
        "a.*",
    ];
    let told = program.run(&words);
    assert_eq!(told.status, 1);
    assert!(told.err.contains("add --key with one of"), "{told:?}");
    for key in ["old.example", "067B7717"] {
        let told = program.run(&[&words[..], &["--key", key]].concat());
        assert_eq!(told.status, 0, "{told:?}");
    }
    let told = program.run(&[&words[..], &["--key", "12345678"]].concat());
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(program.files("news/keys").len(), 2);
    for (key, status) in [
        ("7717", 1),
        ("067B7717", 0),
        ("067B7717", 1),
        ("old.example", 0),
    ] {
        let told = program.run(&["key", "remove", key, "--dir", "news"]);
        assert_eq!(told.status, status, "{key}: {told:?}");
    }
    assert!(program.files("news/keys").is_empty());
}

#[test]
fn keys_are_private_and_damage_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let program = Program::with_news(ACTIVE);
    import(&program, "ed25519", &["--hierarchy", "a.*"]);
    let mode = |path: &PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = program.files("news/keys").remove(0);
    assert_eq!(
        (mode(&program.path("news/keys")), mode(&file)),
        (0o700, 0o600)
    );
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("Hierarchies", "Hierarchy", 1)).unwrap();
    let told = verify(&program, &message("ed25519"));
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("is not a key file"), "{told:?}");
    let revoked = import(&program, "revoked", &["--hierarchy", "a.*"]);
    assert_eq!(revoked.status, 1);
    assert!(revoked.err.contains("has been revoked"), "{revoked:?}");
}

/// The checkgroups of 1998 and the key of 1997, in process: thousands of changes are tried.
#[test]
fn the_checkgroups_of_the_big_eight_verifies_and_no_changed_byte_of_it_does() {
    let (Some(batch), Some(keys)) = (
        shared("corpus/edge/control.rnews.gz"),
        shared("corpus/admin/PGPKEYS.1997"),
    ) else {
        return;
    };
    let keyring = Keyring {
        keys: Certificate::read_all(&std::fs::read(keys).unwrap())
            .unwrap()
            .into_iter()
            .map(|certificate| TrustedKey {
                certificate: certificate.unwrap(),
                hierarchies: "humanities.*,misc.*,news.*,soc.*,talk.*".to_owned(),
                allowed: Allowed {
                    md5: true,
                    sha1: false,
                },
            })
            .collect(),
    };
    let verdict = |bytes: &[u8]| {
        let verified = relay::verify(&Article::parse(bytes, Form::Native), &keyring, 0);
        verified.map(|verified| verified.key.user_id())
    };
    let mut bytes = corpus::unbatch(&corpus::unpack(&batch)).remove(0);
    assert_eq!(verdict(&bytes).unwrap(), "news.announce.newgroups");
    let (header, _) = corpus::split_header(&bytes);
    let body = header.len();
    let mut from_signed = Vec::new();
    let mut line_start = 0;
    let mut is_signed = false;
    for line in header.split_inclusive(|&byte| byte == b'\n') {
        let starts = |name: &[u8]| line.starts_with(name);
        if !starts(b"\t") {
            let names = [
                &b"Subject:"[..],
                b"Control:",
                b"Message-ID:",
                b"Date:",
                b"From:",
            ];
            is_signed = names.iter().any(|name| starts(name));
        }
        // The signature; of its first line the version is for people.
        let is_armor = starts(b"\t") && !line.contains(&b':');
        let text = line_start + usize::from(is_armor)..line_start + line.len() - 1;
        if is_signed || is_armor {
            from_signed.extend(text);
        }
        line_start += line.len();
    }
    assert!(from_signed.len() > 350);
    let places = from_signed.into_iter().chain(body..body + 1000);
    for at in places.chain((body + 1000..bytes.len()).step_by(5)) {
        let kept = bytes[at];
        // A letter in the other case is the same header name, and a blank at the end of a line does not count.
        bytes[at] = if kept == b'q' { b'r' } else { b'q' };
        let verdict = verdict(&bytes);
        assert!(verdict.is_err(), "byte {at}, {:?}", char::from(kept));
        bytes[at] = kept;
    }
    bytes.extend_from_slice(b"alt.more\tMore.\n");
    assert!(matches!(verdict(&bytes), Err(Unverified::Bad { .. })));
}

#[test]
fn what_gnupg_signs_today_is_verified() {
    let program = Program::with_news(ACTIVE);
    std::fs::create_dir(program.path("gnupg")).unwrap();
    let gpg = |words: &[&str]| {
        let done = Command::new("gpg")
            .args(["--homedir", "gnupg", "--batch", "--quiet", "--armor"])
            .args(["--pinentry-mode", "loopback", "--passphrase", ""])
            .args(words)
            .current_dir(program.path(""))
            .output();
        done.ok().filter(|done| done.status.success())
    };
    if gpg(&["--version"]).is_none() {
        eprintln!("skipped: verifying what GnuPG signs (gpg is not present)");
        return;
    }
    // As pgpcontrol signs it: without the blank at the end of the line of dashes.
    program.write(
        "text",
        b"X-Signed-Headers: Subject,Control,Message-ID,Date,From,Sender\nSubject: cmsg rmgroup a.b\n\
          Control: rmgroup a.b\nMessage-ID: <2@example.org>\nDate: Wed, 15 Jul 2026 18:00:04 GMT\n\
          From: Somebody\n\t<s@example.org>\nSender:\n\nRemove it.\n--\nSomebody\n",
    );
    for algorithm in ["rsa2048", "ed25519"] {
        let name = format!("{algorithm}@a.example");
        let made = gpg(&["--quick-gen-key", &name, algorithm, "sign", "never"]);
        assert!(made.is_some(), "gpg makes a key");
        let key = gpg(&["--export", &name]).unwrap().stdout;
        program.write("key", &key);
        let armor = gpg(&[
            "--local-user",
            &name,
            "--detach-sign",
            "--textmode",
            "--output",
            "-",
            "text",
        ]);
        let armor = String::from_utf8(armor.unwrap().stdout).unwrap();
        let message = format!(
            "Path: x\nSubject: cmsg rmgroup a.b\nControl: rmgroup a.b\nMessage-ID: <2@example.org>\n\
             Date: Wed, 15 Jul 2026 18:00:04 GMT\nNewsgroups: a.b\nFrom: Somebody\n\t<s@example.org>\n\
             X-PGP-Sig: {}\n\nRemove it.\n-- \nSomebody\n",
            header("Subject,Control,Message-ID,Date,From,Sender", &armor)
        );
        let told = program.run(&[
            "key",
            "import",
            "key",
            "--dir",
            "news",
            "--hierarchy",
            "a.*",
        ]);
        assert_eq!(told.status, 0, "{told:?}");
        let told = verify(&program, &message);
        assert_eq!(told.status, 0, "{told:?}");
        assert!(told.out.contains(&format!("{name} (a.*)")), "{told:?}");
        let told = verify(
            &program,
            &message.replace("Path: x\n", "Path: x\nSender: t\n"),
        );
        assert!(
            told.status == 1 && told.out.contains("is invalid"),
            "{told:?}"
        );
    }
    // The agent that gpg has started.
    let _ = Command::new("gpgconf")
        .args(["--homedir", "gnupg", "--kill", "gpg-agent"])
        .current_dir(program.path(""))
        .status();
}

#[test]
fn a_message_that_could_come_again_under_another_id_does_not_act() {
    let program = Program::with_news(ACTIVE);
    import(&program, "ed25519", &["--hierarchy", "*"]);
    let message = message("ed25519");
    assert_eq!(verify(&program, &message).status, 0);
    let words = ["control", "run", "--dry-run", "--dir", "news"];
    let told = program.feed(&words, message.as_bytes());
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("does not cover Message-ID"), "{told:?}");
}
