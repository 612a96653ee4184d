//! The groups and articles of every prepared server, with known numbers.
//!
//! | group | content |
//! |---|---|
//! | `conf.one` | 1 to 3: a plain article; one with dots, a folded Subject and 8-bit octets; one without body |
//! | `conf.empty` | nothing |
//! | `conf.holes` | 1 to 8, of which 1, 4, 5 and 8 were cancelled |
//! | `conf.many`, `conf.also` | 1 to 40, the same articles in both |
//! | `conf.moderated` | 1, approved; status `m` |
//! | `conf.closed` | 1; status `n` |
//! | `conf.post`, `conf.feed` | articles that the cases send |
//! | `conf.secret` | 1; only for [`USER`] |

use std::time::{SystemTime, UNIX_EPOCH};

/// The user that every prepared server knows.
pub const USER: &str = "conformance";

/// The password of the user.
pub const PASSWORD: &str = "correct-horse";

/// A group, its flag in active, its description.
pub const GROUPS: &[(&str, char, &str)] = &[
    ("conf.one", 'y', "Three articles that are known."),
    ("conf.empty", 'y', "Nothing at all."),
    ("conf.holes", 'y', "Some articles are gone."),
    ("conf.many", 'y', "Forty articles."),
    ("conf.also", 'y', "The same forty articles."),
    (
        "conf.moderated",
        'm',
        "Somebody reads it first. (Moderated)",
    ),
    ("conf.closed", 'n', "Nobody posts here."),
    ("conf.post", 'y', "What the cases post."),
    ("conf.feed", 'y', "What the cases feed."),
    ("conf.secret", 'y', "Not for everybody."),
];

/// The contents of other LIST commands (RFC 3977, 7.6.5; RFC 6048), by keyword.
pub const LISTS: &[(&str, &str)] = &[
    ("distrib.pats", "10:conf.*:local\n"),
    ("distributions", "local\tHere only.\nworld\tEverywhere.\n"),
    (
        "moderators",
        "conf.moderated:moderator@example.org\n*:%s@example.org\n",
    ),
    (
        "motd",
        "Welcome to the suite.\n.A line that begins with a dot.\n",
    ),
    ("subscriptions", "conf.one\nconf.many\n"),
];

/// Number of articles in `conf.many`.
const MANY: u32 = 40;

/// The cancelled ones of the eight articles of `conf.holes`.
const HOLES: &[u32] = &[1, 4, 5, 8];

/// An article with its message-id.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The id with its brackets.
    pub id: String,
    /// The article with CRLF line ends, dots not doubled.
    pub article: Vec<u8>,
}

/// The articles, in the order of sending.
pub fn articles() -> Vec<Sent> {
    let now = now();
    let mut all = vec![
        plain("one.1", "conf.one", "A first article", now - 4000, ""),
        dotted(now - 3900),
        plain(
            "one.3",
            "conf.one",
            "No body",
            now - 3800,
            "References: <one.1@conformance.example> <gone@conformance.example>\r\n",
        ),
    ];
    if let Some(last) = all.last_mut() {
        let end = last.article.windows(4).position(|four| four == b"\r\n\r\n");
        last.article
            .truncate(end.map_or(last.article.len(), |at| at + 4));
    }
    for number in 1..=8_u32 {
        let at = now - 3000 + u64::from(number);
        all.push(plain(
            &format!("holes.{number}"),
            "conf.holes",
            &format!("Article {number}"),
            at,
            "",
        ));
    }
    for number in 1..=MANY {
        let at = now - 2000 + u64::from(number);
        let poster = if number % 4 == 0 { "Ann" } else { "Bob" };
        let mut sent = plain(
            &format!("many.{number}"),
            "conf.many,conf.also",
            &format!("{poster} writes {number}"),
            at,
            "",
        );
        sent.article
            .extend_from_slice(b"and more\r\n".repeat(number as usize).as_slice());
        all.push(sent);
    }
    let approved = "Approved: moderator@conformance.example\r\n";
    all.push(plain(
        "moderated.1",
        "conf.moderated",
        "Approved",
        now - 1500,
        approved,
    ));
    all.push(plain(
        "closed.1",
        "conf.closed",
        "From before",
        now - 1400,
        "",
    ));
    all.push(plain("secret.1", "conf.secret", "Psst", now - 1300, ""));
    for number in HOLES {
        let control = format!("Control: cancel <holes.{number}@conformance.example>\r\n");
        all.push(plain(
            &format!("cancel.{number}"),
            "conf.holes",
            &format!("cmsg cancel <holes.{number}@conformance.example>"),
            now - 1000,
            &control,
        ));
    }
    all
}

/// Makes an article that every server accepts (RFC 5536, 3.1).
fn plain(name: &str, groups: &str, subject: &str, at: u64, more: &str) -> Sent {
    let article = format!(
        "Path: feeder.conformance.example!not-for-mail\r\nFrom: Ann Example <ann@conformance.example>\r\n\
         Newsgroups: {groups}\r\nSubject: {subject}\r\nDate: {}\r\nMessage-ID: <{name}@conformance.example>\r\n{more}\r\n\
         A line of {name}.\r\nAnother line.\r\n",
        date(at)
    );
    Sent {
        id: format!("<{name}@conformance.example>"),
        article: article.into_bytes(),
    }
}

/// Makes an article with dots at the start of lines, a folded Subject with a TAB, octets that are not UTF-8, a long line, and a wrong Lines.
fn dotted(at: u64) -> Sent {
    let mut article = format!(
        "Path: feeder.conformance.example!not-for-mail\r\nFrom: Bob Example <bob@conformance.example>\r\n\
         Newsgroups: conf.one\r\nSubject: Dots and\r\n\tfolds\r\nDate: {}\r\nMessage-ID: <one.2@conformance.example>\r\n\
         References: <one.1@conformance.example>\r\nX-Conformance: of this suite\r\nLines: 4711\r\n\r\n\
         .\r\n..\r\n.dot\r\nno dot\r\n\r\n",
        date(at)
    )
    .into_bytes();
    article.extend_from_slice(b"caf\xe9 \xff\xfe\r\n");
    article.extend_from_slice("long ".repeat(400).as_bytes());
    article.extend_from_slice(b"\r\nend\r\n");
    Sent {
        id: "<one.2@conformance.example>".to_owned(),
        article,
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Formats a date for an article (RFC 5322, 3.3).
pub fn date(at: u64) -> String {
    let (year, month, day) = civil(at / 86_400);
    let name = MONTHS.get(month as usize - 1).copied().unwrap_or("Jan");
    let (hour, minute, second) = (at / 3600 % 24, at / 60 % 60, at % 60);
    format!("{day} {name} {year} {hour:02}:{minute:02}:{second:02} +0000")
}

/// Formats date and time for NEWNEWS and NEWGROUPS (RFC 3977, 7.3.2).
pub fn stamp(at: u64) -> String {
    let (year, month, day) = civil(at / 86_400);
    let (hour, minute, second) = (at / 3600 % 24, at / 60 % 60, at % 60);
    format!("{year:04}{month:02}{day:02} {hour:02}{minute:02}{second:02}")
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Converts days since 1970 to year, month and day.
fn civil(mut days: u64) -> (u64, u32, u32) {
    let mut year = 1970;
    let is_leap = |year: u64| {
        (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
    };
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, u32::try_from(days).unwrap_or(0) + 1)
}

#[cfg(test)]
mod tests {
    use super::{articles, date, stamp};

    #[test]
    fn dates() {
        assert_eq!(date(1_709_210_096), "29 Feb 2024 12:34:56 +0000");
        assert_eq!(stamp(0), "19700101 000000");
        assert_eq!(stamp(1_735_689_599), "20241231 235959");
    }

    #[test]
    fn every_line_ends_as_it_must() {
        for sent in articles() {
            let text = String::from_utf8_lossy(&sent.article).replace("\r\n", "");
            assert!(!text.contains(['\r', '\n', '\0']), "{}", sent.id);
            assert!(sent.article.ends_with(b"\r\n"), "{}", sent.id);
        }
    }
}
