//! A proxy that holds every byte back: a peer with a long round trip.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
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

impl Delay {
    /// Connects every client to the port `to`, with half the round trip in each direction.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(to: u16, round_trip: Duration) -> Result<Delay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening")?;
        let port = listener.local_addr()?.port();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // A connection that fails is the end of that connection.
                let _ = connect(client, to, round_trip / 2);
            }
        });
        Ok(Delay { port })
    }
}

fn connect(client: TcpStream, to: u16, delay: Duration) -> Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    for (from, to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        to.set_nodelay(true)?;
        let (sender, receiver) = sync_channel(READS_MAX);
        std::thread::spawn(move || read(from, &sender, delay));
        std::thread::spawn(move || write(to, &receiver));
    }
    Ok(())
}

fn read(mut from: TcpStream, to: &SyncSender<(Instant, Vec<u8>)>, delay: Duration) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = buffer.get(..count).unwrap_or_default().to_vec();
        if to.send((Instant::now() + delay, bytes)).is_err() {
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
