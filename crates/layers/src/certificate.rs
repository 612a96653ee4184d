//! A few fields of a certificate (RFC 5280), for people: rustls does not tell them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Names shown at most.
const NAMES_MAX: usize = 100;
/// Tags (X.690).
const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// subjectAltName, 2.5.29.17 (RFC 5280, 4.2.1.6).
const ALTERNATIVE_NAMES: [u8; 3] = [0x55, 0x1d, 0x11];

/// Facts that a certificate states. A field that cannot be read is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// DNS names and addresses that it is for.
    pub names: Vec<String>,
    /// When it ends, in seconds since 1970.
    pub expires: Option<i64>,
}

/// Whom it is for, as the rest of a sentence that begins with `certificate`. Clients look for the host's name in
/// subjectAltName alone (RFC 9525, 6.3).
impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() {
            f.write_str(
                "that names no host in subjectAltName: clients that look at certificates refuse it",
            )
        } else {
            write!(f, "for {}", self.names.join(", "))
        }
    }
}

impl Facts {
    /// Of one certificate in DER.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Self {
        let mut facts = Facts::default();
        facts.read(certificate);
        facts
    }

    fn read(&mut self, certificate: &[u8]) -> Option<()> {
        let mut certificate = Fields(certificate).within(SEQUENCE)?;
        let mut fields = certificate.within(SEQUENCE)?;
        // Version (absent in the first), serial number, algorithm, issuer.
        if fields.next()?.0 == VERSION {
            fields.next()?;
        }
        fields.next()?;
        fields.next()?;
        let mut validity = fields.within(SEQUENCE)?;
        validity.next()?;
        let (tag, until) = validity.next()?;
        self.expires = seconds(tag, until);
        // Subject and key; then what may be there.
        fields.next()?;
        fields.next()?;
        while let Some((tag, content)) = fields.next() {
            if tag == EXTENSIONS {
                let mut extensions = Fields(content).within(SEQUENCE)?;
                while let Some((SEQUENCE, extension)) = extensions.next() {
                    self.extension(extension);
                }
            }
        }
        Some(())
    }

    fn extension(&mut self, extension: &[u8]) -> Option<()> {
        let mut fields = Fields(extension);
        if fields.next()? != (OID, &ALTERNATIVE_NAMES) {
            return None;
        }
        let mut content = fields.next()?;
        if content.0 != OCTETS {
            // `critical', a truth value.
            content = fields.next()?;
        }
        let mut names = Fields(content.1).within(SEQUENCE)?;
        while let Some((tag, name)) = names.next() {
            if self.names.len() == NAMES_MAX {
                return None;
            }
            if let Some(name) = shown(tag, name) {
                self.names.push(name);
            }
        }
        Some(())
    }
}

/// Control characters in a name do not reach a terminal.
fn shown(tag: u8, name: &[u8]) -> Option<String> {
    match tag {
        DNS_NAME if name.iter().all(u8::is_ascii_graphic) => {
            Some(String::from_utf8_lossy(name).into_owned())
        }
        IP_ADDRESS => {
            if let Ok(octets) = <[u8; 4]>::try_from(name) {
                return Some(Ipv4Addr::from(octets).to_string());
            }
            let octets = <[u8; 16]>::try_from(name).ok()?;
            Some(Ipv6Addr::from(octets).to_string())
        }
        _ => None,
    }
}

/// UTCTime (years 1950 to 2049) or GeneralizedTime, always with seconds and `Z' (RFC 5280, 4.1.2.5).
fn seconds(tag: u8, text: &[u8]) -> Option<i64> {
    let text = text.strip_suffix(b"Z")?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year = number(year)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (number(year)?, rest)
        }
        _ => return None,
    };
    let mut parts = rest.chunks(2).map(number);
    let mut part = || parts.next().flatten();
    let (month, day, hour, minute, second) = (part()?, part()?, part()?, part()?, part()?);
    if rest.len() != 10 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0i64, |sum, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        Some(sum * 10 + i64::from(digit))
    })
}

/// The day of a time, as `2026-11-01`.
pub(crate) fn day(seconds: i64) -> String {
    // Days in eras of 400 years, which begin on a first of March.
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days from 1970-01-01 in the Gregorian calendar, with years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

/// Elements one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Tag and content of the next.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first & 0x7f);
        if first & 0x80 != 0 {
            // The length of the length: certificates need three octets at most.
            let (octets, after) = rest.split_at_checked(length).filter(|_| length <= 3)?;
            length = octets
                .iter()
                .fold(0, |sum, octet| sum << 8 | usize::from(*octet));
            rest = after;
        }
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next element, if that has this tag.
    fn within(&mut self, wanted: u8) -> Option<Fields<'a>> {
        let (tag, content) = self.next()?;
        (tag == wanted).then_some(Fields(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written() {
        for (year, month, last) in [(1970, 1, 31), (2024, 2, 29), (2100, 2, 28), (2026, 12, 31)] {
            for date in 1..=last {
                let at = days(year, month, date) * 86_400;
                let text = format!("{year}-{month:02}-{date:02}");
                assert_eq!((day(at), day(at + 86_399)), (text.clone(), text));
            }
        }
    }

    #[test]
    fn times_are_read() {
        assert_eq!(seconds(UTC_TIME, b"700101000000Z"), Some(0));
        assert_eq!(seconds(UTC_TIME, b"491231235959Z"), Some(2_524_607_999));
        assert_eq!(
            seconds(GENERALIZED_TIME, b"20500101000000Z"),
            Some(2_524_608_000)
        );
        assert_eq!(
            seconds(GENERALIZED_TIME, b"20240229120000Z"),
            Some(1_709_208_000)
        );
        assert_eq!(seconds(UTC_TIME, b"701301000000Z"), None);
        assert_eq!(seconds(UTC_TIME, b"7001010000Z"), None);
        assert_eq!(seconds(UTC_TIME, b""), None);
    }
}
