//! Applying the entries of a log, one after the other: the state of a store is a fold over them.
//!
//! An entry is a record, wherever it lies: what another store logged, applied in its order to an empty one, gives the same
//! articles, numbers, active, history, cancels and pending cancels. Positions are local, and so is how the log is cut into commits and
//! segments.

use article::{Article, Form};
use groups::Active;

use crate::Error;
use crate::expiry::state::END_OF_COPY;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::history::pending_cancels::{PendingCancel, PendingCancels};
use crate::log::filing::{Filing, Piece};
use crate::log::record::{Kind, Record};
use crate::log::state_file::{LogState, WHOLE_COPY};
use crate::overview::row::OverviewFields;
use crate::spool::Spool;
use crate::spool::active_from_log::{apply_group_line, raise_high_marks};

impl Spool {
    /// Applies one entry of another store's log. It waits for the next commit.
    ///
    /// # Errors
    /// Those of filing. What cannot be read in a sound record is passed over, as a recovery passes it over.
    pub fn apply_entry(&mut self, entry: &Record<'_>) -> Result<(), Error> {
        let text = entry.line();
        match entry.head.kind {
            Kind::Article => self.apply_article(entry),
            Kind::Seen => match HistoryLine::parse(text) {
                Some(line) => self.remember(line.id, line.arrival.unwrap_or(0), line.expires),
                None => Ok(()),
            },
            Kind::Cancel => self.apply_cancel(text),
            Kind::Group => {
                self.make_room(text.len() as u64 + 256)?;
                apply_group_line(&mut self.active.table, text);
                self.log_text(Kind::Group, text);
                Ok(())
            }
            // That a copy is whole is true of the log it was copied from.
            Kind::LowMarks => {
                self.log_lines(&mut text.strip_suffix(END_OF_COPY).unwrap_or(text).to_vec())
            }
            Kind::Active => self.apply_active(text),
            Kind::PendingCancel => self.apply_pending_cancels(text),
            Kind::Pad | Kind::Relocation | Kind::Hole => Ok(()),
        }
    }

    fn apply_article(&mut self, entry: &Record<'_>) -> Result<(), Error> {
        let Some(line) = HistoryLine::parse(entry.line()) else {
            return Ok(());
        };
        let wire = entry.wire_article();
        let (header, body) = wire
            .split_at_checked(entry.head.wire_header_length as usize)
            .unwrap_or((wire, b""));
        // The newline at its end is the wire form's, not the article's.
        let as_filed = |piece| match entry.head.no_final_newline {
            true => <[u8]>::strip_suffix(piece, b"\r\n").unwrap_or(piece),
            false => piece,
        };
        let (header, body) = match body {
            [] => (as_filed(header), body),
            _ => (header, as_filed(body)),
        };
        raise_high_marks(&mut self.active.table, entry.line());
        let links: Vec<(&[u8], u64)> = line.links().collect();
        let parsed = Article::parse(wire, Form::Wire);
        self.append(&Filing {
            id: line.id,
            arrival: line.arrival.unwrap_or(0),
            expires: line.expires,
            links: &links,
            sites: entry.sites(),
            header: &[Piece::Wire(header)],
            body: Piece::Wire(body),
            overview: OverviewFields::of(&parsed, line.id),
        })
        .map(drop)
    }

    /// A cancel names a position of the other log; the id finds the article in this one.
    fn apply_cancel(&mut self, text: &[u8]) -> Result<(), Error> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let Some((_, id)) = Cancels::parse_line(text) else {
            return Ok(());
        };
        match self.find(id)?.and_then(|line| line.position) {
            Some(position) if !self.cancelled().contains(position) => self.cancel(position, id),
            _ => Ok(()),
        }
    }

    fn apply_active(&mut self, text: &[u8]) -> Result<(), Error> {
        if self.active.table.image() == text {
            return Ok(());
        }
        if let Ok(table) = Active::parse(text.to_vec()) {
            self.commit()?;
            self.make_room(text.len() as u64 + 256)?;
            self.active.table = table;
            self.log_active();
            self.active.rewrite()?;
        }
        Ok(())
    }

    fn apply_pending_cancels(&mut self, text: &[u8]) -> Result<(), Error> {
        if text.starts_with(WHOLE_COPY) {
            let mut told = PendingCancels::default();
            told.apply(text);
            return match told == *self.pending_cancels()? {
                true => Ok(()),
                false => self.replace_pending_cancels(text),
            };
        }
        for line in text.split(|&byte| byte == b'\n') {
            if let Some(cancel) = PendingCancel::parse(line) {
                self.add_pending_cancel(&cancel)?;
            }
        }
        Ok(())
    }
}
