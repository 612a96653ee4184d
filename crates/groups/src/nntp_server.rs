//! Another NNTP server: its address, and how to connect to it.

use std::net::IpAddr;
use std::path::PathBuf;

/// The port of NNTP (RFC 3977, 3.4).
pub const NNTP_PORT: u16 = 119;
/// The port of NNTP with TLS from the first byte (RFC 8143, 2).
pub const NNTPS_PORT: u16 = 563;
/// Default of [`NntpVia::connections`](crate::sites::NntpVia::connections).
pub const CONNECTIONS: u32 = 4;

/// Another NNTP server: its address, and how to connect to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NntpServer {
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its encryption.
    pub tls: Tls,
    /// A PEM file of the CAs to trust in place of the system's; relative to the news directory unless absolute.
    pub tls_ca: Option<PathBuf>,
    /// SHA-256 of the one certificate to trust.
    pub tls_fingerprint: Option<[u8; 32]>,
    /// The name that the certificate must have in place of the host's.
    pub tls_name: Option<String>,
    /// Name of the login, and the file whose first line is its password; relative to the news directory unless absolute.
    pub login: Option<(String, PathBuf)>,
    /// Whether the password may be sent without encryption.
    pub allow_plaintext_login: bool,
    /// Whether to compress (RFC 8054), if the server can.
    pub compress: bool,
    /// The local address of connections.
    pub bind: Option<IpAddr>,
}

impl NntpServer {
    /// A server without encryption or login.
    pub fn new(host: &str, port: u16) -> Self {
        NntpServer {
            host: host.to_owned(),
            port,
            tls: Tls::None,
            tls_ca: None,
            tls_fingerprint: None,
            tls_name: None,
            login: None,
            allow_plaintext_login: false,
            compress: false,
            bind: None,
        }
    }
}

/// When the encryption of a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tls {
    /// Never.
    #[default]
    None,
    /// By the command STARTTLS (RFC 4642).
    StartTls,
    /// With the first byte.
    Implicit,
}

impl Tls {
    /// Every value with its name in settings.
    pub const ALL: &[(&str, Tls)] = &[
        ("none", Tls::None),
        ("starttls", Tls::StartTls),
        ("implicit", Tls::Implicit),
    ];
}

/// A part of the day, in local time. It may span midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hours {
    /// Its begin, seconds after midnight.
    from: u32,
    /// Its end, seconds after midnight; not the begin.
    until: u32,
}

impl Hours {
    const DAY: u32 = 86_400;

    /// Parses `22:00-06:00`.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the name of the setting.
    pub fn parse(text: &str) -> Result<Hours, String> {
        let parsed = text.split_once('-').and_then(|(from, until)| {
            let (from, until) = (time(from)?, time(until)?);
            (from != until % Hours::DAY && from < Hours::DAY).then_some(Hours {
                from,
                until: until % Hours::DAY,
            })
        });
        parsed
            .ok_or_else(|| format!("is a part of the day such as \"22:00-06:00\", not \"{text}\""))
    }

    /// Seconds until it begins; 0 within it. `second`: of the day, in local time.
    pub fn wait(self, second: u32) -> u32 {
        let second = second % Hours::DAY;
        let is_within = if self.from < self.until {
            (self.from..self.until).contains(&second)
        } else {
            second >= self.from || second < self.until
        };
        if is_within {
            0
        } else {
            (self.from + Hours::DAY - second) % Hours::DAY
        }
    }
}

/// `22:00` as seconds; `24:00` is the end of the day.
fn time(text: &str) -> Option<u32> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| is_number)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let second = hours * 3600 + minutes * 60;
    (minutes < 60 && second <= Hours::DAY).then_some(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_may_span_midnight() {
        let night = Hours::parse("22:00-06:00").unwrap();
        let day = Hours::parse("06:30 - 24:00").unwrap();
        for (hours, at, wait) in [
            (night, 22 * 3600, 0),
            (night, 0, 0),
            (night, 6 * 3600 - 1, 0),
            (night, 6 * 3600, 16 * 3600),
            (night, 22 * 3600 - 1, 1),
            (day, 0, 6 * 3600 + 1800),
            (day, 86_399, 0),
            (day, 6 * 3600 + 1800, 0),
        ] {
            assert_eq!(hours.wait(at), wait, "{hours:?} at {at}");
        }
        for text in [
            "",
            "22",
            "22:00",
            "22:00-22:00",
            "00:00-24:00",
            "24:00-06:00",
            "2:00-3:00",
            "22:60-23:00",
            "22:00-25:00",
            "+2:00-03:00",
        ] {
            assert!(Hours::parse(text).is_err(), "{text}");
        }
    }
}
