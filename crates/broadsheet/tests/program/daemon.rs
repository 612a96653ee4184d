//! The daemon beside a test: started until it says that it is ready, and ended with the test.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::Program;

/// Longer than this nothing here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Says that it is over when it goes, also by a panic: else threads beside it would go on, and be waited for, for ever.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// `broadsheet serve` on the news directory `news`.
pub struct Daemon {
    child: Child,
    notified: UnixDatagram,
    said: Receiver<String>,
}

impl Daemon {
    /// Starts it, and waits until it tells systemd that it is ready.
    pub fn start(program: &Program) -> Daemon {
        let daemon = Daemon::launch(program);
        daemon.until_notified("READY=1");
        daemon
    }

    /// Starts it.
    pub fn launch(program: &Program) -> Daemon {
        Daemon::launch_by(program, program.command(&["serve", "--dir", "news"]))
    }

    /// Starts it by this command.
    pub fn launch_by(program: &Program, mut command: Command) -> Daemon {
        let socket = program.path("notify");
        let _ = std::fs::remove_file(&socket);
        let notified = UnixDatagram::bind(&socket).unwrap();
        notified.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut child = command
            .env("NOTIFY_SOCKET", &socket)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Daemon {
            child,
            notified,
            said,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has told systemd this.
    pub fn until_notified(&self, state: &str) {
        let mut told = [0; 256];
        loop {
            let count = match self.notified.recv(&mut told) {
                // A signal that another test of this process caused: it ends a wait with a timeout.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                received => received.expect(state),
            };
            if told[..count].starts_with(state.as_bytes()) {
                return;
            }
        }
    }

    /// Waits until it has said a line with this in it on standard error; the line.
    pub fn until_said(&self, part: &str) -> String {
        let mut before = Vec::new();
        match self.hear(part, &mut before) {
            Some(line) => line,
            None => panic!("it never said `{part}', but {before:?}"),
        }
    }

    /// As [`Daemon::until_said`], for daemons that may end instead: `None`. The lines before go to `before`.
    pub fn hear(&self, part: &str, before: &mut Vec<String>) -> Option<String> {
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(part) => return Some(line),
                Ok(line) => before.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// The lines that it has said since.
    pub fn said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }

    /// Its exit status, if it has ended; -1 for a kill.
    pub fn ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().unwrap()?;
        Some(status.code().unwrap_or(-1))
    }

    /// Sends it a signal: `TERM`, `HUP`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.pid().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits until it has ended; its exit status, -1 for a kill.
    pub fn until_ended(&mut self) -> i32 {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.ended() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("the daemon does not end");
    }

    /// Ends it as systemd does, cleanly.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.until_ended(), 0);
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}
