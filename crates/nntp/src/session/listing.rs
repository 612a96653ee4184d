//! LIST (RFC 3977, 7.6; RFC 6048), NEWGROUPS (RFC 3977, 7.3) and XGTITLE (RFC 2980, 2.5).
//!
//! Lists omit groups that the client may not read (for a peer that reads and posts nothing: may not send articles to), and everything that names them: the target of an alias, and lines of other lists
//! whose patterns begin with their names.

use std::sync::Arc;

use article::decimal;
use groups::active::GroupId;
use groups::{Active, Flag, Wildmat, times};

use crate::backend::{Backend, BackendError, ControlFile};
use crate::command::ListKeyword;
use crate::out::OutBuffer;

use super::Session;
use super::news::{When, seconds};
use super::reply::{PIECE_BYTES, PIECE_LOOKUPS_MAX, TimeSlice, refuse};

/// Selects the groups of a list.
#[derive(Debug)]
enum GroupFilter {
    All,
    One(Box<[u8]>),
    Matching(Wildmat),
}

/// An unfinished list.
#[derive(Debug)]
pub(super) enum Listing {
    /// LIST ACTIVE and the like
    Groups(GroupList),
    /// LIST of a file
    Lines(LineList),
}

/// An unfinished list of groups.
#[derive(Debug)]
pub(super) struct GroupList {
    /// The groups when the list began. Marks and counts belong to the groups of now, which may have other ids.
    active: Arc<Active>,
    /// The next group to examine.
    at: u32,
    end: u32,
    filter: GroupFilter,
    with_counts: bool,
}

/// An unfinished list of a file's lines.
#[derive(Debug)]
pub(super) struct LineList {
    text: Arc<Vec<u8>>,
    /// Examined bytes.
    at: usize,
    kind: LineKind,
}

#[derive(Debug)]
enum LineKind {
    /// Lines that begin with a group; comments are omitted.
    Groups(GroupFilter),
    /// Lines of `active` for groups created at this time (seconds since 1970) or later.
    CreatedSince(u64),
    /// Lines with fields separated by colons, of which this one (from 0) is a pattern of groups; comments are omitted.
    Patterns(usize),
    /// Lines; comments are omitted.
    Plain,
    /// Lines as they are.
    Verbatim,
}

const LIST_FOLLOWS: &[u8] = b"215 List follows\r\n";
const NOT_KEPT: &[u8] = b"503 List not available\r\n";

impl Session {
    pub(super) fn list<W: Backend>(
        what: ListKeyword,
        argument: Option<&[u8]>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Listing> {
        let filter = argument.map_or(GroupFilter::All, GroupFilter::by);
        let (file, kind) = match what {
            ListKeyword::Active | ListKeyword::XActive | ListKeyword::Counts => {
                out.push(LIST_FOLLOWS);
                let groups = GroupList::new(backend.active(), filter, what == ListKeyword::Counts);
                return Some(Listing::Groups(groups));
            }
            ListKeyword::Headers => {
                out.push(HEADERS);
                return None;
            }
            // The session replies to it before it asks for permissions.
            ListKeyword::Extensions => {
                out.push(NOT_KEPT);
                return None;
            }
            ListKeyword::OverviewFmt => {
                out.push(OVERVIEW_FMT);
                return None;
            }
            ListKeyword::ActiveTimes => (ControlFile::ActiveTimes, LineKind::Groups(filter)),
            ListKeyword::Newsgroups => (ControlFile::Newsgroups, LineKind::Groups(filter)),
            ListKeyword::Subscriptions => (ControlFile::Subscriptions, LineKind::Groups(filter)),
            ListKeyword::DistribPats => (ControlFile::DistribPats, LineKind::Patterns(1)),
            ListKeyword::Distributions => (ControlFile::Distributions, LineKind::Plain),
            ListKeyword::Moderators => (ControlFile::Moderators, LineKind::Patterns(0)),
            ListKeyword::Motd => (ControlFile::Motd, LineKind::Verbatim),
        };
        match backend.file(file) {
            Ok(Some(text)) => return Some(show(LIST_FOLLOWS, text, kind, out)),
            // LIST NEWSGROUPS is mandatory (RFC 3977, 7.6.6); without a file it is empty. A server on which no group was created
            // yet has no active.times.
            Ok(None) if matches!(what, ListKeyword::Newsgroups | ListKeyword::ActiveTimes) => {
                return Some(show(LIST_FOLLOWS, Arc::default(), kind, out));
            }
            Ok(None) => out.push(NOT_KEPT),
            Err(error) => refuse(error, out),
        }
        None
    }

    /// The LIST line of CAPABILITIES.
    pub(super) fn lists<W: Backend>(&self, backend: &mut W) -> String {
        let mut line = "LIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES".to_owned();
        for (capability, keyword) in [("HDR", " HEADERS"), ("OVER", " OVERVIEW.FMT")] {
            if self.capabilities.has(capability) {
                line.push_str(keyword);
            }
        }
        for (file, keyword) in [
            (ControlFile::DistribPats, " DISTRIB.PATS"),
            (ControlFile::Distributions, " DISTRIBUTIONS"),
            (ControlFile::Moderators, " MODERATORS"),
            (ControlFile::Motd, " MOTD"),
            (ControlFile::Subscriptions, " SUBSCRIPTIONS"),
        ] {
            if matches!(backend.file(file), Ok(Some(_))) {
                line.push_str(keyword);
            }
        }
        line
    }

    /// LIST EXTENSIONS: the extensions of RFC 2980's time that a client may use now.
    pub(super) fn extensions<W: Backend>(&self, backend: &W, out: &mut OutBuffer) {
        let mut lines: Vec<String> = Vec::new();
        if self.capabilities.has("READER") {
            lines.push("LISTGROUP".to_owned());
        }
        for name in ["OVER", "HDR"] {
            if self.capabilities.has(name) {
                lines.push(name.to_owned());
            }
        }
        let mut identity = Vec::new();
        self.push_identity_capabilities(backend, &mut identity);
        // The old form of AUTHINFO names no SASL mechanisms.
        identity.retain(|line| line.starts_with("STARTTLS") || line.starts_with("AUTHINFO USER"));
        let words = |line: String| line.replace(" SASL", "");
        lines.extend(identity.into_iter().map(words));
        let mut text = out.text();
        text.extend_from_slice(b"202 Extensions follow\r\n");
        for line in lines {
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b".\r\n");
    }

    /// XGTITLE
    pub(super) fn titles<W: Backend>(
        &mut self,
        pattern: Option<&[u8]>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Listing> {
        let filter = match (pattern, &self.reader.selected) {
            (Some(pattern), _) => GroupFilter::by(pattern),
            (None, Some(selected)) => GroupFilter::One(selected.group.clone()),
            (None, None) => {
                out.push(b"481 Wildmat or selected group required\r\n");
                return None;
            }
        };
        match backend.file(ControlFile::Newsgroups) {
            Ok(Some(text)) => {
                return Some(show(
                    b"282 List follows\r\n",
                    text,
                    LineKind::Groups(filter),
                    out,
                ));
            }
            Ok(None) => out.push(b"481 No group descriptions available\r\n"),
            Err(error) => refuse(error, out),
        }
        None
    }

    pub(super) fn new_groups<W: Backend>(
        when: When<'_>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Listing> {
        let since = seconds(when, backend, out)?;
        let since = u64::try_from(since).unwrap_or(0);
        match backend.file(ControlFile::ActiveTimes) {
            Ok(text) => {
                let kind = LineKind::CreatedSince(since);
                let text = text.unwrap_or_default();
                Some(show(b"231 New groups follow\r\n", text, kind, out))
            }
            Err(error) => {
                refuse(error, out);
                None
            }
        }
    }
}

fn show(first: &[u8], text: Arc<Vec<u8>>, kind: LineKind, out: &mut OutBuffer) -> Listing {
    out.push(first);
    Listing::Lines(LineList { text, at: 0, kind })
}

/// Reply to LIST HEADERS: HDR takes any header, and these metadata items (RFC 3977, 8.6.2).
const HEADERS: &[u8] = b"215 Field list follows\r\n:\r\n:bytes\r\n:lines\r\n.\r\n";

/// Reply to LIST OVERVIEW.FMT, with the older names of `:bytes` and `:lines`, which RFC 3977, 8.4.2 allows: slrn ignores an overview
/// with others.
const OVERVIEW_FMT: &[u8] = b"215 Fields of the overview follow\r\n\
    Subject:\r\nFrom:\r\nDate:\r\nMessage-ID:\r\nReferences:\r\nBytes:\r\nLines:\r\nXref:full\r\n.\r\n";

impl GroupFilter {
    fn by(pattern: &[u8]) -> GroupFilter {
        let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\' | b',' | b'!');
        if pattern.iter().any(is_special) {
            GroupFilter::Matching(Wildmat::parse(pattern))
        } else {
            GroupFilter::One(pattern.into())
        }
    }

    fn has(&self, group: &[u8], slice: &mut TimeSlice) -> bool {
        match self {
            GroupFilter::All => true,
            GroupFilter::One(name) => **name == *group,
            GroupFilter::Matching(wildmat) => wildmat.matches_counted(group, &mut slice.work),
        }
    }
}

impl Listing {
    /// Writes the next piece. Returns true if the reply is unfinished.
    pub(super) fn write<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Result<bool, BackendError> {
        match self {
            Listing::Groups(groups) => groups.write(backend, out),
            Listing::Lines(lines) => lines.write(backend, out),
        }
    }
}

impl GroupList {
    fn new(active: Arc<Active>, filter: GroupFilter, with_counts: bool) -> GroupList {
        let all = (0, u32::try_from(active.id_end()).unwrap_or(u32::MAX));
        let (at, end) = match &filter {
            GroupFilter::One(name) => match active.find(name) {
                Some(GroupId(id)) => (id, id.saturating_add(1)),
                None => (0, 0),
            },
            _ => all,
        };
        GroupList {
            active,
            at,
            end,
            filter,
            with_counts,
        }
    }

    /// Writes the next piece. Returns true if the reply is unfinished.
    fn write<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Result<bool, BackendError> {
        let mut text = out.text();
        let text: &mut Vec<u8> = &mut text;
        let full = text.len().saturating_add(PIECE_BYTES);
        // Counting the articles of a group costs more than a line.
        let most = PIECE_LOOKUPS_MAX / if self.with_counts { 16 } else { 1 };
        let mut slice = TimeSlice::default();
        let now = backend.active();
        for _ in 0..most {
            if self.at >= self.end || text.len() >= full {
                break;
            }
            let id = GroupId(self.at);
            self.at += 1;
            self.write_one((id, &*now), &mut slice, backend, text)?;
            if slice.is_over(backend) {
                break;
            }
        }
        Ok(self.at < self.end)
    }

    fn write_one<W: Backend>(
        &self,
        (id, now): (GroupId, &Active),
        slice: &mut TimeSlice,
        backend: &mut W,
        text: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        let name = self.active.name(id);
        if name.is_empty() || !self.filter.has(name, slice) || !backend.may_list(name) {
            return Ok(());
        }
        let found = if std::ptr::eq(&*self.active, now) {
            Some(id)
        } else {
            now.find(name)
        };
        let Some(id) = found else {
            return Ok(());
        };
        let count = if self.with_counts {
            slice.check_next();
            Some(backend.count(id)?)
        } else {
            None
        };
        push_group(now, id, count, backend, text)
    }
}

/// `group high low flag` (RFC 3977, 7.6.3), or `group high low count flag` (RFC 6048, 2.2).
fn push_group<W: Backend>(
    active: &Active,
    id: GroupId,
    count: Option<u64>,
    backend: &mut W,
    text: &mut Vec<u8>,
) -> Result<(), BackendError> {
    let marks = backend.marks(id)?;
    let flag = match active.flag(id) {
        // The name would reveal that the group exists.
        Flag::Alias(target) if !backend.may_list(target) => Flag::NoPosting,
        flag => flag,
    };
    text.extend_from_slice(active.name(id));
    let numbers = [Some(marks.high), Some(marks.low), count];
    for number in numbers.into_iter().flatten() {
        text.push(b' ');
        decimal::push(text, number);
    }
    text.push(b' ');
    flag.push(text);
    text.extend_from_slice(b"\r\n");
    Ok(())
}

/// Whether the client may see a line with this pattern of groups: no part of it begins with a name, or the beginning of names, of a
/// group that the client may not read.
fn is_open<W: Backend>(pattern: &[u8], backend: &mut W) -> bool {
    pattern.split(|&byte| byte == b',').all(|part| {
        let part = without_signs(part).split(|byte| matches!(byte, b'*' | b'?' | b'['));
        let name = part.into_iter().next().unwrap_or_default().trim_ascii();
        // `\x' is x.
        let name: Vec<u8> = name.iter().copied().filter(|&byte| byte != b'\\').collect();
        name.is_empty() || backend.may_list(&name)
    })
}

/// A pattern without its signs and the blanks around them.
fn without_signs(mut pattern: &[u8]) -> &[u8] {
    while let [b'!' | b'@' | b' ' | b'\t', rest @ ..] = pattern {
        pattern = rest;
    }
    pattern
}

impl LineList {
    /// Writes the next piece. Returns true if the reply is unfinished.
    fn write<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Result<bool, BackendError> {
        let mut text = out.text();
        let text: &mut Vec<u8> = &mut text;
        let full = text.len().saturating_add(PIECE_BYTES);
        let mut slice = TimeSlice::default();
        for _ in 0..PIECE_LOOKUPS_MAX {
            let rest = self.text.get(self.at..).unwrap_or_default();
            if rest.is_empty() || text.len() >= full {
                break;
            }
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            self.at += end;
            let line = rest.get(..end).unwrap_or_default();
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.kind.write(line, &mut slice, backend, text)?;
            if slice.is_over(backend) {
                break;
            }
        }
        Ok(self.at < self.text.len())
    }
}

impl LineKind {
    fn write<W: Backend>(
        &self,
        line: &[u8],
        slice: &mut TimeSlice,
        backend: &mut W,
        text: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        let is_comment = line.trim_ascii().is_empty() || line.first() == Some(&b'#');
        match self {
            LineKind::Groups(filter) => {
                let end = memchr::memchr2(b' ', b'\t', line).unwrap_or(line.len());
                let group = line.get(..end).unwrap_or_default();
                let is_group = !is_comment && !group.is_empty();
                let name = without_signs(group);
                if is_group && filter.has(group, slice) && backend.may_list(name) {
                    push_line(line, text);
                }
            }
            LineKind::CreatedSince(since) => {
                let active = backend.active();
                let birth = times::since(line, *since).next();
                if let Some(id) = birth.and_then(|birth| active.find(birth.group))
                    && backend.may_list(active.name(id))
                {
                    push_group(&active, id, None, backend, text)?;
                }
            }
            LineKind::Patterns(_) | LineKind::Plain if is_comment => {}
            LineKind::Patterns(field) => {
                let pattern = line.split(|&byte| byte == b':').nth(*field);
                if is_open(pattern.unwrap_or_default().trim_ascii(), backend) {
                    push_line(line, text);
                }
            }
            LineKind::Plain | LineKind::Verbatim => push_line(line, text),
        }
        Ok(())
    }
}

/// Appends a line of a file: its first dot doubled, CR and NUL replaced.
fn push_line(line: &[u8], text: &mut Vec<u8>) {
    if line.first() == Some(&b'.') {
        text.push(b'.');
    }
    match memchr::memchr2(b'\r', 0, line) {
        None => text.extend_from_slice(line),
        Some(_) => text.extend(line.iter().map(|&byte| match byte {
            b'\r' | 0 => b' ',
            byte => byte,
        })),
    }
    text.extend_from_slice(b"\r\n");
}
