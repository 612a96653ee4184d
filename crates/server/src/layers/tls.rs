//! TLS (RFC 4642, RFC 8143), driven by bytes.
//!
//! Records are decrypted where they lie in the receive buffer. Nothing is held between two calls but the beginning of a
//! record that is not whole yet, and answers of the handshake that were not fetched: an idle connection takes 3.3 KB
//! (`examples/tls_speed.rs` measures).
//!
//! *Invariant*: rustls remembers places in what it was given. Each call of `process_tls_records` gets the bytes of the
//! last one without those that it discarded, or it would panic; `collect` tells of the one exception.

use std::sync::Arc;

use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedStatus,
};
use rustls::{ProtocolVersion, ServerConfig};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Content of one record (RFC 8446, 5.1).
const RECORD_BYTES: usize = 1 << 14;
/// Type, version and length (RFC 8446, 5.1).
const RECORD_HEADER_BYTES: usize = 5;
/// What a record adds to its content at most: header, nonce, tag, content type, rounded up.
const RECORD_OVERHEAD_BYTES: usize = 64;
/// Bytes of records held for later: one that is not whole, or those of a handshake message over several (a chain of
/// client certificates). rustls takes no handshake message of more than 64 KB.
const KEPT_BYTES_MAX: usize = 96 << 10;
/// Largest content of a record with what it is wrapped in (RFC 5246, 6.2.3).
const WRAPPED_BYTES_MAX: usize = RECORD_BYTES + 2048;
/// Bytes of records held before the client has said enough to be answered: its first message, which has some hundred bytes as a rule,
/// in one record.
pub const HELLO_BYTES_MAX: usize = RECORD_BYTES + RECORD_HEADER_BYTES;

/// Why a connection must end.
#[derive(Debug, Error)]
pub enum Fault {
    /// The client broke the protocol, or has nothing in common with us. What `pending` gives tells it so.
    #[error("TLS: {0}")]
    Protocol(#[from] rustls::Error),
    /// Something was to be sent before the handshake was over.
    #[error("TLS: the handshake is not over")]
    Handshaking,
    /// The connection is over; it said so, or a fault was told before.
    #[error("TLS: the connection is closed")]
    Closed,
    /// Records without an end to their message.
    #[error("TLS: a handshake message is too long")]
    TooLong,
    /// One key has encrypted all that it may (TLS 1.2 only, after some hundred gigabytes).
    #[error("TLS: the session's key is used up; the client has to connect again")]
    UsedUp,
}

/// What came of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fed {
    /// So many decrypted bytes were appended.
    pub plain_bytes: usize,
    /// The client said that nothing more follows (close_notify). End of input without this means that the
    /// connection was cut, by a broken line or by somebody between (RFC 8446, 6.1).
    pub is_closed: bool,
}

/// The server's side of one TLS connection.
pub struct Tls {
    connection: UnbufferedServerConnection,
    /// Records that are not whole yet.
    kept: Vec<u8>,
    /// Handshake messages and alerts to be sent.
    answers: Vec<u8>,
    is_closed: bool,
    is_broken: bool,
    /// The client's first message was answered.
    is_answered: bool,
}

impl Tls {
    /// A connection that waits for the client's first message.
    ///
    /// # Errors
    /// The configuration is not usable; ours is.
    pub fn new(config: &Arc<ServerConfig>) -> Result<Self, Fault> {
        Ok(Tls {
            connection: UnbufferedServerConnection::new(Arc::clone(config))?,
            kept: Vec::new(),
            answers: Vec::new(),
            is_closed: false,
            is_broken: false,
            is_answered: false,
        })
    }

    /// Takes all of `cipher`, which came from the socket, and appends what it says to `plain`: never more bytes than
    /// `cipher` has and one record. `cipher` holds nothing of use afterwards. `pending` may have something to send.
    ///
    /// # Errors
    /// The connection must end, after what `pending` gives was sent. What `plain` got before the fault is genuine.
    pub fn feed(&mut self, cipher: &mut [u8], plain: &mut Vec<u8>) -> Result<Fed, Fault> {
        if self.is_broken {
            return Err(Fault::Closed);
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

    /// Encrypts all of `plain` in records of 16 KB and appends them to `cipher`, after what `pending` would give.
    ///
    /// # Errors
    /// The handshake is not over, or the connection is.
    pub fn seal(&mut self, plain: &[u8], cipher: &mut Vec<u8>) -> Result<(), Fault> {
        self.pending(cipher);
        if self.is_broken {
            return Err(Fault::Closed);
        }
        let mut writer = match self.connection.process_tls_records(&mut self.kept).state {
            Ok(ConnectionState::WriteTraffic(writer)) => writer,
            Ok(ConnectionState::BlockedHandshake) => return Err(Fault::Handshaking),
            Ok(_) => return Err(Fault::Closed),
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
                // The room above was enough, unless much else is queued.
                Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size }))
                    if required_size > room =>
                {
                    room = required_size;
                }
                Err(_) => {
                    cipher.truncate(start);
                    return Err(Fault::UsedUp);
                }
            }
        }
    }

    /// Appends what the handshake wants to send, and alerts.
    pub fn pending(&mut self, cipher: &mut Vec<u8>) {
        if !self.answers.is_empty() {
            cipher.extend_from_slice(&self.answers);
            self.answers = Vec::new();
        }
    }

    /// Says that nothing more follows (close_notify). Before the end of the handshake there is nobody to say it to.
    pub fn close(&mut self, cipher: &mut Vec<u8>) {
        if !self.is_broken {
            if let Ok(ConnectionState::WriteTraffic(mut writer)) =
                self.connection.process_tls_records(&mut self.kept).state
            {
                // No room is given: so it is queued, and comes out below in its turn.
                let _ = writer.queue_close_notify(&mut []);
            }
            self.collect();
            self.is_broken = true;
        }
        self.pending(cipher);
    }

    /// Nothing may be sealed yet.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The client said close_notify: end of input is no cut.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// SHA-256 of the client's own certificate, if it showed one and the handshake is over: then it has the key.
    #[must_use]
    pub fn certificate(&self) -> Option<[u8; 32]> {
        if self.is_handshaking() {
            return None;
        }
        let own = self.connection.peer_certificates()?.first()?;
        Some(Sha256::digest(own).into())
    }

    /// Version and cipher suite for a log, as `TLSv1.3 TLS13_AES_128_GCM_SHA256`; empty before they are agreed.
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

    /// The protocol agreed by ALPN (RFC 7301): `nntp`, `nnsp` or none.
    #[must_use]
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// Bytes of memory for records that are not used up.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept.capacity()
    }

    /// First completes what is kept, record by record, then works in the caller's buffer.
    fn take(&mut self, mut cipher: &mut [u8], plain: &mut Vec<u8>) -> Result<(), Fault> {
        while !self.kept.is_empty() && !cipher.is_empty() && !self.is_closed {
            let wanted = missing(&self.kept).min(cipher.len());
            let (next, rest) = std::mem::take(&mut cipher).split_at_mut(wanted);
            self.kept.extend_from_slice(next);
            cipher = rest;
            if record_bytes(&self.kept).is_some_and(|bytes| bytes > WRAPPED_BYTES_MAX)
                || self.kept.len() > self.kept_max()
            {
                return Err(Fault::TooLong);
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
            // Nothing that follows counts (RFC 8446, 6.1).
            self.kept = Vec::new();
        }
        Ok(())
    }

    fn kept_max(&self) -> usize {
        match self.is_answered {
            true => KEPT_BYTES_MAX,
            false => HELLO_BYTES_MAX,
        }
    }

    fn keep(&mut self, rest: &[u8]) -> Result<(), Fault> {
        if rest.len() > self.kept_max() {
            return Err(Fault::TooLong);
        }
        // Freed when there is nothing: most connections are idle.
        self.kept = rest.to_vec();
        Ok(())
    }

    /// Takes the last messages, an alert among them. While there is one, rustls does not look into the records; else it
    /// would want the very buffer of before, and would panic without.
    fn collect(&mut self) {
        while self.connection.wants_write() {
            match self.connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    encode(&mut message, &mut self.answers);
                }
                _ => return,
            }
        }
    }

    /// Works on whole records of `records`; says how many bytes are used up.
    fn process(&mut self, records: &mut [u8], plain: &mut Vec<u8>) -> Result<usize, rustls::Error> {
        let mut used = 0;
        loop {
            let rest = records.get_mut(used..).unwrap_or_default();
            let UnbufferedStatus { mut discard, state } = self.connection.process_tls_records(rest);
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
                // More has to come. (Early data is never allowed.)
                _ => true,
            };
            used += discard;
            if is_over {
                return Ok(used);
            }
        }
    }
}

/// How many bytes are missing until the first record is whole, or to know its length; `usize::MAX` when it is whole.
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

/// How much the first record says that it holds, where its header is there.
fn record_bytes(kept: &[u8]) -> Option<usize> {
    let &[_, _, _, high, low] = kept.first_chunk::<RECORD_HEADER_BYTES>()?;
    Some(usize::from(u16::from_be_bytes([high, low])))
}

fn encode(
    message: &mut EncodeTlsData<'_, rustls::server::ServerConnectionData>,
    out: &mut Vec<u8>,
) {
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
