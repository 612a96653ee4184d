//! Commands of readers (RFC 3977, 6 to 8; RFC 6048; RFC 2980): the selected group, and long replies, which are written in pieces.
//!
//! *Invariant:* no other command is processed during a long reply, so the selected group stays the same.

use article::decimal;

use crate::backend::{Backend, BackendError, Marks};
use crate::command::Command;
use crate::out::OutBuffer;
use crate::range::Range;

use super::headers::Headers;
use super::listing::Listing;
use super::news::NewNews;
use super::reply::{NO_CURRENT, PIECE_BYTES, PIECE_LOOKUPS_MAX, push_found, refuse};
use super::{Session, State};

/// RFC 3977: no such group.
const NO_GROUP: &[u8] = b"411 No such group\r\n";

/// The state of a reader.
#[derive(Debug, Default)]
pub struct Reader {
    pub(super) selected: Option<Selected>,
    work: Option<LongReply>,
}

/// The selected group.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) group: Box<[u8]>,
    /// The current article number, if it is valid.
    pub(super) current: Option<u64>,
    /// The permissions have changed since the group was selected.
    must_recheck: bool,
}

/// An unfinished long reply.
#[derive(Debug)]
enum LongReply {
    /// LISTGROUP
    Numbers(Range),
    /// OVER
    Over(Range),
    /// HDR, XPAT
    Headers(Headers),
    /// NEWNEWS
    News(NewNews),
    /// LIST, NEWGROUPS, XGTITLE
    List(Listing),
}

impl Reader {
    /// True while a long reply is unfinished.
    pub fn has_long_reply(&self) -> bool {
        self.work.is_some()
    }

    /// Notes that the permissions have changed: the selected group may be closed to the client now.
    pub(super) fn recheck_selected(&mut self) {
        if let Some(selected) = &mut self.selected {
            selected.must_recheck = true;
        }
    }

    /// Returns the selected group, or replies that there is none.
    pub(super) fn selected<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<&mut Selected> {
        let is_closed = |selected: &mut Selected| {
            let must_recheck = std::mem::take(&mut selected.must_recheck);
            let is_closed = must_recheck && !backend.may_read(&selected.group);
            // Another program or a control message may have removed it.
            is_closed || backend.active().find(&selected.group).is_none()
        };
        if self.selected.as_mut().is_some_and(is_closed) {
            self.selected = None;
        }
        if self.selected.is_none() {
            out.push(b"412 No newsgroup selected\r\n");
        }
        self.selected.as_mut()
    }
}

impl Session {
    /// Executes a reader's command. Of a long reply it writes the first line.
    pub(super) fn read<W: Backend>(
        &mut self,
        command: Command<'_>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) {
        self.reader.work = match command {
            Command::Date => return Session::date(backend, out),
            Command::Help => return Session::help(out),
            Command::ModeReader => return self.mode_reader(out),
            Command::Get(part, which) => return self.get(part, which, backend, out),
            Command::Group(name) => return self.group(name, backend, out),
            Command::Next => return self.step_current(true, backend, out),
            Command::Last => return self.step_current(false, backend, out),
            Command::ListGroup(name, range) => {
                let numbers = self.list_group(name, range, backend, out);
                numbers.map(LongReply::Numbers)
            }
            Command::Over(articles, is_old) => {
                let range = self.over(articles, is_old, backend, out);
                range.map(LongReply::Over)
            }
            Command::Hdr(field, articles, is_old) => {
                let headers = self.headers(field, articles, is_old, backend, out);
                headers.map(LongReply::Headers)
            }
            Command::XPat(field, articles, pattern) => {
                let headers = self.find_pattern(field, articles, pattern, backend, out);
                headers.map(LongReply::Headers)
            }
            Command::List(what, argument) => {
                let list = Session::list(what, argument, backend, out);
                list.map(LongReply::List)
            }
            Command::XGTitle(pattern) => self.titles(pattern, backend, out).map(LongReply::List),
            Command::NewGroups(date, time, is_gmt) => {
                let groups = Session::new_groups((date, time, is_gmt), backend, out);
                groups.map(LongReply::List)
            }
            Command::NewNews(pattern, date, time, is_gmt) => {
                let news = Session::new_news(pattern, (date, time, is_gmt), backend, out);
                news.map(LongReply::News)
            }
            _ => return out.push(b"500 No such command\r\n"),
        };
    }

    /// Writes the next piece of a long reply: about [`PIECE_BYTES`], or the result of [`PIECE_LOOKUPS_MAX`] lookups.
    pub(super) fn continue_reply<W: Backend>(&mut self, backend: &mut W, out: &mut OutBuffer) {
        let Some(mut work) = self.reader.work.take() else {
            return;
        };
        let selected = self.reader.selected.as_ref();
        let group = selected.map_or(&b""[..], |selected| &selected.group);
        let is_more = match &mut work {
            LongReply::Numbers(range) => write_numbers(range, group, backend, out),
            LongReply::Over(range) => write_rows(range, group, backend, out),
            LongReply::Headers(headers) => headers.write(group, backend, out),
            LongReply::News(news) => news.write(backend, out),
            LongReply::List(list) => list.write(backend, out),
        };
        match is_more {
            Ok(true) | Err(BackendError::Pending) => self.reader.work = Some(work),
            Ok(false) => out.push(b".\r\n"),
            // The first line is out, and a truncated reply must not look complete: the connection ends without the dot.
            Err(BackendError::Failed) => self.state = State::Closed,
        }
    }

    fn mode_reader(&mut self, out: &mut OutBuffer) {
        let permissions = self.permissions;
        match (
            self.may_post() || self.could_post(),
            permissions.reads || self.could_log_in_later(),
        ) {
            (true, _) => out.push(b"200 Posting allowed\r\n"),
            (false, true) => out.push(b"201 Posting prohibited\r\n"),
            (false, false) => {
                // RFC 3977, 5.3.2: the one command after which 502 ends the connection.
                out.push(b"502 Reading not permitted\r\n");
                self.state = State::Closed;
            }
        }
    }

    fn group<W: Backend>(&mut self, name: &[u8], backend: &mut W, out: &mut OutBuffer) {
        if let Some((marks, count)) = self.select(name, backend, out) {
            push_group(name, marks, count, b"\r\n", &mut out.text());
        }
    }

    fn list_group<W: Backend>(
        &mut self,
        name: Option<&[u8]>,
        range: Option<Range>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Range> {
        let name: Box<[u8]> = match name {
            Some(name) => name.into(),
            None => self.reader.selected(backend, out)?.group.clone(),
        };
        let (marks, count) = self.select(&name, backend, out)?;
        push_group(&name, marks, count, b" list follows\r\n", &mut out.text());
        let (low, high) = range.map_or((0, u64::MAX), |range| (range.low, range.high));
        Some(Range {
            low: low.max(marks.low),
            high: high.min(marks.high),
        })
    }

    /// Selects a group, whose first article becomes the current one (RFC 3977, 6.1.1.2), or replies why not.
    fn select<W: Backend>(
        &mut self,
        name: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<(Marks, u64)> {
        // Before the lookup: no reply reveals whether a closed group exists.
        if !backend.may_read(name) {
            out.push(if self.could_log_in_later() {
                self.denial()
            } else {
                NO_GROUP
            });
            return None;
        }
        let Some(id) = backend.active().find(name) else {
            out.push(NO_GROUP);
            return None;
        };
        let mut look = || -> Result<(Marks, u64, Option<u64>), BackendError> {
            let count = backend.count(id)?;
            let first = match count {
                0 => None,
                _ => backend.next(name, 0, u64::MAX)?.map(|(number, _)| number),
            };
            Ok((backend.marks(id)?, count, first))
        };
        let (marks, count, current) = match look() {
            Ok(seen) => seen,
            Err(error) => {
                refuse(error, out);
                return None;
            }
        };
        backend.group_asked(name);
        let group = name.into();
        self.reader.selected = Some(Selected {
            group,
            current,
            must_recheck: false,
        });
        Some((marks, count))
    }

    /// NEXT and LAST.
    fn step_current<W: Backend>(&mut self, is_next: bool, backend: &mut W, out: &mut OutBuffer) {
        let Some(selected) = self.reader.selected(backend, out) else {
            return;
        };
        let Some(mut number) = selected.current else {
            return out.push(NO_CURRENT);
        };
        let mut id = Vec::new();
        loop {
            let found = if is_next {
                backend.next(&selected.group, number, u64::MAX)
            } else {
                backend.previous(&selected.group, number, 0)
            };
            let position = match found {
                Ok(Some((found, position))) => {
                    number = found;
                    position
                }
                Ok(None) if is_next => return out.push(b"421 No next article\r\n"),
                Ok(None) => return out.push(b"422 No previous article\r\n"),
                Err(error) => return refuse(error, out),
            };
            let asked = Some((&*selected.group, number));
            match backend.message_id(position, asked, &mut id) {
                Ok(true) => {
                    selected.current = Some(number);
                    return push_found(b"223 ", number, &id, &mut out.text());
                }
                // It was removed between the two lookups.
                Ok(false) => {}
                Err(error) => return refuse(error, out),
            }
        }
    }
}

fn push_group(name: &[u8], marks: Marks, count: u64, end: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(b"211 ");
    for number in [count, marks.low, marks.high] {
        decimal::push(text, number);
        text.push(b' ');
    }
    text.extend_from_slice(name);
    text.extend_from_slice(end);
}

fn write_numbers<W: Backend>(
    range: &mut Range,
    group: &[u8],
    backend: &mut W,
    out: &mut OutBuffer,
) -> Result<bool, BackendError> {
    if range.low > range.high {
        return Ok(false);
    }
    let mut numbers = Vec::new();
    let limit = PIECE_LOOKUPS_MAX;
    let next = backend.numbers(group, range.low, range.high, limit, &mut numbers)?;
    let mut text = out.text();
    let text: &mut Vec<u8> = &mut text;
    for number in numbers {
        decimal::push(text, number);
        text.extend_from_slice(b"\r\n");
    }
    Ok(range.advance_to(next))
}

fn write_rows<W: Backend>(
    range: &mut Range,
    group: &[u8],
    backend: &mut W,
    out: &mut OutBuffer,
) -> Result<bool, BackendError> {
    let rows = backend.rows(group, range.low, range.high, PIECE_BYTES, out)?;
    Ok(range.advance_to(rows.next))
}
