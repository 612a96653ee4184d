//! A program on a terminal: tmux gives it one, types, and tells what it shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Program;
use super::daemon::PATIENCE;

/// A terminal of 100 columns and 40 lines in the temporary directory.
pub struct Screen {
    socket: PathBuf,
}

impl Screen {
    /// Starts this command on it. `None`, and a line that says so, where there is no tmux.
    pub fn start(program: &Program, command: &Command) -> Option<Screen> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: newsreaders on a terminal (tmux is not there)");
            return None;
        }
        let screen = Screen {
            socket: program.path("terminal"),
        };
        // What the program says at its end stays to be seen.
        program.write("terminal.conf", b"set -g remain-on-exit on\n");
        let mut start = screen.tmux();
        start.args([
            "-f",
            "terminal.conf",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "40",
        ]);
        for (name, value) in command.get_envs() {
            let Some(value) = value else {
                start.env_remove(name);
                continue;
            };
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            start.args(["-e", &format!("{name}={value}")]);
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let told = start
            .current_dir(program.path(""))
            .args(words)
            .output()
            .unwrap();
        assert!(told.status.success(), "{told:?}");
        Some(screen)
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .arg("-u")
            .arg("-S")
            .arg(&self.socket);
        tmux
    }

    /// What stands on it.
    pub fn shows(&self) -> String {
        let told = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&told.stdout).into_owned()
    }

    /// Types this text, or keys with a name: `Enter`, `C-c`.
    pub fn keys(&self, keys: &[&str]) -> &Screen {
        let told = self.tmux().arg("send-keys").args(keys).output().unwrap();
        assert!(told.status.success(), "{keys:?}: {told:?}");
        self
    }

    /// Waits until it shows this.
    pub fn until_shows(&self, text: &str) -> &Screen {
        let began = Instant::now();
        loop {
            let shown = self.shows();
            if shown.contains(text) {
                return self;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "`{text}' never stood there, but this does:\n{shown}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the program has ended.
    pub fn until_ended(&self) {
        let began = Instant::now();
        while !self.has_ended() {
            assert!(
                began.elapsed() < PATIENCE,
                "it does not end:\n{}",
                self.shows()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn has_ended(&self) -> bool {
        let mut tmux = self.tmux();
        let told = tmux.args(["display-message", "-p", "#{pane_dead}"]);
        told.output().unwrap().stdout.starts_with(b"1")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
    }
}
