//! The layers of one outgoing connection.

use rustls::client::UnbufferedClientConnection;
use rustls::{CertificateError, InvalidMessage};
use thiserror::Error;

use crate::certificate::Facts;
use crate::deflate::{Deflate, DeflateError};
use crate::tls::{Tls, TlsError};
use crate::trust::ClientTrust;

/// Most bytes that one call of [`ClientLayers::receive`] decompresses.
pub const PLAIN_BYTES_MAX: usize = 64 << 10;
/// Compression level: the fastest.
const LEVEL: u32 = 1;

/// The connection has to end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LayersError {
    /// The server's certificate is not trusted, in words for the administrator.
    #[error("{0}")]
    Certificate(String),
    /// The server does not speak TLS on this port.
    #[error(
        "the server does not speak TLS here: perhaps it wants STARTTLS (tls = \"starttls\"), or has another port for TLS"
    )]
    NoTls,
    /// The server rejects our handshake.
    #[error("the server refuses TLS with us: {0}")]
    Refused(String),
    /// Any other fault of TLS.
    #[error("{0}")]
    Tls(TlsError),
    /// The compressed stream is damaged.
    #[error("{0}")]
    Deflate(#[from] DeflateError),
    /// The server sent something behind its reply to STARTTLS, before TLS began: perhaps it comes from somebody between.
    #[error(
        "something was sent between the reply to STARTTLS and TLS: perhaps somebody meddles with the connection"
    )]
    Injected,
}

impl From<TlsError> for LayersError {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Protocol(rustls::Error::InvalidCertificate(CertificateError::Other(
                other,
            ))) => LayersError::Certificate(other.0.to_string()),
            TlsError::Protocol(rustls::Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            )) => LayersError::NoTls,
            TlsError::Protocol(rustls::Error::AlertReceived(alert)) => {
                LayersError::Refused(format!("{alert:?}"))
            }
            error => LayersError::Tls(error),
        }
    }
}

/// Result of [`ClientLayers::receive`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Received {
    /// The bound was reached: call again, without input, before the next read.
    pub is_more: bool,
    /// The server ended its side; nothing follows.
    pub is_over: bool,
}

/// TLS and compression of one outgoing connection, each where it began.
///
/// The owner of the socket reads bytes and gives them to `receive`, and writes what `send`, `flush` and `pending` append. As long as
/// [`ClientLayers::is_plain`] holds it may leave all of them out.
#[derive(Default)]
pub struct ClientLayers {
    tls: Option<Box<Tls<UnbufferedClientConnection>>>,
    deflate: Option<Box<Deflate>>,
    /// Received, decrypted and not yet decompressed.
    compressed: Vec<u8>,
    is_over: bool,
}

impl std::fmt::Debug for ClientLayers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientLayers").finish_non_exhaustive()
    }
}

impl ClientLayers {
    /// A connection that begins without layers.
    #[must_use]
    pub fn plain() -> Self {
        ClientLayers::default()
    }

    /// A connection with TLS from its first byte; `pending` has something to send.
    ///
    /// # Errors
    /// No random numbers.
    pub fn implicit(trust: &ClientTrust) -> Result<Self, LayersError> {
        let mut layers = ClientLayers::default();
        layers.begin_tls(trust, &[])?;
        Ok(layers)
    }

    /// Begins TLS, after the reply 382 to STARTTLS; `pending` has something to send. `unread`: the received bytes behind that reply.
    ///
    /// # Errors
    /// There are such bytes (RFC 4642, 2.2.2): they would count as if TLS had protected them.
    pub fn begin_tls(&mut self, trust: &ClientTrust, unread: &[u8]) -> Result<(), LayersError> {
        if !unread.is_empty() {
            return Err(LayersError::Injected);
        }
        let tls = Tls::client(&trust.config, trust.name.clone())?;
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Begins compression, after the reply 206 to COMPRESS. Takes all of `unread`, the received bytes behind that reply: they are compressed
    /// already. Call `receive` without input if there were any.
    pub fn begin_deflate(&mut self, unread: &mut Vec<u8>) {
        self.compressed.append(unread);
        self.deflate = Some(Box::new(Deflate::new(LEVEL)));
    }

    /// True without layers: bytes of the socket are those of the protocol.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.tls.is_none() && self.deflate.is_none()
    }

    /// True until the TLS handshake is complete: `send` fails.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// True if TLS protects what is sent now.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| !tls.is_handshaking())
    }

    /// True if compression has begun.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.deflate.is_some()
    }

    /// TLS version and cipher suite for a log; empty without TLS.
    #[must_use]
    pub fn description(&self) -> String {
        let tls = self.tls.as_ref();
        tls.map(|tls| tls.description()).unwrap_or_default()
    }

    /// Facts of the server's certificate; `None` without TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<Facts> {
        self.tls.as_ref()?.certificate_facts()
    }

    /// Takes all of `raw`, received from the socket, and appends what it holds to `plain`: at most [`PLAIN_BYTES_MAX`] bytes if they were
    /// compressed, otherwise the bytes of `raw` and one record of TLS. It overwrites `raw`. `pending` may have something to send afterwards.
    ///
    /// # Errors
    /// The connection has to end after the output of `pending` is sent. The bytes appended before are valid.
    pub fn receive(
        &mut self,
        raw: &mut [u8],
        plain: &mut Vec<u8>,
    ) -> Result<Received, LayersError> {
        let into = match self.deflate {
            None => &mut *plain,
            Some(_) => &mut self.compressed,
        };
        match &mut self.tls {
            None => into.extend_from_slice(raw),
            Some(tls) => match tls.feed(raw, into) {
                Ok(fed) => self.is_over |= fed.is_closed,
                // The length of a record is text of another protocol.
                Err(TlsError::TooLong) if tls.is_handshaking() => return Err(LayersError::NoTls),
                Err(error) => return Err(error.into()),
            },
        }
        let mut is_more = false;
        if let Some(deflate) = &mut self.deflate {
            let bytes_max = plain.len() + PLAIN_BYTES_MAX;
            let inflated = deflate.inflate(&self.compressed, plain, bytes_max)?;
            self.compressed.drain(..inflated.taken_bytes);
            self.compressed.shrink_to(0);
            is_more = inflated.is_more;
            self.is_over |= inflated.is_over;
        }
        Ok(Received {
            is_more,
            is_over: self.is_over && !is_more,
        })
    }

    /// Appends to `raw` what is to be written to the socket for all of `plain`, after the output of `pending`. With `is_flush` the server
    /// can read everything so far; it belongs to the last call before a write. (Without it, compression may hold bytes back.)
    ///
    /// # Errors
    /// The handshake is incomplete, or the connection is closed.
    pub fn send(
        &mut self,
        plain: &[u8],
        raw: &mut Vec<u8>,
        is_flush: bool,
    ) -> Result<(), LayersError> {
        match (&mut self.tls, &mut self.deflate) {
            (None, None) => raw.extend_from_slice(plain),
            (None, Some(deflate)) => deflate.deflate(plain, raw, is_flush),
            (Some(tls), None) => tls.seal(plain, raw)?,
            (Some(tls), Some(deflate)) => {
                if tls.is_handshaking() {
                    return Err(TlsError::Handshaking.into());
                }
                let mut packed = Vec::new();
                deflate.deflate(plain, &mut packed, is_flush);
                tls.seal(&packed, raw)?;
            }
        }
        Ok(())
    }

    /// Appends unsent messages of TLS: the handshake, and alerts.
    pub fn pending(&mut self, raw: &mut Vec<u8>) {
        if let Some(tls) = &mut self.tls {
            tls.pending(raw);
        }
    }

    /// Appends the end of our side (close_notify), if TLS has begun. Nothing can be sent afterwards.
    pub fn close(&mut self, raw: &mut Vec<u8>) {
        if let Some(tls) = &mut self.tls {
            tls.close(raw);
        }
    }

    /// Releases the memory of the compressor while nothing is sent for a while. Nothing happens while something is not flushed.
    pub fn release(&mut self) {
        if let Some(deflate) = &mut self.deflate {
            let _ = deflate.release();
        }
    }
}
