//! `make deb` makes packages with all that the system needs, and nothing of which lintian complains.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_broadsheet");

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

fn output(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {told}");
    String::from_utf8(done.stdout).unwrap()
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn nothing_is_missing() {
    if !is_installed("dpkg-deb") {
        eprintln!("skipped: building packages (dpkg-deb is not installed)");
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let build = packaging().join("deb/build");
    output(
        Command::new(build)
            .args([Path::new(PROGRAM), room.path()])
            .env("DEB_COMPRESSION", "gzip")
            .env("DEB_MAINTAINER", "Broadsheet <news@broadsheet.example>"),
    );
    let packages: Vec<PathBuf> = fs::read_dir(room.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let package = |start: &str| {
        let name = |path: &&PathBuf| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with(start)
        };
        packages.iter().find(name).unwrap().clone()
    };
    let (main, classic) = (package("broadsheet_"), package("broadsheet-classic_"));
    let content = output(Command::new("dpkg-deb").arg("-c").arg(&main));
    for path in [
        "./usr/bin/broadsheet\n",
        "./usr/lib/broadsheet/classic/rnews -> ../../../bin/broadsheet\n",
        "./usr/share/man/man8/broadsheet-rnews.8.gz\n",
        "./usr/share/bash-completion/completions/broadsheet\n",
        "./usr/share/zsh/vendor-completions/_broadsheet\n",
        "./usr/share/fish/vendor_completions.d/broadsheet.fish\n",
        "./lib/systemd/system/broadsheet.service\n",
        "./lib/systemd/system/broadsheet-nntp.socket\n",
        "./usr/lib/sysusers.d/broadsheet.conf\n",
        "./usr/lib/tmpfiles.d/broadsheet.conf\n",
        "./etc/logrotate.d/broadsheet\n",
        "./etc/broadsheet/\n",
        "./usr/share/doc/broadsheet/docs/operations.md.gz\n",
    ] {
        assert!(content.contains(path), "{path} is not in {content}");
    }
    let content = output(Command::new("dpkg-deb").arg("-c").arg(&classic));
    assert!(
        content.contains("./usr/bin/rnews -> broadsheet\n"),
        "{content}"
    );
    let unpacked = room.path().join("unpacked");
    output(Command::new("dpkg-deb").arg("-R").args([&main, &unpacked]));
    let unit = fs::read_to_string(unpacked.join("lib/systemd/system/broadsheet.service")).unwrap();
    assert!(
        unit.contains("ExecStart=/usr/bin/broadsheet serve\n"),
        "{unit}"
    );
    for script in ["postinst", "prerm", "postrm", "config"] {
        output(
            Command::new("sh")
                .arg("-n")
                .arg(unpacked.join("DEBIAN").join(script)),
        );
    }
    if !is_installed("lintian") {
        eprintln!("skipped: lintian on the packages (it is not installed)");
        return;
    }
    let told = Command::new("lintian").args(&packages).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    // A debug build is linked dynamically, and example domains have no mail.
    let expected = [
        "missing-dependency-on-libc",
        "bogus-mail-host",
        "unused-override",
    ];
    let complaints: Vec<&str> = told
        .lines()
        .filter(|line| line.starts_with("E:") || line.starts_with("W:"))
        .filter(|line| !expected.iter().any(|tag| line.contains(tag)))
        .collect();
    assert_eq!(complaints, Vec::<&str>::new());
}

#[test]
fn classic_names_are_commands() {
    let names = fs::read_to_string(packaging().join("deb/classic")).unwrap();
    let general = output(Command::new(PROGRAM).arg("--help"));
    let room = tempfile::tempdir().unwrap();
    assert!(names.lines().count() > 20);
    for name in names.lines() {
        let link = room.path().join(name);
        symlink(PROGRAM, &link).unwrap();
        let told = output(Command::new(&link).arg("--help"));
        assert_ne!(told, general, "{name} is no command");
    }
}
