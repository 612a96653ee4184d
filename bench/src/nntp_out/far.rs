//! A proxy that holds every byte back: a peer with a long round trip, perhaps on a line that carries only so much.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Bytes per read.
const READ_BYTES: usize = 256 << 10;

/// Most reads on the way, which bounds the memory: more than one direction carries in half a round trip.
const READS_MAX: usize = 4_096;

/// The proxy; its threads end with the bench.
pub struct Delay {
    pub port: u16,
}

/// One direction of the line, which all connections share.
#[derive(Clone)]
struct Direction {
    delay: Duration,
    /// Bytes a second; `None` for no limit.
    rate: Option<u64>,
    /// When the line has carried what it was given.
    free: Arc<Mutex<Instant>>,
}

impl Direction {
    /// Carries so many bytes, and waits until the line can be given more; returns when they arrive.
    fn carry(&self, bytes: usize) -> Instant {
        let Some(rate) = self.rate else {
            return Instant::now() + self.delay;
        };
        let carried = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let nanos = bytes as u64 * 1_000_000_000 / rate.max(1);
            *free = (*free).max(Instant::now()) + Duration::from_nanos(nanos);
            *free
        };
        std::thread::sleep(carried.saturating_duration_since(Instant::now()));
        carried + self.delay
    }
}

impl Delay {
    /// Connects every client to the port `to`, with half the round trip, and at most `rate` bytes a second, in each direction.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(to: u16, round_trip: Duration, rate: Option<u64>) -> Result<Delay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening")?;
        let port = listener.local_addr()?.port();
        let there = Direction {
            delay: round_trip / 2,
            rate,
            free: Arc::new(Mutex::new(Instant::now())),
        };
        let back = Direction {
            free: Arc::new(Mutex::new(Instant::now())),
            ..there.clone()
        };
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // A connection that fails is the end of that connection.
                let _ = connect(client, to, [&there, &back]);
            }
        });
        Ok(Delay { port })
    }
}

fn connect(client: TcpStream, to: u16, [there, back]: [&Direction; 2]) -> Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    let ways = [
        (client.try_clone()?, server.try_clone()?, there.clone()),
        (server, client, back.clone()),
    ];
    for (from, to, direction) in ways {
        to.set_nodelay(true)?;
        let (sender, receiver) = sync_channel(READS_MAX);
        std::thread::spawn(move || read(from, &sender, &direction));
        std::thread::spawn(move || write(to, &receiver));
    }
    Ok(())
}

fn read(mut from: TcpStream, to: &SyncSender<(Instant, Vec<u8>)>, line: &Direction) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = buffer.get(..count).unwrap_or_default().to_vec();
        if to.send((line.carry(count), bytes)).is_err() {
            return;
        }
    }
}

fn write(mut to: TcpStream, from: &Receiver<(Instant, Vec<u8>)>) {
    while let Ok((due, bytes)) = from.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
