//! A finding in the files of the administrator: its place, weight and text, and the remedy.

use std::fmt;

/// The weight of a finding, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does not work, or is refused.
    Error,
    /// It works, but hardly as the administrator means it.
    Warning,
    /// Worth knowing; it may well be meant.
    Note,
    /// Nothing is wrong; something could be better.
    Advice,
}

impl Severity {
    /// The word in JSON, and before the text of findings other than errors.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
            Severity::Advice => "advice",
        }
    }
}

/// What the administrator can do about a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The mark between the text of the finding and the remedy: a colon, or a semicolon where the text has a colon already.
    mark: char,
    text: String,
}

impl Remedy {
    /// The text, without its end.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// One finding. Its `Display` is a line without an end: `warning: ` and its [sentence](Finding::sentence). Errors have no word there: the line or
/// the exit status around them says what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// File and line, a site, a table or a path. None: the subject as a whole, or the text names the place.
    pub place: Option<String>,
    /// Its weight.
    pub severity: Severity,
    /// A sentence without its end.
    pub text: String,
    /// What to do about it.
    pub remedy: Option<Remedy>,
}

impl Finding {
    fn new(severity: Severity, text: impl Into<String>) -> Finding {
        Finding {
            place: None,
            severity,
            text: text.into(),
            remedy: None,
        }
    }

    /// An error.
    pub fn error(text: impl Into<String>) -> Finding {
        Finding::new(Severity::Error, text)
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Finding {
        Finding::new(Severity::Warning, text)
    }

    /// A note.
    pub fn note(text: impl Into<String>) -> Finding {
        Finding::new(Severity::Note, text)
    }

    /// Advice.
    pub fn advice(text: impl Into<String>) -> Finding {
        Finding::new(Severity::Advice, text)
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Finding {
        Finding {
            place: Some(place.into()),
            ..self
        }
    }

    /// The finding without its severity: `PLACE: TEXT: REMEDY`.
    pub fn sentence(&self) -> String {
        let mut sentence = String::new();
        if let Some(place) = &self.place {
            sentence.push_str(place);
            sentence.push_str(": ");
        }
        sentence.push_str(&self.text);
        if let Some(Remedy { mark, text }) = &self.remedy {
            sentence.push(*mark);
            sentence.push(' ');
            sentence.push_str(text);
        }
        sentence
    }

    /// Sets the remedy, and the mark before it: a colon, or a semicolon where the text has a colon already.
    #[must_use]
    pub fn remedy(self, mark: char, text: impl Into<String>) -> Finding {
        let text = text.into();
        Finding {
            remedy: Some(Remedy { mark, text }),
            ..self
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.severity != Severity::Error {
            write!(f, "{}: ", self.severity.word())?;
        }
        f.write_str(&self.sentence())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line() {
        let error = Finding::error("is missing");
        assert_eq!(error.to_string(), "is missing");
        let warning = Finding::warning("it gets nothing")
            .at("north")
            .remedy(':', "add a group");
        assert_eq!(
            warning.to_string(),
            "warning: north: it gets nothing: add a group"
        );
        assert_eq!(warning.sentence(), "north: it gets nothing: add a group");
        let note = Finding::note("mail: is slow").remedy(';', "wait");
        assert_eq!(note.to_string(), "note: mail: is slow; wait");
        assert!(Severity::Error < Severity::Warning && Severity::Note < Severity::Advice);
    }
}
