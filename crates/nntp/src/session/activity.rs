//! The activity of a session, for the administrator.

use crate::backend::TransferKind;

use super::{Session, State};

/// The activity of a session between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity<'a> {
    /// The unfinished work.
    pub doing: Doing,
    /// The keywords of the last valid command; `None` before the first one.
    pub last: Option<&'static str>,
    /// Number of valid commands.
    pub commands: u64,
    /// The selected group.
    pub group: Option<&'a [u8]>,
    /// COMPRESS is active (RFC 8054).
    pub is_compressed: bool,
}

/// The unfinished work of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// None: it waits for a command.
    Idle,
    /// It receives an article.
    Receiving(TransferKind),
    /// It discards the rest of a refused article.
    Discarding,
    /// It writes a long reply.
    Replying,
    /// It waits for a login to be checked, or for its next step.
    LoggingIn,
    /// It has ended.
    Ended,
}

impl Session {
    /// Its activity now.
    pub fn activity(&self) -> Activity<'_> {
        let doing = match &self.state {
            State::Receiving(incoming) => Doing::Receiving(incoming.kind),
            State::Discarding(..) => Doing::Discarding,
            State::Sasl => Doing::LoggingIn,
            State::Closed => Doing::Ended,
            State::Command if self.is_logging_in => Doing::LoggingIn,
            State::Command if self.reader.has_long_reply() => Doing::Replying,
            State::Command => Doing::Idle,
        };
        Activity {
            doing,
            last: self.last.map(|row| row.name),
            commands: self.commands,
            group: self
                .reader
                .selected
                .as_ref()
                .map(|selected| &*selected.group),
            is_compressed: self.is_compressed,
        }
    }
}
