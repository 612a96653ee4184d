//! Requests the lock from the daemon of a news directory.
//!
//! The daemon listens on `control.sock`. A line `lend` requests the lock. After the commit of the current work the daemon closes
//! the spool, replies `lent` and waits until the connection ends, which also happens if the borrower is killed. Then it shows its readers and
//! feeds what the borrower did, and ends the connection on its side, for which the borrower waits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, bind, recv, socket_with,
};

/// The daemon's socket in the news directory.
pub const SOCKET: &str = "control.sock";
/// The request for the lock.
pub const LEND: &[u8] = b"lend\n";
/// The reply of the daemon: the lock is free.
pub const LENT: &[u8] = b"lent\n";
/// Longest wait of a borrower for the daemon, which may have to wait for other borrowers first.
const LOOK_PATIENCE: Duration = Duration::from_secs(5);
/// Length of the queue of connections; as in the standard library.
const LINE: i32 = 128;
/// The longest path of a socket, bytes (`sun_path` of unix(7), without its final NUL).
const SOCKET_PATH_BYTES: usize = 107;

/// Connects to the daemon.
///
/// # Errors
/// An I/O error: there is no daemon, or it belongs to another user.
pub fn connect(dir: &Path) -> io::Result<UnixStream> {
    at_socket(dir, |path| UnixStream::connect(path))
}

/// Listens for clients; only the owner may connect. The caller removes an existing socket.
///
/// # Errors
/// An I/O error.
pub fn listen(dir: &Path) -> io::Result<UnixListener> {
    at_socket(dir, |path| {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Set before the socket has a name, so that other users can never connect; bind(2) uses this mode. A umask
        // would apply to all threads.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, LINE)?;
        Ok(UnixListener::from(socket))
    })
}

/// Connects to a long path through its directory, because the address of a socket is short.
fn at_socket<T>(dir: &Path, go: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = dir.join(SOCKET);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES {
        return go(&path);
    }
    let held = File::open(dir)?;
    let short: PathBuf = format!("/proc/self/fd/{}/{SOCKET}", held.as_raw_fd()).into();
    go(&short)
}

/// Requests the lock. The caller need not wait for the reply: the lock itself shows the result.
pub(crate) fn ask(dir: &Path) -> io::Result<UnixStream> {
    let mut stream = connect(dir)?;
    stream.write_all(LEND)?;
    Ok(stream)
}

/// The lock, as the daemon lent it. At its end the value waits for a limited time until the daemon has seen what was done, so that readers
/// see it when the command ends.
#[derive(Debug)]
pub(crate) struct Loan(pub UnixStream);

impl Drop for Loan {
    fn drop(&mut self) {
        let until = Instant::now() + LOOK_PATIENCE;
        // The daemon may be gone.
        if self.0.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut said = [0; LENT.len()];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.0.set_read_timeout(Some(left)).is_err() {
                return;
            }
            match self.0.read(&mut said) {
                Ok(0) => return,
                // The reply to the request.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// Returns true if the other end has closed the connection. Discards earlier input; does not wait.
pub fn is_over(stream: &UnixStream) -> bool {
    let mut said = [0; LENT.len()];
    loop {
        match recv(stream, &mut said, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return false,
            Err(_) => return true,
        }
    }
}
