//! `broadsheet session`: one NNTP session on standard input and output.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::Status;
use crate::failure;
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["session"],
    also: &[],
    summary: "serve one NNTP session on standard input and output",
    about: "\
For inetd, a systemd socket unit with Accept=yes, ssh, or a manual test. If standard input is a
socket, [[access]] applies to the address of the client; otherwise the client counts as local. It
works with and without `broadsheet serve'; articles are filed under the lock, and are on the disk
before they are acknowledged. Like the daemon, it accepts no articles while the intake is paused
(`intake pause') or less than [nntp] keep_free is free. Limits on connections and on posts per
minute are not counted across sessions: set them in inetd. Errors are written to standard error, or,
if that is the client's connection, to syslog (facility news), and the client is asked to retry
later.

  119 stream tcp nowait news /usr/bin/broadsheet broadsheet session --dir /var/spool/news
  ssh news.example.org broadsheet session --dir /var/spool/news",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[],
    run,
};

/// RFC 3977, 3.2.1 and 5.1: the service is not available now; the client is to come again.
const NOT_IN_SERVICE: &[u8] = b"400 Not in service; come again later\r\n";

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    // Before anything can be said.
    daemon::take_over_stderr()?;
    match serve(given) {
        Ok(()) => Ok(Status::OK),
        Err(error) => {
            // Nothing was said to the client as yet. What is wrong is for the administrator only.
            daemon::say(&failure::text_of(&error));
            out.write_all(NOT_IN_SERVICE)?;
            Ok(failure::status_of(&error))
        }
    }
}

fn serve(given: &Given) -> anyhow::Result<()> {
    let directory = NewsDirectory::meant(given)?.by_full_name()?;
    let input = io::stdin();
    let is_socket = rustix::net::sockopt::socket_type(&input).is_ok();
    let (socket, pump) = match is_socket {
        true => (input.as_fd().try_clone_to_owned()?, None),
        false => {
            let (ours, theirs) = UnixStream::pair()?;
            (OwnedFd::from(ours), Some(pump(theirs)?))
        }
    };
    rustix::io::ioctl_fionbio(&socket, true)?;
    let peer = rustix::net::getpeername(&socket).ok().flatten();
    let address = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    daemon::serve_one(&directory, socket, address, Path::new(OWN_PROGRAM))?;
    if let Some(output) = pump {
        // It ends when all is written that the session said.
        let _ = output.join();
    }
    Ok(())
}

/// Carries bytes between the socket and the standard streams, which may be files or pipes and are others' too, so that they must not be
/// made non-blocking. Returns the thread that writes.
fn pump(socket: UnixStream) -> io::Result<std::thread::JoinHandle<()>> {
    let mut into = socket.try_clone()?;
    std::thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut into);
        let _ = into.shutdown(std::net::Shutdown::Write);
    })?;
    let mut from = socket;
    // Not through `io::stdout()`, which is locked for as long as the command runs.
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    std::thread::Builder::new().spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(count) = io::Read::read(&mut from, &mut buffer) {
            let bytes = buffer.get(..count).unwrap_or_default();
            // A line is to be seen at once.
            if count == 0 || output.write_all(bytes).is_err() {
                return;
            }
        }
    })
}
