//! LIST (RFC 3977, 7.6; RFC 6048), NEWGROUPS (RFC 3977, 7.3) and XGTITLE (RFC 2980, 2.5).
//!
//! Groups that the client may not read are left out of all lists of groups, and so is what names them: the target of an alias, and
//! lines of other lists whose patterns begin with their names.

use std::sync::Arc;

use article::decimal;
use groups::active::GroupId;
use groups::{Active, Flag, Wildmat, times};

use crate::backend::{Backend, BackendError, ControlFile};
use crate::command::List;
use crate::out::Out;

use super::Session;
use super::news::{When, seconds};
use super::reply::{PIECE_BYTES, PIECE_LOOKS_MAX, Slice, refuse};

/// Which groups are asked for.
#[derive(Debug)]
enum Asked {
    All,
    One(Box<[u8]>),
    Matching(Wildmat),
}

/// A list that is not written to its end.
#[derive(Debug)]
pub(super) enum Listing {
    /// LIST ACTIVE and the like
    Groups(Groups),
    /// LIST of something that lies in a file
    Lines(Lines),
}

/// A list of groups.
#[derive(Debug)]
pub(super) struct Groups {
    active: Arc<Active>,
    /// The next to be looked at.
    at: u32,
    end: u32,
    asked: Asked,
    with_counts: bool,
}

/// A list that lies in a file.
#[derive(Debug)]
pub(super) struct Lines {
    text: Arc<Vec<u8>>,
    /// So much of it is looked at.
    at: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Lines that begin with a group; not comments.
    Groups(Asked),
    /// What `active` says of groups made at this time or later.
    Born(u64, Arc<Active>),
    /// Lines with colons between their fields, of which this one (from 0) is a pattern of groups; not comments.
    Patterns(usize),
    /// Lines; not comments.
    Plain,
    /// Lines as they are.
    Verbatim,
}

const LIST_FOLLOWS: &[u8] = b"215 List follows\r\n";
const NOT_KEPT: &[u8] = b"503 No such list is kept here\r\n";

impl Session {
    pub(super) fn list<W: Backend>(
        what: List,
        argument: Option<&[u8]>,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Listing> {
        let asked = argument.map_or(Asked::All, Asked::by);
        let (file, kind) = match what {
            List::Active | List::XActive | List::Counts => {
                out.push(LIST_FOLLOWS);
                let groups = Groups::new(backend.active(), asked, what == List::Counts);
                return Some(Listing::Groups(groups));
            }
            List::Headers => {
                out.push(HEADERS);
                return None;
            }
            List::OverviewFmt => {
                out.push(OVERVIEW_FMT);
                return None;
            }
            List::ActiveTimes => (ControlFile::ActiveTimes, Kind::Groups(asked)),
            List::Newsgroups => (ControlFile::Newsgroups, Kind::Groups(asked)),
            List::Subscriptions => (ControlFile::Subscriptions, Kind::Groups(asked)),
            List::DistribPats => (ControlFile::DistribPats, Kind::Patterns(1)),
            List::Distributions => (ControlFile::Distributions, Kind::Plain),
            List::Moderators => (ControlFile::Moderators, Kind::Patterns(0)),
            List::Motd => (ControlFile::Motd, Kind::Verbatim),
        };
        match backend.file(file) {
            Ok(Some(text)) => return Some(show(LIST_FOLLOWS, text, kind, out)),
            // This one is never missing for a reader (RFC 3977, 7.6.6); without a file it is empty.
            Ok(None) if what == List::Newsgroups => {
                return Some(show(LIST_FOLLOWS, Arc::default(), kind, out));
            }
            Ok(None) => out.push(NOT_KEPT),
            Err(trouble) => refuse(trouble, out),
        }
        None
    }

    /// The line of CAPABILITIES that says which lists there are.
    pub(super) fn lists<W: Backend>(&self, backend: &mut W) -> String {
        let mut line = "LIST ACTIVE NEWSGROUPS COUNTS".to_owned();
        for (capability, keyword) in [("HDR", " HEADERS"), ("OVER", " OVERVIEW.FMT")] {
            if self.capabilities.has(capability) {
                line.push_str(keyword);
            }
        }
        for (file, keyword) in [
            (ControlFile::ActiveTimes, " ACTIVE.TIMES"),
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

    /// XGTITLE
    pub(super) fn titles<W: Backend>(
        &mut self,
        pattern: Option<&[u8]>,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Listing> {
        let asked = match (pattern, &self.reader.selected) {
            (Some(pattern), _) => Asked::by(pattern),
            (None, Some(selected)) => Asked::One(selected.group.clone()),
            (None, None) => {
                out.push(b"481 Which groups?\r\n");
                return None;
            }
        };
        match backend.file(ControlFile::Newsgroups) {
            Ok(Some(text)) => {
                return Some(show(
                    b"282 List follows\r\n",
                    text,
                    Kind::Groups(asked),
                    out,
                ));
            }
            Ok(None) => out.push(b"481 There are no descriptions here\r\n"),
            Err(trouble) => refuse(trouble, out),
        }
        None
    }

    pub(super) fn new_groups<W: Backend>(
        when: When<'_>,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Listing> {
        let since = seconds(when, backend, out)?;
        let since = u64::try_from(since).unwrap_or(0);
        match backend.file(ControlFile::ActiveTimes) {
            Ok(text) => {
                let kind = Kind::Born(since, backend.active());
                let text = text.unwrap_or_default();
                Some(show(b"231 New groups follow\r\n", text, kind, out))
            }
            Err(trouble) => {
                refuse(trouble, out);
                None
            }
        }
    }
}

fn show(first: &[u8], text: Arc<Vec<u8>>, kind: Kind, out: &mut Out) -> Listing {
    out.push(first);
    Listing::Lines(Lines { text, at: 0, kind })
}

/// Any header can be asked for (RFC 3977, 8.6.2).
const HEADERS: &[u8] = b"215 What HDR takes follows\r\n:\r\n:bytes\r\n:lines\r\n.\r\n";

/// The older names of `:bytes` and `:lines`, which RFC 3977, 8.4.2, allows: slrn makes no use of an overview with others.
const OVERVIEW_FMT: &[u8] = b"215 Fields of the overview follow\r\n\
    Subject:\r\nFrom:\r\nDate:\r\nMessage-ID:\r\nReferences:\r\nBytes:\r\nLines:\r\nXref:full\r\n.\r\n";

impl Asked {
    fn by(pattern: &[u8]) -> Asked {
        let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\' | b',' | b'!');
        match pattern.iter().any(is_special) {
            true => Asked::Matching(Wildmat::parse(pattern)),
            false => Asked::One(pattern.into()),
        }
    }

    fn has(&self, group: &[u8], slice: &mut Slice) -> bool {
        match self {
            Asked::All => true,
            Asked::One(name) => **name == *group,
            Asked::Matching(wildmat) => wildmat.matches_counted(group, &mut slice.work),
        }
    }
}

impl Listing {
    /// Writes more of it. True: there is yet more.
    pub(super) fn write<W: Backend>(
        &mut self,
        backend: &mut W,
        out: &mut Out,
    ) -> Result<bool, BackendError> {
        match self {
            Listing::Groups(groups) => groups.write(backend, out),
            Listing::Lines(lines) => lines.write(backend, out),
        }
    }
}

impl Groups {
    fn new(active: Arc<Active>, asked: Asked, with_counts: bool) -> Groups {
        let all = (0, u32::try_from(active.id_end()).unwrap_or(u32::MAX));
        let (at, end) = match &asked {
            Asked::One(name) => match active.find(name) {
                Some(GroupId(id)) => (id, id.saturating_add(1)),
                None => (0, 0),
            },
            _ => all,
        };
        Groups {
            active,
            at,
            end,
            asked,
            with_counts,
        }
    }

    /// Writes more of it. True: there is yet more.
    fn write<W: Backend>(&mut self, backend: &mut W, out: &mut Out) -> Result<bool, BackendError> {
        let mut text = out.text();
        let text: &mut Vec<u8> = &mut text;
        let full = text.len().saturating_add(PIECE_BYTES);
        // What counts the articles of a group looks at more than a line.
        let most = PIECE_LOOKS_MAX / if self.with_counts { 16 } else { 1 };
        let mut slice = Slice::default();
        for _ in 0..most {
            if self.at >= self.end || text.len() >= full {
                break;
            }
            let id = GroupId(self.at);
            self.at += 1;
            self.write_one(id, &mut slice, backend, text)?;
            if slice.is_over(backend) {
                break;
            }
        }
        Ok(self.at < self.end)
    }

    fn write_one<W: Backend>(
        &self,
        id: GroupId,
        slice: &mut Slice,
        backend: &mut W,
        text: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        let name = self.active.name(id);
        if name.is_empty() || !self.asked.has(name, slice) || !backend.may_read(name) {
            return Ok(());
        }
        let count = match self.with_counts {
            true => {
                slice.look();
                Some(backend.count(id)?)
            }
            false => None,
        };
        push_group(&self.active, id, count, backend, text)
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
        // It would tell that there is such a group.
        Flag::Alias(target) if !backend.may_read(target) => Flag::NoPosting,
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

/// Whether a line that begins with this pattern of groups may be shown: no part of it begins with a name, or the beginning of names, that
/// is closed to the client.
fn is_open<W: Backend>(pattern: &[u8], backend: &mut W) -> bool {
    pattern.split(|&byte| byte == b',').all(|part| {
        let part = part.strip_prefix(b"!").unwrap_or(part);
        let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
        let name = part.split(is_special).next().unwrap_or_default();
        name.is_empty() || backend.may_read(name)
    })
}

impl Lines {
    /// Writes more of it. True: there is yet more.
    fn write<W: Backend>(&mut self, backend: &mut W, out: &mut Out) -> Result<bool, BackendError> {
        let mut text = out.text();
        let text: &mut Vec<u8> = &mut text;
        let full = text.len().saturating_add(PIECE_BYTES);
        let mut slice = Slice::default();
        for _ in 0..PIECE_LOOKS_MAX {
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

impl Kind {
    fn write<W: Backend>(
        &self,
        line: &[u8],
        slice: &mut Slice,
        backend: &mut W,
        text: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        let is_comment = line.trim_ascii().is_empty() || line.first() == Some(&b'#');
        match self {
            Kind::Groups(asked) => {
                let end = memchr::memchr2(b' ', b'\t', line).unwrap_or(line.len());
                let group = line.get(..end).unwrap_or_default();
                if !is_comment && asked.has(group, slice) && backend.may_read(group) {
                    push_line(line, text);
                }
            }
            Kind::Born(since, active) => {
                let birth = times::since(line, *since).next();
                if let Some(id) = birth.and_then(|birth| active.find(birth.group))
                    && backend.may_read(active.name(id))
                {
                    push_group(active, id, None, backend, text)?;
                }
            }
            Kind::Patterns(_) | Kind::Plain if is_comment => {}
            Kind::Patterns(field) => {
                let pattern = line.split(|&byte| byte == b':').nth(*field);
                if is_open(pattern.unwrap_or_default().trim_ascii(), backend) {
                    push_line(line, text);
                }
            }
            Kind::Plain | Kind::Verbatim => push_line(line, text),
        }
        Ok(())
    }
}

/// A line of a file: dots doubled, and nothing in it that would end it.
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
