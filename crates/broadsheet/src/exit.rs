//! Exit statuses.
//!
//! The classic ones keep their numbers (relaynews: 0, 1, 2); the others are from `sysexits.h`, so
//! that a script never mistakes a usage error for a bad batch.

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
    pub const PIPE_CLOSED: Status = Status(141);

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
        when: "another error occurred: the message says which",
    },
    Meaning {
        status: Status::USAGE,
        when: "the command line has an error",
    },
    Meaning {
        status: Status::SETTINGS,
        when: "broadsheet.toml has errors",
    },
];
