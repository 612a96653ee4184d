//! Parses the `sys` file: which site gets which articles, and how.
//!
//! A line is `name[/exclusion,...]:subscription[/distributions]:flags:command`.
//! Trailing fields may be missing. A line ending in `\` continues on the next,
//! whose leading blanks are dropped; lines beginning with `#` are comments.
//!
//! With a batch flag and an empty command, `batchparms` defines the batches;
//! with a file there, each article appends a line to it. Without a batch
//! flag the command runs for each article, with the article on standard input.
//! C News ran it with a shell; Broadsheet splits it into words, and a command that needs a
//! shell is an error unless the line itself calls one (`sh -c '…'`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use thiserror::Error;

use crate::command_line::{CommandError, CommandLine};
use crate::pattern::{Pattern, star_in};
use crate::site::{Only, SITES_MAX, Site, Start};
use crate::text_position::TextPosition;
use crate::via::{BatchVia, ListForm, Via};

/// Name in the file that means this system.
pub const ME: &[u8] = b"ME";

/// Longest line with its continuations, bytes.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The file's name in the news directory.
pub const FILE: &str = "sys";

/// Command of a line without a command and without a batch flag.
const DEFAULT_COMMAND: &[u8] = b"uux - -r -z SITE!rnews";

/// An error in a line of `sys`. It is fatal: nothing is filed until the administrator corrects it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("sys line {line}: {error}")]
pub struct SysError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The error in the line.
    pub error: SysLineError,
}

/// The kind of an error in a line of `sys`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SysLineError {
    /// The line is longer than [`LINE_BYTES_MAX`].
    #[error("longer than {LINE_BYTES_MAX} bytes; split it into several lines of the same site")]
    TooLong,
    /// More than [`SITES_MAX`] lines.
    #[error("more than {SITES_MAX} sites")]
    TooManySites,
    /// No site name before the first colon.
    #[error("no site name; write `name:subscription:flags:command'")]
    NoName,
    /// A site name that cannot be a file name.
    #[error("site name `{0}' is not allowed; use letters, digits, dots and dashes")]
    BadName(String),
    /// A blank in a field that allows none.
    #[error(
        "blank in the {0} field; remove it (or end the previous line with `\\' if this is a continuation)"
    )]
    Blank(&'static str),
    /// A second `/` in the subscription field.
    #[error("second `/' in the subscription field; write `groups/distributions' with one `/'")]
    SecondSlash,
    /// A pattern of another kind.
    #[error("there is {0}")]
    Star(String),
    /// A flag that C News does not know.
    #[error("unknown flag `{0}'; the flags are f, F, I, n, Ln, m and u")]
    UnknownFlag(String),
    /// The number after `L` is too large.
    #[error("the number after flag `L' is too large")]
    HopsTooMany,
    /// A `%` other than `%%` and one `%s`.
    #[error("the command may contain `%s' (the article's file) once, and `%%'; no other `%'")]
    Percent,
    /// A command that cannot be split into words.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Parses the lines of a `sys` file, in order; `me` is our own name, which a line
/// may contain in place of `ME`.
pub(crate) fn lines(text: &[u8], me: &[u8]) -> Result<Vec<Site>, SysError> {
    let mut sites = Vec::new();
    let mut lines = Lines::new(text);
    while let Some((number, line)) = lines.next_line() {
        let wrong = |error| SysError {
            line: number,
            error,
        };
        let comment = line.first() == Some(&b'#');
        if comment || line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let site = parse_line(number, line, me).map_err(wrong)?;
        if sites.len() >= SITES_MAX {
            return Err(wrong(SysLineError::TooManySites));
        }
        sites.push(site);
    }
    Ok(sites)
}

/// Logical lines: continuations joined, with the number of their first line.
struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
    joined: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            number: 0,
            joined: Vec::new(),
        }
    }

    fn next_line(&mut self) -> Option<(usize, &[u8])> {
        let first = self.number + 1;
        let line = self.physical_line()?;
        let Some(head) = line.strip_suffix(b"\\") else {
            return Some((first, line));
        };
        self.joined.clear();
        self.joined.extend_from_slice(head);
        while let Some(line) = self.physical_line() {
            let line = line.trim_ascii_start();
            let Some(head) = line.strip_suffix(b"\\") else {
                self.joined.extend_from_slice(line);
                break;
            };
            self.joined.extend_from_slice(head);
        }
        Some((first, &self.joined))
    }

    fn physical_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest.get(1..).unwrap_or(b"");
        // An editor of another system wrote it.
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn parse_line(number: usize, line: &[u8], me: &[u8]) -> Result<Site, SysLineError> {
    if line.len() > LINE_BYTES_MAX {
        return Err(SysLineError::TooLong);
    }
    let mut fields = line.splitn(4, |&byte| byte == b':');
    let mut field = || fields.next().unwrap_or(b"");
    let (names, subs, flags, command) = (field(), field(), field(), field());
    for (what, text) in [("name", names), ("subscription", subs), ("flags", flags)] {
        if text.iter().any(u8::is_ascii_whitespace) {
            return Err(SysLineError::Blank(what));
        }
    }
    let (name, exclusions) = split_once(names, b'/');
    let (subs, dists) = split_once(subs, b'/');
    if dists.is_some_and(|dists| dists.contains(&b'/')) {
        return Err(SysLineError::SecondSlash);
    }
    if name.is_empty() {
        return Err(SysLineError::NoName);
    }
    if matches!(name, b"." | b"..") || name.iter().any(u8::is_ascii_control) {
        return Err(SysLineError::BadName(name.escape_ascii().to_string()));
    }
    if let Some(what) = star_in(subs).or_else(|| star_in(dists?)) {
        return Err(SysLineError::Star(what));
    }
    let is_me = name == ME || name == me;
    let name = if is_me { me } else { name };
    let flags = parse_flags(flags)?;
    let exclusions = exclusions.unwrap_or(b"").split(|&byte| byte == b',');
    Ok(Site {
        place: TextPosition {
            file: FILE,
            line: number,
            column: None,
        },
        name: name.to_vec(),
        is_me,
        exclusions: exclusions
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
        subs: Pattern::parse_poison(subs),
        dists: dists.map(Pattern::of_distributions),
        only: flags.only(),
        hops_max: flags.hops_max,
        size_max: None,
        start: Start::Now,
        via: via(name, flags.batch, command.trim_ascii())?,
    })
}

/// How the articles of a line travel.
fn via(name: &[u8], batch: Option<ListForm>, command: &[u8]) -> Result<Via, SysLineError> {
    Ok(match (batch, command) {
        (Some(_), b"") => Via::Batch(BatchVia::default()),
        // The file that C News means by none.
        (Some(_), file) if file.strip_suffix(b"/togo") == Some(name) => {
            Via::Batch(BatchVia::default())
        }
        (Some(form), file) => {
            let path = match file {
                [b'/', ..] => file.to_vec(),
                relative => [b"out.going/", relative].concat(),
            };
            let path = PathBuf::from(OsString::from_vec(path));
            Via::FileList { form, path }
        }
        (None, b"") => Via::Command(CommandLine::parse(DEFAULT_COMMAND)?.for_site(name)),
        (None, line) => {
            let command = CommandLine::parse(line)?;
            if !command.has_one_file() {
                return Err(SysLineError::Percent);
            }
            Via::Command(command)
        }
    })
}

/// The flags of a line.
#[derive(Default)]
struct Flags {
    /// The form of the lines of a batch file; `None` to run a command instead. The last
    /// such flag counts.
    batch: Option<ListForm>,
    /// `Ln`: most hops in the Path.
    hops_max: Option<u32>,
    /// `m`: only articles in a moderated group. With `u` too, neither applies.
    moderated: bool,
    /// `u`: only articles in no moderated group.
    unmoderated: bool,
}

impl Flags {
    fn only(&self) -> Only {
        match (self.moderated, self.unmoderated) {
            (true, false) => Only::Moderated,
            (false, true) => Only::Unmoderated,
            _ => Only::Any,
        }
    }
}

fn parse_flags(text: &[u8]) -> Result<Flags, SysLineError> {
    let mut flags = Flags::default();
    let mut rest = text;
    while let Some((&letter, after)) = rest.split_first() {
        rest = after;
        match letter {
            b'm' => flags.moderated = true,
            b'u' => flags.unmoderated = true,
            // The B News formats, which all sites accept by now.
            b'B' | b'U' => {}
            b'L' => {
                let mut hops = 0u32;
                while let [digit @ b'0'..=b'9', after @ ..] = rest {
                    hops = hops
                        .checked_mul(10)
                        .and_then(|hops| hops.checked_add(u32::from(digit - b'0')))
                        .ok_or(SysLineError::HopsTooMany)?;
                    rest = after;
                }
                flags.hops_max = Some(hops);
            }
            letter => match ListForm::of(letter) {
                Some(form) => flags.batch = Some(form),
                None => return Err(SysLineError::UnknownFlag(letter.escape_ascii().to_string())),
            },
        }
    }
    Ok(flags)
}

fn split_once(text: &[u8], byte: u8) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(byte, text).and_then(|at| text.split_at_checked(at)) {
        Some((before, rest)) => (before, rest.get(1..)),
        None => (text, None),
    }
}
