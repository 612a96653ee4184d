//! The `sys` file: which site gets what, and how.
//!
//! A line is `name[/exclusion,...]:subscription[/distributions]:flags:command`.
//! Trailing fields may be missing. A line ending in `\` goes on in the next,
//! whose leading blanks are dropped; lines beginning with `#` are comments.
//! Nothing here runs a command: it is only kept.

use thiserror::Error;

use crate::pattern::Pattern;

/// Name in the file that stands for this system.
pub const ME: &[u8] = b"ME";

/// Longest line with its continuations, in bytes.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Most lines that name sites.
pub const SITES_MAX: usize = 100_000;

/// Command of a line without one and without a batch file; `{}` is the site.
const DEFAULT_COMMAND: [&[u8]; 2] = [b"uux - -r -z ", b"!rnews"];

/// What a batch file gets for each article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// `f`: file name and size.
    NameSize,
    /// `F`: file name.
    Name,
    /// `I`: message-id.
    Id,
    /// `n`: file name and message-id.
    NameId,
}

/// The flags of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// A batch file is written, and with what; otherwise a command is run. Of
    /// several such flags the last counts.
    pub batch: Option<Batch>,
    /// `Ln`: only articles whose Path has at most `n` hops.
    pub hops_max: Option<u32>,
    /// `m`: only articles with a moderated group. With `u` too, neither counts.
    pub moderated: bool,
    /// `u`: only articles without a moderated group.
    pub unmoderated: bool,
}

/// One line of the file.
#[derive(Debug, Clone)]
pub struct Site {
    /// Number of its (first) line, from 1.
    pub line: usize,
    /// Its name; our own where the file has `ME`.
    pub name: Vec<u8>,
    /// Whether it is a line for this system itself: its articles go nowhere.
    pub is_me: bool,
    /// Sites which, found in a Path, keep the article from this one.
    pub exclusions: Vec<Vec<u8>>,
    /// The subscription, against Newsgroups.
    pub subs: Pattern,
    /// The distributions; where absent, Distribution is held against
    /// [`subs`](Self::subs).
    pub dists: Option<Pattern>,
    /// The flags.
    pub flags: Flags,
    /// The last field, blanks at its ends dropped; may be empty.
    pub command: Vec<u8>,
}

impl Site {
    /// The batch file's path, relative to the news directory unless the line
    /// gives an absolute one; `None` without a batch flag.
    pub fn batch_file(&self) -> Option<Vec<u8>> {
        self.flags.batch?;
        Some(match self.command.as_slice() {
            b"" => [b"out.going/", self.name.as_slice(), b"/togo"].concat(),
            [b'/', ..] => self.command.clone(),
            relative => [b"out.going/", relative].concat(),
        })
    }

    /// The command that an article is given to, `%s` standing for its file;
    /// `None` with a batch flag.
    pub fn command(&self) -> Option<Vec<u8>> {
        if self.flags.batch.is_some() {
            return None;
        }
        if self.command.is_empty() {
            let [before, after] = DEFAULT_COMMAND;
            return Some([before, &self.name, after].concat());
        }
        Some(self.command.clone())
    }
}

/// A `sys` file, read.
#[derive(Debug, Clone)]
pub struct Sys {
    me: Vec<u8>,
    /// What we accept.
    subscription: Pattern,
    sites: Vec<Site>,
}

/// A line of `sys` that is fatal: nothing is filed until it is mended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("sys line {line}: {fault}")]
pub struct SysFault {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: LineFault,
}

/// What is wrong with a line of `sys`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineFault {
    /// The line is over [`LINE_BYTES_MAX`].
    #[error("longer than {LINE_BYTES_MAX} bytes; split it into several lines of the same site")]
    TooLong,
    /// There are over [`SITES_MAX`] lines.
    #[error("more than {SITES_MAX} sites")]
    TooManySites,
    /// No site name before the first colon.
    #[error("no site name; write `name:subscription:flags:command'")]
    NoName,
    /// A site name that cannot be a file's name.
    #[error("site name `{0}' cannot be used; take letters, digits, dots and dashes")]
    BadName(String),
    /// A blank where none may be.
    #[error(
        "blank in the {0} field; remove it (or end the line before with `\\' if this is a continuation)"
    )]
    Blank(&'static str),
    /// A second `/` in the subscription field.
    #[error("second `/' in the subscription field; write `groups/distributions' with one")]
    SecondSlash,
    /// A flag that C News does not know.
    #[error("unknown flag `{0}'; use f, F, I, n, Ln, m or u and remove the rest")]
    UnknownFlag(String),
    /// The number after `L` is too large.
    #[error("the number after flag `L' is too large")]
    HopsTooMany,
    /// A `%` other than `%%` and one `%s`.
    #[error("command may hold `%s' (the article's file) once, and `%%'; no other `%'")]
    Percent,
}

impl Sys {
    /// Reads a `sys` file; `me` is our own name, which a line may have in place
    /// of `ME`. The first such line says what we accept; without one we accept
    /// `all`.
    ///
    /// # Errors
    /// The first line that is wrong. Every fault is fatal, as in C News.
    pub fn parse(text: &[u8], me: &[u8]) -> Result<Self, SysFault> {
        let mut sites = Vec::new();
        let mut lines = Lines::new(text);
        while let Some((number, line)) = lines.next_line() {
            let wrong = |fault| SysFault {
                line: number,
                fault,
            };
            let comment = line.first() == Some(&b'#');
            if comment || line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let site = parse_line(number, line, me).map_err(wrong)?;
            if sites.len() >= SITES_MAX {
                return Err(wrong(LineFault::TooManySites));
            }
            sites.push(site);
        }
        let own = sites.iter().find(|site| site.is_me);
        let subscription = match own {
            Some(site) => site.subs.clone(),
            None => Pattern::parse(b"all"),
        };
        Ok(Self {
            me: me.to_vec(),
            subscription,
            sites,
        })
    }

    /// Our own name.
    pub fn me(&self) -> &[u8] {
        &self.me
    }

    /// The groups we accept.
    pub fn subscription(&self) -> &Pattern {
        &self.subscription
    }

    /// Every line, in the order of the file, our own among them; several may
    /// name the same site.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }
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
        Some(line)
    }
}

fn parse_line(number: usize, line: &[u8], me: &[u8]) -> Result<Site, LineFault> {
    if line.len() > LINE_BYTES_MAX {
        return Err(LineFault::TooLong);
    }
    let mut fields = line.splitn(4, |&byte| byte == b':');
    let mut field = || fields.next().unwrap_or(b"");
    let (names, subs, flags, command) = (field(), field(), field(), field());
    for (what, text) in [("name", names), ("subscription", subs), ("flags", flags)] {
        if text.iter().any(u8::is_ascii_whitespace) {
            return Err(LineFault::Blank(what));
        }
    }
    let (name, exclusions) = split_once(names, b'/');
    let (subs, dists) = split_once(subs, b'/');
    if dists.is_some_and(|dists| dists.contains(&b'/')) {
        return Err(LineFault::SecondSlash);
    }
    if name.is_empty() {
        return Err(LineFault::NoName);
    }
    if matches!(name, b"." | b"..") || name.iter().any(u8::is_ascii_control) {
        return Err(LineFault::BadName(name.escape_ascii().to_string()));
    }
    let is_me = name == ME || name == me;
    let flags = parse_flags(flags)?;
    let command = command.trim_ascii();
    if flags.batch.is_none() && !has_one_file(command) {
        return Err(LineFault::Percent);
    }
    let exclusions = exclusions.unwrap_or(b"").split(|&byte| byte == b',');
    Ok(Site {
        line: number,
        name: if is_me { me } else { name }.to_vec(),
        is_me,
        exclusions: exclusions
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
        subs: Pattern::parse(subs),
        dists: dists.map(Pattern::parse),
        flags,
        command: command.to_vec(),
    })
}

fn parse_flags(text: &[u8]) -> Result<Flags, LineFault> {
    let mut flags = Flags::default();
    let mut rest = text;
    while let Some((&letter, after)) = rest.split_first() {
        rest = after;
        match letter {
            b'f' => flags.batch = Some(Batch::NameSize),
            b'F' => flags.batch = Some(Batch::Name),
            b'I' => flags.batch = Some(Batch::Id),
            b'n' => flags.batch = Some(Batch::NameId),
            b'm' => flags.moderated = true,
            b'u' => flags.unmoderated = true,
            // The B News formats, which all sites take by now.
            b'B' | b'U' => {}
            b'L' => {
                let mut hops = 0u32;
                while let [digit @ b'0'..=b'9', after @ ..] = rest {
                    hops = hops
                        .checked_mul(10)
                        .and_then(|hops| hops.checked_add(u32::from(digit - b'0')))
                        .ok_or(LineFault::HopsTooMany)?;
                    rest = after;
                }
                flags.hops_max = Some(hops);
            }
            _ => return Err(LineFault::UnknownFlag(letter.escape_ascii().to_string())),
        }
    }
    Ok(flags)
}

/// Whether every `%` is part of `%%` or of the only `%s`.
fn has_one_file(command: &[u8]) -> bool {
    let mut files = 0usize;
    let mut rest = command;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            match after.split_first() {
                Some((b's', after)) => (files, rest) = (files + 1, after),
                Some((b'%', after)) => rest = after,
                _ => return false,
            }
        }
    }
    files <= 1
}

fn split_once(text: &[u8], byte: u8) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(byte, text).and_then(|at| text.split_at_checked(at)) {
        Some((before, rest)) => (before, rest.get(1..)),
        None => (text, None),
    }
}
