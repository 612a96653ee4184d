//! Replies of a server (RFC 3977, 3.2).

use thiserror::Error;

/// Longest first line of a reply that is read, CRLF included, bytes. RFC 3977, 3.1 permits 512; servers write longer ones where a reason follows a
/// long message-id.
pub const REPLY_BYTES_MAX: usize = 2048;

/// Most bytes of a line that a message quotes.
const SHOWN_BYTES: usize = 100;

/// The first line of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// 100 to 599.
    pub code: u16,
    /// What follows the code, without the blank.
    pub text: &'a [u8],
}

/// Why a connection cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The line is no reply, or not one to what was sent.
    #[error("the peer answered `{0}', which is no answer to what was sent")]
    Nonsense(String),
    /// The line is longer than [`REPLY_BYTES_MAX`].
    #[error("the peer sent a line of more than {REPLY_BYTES_MAX} bytes")]
    TooLong,
    /// 400: the peer ends the connection for now.
    #[error("the peer is not available: {0}")]
    Unavailable(String),
    /// 480, 481, 482, 502: the peer wants a login, another one, or does not talk to us.
    #[error("the peer does not let us in: {0}")]
    NotPermitted(String),
    /// The peer has no TLS (or none any more), and the site asks for it.
    #[error("the peer offers no STARTTLS: {0}")]
    NoTls(String),
    /// The peer takes no articles.
    #[error("the peer takes no articles: {0}")]
    TakesNothing(String),
}

impl<'a> Reply<'a> {
    /// Parses a line without its CRLF.
    ///
    /// # Errors
    /// [`PeerError::Nonsense`]: the line does not begin with three digits and a blank, or the code is not from 100 to 599.
    pub fn parse(line: &'a [u8]) -> Result<Reply<'a>, PeerError> {
        let nonsense = || PeerError::Nonsense(shown(line));
        let (digits, rest) = line.split_first_chunk::<3>().ok_or_else(nonsense)?;
        let text = match rest {
            [] => rest,
            [b' ', text @ ..] => text,
            _ => return Err(nonsense()),
        };
        let code = std::str::from_utf8(digits).ok();
        let code = code.and_then(|digits| digits.parse().ok());
        match code.filter(|code| (100..600).contains(code)) {
            Some(code) if digits.iter().all(u8::is_ascii_digit) => Ok(Reply { code, text }),
            _ => Err(nonsense()),
        }
    }

    /// The message-id that the reply repeats: its first word (RFC 4644, 2.4.2).
    pub fn message_id(&self) -> Option<&'a [u8]> {
        let word = self.text.split(u8::is_ascii_whitespace).next()?;
        word.starts_with(b"<").then_some(word)
    }

    /// The text behind the message-id, where the reply repeats that.
    pub fn reason(&self) -> &'a [u8] {
        let id = self.message_id().map_or(0, <[u8]>::len);
        self.text.get(id..).unwrap_or_default().trim_ascii()
    }

    /// The text for a message: the message-id does not shorten the rest.
    pub(super) fn shown_text(&self) -> String {
        match self.message_id() {
            Some(id) => format!("{} {}", shown(id), shown(self.reason())),
            None => shown(self.text),
        }
    }

    /// Whether the reply refuses only this command (RFC 3977, 3.2.1). 400 ends the connection, and 480 to 483 ask for a login or for TLS.
    pub fn is_refusal(&self) -> bool {
        self.code > 400 && !(480..=483).contains(&self.code)
    }

    /// The error of a reply that was not expected.
    pub fn to_error(self) -> PeerError {
        let line = format!("{} {}", self.code, shown(self.text));
        match self.code {
            400 => PeerError::Unavailable(line),
            480..=483 | 502 => PeerError::NotPermitted(line),
            _ => PeerError::Nonsense(line),
        }
    }
}

/// A line of a stranger in a message: its beginning, in printable characters.
pub(super) fn shown(line: &[u8]) -> String {
    let start = line.get(..SHOWN_BYTES).unwrap_or(line);
    groups::shown(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_three_digits_and_text() {
        let reply = Reply::parse(b"239 <a@b> thanks").unwrap();
        assert_eq!((reply.code, reply.message_id()), (239, Some(&b"<a@b>"[..])));
        assert_eq!(Reply::parse(b"335").unwrap().text, b"");
        for line in [
            &b""[..],
            b"23",
            b"2390 x",
            b"2 9 x",
            b"600 x",
            b"099 x",
            b"+23 x",
        ] {
            assert!(matches!(Reply::parse(line), Err(PeerError::Nonsense(_))));
        }
        let is_refusal = |code| Reply { code, text: b"" }.is_refusal();
        assert!([403, 411, 502, 503].into_iter().all(is_refusal));
        assert!(![224, 400, 480, 483].into_iter().any(is_refusal));
        let error = Reply::parse(b"480 Authentication required")
            .unwrap()
            .to_error();
        assert!(matches!(error, PeerError::NotPermitted(_)), "{error}");
    }
}
