//! Two UUCP sites on one machine, with real UUCP: `uux` at one, `uucico` over a pipe, `uuxqt` and our rnews at the other.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::{Program, copy_program, peers};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";
const PROGRAMS: &[&str] = &["usr/bin/uux", "usr/sbin/uuxqt", "usr/lib/uucp/uucico"];

/// Two UUCP sites, `here` and `there`, in the directory of a [`Program`], whose news directory is that of `there`.
pub struct Uucp {
    pub program: Program,
}

impl Uucp {
    /// `None`, and a line that says why, where there is no UUCP. The `rnews` of `there` is given these words.
    pub fn new(words: &str) -> Option<Uucp> {
        let root = peers::root_of("usr/sbin/uuxqt", "uucp")?;
        let mut program = Program::with_news(ACTIVE);
        for place in ["bin", "commands"] {
            fs::create_dir(program.path(place)).unwrap();
        }
        let executable =
            |path: PathBuf| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        for name in PROGRAMS {
            // Copies, which are not setuid: they run as who started them, or as uucp for root.
            let copy = program.path("bin").join(name.rsplit('/').next().unwrap());
            copy_program(&root.join(name), &copy);
            executable(copy);
        }
        copy_program(
            env!("CARGO_BIN_EXE_broadsheet").as_ref(),
            &program.path("bin/broadsheet"),
        );
        let news = program.path("news");
        let rnews = format!(
            "#!/bin/sh\nexec {} rnews --dir {} {words}\n",
            program.path("bin/broadsheet").display(),
            news.display()
        );
        program.write("commands/rnews", rnews.as_bytes());
        executable(program.path("commands/rnews"));
        for site in ["here", "there"] {
            let room = program.path(site);
            for place in ["spool", "pub", "lock"] {
                fs::create_dir_all(room.join(place)).unwrap();
            }
            let mut config = format!("nodename {site}\nrun-uuxqt never\n");
            for (what, file) in [
                ("spool", "spool"),
                ("pubdir", "pub"),
                ("lockdir", "lock"),
                ("logfile", "Log"),
                ("statfile", "Stats"),
                ("debugfile", "Debug"),
                ("sysfile", "sys"),
                ("portfile", "port"),
                ("dialfile", "dial"),
                ("passwdfile", "passwd"),
                ("callfile", "call"),
            ] {
                config.push_str(&format!("{what} {}\n", room.join(file).display()));
            }
            fs::write(room.join("config"), config).unwrap();
            for file in ["port", "dial", "passwd", "call"] {
                fs::write(room.join(file), "").unwrap();
            }
        }
        program.write(
            "here/sys",
            b"system there\ntime any\nchat \"\" \"\"\nport pipe\nprotocol i\n",
        );
        let port = format!(
            "port pipe\ntype pipe\ncommand {} -I {}\n",
            program.path("bin/uucico").display(),
            program.path("there/config").display()
        );
        program.write("here/port", port.as_bytes());
        let sys = format!(
            "system here\ncommands rnews\ncommand-path {}\n",
            program.path("commands").display()
        );
        program.write("there/sys", sys.as_bytes());
        if fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
        {
            peers::give(&program.path(""), peers::ids_of("uucp")?);
            program.owner_runs = true;
        }
        Some(Uucp { program })
    }

    pub fn run(&self, site: &str, name: &str, words: &[&str], input: Stdio) -> Output {
        Command::new(self.program.path("bin").join(name))
            .arg("-I")
            .arg(self.program.path(&format!("{site}/config")))
            .args(words)
            .current_dir(self.program.path(""))
            .stdin(input)
            .output()
            .unwrap()
    }

    /// Calls `there`, which takes what waits for it.
    pub fn call(&self) {
        let done = self.run("here", "uucico", &["-S", "there"], Stdio::null());
        assert!(done.status.success(), "{done:?} {}", self.told());
    }

    /// Lets `there` do what was asked for.
    pub fn execute(&self) {
        let done = self.run("there", "uuxqt", &[], Stdio::null());
        assert!(done.status.success(), "{done:?} {}", self.told());
    }

    pub fn told(&self) -> String {
        self.program.read("there/Log")
    }

    /// Requests that wait at `there`, and those that were given up.
    pub fn waiting(&self) -> (usize, usize) {
        let count = |place: &str| self.program.files(&format!("there/spool/{place}/X.")).len();
        (count("here"), count(".Failed/here"))
    }

    pub fn filed(&self) -> usize {
        let words = ["overview", "--dir", "news", "comp.test"];
        self.program.run(&words).out.lines().count()
    }
}
