//! `broadsheet session`: one NNTP session on standard input and output.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

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

/// A person who types, or a script, sees no reply to such an article.
const CUT_ARTICLE: &str = "standard input ended within an article, which was not filed: the lines of an article end with CRLF, and a line with \
     a dot alone ends it (RFC 3977, 3.1.1)";

/// Size of the buffer of each direction, bytes.
const BUFFER_BYTES: usize = 16 << 10;

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    // Before anything can be said.
    daemon::take_over_stderr()?;
    match serve(given) {
        Ok(None) => Ok(Status::OK),
        Ok(Some(error)) => {
            daemon::say(&failure::text_of(&error));
            Ok(Status::ATTENTION)
        }
        Err(error) => {
            // Nothing was said to the client as yet. What is wrong is for the administrator only.
            daemon::say(&failure::text_of(&error));
            out.write_all(NOT_IN_SERVICE)?;
            Ok(failure::status_of(&error))
        }
    }
}

/// Serves the session. Returns the error that ended it: standard input could not be read or ended within an article, or standard output not be
/// written.
fn serve(given: &Given) -> anyhow::Result<Option<anyhow::Error>> {
    let directory = NewsDirectory::meant(given)?;
    if !daemon::client::is_served(directory.root()) {
        // Mends what a crash left.
        directory.snapshot()?;
    }
    let directory = directory.by_full_name()?;
    let input = io::stdin();
    let is_socket = rustix::net::sockopt::socket_type(&input).is_ok();
    let (socket, pump) = match is_socket {
        true => (input.as_fd().try_clone_to_owned()?, None),
        false => {
            let (ours, theirs) = UnixStream::pair()?;
            (OwnedFd::from(ours), Some(Pump::start(theirs)?))
        }
    };
    rustix::io::ioctl_fionbio(&socket, true)?;
    let peer = rustix::net::getpeername(&socket).ok().flatten();
    let address = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    let is_cut = daemon::serve_one(&directory, socket, address, Path::new(OWN_PROGRAM))?;
    let Some(pump) = pump else {
        return Ok(None);
    };
    let cut = || is_cut.then(|| anyhow::anyhow!(CUT_ARTICLE));
    Ok(pump.end().or_else(cut))
}

/// Carries bytes between the socket and the standard streams, which may be files or pipes and are others' too, so that they must not be
/// made non-blocking.
struct Pump {
    /// The thread that writes standard output.
    output: JoinHandle<()>,
    error: Arc<OnceLock<anyhow::Error>>,
}

impl Pump {
    fn start(socket: UnixStream) -> io::Result<Pump> {
        let error = Arc::new(OnceLock::new());
        let (mut into, told) = (socket.try_clone()?, error.clone());
        std::thread::Builder::new().spawn(move || {
            // Before the session ends of it, so that the error is not missed.
            if let Err(error) = copy_until_closed(&mut relay::StandardInput, &mut into) {
                keep(&told, error, "cannot read standard input");
            }
            let _ = into.shutdown(Shutdown::Write);
        })?;
        let (mut from, told) = (socket, error.clone());
        // Not through `io::stdout()`, which is locked for as long as the command runs.
        let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let output = std::thread::Builder::new().spawn(move || {
            let mut buffer = [0; BUFFER_BYTES];
            loop {
                let count = match from.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                    Ok(count) => count,
                };
                let bytes = buffer.get(..count).unwrap_or_default();
                if count == 0 {
                    return;
                }
                // A line is to be seen at once.
                if let Err(error) = output.write_all(bytes) {
                    keep(&told, error, "cannot write to standard output");
                    // The client hears no more replies.
                    let _ = from.shutdown(Shutdown::Both);
                    return;
                }
            }
        })?;
        Ok(Pump { output, error })
    }

    /// Waits until all is written that the session said. Returns the first error.
    fn end(self) -> Option<anyhow::Error> {
        let _ = self.output.join();
        // The other thread may still read.
        match Arc::try_unwrap(self.error) {
            Ok(error) => error.into_inner(),
            Err(shared) => shared.get().map(|error| anyhow::anyhow!("{error:#}")),
        }
    }
}

/// Copies until the input ends, or the session has ended and takes no more of it. Returns the error of the input.
fn copy_until_closed(input: &mut impl Read, session: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; BUFFER_BYTES];
    loop {
        match input.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) => return Ok(()),
            read => {
                let bytes = buffer.get(..read?).unwrap_or_default();
                if session.write_all(bytes).is_err() {
                    return Ok(());
                }
            }
        }
    }
}

/// Keeps the first error. A closed pipe or socket is the usual end of a session.
fn keep(first: &OnceLock<anyhow::Error>, error: io::Error, doing: &'static str) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        let _ = first.set(anyhow::Error::new(error).context(doing));
    }
}
