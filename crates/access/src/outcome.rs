//! What comes of an attempt to log in.

/// What came of an attempt to log in. The texts are for the log: a client that failed hears nothing but that it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// 281, or 283 where there is something more to say, in base64.
    LoggedIn {
        /// Who it is.
        user: String,
        /// What the mechanism says with it.
        data: Option<Vec<u8>>,
    },
    /// 481: name, password or proof are wrong.
    Refused(String),
    /// 482: what the client said is not what the mechanism wants.
    Malformed(&'static str),
    /// 403: it is our fault, and may go better later.
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
