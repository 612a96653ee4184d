//! A proxy between two programs that a test can cut, or silence, and heal.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Where the link leads; `None` while it is cut.
#[derive(Default)]
struct Way {
    to: Option<String>,
    /// Bytes towards the near side after which a connection ends.
    bytes_max: Option<usize>,
    streams: Vec<TcpStream>,
    /// Nothing passes, and nobody is told so.
    is_silent: bool,
}

/// The way, and the news that it is silent no more.
#[derive(Default)]
struct Switch {
    way: Mutex<Way>,
    is_heard: Condvar,
}

impl Switch {
    /// The way, as soon as it is not silent.
    fn when_heard(&self) -> MutexGuard<'_, Way> {
        let way = self.way.lock().unwrap();
        self.is_heard.wait_while(way, |way| way.is_silent).unwrap()
    }
}

/// A link. Its threads end with the test program.
pub struct Link {
    pub address: String,
    switch: Arc<Switch>,
}

impl Link {
    /// A link that is cut; its address stays the same.
    pub fn start() -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let switch: Arc<Switch> = Arc::default();
        let accepting = switch.clone();
        std::thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                // While it is cut, a connection ends at once.
                let _ = connect(near, &accepting);
            }
        });
        Link { address, switch }
    }

    pub fn port(&self) -> u16 {
        let (_, port) = self.address.rsplit_once(':').unwrap();
        port.parse().unwrap()
    }

    /// New connections go to `to`.
    pub fn heal(&self, to: &str) {
        self.lead(to, None);
    }

    /// As [`Link::heal`]; each connection ends after so many bytes towards the near side.
    pub fn heal_for(&self, to: &str, bytes_max: usize) {
        self.lead(to, Some(bytes_max));
    }

    fn lead(&self, to: &str, bytes_max: Option<usize>) {
        let mut way = self.switch.way.lock().unwrap();
        way.to = Some(to.to_owned());
        way.bytes_max = bytes_max;
    }

    /// From now on nothing passes, as in a network that has lost its way: the bytes wait, also those of new connections.
    pub fn silence(&self) {
        self.switch.way.lock().unwrap().is_silent = true;
    }

    /// Ends the silence; what waited passes.
    pub fn end_silence(&self) {
        self.switch.way.lock().unwrap().is_silent = false;
        self.switch.is_heard.notify_all();
    }

    /// Ends all connections, in the middle of whatever they carry.
    pub fn cut(&self) {
        let mut way = self.switch.way.lock().unwrap();
        way.to = None;
        for stream in way.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn connect(near: TcpStream, switch: &Arc<Switch>) -> std::io::Result<()> {
    let mut way = switch.when_heard();
    let Some(to) = &way.to else {
        return Ok(());
    };
    let far = TcpStream::connect(to)?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let bytes_max = way.bytes_max.unwrap_or(usize::MAX);
    for (from, to, bytes_max) in [
        (near.try_clone()?, far.try_clone()?, usize::MAX),
        (far.try_clone()?, near.try_clone()?, bytes_max),
    ] {
        let switch = switch.clone();
        std::thread::spawn(move || carry(from, to, bytes_max, &switch));
    }
    // Connections that have ended are forgotten.
    way.streams.retain(|stream| stream.peer_addr().is_ok());
    way.streams.extend([near, far]);
    Ok(())
}

fn carry(mut from: TcpStream, mut to: TcpStream, mut left: usize, switch: &Switch) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        drop(switch.when_heard());
        let part = bytes.get(..count.min(left)).unwrap_or_default();
        if to.write_all(part).is_err() {
            break;
        }
        left -= part.len();
        if left == 0 {
            break;
        }
    }
    drop(switch.when_heard());
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
