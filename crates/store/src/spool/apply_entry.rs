//! The state of a store is a fold over the entries of its log: the entries of one store, applied in their order to an empty one, give the
//! same state. Positions, commits and segments are local.

use article::{Article, Form};
use groups::Active;

use crate::Error;
use crate::expiry::state::END_OF_COPY;
use crate::history::HistoryLine;
use crate::history::cancels::CancelLine;
use crate::log::record::{Kind, Record};
use crate::overview::row::OverviewFields;
use crate::spool::Spool;
use crate::spool::active_from_log::{apply_group_line, raise_high_marks};
use crate::spool::filing::{Filing, Piece};
use crate::state::checkgroups_serials::Serials;
use crate::state::fold::WHOLE_COPY;
use crate::state::group_files::{ACTIVE_TIMES, NEWSGROUPS};
use crate::state::pending_cancels::{PendingCancel, PendingCancels};
use crate::state::state_file::LogState;

impl Spool {
    /// Applies one entry of another store's log. It waits for the next commit.
    ///
    /// # Errors
    /// Those of filing. Invalid text in a sound record is ignored, as by a recovery.
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
            // A copy is whole only in the log that it describes.
            Kind::LowMarks => {
                self.log_lines(&mut text.strip_suffix(END_OF_COPY).unwrap_or(text).to_vec())
            }
            Kind::Active => self.apply_active(text),
            Kind::PendingCancel => self.apply_pending_cancels(text),
            Kind::Serials => self.apply_serials(text),
            Kind::Descriptions => self.change_group_file(NEWSGROUPS, text),
            Kind::Creations => self.change_group_file(ACTIVE_TIMES, text),
            // The place of another node is not ours.
            Kind::Applied | Kind::Pad | Kind::Relocation | Kind::Hole => Ok(()),
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
        // The final newline belongs to the wire form, not to the article.
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
            is_late: line.is_late,
            links: &links,
            sites: entry.sites(),
            header: &[Piece::wire(header)],
            body: Piece::wire(body),
            left_out: entry.left_out(&parsed),
            overview: OverviewFields::of(&parsed, line.id),
        })
        .map(drop)
    }

    /// Applies a cancel: its position is of the other log, so its id finds the article.
    fn apply_cancel(&mut self, text: &[u8]) -> Result<(), Error> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let Some(line) = CancelLine::parse(text) else {
            return Ok(());
        };
        let Some(position) = self.find(line.id)?.and_then(|line| line.position) else {
            return Ok(());
        };
        let here = CancelLine { position, ..line };
        self.log_cancel(&here)
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

    fn apply_serials(&mut self, text: &[u8]) -> Result<(), Error> {
        let mut told = Serials::default();
        told.apply(text);
        match text.starts_with(WHOLE_COPY) && told == *self.serials()? {
            true => Ok(()),
            false => self.change_serials(text),
        }
    }

    fn apply_pending_cancels(&mut self, text: &[u8]) -> Result<(), Error> {
        if text.starts_with(WHOLE_COPY) {
            let mut told = PendingCancels::default();
            told.apply(text);
            return match told == *self.pending_cancels()? {
                true => Ok(()),
                false => self.change_pending_cancels(text),
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
