//! `inews` and `injnews`: what people and programs write is filed, or refused and saved.

use crate::program;
use std::io::Write;
use std::process::Stdio;

use program::{Program, Told};

const ACTIVE: &str = "control 0 1 y\njunk 0 1 y\nmisc.test 0 1 y\nmisc.no 0 1 n\n";

fn site() -> Program {
    let program = Program::with_news(ACTIVE);
    std::fs::create_dir(program.path("home")).expect("a home");
    // Articles have no token, which would be another each time.
    program.set("log_days = 30", "log_days = 0");
    program.set("reveal = \"logging\"", "reveal = \"\"");
    program
}

/// Runs it with a home of its own.
fn post(program: &Program, words: &[&str], input: &[u8]) -> Told {
    let mut child = program
        .command(words)
        .env("HOME", program.path("home"))
        .env("NAME", "Jane Doe")
        .env("BROADSHEET_DIR", "news")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let done = child.wait_with_output().expect("it ends");
    Told {
        status: done.status.code().expect("a status"),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

fn filed(program: &Program, told: &Told) -> String {
    assert_eq!(told.status, 0, "{told:?}");
    let summary = told.summary();
    let id = summary.get("message_id").and_then(|id| id.as_str());
    let id = id.expect("an id");
    let bytes = program.run_bytes(&["article", "--dir", "news", id]);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_text_with_flags() {
    let program = site();
    program.write("home/.signature", b"Jane\nline 2\nline 3\nline 4\nline 5\n");
    let words = [
        "inews",
        "--json",
        "-n",
        "misc.test",
        "-t",
        "a test",
        "-o",
        "The House",
        "-r",
        "jane@else.example",
        "-F",
        "<0@a.example>",
        "-d",
        "local",
        "-x",
        "other.example",
        "-e",
        "31 Dec 2099 12:00:00 GMT",
    ];
    let told = post(&program, &words, b"hello\n.\n..two\n");
    assert_eq!(told.summary()["status"], "posted");
    let article = filed(&program, &told);
    for line in [
        "Subject: a test\n",
        "Newsgroups: misc.test\n",
        "Organization: The House\n",
        "Reply-To: jane@else.example\n",
        "References: <0@a.example>\n",
        "Distribution: local\n",
        "Path: news.example.org!.POSTED!other.example!not-for-mail\n",
        "Expires: 31 Dec 2099 12:00:00 GMT\n",
        "Xref: news.example.org misc.test:1\n",
        "@news.example.org (Jane Doe)\n",
        "Injection-Info: news.example.org\n",
        "Cancel-Lock: sha256:",
    ] {
        assert!(article.contains(line), "{line}: {article}");
    }
    let body = "\n\nhello\n.\n..two\n-- \nJane\nline 2\nline 3\nline 4\n";
    assert!(article.ends_with(body), "{article}");
    program.assert_clean();
}

#[test]
fn an_article_with_a_header_and_bytes_of_any_kind() {
    let program = site();
    let text = b"newsgroups:misc.test\nSubject: s\nFrom: a@b.example\nMessage-Id: <1@b.example>\n\ncaf\xe9\rbare\n";
    let told = post(&program, &["inews", "-h", "-S", "-V"], text);
    assert_eq!(
        (told.status, told.out.as_str()),
        (0, "posted <1@b.example>\n"),
        "{told:?}"
    );
    let bytes = program.run_bytes(&["article", "--dir", "news", "<1@b.example>"]);
    assert!(bytes.ends_with(b"\n\ncaf\xe9\rbare\n"));
    // A quiet success says nothing; a second copy is refused.
    let again = post(&program, &["injnews"], text);
    assert_eq!(again.status, 1);
    assert!(again.err.contains("refused (duplicate)"), "{again:?}");
    let other = text.map(|byte| if byte == b'1' { b'2' } else { byte });
    let told = post(&program, &["injnews"], &other);
    assert_eq!(
        (told.status, told.out.as_str(), told.err.as_str()),
        (0, "", "")
    );
}

#[test]
fn an_empty_text_gets_a_filler_from_people_only() {
    let program = site();
    let words = ["inews", "--json", "-n", "misc.test", "-t", "s"];
    assert!(filed(&program, &post(&program, &words, b"")).ends_with("\n\n(no text)\n"));
    let told = post(
        &program,
        &["injnews"],
        b"Newsgroups: misc.test\nSubject: s\n\n",
    );
    assert!(told.err.contains("refused (no-text)"), "{told:?}");
}

#[test]
fn what_is_refused_is_saved_and_told_with_a_word() {
    let program = site();
    let told = post(
        &program,
        &["inews", "--json", "-n", "misc.no", "-t", "s"],
        b"precious\n",
    );
    assert_eq!(told.status, 1, "{told:?}");
    let summary = told.summary();
    assert_eq!(summary["status"], "refused");
    assert_eq!(summary["code"], "no-posting");
    let saved = summary["saved"].as_str().expect("a path");
    assert!(saved.ends_with("/home/dead.article"), "{saved}");
    let wanted = "broadsheet: refused (no-posting): posting to misc.no is not allowed here; the post is saved in ";
    assert!(told.err.starts_with(wanted), "{told:?}");
    assert_eq!(
        program.read("home/dead.article"),
        "Subject: s\nNewsgroups: misc.no\n\nprecious\n"
    );
    // Without a home it is kept in bad/.
    std::fs::remove_dir_all(program.path("home")).expect("removed");
    let told = post(&program, &["inews", "-h"], b"no header\n\nx\n");
    assert!(told.err.contains("refused (not-a-header)"), "{told:?}");
    assert_eq!(program.read("news/bad/dead.article"), "no header\n\nx\n");
}

#[test]
fn flags_cannot_smuggle_headers() {
    let program = site();
    for value in ["s\nApproved: me@a", "s\r\nControl: newgroup x", "s\x1b[2J"] {
        let told = post(&program, &["inews", "-n", "misc.test", "-t", value], b"x\n");
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.err.contains("refused (header-syntax)"), "{told:?}");
    }
    let told = post(
        &program,
        &["inews", "-n", "misc.test", "-t", "s", "-x", "a\nX: y"],
        b"x\n",
    );
    assert_eq!(told.status, 1, "{told:?}");
    let told = post(
        &program,
        &["inews", "-n", "misc.test", "-t", "s"],
        b"a\0b\n",
    );
    assert!(told.err.contains("refused (nul)"), "{told:?}");
    let status = program.run(&["group", "list", "--dir", "news", "misc.test"]);
    assert!(status.out.contains("misc.test"), "{status:?}");
    assert!(
        program.files("news/keys").len() <= 1,
        "no key was made by a header"
    );
}

#[test]
fn a_filter_posts_nothing() {
    let program = site();
    let told = post(
        &program,
        &["injnews", "-N"],
        b"Newsgroups: misc.test\nSubject: s\n\nx\n",
    );
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .starts_with("Path: .POSTED!not-for-mail\nNewsgroups: misc.test\n"),
        "{told:?}"
    );
    let told = post(&program, &["injnews", "-N"], b"Subject: s\n\nx\n");
    assert_eq!((told.status, told.out.as_str()), (1, ""), "{told:?}");
    assert!(!program.path("home/dead.article").exists());
}

#[test]
fn too_large_a_post_is_saved_whole() {
    let program = site();
    let settings = program.read("news/broadsheet.toml").replace(
        "article_bytes_max = \"8 MiB\"",
        "article_bytes_max = \"4 KiB\"",
    );
    program.write("news/broadsheet.toml", settings.as_bytes());
    let text = [
        b"Newsgroups: misc.test\nSubject: s\n\n".to_vec(),
        vec![b'x'; 10_000],
    ]
    .concat();
    let told = post(&program, &["injnews"], &text);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("refused (too-large)"), "{told:?}");
    assert_eq!(program.read("home/dead.article").len(), text.len());
}

#[test]
fn while_another_program_files_it_waits_in_in_coming() {
    let program = site();
    let settings = program
        .read("news/broadsheet.toml")
        .replace("spool_after_seconds = 0", "spool_after_seconds = 1");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let lock = store::Lock::take(&program.path("news"), None).expect("the lock");
    let words = ["inews", "-V", "-n", "misc.test", "-t", "s"];
    let told = post(&program, &words, b"x\n");
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.starts_with("spooled <"), "{told:?}");
    let waiting = program.files("news/in.coming");
    let name = waiting
        .first()
        .and_then(|path| path.file_name())
        .expect("a file");
    assert!(name.to_string_lossy().starts_with("0."), "{waiting:?}");
    drop(lock);
    let told = program.run(&["newsrun", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let groups = program.run(&["group", "list", "--dir", "news", "misc.test"]);
    assert!(program.files("news/in.coming").is_empty(), "{groups:?}");
    program.assert_clean();
}

#[test]
fn who_may_approve_is_a_setting_and_faults_of_settings_are_named() {
    let program = site();
    let settings = program.read("news/broadsheet.toml");
    for (from, to, told) in [
        (
            "reveal = \"\"",
            "reveal = \"hosts\"",
            "post.reveal takes account",
        ),
        (
            "mailname = \"\"",
            "mailname = \"a b\"",
            "post.mailname is not the name",
        ),
        ("sendmail -oi -t\"", "sendmail 'x\"", "post.sendmail"),
        ("customs = \"\"", "customs = \"all\"", "post.customs is"),
        (
            "complaints = \"\"",
            "complaints = \"a b\"",
            "post.complaints is not an address",
        ),
    ] {
        assert!(settings.contains(from), "{from}");
        program.write(
            "news/broadsheet.toml",
            settings.replace(from, to).as_bytes(),
        );
        let said = post(&program, &["inews"], b"");
        assert_eq!(said.status, 78, "{said:?}");
        assert!(said.err.contains(told), "{said:?}");
    }
}

#[test]
fn who_posted_an_article_can_cancel_it_by_its_lock() {
    let program = site();
    let words = ["inews", "--json", "-S", "-n", "misc.test", "-t", "s"];
    let told = post(&program, &words, b"to be withdrawn\n");
    let article = filed(&program, &told);
    let id = told.summary()["message_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(article.contains("\nCancel-Lock: sha256:"), "{article}");
    let cancel = format!("cancel {id}");
    let words = [
        "inews",
        "--json",
        "-n",
        "misc.test",
        "-t",
        "cmsg",
        "-c",
        &cancel,
    ];
    let told = post(&program, &words, b"");
    assert!(
        filed(&program, &told).contains("\nCancel-Key: sha256:"),
        "{told:?}"
    );
    let gone = program.run(&["article", "--dir", "news", &id]);
    assert_eq!((gone.status, gone.out.as_str()), (1, ""), "{gone:?}");
    program.assert_clean();
}

#[test]
fn a_post_that_is_filed_is_never_told_as_refused() {
    let program = site();
    std::fs::create_dir(program.path("news/control.log")).expect("in the way");
    let words = [
        "inews",
        "--json",
        "-n",
        "misc.test",
        "-t",
        "s",
        "-c",
        "newgroup misc.new",
    ];
    let told = post(&program, &words, b"x\n");
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("was filed, but"), "{told:?}");
    assert_eq!(told.summary()["status"], "posted", "{told:?}");
    assert!(!program.path("home/dead.article").exists());
    let id = told.summary()["message_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let found = program.run(&["article", "--dir", "news", &id]);
    assert_eq!(found.status, 0, "{found:?}");
}

#[test]
fn a_spooled_post_has_an_id_of_its_own() {
    let program = site();
    let text = "Newsgroups: misc.test\nSubject: s\nMessage-ID: <used@a.example>\n\nx\n";
    let told = post(&program, &["inews", "-h"], text.as_bytes());
    assert_eq!(told.status, 0, "{told:?}");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("spool_after_seconds = 0", "spool_after_seconds = 1");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let _lock = store::Lock::take(&program.path("news"), None).expect("the lock");
    let told = post(&program, &["inews", "-h"], text.as_bytes());
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("refused (duplicate)"), "{told:?}");
    assert!(program.files("news/in.coming").is_empty());
}

#[test]
fn what_an_error_stops_is_saved_too() {
    let program = site();
    program.set("log_days = 0", "log_days = 30");
    let settings = program.read("news/broadsheet.toml");
    let words = ["inews", "--json", "-S", "-n", "misc.test", "-t", "s"];
    let told = post(&program, &words, b"the first\n");
    assert_eq!(told.status, 0, "{told:?}");
    let path = |name: &str| program.path(&format!("news/{name}"));
    let remove = |name: &str| {
        let _ = std::fs::remove_dir(path(name)).or_else(|_| std::fs::remove_file(path(name)));
    };
    for (file, status) in [
        ("posts.log", 2),
        ("keys/posts.key", 2),
        ("keys", 2),
        ("active", 2),
        ("mailpaths", 2),
        ("broadsheet.toml", 78),
        ("broadsheet.toml", 2),
    ] {
        let kept = std::fs::rename(path(file), program.path("kept"));
        match status {
            78 => program.write(
                "news/broadsheet.toml",
                format!("x = 1\n{settings}").as_bytes(),
            ),
            _ if file == "keys" => program.write("news/keys", b""),
            // Nobody, root included, can read or write a directory as a file.
            _ => std::fs::create_dir_all(path(file)).expect("in the way"),
        }
        let told = post(&program, &words, b"precious\n");
        assert_eq!(told.status, status, "{file}: {told:?}");
        let summary = told.summary();
        assert_eq!(summary["code"], "not-filed", "{file}: {told:?}");
        let saved = summary["saved"].as_str().expect("a path");
        assert!(saved.ends_with("/home/dead.article"), "{saved}");
        assert!(
            told.err.contains("refused (not-filed): ")
                && told.err.contains("; the post is saved in "),
            "{file}: {told:?}"
        );
        let text = program.read("home/dead.article");
        assert!(text.ends_with("precious\n"), "{file}: {text}");
        std::fs::remove_file(program.path("home/dead.article")).expect("saved");
        remove(file);
        if kept.is_ok() {
            std::fs::rename(program.path("kept"), path(file)).expect("put back");
        }
    }
    let told = post(&program, &words, b"precious\n");
    assert_eq!(told.status, 0, "{told:?}");
    // No news directory is named.
    let told = post(&program, &["inews", "--dir", "nowhere"], b"precious\n");
    assert_eq!(told.status, 2, "{told:?}");
    assert_eq!(program.read("home/dead.article"), "precious\n");
    // A filter saves nothing.
    let told = post(
        &program,
        &["inews", "-N", "--dir", "nowhere"],
        b"precious\n",
    );
    assert_eq!(told.status, 2, "{told:?}");
    assert_eq!(program.read("home/dead.article"), "precious\n");
    program.assert_clean();
}

#[test]
fn the_flags_of_inn_have_their_meaning() {
    let program = site();
    let text = b"Newsgroups: misc.test\nSubject: s\n\nx\n";
    let told = post(
        &program,
        &["inews", "-h", "-D", "-m", "<here@a.example>"],
        text,
    );
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out.contains("\nMessage-ID: <here@a.example>\n"),
        "{told:?}"
    );
    assert!(
        program
            .run_bytes(&["history", "dump", "--dir", "news"])
            .is_empty()
    );
    let control = b"Newsgroups: misc.test\nSubject: cmsg x\nControl: cancel <a@b.example>\n\nx\n";
    let told = post(&program, &["inews", "-h", "-R", "-S"], control);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("-R refuses control messages"), "{told:?}");
    let also = b"Newsgroups: misc.test\nSubject: x\nAlso-Control: cancel <a@b.example>\n\nx\n";
    let told = post(&program, &["inews", "-h", "-R", "-S"], also);
    assert_eq!(told.status, 1, "{told:?}");
    let cancel = b"Newsgroups: misc.test\nSubject: cmsg x\nControl: cancel <a@b.example>\n\n";
    let told = post(&program, &["inews", "-h", "-E", "-D"], cancel);
    assert!(told.out.ends_with("\n\n(no text)\n"), "{told:?}");
    let long = "x".repeat(1000);
    let told = post(&program, &["inews", "-n", "misc.test", "-t", &long], b"x\n");
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("header-line-too-long"), "{told:?}");
    let world = ["inews", "-n", "misc.test", "-t", "s", "-d", "World", "-N"];
    assert!(!post(&program, &world, b"x\n").out.contains("Distribution"));
    let empty = b"Newsgroups: misc.test\nSubject: s\n\n\n";
    let told = post(&program, &["inews", "-h", "-E"], empty);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.err.contains("discarded"), "{told:?}");
    assert!(
        program
            .run_bytes(&["history", "dump", "--dir", "news"])
            .is_empty()
    );
    let told = post(
        &program,
        &["inews", "-h", "-P", "-R", "-E", "-Y", "-p", "119", "--json"],
        text,
    );
    assert!(filed(&program, &told).contains("\nSubject: s\n"));
}

#[test]
fn another_user_keeps_what_he_may_not_post() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can run a command as another user");
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let program = site();
    let home = program.path("home");
    std::os::unix::fs::chown(&home, Some(65_534), None).expect("given");
    std::fs::set_permissions(program.path(""), std::fs::Permissions::from_mode(0o755))
        .expect("open");
    std::fs::write(program.path("post"), "Newsgroups: misc.test\n\nprecious\n").expect("written");
    let done = program
        .command(&["injnews"])
        .env("HOME", &home)
        .env("BROADSHEET_DIR", "news")
        .stdin(std::fs::File::open(program.path("post")).expect("there"))
        .uid(65_534)
        .gid(65_534)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("; the post is saved in "), "{told}");
    // A file that a site of one machine does not have would mislead.
    assert!(!told.contains("cluster"), "{told}");
    assert!(program.read("home/dead.article").ends_with("precious\n"));
}

#[test]
fn a_post_whose_result_cannot_be_printed_is_told_as_posted() {
    let program = site();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full device");
    let done = program
        .command(&["inews", "-V", "-n", "misc.test", "-t", "s"])
        .env("HOME", program.path("home"))
        .env("BROADSHEET_DIR", "news")
        .stdin(Stdio::null())
        .stdout(full)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("> was posted, but"), "{told}");
    assert!(!program.path("home/dead.article").exists());
}
