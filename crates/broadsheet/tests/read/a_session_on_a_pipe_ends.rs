//! `broadsheet session` on pipes, as over ssh: all is answered, what was taken is there, and it ends; with a daemon beside it, too.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::article;
use program::daemon::Daemon;
use program::nntp::{ALL_MAY, listen, take_this};

#[test]
fn alone_and_beside_a_daemon() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    says(&program, "<a@example.com>", 1);
    let daemon = Daemon::start(&program);
    says(&program, "<b@example.com>", 2);
    daemon.stop();
    program.assert_clean();
}

fn says(program: &Program, id: &str, count: usize) {
    let mut commands = take_this(id, &article(id, "comp.test"));
    commands.extend(take_this("<bad@example.com>", b"no header\n"));
    commands.extend(format!("STAT {id}\r\nGROUP comp.test\r\nQUIT\r\n").into_bytes());
    let told = program.feed(&["session", "--dir", "news"], &commands);
    assert_eq!(told.status, 0, "{told:?}");
    let lines: Vec<&str> = told.out.lines().collect();
    let expected = [
        "200 ".to_owned(),
        format!("239 {id}"),
        "439 <bad@example.com> ".to_owned(),
        format!("223 0 {id}"),
        format!("211 {count} 1 {count} comp.test"),
        "205 ".to_owned(),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(&expected), "{line} instead of {expected}");
    }
}

#[test]
fn who_posts_hears_the_message_id() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let post = |id: &str| {
        format!(
            "POST\r\nFrom: a@example.com\r\nNewsgroups: comp.test\r\nSubject: s\r\n{id}\r\nbody\r\n.\r\n"
        )
    };
    let said = post("Message-ID: <own@example.com>\r\n")
        + &post("")
        + "GROUP comp.test\r\nSTAT 2\r\nQUIT\r\n";
    let told = program.feed(&["session", "--dir", "news"], said.as_bytes());
    let lines: Vec<&str> = told.out.lines().collect();
    assert_eq!(
        lines[2], "240 Article received <own@example.com>",
        "{told:?}"
    );
    let made = lines[4]
        .strip_prefix("240 Article received ")
        .expect(lines[4]);
    assert!(
        made.starts_with('<') && made.ends_with("news.example.org>"),
        "{made}"
    );
    assert_eq!(lines[6], format!("223 2 {made}"), "{told:?}");
}

#[test]
fn a_full_output_and_an_unreadable_input_are_errors() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    for (input, output, says) in [
        ("/dev/null", "/dev/full", "cannot write to standard output"),
        (".", "told", "cannot read standard input"),
    ] {
        let line = format!("exec \"$0\" session --dir news <{input} >{output}");
        let told = std::process::Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_broadsheet")])
            .current_dir(program.path(""))
            .env_remove("BROADSHEET_DIR")
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(2), "{input} {output}: {err}");
        assert!(err.contains(says), "{err}");
    }
    assert!(program.read("told").starts_with("200 "));
}

/// The session ends while its input goes on: that is no error of the input.
#[test]
fn what_comes_after_quit_is_no_error() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let line = "(printf 'QUIT\\r\\n'; head -c 8000000 /dev/zero) | \"$0\" session --dir news";
    for _ in 0..10 {
        let told = std::process::Command::new("sh")
            .args(["-c", line, env!("CARGO_BIN_EXE_broadsheet")])
            .current_dir(program.path(""))
            .env_remove("BROADSHEET_DIR")
            .output()
            .unwrap();
        assert_eq!(told.status.code(), Some(0), "{told:?}");
    }
}

/// Lines that end with LF alone are commands, but no end of an article: whoever types them would hear nothing.
#[test]
fn an_input_that_ends_within_an_article_is_an_error() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let text = b"POST\nFrom: a@example.com\nNewsgroups: comp.test\nSubject: s\n\ntext\n.\nQUIT\n";
    let told = program.feed(&["session", "--dir", "news"], text);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.out.contains("\r\n340 "), "{told:?}");
    assert!(told.err.contains("ended within an article"), "{told:?}");
    let text = String::from_utf8_lossy(text).replace('\n', "\r\n");
    let told = program.feed(&["session", "--dir", "news"], text.as_bytes());
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert!(told.out.contains("\r\n240 "), "{told:?}");
}
