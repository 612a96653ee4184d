//! What is said of an error, and which exit status it gets.

use std::io;

use crate::exit::Status;
use crate::flags::UsageError;
use settings::Faults;

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

/// True for an error in the tables of expire in broadsheet.toml, not in explist.
fn is_of_settings(error: &expire::Error) -> bool {
    matches!(error, expire::Error::Line { file, .. } if file.ends_with(settings::FILE))
}

/// The status for an error.
pub fn status_of(error: &anyhow::Error) -> Status {
    if error.is::<UsageError>() {
        Status::USAGE
    } else if error.is::<Faults>()
        || error.is::<server::certificates::CertificateError>()
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
