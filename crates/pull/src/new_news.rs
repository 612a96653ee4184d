//! Everything new at once: NEWNEWS (RFC 3977, 7.4).

use std::collections::HashSet;

use article::date::{self, Utc};
use article::decimal;
use nntp::client::is_id;

use crate::connection::ROW_BYTES_MAX;
use crate::error::Error;
use crate::fetch::Row;
use crate::leafnode;
use crate::marks::{NewNewsTime, REMEMBERED_MAX};
use crate::run::{Visit, clock};

/// Most lines of a reply to NEWNEWS.
pub const NEWNEWS_LINES_MAX: u64 = 1_000_000;

/// Time before the last visit from which NEWNEWS is asked, seconds: an article may be listed a moment after its arrival.
const NEWNEWS_OVERLAP_SECONDS: i64 = 60;

/// Whether NEWNEWS since a time lists all that has come: the server's clock has not gone back meanwhile. It did if less time has passed there
/// than here.
fn is_steady(since: NewNewsTime, now: NewNewsTime) -> bool {
    let there = now.server.saturating_sub(since.server);
    let here = now.ours.saturating_sub(since.ours);
    there >= 0 && here.saturating_sub(there) <= NEWNEWS_OVERLAP_SECONDS
}

impl Visit<'_> {
    /// The time now; `None` if the server has no DATE.
    pub(crate) fn date(&mut self) -> Result<Option<NewNewsTime>, Error> {
        self.connection.send(b"DATE\r\n")?;
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        let digits = reply.text.trim_ascii().split_at_checked(8);
        Ok(digits
            .filter(|_| reply.code == 111)
            .and_then(|(day, time)| date::parse_nntp(day, time, &Utc, 0))
            .map(|server| NewNewsTime {
                server,
                ours: clock(),
            }))
    }

    /// Fetches what has come to the server between two times, as NEWNEWS lists it. Returns whether that was done: the server may not allow the command,
    /// its clock may have gone back, or the list may have more than [`REMEMBERED_MAX`] articles that are unknown here.
    pub(crate) fn new_news(&mut self, since: NewNewsTime, now: NewNewsTime) -> Result<bool, Error> {
        if !is_steady(since, now) {
            return Ok(false);
        }
        let mut command = format!("NEWNEWS {} ", self.source.groups).into_bytes();
        let mut moment = Vec::new();
        date::write_nntp(
            &mut moment,
            since.server.saturating_sub(NEWNEWS_OVERLAP_SECONDS),
        );
        let Some((day, time)) = moment.split_at_checked(8) else {
            return Ok(false);
        };
        command.extend_from_slice(&[day, b" ", time, b" GMT\r\n"].concat());
        if command.len() > nntp::COMMAND_BYTES_MAX {
            return Ok(false);
        }
        self.connection.send(&command)?;
        let mut line = Vec::new();
        match self.connection.reply(&mut line)?.code {
            230 => {}
            _ => return Ok(false),
        }
        let mut rows = Vec::new();
        let mut is_all = true;
        let mut lines = 0;
        loop {
            let line = self.connection.line(ROW_BYTES_MAX)?;
            if line == b"." {
                break;
            }
            lines += 1;
            if lines > NEWNEWS_LINES_MAX {
                self.marks.set_newnews(None);
                return Err(Error::Endless(format!(
                    "reply to NEWNEWS ({NEWNEWS_LINES_MAX} lines are read); the next run goes by number"
                )));
            }
            if leafnode::is_placeholder(line) {
                continue;
            }
            if !is_id(line) {
                self.pulled.pass_over(line, self.news);
                continue;
            }
            if self.snapshot.has(line)? {
                self.pulled.known += 1;
            } else if rows.len() < REMEMBERED_MAX {
                // The number is not used: the row is of no group.
                rows.push(Row {
                    number: 0,
                    id: line.into(),
                });
            } else {
                is_all = false;
            }
        }
        self.fetch(&[(b"", rows)])?;
        Ok(is_all)
    }

    /// The groups of which the server's highest number is that of the mark, by LIST ACTIVE (RFC 3977, 7.6.3); none, if the server does not allow the
    /// command.
    pub(crate) fn unchanged(&mut self) -> Result<HashSet<Vec<u8>>, Error> {
        let mut unchanged = HashSet::new();
        let command = format!("LIST ACTIVE {}\r\n", self.source.groups);
        self.connection.send(command.as_bytes())?;
        let mut line = Vec::new();
        if self.connection.reply(&mut line)?.code != 215 {
            return Ok(unchanged);
        }
        for _ in 0..NEWNEWS_LINES_MAX {
            let line = self.connection.line(ROW_BYTES_MAX)?;
            if line == b"." {
                return Ok(unchanged);
            }
            let mut words = line.split(|byte| *byte == b' ');
            let (Some(group), Some(high)) = (words.next(), words.next()) else {
                continue;
            };
            let mark = self.marks.get(group).map(|mark| mark.number);
            if mark.is_some() && mark == decimal::parse(high) {
                unchanged.insert(group.to_vec());
            }
        }
        self.marks.set_newnews(None);
        Err(Error::Endless(format!(
            "reply to LIST ACTIVE ({NEWNEWS_LINES_MAX} lines are read); the next run goes by number"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_went_back_is_noticed() {
        let time = |server, ours| NewNewsTime { server, ours };
        let since = time(13_000, 10_000);
        assert!(is_steady(since, time(13_000, 10_000)));
        assert!(is_steady(since, time(16_000, 13_050)));
        // Ours went back, or the server's went on.
        assert!(is_steady(since, time(13_010, 5_000)));
        assert!(is_steady(since, time(23_000, 10_010)));
        // Before the mark; and behind it again, but with hours between.
        assert!(!is_steady(since, time(12_999, 10_000)));
        assert!(!is_steady(since, time(13_100, 13_100)));
        assert!(is_steady(
            time(i64::MIN, i64::MAX),
            time(i64::MAX, i64::MIN)
        ));
    }
}
