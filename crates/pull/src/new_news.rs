//! Everything new at once: NEWNEWS (RFC 3977, 7.4).

use article::date::{self, Utc};
use nntp::client::is_id;

use crate::connection::ROW_BYTES_MAX;
use crate::error::Error;
use crate::run::{REMEMBERED_MAX, Row, Visit};

/// Time before the last visit from which NEWNEWS is asked, seconds: an article may be listed a moment after its arrival.
const NEWNEWS_OVERLAP_SECONDS: i64 = 60;

/// How much of what NEWNEWS lists was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewNews {
    /// All of it.
    All,
    /// The first [`REMEMBERED_MAX`] articles that are unknown here.
    Some,
    /// The server does not allow the command.
    NotAllowed,
}

impl Visit<'_> {
    /// The server's time; `None` if it has no DATE.
    pub(crate) fn date(&mut self) -> Result<Option<i64>, Error> {
        self.connection.send(b"DATE\r\n")?;
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        let digits = reply.text.trim_ascii().split_at_checked(8);
        Ok(digits
            .filter(|_| reply.code == 111)
            .and_then(|(day, time)| date::parse_nntp(day, time, &Utc, 0)))
    }

    /// Fetches what has come to the server since then, by NEWNEWS.
    pub(crate) fn new_news(&mut self, since: i64) -> Result<NewNews, Error> {
        let mut command = format!("NEWNEWS {} ", self.source.groups).into_bytes();
        let mut moment = Vec::new();
        date::write_nntp(&mut moment, since - NEWNEWS_OVERLAP_SECONDS);
        let Some((day, time)) = moment.split_at_checked(8) else {
            return Ok(NewNews::NotAllowed);
        };
        command.extend_from_slice(&[day, b" ", time, b" GMT\r\n"].concat());
        if command.len() > nntp::COMMAND_BYTES_MAX {
            return Ok(NewNews::NotAllowed);
        }
        self.connection.send(&command)?;
        let mut line = Vec::new();
        match self.connection.reply(&mut line)?.code {
            230 => {}
            _ => return Ok(NewNews::NotAllowed),
        }
        let mut rows = Vec::new();
        let mut result = NewNews::All;
        loop {
            let line = self.connection.line(ROW_BYTES_MAX)?;
            if line == b"." {
                break;
            }
            if !is_id(line) {
                continue;
            }
            if self.snapshot.has(line)? {
                self.pulled.known += 1;
            } else if rows.len() < REMEMBERED_MAX {
                // The number is not used: no group has a mark here.
                rows.push(Row {
                    number: 0,
                    id: line.into(),
                });
            } else {
                result = NewNews::Some;
            }
        }
        self.fetch(&[(b"", rows)])?;
        Ok(result)
    }
}
