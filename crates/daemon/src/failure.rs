//! The text of an error, and the exit status of the command that it stops.

use std::io;

use settings::Faults;

use crate::other_files::OtherFaults;

/// The error with its causes. Many messages quote their cause in the middle of a sentence; such
/// a cause is not repeated. Where the disk is full, it says what makes room.
pub fn text_of(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    if is_of_full_disk(error) && !text.contains(store::MAKE_ROOM) {
        text.push_str("; ");
        text.push_str(store::MAKE_ROOM);
    }
    text
}

/// Whether the system had no space.
fn is_of_full_disk(error: &anyhow::Error) -> bool {
    let is_full = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| {
            matches!(
                cause.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        })
    };
    error.chain().any(is_full)
}

/// Returns whether an error is in `broadsheet.toml`, or in a file that it names.
pub fn is_of_settings(error: &anyhow::Error) -> bool {
    let is_of_file = |error: &settings::Error| matches!(error, settings::Error::Settings(_));
    let has_some = |faults: &OtherFaults| faults.are_of_settings;
    error.is::<Faults>()
        || error.downcast_ref().is_some_and(has_some)
        || error.downcast_ref().is_some_and(is_of_file)
        || error.is::<server::certificates::CertificateError>()
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
        let source = io::Error::from(io::ErrorKind::StorageFull);
        let told = text_of(&anyhow::Error::new(Quotes { source }));
        assert!(
            told.ends_with("; make room (`broadsheet expire' may have space to give back)"),
            "{told}"
        );
        let source = io::ErrorKind::QuotaExceeded.into();
        let path = std::path::Path::new("log");
        let told = text_of(&store::Error::io("write", path, source).into());
        assert_eq!(told.matches("make room").count(), 1, "{told}");
    }
}
