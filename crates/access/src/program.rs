//! Programs that check names and passwords, with the interface of INN's `auth:` programs.
//!
//! The program reads lines that end in CRLF, such as `ClientHost: news.example.org`, and a line with a dot. It accepts by a line
//! `User:NAME` on standard output and exit status 0; anything else refuses. Its standard error is logged as the reason.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use groups::CommandLine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::outcome::Outcome;
use crate::users::check_name;

/// Default time limit of a program, seconds; then it is killed with its children.
pub const PROGRAM_SECONDS_MAX: u64 = 30;
/// Maximum size of a program's standard output and of its standard error, bytes; above it, the program is killed.
pub const ANSWER_BYTES_MAX: usize = 16 << 10;

/// Characters of standard error that are logged.
const STDERR_CHARS_SHOWN: usize = 200;

/// A program that checks names and passwords.
#[derive(Debug, Clone)]
pub struct Authenticator {
    line: CommandLine,
    directory: PathBuf,
    time_max: Duration,
}

/// The connection's addresses, for programs.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The client's host name, if known.
    pub host: Option<String>,
    /// The client's address.
    pub client: Option<SocketAddr>,
    /// The server's address.
    pub local: Option<SocketAddr>,
}

impl Connection {
    /// The input lines of a program.
    fn lines(&self) -> String {
        let mut text = String::new();
        let ip = |address: &SocketAddr| address.ip().to_canonical().to_string();
        let mut line = |key: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.contains(char::is_control)) {
                // Writing to a String cannot fail.
                let _ = write!(text, "{key}: {value}\r\n");
            }
        };
        let client_ip = self.client.as_ref().map(ip);
        line(
            "ClientHost",
            self.host.clone().or_else(|| client_ip.clone()),
        );
        line("ClientIP", client_ip);
        line(
            "ClientPort",
            self.client.map(|client| client.port().to_string()),
        );
        line("LocalIP", self.local.as_ref().map(ip));
        line(
            "LocalPort",
            self.local.map(|local| local.port().to_string()),
        );
        text
    }
}

/// The output and exit status of a program.
#[derive(Debug)]
struct ProgramResult {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// `Err` with the reason, if it was killed.
    end: Result<ExitStatus, String>,
}

impl Authenticator {
    /// A program that runs in a directory; without a shell, unless the command line starts one.
    pub fn new(line: CommandLine, directory: &Path, time_max: Duration) -> Authenticator {
        Authenticator {
            line,
            directory: directory.to_owned(),
            time_max,
        }
    }

    /// Checks a name and password. It takes as long as the program, up to its time limit.
    pub fn check(&self, name: &str, password: &[u8], connection: &Connection) -> Outcome {
        // A control character could inject a line.
        if check_name(name).is_err() || password.iter().any(|byte| b"\r\n\0".contains(byte)) {
            return Outcome::Refused("the name or password has a control character".to_owned());
        }
        let mut input = connection.lines().into_bytes();
        input.extend_from_slice(format!("ClientAuthname: {name}\r\nClientPassword: ").as_bytes());
        input.extend_from_slice(password);
        input.extend_from_slice(b"\r\n.\r\n");
        let program = String::from_utf8_lossy(self.line.program()).into_owned();
        match self.run(&input) {
            Ok(result) => result.outcome(&program),
            Err(error) => Outcome::Failed(format!("{program}: {error}")),
        }
    }

    fn run(&self, input: &[u8]) -> std::io::Result<ProgramResult> {
        let word = |word: &[u8]| std::ffi::OsStr::from_bytes(word).to_owned();
        let mut child = Running {
            is_waited_for: false,
            child: Command::new(word(self.line.program()))
                .args(self.line.arguments().iter().map(|argument| word(argument)))
                .current_dir(&self.directory)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0)
                .spawn()?,
        };
        // The input is far smaller than a pipe's buffer, so this does not block. A program may answer without reading it.
        if let Some(mut stdin) = child.child.stdin.take() {
            let _ = stdin.write_all(input);
        }
        let mut stdout = OutputPipe::new(child.child.stdout.take().map(OwnedFd::from))?;
        let mut stderr = OutputPipe::new(child.child.stderr.take().map(OwnedFd::from))?;
        let end = child.wait(self.time_max, &mut stdout, &mut stderr)?;
        Ok(ProgramResult {
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            end,
        })
    }
}

/// A running program, killed with its children when dropped.
struct Running {
    child: Child,
    /// It was waited for: its process id may belong to another process.
    is_waited_for: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_waited_for {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

impl Running {
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Kills the program and its children; no error if it has just ended.
    fn kill_group(&self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    /// Reads its output until it ends or exceeds a limit. The inner `Err` is the reason to kill it.
    fn wait(
        &mut self,
        time_max: Duration,
        stdout: &mut OutputPipe,
        stderr: &mut OutputPipe,
    ) -> std::io::Result<Result<ExitStatus, String>> {
        let pid = self.pid().ok_or(ErrorKind::NotFound)?;
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        let until = Instant::now() + time_max;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let reason = format!("took more than {} seconds", time_max.as_secs());
                return Ok(Err(reason));
            }
            let mut waited = vec![PollFd::new(&ended, PollFlags::IN)];
            waited.extend(
                [&*stdout, &*stderr]
                    .into_iter()
                    .filter_map(OutputPipe::poll),
            );
            let limit = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
            match poll(&mut waited, Some(&limit)) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let is_over = waited.first().is_some_and(|end| !end.revents().is_empty());
            if !stdout.read_available()? || !stderr.read_available()? {
                return Ok(Err(format!("wrote more than {ANSWER_BYTES_MAX} bytes")));
            }
            if is_over {
                // Kills remaining children while the process id is still valid.
                self.kill_group();
                self.is_waited_for = true;
                return self.child.wait().map(Ok);
            }
        }
    }
}

/// One output of a program.
struct OutputPipe {
    pipe: Option<std::fs::File>,
    bytes: Vec<u8>,
}

impl OutputPipe {
    fn new(pipe: Option<OwnedFd>) -> std::io::Result<OutputPipe> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        Ok(OutputPipe {
            pipe: pipe.map(Into::into),
            bytes: Vec::new(),
        })
    }

    fn poll(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        Some(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
    }

    /// Reads the available output. Returns false above the limit.
    fn read_available(&mut self) -> std::io::Result<bool> {
        let mut buffer = [0; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let read = buffer.get(..count).unwrap_or_default();
                    self.bytes.extend_from_slice(read);
                    if self.bytes.len() > ANSWER_BYTES_MAX {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl ProgramResult {
    fn outcome(&self, program: &str) -> Outcome {
        let stderr = self.stderr_line();
        let refused = |what: String| {
            let what = if stderr.is_empty() {
                what
            } else {
                format!("program error: {stderr}")
            };
            Outcome::Refused(format!("{program}: {what}"))
        };
        let status = match &self.end {
            Ok(status) => status,
            Err(killed) => return Outcome::Failed(format!("{program} {killed} and was killed")),
        };
        if let Some(signal) = status.signal() {
            return refused(format!("program caught signal {signal}"));
        }
        if !status.success() {
            let code = status.code().unwrap_or_default();
            return refused(format!("program exited with status {code}"));
        }
        let lines = self.stdout.split(|byte| *byte == b'\n');
        let mut users = lines.filter_map(|line| line.strip_prefix(b"User:"));
        let user = users.next().map(<[u8]>::trim_ascii);
        match user.map(str::from_utf8) {
            None => refused("program wrote no User:".to_owned()),
            Some(Ok(user)) if check_name(user).is_ok() => Outcome::LoggedIn {
                user: user.to_owned(),
                data: None,
            },
            Some(_) => refused("program wrote an invalid name after User:".to_owned()),
        }
    }

    /// The first line of standard error.
    fn stderr_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let line = text.trim().lines().next().unwrap_or_default().to_owned();
        let plain = line.chars().filter(|c| !c.is_control());
        plain.take(STDERR_CHARS_SHOWN).collect()
    }
}
