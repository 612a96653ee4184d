//! `broadsheet init` makes all of a news directory, and nothing over something that is there.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;

use crate::program;
use program::{Program, has_default_directory};

const ACTIVE: &str = "comp.lang.c 0000000123 00007 y\nnews.admin 0000000000 00001 m\n";

#[test]
fn everything_is_there_and_the_groups_are_kept_byte_for_byte() {
    let program = Program::new();
    program.write("a", ACTIVE.as_bytes());
    program.write("n", b"comp.lang.c\tC\n");
    let told = program.run(&[
        "init",
        "--dir",
        "x/news",
        "--name",
        "a.example",
        "--active",
        "a",
        "--newsgroups",
        "n",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    for directory in ["segments", "feeds", "in.coming", "bad"] {
        assert!(
            program.path("x/news").join(directory).is_dir(),
            "{directory}"
        );
    }
    let keys = std::fs::metadata(program.path("x/news/keys")).unwrap();
    assert_eq!(keys.permissions().mode() & 0o777, 0o700);
    let active = program.read("x/news/active");
    assert_eq!(
        active,
        format!("{ACTIVE}control 0000000000 00001 n\njunk 0000000000 00001 n\n")
    );
    assert_eq!(program.read("x/news/newsgroups"), "comp.lang.c\tC\n");
    for file in ["sys", "explist", "mailpaths"] {
        assert!(
            program.read(&format!("x/news/{file}")).starts_with("# "),
            "{file}"
        );
    }
    assert!(
        program
            .read("x/news/broadsheet.toml")
            .contains("\nname = \"a.example\"\n")
    );
    assert_eq!(program.run(&["check", "--dir", "x/news"]).status, 0);
    // Nothing of this kind can be made when the disk is full.
    assert!(program.path("x/news/lock.expire").is_file());
}

#[test]
fn expire_leaves_space_free() {
    let program = Program::new();
    let whole = rustix::fs::statvfs(program.path("")).unwrap();
    let tenth = whole.f_blocks * whole.f_frsize / 10;
    for (dir, flag, section) in [
        ("of-itself", &[][..], "\n[expiry]\nkeep_free = \""),
        (
            "as-said",
            &["--keep-free", "136 MiB"],
            "\n[expiry]\nkeep_free = \"136 MiB\" ",
        ),
        (
            "no-limit",
            &["--keep-free", "0"],
            "\n# [expiry]\n# keep_free = \"",
        ),
    ] {
        let words = ["init", "--dir", dir, "--name", "a.example"];
        let told = program.run(&[&words, flag].concat());
        assert_eq!(told.status, 0, "{told:?}");
        let settings = program.read(&format!("{dir}/broadsheet.toml"));
        assert!(settings.contains(section), "{settings}");
        if dir == "of-itself" {
            let (_, set) = settings.split_once(section).unwrap();
            let (size, _) = set.split_once('"').unwrap();
            let bytes = groups::size::parse(size).unwrap();
            assert!(bytes > 0 && bytes <= tenth.max(136 << 20), "{size}");
        }
        assert_eq!(program.run(&["check", "--dir", dir]).status, 0);
    }
    for (size, why) in [
        ("900 TiB", "--keep-free: only"),
        // A server whose disk has been full would never open its intake again.
        ("135 MiB", "--keep-free: below 136 MiB"),
    ] {
        let words = ["init", "--dir", "none", "--name", "a.example"];
        let told = program.run(&[&words[..], &["--keep-free", size]].concat());
        assert!(told.status == 64 && told.err.contains(why), "{told:?}");
    }
    let path = "as-said/broadsheet.toml";
    let settings = program.read(path);
    for (size, is_too_small) in [("136 MiB", false), ("135 MiB", true)] {
        let settings = settings.replace("\"136 MiB\"", &format!("\"{size}\""));
        program.write(path, settings.as_bytes());
        let told = program.run(&["check", "-q", "--dir", "as-said"]).out;
        let warning =
            "[expiry]: warning: keep_free is less than what the intake needs to open (136 MiB";
        assert_eq!(told.contains(warning), is_too_small, "{told}");
    }
    assert!(!program.path("none").exists());
}

#[test]
fn an_empty_directory_will_do() {
    let program = Program::new();
    std::fs::create_dir(program.path("news")).unwrap();
    assert_eq!(
        program
            .run(&["init", "--dir", "news", "--name", "a"])
            .status,
        0
    );
}

#[test]
fn a_news_directory_is_left_alone() {
    let program = Program::with_news(ACTIVE);
    let before = program.read("news/active");
    let told = program.run(&["init", "--dir", "news", "--name", "other"]);
    assert_eq!(told.status, 2);
    assert!(told.err.contains("is a news directory already"), "{told:?}");
    assert_eq!(program.read("news/active"), before);
}

#[test]
fn anything_else_in_the_way_is_left_alone() {
    let program = Program::new();
    std::fs::create_dir(program.path("news")).unwrap();
    program.write("news/precious", b"x");
    let told = program.run(&["init", "--dir", "news", "--name", "a"]);
    assert_eq!(told.status, 2);
    assert!(told.err.contains("is not empty"), "{told:?}");
    assert_eq!(std::fs::read_dir(program.path("news")).unwrap().count(), 1);
}

#[test]
fn a_slip_makes_nothing() {
    let program = Program::new();
    for (words, told) in [
        (&["--dir", "news"][..], "--name is missing"),
        (&["--dir", "news", "--name", "a!b"], "may not hold '!'"),
        (
            &["--dir", "news", "--name", "a", "--active", "absent"],
            "cannot read absent",
        ),
        (&["--name", "a"], "BROADSHEET_DIR"),
    ] {
        if !words.contains(&"--dir") && has_default_directory("init without --dir") {
            continue;
        }
        let words: Vec<&str> = ["init"].iter().chain(words).copied().collect();
        let said = program.run(&words);
        assert_ne!(said.status, 0, "{words:?}");
        assert!(said.err.contains(told), "{words:?}: {said:?}");
        assert!(!program.path("news").exists(), "{words:?}");
    }
}

/// The mode of a file, and that of all below it.
fn modes(path: &std::path::Path) -> Vec<(std::path::PathBuf, u32)> {
    let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut found = vec![(path.to_owned(), mode)];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        found.extend(entries.flat_map(|entry| modes(&entry.unwrap().path())));
    }
    found
}

#[test]
fn only_owner_and_group_may_look_into_it() {
    for umask in ["000", "022", "077"] {
        let program = Program::new();
        let init = format!(
            "umask {umask}; exec {} init --dir up/news --name a.example",
            env!("CARGO_BIN_EXE_broadsheet")
        );
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", &init]).current_dir(program.path(""));
        assert!(shell.status().unwrap().success());
        let all = modes(&program.path("up/news"));
        assert!(all.len() > 10, "{all:?}");
        for (path, mode) in all {
            let most = if path.is_dir() { 0o750 } else { 0o640 };
            assert_eq!(mode & !most, 0, "umask {umask}: {}", path.display());
        }
        let news = std::fs::metadata(program.path("up/news")).unwrap();
        assert_eq!(news.permissions().mode() & 0o777, 0o750, "umask {umask}");
        let told = program.run(&["check", "--dir", "up/news"]);
        assert_eq!(told.status, 0, "{told:?}");
    }
}

#[test]
fn an_open_directory_is_closed_and_check_says_so() {
    let program = Program::new();
    std::fs::create_dir(program.path("news")).unwrap();
    let open = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(program.path("news"), permissions).unwrap();
    };
    open(0o2775);
    let told = program.run(&["init", "--dir", "news", "--name", "a"]);
    assert_eq!(told.status, 0, "{told:?}");
    let news = std::fs::metadata(program.path("news")).unwrap();
    assert_eq!(news.permissions().mode() & 0o7777, 0o2770);
    open(0o755);
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("chmod o-rwx news"), "{told:?}");
}

#[test]
fn the_edited_files_may_stand_elsewhere() {
    let program = Program::new();
    let init = |etc| program.run(&["init", "--dir", "news", "--name", "a.example", "--etc", etc]);
    let told = init("etc/news");
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out.contains("etc/news, then run `broadsheet check'"),
        "{told:?}"
    );
    for name in ["broadsheet.toml", "sys", "explist", "mailpaths"] {
        let link = std::fs::read_link(program.path("news").join(name)).unwrap();
        assert!(link.is_absolute() && link.ends_with(format!("etc/news/{name}")));
        let found = std::fs::symlink_metadata(program.path("etc/news").join(name)).unwrap();
        assert!(found.is_file(), "{name}");
    }
    assert_eq!(program.run(&["check", "--dir", "news"]).status, 0);
    // A command that edits the settings keeps the link.
    let told = program.run(&[
        "peer",
        "add",
        "peer.example",
        "--dir",
        "news",
        "--host",
        "127.0.0.1",
        "--from",
        "127.0.0.1",
        "--no-test",
        "--direction",
        "both",
        "--groups",
        "all",
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    let settings = program.read("etc/news/broadsheet.toml");
    assert!(settings.contains("peer.example"), "{settings}");
    let found = std::fs::symlink_metadata(program.path("news/broadsheet.toml")).unwrap();
    assert!(found.is_symlink());
    // Where the other directory is gone, each command names what is missing.
    std::fs::rename(program.path("etc"), program.path("gone")).unwrap();
    for words in [&["check", "--dir", "news"][..], &["serve", "--dir", "news"]] {
        let told = program.run(words);
        assert_ne!(told.status, 0, "{told:?}");
        assert!(
            told.err
                .contains("etc/news/broadsheet.toml, which is not there"),
            "{told:?}"
        );
    }
    std::fs::rename(program.path("gone"), program.path("etc")).unwrap();
    // Nothing is written over.
    let told = program.run(&[
        "init",
        "--dir",
        "other",
        "--name",
        "b.example",
        "--etc",
        "etc/news",
    ]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("is there already"), "{told:?}");
    assert!(!program.path("other").exists());
}
