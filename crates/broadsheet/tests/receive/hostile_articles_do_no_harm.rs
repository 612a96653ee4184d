//! Names that climb out of the directory, ten thousand groups, ids of 100 KB, NULs: each is filed or
//! refused by name, nothing is written outside, and what comes after it is filed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, filed, with};
use program::nntp::{ALL_MAY, Served, listen, offer};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

/// Files the hostile article and an ordinary one; gives the log lines but for their times.
fn file(program: &Program, hostile: &[u8]) -> (Told, Vec<String>) {
    let told = program.rnews(&batch(&[
        hostile.to_vec(),
        article("<after@example.com>", "comp.test"),
    ]));
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(told.count("articles"), 2);
    let log = program.read("news/log");
    let lines: Vec<String> = log
        .lines()
        .map(|line| line.splitn(4, ' ').nth(3).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        lines.last().map(String::as_str),
        Some("far + <after@example.com>"),
        "{log}"
    );
    assert!(
        lines.iter().all(|line| line.len() < 4096),
        "a log line is bounded"
    );
    program.assert_clean();
    (told, lines)
}

#[test]
fn groups_named_like_paths_go_to_junk() {
    for name in [
        "../../x",
        "a..b",
        "a/b",
        ".x",
        "/etc/passwd",
        "x\u{7f}y",
        "%s%n",
        "comp.test..",
    ] {
        let program = Program::with_news(ACTIVE);
        program.junk_as_c_news();
        let before = everything(&program);
        let (told, lines) = file(&program, &article("<1@example.com>", name));
        assert_eq!(told.count("junked"), 1, "{name}: {told:?}");
        assert!(
            lines
                .iter()
                .any(|line| line.contains("junked due to groups `")),
            "{lines:?}"
        );
        let new: Vec<String> = everything(&program)
            .into_iter()
            .filter(|path| !before.contains(path))
            .filter(|path| {
                !path.starts_with("news/segments/") && path != "news/log" && path != "news/index"
            })
            .filter(|path| !path.starts_with("news/cancels") && !path.starts_with("news/lock"))
            // That fsck ran.
            .filter(|path| !path.starts_with("news/figures/"))
            .collect();
        assert!(new.is_empty(), "{name} made {new:?}");
    }
}

/// Every file under the temporary directory.
fn everything(program: &Program) -> Vec<String> {
    let root = program.path("");
    let mut paths = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                paths.push(
                    path.strip_prefix(&root)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
    }
    paths
}

#[test]
fn ten_thousand_groups_are_too_many() {
    let program = Program::with_news(ACTIVE);
    let groups: Vec<String> = (0..10_000)
        .map(|number| format!("comp.g{number}"))
        .collect();
    let (told, lines) = file(&program, &article("<1@example.com>", &groups.join(",")));
    assert_eq!(told.count("refused"), 1);
    assert_eq!(
        lines[0],
        "far - <1@example.com> too many groups: 10000, the limit is 256"
    );
}

#[test]
fn the_same_group_many_times_is_one() {
    let program = Program::with_news(ACTIVE);
    let groups = ["comp.test"; 200].join(",");
    let given = article("<1@example.com>", &groups);
    let (told, _) = file(&program, &given);
    assert_eq!(told.count("accepted"), 2);
    let out = program.run_bytes(&["article", "--dir", "news", "<1@example.com>"]);
    assert!(out == filed(&given, "comp.test:1"));
}

#[test]
fn an_id_of_100_kb_is_refused_and_cancels_nothing() {
    let id = format!("<{}@example.com>", "x".repeat(100_000));
    let program = Program::with_news(ACTIVE);
    let (told, lines) = file(&program, &article(&id, "comp.test"));
    assert_eq!(told.count("refused"), 1);
    assert!(
        lines[0].contains("Message-ID too long: 100014 bytes, the limit is 250"),
        "{lines:?}"
    );

    let program = Program::with_news(ACTIVE);
    let cancel = with(
        "<1@example.com>",
        "control",
        &format!("Control: cancel {id}\n"),
        b"",
    );
    let (told, lines) = file(&program, &cancel);
    assert_eq!(told.count("accepted"), 2);
    assert!(
        lines[1].starts_with("far c <1@example.com> malformed cancel `<xxx"),
        "{lines:?}"
    );
}

#[test]
fn nuls_survive_and_break_nothing() {
    let program = Program::with_news(ACTIVE);
    let given = with(
        "<1@example.com>",
        "comp.test",
        "X-Nul: a\0b\n",
        b"one\0two\n\0\n\r\rlast\xff\0",
    );
    let (told, _) = file(&program, &given);
    assert_eq!(told.count("accepted"), 2);
    let out = program.run_bytes(&["article", "--dir", "news", "<1@example.com>"]);
    assert!(
        out == filed(&given, "comp.test:1"),
        "{:?}",
        String::from_utf8_lossy(&out)
    );

    let program = Program::with_news(ACTIVE);
    program.junk_as_c_news();
    let (told, _) = file(&program, &article("<1@example.com>", "comp.test\0"));
    assert_eq!(told.count("junked"), 1);
    // No command could request it.
    let program = Program::with_news(ACTIVE);
    let (told, lines) = file(&program, &article("<a\0b@example.com>", "comp.test"));
    assert_eq!(told.count("refused"), 1);
    assert!(
        lines[0].ends_with("control character or > inside Message-ID"),
        "{lines:?}"
    );
}

#[test]
fn nothing_but_rubbish_is_a_bad_batch() {
    let program = Program::with_news(ACTIVE);
    let rubbish: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\n".to_vec(),
        b"\0\0\0".to_vec(),
        b":\n\n".to_vec(),
        b" folded from the start\n\n".to_vec(),
        b"Subject".to_vec(),
        vec![0xff; 5000],
        b"A".to_vec(),
        b"Path:\nFrom:\nNewsgroups:\nSubject:\nMessage-ID:\nDate:\n\n".to_vec(),
    ];
    let told = program.rnews(&batch(&rubbish));
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(told.count("refused"), rubbish.len() as u64, "{told:?}");
    assert!(
        told.err.contains("none of its 9 articles has the header"),
        "{told:?}"
    );
    let kept = program.files("news/bad");
    assert!(kept.len() == 1 && std::fs::read(&kept[0]).unwrap() == batch(&rubbish));
    program.assert_clean();
}

#[test]
fn a_batch_with_crlf_is_filed() {
    let program = Program::with_news(ACTIVE);
    let mut text = Vec::new();
    for id in ["<1@example.com>", "<2@example.com>"] {
        let article: Vec<u8> = article(id, "comp.test")
            .into_iter()
            .flat_map(|byte| {
                if byte == b'\n' {
                    vec![b'\r', b'\n']
                } else {
                    vec![byte]
                }
            })
            .collect();
        text.extend_from_slice(format!("#! rnews {}\r\n", article.len()).as_bytes());
        text.extend_from_slice(&article);
    }
    let told = program.rnews(&text);
    assert_eq!((told.status, told.count("accepted")), (0, 2), "{told:?}");
    assert!(!program.read("news/log").contains("^M"));
    program.assert_clean();
}

/// A Path of one element is that of a local article in a batch. From a peer it opens neither groups that are not accepted nor `junk`.
#[test]
fn a_short_path_makes_no_article_of_a_peer_a_local_one() {
    let program = Program::with_news("comp.test 0 1 y\nalt.test 0 1 y\njunk 0 1 y\n");
    program.write("news/sys", b"ME:comp/all::\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let text = |id: &str, group: &str| {
        let text = String::from_utf8(article(id, group)).unwrap();
        text.replace("Path: far!near!user", "Path: q").into_bytes()
    };
    for (number, group, code) in [
        (1, "alt.test", "439"),
        (2, "comp.none", "439"),
        (3, "comp.test", "239"),
    ] {
        let id = format!("<{number}@a>");
        let told = offer(&served.address, &id, &text(&id, group));
        assert_eq!(told, code, "{group}");
    }
    let told = program.rnews(&batch(&[text("<4@a>", "alt.test")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    served.daemon.stop();
    program.assert_clean();
}
