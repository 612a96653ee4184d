//! Decides where a message of a mailbox begins.
//!
//! | the `From ` line has | an empty line is before it | the header has Message-ID or Newsgroups | it is |
//! |---|---|---|---|
//! | a sender and a date | yes | yes, or From, Subject, Date or Path | a beginning |
//! | a sender and a date | yes | none of these | text that looks like a beginning |
//! | a sender and a date | no | yes | a beginning: writers exist that put no empty line there |
//! | a sender and a date | no | no | text that looks like a beginning |
//! | anything else | – | yes | text that looks like a beginning; a beginning if the first line of the mailbox has no sender and date either |
//! | anything else | yes | no | text that looks like a beginning |
//! | anything else | no | no | text |
//!
//! A header must follow: a field, behind lines that newsreaders and UUCP put there (`Article 415 of comp.x:`, `>From … remote from …`). Without one, a line
//! with a sender and a date looks like a beginning, and all others are text. A number in place of sender and date is as good as both: archives of Google
//! have `From -8946248053963491671`.

use article::date::{self, Utc};

/// Longest `From ` line, bytes; a longer one is text.
pub const FROM_LINE_BYTES_MAX: usize = 1024;
/// Longest name of the header field after a `From ` line, bytes; a line with a longer one is text.
pub const FIELD_NAME_BYTES_MAX: usize = 128;
/// Part of a header in which Message-ID and Newsgroups are searched, bytes.
pub const HEADER_SEARCHED_BYTES_MAX: usize = 64 << 10;
/// Most lines of newsreaders and UUCP between a `From ` line and the header.
const LINES_BETWEEN_MAX: usize = 4;
/// Most words of a sender.
const SENDER_WORDS_MAX: usize = 8;
/// Fields that an article has, and text hardly ever: Message-ID also by its name before RFC 850.
const NEWS_FIELDS: &[&[u8]] = &[b"message-id:", b"newsgroups:", b"article-i.d.:"];
/// Fields of which a message has one.
const OTHER_FIELDS: &[&[u8]] = &[b"from:", b"subject:", b"date:", b"path:"];
/// Digits of a number in place of a sender and a date, at least.
const NUMBER_DIGITS_MIN: usize = 3;

/// What begins with a `From ` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Text.
    Text,
    /// Text that looks like the beginning of a message.
    Apparent,
    /// A message.
    Message,
}

/// What is known of a `From ` line apart from its own bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// An empty line, or nothing, is before it.
    pub is_after_blank: bool,
    /// The first `From ` line of the mailbox has a sender and a date; `None`: this is the first one.
    pub has_dates: Option<bool>,
    /// No bytes follow those that are given.
    pub is_end: bool,
}

/// Decides what begins at `bytes`; `None`: more bytes are needed.
pub(super) fn beginning(bytes: &[u8], context: Context) -> Option<Beginning> {
    if !bytes.starts_with(b"From ") {
        let is_short = !context.is_end && b"From ".starts_with(bytes);
        return (!is_short).then_some(Beginning::Text);
    }
    let window = bytes.get(..bytes.len().min(FROM_LINE_BYTES_MAX))?;
    let Some(end) = memchr::memchr(b'\n', window) else {
        let is_known = context.is_end || bytes.len() >= FROM_LINE_BYTES_MAX;
        return is_known.then_some(Beginning::Text);
    };
    let is_dated = is_dated(bytes.get(..end)?);
    let rest = bytes.get(end + 1..)?;
    let header = rest.get(lines_between(rest, context.is_end)?..)?;
    let without_header = if is_dated {
        Beginning::Apparent
    } else {
        Beginning::Text
    };
    match field(header) {
        Field::Unknown if !context.is_end => return None,
        Field::Unknown | Field::None => return Some(without_header),
        Field::Named => {}
    }
    let Some(has_dates) = context.has_dates else {
        return Some(Beginning::Message);
    };
    let is_news = has_one(NEWS_FIELDS, header, context.is_end)?;
    let is_enough = if is_dated {
        is_news || context.is_after_blank && has_one(OTHER_FIELDS, header, context.is_end)?
    } else {
        is_news && !has_dates
    };
    Some(match is_enough {
        true => Beginning::Message,
        false if is_dated || is_news || context.is_after_blank => Beginning::Apparent,
        false => Beginning::Text,
    })
}

/// Whether a `From ` line has a sender and a date with a time, or a number in place of both.
pub(super) fn is_dated(line: &[u8]) -> bool {
    let text = line.strip_prefix(b"From ").unwrap_or_default();
    let text = text.trim_ascii();
    let number = text.strip_prefix(b"-").unwrap_or(text);
    if number.len() >= NUMBER_DIGITS_MIN && number.iter().all(u8::is_ascii_digit) {
        return true;
    }
    // UUCP adds the name of the site.
    let remote = memchr::memmem::find(text, b" remote from ");
    let mut rest = text.get(..remote.unwrap_or(text.len())).unwrap_or(text);
    for _ in 0..SENDER_WORDS_MAX {
        let Some(blank) = rest.iter().position(u8::is_ascii_whitespace) else {
            return false;
        };
        rest = rest.get(blank..).unwrap_or_default().trim_ascii();
        if rest.contains(&b':') && is_date(rest) {
            return true;
        }
    }
    false
}

/// Whether bytes are a date, or the epoch in a zone west of Greenwich, which programs write for an unknown date.
fn is_date(bytes: &[u8]) -> bool {
    let day = bytes.strip_suffix(b" 1969");
    let of_epoch = day.map(|day| [day, b" 1970"].concat());
    date::parse(of_epoch.as_deref().unwrap_or(bytes), &Utc).is_some()
}

/// Length of the lines that newsreaders and UUCP put before a header; `None`: more bytes are needed.
pub(super) fn lines_between(bytes: &[u8], is_end: bool) -> Option<usize> {
    let mut length = 0;
    for _ in 0..LINES_BETWEEN_MAX {
        let rest = bytes.get(length..).unwrap_or_default();
        let window = rest.get(..rest.len().min(FROM_LINE_BYTES_MAX))?;
        let kinds = [&b">From "[..], b"Article "];
        let Some(end) = memchr::memchr(b'\n', window) else {
            let may_be = |kind: &&[u8]| rest.starts_with(kind) || kind.starts_with(rest);
            let is_known = is_end || rest.len() >= FROM_LINE_BYTES_MAX || !kinds.iter().any(may_be);
            return is_known.then_some(length);
        };
        let line = rest.get(..end).unwrap_or_default().trim_ascii_end();
        if !line.starts_with(b">From ") && !is_article_line(line) {
            break;
        }
        length += end + 1;
    }
    Some(length)
}

/// Whether a newsreader wrote the line: `Article 415 of comp.x:`, also `Article 415 (2 more) in comp.x:`.
fn is_article_line(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"Article ").unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let group = rest.get(digits..).unwrap_or_default();
    digits > 0 && group.starts_with(b" ") && group.ends_with(b":")
}

enum Field {
    /// The line begins with the name of a field and a colon.
    Named,
    None,
    /// More bytes are needed.
    Unknown,
}

/// Whether the line at `bytes` is a header field.
fn field(bytes: &[u8]) -> Field {
    let is_name = |byte: &&u8| matches!(byte, 33..=57 | 59..=126);
    let names = bytes.iter().take(FIELD_NAME_BYTES_MAX + 1);
    let name = names.take_while(is_name).count();
    if name > FIELD_NAME_BYTES_MAX {
        return Field::None;
    }
    match (bytes.get(name), bytes.get(name + 1)) {
        (Some(b':'), Some(b' ' | b'\t' | b'\r' | b'\n')) if name > 0 => Field::Named,
        (Some(b':'), None) | (None, _) => Field::Unknown,
        _ => Field::None,
    }
}

/// Whether a header has one of some fields; `None`: more bytes are needed.
fn has_one(names: &[&[u8]], header: &[u8], is_end: bool) -> Option<bool> {
    let window = header.get(..header.len().min(HEADER_SEARCHED_BYTES_MAX))?;
    let mut rest = window;
    loop {
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end + 1,
            // The last line of a message that is cut off.
            None if is_end && !rest.is_empty() => rest.len(),
            None => break,
        };
        let (line, after) = rest.split_at_checked(end)?;
        let has = |name: &&[u8]| {
            let start = line.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        if names.iter().any(has) {
            return Some(true);
        }
        let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if line.trim_ascii().is_empty() || !is_folded && !matches!(field(line), Field::Named) {
            return Some(false);
        }
        rest = after;
    }
    (is_end || window.len() < header.len()).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_and_dates_are_read_in_all_their_forms() {
        for line in [
            "From user@example.com Mon Dec 20 04:39:21 1993",
            "From - Tue Mar  1 12:00:00 1994",
            "From ???@??? Tue Mar 01 12:00:00 1994",
            "From a!b!c Tue Mar  1 12:00 1994 remote from site",
            "From user Tue Mar  1 12:00:00 PST 1994",
            "From user Tue Mar  1 12:00:00 1994 +0100",
            "From user@example.com  Tue, 1 Mar 1994 12:00:00 GMT",
            "From A Person <user@example.com> Tue Mar  1 12:00:00 1994\r",
            "From -8946248053963491671",
            "From 1234567",
            "From user Mon Dec 20 04:39:21 MET DST 1993",
            "From \"A Person of some Names\" <user@example.com> Mon Dec 20 04:39:21 1993",
            "From - Wed Dec 31 16:00:00 1969",
        ] {
            assert!(is_dated(line.as_bytes()), "{line}");
        }
        for line in [
            "From the manual of the day:",
            "From here on",
            "From Monday 12:00 nothing",
            "From x",
            "From 12",
            "From ",
        ] {
            assert!(!is_dated(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn the_table_of_beginnings() {
        let of = |text: &str, is_after_blank, has_dates| {
            let context = Context {
                is_after_blank,
                has_dates,
                is_end: true,
            };
            beginning(text.as_bytes(), context).unwrap()
        };
        let dated = "From a@b Mon Dec 20 04:39:21 1993\n";
        let (id, note) = ("Path: x\nMessage-ID: <1@a>\n\n", "Note: text\n\n");
        let bare = "X: y\nSubject: x\n\n";
        let between = "Article 415 of comp.x:\n>From a Mon Dec 20 04:39:21 1993 remote from b\n";
        for (line, header, is_after_blank, has_dates, right) in [
            (dated, note, true, Some(true), Beginning::Apparent),
            (dated, bare, true, Some(true), Beginning::Message),
            (
                dated,
                "X: y\nSubject: cut",
                true,
                Some(true),
                Beginning::Message,
            ),
            (dated, bare, false, Some(true), Beginning::Apparent),
            (dated, id, false, Some(true), Beginning::Message),
            (dated, note, false, Some(true), Beginning::Apparent),
            (dated, "text\n", true, Some(true), Beginning::Apparent),
            ("From x\n", id, true, Some(true), Beginning::Apparent),
            ("From x\n", note, true, Some(true), Beginning::Apparent),
            ("From x\n", id, true, Some(false), Beginning::Message),
            ("From x\n", note, true, Some(false), Beginning::Apparent),
            ("From x\n", note, true, None, Beginning::Message),
            ("From x\n", id, false, Some(false), Beginning::Message),
            ("From x\n", id, false, Some(true), Beginning::Apparent),
            ("From x\n", note, false, Some(false), Beginning::Text),
            ("From x\n", "text\n", true, Some(true), Beginning::Text),
        ] {
            for between in ["", between] {
                let text = format!("{line}{between}{header}");
                let found = of(&text, is_after_blank, has_dates);
                assert_eq!(found, right, "{text}");
            }
        }
    }
}
