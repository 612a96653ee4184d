//! TLS (RFC 4642, RFC 8143), driven by bytes: both sides.
//!
//! Records are decrypted in place in the receive buffer. Between two calls it holds only the start of an incomplete record and unsent
//! handshake messages: an idle connection takes 3.3 KB (`examples/tls_speed.rs` measures it).
//!
//! *Invariant*: rustls remembers offsets in its input. Each call of `Side::process` gets the bytes of the last call without the
//! discarded ones, or it would panic; `collect` documents the one exception.

use std::ops::DerefMut;
use std::sync::Arc;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedConnectionCommon, UnbufferedStatus,
};
use rustls::{ClientConfig, ProtocolVersion, ServerConfig};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::certificate::Facts;

/// Largest content of a record, bytes (RFC 8446, 5.1).
const RECORD_BYTES: usize = 1 << 14;
/// Length of a record header (type, version, length), bytes (RFC 8446, 5.1).
const RECORD_HEADER_BYTES: usize = 5;
/// Largest overhead of a record (header, nonce, tag, content type), bytes, rounded up.
const RECORD_OVERHEAD_BYTES: usize = 64;
/// Largest incomplete input, bytes: a record, or the records of one handshake message (a chain of certificates). rustls accepts
/// handshake messages up to 64 KB.
const KEPT_BYTES_MAX: usize = 96 << 10;
/// Largest encrypted content of a record, bytes (RFC 5246, 6.2.3).
const WRAPPED_BYTES_MAX: usize = RECORD_BYTES + 2048;
/// Largest incomplete input of a server before its first handshake reply, bytes: one record. A ClientHello usually has some hundred
/// bytes.
pub const HELLO_BYTES_MAX: usize = RECORD_BYTES + RECORD_HEADER_BYTES;

/// The connection has to end.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The other side violated the protocol, has no version or cipher in common with us, or is not trusted. `pending` has the alert.
    #[error("TLS: {0}")]
    Protocol(#[from] rustls::Error),
    /// Data cannot be sent before the end of the handshake.
    #[error("TLS: the handshake is incomplete")]
    Handshaking,
    /// The connection is closed, by the other side or after an error.
    #[error("TLS: the connection is closed")]
    Closed,
    /// A handshake message exceeds the limit.
    #[error("TLS: a handshake message is too long")]
    TooLong,
    /// The key has reached its limit (TLS 1.2 only, after some hundred gigabytes).
    #[error("TLS: the session's key is used up; a new connection is necessary")]
    UsedUp,
}

/// Result of [`Tls::feed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fed {
    /// Appended decrypted bytes.
    pub plain_bytes: usize,
    /// The other side sent close_notify. End of input without it means a truncated connection, perhaps by an attacker (RFC 8446, 6.1).
    pub is_closed: bool,
}

/// A connection of rustls: the server's side or the client's. The two have the same methods, but no trait.
pub trait Side: DerefMut<Target = UnbufferedConnectionCommon<Self::Data>> {
    /// The state that rustls keeps for this side.
    type Data;

    /// Processes records until there is something to do.
    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8])
    -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Side for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        records: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

impl Side for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        records: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

/// One side of a TLS connection, usually the server's.
pub struct Tls<S: Side = UnbufferedServerConnection> {
    connection: S,
    /// Incomplete records.
    kept: Vec<u8>,
    /// Unsent handshake messages and alerts.
    answers: Vec<u8>,
    is_closed: bool,
    is_broken: bool,
    /// The first handshake message was sent.
    is_answered: bool,
}

impl Tls {
    /// The server's side of a connection, which waits for the ClientHello.
    ///
    /// # Errors
    /// The configuration is invalid; ours is valid.
    pub fn new(config: &Arc<ServerConfig>) -> Result<Self, TlsError> {
        let connection = UnbufferedServerConnection::new(Arc::clone(config))?;
        Ok(Tls::of(connection))
    }
}

impl Tls<UnbufferedClientConnection> {
    /// The client's side of a connection to the server of this name; `pending` has the ClientHello.
    ///
    /// # Errors
    /// The configuration is invalid; that of [`crate::ClientTrust`] is valid.
    pub fn client(
        config: &Arc<ClientConfig>,
        server: ServerName<'static>,
    ) -> Result<Self, TlsError> {
        let connection = UnbufferedClientConnection::new(Arc::clone(config), server)?;
        let mut tls = Tls::of(connection);
        tls.process(&mut [], &mut Vec::new())?;
        Ok(tls)
    }
}

impl<S: Side> Tls<S> {
    fn of(connection: S) -> Self {
        Tls {
            connection,
            kept: Vec::new(),
            answers: Vec::new(),
            is_closed: false,
            is_broken: false,
            is_answered: false,
        }
    }

    /// Decrypts all of `cipher`, received from the socket, and appends it to `plain`: at most the bytes of `cipher` and one record. It
    /// overwrites `cipher`. `pending` may have something to send afterwards.
    ///
    /// # Errors
    /// The connection has to end after the output of `pending` is sent. The bytes appended before the error are authentic.
    pub fn feed(&mut self, cipher: &mut [u8], plain: &mut Vec<u8>) -> Result<Fed, TlsError> {
        if self.is_broken {
            return Err(TlsError::Closed);
        }
        let before = plain.len();
        match self.take(cipher, plain) {
            Ok(()) => Ok(Fed {
                plain_bytes: plain.len() - before,
                is_closed: self.is_closed,
            }),
            Err(fault) => {
                self.is_broken = true;
                self.kept = Vec::new();
                self.collect();
                Err(fault)
            }
        }
    }

    /// Encrypts all of `plain` in records of 16 KB and appends them to `cipher`, after the output of `pending`.
    ///
    /// # Errors
    /// The handshake is incomplete, or the connection is closed.
    pub fn seal(&mut self, plain: &[u8], cipher: &mut Vec<u8>) -> Result<(), TlsError> {
        self.pending(cipher);
        if self.is_broken {
            return Err(TlsError::Closed);
        }
        let mut writer = match self.connection.process(&mut self.kept).state {
            Ok(ConnectionState::WriteTraffic(writer)) => writer,
            Ok(ConnectionState::BlockedHandshake) => return Err(TlsError::Handshaking),
            Ok(_) => return Err(TlsError::Closed),
            Err(error) => {
                self.is_broken = true;
                return Err(error.into());
            }
        };
        let start = cipher.len();
        let records = plain.len() / RECORD_BYTES + 2;
        let mut room = plain.len() + records * RECORD_OVERHEAD_BYTES;
        loop {
            cipher.resize(start.saturating_add(room), 0);
            let sealed = writer.encrypt(plain, cipher.get_mut(start..).unwrap_or_default());
            match sealed {
                Ok(written) => {
                    cipher.truncate(start + written);
                    return Ok(());
                }
                // The room is too small only if much else is queued.
                Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size }))
                    if required_size > room =>
                {
                    room = required_size;
                }
                Err(_) => {
                    cipher.truncate(start);
                    return Err(TlsError::UsedUp);
                }
            }
        }
    }

    /// Appends unsent handshake messages and alerts.
    pub fn pending(&mut self, cipher: &mut Vec<u8>) {
        if !self.answers.is_empty() {
            cipher.extend_from_slice(&self.answers);
            self.answers = Vec::new();
        }
    }

    /// Appends close_notify; nothing before the end of the handshake.
    pub fn close(&mut self, cipher: &mut Vec<u8>) {
        if !self.is_broken {
            if let Ok(ConnectionState::WriteTraffic(mut writer)) =
                self.connection.process(&mut self.kept).state
            {
                // Without room it is queued, and taken out below in order.
                let _ = writer.queue_close_notify(&mut []);
            }
            self.collect();
            self.is_broken = true;
        }
        self.pending(cipher);
    }

    /// True before the end of the handshake: `seal` fails.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The other side sent close_notify: the input is not truncated.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// SHA-256 of the other side's certificate, if it sent one and the handshake is complete: then it has the private key.
    #[must_use]
    pub fn certificate(&self) -> Option<[u8; 32]> {
        if self.is_handshaking() {
            return None;
        }
        let own = self.connection.peer_certificates()?.first()?;
        Some(Sha256::digest(own).into())
    }

    /// Facts of the other side's certificate, under the same conditions.
    #[must_use]
    pub fn certificate_facts(&self) -> Option<Facts> {
        if self.is_handshaking() {
            return None;
        }
        let own = self.connection.peer_certificates()?.first()?;
        Some(Facts::of(own))
    }

    /// Version and cipher suite for a log, as `TLSv1.3 TLS13_AES_128_GCM_SHA256`; empty before they are negotiated.
    #[must_use]
    pub fn description(&self) -> String {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => return String::new(),
        };
        match self.connection.negotiated_cipher_suite() {
            Some(suite) => format!("{version} {:?}", suite.suite()),
            None => version.to_owned(),
        }
    }

    /// The protocol negotiated by ALPN (RFC 7301): `nntp`, `nnsp` or none. For tests.
    #[must_use]
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// Memory of incomplete records, bytes.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept.capacity()
    }

    /// Completes the kept records one by one, then processes the caller's buffer in place.
    fn take(&mut self, mut cipher: &mut [u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        while !self.kept.is_empty() && !cipher.is_empty() && !self.is_closed {
            let wanted = missing(&self.kept).min(cipher.len());
            let (next, rest) = std::mem::take(&mut cipher).split_at_mut(wanted);
            self.kept.extend_from_slice(next);
            cipher = rest;
            if record_bytes(&self.kept).is_some_and(|bytes| bytes > WRAPPED_BYTES_MAX)
                || self.kept.len() > self.kept_max()
            {
                return Err(TlsError::TooLong);
            }
            if missing(&self.kept) == usize::MAX {
                let mut kept = std::mem::take(&mut self.kept);
                let used = self.process(&mut kept, plain)?;
                self.keep(kept.get(used..).unwrap_or_default())?;
            }
        }
        if !self.is_closed && !cipher.is_empty() {
            let used = self.process(cipher, plain)?;
            self.keep(cipher.get(used..).unwrap_or_default())?;
        }
        if self.is_closed {
            // Data after close_notify is ignored (RFC 8446, 6.1).
            self.kept = Vec::new();
        }
        Ok(())
    }

    fn kept_max(&self) -> usize {
        if self.is_answered {
            KEPT_BYTES_MAX
        } else {
            HELLO_BYTES_MAX
        }
    }

    fn keep(&mut self, rest: &[u8]) -> Result<(), TlsError> {
        if rest.len() > self.kept_max() {
            return Err(TlsError::TooLong);
        }
        // An empty vector frees the memory: most connections are idle.
        self.kept = rest.to_vec();
        Ok(())
    }

    /// Takes the last messages, such as an alert. While there is one, rustls does not read the records; otherwise it would need the same
    /// buffer as before, and panic without.
    fn collect(&mut self) {
        while self.connection.wants_write() {
            match self.connection.process(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    encode(&mut message, &mut self.answers);
                }
                _ => return,
            }
        }
    }

    /// Processes the complete records of `records`, and returns the number of consumed bytes.
    fn process(&mut self, records: &mut [u8], plain: &mut Vec<u8>) -> Result<usize, rustls::Error> {
        let mut used = 0;
        loop {
            let rest = records.get_mut(used..).unwrap_or_default();
            let UnbufferedStatus { mut discard, state } = self.connection.process(rest);
            let is_over = match state? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                    false
                }
                ConnectionState::EncodeTlsData(mut message) => {
                    encode(&mut message, &mut self.answers);
                    self.is_answered = true;
                    false
                }
                ConnectionState::TransmitTlsData(sent) => {
                    sent.done();
                    false
                }
                ConnectionState::PeerClosed => {
                    self.is_closed = true;
                    false
                }
                // More input is needed. (Early data is never allowed.)
                _ => true,
            };
            used += discard;
            if is_over {
                return Ok(used);
            }
        }
    }
}

/// Bytes missing to complete the first record, or its header; `usize::MAX` if it is complete.
fn missing(kept: &[u8]) -> usize {
    let Some(bytes) = record_bytes(kept) else {
        return RECORD_HEADER_BYTES - kept.len();
    };
    let whole = RECORD_HEADER_BYTES + bytes;
    match whole.checked_sub(kept.len()) {
        Some(0) | None => usize::MAX,
        Some(missing) => missing,
    }
}

/// Content length in the first record's header, if the header is complete.
fn record_bytes(kept: &[u8]) -> Option<usize> {
    let &[_, _, _, high, low] = kept.first_chunk::<RECORD_HEADER_BYTES>()?;
    Some(usize::from(u16::from_be_bytes([high, low])))
}

fn encode<Data>(message: &mut EncodeTlsData<'_, Data>, out: &mut Vec<u8>) {
    let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
        message.encode(&mut [])
    else {
        return;
    };
    let start = out.len();
    out.resize(start.saturating_add(required_size), 0);
    let written = message
        .encode(out.get_mut(start..).unwrap_or_default())
        .unwrap_or(0);
    out.truncate(start + written);
}
