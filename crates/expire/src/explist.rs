//! C News's `explist`: four fields a line; the first matching line rules a group.
//!
//! ```text
//! # patterns        m|u|x  dates             directory
//! /expired/         x      14                -
//! /bounds/          x      0-1-90            -
//! comp.sources      m      never             @
//! all               x      14                -
//! ```
//!
//! Dates are `default`, `default-high` or `low-default-high` in decimal days or
//! `never`. The directory is `-` (no archive), `@` (the directory of `-a`), or
//! a path, absolute or relative to the news directory; a leading `=` archives
//! flat. `/bounds/` sets the ends of later dates that contain none;
//! `/expired/` sets how long history keeps the line of a removed article after its expiry.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use groups::shown;

use crate::archive::Archive;
use crate::dates::{DateBounds, Dates};
use crate::error::{Error, PolicyLineError};
use crate::life::Lifetime;

/// Largest policy file, bytes.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// How long a new news directory keeps articles, days.
pub const KEEP_DAYS: u64 = 30;

/// Most rules of a policy.
pub const RULES_MAX: usize = 65_000;

/// A parsed policy, not yet applied to an active table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explist {
    /// The policy file's name, for messages.
    pub file: String,
    /// The rules in order; never empty.
    pub rules: Vec<Rule>,
    /// How long history lines are kept, from arrival as the line records
    /// it; `None` without an `/expired/` line: they are removed with the article.
    pub expired: Option<Lifetime>,
    /// The rules are tables of `broadsheet.toml`.
    pub are_tables: bool,
}

/// One line that rules groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Number of its line in the policy file, from 1.
    pub line: usize,
    /// Patterns in the language of C News.
    pub patterns: Vec<u8>,
    /// Restricts the rule to moderated or unmoderated groups.
    pub moderation: Moderation,
    /// The lives of articles.
    pub dates: Dates,
    /// The archive to which they are copied before removal.
    pub archive: Option<Archive>,
}

/// The groups of a rule, besides its patterns. A group that is not in the
/// active file counts as unmoderated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moderation {
    /// `m`
    Moderated,
    /// `u`
    Unmoderated,
    /// `x`
    Any,
}

impl Moderation {
    /// Whether the rule applies to a group.
    #[inline]
    pub fn fits(self, moderated: bool) -> bool {
        match self {
            Self::Moderated => moderated,
            Self::Unmoderated => !moderated,
            Self::Any => true,
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        Some(match text {
            b"m" => Self::Moderated,
            b"u" => Self::Unmoderated,
            b"x" => Self::Any,
            _ => return None,
        })
    }
}

impl Explist {
    /// Reads the policy file of a news directory. `archive` is the directory for `@` (`expire -a`).
    ///
    /// # Errors
    /// [`Error`] if the file is missing or empty, or any line is invalid.
    pub fn read(path: &Path, archive: Option<&[u8]>) -> Result<Self, Error> {
        Self::of(store::regular::open(path), path, archive)
    }

    /// As [`Explist::read`], for a file of a command line, which may be a pipe.
    ///
    /// # Errors
    /// As [`Explist::read`].
    pub fn read_named(path: &Path, archive: Option<&[u8]>) -> Result<Self, Error> {
        Self::of(File::open(path), path, archive)
    }

    fn of(
        opened: std::io::Result<File>,
        path: &Path,
        archive: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let file = path.display().to_string();
        let mut text = Vec::new();
        let read = opened.and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_end(&mut text));
        match read {
            Err(fault) if fault.kind() == ErrorKind::NotFound => Err(Error::Missing { file }),
            Err(fault) => Err(Error::Read { file, fault }),
            Ok(size) if size as u64 > FILE_BYTES_MAX => Err(Error::Size {
                file,
                max: FILE_BYTES_MAX,
            }),
            Ok(_) => Self::parse(&text, &file, archive),
        }
    }

    /// Parses the text of a policy file; `file` is its name for messages.
    ///
    /// # Errors
    /// [`Error::Empty`] without any rule, [`Error::Line`] for the first
    /// invalid line.
    pub fn parse(text: &[u8], file: &str, archive: Option<&[u8]>) -> Result<Self, Error> {
        let mut reader = Reader {
            archive,
            bounds: DateBounds::default(),
            expired: None,
            rules: Vec::new(),
        };
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line_number = index + 1;
            reader
                .line(line_number, line)
                .map_err(|fault| Error::Line {
                    file: file.to_owned(),
                    line: line_number,
                    fault,
                })?;
        }
        if reader.rules.is_empty() {
            return Err(Error::Empty {
                file: file.to_owned(),
            });
        }
        Ok(Self {
            file: file.to_owned(),
            rules: reader.rules,
            expired: reader.expired.map(|(_, life)| life),
            are_tables: false,
        })
    }
}

/// The state of the parser.
struct Reader<'a> {
    archive: Option<&'a [u8]>,
    bounds: DateBounds,
    /// The value of `/expired/`, with the number of its line.
    expired: Option<(usize, Lifetime)>,
    rules: Vec<Rule>,
}

impl Reader<'_> {
    fn line(&mut self, number: usize, line: &[u8]) -> Result<(), PolicyLineError> {
        let mut fields = line
            .split(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
            .filter(|field| !field.is_empty());
        let count = fields.clone().count();
        let Some(patterns) = fields.next() else {
            return Ok(());
        };
        if patterns.starts_with(b"#") {
            return Ok(());
        }
        let (4, Some(moderation), Some(dates), Some(directory)) =
            (count, fields.next(), fields.next(), fields.next())
        else {
            return Err(PolicyLineError::Fields(count));
        };
        let moderation = Moderation::parse(moderation)
            .ok_or_else(|| PolicyLineError::Moderation(shown(moderation)))?;
        let dates = Dates::parse(dates, self.bounds)?;
        let archive = self.directory(directory)?;
        match patterns {
            b"/bounds/" => self.bounds = dates.bounds(),
            b"/expired/" => match self.expired {
                Some((first, _)) => return Err(PolicyLineError::ExpiredTwice(first)),
                None => self.expired = Some((number, dates.default())),
            },
            [b'/', ..] => return Err(PolicyLineError::Special(shown(patterns))),
            _ if self.rules.len() >= RULES_MAX => {
                return Err(PolicyLineError::TooManyRules {
                    number: self.rules.len() + 1,
                    max: RULES_MAX,
                });
            }
            _ => self.rules.push(Rule {
                line: number,
                patterns: patterns.to_vec(),
                moderation,
                dates,
                archive,
            }),
        }
        Ok(())
    }

    fn directory(&self, field: &[u8]) -> Result<Option<Archive>, PolicyLineError> {
        archive_named(field, self.archive)
    }
}

/// Parses the directory field of a rule: `-`, `@`, `=path` or `path`.
pub(crate) fn archive_named(
    field: &[u8],
    given: Option<&[u8]>,
) -> Result<Option<Archive>, PolicyLineError> {
    let wrong = || PolicyLineError::Directory(shown(field));
    match field {
        b"-" => Ok(None),
        b"=-" => Err(wrong()),
        b"@" | b"=@" => {
            let given = given.ok_or(PolicyLineError::NoArchive)?;
            let mut archive =
                Archive::parse(given).ok_or_else(|| PolicyLineError::Directory(shown(given)))?;
            if field.starts_with(b"=") {
                archive.layout = crate::Layout::Flat;
            }
            Ok(Some(archive))
        }
        path => Archive::parse(path).map(Some).ok_or_else(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Layout;
    use proptest::prelude::*;

    fn fault(text: &str) -> String {
        match Explist::parse(text.as_bytes(), "explist", None) {
            Ok(_) => "no fault".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn fields_are_read() {
        let text = b"# comment\n\n \t \n/expired/ x 14 -\ncomp,!comp.x\tm  1-2-3 \t=flat/dir\r\nall x 5 /a/b";
        let list = Explist::parse(text, "explist", None).unwrap();
        assert_eq!(list.expired, Some(Lifetime::days(14)));
        assert_eq!(list.rules.len(), 2);
        let first = &list.rules[0];
        assert_eq!(first.line, 5);
        assert_eq!(first.patterns, b"comp,!comp.x");
        assert_eq!(first.moderation, Moderation::Moderated);
        assert_eq!(first.dates.to_string(), "1-2-3");
        let archive = first.archive.as_ref().unwrap();
        assert_eq!(archive.path, b"flat/dir");
        assert_eq!(archive.layout, Layout::Flat);
        let last = &list.rules[1];
        assert_eq!(last.line, 6);
        assert_eq!(last.archive.as_ref().unwrap().path, b"/a/b");
        assert_eq!(last.archive.as_ref().unwrap().layout, Layout::Tree);
    }

    #[test]
    fn bounds_hold_from_their_line_on() {
        let text =
            b"a x 5 -\n/bounds/ x 2-3-30 -\nb x 5 -\n/bounds/ x 0-1-60 -\nc x 5 -\nd x 90 -\n";
        let list = Explist::parse(text, "explist", None).unwrap();
        let dates: Vec<_> = list
            .rules
            .iter()
            .map(|rule| rule.dates.to_string())
            .collect();
        assert_eq!(dates, ["0-5-never", "2-5-30", "0-5-60", "0-90-90"]);
        assert_eq!(list.expired, None);
    }

    #[test]
    fn at_needs_a_directory() {
        let text = b"a x 5 @\nb x 5 =@\n";
        let list = Explist::parse(text, "explist", Some(b"/arch")).unwrap();
        let archives: Vec<_> = list.rules.iter().flat_map(|rule| &rule.archive).collect();
        assert_eq!(archives[0].layout, Layout::Tree);
        assert_eq!(archives[1].layout, Layout::Flat);
        assert!(archives.iter().all(|archive| archive.path == b"/arch"));
        assert_eq!(
            fault("all x 5 @"),
            "explist:1: archives to `@', but no archive directory is set (expire -a, or archive_directory)"
        );
    }

    #[test]
    fn nothing_to_go_by_refuses() {
        let want = "no expiry policy: explist contains no rule; nothing is expired without one";
        for text in [
            "",
            "\n\n",
            "# all x 5 -\n",
            "/expired/ x 5 -\n/bounds/ x 1-2-3 -\n",
        ] {
            assert_eq!(fault(text), want, "{text:?}");
        }
    }

    #[test]
    fn lines_not_understood_are_fatal_with_their_number() {
        for (text, want) in [
            (
                "all x 5 -\nall x 5\n",
                "explist:2: has 3 fields; `patterns {m|u|x} dates directory' has 4",
            ),
            (
                "all x 5 - extra",
                "explist:1: has 5 fields; `patterns {m|u|x} dates directory' has 4",
            ),
            (
                "all y 5 -",
                "explist:1: has `y' in the second field; use m (moderated), u (unmoderated) or x (any)",
            ),
            (
                "all mu 5 -",
                "explist:1: has `mu' in the second field; use m (moderated), u (unmoderated) or x (any)",
            ),
            (
                "/bound/ x 5 -",
                "explist:1: starts with `/bound/'; only /bounds/ and /expired/ are known",
            ),
            (
                "/expired/ x 5 -\n/expired/ x 6 -",
                "explist:2: is a second /expired/ line; the first is line 1",
            ),
            (
                "all x 5-4 -",
                "explist:1: dates out of order: default 5 is more than high 4",
            ),
            (
                "all x 5 =",
                "explist:1: has `=' in place of an archive directory, `-' or `@'",
            ),
            (
                "all x 5 =-",
                "explist:1: has `=-' in place of an archive directory, `-' or `@'",
            ),
            (
                "\0\0\0\0",
                "explist:1: has 1 fields; `patterns {m|u|x} dates directory' has 4",
            ),
        ] {
            assert_eq!(fault(text), want, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in prop::collection::vec(
            prop::sample::select(b"allx!mu.,-@=/# \t\n0159never".to_vec()), 0..200)) {
            if let Ok(list) = Explist::parse(&text, "explist", Some(b"a")) {
                prop_assert!(!list.rules.is_empty());
                for rule in &list.rules {
                    prop_assert!(rule.dates.low() <= rule.dates.default());
                    prop_assert!(rule.dates.default() <= rule.dates.high());
                }
            }
        }
    }
}
