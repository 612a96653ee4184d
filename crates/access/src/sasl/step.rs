//! What an exchange does next.

use crate::login::Slow;
use crate::outcome::Outcome;

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    /// 383 with this challenge ([`super::encode`]); then the client's response.
    Ask(Vec<u8>),
    /// This job, elsewhere; then its outcome.
    Wait(Slow),
    /// It is over.
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
