//! The exit status of commands that need a daemon.

use std::path::Path;

use crate::exit::{Meaning, Status};

/// Exit status of a command that needs a daemon and finds none.
pub const NO_DAEMON: Meaning = Meaning {
    status: Status::NO,
    when: "no daemon runs",
};

/// The exit status of a command that asked the daemon; reports a missing daemon.
///
/// # Errors
/// None: the type is that of a command's end.
pub fn told_none(dir: &Path, is_there: bool) -> anyhow::Result<Status> {
    if is_there {
        return Ok(Status::OK);
    }
    eprintln!("broadsheet: no daemon serves {}", dir.display());
    Ok(Status::NO)
}
