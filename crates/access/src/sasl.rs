//! The server's side of SASL (RFC 4643, 2.4): PLAIN (RFC 4616), SCRAM-SHA-256 (RFC 5802, RFC 7677) and EXTERNAL (RFC 4422). No security
//! layers, no channel binding.

pub(crate) mod external;
pub(crate) mod mechanism;
mod plain;
mod scram;
mod step;
pub(crate) mod verifier;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::allowed::Access;
use crate::client_identity::ClientIdentity;
use crate::program::Connection;

pub use mechanism::Mechanism;
pub use scram::NONCE_BYTES;
pub use step::Step;
pub use verifier::{ITERATIONS, ITERATIONS_MAX, ITERATIONS_MIN, Verifier};

/// Longest decoded response of a client, bytes.
pub const RESPONSE_BYTES_MAX: usize = 4096;

/// One SASL exchange.
#[derive(Debug)]
pub struct Exchange {
    access: Arc<Access>,
    connection: Connection,
    state: State,
}

#[derive(Debug)]
enum State {
    Plain,
    External {
        /// The user that the certificate identifies.
        name: Option<String>,
    },
    Scram(scram::Scram),
    Over,
}

impl Exchange {
    /// Starts an exchange with a client.
    pub fn new(
        mechanism: Mechanism,
        access: &Arc<Access>,
        client: &ClientIdentity<'_>,
        connection: Connection,
    ) -> Exchange {
        let state = match mechanism {
            Mechanism::Plain => State::Plain,
            Mechanism::ScramSha256 => State::Scram(scram::Scram::new(None)),
            Mechanism::External => State::External {
                name: external::name(&access.login.users, client),
            },
        };
        Exchange {
            access: Arc::clone(access),
            connection,
            state,
        }
    }

    /// Starts SCRAM with a given server nonce (printable ASCII without a comma), for the examples of RFC 7677. Otherwise a nonce must be
    /// fresh.
    pub fn scram_with_nonce(access: &Arc<Access>, nonce: &str) -> Exchange {
        Exchange {
            access: Arc::clone(access),
            connection: Connection::default(),
            state: State::Scram(scram::Scram::new(Some(nonce.to_owned()))),
        }
    }

    /// Processes a decoded response of the client; `None` only in the first call, without an initial response. If the client cancels
    /// (`*`), the caller replies with 481 and drops the exchange.
    pub fn take(&mut self, response: Option<&[u8]>) -> Step {
        if response.is_some_and(|response| response.len() > RESPONSE_BYTES_MAX) {
            self.state = State::Over;
            return Step::malformed("the response is too long");
        }
        let Some(response) = response else {
            // The client begins in all mechanisms: an empty challenge asks for its message (RFC 4422, 5.1).
            return Step::Ask(Vec::new());
        };
        let step = match &mut self.state {
            State::Plain => plain::take(&self.access, response, &self.connection),
            State::External { name } => external::take(name.take(), response),
            State::Scram(scram) => scram.take(&self.access.login.users, response),
            State::Over => Step::malformed("the exchange is over"),
        };
        if !matches!(step, Step::Ask(_)) {
            self.state = State::Over;
        }
        step
    }
}

/// Encodes in base64; empty data is `=` (RFC 4643, 2.4.2).
pub fn encode(bytes: &[u8]) -> String {
    match bytes {
        [] => "=".to_owned(),
        bytes => STANDARD.encode(bytes),
    }
}

/// Decodes base64; `=` is empty data (RFC 4643, 2.4.2). `None` for invalid base64 (504).
pub fn decode(word: &[u8]) -> Option<Vec<u8>> {
    match word {
        b"=" => Some(Vec::new()),
        b"" => None,
        word => STANDARD.decode(word).ok(),
    }
}
