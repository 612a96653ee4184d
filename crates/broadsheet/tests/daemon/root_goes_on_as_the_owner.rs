//! Root may run every command in a news directory of another user: the command goes on as that user, so that all files there stay the user's.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::program::Program;
use crate::program::articles::{article, batch};

/// The user `nobody`.
const OWNER: u32 = 65_534;

/// A news directory of the user `nobody`; `None` where this user may not give files away.
fn site_of_another() -> Option<Program> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can make a directory another user's");
        return None;
    }
    let program = Program::with_news("misc.test 0000000000 00001 y\n");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program.path(""), open).expect("opened");
    let news = program.path("news");
    let given = std::process::Command::new("chown")
        .args(["-R", &format!("{OWNER}:{OWNER}")])
        .arg(news)
        .status();
    assert!(given.expect("chown runs").success());
    Some(program)
}

fn all_belong_to_the_owner(program: &Program) {
    let mut folders = vec![program.path("news")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read") {
            let path = entry.expect("an entry").path();
            let facts = std::fs::symlink_metadata(&path).expect("facts");
            assert_eq!(facts.uid(), OWNER, "{}", path.display());
            if facts.is_dir() {
                folders.push(path);
            }
        }
    }
}

#[test]
fn commands_that_write_leave_nothing_of_root() {
    let Some(program) = site_of_another() else {
        return;
    };
    for words in [
        &["group", "add", "misc.new"][..],
        &["group", "set", "misc.new", "n"],
        &["upact"],
        &["user", "list"],
        &["expire"],
        &["fsck", "--repair"],
        &["newsrunning", "off"],
        &["newsrunning", "on"],
        &["newsrun"],
        &["sendbatches"],
        &["block", "add", "from", "a@b.example"],
        &["mail", "send"],
    ] {
        let told = program.run(&[words, &["--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{words:?}: {told:?}");
        all_belong_to_the_owner(&program);
    }
    let told = program.rnews(&batch(&[article("<1@a.example>", "misc.test")]));
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["article", "remove", "--dir", "news", "<1@a.example>"]);
    assert_eq!(told.status, 0, "{told:?}");
    all_belong_to_the_owner(&program);
}

#[test]
fn a_file_that_the_owner_may_not_read_is_named_with_the_reason() {
    let Some(program) = site_of_another() else {
        return;
    };
    program.write("policy.toml", b"");
    let closed = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(program.path("policy.toml"), closed).expect("closed");
    let told = program.run(&["expire", "--dir", "news", "policy.toml"]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(
        told.err.contains("policy.toml") && told.err.contains("runs as nobody"),
        "{told:?}"
    );
}
