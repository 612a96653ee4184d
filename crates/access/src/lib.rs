//! Access rules: the `[[access]]` tables, users and their passwords, SASL, programs that check passwords, rate limits.
//!
//! No sockets and no threads. Slow checks (a password's hash, a program) are returned as a [`PasswordCheck`] job for a thread of the caller.

mod allowed;
mod client_identity;
mod error;
mod fingerprint;
pub mod flood;
pub mod login;
pub mod network;
mod outcome;
pub mod password;
mod prepared;
pub mod program;
mod random;
pub mod rate_limit;
mod rights;
pub mod sasl;
pub mod tables;
pub mod users;

pub use allowed::{Access, Mismatch};
pub use client_identity::ClientIdentity;
pub use error::Error;
pub use fingerprint::{fingerprint, fingerprint_text};
pub use flood::{Floods, Poster};
pub use login::{Login, PasswordCheck};
pub use network::{Network, counted};
pub use outcome::Outcome;
pub use prepared::prepared;
pub use program::{Authenticator, Connection};
pub use rate_limit::RateLimit;
pub use rights::{Grant, Rights};
pub use tables::{Entry, Feature, Limits, Tables};
pub use users::{User, Users, UsersFile};
