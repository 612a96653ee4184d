//! A proxy between two programs that a test can cut, or silence, and heal.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Where the link leads; `None` while it is cut.
#[derive(Default)]
struct Way {
    to: Option<String>,
    /// Bytes towards the near side after which a connection ends.
    bytes_max: Option<usize>,
    /// Bytes towards the near side after which a bit flips; 0: none does.
    flip_every: usize,
    /// Bytes towards the near side since the last one.
    unflipped: usize,
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

    /// From now on, of so many bytes towards the near side a bit flips; 0: of none.
    pub fn flip_every(&self, bytes: usize) {
        let mut way = self.switch.way.lock().unwrap();
        (way.flip_every, way.unflipped) = (bytes, 0);
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
    for (from, to, is_near) in [
        (near.try_clone()?, far.try_clone()?, false),
        (far.try_clone()?, near.try_clone()?, true),
    ] {
        let switch = switch.clone();
        let bytes_max = if is_near { bytes_max } else { usize::MAX };
        std::thread::spawn(move || carry(from, to, (bytes_max, is_near), &switch));
    }
    // Connections that have ended are forgotten.
    way.streams.retain(|stream| stream.peer_addr().is_ok());
    way.streams.extend([near, far]);
    Ok(())
}

fn carry(
    mut from: TcpStream,
    mut to: TcpStream,
    (mut left, is_near): (usize, bool),
    switch: &Switch,
) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let mut way = switch.when_heard();
        if is_near && way.flip_every > 0 {
            way.unflipped += count;
            // In the middle of large replies, not in the lines of the protocol.
            if way.unflipped >= way.flip_every && count > 1 << 15 {
                way.unflipped = 0;
                bytes[count / 2] ^= 16;
            }
        }
        drop(way);
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
