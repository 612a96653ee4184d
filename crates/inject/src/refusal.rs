//! The reasons for refusing a post: a sentence for the poster, and a code for scripts.

/// The reason. `Display` is the sentence, [`Refusal::code`] the code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A line of the header is not a header field.
    #[error("line {line} of the header is not a `Name: value' line: `{text}'")]
    NotAHeader {
        /// Number of the line, from 1.
        line: usize,
        /// Its text, cut.
        text: String,
    },
    /// A header occurs twice that may occur once (RFC 5536, 3).
    #[error("the header {0} occurs twice")]
    Twice(String),
    /// A value contains control characters or an empty continuation line, or is not UTF-8 (RFC 5536, 2.2).
    #[error(
        "the header {0} contains control characters, an empty line or bytes that are not UTF-8"
    )]
    Syntax(String),
    /// A header line is longer than mail and news allow (RFC 5536, 2.2).
    #[error(
        "a line of the header {header} is longer than {max} bytes; {}",
        advice(header)
    )]
    LongLine {
        /// The header.
        header: String,
        /// The limit, bytes.
        max: usize,
    },
    /// Only the news system may write this header (RFC 5537, 3.4.1).
    #[error("the header {0} is not allowed in posts; the news system writes it")]
    Forbidden(String),
    /// A header that only the poster can supply is missing.
    #[error("no {0}: header")]
    Missing(&'static str),
    /// A value is invalid.
    #[error("{header}: {why}: `{value}'")]
    Value {
        /// The header.
        header: &'static str,
        /// The error.
        why: &'static str,
        /// The value, cut.
        value: String,
    },
    /// None of the groups exists at this site.
    #[error("no such group here: `{0}'")]
    NoGroup(String),
    /// The group is closed for local posting.
    #[error("posting to {0} is not allowed here")]
    NoPosting(String),
    /// The poster lacks the right to use Approved, or to send this control message.
    #[error("you may not post {0}; ask the news administrator")]
    NotAllowed(&'static str),
    /// The administrator blocks the poster.
    #[error("blocked {kind} `{value}'; ask the news administrator")]
    Blocked {
        /// The kind of the block.
        kind: &'static str,
        /// The blocked value.
        value: String,
    },
    /// A moderated group without a known moderator.
    #[error(
        "{0} is moderated, and neither mailpaths nor moderators has an address for it; ask the news administrator"
    )]
    NoModerator(String),
    /// The post has no body.
    #[error("the article has no text")]
    NoBody,
    /// The body contains a NUL, which news cannot transport (RFC 5536, 2.2).
    #[error("the text contains a NUL byte, which news cannot transport")]
    Nul,
    /// The post exceeds a limit of this site.
    #[error("the {what} has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// `article`, `header` or `Message-ID`.
        what: &'static str,
        /// The size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The post has more parts of a kind than this site permits.
    #[error("the article has more than {limit} {what}")]
    TooMany {
        /// `header fields` or `groups`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// The advice about a header line that is too long.
fn advice(header: &str) -> &'static str {
    let is_list = |name: &&str| header.eq_ignore_ascii_case(name);
    match ["Newsgroups", "Followup-To"].iter().any(is_list) {
        // Folded, it would have blanks, and be refused for them.
        true => "name fewer groups",
        false => "fold it",
    }
}

impl Refusal {
    /// A code for scripts. Existing codes never change.
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
            Refusal::Blocked { .. } => "blocked",
            Refusal::NoModerator(_) => "no-moderator",
            Refusal::NoBody => "no-text",
            Refusal::Nul => "nul",
            Refusal::TooLarge { .. } | Refusal::TooMany { .. } => "too-large",
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

/// Maximum part of a bad text that a message contains, bytes.
const SHOWN_BYTES: usize = 200;

/// Converts bytes for a message: one line, without control characters.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let start = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    String::from_utf8_lossy(start)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
