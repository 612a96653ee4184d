//! The result of a login.

/// The result of a login. The texts are for the log; a client learns only that it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// 281, or 283 with the mechanism's final data in base64.
    LoggedIn {
        /// The user's name.
        user: String,
        /// The mechanism's final data.
        data: Option<Vec<u8>>,
    },
    /// 481: the name, password or proof is wrong.
    Refused(String),
    /// 482: the response violates the mechanism's syntax.
    Malformed(&'static str),
    /// 403: an internal error; a retry may succeed.
    Failed(String),
}

impl Outcome {
    /// The reply's code (RFC 4643, 2.3.1 and 2.4.1; RFC 3977, 3.2.1).
    pub fn code(&self) -> u16 {
        match self {
            Outcome::LoggedIn { data: None, .. } => 281,
            Outcome::LoggedIn { data: Some(_), .. } => 283,
            Outcome::Refused(_) => 481,
            Outcome::Malformed(_) => 482,
            Outcome::Failed(_) => 403,
        }
    }
}
