//! The control log: each control message, its sender and the result, one line each, in ASCII.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::decide::ControlOutcome;
use super::request::Request;
use crate::error::Error;

/// Name of the log in the news directory.
pub const FILE: &str = "control.log";
/// Name of the previous log: a full log is renamed to it and replaces the one before.
pub const OLD: &str = "control.log.old";
/// Size at which the log is renamed before the next line, bytes.
pub const LOG_BYTES_MAX: u64 = 8 << 20;
/// Longest field of a line before escaping, bytes; longer fields are truncated and end in `...`.
pub const FIELD_BYTES_MAX: usize = 512;
/// Number of fields of a line.
pub const FIELDS: usize = 9;

/// Pending lines, written at the next commit.
#[derive(Debug, Default)]
pub struct Events {
    pending: Vec<u8>,
}

impl Events {
    /// Adds a line about a message.
    pub fn add(&mut self, seconds: i64, request: &Request<'_>, outcome: &ControlOutcome) {
        article::decimal::push_signed(&mut self.pending, seconds);
        let fields: [&[u8]; FIELDS - 1] = [
            outcome.disposition.word().as_bytes(),
            request.id,
            request.control,
            request.group(),
            request.from,
            request.approved.unwrap_or_default(),
            outcome.verified.as_bytes(),
            outcome.why.as_bytes(),
        ];
        for field in fields {
            self.pending.push(b'\t');
            push_field(&mut self.pending, field);
        }
        self.pending.push(b'\n');
    }

    /// Discards the pending lines.
    pub fn clear(&mut self) {
        self.pending.clear();
    }

    /// Pending bytes.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Writes the pending lines with one call and without a sync: the log is for people.
    ///
    /// # Errors
    /// An I/O error.
    pub fn write(&mut self, news: &Path) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let path = news.join(FILE);
        let full = std::fs::metadata(&path).is_ok_and(|meta| meta.len() >= LOG_BYTES_MAX);
        let moved = if full {
            std::fs::rename(&path, news.join(OLD))
        } else {
            Ok(())
        };
        let open = |()| store::regular::append(&path);
        moved
            .and_then(open)
            .and_then(|mut file: File| file.write_all(&self.pending))
            .map_err(|source| Error::Log { path, source })?;
        self.pending.clear();
        Ok(())
    }
}

/// A parsed line of the control log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Time, seconds since 1970.
    pub seconds: i64,
    /// `acted`, `nothing`, `waits` or `refused`.
    pub done: String,
    /// Message-id of the control message.
    pub id: String,
    /// The value of Control.
    pub control: String,
    /// The group to create or remove; empty for other messages.
    pub group: String,
    /// The value of From.
    pub from: String,
    /// The value of Approved; empty without one.
    pub approved: String,
    /// The key that signed it, `no: REASON`, or `-` if the signature was not checked.
    pub verified: String,
    /// The result, or the reason for ignoring the message.
    pub why: String,
}

impl Event {
    /// Parses a line; bytes that are not ASCII stay escaped. Returns `None` for any other line.
    pub fn parse(line: &str) -> Option<Event> {
        let mut fields = line.split('\t');
        let seconds = fields.next()?.parse().ok()?;
        let mut next = || fields.next().map(str::to_owned);
        Some(Event {
            seconds,
            done: next()?,
            id: next()?,
            control: next()?,
            group: next()?,
            from: next()?,
            approved: next()?,
            verified: next()?,
            why: next()?,
        })
    }
}

/// Returns the newest lines, oldest first. Invalid lines are skipped.
///
/// # Errors
/// The log cannot be read; a missing log has no lines.
pub fn newest(news: &Path, count: usize) -> io::Result<Vec<Event>> {
    let mut lines = Vec::new();
    for file in [OLD, FILE] {
        match store::regular::read(&news.join(file)) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                lines.extend(text.lines().filter_map(Event::parse));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let older = lines.len().saturating_sub(count);
    Ok(lines.split_off(older))
}

fn push_field(out: &mut Vec<u8>, field: &[u8]) {
    let shown = field.get(..FIELD_BYTES_MAX).unwrap_or(field);
    for &byte in shown {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' => out.push(byte),
            _ => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    if shown.len() < field.len() {
        out.extend_from_slice(b"...");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_stays_one_field_of_one_line() {
        let mut out = Vec::new();
        push_field(&mut out, b"a\tb\n\\\xe9\x1b[2J");
        assert_eq!(out, b"a\\x09b\\x0a\\\\\\xe9\\x1b[2J");
        out.clear();
        push_field(&mut out, &[b'x'; FIELD_BYTES_MAX + 1]);
        assert!(out.ends_with(b"x...") && out.len() == FIELD_BYTES_MAX + 3);
    }

    #[test]
    fn lines_are_parsed() {
        let line = "1\tacted\t<1@a>\tnewgroup a.b\ta.b\tx@y\tz\t-\tmade, unmoderated";
        let event = Event::parse(line).unwrap();
        assert_eq!(
            (event.seconds, event.why.as_str()),
            (1, "made, unmoderated")
        );
        assert_eq!(Event::parse("1\tacted"), None);
        assert_eq!(Event::parse(""), None);
    }
}
