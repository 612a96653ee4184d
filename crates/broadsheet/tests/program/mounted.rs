//! A mount beside a test: ended and unmounted with the test, also when it panics.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::mount::{UnmountFlags, unmount};

use super::Program;
use super::daemon::PATIENCE;

/// `broadsheet mount` of the news directory `news`, at `spool`.
pub struct Mounted {
    pub child: Child,
    pub at: PathBuf,
    /// What it said before it was mounted.
    pub said: Vec<String>,
}

impl Mounted {
    /// Mounts with these further words. `None`, and a line that says so, where this machine does not allow mounts.
    pub fn start(program: &Program, words: &[&str]) -> Option<Mounted> {
        Mounted::start_at(program, "spool", words)
    }

    /// The same, at another directory.
    pub fn start_at(program: &Program, name: &str, words: &[&str]) -> Option<Mounted> {
        let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        if let Err(error) = fuse {
            eprintln!("skipped: mounts (/dev/fuse: {error})");
            return None;
        }
        let at = program.path(name);
        let _ = std::fs::create_dir(&at);
        let mut command = program.command(&["mount", "--dir", "news"]);
        let mut child = command
            .args(words)
            .arg(&at)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let mut is_mounted = false;
        while let Some(Ok(line)) = lines.next() {
            is_mounted = line.contains("mounted at ");
            said.push(line);
            if is_mounted {
                break;
            }
        }
        // It does not wait for a reader of what it says.
        std::thread::spawn(move || lines.for_each(drop));
        let mounted = Mounted { child, at, said };
        if !is_mounted {
            let said = mounted.said.join("\n");
            let is_forbidden = said.contains("ermission") || said.contains("ermitted");
            let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
            assert!(is_forbidden || !is_root, "{said}");
            eprintln!("skipped: mounts ({said})");
            return None;
        }
        Some(mounted)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }

    /// A file in it.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect(name)
    }

    /// The names in a directory of it, sorted.
    pub fn names(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).expect(name);
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until it has ended; its exit status, -1 for a kill.
    pub fn until_ended(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < PATIENCE, "the mount does not end");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if unmount(&self.at, UnmountFlags::DETACH).is_err() && is_mounted(&self.at) {
            let mut command = Command::new("fusermount3");
            let _ = command.args(["-u", "-z"]).arg(&self.at).status();
        }
    }
}

/// Whether something is mounted at a directory.
pub fn is_mounted(at: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let at = at.to_str().unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == Some(at))
}
