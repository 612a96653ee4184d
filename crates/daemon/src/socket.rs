//! control.sock: its clients, their permissions and requests.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use store::control_socket;

use super::connection::Client;
use super::event::Event;
use super::request::{ATTENTION, Answer, OK, REQUEST_BYTES_MAX, Request, RunningDaemon};
use super::writer_handle::{Job, WriterHandle};
use super::{say, warn};

/// Maximum number of clients; more are rejected, and rnews then waits for the lock.
pub const CLIENTS_MAX: usize = 64;
/// Number of additional clients that are served only for short requests.
const CLIENTS_MORE: usize = 16;
/// Maximum number of threads that wait for clients.
const WAITING_MAX: usize = 2;
/// Interval at which a command that feeds is told that it may go on.
const TELL_PERMIT_EVERY: Duration = Duration::from_secs(1);
/// How long to wait for the answers of network threads.
const NETWORK_PATIENCE: Duration = Duration::from_secs(5);
/// Pause after an error of accept (no free descriptors).
const PAUSE: Duration = Duration::from_secs(1);

/// Creates the socket. An existing one belongs to a daemon that has ended; the caller has checked that.
///
/// # Errors
/// An I/O error.
pub fn listen(dir: &Path) -> anyhow::Result<UnixListener> {
    let path = dir.join(control_socket::SOCKET);
    remove(dir);
    control_socket::listen(dir).map_err(|error| {
        anyhow::Error::new(error).context(format!("cannot listen on {}", path.display()))
    })
}

/// Removes the socket.
pub fn remove(dir: &Path) {
    let _ = std::fs::remove_file(dir.join(control_socket::SOCKET));
}

/// The data of the threads that serve clients.
struct Asked {
    listener: UnixListener,
    writer: Arc<WriterHandle>,
    events: Sender<Event>,
    since: i64,
    clients: AtomicUsize,
    /// Threads that wait for a client: at least one, unless there is no memory for a thread.
    waiting: AtomicUsize,
}

/// Accepts clients, in threads that run until the process ends.
///
/// # Errors
/// A thread cannot be created.
pub fn start(
    listener: UnixListener,
    writer: Arc<WriterHandle>,
    events: Sender<Event>,
    since: i64,
) -> io::Result<()> {
    Arc::new(Asked {
        listener,
        writer,
        events,
        since,
        clients: AtomicUsize::new(0),
        waiting: AtomicUsize::new(0),
    })
    .start_thread()
}

impl Asked {
    fn start_thread(self: Arc<Asked>) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("control".to_owned());
        let asked = self.clone();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let started = thread.spawn(move || asked.serve());
        if started.is_err() {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        started.map(drop)
    }

    /// Serves one client after the other; meanwhile another thread waits for the next client. Most clients pass a batch, which takes
    /// less time than the start of a thread.
    fn serve(self: Arc<Asked>) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.waiting.fetch_sub(1, Ordering::SeqCst) > 1 {
                        self.take(stream);
                    } else {
                        match self.clone().start_thread() {
                            Ok(()) => self.take(stream),
                            // This thread serves nobody, so that it can accept the next client.
                            Err(error) => warn(&format!("cannot accept a client: {error}")),
                        }
                    }
                    let more = |waiting| (waiting < WAITING_MAX).then_some(waiting + 1);
                    if self
                        .waiting
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
                        .is_err()
                    {
                        return;
                    }
                }
                Err(error) => {
                    warn(&format!("cannot accept a client: {error}"));
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn take(&self, stream: UnixStream) {
        let clients = self.clients.fetch_add(1, Ordering::SeqCst);
        if clients < CLIENTS_MAX + CLIENTS_MORE
            && let Err(error) = self.answer(stream, clients >= CLIENTS_MAX)
        {
            warn(&format!("a client of {}: {error}", control_socket::SOCKET));
        }
        self.clients.fetch_sub(1, Ordering::SeqCst);
    }

    /// Tells a command that feeds whether it may go on, until it ends or may not.
    fn tell_permit(&self, mut client: Client) {
        while let Some(feeds) = self.writer.cluster_feeds() {
            let is_here = feeds.is_here;
            client.say(&Answer::Permit(feeds));
            if !is_here || self.writer.is_stopping() || control_socket::is_over(&client.stream) {
                return;
            }
            std::thread::sleep(TELL_PERMIT_EVERY);
        }
    }

    /// `is_full`: there are so many clients that only short requests are served.
    fn answer(&self, stream: UnixStream, is_full: bool) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(&stream)?;
        if peer.uid != rustix::process::geteuid() && !peer.uid.is_root() {
            return Err(io::Error::other(format!(
                "user {} is not the owner of the news directory; refused",
                peer.uid.as_raw()
            )));
        }
        let mut client = Client::new(stream)?;
        let Some((line, file)) = receive(&client.stream)? else {
            return Ok(());
        };
        let request = Request::parse(&line);
        if is_full
            && !matches!(
                request,
                Some(
                    Request::Status
                        | Request::Connections
                        | Request::Close(_)
                        | Request::Feeds(_)
                        | Request::Pause(_)
                        | Request::Stop
                )
            )
        {
            // The client works without the daemon, or retries.
            return Ok(());
        }
        match (request, file) {
            (Some(Request::File(request)), Some(file)) => {
                let metadata = File::metadata(&file)?;
                if !metadata.is_file() {
                    // A FIFO or terminal could block the writer.
                    return Err(io::Error::other("only regular files are accepted"));
                }
                self.writer.put(Job::File {
                    request,
                    file: Arc::new(file),
                    client,
                });
            }
            (Some(Request::Lend), _) => self.writer.put(Job::Lend(client.into_stream()?)),
            (Some(Request::Reload), _) => self.writer.put(Job::Reload(Some(client))),
            (Some(Request::Feeds(name)), _) => {
                self.writer.look_at_feeds(name.as_deref());
                client.say(&Answer::Done(OK));
            }
            (Some(Request::Status), _) => client.say(&Answer::Status(Box::new(RunningDaemon {
                pid: std::process::id(),
                state: self.writer.state().word().to_owned(),
                since: self.since,
                status: self.writer.watched(),
            }))),
            (Some(Request::Permit), _) => self.tell_permit(client),
            (Some(Request::Figures), _) => {
                self.writer.record_figures();
                client.say(&Answer::Done(OK));
            }
            (Some(Request::Mail), _) => {
                self.writer.send_mail();
                client.say(&Answer::Done(OK));
            }
            (Some(Request::Connections), _) => {
                let (connections, is_whole) = self.writer.connections(NETWORK_PATIENCE);
                for connection in connections {
                    client.say(&Answer::Connection(Box::new(connection)));
                }
                client.say(&unanswered(is_whole));
            }
            (Some(Request::Close(numbers)), _) => {
                let (closed, is_whole) = self.writer.close_connections(&numbers, NETWORK_PATIENCE);
                if !closed.is_empty() {
                    let closed: Vec<String> = closed.iter().map(u64::to_string).collect();
                    say(&format!(
                        "an administrator closed connection {}",
                        closed.join(", ")
                    ));
                }
                client.say(&Answer::Closed(closed));
                client.say(&unanswered(is_whole));
            }
            (Some(Request::Pause(why)), _) => {
                self.writer.intake_queue.pause(why.as_deref());
                client.say(&Answer::Done(OK));
            }
            (Some(Request::Stop), _) => {
                let _ = self.events.send(Event::Stop);
                // The connection ends with the process, which is the reply.
                let mut stream = client.into_stream()?;
                let _ = io::copy(&mut stream, &mut io::sink());
            }
            (Some(Request::File(_)) | None, _) => {
                client.say(&Answer::Message("unknown request".to_owned()));
                client.say(&Answer::Done(ATTENTION));
            }
        }
        Ok(())
    }
}

/// The last line of a reply that network threads gave, or not all of them.
fn unanswered(is_whole: bool) -> Answer {
    Answer::Done(if is_whole { OK } else { ATTENTION })
}

/// Reads a line without its end, and the descriptor sent with it. Returns `None` if the client has closed the connection.
fn receive(stream: &UnixStream) -> io::Result<Option<(Vec<u8>, Option<File>)>> {
    let mut line = Vec::new();
    let mut file = None;
    let mut piece = [0; 4096];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            stream,
            &mut [IoSliceMut::new(&mut piece)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let got = match received {
            // A signal interrupts a socket with a time limit whatever its handler says (signal(7)).
            Err(Errno::INTR) => continue,
            received => received?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                file = descriptors.last().map(OwnedFd::into).or(file);
            }
        }
        line.extend_from_slice(piece.get(..got.bytes).unwrap_or_default());
        if let Some(line) = line.strip_suffix(b"\n") {
            return Ok(Some((line.to_vec(), file)));
        }
        if got.bytes == 0 {
            return Ok(None);
        }
        if line.len() > REQUEST_BYTES_MAX {
            return Err(io::Error::other("the request is too long"));
        }
    }
}

#[cfg(test)]
mod tests {
    // A signal for one thread.
    #![allow(unsafe_code)]

    use super::*;
    use std::io::Write;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    use signal_hook::consts::SIGUSR2;

    /// Sends a signal to a thread as soon as it waits in the kernel; false if the thread has ended.
    fn interrupt(thread: i32) -> bool {
        loop {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
            let Ok(stat) = stat else {
                return false;
            };
            let state = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next());
            if state == Some('S') {
                break;
            }
            std::thread::yield_now();
        }
        let own = std::process::id().cast_signed();
        // SAFETY: It has numbers only.
        unsafe { libc::syscall(libc::SYS_tgkill, own, thread, SIGUSR2) == 0 }
    }

    #[test]
    fn a_signal_ends_no_client() {
        let handled = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR2, handled.clone()).unwrap();
        let (mut client, daemon) = UnixStream::pair().unwrap();
        let (tell, told) = channel();
        let serving = std::thread::spawn(move || {
            let own = std::fs::read_link("/proc/thread-self").unwrap();
            let own = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let client = Client::new(daemon).unwrap();
            tell.send(own).unwrap();
            receive(&client.stream)
        });
        let thread: i32 = told.recv().unwrap();
        for piece in [&b"sta"[..], b"t", b"us\n"] {
            handled.store(false, Ordering::SeqCst);
            if !interrupt(thread) {
                break;
            }
            while !handled.load(Ordering::SeqCst) && !serving.is_finished() {
                std::thread::yield_now();
            }
            if client.write_all(piece).is_err() {
                break;
            }
        }
        let (line, _) = serving.join().unwrap().unwrap().unwrap();
        assert_eq!(line, b"status");
    }
}
