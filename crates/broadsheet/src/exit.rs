//! Exit statuses, and which error gets which.
//!
//! The classic ones keep their numbers (relaynews: 0, 1, 2); the others are from `sysexits.h`, so
//! that a script never takes a slip on the command line for a bad batch.

use std::io;

use crate::flags::UsageError;
use crate::settings::{self, Faults};

/// What the process says when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(u8);

impl Status {
    /// All went well.
    pub const OK: Status = Status(0);
    /// The answer is no: a batch was bad, a group did not match, a check found faults.
    pub const NO: Status = Status(1);
    /// Something needs a person: disk full, no permission, a damaged file.
    pub const ATTENTION: Status = Status(2);
    /// The command line makes no sense (`EX_USAGE`).
    pub const USAGE: Status = Status(64);
    /// Not now, try again later (`EX_TEMPFAIL`): uuxqt keeps the request when a command ends so.
    pub const AGAIN: Status = Status(75);
    /// `broadsheet.toml` has faults (`EX_CONFIG`).
    pub const SETTINGS: Status = Status(78);
    /// Standard output was closed early, as by `| head`: what a shell shows for SIGPIPE.
    const PIPE_CLOSED: Status = Status(141);

    /// What the daemon says a command should end with.
    pub fn told(code: u8) -> Status {
        Status(code)
    }

    /// The number for the operating system.
    pub fn code(self) -> u8 {
        self.0
    }
}

/// One line of the table "Exit status" in help and man page.
#[derive(Clone, Copy)]
pub struct Meaning {
    /// The status.
    pub status: Status,
    /// When it is given, in words.
    pub when: &'static str,
}

/// What every command may end with, after its own meanings.
pub const COMMON: &[Meaning] = &[
    Meaning {
        status: Status::ATTENTION,
        when: "something needs attention: the message says what",
    },
    Meaning {
        status: Status::USAGE,
        when: "the command line makes no sense",
    },
    Meaning {
        status: Status::SETTINGS,
        when: "broadsheet.toml has faults",
    },
];

/// Writes the error on standard error, as one message, and gives the status to end with.
pub fn report(error: &anyhow::Error) -> Status {
    let status = status_of(error);
    if status != Status::PIPE_CLOSED {
        eprintln!("broadsheet: {}", text_of(error));
    }
    status
}

/// The error with its causes. Many of our messages quote their cause in the middle of a sentence; such
/// a cause is not said again.
pub fn text_of(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// True for a fault in the tables of expire in broadsheet.toml, not in explist.
fn is_of_settings(error: &expire::Error) -> bool {
    match error {
        expire::Error::Toml { .. } => true,
        expire::Error::Line { file, .. } => file.ends_with(settings::FILE),
        _ => false,
    }
}

/// The status for an error.
pub fn status_of(error: &anyhow::Error) -> Status {
    if error.is::<UsageError>() {
        Status::USAGE
    } else if error.is::<Faults>()
        || error
            .downcast_ref::<expire::Error>()
            .is_some_and(is_of_settings)
    {
        Status::SETTINGS
    } else if error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    {
        Status::PIPE_CLOSED
    } else {
        Status::ATTENTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open lock: {source}; run as the owner")]
    struct Quotes {
        source: io::Error,
    }

    #[test]
    fn a_quoted_cause_is_not_said_twice() {
        let source = io::Error::other("permission denied");
        let error = anyhow::Error::new(Quotes { source });
        assert_eq!(
            text_of(&error),
            "cannot open lock: permission denied; run as the owner"
        );
        let error =
            anyhow::Error::new(io::Error::other("the disk is full")).context("cannot do it");
        assert_eq!(text_of(&error), "cannot do it: the disk is full");
    }
}
