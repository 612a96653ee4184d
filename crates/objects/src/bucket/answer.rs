//! How a request to an object store fails: the answer, and its meaning.

/// Bytes of a text of the servers in a message.
const TEXT_SHOWN: usize = 200;

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The servers refuse it.
    Refused(ErrorAnswer),
    /// The servers cannot be reached, or the connection broke.
    Unreachable(String),
    /// No answer came in time.
    TimedOut,
    /// An answer that makes no sense, or none that could be sent.
    Other(String),
}

/// An answer that refuses a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The code of the error, such as `NoSuchKey`; empty if the answer is none of an object store.
    pub code: String,
    /// The text for people.
    pub message: String,
    /// The reason for which Azure did not take a signature.
    pub detail: String,
    /// The storage class of an archived object, if the answer names it.
    pub storage_class: String,
}

/// The meaning of an answer that refuses a request, as its code tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The object does not exist.
    Missing,
    /// The object is archived: it has to be restored before it can be read.
    Archived,
    /// The bucket does not exist.
    NoBucket,
    /// Nobody has this key.
    UnknownKey,
    /// The secret is not that of the key.
    WrongSecret,
    /// The clocks differ.
    Clock,
    /// The bucket is in another region.
    Region,
    /// The key may not do this.
    Denied,
    /// No more fits.
    Full,
}

impl ErrorAnswer {
    /// Reads an answer: the status, the code that a header has, the beginning of the body.
    pub fn of(status: u16, code: &str, body: &[u8]) -> ErrorAnswer {
        let body = String::from_utf8_lossy(body);
        let element = |name: &str| {
            let (_, rest) = body.split_once(&format!("<{name}>"))?;
            let (text, _) = rest.split_once(&format!("</{name}>"))?;
            Some(shown(text))
        };
        ErrorAnswer {
            status,
            code: element("Code").unwrap_or_else(|| shown(code)),
            message: element("Message").unwrap_or_default(),
            detail: element("AuthenticationErrorDetail").unwrap_or_default(),
            storage_class: element("StorageClass").unwrap_or_default(),
        }
    }

    /// The object ends before the bytes that were asked for.
    pub fn is_short(&self) -> bool {
        self.status == 416
    }
}

/// Text of another machine, for a message.
pub fn shown(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let text: String = clean.take(TEXT_SHOWN).collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_servers_are_short_and_have_no_control_characters() {
        let long = format!("<Code>{}\u{1b}[2J</Code>", "x".repeat(1000));
        assert_eq!(
            ErrorAnswer::of(500, "", long.as_bytes()).code.len(),
            TEXT_SHOWN
        );
        assert_eq!(shown("a\u{1b}[2J\r\nb"), "a [2J  b");
    }
}
