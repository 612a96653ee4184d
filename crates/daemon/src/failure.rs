//! The text of an error, and the exit status of the command that it stops.

use settings::Faults;

use crate::other_files::OtherFaults;

/// The error with its causes. Many messages quote their cause in the middle of a sentence; such
/// a cause is not repeated.
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
    use std::io;

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
