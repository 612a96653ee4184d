//! Under inetd, standard error is the client's connection. Messages then go to syslog, and the client sees none of them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::stdio::{dup2_stderr, stderr, stdin, stdout};

/// The socket of syslog on this machine.
const DEVICE: &str = "/dev/log";
/// Facility `news` (RFC 3164, 4.1.1).
const FACILITY: u8 = 7;

/// The severity of a line (RFC 3164, 4.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// An administrator should look at it.
    Warning = 4,
    /// An administrator may want to know it.
    Notice = 5,
    /// The work of the daemon.
    Info = 6,
    /// Of interest only when something is searched for.
    Debug = 7,
}

static IS_IN_USE: AtomicBool = AtomicBool::new(false);

/// True if lines must have the form of syslog.
pub fn is_in_use() -> bool {
    IS_IN_USE.load(Ordering::Relaxed)
}

/// If standard error is the same socket or pipe as standard input or output, replaces it by a socket to syslog, also for programs that are
/// started. Without syslog, messages are discarded: they must not reach the client.
///
/// # Errors
/// /dev/null cannot be opened.
pub fn take_over_stderr() -> io::Result<()> {
    // The number of a descriptor shows that it is a standard one; closed ones are ignored.
    if !is_same(stderr(), stdin()) && !is_same(stderr(), stdout()) {
        return Ok(());
    }
    let other = match syslog() {
        Ok(syslog) => {
            IS_IN_USE.store(true, Ordering::Relaxed);
            syslog
        }
        Err(_) => open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?,
    };
    Ok(dup2_stderr(other)?)
}

fn syslog() -> io::Result<OwnedFd> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(DEVICE)?;
    // A blocked syslog must not block a session.
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A terminal may be both: its user wants to see the messages.
fn is_same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let (Ok(one), Ok(other)) = (fstat(one.as_fd()), fstat(other.as_fd())) else {
        return false;
    };
    let kind = FileType::from_raw_mode(one.st_mode);
    let is_stream = matches!(kind, FileType::Socket | FileType::Fifo);
    is_stream && (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// A message in the form that syslog accepts from local programs (RFC 3164, 4.1, without a timestamp, which syslog adds): one datagram,
/// one line.
pub fn message(severity: Severity, text: &str, process: u32) -> String {
    let text = text.strip_prefix("broadsheet: ").unwrap_or(text);
    let text = text.replace(|c: char| c.is_control(), " ");
    let priority = FACILITY * 8 + severity as u8;
    format!("<{priority}>broadsheet[{process}]: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_with_its_priority() {
        assert_eq!(
            message(Severity::Warning, "broadsheet: login_failed\nwhy=x", 42),
            "<60>broadsheet[42]: login_failed why=x"
        );
        assert_eq!(message(Severity::Info, "{}", 1), "<62>broadsheet[1]: {}");
    }
}
