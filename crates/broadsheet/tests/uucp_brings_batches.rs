//! Real UUCP between two sites on one machine: `uux other!rnews` at one, uucico over a pipe, uuxqt and our rnews at the
//! other. What our rnews cannot take is not lost.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use program::articles::{batch, many};
use program::{Program, peers};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";
const PROGRAMS: &[&str] = &["usr/bin/uux", "usr/sbin/uuxqt", "usr/lib/uucp/uucico"];

/// Two sites, `here` and `there`, in the directory of a [`Program`], whose news directory is that of `there`.
struct Uucp {
    program: Program,
}

impl Uucp {
    /// `None`, and a line that says why, where there is no UUCP. The `rnews` of `there` is given these words.
    fn new(words: &str) -> Option<Uucp> {
        let root = peers::root_of("usr/sbin/uuxqt", "uucp")?;
        let program = Program::with_news(ACTIVE);
        for place in ["bin", "commands"] {
            fs::create_dir(program.path(place)).unwrap();
        }
        let executable =
            |path: PathBuf| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        for name in PROGRAMS {
            // Copies, which are not setuid: they run as who started them, or as uucp for root.
            let copy = program.path("bin").join(name.rsplit('/').next().unwrap());
            fs::copy(root.join(name), &copy).unwrap();
            executable(copy);
        }
        fs::copy(
            env!("CARGO_BIN_EXE_broadsheet"),
            program.path("bin/broadsheet"),
        )
        .unwrap();
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
        }
        Some(Uucp { program })
    }

    fn run(&self, site: &str, name: &str, words: &[&str], input: Stdio) -> Output {
        Command::new(self.program.path("bin").join(name))
            .arg("-I")
            .arg(self.program.path(&format!("{site}/config")))
            .args(words)
            .current_dir(self.program.path(""))
            .stdin(input)
            .output()
            .unwrap()
    }

    /// Queues a batch at `here`, as sys and batchparms have it done, and calls `there`.
    fn send(&self, text: &[u8]) {
        self.program.write("batch", text);
        let input = fs::File::open(self.program.path("batch")).unwrap();
        let done = self.run(
            "here",
            "uux",
            &["-", "-r", "-z", "there!rnews"],
            input.into(),
        );
        assert!(done.status.success(), "{done:?}");
        let done = self.run("here", "uucico", &["-S", "there"], Stdio::null());
        assert!(done.status.success(), "{done:?} {}", self.told());
    }

    /// Lets `there` do what was asked for.
    fn execute(&self) {
        let done = self.run("there", "uuxqt", &[], Stdio::null());
        assert!(done.status.success(), "{done:?} {}", self.told());
    }

    fn told(&self) -> String {
        self.program.read("there/Log")
    }

    /// Requests that wait at `there`, and those that were given up.
    fn waiting(&self) -> (usize, usize) {
        let count = |place: &str| self.program.files(&format!("there/spool/{place}/X.")).len();
        (count("here"), count(".Failed/here"))
    }

    fn filed(&self) -> usize {
        let words = ["overview", "--dir", "news", "comp.test"];
        self.program.run(&words).out.lines().count()
    }
}

#[test]
fn batches_are_filed() {
    let Some(uucp) = Uucp::new("") else { return };
    uucp.send(&batch(&many("one", 40, "comp.test", 5000)));
    uucp.send(&batch(&many("two", 3, "comp.test", 10)));
    uucp.execute();
    assert_eq!(uucp.waiting(), (0, 0), "{}", uucp.told());
    assert_eq!(uucp.filed(), 43, "{}", uucp.told());
}

#[test]
fn batches_are_spooled_and_a_full_disk_makes_uucp_try_again() {
    let Some(uucp) = Uucp::new("--spool") else {
        return;
    };
    let settings = uucp.program.read("news/broadsheet.toml");
    let full = settings.replace("keep_free = \"5 MiB\"", "keep_free = 1000000000000000000");
    assert_ne!(settings, full);
    uucp.program.write("news/broadsheet.toml", full.as_bytes());
    uucp.send(&batch(&many("later", 40, "comp.test", 5000)));
    uucp.execute();
    assert_eq!(uucp.waiting(), (1, 0), "{}", uucp.told());
    assert!(uucp.program.files("news/in.coming").is_empty());

    uucp.program
        .write("news/broadsheet.toml", settings.as_bytes());
    uucp.execute();
    assert_eq!(uucp.waiting(), (0, 0), "{}", uucp.told());
    assert_eq!(uucp.program.files("news/in.coming").len(), 1);
    let told = uucp.program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.count("accepted"), 40, "{told:?}");
}
