//! What readers ask (RFC 3977, 6 to 8; RFC 6048; RFC 2980): the selected group, and long answers, which are written piece by piece.
//!
//! *Invariant:* while an answer is written no other command is looked at, so the selected group stays what it is.

use article::decimal;

use crate::backend::{Backend, BackendError, Marks};
use crate::command::Command;
use crate::out::Out;
use crate::range::Range;

use super::headers::Headers;
use super::listing::Listing;
use super::news::News;
use super::reply::{NO_CURRENT, PIECE_BYTES, PIECE_LOOKS_MAX, push_found, refuse};
use super::{Session, State};

/// RFC 3977: no such group.
const NO_GROUP: &[u8] = b"411 No such group\r\n";

/// Where a reader is.
#[derive(Debug, Default)]
pub struct Reader {
    pub(super) selected: Option<Selected>,
    work: Option<Work>,
}

/// The selected group.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) group: Box<[u8]>,
    /// The current article number, if it is valid.
    pub(super) current: Option<u64>,
    /// Who it is has changed since it was selected.
    is_doubtful: bool,
}

/// An answer that is not written to its end.
#[derive(Debug)]
enum Work {
    /// LISTGROUP
    Numbers(Range),
    /// OVER
    Over(Range),
    /// HDR, XPAT
    Headers(Headers),
    /// NEWNEWS
    News(News),
    /// LIST, NEWGROUPS, XGTITLE
    List(Listing),
}

impl Reader {
    /// True while a long answer is not written to its end.
    pub fn is_at_work(&self) -> bool {
        self.work.is_some()
    }

    /// Who it is has changed: what is selected may be closed to the client now.
    pub(super) fn doubt(&mut self) {
        if let Some(selected) = &mut self.selected {
            selected.is_doubtful = true;
        }
    }

    /// The selected group; says that there is none.
    pub(super) fn selected<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<&mut Selected> {
        let is_closed = |selected: &mut Selected| {
            std::mem::take(&mut selected.is_doubtful) && !backend.may_read(&selected.group)
        };
        if self.selected.as_mut().is_some_and(is_closed) {
            self.selected = None;
        }
        if self.selected.is_none() {
            out.push(b"412 No group is selected\r\n");
        }
        self.selected.as_mut()
    }
}

impl Session {
    /// Obeys a reader's command. Of a long answer the first line is written.
    pub(super) fn read<W: Backend>(
        &mut self,
        command: Command<'_>,
        backend: &mut W,
        out: &mut Out,
    ) {
        match command {
            Command::Date => return Session::date(backend, out),
            Command::Help => return Session::help(out),
            Command::ModeReader => return self.mode_reader(out),
            _ if !self.permissions.reads => return self.deny(out),
            _ => {}
        }
        self.reader.work = match command {
            Command::Get(part, which) => return self.get(part, which, backend, out),
            Command::Group(name) => return self.group(name, backend, out),
            Command::Next => return self.go(true, backend, out),
            Command::Last => return self.go(false, backend, out),
            Command::ListGroup(name, range) => {
                let numbers = self.list_group(name, range, backend, out);
                numbers.map(Work::Numbers)
            }
            Command::Over(articles, is_old) => {
                let range = self.over(articles, is_old, backend, out);
                range.map(Work::Over)
            }
            Command::Hdr(field, articles, is_old) => {
                let headers = self.headers(field, articles, is_old, backend, out);
                headers.map(Work::Headers)
            }
            Command::XPat(field, articles, pattern) => {
                let headers = self.find_pattern(field, articles, pattern, backend, out);
                headers.map(Work::Headers)
            }
            Command::List(what, argument) => {
                let list = Session::list(what, argument, backend, out);
                list.map(Work::List)
            }
            Command::XGTitle(pattern) => self.titles(pattern, backend, out).map(Work::List),
            Command::NewGroups(date, time, is_gmt) => {
                let groups = Session::new_groups((date, time, is_gmt), backend, out);
                groups.map(Work::List)
            }
            Command::NewNews(pattern, date, time, is_gmt) => {
                let news = Session::new_news(pattern, (date, time, is_gmt), backend, out);
                news.map(Work::News)
            }
            _ => return out.push(b"500 No such command\r\n"),
        };
    }

    /// Writes more of a long answer: about [`PIECE_BYTES`], or as much as [`PIECE_LOOKS_MAX`] look-ups give.
    pub(super) fn go_on<W: Backend>(&mut self, backend: &mut W, out: &mut Out) {
        let Some(mut work) = self.reader.work.take() else {
            return;
        };
        let selected = self.reader.selected.as_ref();
        let group = selected.map_or(&b""[..], |selected| &selected.group);
        let is_more = match &mut work {
            Work::Numbers(range) => write_numbers(range, group, backend, out),
            Work::Over(range) => write_rows(range, group, backend, out),
            Work::Headers(headers) => headers.write(group, backend, out),
            Work::News(news) => news.write(backend, out),
            Work::List(list) => list.write(backend, out),
        };
        match is_more {
            Ok(true) => self.reader.work = Some(work),
            Ok(false) => out.push(b".\r\n"),
            // The first line is said, and half an answer must not look like a whole one: the connection ends without the dot.
            Err(_) => self.state = State::Over,
        }
    }

    fn mode_reader(&mut self, out: &mut Out) {
        let permissions = self.permissions;
        match (permissions.posts, permissions.reads || self.could_log_in()) {
            (true, _) => out.push(b"200 Posting allowed\r\n"),
            (false, true) => out.push(b"201 No posting\r\n"),
            (false, false) => {
                // RFC 3977, 5.3.2: the one command after which 502 ends the connection.
                out.push(b"502 No reading here\r\n");
                self.state = State::Over;
            }
        }
    }

    fn group<W: Backend>(&mut self, name: &[u8], backend: &mut W, out: &mut Out) {
        if let Some((marks, count)) = self.select(name, backend, out) {
            push_group(name, marks, count, b"\r\n", &mut out.text());
        }
    }

    fn list_group<W: Backend>(
        &mut self,
        name: Option<&[u8]>,
        range: Option<Range>,
        backend: &mut W,
        out: &mut Out,
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

    /// Selects a group: its first article becomes the current one (RFC 3977, 6.1.1.2). Says why not.
    fn select<W: Backend>(
        &mut self,
        name: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) -> Option<(Marks, u64)> {
        // Before it is looked up: whether there is a group that is closed to the client shows in no answer.
        if !backend.may_read(name) {
            out.push(match self.could_log_in() {
                true => self.denial(),
                false => NO_GROUP,
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
        let (mut marks, count, current) = match look() {
            Ok(seen) => seen,
            Err(trouble) => {
                refuse(trouble, out);
                return None;
            }
        };
        if count == 0 {
            // The form of an empty group that RFC 3977, 6.1.1.2 prefers.
            marks.low = marks.high.saturating_add(1);
        }
        let group = name.into();
        self.reader.selected = Some(Selected {
            group,
            current,
            is_doubtful: false,
        });
        Some((marks, count))
    }

    /// NEXT and LAST.
    fn go<W: Backend>(&mut self, is_next: bool, backend: &mut W, out: &mut Out) {
        let Some(selected) = self.reader.selected(backend, out) else {
            return;
        };
        let Some(mut number) = selected.current else {
            return out.push(NO_CURRENT);
        };
        loop {
            let found = match is_next {
                true => backend.next(&selected.group, number, u64::MAX),
                false => backend.previous(&selected.group, number, 0),
            };
            let place = match found {
                Ok(Some((found, place))) => {
                    number = found;
                    place
                }
                Ok(None) if is_next => return out.push(b"421 That was the last article\r\n"),
                Ok(None) => return out.push(b"422 That was the first article\r\n"),
                Err(trouble) => return refuse(trouble, out),
            };
            match backend.article(place) {
                Ok(Some(article)) => {
                    selected.current = Some(number);
                    return push_found(b"223 ", number, article.id, &mut out.text());
                }
                // It was removed between the two questions.
                Ok(None) => {}
                Err(trouble) => return refuse(trouble, out),
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
    out: &mut Out,
) -> Result<bool, BackendError> {
    if range.low > range.high {
        return Ok(false);
    }
    let mut numbers = Vec::new();
    let limit = PIECE_LOOKS_MAX;
    let next = backend.numbers(group, range.low, range.high, limit, &mut numbers)?;
    let mut text = out.text();
    let text: &mut Vec<u8> = &mut text;
    for number in numbers {
        decimal::push(text, number);
        text.extend_from_slice(b"\r\n");
    }
    Ok(range.go_on(next))
}

fn write_rows<W: Backend>(
    range: &mut Range,
    group: &[u8],
    backend: &mut W,
    out: &mut Out,
) -> Result<bool, BackendError> {
    let rows = backend.rows(group, range.low, range.high, PIECE_BYTES, out)?;
    Ok(range.go_on(rows.next))
}
