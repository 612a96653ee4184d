//! What is said of an error, and which exit status it gets.

use std::io;

pub use daemon::text_of;

use crate::account::Account;
use crate::directory::RUN_BY_ROOT;
use crate::exit::Status;
use crate::flags::UsageError;

/// Writes the error on standard error, as one message, and gives the status to end with.
pub fn report(error: &anyhow::Error) -> Status {
    let status = status_of(error);
    if status != Status::PIPE_CLOSED {
        eprintln!("broadsheet: {}", text_of(error));
        if is_refused(error) && std::env::var_os(RUN_BY_ROOT).is_some() {
            let user = Account::mine().name;
            eprintln!(
                "broadsheet: the command runs as {user}, the owner of the news directory: give {user} access to the file, or use standard input or output"
            );
        }
    }
    status
}

/// Whether the system denied an access.
fn is_refused(error: &anyhow::Error) -> bool {
    let of_system = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
    };
    error.chain().any(of_system)
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
