//! An article that was made up.

/// An article as it stands in a batch: native form, LF line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// Header, blank line and body.
    pub bytes: Vec<u8>,
    /// Its message-id, angle brackets included.
    pub id: String,
    /// How many groups it is posted to, at least 1.
    pub groups: usize,
}
