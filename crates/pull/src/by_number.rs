//! Reading groups by their numbers: GROUP, OVER.

use nntp::client::{GroupMarks, is_id, listed};

use crate::connection::ROW_BYTES_MAX;
use crate::error::Error;
use crate::fetch::Row;
use crate::leafnode;
use crate::marks::Mark;
use crate::news::SHOWN;
use crate::plan::{Plan, first_mark, plan, renumbered};
use crate::run::Visit;

/// Most numbers of one request for an overview.
pub const ROWS_MAX: u64 = 2000;

/// Most portions of [`ROWS_MAX`] numbers without an article that one visit asks for in a group.
pub const EMPTY_PORTIONS_MAX: u64 = 1000;

/// Numbers before a mark whose article has gone: their articles show whether the server has numbered anew.
const NEARBY_NUMBERS: u64 = 100;

impl Visit<'_> {
    /// Reads what is new in some groups. Three round trips do for all groups with few new articles: the numbers, the overviews, and the
    /// articles.
    pub(crate) fn by_number(&mut self, groups: &[&[u8]]) -> Result<(), Error> {
        let mut small = Vec::new();
        for (group, marks) in self.ask(groups)? {
            let mark = match self.marks.get(group) {
                Some(mark) => mark.clone(),
                None => {
                    let mark = first_mark(marks, self.source.first);
                    self.marks.set(group, mark.clone());
                    mark
                }
            };
            let plan = plan(&mark, marks, self.source.first);
            match plan {
                Plan::Nothing => {}
                Plan::Read { from, until, .. } if until - from < ROWS_MAX => {
                    small.push((group, marks, plan));
                }
                _ => self.group(group, marks, plan)?,
            }
        }
        let mut commands = Vec::new();
        for (group, _, plan) in &small {
            if let Plan::Read { from, until, .. } = plan {
                select(&mut commands, group);
                self.ask_rows(&mut commands, (*from, *until));
            }
        }
        self.connection.send(&commands)?;
        let mut lists = Vec::new();
        for (group, marks, plan) in small {
            // A group that has gone meanwhile has no rows: the group before is still selected.
            let is_there = self.numbers(group)?.is_some();
            let Plan::Read {
                from,
                until,
                is_checked,
            } = plan
            else {
                continue;
            };
            if let Some(rows) = self.receive_rows(group, (from, until))?
                && is_there
            {
                lists.push((group, marks, is_checked, rows));
            }
        }
        let (mut same, mut anew) = (Vec::with_capacity(lists.len()), Vec::new());
        for (group, marks, is_checked, mut rows) in lists {
            if self.is_anew(group, is_checked, &mut rows)? {
                anew.push((group, marks))
            } else {
                same.push((group, rows))
            }
        }
        self.fetch(&same)?;
        for (group, marks) in anew {
            let plan = renumbered(marks, self.source.first);
            self.group(group, marks, plan)?;
        }
        Ok(())
    }

    /// Asks for the numbers of groups, and returns those of the groups that the server has.
    fn ask<'g>(&mut self, groups: &[&'g [u8]]) -> Result<Vec<(&'g [u8], GroupMarks)>, Error> {
        let mut commands = Vec::new();
        for group in groups {
            select(&mut commands, group);
        }
        self.connection.send(&commands)?;
        let mut there = Vec::new();
        for group in groups {
            match self.numbers(group)? {
                None if self.left_out.contains(*group) => {}
                None => self.pulled.groups_missing += 1,
                Some(marks) => {
                    self.pulled.groups += 1;
                    there.push((*group, marks));
                }
            }
        }
        Ok(there)
    }

    /// The numbers of the reply to GROUP; `None` if the group is not selected.
    pub(crate) fn numbers(&mut self, group: &[u8]) -> Result<Option<GroupMarks>, Error> {
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        if reply.code != 411 && reply.is_refusal() {
            self.leave_out(group, reply);
            return Ok(None);
        }
        Ok(GroupMarks::of(reply)?)
    }

    /// Compares the first row with the mark, and removes it if it is the same article. No reply is awaited.
    fn is_anew(
        &mut self,
        group: &[u8],
        is_checked: bool,
        rows: &mut Vec<Row>,
    ) -> Result<bool, Error> {
        let Some(mark) = self.marks.get(group).filter(|_| is_checked) else {
            return Ok(false);
        };
        let (number, id) = (mark.number, mark.id.clone());
        match rows.first() {
            Some(row) if row.number == number => {
                let is_same = Some(&row.id) == id.as_ref();
                if is_same {
                    rows.remove(0);
                }
                Ok(!is_same)
            }
            _ => self.is_anew_nearby(group, number, id.as_deref()),
        }
    }

    /// Whether the server has numbered anew, although the article of the mark has gone: the articles before it are unknown here. If the history
    /// has forgotten that article, or its neighbours were never asked for, that is no sign. The mark goes back to the last of those that are known.
    fn is_anew_nearby(
        &mut self,
        group: &[u8],
        number: u64,
        id: Option<&[u8]>,
    ) -> Result<bool, Error> {
        let is_known = id.map_or(Ok(false), |id| self.snapshot.has(id))?;
        if !is_known || self.source.first == 0 {
            return Ok(false);
        }
        let range = (
            number.saturating_sub(NEARBY_NUMBERS).max(1),
            number.saturating_sub(1),
        );
        let mut commands = Vec::new();
        select(&mut commands, group);
        self.ask_rows(&mut commands, range);
        self.connection.send(&commands)?;
        let is_there = self.numbers(group)?.is_some();
        let rows = self.receive_rows(group, range)?.unwrap_or_default();
        let Some(last) = rows.last().filter(|_| is_there) else {
            return Ok(false);
        };
        for row in &rows {
            if self.was_known(&row.id)? {
                self.marks.set(group, last.mark());
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an article was known here, or refused by the server, before this visit: only such an article shows how far a group was read.
    fn was_known(&self, id: &[u8]) -> Result<bool, Error> {
        let is_of_this_visit = self.fetched.contains(id);
        Ok(!is_of_this_visit && self.snapshot.has(id)? || self.marks.is_refused(id))
    }

    /// Reads a group with many new articles, or one that is numbered anew.
    fn group(&mut self, group: &[u8], marks: GroupMarks, plan: Plan) -> Result<(), Error> {
        let mut command = Vec::new();
        select(&mut command, group);
        self.connection.send(&command)?;
        if self.numbers(group)?.is_none() {
            return Ok(());
        }
        match plan {
            Plan::Nothing => {}
            Plan::Overlap { from, until, last } => self.overlap(group, (from, until), last)?,
            Plan::Read {
                from,
                until,
                is_checked,
            } => {
                let mut empty = 0;
                for range in portions(from, until) {
                    let Some(mut rows) = self.rows(group, range)? else {
                        return Ok(());
                    };
                    empty = if rows.is_empty() { empty + 1 } else { 0 };
                    if empty == EMPTY_PORTIONS_MAX {
                        self.is_any_unread = true;
                        let number = range.1;
                        if !self.held.contains(group) {
                            self.marks.set(group, Mark { number, id: None });
                        }
                        let group = group.escape_ascii();
                        self.news.message(&format!("{group}: the server has no articles up to number {number}, and says that the last one is {until}; the next run goes on there"));
                        break;
                    }
                    if range.0 == from
                        && self.is_anew(group, is_checked, &mut rows)?
                        && let Plan::Overlap { from, until, last } =
                            renumbered(marks, self.source.first)
                    {
                        return self.overlap(group, (from, until), last);
                    }
                    self.fetch(&[(group, rows)])?;
                }
            }
        }
        Ok(())
    }

    /// Reads a selected group whose numbers mean something else than before.
    fn overlap(&mut self, group: &[u8], (from, until): (u64, u64), last: u64) -> Result<(), Error> {
        self.pulled.groups_renumbered += 1;
        let mut rows = Vec::new();
        for range in portions(from, until) {
            let Some(mut some) = self.rows(group, range)? else {
                return Ok(());
            };
            rows.append(&mut some);
        }
        let mut first_known = None;
        for (at, row) in rows.iter().enumerate() {
            if self.was_known(&row.id)? {
                first_known = Some(at);
                break;
            }
        }
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        let start = first_known.unwrap_or(rows.len().saturating_sub(last));
        let rows = rows.split_off(start);
        if first_known.is_none() {
            let (group, count) = (group.escape_ascii(), rows.len());
            self.news.message(&format!("{group}: the server has numbered the group anew, and none of its articles is known here; its last {count} are fetched"));
        }
        if let Some(row) = rows.first() {
            // A mark among the numbers of before does not hold the group before an article that the server refuses.
            let number = row.number.saturating_sub(1);
            self.marks.set(group, Mark { number, id: None });
        }
        self.fetch(&[(group, rows)])
    }

    /// The overview of a range of the selected group; `None` if the server refuses it.
    fn rows(&mut self, group: &[u8], range: (u64, u64)) -> Result<Option<Vec<Row>>, Error> {
        let mut command = Vec::new();
        self.ask_rows(&mut command, range);
        self.connection.send(&command)?;
        self.receive_rows(group, range)
    }

    fn ask_rows(&self, out: &mut Vec<u8>, (from, until): (u64, u64)) {
        let word = if self.ready.has_over { "OVER" } else { "XOVER" };
        out.extend_from_slice(format!("{word} {from}-{until}\r\n").as_bytes());
    }

    fn receive_rows(
        &mut self,
        group: &[u8],
        (from, until): (u64, u64),
    ) -> Result<Option<Vec<Row>>, Error> {
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        match reply.code {
            224 => {}
            // No articles in this range, or no group.
            412 | 420 | 423 => return Ok(Some(Vec::new())),
            _ if reply.is_refusal() => {
                self.leave_out(group, reply);
                return Ok(None);
            }
            _ => return Err(reply.to_error().into()),
        }
        let mut rows: Vec<Row> = Vec::new();
        let mut lines = 0;
        loop {
            let line = self.connection.line(ROW_BYTES_MAX)?;
            if line == b"." {
                break;
            }
            lines += 1;
            if lines > ROWS_MAX {
                let group = group.escape_ascii();
                return Err(Error::Endless(format!(
                    "overview of {group} ({ROWS_MAX} rows are read, and no more were asked for)"
                )));
            }
            let Some(row) = listed(line) else {
                self.pulled.pass_over_row(group, line, self.news);
                continue;
            };
            if leafnode::is_placeholder(row.id) {
                self.placeholder(group);
            } else if !(from..=until).contains(&row.number) {
                // Not asked for.
            } else if !is_id(row.id) {
                self.pulled.pass_over(row.id, self.news);
            } else {
                rows.push(Row {
                    number: row.number,
                    id: row.id.into(),
                });
            }
        }
        // The marks pass the rows in this order; the server may have another one.
        rows.sort_by_key(|row| row.number);
        rows.dedup_by_key(|row| row.number);
        Ok(Some(rows))
    }

    /// Notes that a group has no articles yet; its mark stays where it is.
    fn placeholder(&mut self, group: &[u8]) {
        self.pulled.placeholders += 1;
        if self.pulled.placeholders <= SHOWN {
            let group = group.escape_ascii();
            self.news.message(&format!("{group}: the server (leafnode) has no articles of this group yet, since nobody has read it there; it fetches them now that the group was asked for"));
        }
    }
}

pub(crate) fn select(commands: &mut Vec<u8>, group: &[u8]) {
    commands.extend_from_slice(&[b"GROUP ", group, b"\r\n"].concat());
}

/// A range in portions of [`ROWS_MAX`] numbers.
fn portions(from: u64, until: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut next = Some(from).filter(|from| *from <= until);
    std::iter::from_fn(move || {
        let from = next?;
        let end = until.min(from.saturating_add(ROWS_MAX - 1));
        next = end.checked_add(1).filter(|next| *next <= until);
        Some((from, end))
    })
}
