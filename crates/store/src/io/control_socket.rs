//! Asking the daemon of a news directory for its lock.
//!
//! The daemon listens on `control.sock`. A line `lend` asks for the lock; when what is being filed is committed and the
//! spool closed, the daemon answers `lent` and waits until the connection ends. A borrower that dies has ended it too.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, bind, recv, socket_with,
};

/// The daemon's socket in the news directory.
pub const SOCKET: &str = "control.sock";
/// What asks for the lock.
pub const LEND: &[u8] = b"lend\n";
/// The daemon's answer: the lock is free.
pub const LENT: &[u8] = b"lent\n";
/// So many may wait to be accepted; as in the standard library.
const LINE: i32 = 128;
/// The longest path of a socket, bytes (`sun_path` of unix(7), without its final NUL).
const SOCKET_PATH_BYTES: usize = 107;

/// Connects to the daemon.
///
/// # Errors
/// Those of the system: there is no daemon, or it is not ours.
pub fn connect(dir: &Path) -> io::Result<UnixStream> {
    at_socket(dir, |path| UnixStream::connect(path))
}

/// Listens as the daemon does: nobody but the owner may connect. A socket that is there is the caller's to remove.
///
/// # Errors
/// Those of the system.
pub fn listen(dir: &Path) -> io::Result<UnixListener> {
    at_socket(dir, |path| {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Before it has a name, so that there is no moment at which others could connect; bind takes the mode over. A umask
        // would be that of all threads.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, LINE)?;
        Ok(UnixListener::from(socket))
    })
}

/// A long path is gone to by way of its directory: the address of a socket has few bytes.
fn at_socket<T>(dir: &Path, go: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = dir.join(SOCKET);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES {
        return go(&path);
    }
    let held = File::open(dir)?;
    let short: PathBuf = format!("/proc/self/fd/{}/{SOCKET}", held.as_raw_fd()).into();
    go(&short)
}

/// Asks for the lock. The answer need not be waited for: the lock itself tells.
pub(crate) fn ask(dir: &Path) -> io::Result<UnixStream> {
    let mut stream = connect(dir)?;
    stream.write_all(LEND)?;
    Ok(stream)
}

/// True when the other end has closed the connection. What it said before is read, and forgotten; nothing is waited for.
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
