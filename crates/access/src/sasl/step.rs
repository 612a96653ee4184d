//! The next step of an exchange.

use crate::login::PasswordCheck;
use crate::outcome::Outcome;

/// The next step of an exchange.
#[derive(Debug)]
pub enum Step {
    /// Send 383 with this challenge ([`super::encode`]), and wait for the client's response.
    Ask(Vec<u8>),
    /// Run this check in another thread; its outcome ends the exchange.
    Wait(PasswordCheck),
    /// The exchange has ended.
    Done(Outcome),
}

impl Step {
    pub(super) fn refused(why: impl Into<String>) -> Step {
        Step::Done(Outcome::Refused(why.into()))
    }

    pub(super) fn malformed(why: &'static str) -> Step {
        Step::Done(Outcome::Malformed(why))
    }
}
