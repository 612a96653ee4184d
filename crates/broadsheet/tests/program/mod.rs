//! Runs the real binary in a temporary directory of its own.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub mod articles;
#[path = "../../../objects/tests/azure_server.rs"]
pub mod azure_server;
#[path = "../../../objects/tests/bucket_server.rs"]
pub mod bucket_server;
pub mod clients;
pub mod cluster;
pub mod corpus;
pub mod daemon;
#[path = "../../../store/tests/double/dice.rs"]
pub mod dice;
pub mod faults;
pub mod feeding;
pub mod inn;
pub mod link;
pub mod mounted;
#[path = "../../../cluster/tests/servers.rs"]
pub mod nats;
pub mod nntp;
pub mod peers;
pub mod pulling;
#[path = "../../../objects/tests/s3_server.rs"]
pub mod s3_server;
pub mod screen;
pub mod small;
pub mod small_disk;
pub mod taker;
pub mod uucp;
pub mod wire;

/// A temporary directory to run the program in; removed at the end.
pub struct Program {
    room: tempfile::TempDir,
    /// Commands run as who owns the news directory: root is refused in one that was given to another user.
    pub owner_runs: bool,
    /// Another build of the program, in place of this one.
    pub build: Option<PathBuf>,
    /// Variables that every command gets.
    pub environment: std::sync::Mutex<Vec<(String, String)>>,
}

/// Whether this machine has the directory that commands take without `--dir` and BROADSHEET_DIR; then `what` is skipped.
pub fn has_default_directory(what: &str) -> bool {
    let default = Path::new("/var/spool/news");
    let is_there = default.exists();
    if is_there {
        eprintln!("skipped: {what} ({} is there)", default.display());
    }
    is_there
}

/// What the program said.
#[derive(Debug)]
pub struct Told {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Told {
    /// The object that `--json` printed last.
    pub fn summary(&self) -> serde_json::Value {
        serde_json::from_str(self.out.lines().last().unwrap_or_default()).expect(&self.err)
    }

    /// One number of the summary.
    pub fn count(&self, of: &str) -> u64 {
        self.summary()[of].as_u64().expect(of)
    }
}

impl Program {
    pub fn new() -> Program {
        Program {
            room: tempfile::tempdir().expect("a temporary directory"),
            owner_runs: false,
            build: None,
            environment: std::sync::Mutex::default(),
        }
    }

    /// With a news directory `news` made by `broadsheet init` from these groups.
    pub fn with_news(active: &str) -> Program {
        let program = Program::new();
        program.write("active.list", active.as_bytes());
        program.init("news", "news.example.org");
        program
    }

    /// Makes a news directory for the site `name` with the groups of the file `active.list`.
    pub fn init(&self, dir: &str, name: &str) {
        let told = self.run(&[
            "init",
            "--dir",
            dir,
            "--name",
            name,
            "--active",
            "active.list",
            // The disks of tests have less free at any time.
            "--keep-free",
            "0",
        ]);
        assert_eq!(told.status, 0, "{told:?}");
    }

    /// As [`Program::with_news`], where anybody may cancel, as in C News.
    pub fn with_classic_cancels(active: &str) -> Program {
        let program = Program::with_news(active);
        program.cancel_as_c_news();
        program
    }

    /// Files articles of other sites in unknown groups in `junk`, in the news directory `news`, as C News did.
    pub fn junk_as_c_news(&self) {
        self.set("junk = false", "junk = true");
    }

    /// Makes commits of the news directory `news` smaller than usual.
    pub fn set_commit_bytes(&self, size: &str) {
        self.set(
            "commit_bytes = \"8 MiB\"",
            &format!("commit_bytes = \"{size}\""),
        );
    }

    /// Lets the disk of the news directory `news` fill up to its last byte.
    pub fn keep_nothing_free(&self) {
        self.set("keep_free = \"5 MiB\"", "keep_free = 0");
    }

    /// Puts a line of the settings of the news directory `news` in the place of another; `before` is how it begins.
    pub fn set(&self, before: &str, after: &str) {
        let text = self.read("news/broadsheet.toml");
        let changed = text.replacen(&format!("\n{before}"), &format!("\n{after}"), 1);
        assert_ne!(text, changed, "{before}");
        self.write("news/broadsheet.toml", changed.as_bytes());
    }

    /// Lets anybody cancel in the news directory `news`.
    pub fn cancel_as_c_news(&self) {
        let settings = self.read("news/broadsheet.toml");
        let classic = settings.replace("cancel = \"locked\"", "cancel = \"classic\"");
        assert_ne!(settings, classic);
        self.write("news/broadsheet.toml", classic.as_bytes());
    }

    /// As [`Program::with_news`], with segments of so many MiB, so that a few articles fill several.
    pub fn with_small_segments(active: &str, mib: u64) -> Program {
        let program = Program::with_news(active);
        let settings = program
            .read("news/broadsheet.toml")
            .replace(
                "segment_bytes = \"256 MiB\"",
                &format!("segment_bytes = \"{mib} MiB\""),
            )
            .replace(
                "article_bytes_max = \"8 MiB\"",
                &format!("article_bytes_max = \"{} KiB\"", mib * 512),
            );
        assert!(settings.contains(&format!("\"{mib} MiB\"")) && settings.contains(" KiB\""));
        program.write("news/broadsheet.toml", settings.as_bytes());
        // The first segment has its size from init; without it, the first who writes makes one by the settings.
        for path in program.files("news/segments") {
            std::fs::remove_file(path).expect("removed");
        }
        std::fs::remove_file(program.path("news/index")).expect("removed");
        program
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.path(name)).expect(name);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The program with these words, to be started in the temporary directory.
    pub fn command(&self, words: &[&str]) -> Command {
        let build = self.build.as_deref();
        let mut command =
            Command::new(build.unwrap_or(Path::new(env!("CARGO_BIN_EXE_broadsheet"))));
        command
            .args(words)
            .current_dir(self.room.path())
            .env_remove("BROADSHEET_DIR");
        self.as_owner(&mut command);
        command
    }

    fn as_owner(&self, command: &mut Command) {
        let environment = self.environment.lock().expect("the environment");
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        if self.owner_runs {
            let news = std::fs::metadata(self.path("news")).expect("a news directory");
            command.uid(news.uid()).gid(news.gid());
        }
    }

    /// Gives `batch` to `rnews --json` on a pipe.
    pub fn rnews(&self, batch: &[u8]) -> Told {
        self.feed(&["rnews", "--dir", "news", "--json"], batch)
    }

    /// The `fsck` of the news directory finds nothing.
    pub fn assert_clean(&self) {
        let told = self.run(&["fsck", "--dir", "news"]);
        assert_eq!(told.status, 0, "{told:?}");
    }

    /// Files in a directory, sorted; none when it is absent.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let mut paths: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        paths
    }

    /// Runs it with these words and no input.
    pub fn run(&self, words: &[&str]) -> Told {
        self.run_as(Path::new(env!("CARGO_BIN_EXE_broadsheet")), words, b"")
    }

    /// Runs it and gives back what it printed, byte for byte; it must end with 0.
    pub fn run_bytes(&self, words: &[&str]) -> Vec<u8> {
        let done = self.command(words).output().expect("the program starts");
        assert!(
            done.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        done.stdout
    }

    /// Runs it with these words and `input` on standard input.
    pub fn feed(&self, words: &[&str], input: &[u8]) -> Told {
        self.run_as(Path::new(env!("CARGO_BIN_EXE_broadsheet")), words, input)
    }

    /// Runs `program`, such as a link to the binary.
    pub fn run_as(&self, program: &Path, words: &[&str], input: &[u8]) -> Told {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(self.room.path())
            .env_remove("BROADSHEET_DIR")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.as_owner(&mut command);
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_vec();
        // A thread, so that a program that writes before it has read all cannot hang the test.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("the program ends");
        feeder.join().expect("fed");
        Told {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The most memory the process has used; `None` where /proc is absent or the process has ended.
pub fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Compares with `tests/golden/NAME`. `UPDATE_GOLDEN=1` writes the file instead.
pub fn golden(name: &str, said: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, said).expect("written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == said,
        "{name} differs; if it should, run with UPDATE_GOLDEN=1.\n--- kept\n{kept}\n--- said\n{said}"
    );
}

/// The folder of real articles and conformance facts that lies beside the project on the founders' machines.
/// `None`, and a line that says so, where it is absent: the project must pass without it.
pub fn shared(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join(part);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {part} is not present beside the project (BROADSHEET_SHARED)");
    None
}

/// Copies a program that the test will start. Another process writes the copy: a child that another test starts meanwhile would inherit
/// our descriptor, and the copy would be busy.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}
