//! Accepts and closes connections.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use access::{ClientIdentity, Limits, Rights};
use nntp::Session;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::SocketFlags;

use crate::client::{Client, TOO_MANY};
use crate::connection::{Connection, IoContext, NO_ACCESS};
use crate::counts::{Counter, PeerCounts};
use crate::event::Event;
use crate::plan::ConfigSnapshot;
use crate::socket::canonical;
use crate::token::Token;
use layers::tls::Tls;

use super::{ConnectionSlot, Network, RETRY_MILLISECONDS, flags, seconds, ticks, watch};

/// Connections accepted in a row, before others are served.
const ACCEPTS: usize = 64;

/// The refusal of a connection.
struct Refusal {
    /// The reply to a client without TLS.
    reply: Cow<'static, [u8]>,
    /// The reason, for the log.
    why: &'static str,
}

impl Network {
    pub(super) fn accept(&mut self, listener: usize, ticks: u64) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(listener) else {
                return;
            };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match rustix::net::acceptfrom_with(&listener.socket, flags) {
                Ok((socket, address)) => {
                    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
                    let is_tls = listener.is_tls;
                    self.admit(socket, address.map(canonical), is_tls, ticks);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    // Retried later: otherwise this thread would spin.
                    for listener in self.listeners.iter() {
                        let _ = epoll::delete(&self.epoll, &listener.socket);
                    }
                    self.listeners_paused_until = Some(ticks + RETRY_MILLISECONDS);
                    return;
                }
                // An error of this connection, which is gone.
                Err(_) => {}
            }
        }
    }

    pub(super) fn admit(
        &mut self,
        socket: OwnedFd,
        address: Option<SocketAddr>,
        is_tls: bool,
        ticks: u64,
    ) {
        let shared = self.shared.clone();
        let number = shared.counts.connected.next();
        let config = shared.config();
        let identity = ClientIdentity {
            address: address.map(|address| address.ip()),
            user: None,
            certificate: None,
            is_secure: false,
        };
        let rights = config.access.rights(&identity);
        if let Some(refusal) = self.refusal(&rights, is_tls) {
            return self.refuse(&socket, address, is_tls, &refusal);
        }
        let tls = match (is_tls, shared.tls()) {
            (false, _) => None,
            (true, Some(config)) => match Tls::new(&config) {
                Ok(tls) => Some(Box::new(tls)),
                Err(_) => return,
            },
            (true, None) => return,
        };
        let peer = shared.counts.peer(rights.name());
        if let Err(refusal) = self.reserve_place(address, rights.limits(), &peer, &config) {
            return self.refuse(&socket, address, is_tls, &refusal);
        }
        peer.connected.increment();
        // For programs that check passwords.
        let local = rustix::net::getsockname(&socket).ok();
        let local = local.and_then(|local| SocketAddr::try_from(local).ok());
        let token = self.new_token();
        let addresses = (address, local.map(canonical));
        let mut client = Client::new(token, number, addresses, rights, peer, ticks);
        client.set_rate_limits();
        let capabilities = shared.capabilities_for(&client.rights);
        let session = Session::new(capabilities, client.permissions(), false);
        let mut connection = Box::new(Connection::new(socket, session, client, tls, ticks));
        let data = flags(connection.registered);
        if watch(
            &self.epoll,
            connection.socket(),
            token.number(),
            data,
            false,
        )
        .is_err()
        {
            return self.end(connection);
        }
        let until = self.slice_end();
        let context = context!(self, ticks, until);
        let done = if is_tls {
            Ok(())
        } else {
            connection.greet();
            connection.send(&context)
        };
        let first = u64::try_from(config.times.first.as_millis()).unwrap_or(u64::MAX / 2);
        self.timers.add(ticks + first, token);
        self.put(connection, done);
    }

    /// The refusal of a client without permissions, or of all clients of a node that is behind.
    fn refusal(&self, rights: &Rights, is_tls: bool) -> Option<Refusal> {
        if !is_tls && rights.is_nothing() && !rights.could_log_in() {
            return Some(Refusal {
                reply: NO_ACCESS.into(),
                why: "no permission",
            });
        }
        self.shared.sink.is_stale().then(|| Refusal {
            reply: b"400 This server lacks the newest articles; use another one, or try again later\r\n".into(),
            why: "this node is too far behind its cluster, or has stopped",
        })
    }

    /// Counts the connection for its address, for the server and for its access entry, if all three have room.
    fn reserve_place(
        &self,
        address: Option<SocketAddr>,
        limits: &Limits,
        peer: &PeerCounts,
        config: &ConfigSnapshot,
    ) -> Result<(), Refusal> {
        let shared = &self.shared;
        let most = limits.connections_per_address_max;
        let most = most.map_or(config.connections_per_address_max, |most| most as usize);
        if address.is_some_and(|address| !shared.enter(address.ip(), most)) {
            return Err(Refusal {
                reply: b"400 Too many connections from your address\r\n".into(),
                why: "too many connections from this address",
            });
        }
        let all = &shared.counts.connections;
        let is_room = all.increment_below(config.connections_max as u64);
        let most = limits.connections_max.map_or(u64::MAX, u64::from);
        if !is_room || !peer.connections.increment_below(most) {
            if is_room {
                all.decrement();
            }
            self.forget_address(address);
            return Err(Refusal {
                reply: format!("400 {TOO_MANY}\r\n").into_bytes().into(),
                why: "too many connections",
            });
        }
        Ok(())
    }

    fn refuse(
        &self,
        socket: &OwnedFd,
        address: Option<SocketAddr>,
        is_tls: bool,
        refusal: &Refusal,
    ) {
        self.shared.counts.rejected.increment();
        let why = refusal.why;
        self.shared.sink.log(&Event::Rejected { address, why });
        if !is_tls {
            let _ = rustix::io::write(socket, &refusal.reply);
        }
    }

    pub(super) fn forget_address(&self, address: Option<SocketAddr>) {
        if let Some(address) = address {
            self.shared.leave(address.ip());
        }
    }

    pub(super) fn new_token(&mut self) -> Token {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(ConnectionSlot::default());
                (self.slots.len() - 1) as u32
            }
        };
        let generation = match self.slots.get_mut(slot as usize) {
            Some(slot) => {
                slot.generation = slot.generation.wrapping_add(1);
                slot.generation
            }
            None => 0,
        };
        Token::new(self.number, slot, generation)
    }

    /// Ends a connection. Closing the socket removes it from epoll.
    pub(super) fn end(&mut self, mut connection: Box<Connection>) {
        connection.release_input(&self.shared);
        connection.count_reader(&mut self.store.readers, true);
        let client = &mut connection.client;
        if client.has_reservations {
            self.shared.reservations.release_all(client.token);
        }
        self.shared.counts.connections.decrement();
        client.leave(&self.shared.counts);
        // A peer that offered nothing is logged no more than a reader.
        if client.tally.read(Counter::Offered) > 0 {
            self.shared.sink.log(&Event::PeerLeft {
                address: client.address,
                entry: client.rights.name(),
                lasted: Duration::from_millis(ticks().saturating_sub(client.since)),
                tally: &client.tally,
            });
        }
        self.forget_address(client.address);
        self.is_stopping |= self.is_single;
        self.has_cut_article = self.is_single && connection.session.is_receiving();
        self.free.push(client.token.slot() as u32);
    }

    pub(super) fn end_all(&mut self) {
        let all: Vec<Token> = self.tokens().collect();
        let ticks = ticks();
        for token in all {
            if let Some(mut connection) = self.take(token) {
                connection.close_after(b"400 Server is shutting down\r\n");
                let until = self.slice_end();
                let context = context!(self, ticks, until);
                let _ = connection.send(&context);
                self.end(connection);
            }
        }
    }
}
