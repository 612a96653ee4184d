//! Why a post is refused: a sentence for the poster, a word for scripts.

/// The reason. `Display` is the sentence, [`Refusal::code`] the word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A line of the header is no header.
    #[error("line {line} of the header is no `Name: value' line: `{text}'")]
    NotAHeader {
        /// From 1.
        line: usize,
        /// What stands there, cut to a readable length.
        text: String,
    },
    /// A header that may stand once stands twice (RFC 5536, 3).
    #[error("{0} is given twice")]
    Twice(String),
    /// A value with control characters, with an empty continuation line, or not in UTF-8 (RFC 5536, 2.2).
    #[error("{0} holds control characters, an empty line or bytes that are not UTF-8")]
    Syntax(String),
    /// A line of the header is longer than mail and news allow (RFC 5536, 2.2).
    #[error("a line of {header} is longer than {max} bytes; fold it")]
    LongLine {
        /// The header.
        header: String,
        /// The limit.
        max: usize,
    },
    /// Only the news system may write this header (RFC 5537, 3.4.1).
    #[error("{0} may not be given; the news system writes it")]
    Forbidden(String),
    /// A header that nobody can supply but the poster.
    #[error("no {0}: header")]
    Missing(&'static str),
    /// A value that makes no sense.
    #[error("{header}: {why}: `{value}'")]
    Value {
        /// The header.
        header: &'static str,
        /// What is wrong.
        why: &'static str,
        /// What it says, cut to a readable length.
        value: String,
    },
    /// None of the groups is known here.
    #[error("no such group here: `{0}'")]
    NoGroup(String),
    /// Nobody may post there from here.
    #[error("posting to {0} is not allowed here")]
    NoPosting(String),
    /// Approved, or a control message, by somebody who may not.
    #[error("you may not post {0}; ask the news administrator")]
    NotAllowed(&'static str),
    /// A moderated group nobody is known to moderate.
    #[error(
        "{0} is moderated, and neither mailpaths nor moderators has an address for it; ask the news administrator"
    )]
    NoModerator(String),
    /// Nothing but a header.
    #[error("the article has no text")]
    NoBody,
    /// News cannot carry NUL (RFC 5536, 2.2).
    #[error("the text holds a NUL byte, which news cannot carry")]
    Nul,
    /// Larger than is filed here.
    #[error("the {what} has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// `article`, `header`, `Message-ID` or a count of groups.
        what: &'static str,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        limit: usize,
    },
}

impl Refusal {
    /// A word for scripts. Words are only ever added.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::NotAHeader { .. } => "not-a-header",
            Refusal::Twice(_) => "header-twice",
            Refusal::Syntax(_) => "header-syntax",
            Refusal::LongLine { .. } => "header-line-too-long",
            Refusal::Forbidden(_) => "header-forbidden",
            Refusal::Missing(_) => "header-missing",
            Refusal::Value { .. } => "header-value",
            Refusal::NoGroup(_) => "no-such-group",
            Refusal::NoPosting(_) => "no-posting",
            Refusal::NotAllowed(_) => "not-allowed",
            Refusal::NoModerator(_) => "no-moderator",
            Refusal::NoBody => "no-text",
            Refusal::Nul => "nul",
            Refusal::TooLarge { .. } => "too-large",
        }
    }

    pub(crate) fn value(header: &'static str, why: &'static str, value: &[u8]) -> Refusal {
        Refusal::Value {
            header,
            why,
            value: shown(value),
        }
    }
}

/// How much of a faulty text a message shows, in bytes.
const SHOWN_BYTES: usize = 200;

/// Bytes for a message: one line, without control characters.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let start = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    String::from_utf8_lossy(start)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
