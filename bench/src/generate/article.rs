//! A generated article.

/// An article as in a batch: native form, LF line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// Header, blank line and body.
    pub bytes: Vec<u8>,
    /// Its message-id, with angle brackets.
    pub id: String,
    /// Number of its groups, at least 1.
    pub groups: usize,
}
