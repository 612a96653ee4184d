//! What is said of an error, and which exit status it gets.

use std::io;

pub use daemon::text_of;

use crate::exit::Status;
use crate::flags::UsageError;

/// Writes the error on standard error, as one message, and gives the status to end with.
pub fn report(error: &anyhow::Error) -> Status {
    let status = status_of(error);
    if status != Status::PIPE_CLOSED {
        eprintln!("broadsheet: {}", text_of(error));
    }
    status
}

/// True for an error in the tables of expire in broadsheet.toml, not in explist.
fn is_of_settings(error: &expire::Error) -> bool {
    matches!(error, expire::Error::Line { file, .. } if file.ends_with(settings::FILE))
}

/// The status for an error.
pub fn status_of(error: &anyhow::Error) -> Status {
    if error.is::<UsageError>() {
        Status::USAGE
    } else if daemon::is_of_settings(error)
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
