//! `make deb` makes packages with all that the system needs, and nothing of which lintian complains; their scripts leave what is not ours.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
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
        "./usr/share/doc/broadsheet/docs/book/tutorial.md.gz\n",
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

/// The maintainer scripts of a package in a root directory of their own, with programs of systemd that only write down how they are called.
struct Scripts {
    room: tempfile::TempDir,
}

const UNITS: [&str; 3] = [
    "broadsheet.service",
    "broadsheet-nntp.socket",
    "broadsheet-nntps.socket",
];

impl Scripts {
    /// `None` where something that the scripts use is not installed.
    fn new(news_directory: &str) -> Option<Scripts> {
        let needed = [
            "/usr/share/debconf/confmodule",
            "/usr/bin/deb-systemd-helper",
        ];
        if !needed.iter().all(|path| Path::new(path).exists()) {
            eprintln!(
                "skipped: maintainer scripts (debconf or init-system-helpers are not installed)"
            );
            return None;
        }
        let room = tempfile::tempdir().unwrap();
        let scripts = Scripts { room };
        for dir in [
            "root/run/systemd/system",
            "root/lib/systemd/system",
            "root/etc/broadsheet",
            "root/var/spool",
            "bin",
        ] {
            fs::create_dir_all(scripts.path(dir)).unwrap();
        }
        for unit in UNITS {
            let from = packaging().join("systemd").join(unit);
            fs::copy(
                from,
                scripts.path(&format!("root/lib/systemd/system/{unit}")),
            )
            .unwrap();
        }
        let told = scripts.path("told");
        let told = told.display();
        let noted = format!("#!/bin/sh\necho \"${{0##*/}} $*\" >> '{told}'\n");
        let systemctl = format!(
            "{noted}case \"$*\" in\n*is-enabled*) for unit; do :; done; exec deb-systemd-helper is-enabled \"$unit\" ;;\n\
             show*) echo 'A=b BROADSHEET_DIR={news_directory} C=d' ;;\nesac\n"
        );
        for (name, text) in [
            ("systemctl", systemctl.as_str()),
            ("deb-systemd-invoke", &noted),
            ("broadsheet", &noted),
            ("getent", "#!/bin/sh\n"),
            ("chown", "#!/bin/sh\n"),
            (
                "install",
                "#!/bin/sh\nfor dir; do :; done\nmkdir -p \"$dir\"\n",
            ),
        ] {
            let path = scripts.path(&format!("bin/{name}"));
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Some(scripts)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        command
            .env(
                "PATH",
                format!("{}:{path}:/usr/sbin:/sbin", self.path("bin").display()),
            )
            .env("DPKG_ROOT", self.path("root"))
            // debconf's protocol comes over standard input.
            .env("DEBIAN_HAS_FRONTEND", "1")
            .env("DPKG_MAINTSCRIPT_PACKAGE", "broadsheet");
        command
    }

    /// Runs a script, and returns the calls that it made, and its messages. `answer` is that to the question of a purge.
    fn run(&self, words: &[&str], answer: bool) -> (Vec<String>, String) {
        let (script, words) = words.split_first().unwrap();
        let mut command = self.command("sh");
        command
            .arg(packaging().join("deb").join(script))
            .args(words);
        self.finish(command, answer)
    }

    fn finish(&self, mut command: Command, answer: bool) -> (Vec<String>, String) {
        fs::write(self.path("told"), "").unwrap();
        let answers = format!("0 ok\n0 ok\n0 ok\n0 {answer}\n0 ok\n");
        fs::write(self.path("answers"), answers).unwrap();
        let answers = fs::File::open(self.path("answers")).unwrap();
        let done = command.stdin(answers).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{command:?}: {said}");
        let told = fs::read_to_string(self.path("told")).unwrap();
        (told.lines().map(str::to_owned).collect(), said)
    }

    fn is_masked(&self, unit: &str) -> bool {
        let link = self.path(&format!("root/etc/systemd/system/{unit}"));
        fs::read_link(link).is_ok_and(|target| target == Path::new("/dev/null"))
    }
}

#[test]
fn a_package_that_comes_back_serves_as_before() {
    let Some(scripts) = Scripts::new("/var/spool/news") else {
        return;
    };
    let (told, said) = scripts.run(&["postinst", "configure", ""], false);
    assert!(said.ends_with("  sudo broadsheet setup\n"), "{said}");
    let starts = |told: &[String]| -> Vec<String> {
        let starts = told
            .iter()
            .filter(|line| line.starts_with("deb-systemd-invoke"));
        starts.cloned().collect()
    };
    // Nobody has enabled the sockets.
    assert_eq!(
        starts(&told),
        ["deb-systemd-invoke start broadsheet.service"]
    );
    let socket = "broadsheet-nntp.socket";
    let wants = scripts.path("root/etc/systemd/system/sockets.target.wants");
    fs::create_dir_all(&wants).unwrap();
    symlink(format!("/lib/systemd/system/{socket}"), wants.join(socket)).unwrap();
    scripts.run(&["prerm", "remove"], false);
    scripts.run(&["postrm", "remove"], false);
    assert!(UNITS.iter().all(|unit| scripts.is_masked(unit)));
    let (told, _) = scripts.run(&["postinst", "configure", "1.0"], false);
    assert!(!UNITS.iter().any(|unit| scripts.is_masked(unit)));
    assert_eq!(
        starts(&told),
        [
            format!("deb-systemd-invoke start {socket}"),
            "deb-systemd-invoke restart broadsheet.service".to_owned()
        ]
    );
}

#[test]
fn another_news_directory_is_the_one_that_is_checked() {
    let Some(scripts) = Scripts::new("/srv/news") else {
        return;
    };
    let (_, said) = scripts.run(&["postinst", "configure", "1.0"], false);
    assert!(
        said.ends_with("  sudo broadsheet setup --dir /srv/news\n"),
        "{said}"
    );
    let dir = scripts.path("root/srv/news");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("broadsheet.toml"), "").unwrap();
    let (told, said) = scripts.run(&["postinst", "configure", "1.0"], false);
    assert_eq!(said, "");
    let check = format!("broadsheet check -q --dir {}", dir.display());
    assert!(told.contains(&check), "{told:?}");
}

/// After a purge that kept the articles, or with a disk from another machine.
#[test]
fn a_directory_of_before_is_checked_and_named() {
    let Some(scripts) = Scripts::new("/var/spool/news") else {
        return;
    };
    let news = scripts.path("root/var/spool/news");
    fs::create_dir_all(&news).unwrap();
    // Settings that are gone are those of a news directory, too.
    let settings = news.join("broadsheet.toml");
    symlink(scripts.path("gone"), &settings).unwrap();
    for _ in 0..2 {
        let (told, said) = scripts.run(&["postinst", "configure", ""], false);
        let check = format!("broadsheet check -q --dir {}", news.display());
        assert!(told.contains(&check), "{told:?}");
        assert!(
            said.contains("uses the articles and settings in /var/spool/news")
                && said.contains("enable --now broadsheet-nntp.socket")
                && !said.contains("broadsheet setup"),
            "{said}"
        );
        fs::remove_file(&settings).unwrap();
        fs::write(&settings, "").unwrap();
    }
    fs::write(
        scripts.path("bin/broadsheet"),
        "#!/bin/sh\necho 'name: missing'\nexit 78\n",
    )
    .unwrap();
    let (told, said) = scripts.run(&["postinst", "configure", ""], false);
    let starts = |line: &&String| line.starts_with("deb-systemd-invoke");
    assert_eq!(told.iter().filter(starts).count(), 0, "{told:?}");
    assert!(
        said.starts_with("name: missing\n") && said.contains("the daemon does not start"),
        "{said}"
    );
}

#[test]
fn a_purge_removes_what_is_ours() {
    let Some(scripts) = Scripts::new("/var/spool/news") else {
        return;
    };
    let news = scripts.path("root/var/spool/news");
    let etc = scripts.path("root/etc/broadsheet");
    let fill = || {
        let _ = fs::create_dir_all(news.join("segments"));
        fs::create_dir_all(&etc).unwrap();
        fs::write(news.join("segments/1.art"), "x").unwrap();
        fs::write(etc.join("broadsheet.toml"), "").unwrap();
    };
    // Another news system has the directory.
    fill();
    scripts.run(&["postrm", "purge"], true);
    assert!(news.join("segments/1.art").exists() && !etc.exists());
    let ours = || {
        fill();
        symlink(etc.join("broadsheet.toml"), news.join("broadsheet.toml")).unwrap();
    };
    ours();
    let (_, said) = scripts.run(&["postrm", "purge"], false);
    assert!(said.contains("are kept"), "{said}");
    assert!(news.join("segments/1.art").exists() && etc.join("broadsheet.toml").exists());
    scripts.run(&["postrm", "purge"], true);
    assert!(!news.exists() && !etc.exists());
    // A link goes with the directory behind it; a mount point stays, empty.
    let disk = scripts.path("disk");
    fs::create_dir(&disk).unwrap();
    symlink(&disk, &news).unwrap();
    ours();
    scripts.run(&["postrm", "purge"], true);
    assert!(news.symlink_metadata().is_err());
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    fs::create_dir(&news).unwrap();
    let mounted = |rest: &str| {
        let mut command = scripts.command("unshare");
        let script = format!("mount --bind \"$0\" \"$1\" && {rest}");
        command
            .args(["--mount", "sh", "-c", &script])
            .args([&disk, &news]);
        command.arg(packaging().join("deb/postrm"));
        command
    };
    if !mounted("true")
        .output()
        .is_ok_and(|done| done.status.success())
    {
        eprintln!("skipped: purging a mount point (only root may mount)");
        return;
    }
    fs::write(disk.join("broadsheet.toml"), "").unwrap();
    scripts.finish(mounted("exec sh \"$2\" purge"), true);
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_there_stays_as_it_is() {
    if !is_installed("systemd-tmpfiles") {
        eprintln!("skipped: tmpfiles.d (systemd-tmpfiles is not installed)");
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let path = |name: &str| room.path().join(name);
    for dir in ["etc", "usr/lib/tmpfiles.d", "var/spool/news"] {
        fs::create_dir_all(path(dir)).unwrap();
    }
    let us = fs::metadata(room.path()).unwrap();
    let (uid, gid) = (us.uid(), us.gid());
    fs::write(path("etc/passwd"), format!("news:x:{uid}:{gid}::/:\n")).unwrap();
    fs::write(path("etc/group"), format!("news:x:{gid}:\n")).unwrap();
    let from = packaging().join("tmpfiles.d/broadsheet.conf");
    fs::copy(from, path("usr/lib/tmpfiles.d/broadsheet.conf")).unwrap();
    let mode = |mode| fs::set_permissions(path("var/spool/news"), fs::Permissions::from_mode(mode));
    mode(0o775).unwrap();
    let create = || {
        let mut root = std::ffi::OsString::from("--root=");
        root.push(room.path());
        output(
            Command::new("systemd-tmpfiles")
                .arg("--create")
                .arg(root)
                .arg("broadsheet.conf"),
        );
        fs::metadata(path("var/spool/news")).unwrap().mode() & 0o7777
    };
    assert_eq!(create(), 0o775);
    fs::remove_dir(path("var/spool/news")).unwrap();
    assert_eq!(create(), 0o750);
}
