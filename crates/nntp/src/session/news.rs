//! NEWNEWS, DATE, HELP (RFC 3977, 7.1, 7.2, 7.4).

use article::date::{self, LocalZone, Utc};
use groups::Wildmat;

use crate::backend::{Backend, BackendError};
use crate::command_table::{COMMANDS, NntpCommand};
use crate::out::OutBuffer;

use super::Session;
use super::reply::PIECE_LOOKUPS_MAX;

/// An unfinished reply to NEWNEWS.
#[derive(Debug)]
pub(super) struct NewNews {
    since: i64,
    wanted: Wildmat,
    cursor: Option<u64>,
}

/// Date, time, and whether they are in UTC.
pub(super) type When<'a> = (&'a [u8], &'a [u8], bool);

/// Converts to seconds since 1970, or replies that the time is invalid; a time before 1970 is.
pub(super) fn seconds<W: Backend>(when: When<'_>, backend: &W, out: &mut OutBuffer) -> Option<i64> {
    let (date, time, is_gmt) = when;
    let zone: &dyn LocalZone = if is_gmt { &Utc } else { backend.zone() };
    let seconds = date::parse_nntp(date, time, zone, backend.now());
    if seconds.is_none() {
        out.push(b"501 Invalid date or time: use [yy]yymmdd hhmmss\r\n");
    }
    seconds
}

impl Session {
    pub(super) fn new_news<W: Backend>(
        pattern: &[u8],
        when: When<'_>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<NewNews> {
        let since = seconds(when, backend, out)?;
        out.push(b"230 New articles follow\r\n");
        Some(NewNews {
            since,
            wanted: Wildmat::parse(pattern),
            cursor: None,
        })
    }

    pub(super) fn date<W: Backend>(backend: &W, out: &mut OutBuffer) {
        let mut text = out.text();
        text.extend_from_slice(b"111 ");
        date::write_nntp(&mut text, backend.now());
        text.extend_from_slice(b"\r\n");
    }

    pub(super) fn help(out: &mut OutBuffer) {
        let mut lines: Vec<String> = COMMANDS.iter().map(NntpCommand::syntax).collect();
        lines.sort_unstable();
        let mut text = out.text();
        text.extend_from_slice(b"100 Supported commands:\r\n");
        for line in lines {
            text.extend_from_slice(format!("  {line}\r\n").as_bytes());
        }
        text.extend_from_slice(b"A range is 7, 7-9 or 7-.\r\n.\r\n");
    }
}

impl NewNews {
    /// Writes the next piece. Returns true if the reply is unfinished.
    pub(super) fn write<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Result<bool, BackendError> {
        let wanted = &self.wanted;
        let mut text = out.text();
        self.cursor = backend.filed_since(
            self.since,
            self.cursor,
            PIECE_LOOKUPS_MAX,
            |group| wanted.matches(group),
            |id| {
                text.extend_from_slice(id);
                text.extend_from_slice(b"\r\n");
            },
        )?;
        Ok(self.cursor.is_some())
    }
}
