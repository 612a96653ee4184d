//! Who may read, post and send news here: the `[[access]]` tables, the users and their passwords, SASL, programs that
//! check passwords, rates.
//!
//! No sockets and no threads. What takes long (a password's hash, a program) is handed out as a [`Slow`] job, to be run
//! where nobody else waits.

mod allowed;
mod chance;
mod error;
mod fingerprint;
pub mod flood;
pub mod login;
pub mod network;
mod outcome;
pub mod rate_limit;
pub mod password;
mod prepared;
pub mod program;
pub mod reading;
mod rights;
pub mod sasl;
pub mod tables;
pub mod users;
mod client_identity;

pub use allowed::{Access, Mismatch};
pub use error::Error;
pub use fingerprint::{fingerprint, fingerprint_text};
pub use flood::{PostFloods, Poster};
pub use login::{Login, Slow};
pub use network::{Network, counted};
pub use outcome::Outcome;
pub use rate_limit::RateLimit;
pub use prepared::prepared;
pub use program::{Authenticator, Connection};
pub use rights::{Grant, Rights};
pub use tables::{Entry, Feature, Limits, Tables};
pub use users::{User, Users, UsersFile};
pub use client_identity::ClientIdentity;
