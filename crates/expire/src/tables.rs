//! The policy as tables of `broadsheet.toml`, which crate `settings` reads: a rule for each `[[expire]]`, and what `[expiry]` says of all
//! of them.

use crate::archive::Layout;
use crate::dates::{DateBounds, Dates};
use crate::error::{Error, PolicyLineError};
use crate::explist::{Explist, Moderation, Rule, archive_named};
use crate::life::Lifetime;

/// Part of the spool that one run may remove without `--force`, unless set.
pub const MAX_FRACTION: f64 = 0.6;
/// Part of a segment above which its scattered dead articles are worth writing it anew, unless set. Less wears the disk
/// more: to free a seventh of a segment the rest is copied.
pub const DEAD_FRACTION: f64 = 0.15;

/// The policy in `broadsheet.toml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    /// The `[[expire]]` tables in their order; without any, the `explist` file counts.
    pub rules: Vec<TableRule>,
    /// How long history remembers an article that has gone; without it, not at all.
    pub expired: Option<Lifetime>,
    /// Ends for rules that do not give their own.
    pub bounds: DateBounds,
    /// The directory for `archive = "@"` and `"segments"`.
    pub archive_directory: Option<String>,
    /// Limits on space.
    pub space: SpaceLimits,
}

/// One `[[expire]]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRule {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Patterns in the language of C News, commas between them.
    pub patterns: String,
    /// Which of the groups that match.
    pub moderation: Moderation,
    /// Another word for `default`.
    pub keep_days: Option<Lifetime>,
    /// A younger article stays whatever its Expires says.
    pub low: Option<Lifetime>,
    /// The life of an article without Expires.
    pub default: Option<Lifetime>,
    /// An older article goes whatever its Expires says.
    pub high: Option<Lifetime>,
    /// A directory, `@` for the one of `[expiry]`, or `segments` for a news directory there.
    pub archive: Option<String>,
    /// The archive is flat: articles lie in the directory itself, under their numbers. For one group.
    pub flat: bool,
}

/// Limits on space, and on what one run may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpaceLimits {
    /// Bytes of the file system to keep free.
    pub keep_free: Option<u64>,
    /// Bytes that the segments may take.
    pub max_size: Option<u64>,
    /// Part of the spool that one run may remove without `--force`.
    pub max_fraction: f64,
    /// Part of a segment, 0 to 1, above which its scattered dead articles are worth writing it anew.
    pub dead_fraction: f64,
}

impl SpaceLimits {
    /// True when space may ask for more than the dates.
    pub fn has_limit(&self) -> bool {
        self.keep_free.is_some() || self.max_size.is_some()
    }
}

impl Default for SpaceLimits {
    fn default() -> Self {
        Self {
            keep_free: None,
            max_size: None,
            max_fraction: MAX_FRACTION,
            dead_fraction: DEAD_FRACTION,
        }
    }
}

impl Tables {
    /// The directory for `@`, in `explist` too.
    pub fn archive_directory(&self) -> Option<&[u8]> {
        self.archive_directory.as_deref().map(str::as_bytes)
    }

    /// The same policy as an `explist` gives. `file` is the name of `broadsheet.toml` for messages. `archive` (`expire -a`) goes
    /// before `archive_directory`.
    ///
    /// # Errors
    /// As [`Explist::parse`].
    pub fn explist(&self, file: &str, archive: Option<&[u8]>) -> Result<Explist, Error> {
        if self.rules.is_empty() {
            return Err(Error::Empty {
                file: file.to_owned(),
            });
        }
        let given = archive.or_else(|| self.archive_directory());
        let rules = self.rules.iter().map(|table| {
            let rule = table.rule(self.bounds, given);
            rule.map_err(|fault| Error::Line {
                file: file.to_owned(),
                line: table.line,
                fault,
            })
        });
        Ok(Explist {
            file: file.to_owned(),
            rules: rules.collect::<Result<_, _>>()?,
            expired: self.expired,
            are_tables: true,
        })
    }
}

impl TableRule {
    fn rule(&self, bounds: DateBounds, given: Option<&[u8]>) -> Result<Rule, PolicyLineError> {
        Ok(Rule {
            line: self.line,
            patterns: self.patterns()?,
            moderation: self.moderation,
            dates: Dates::new(self.low, self.default_life()?, self.high, bounds)?,
            archive: self.archive(given)?,
        })
    }

    /// The patterns as `explist` has them.
    fn patterns(&self) -> Result<Vec<u8>, PolicyLineError> {
        let patterns = &self.patterns;
        if let Some(item) = patterns.split(',').find(|item| item.contains('*')) {
            let cnews = item.trim_end_matches('*').trim_end_matches('.');
            return Err(PolicyLineError::Key(format!(
                "patterns `{patterns}' have `*' in `{item}'; patterns are those of C News, where `{}' takes in all below it",
                if cnews.is_empty() { "all" } else { cnews }
            )));
        }
        let what = match patterns {
            empty if empty.is_empty() => "name no group",
            blank if blank.contains(|c: char| c.is_ascii_whitespace() || c == '\0') => {
                "hold a blank; put only commas between them"
            }
            special if special.starts_with('/') => "start with `/'; use the keys of [expiry]",
            _ => return Ok(patterns.clone().into_bytes()),
        };
        Err(PolicyLineError::Key(format!(
            "patterns `{patterns}' {what}"
        )))
    }

    fn default_life(&self) -> Result<Lifetime, PolicyLineError> {
        match (self.keep_days, self.default) {
            (Some(days), None) | (None, Some(days)) => Ok(days),
            (None, None) => Err(PolicyLineError::Key(
                "has neither keep_days nor default; say how long articles stay".to_owned(),
            )),
            (Some(_), Some(_)) => Err(PolicyLineError::Key(
                "has both keep_days and default, which mean the same; leave one out".to_owned(),
            )),
        }
    }

    fn archive(&self, given: Option<&[u8]>) -> Result<Option<crate::Archive>, PolicyLineError> {
        let Some(name) = self.archive.as_deref() else {
            return if self.flat {
                Err(PolicyLineError::Key(
                    "is flat but has no archive".to_owned(),
                ))
            } else {
                Ok(None)
            };
        };
        let segments = name == "segments";
        let field = if segments { "@" } else { name };
        let mut archive = archive_named(field.as_bytes(), given)?;
        match &mut archive {
            Some(archive) if segments && !self.flat => archive.layout = Layout::Segments,
            Some(archive) if self.flat && !segments => archive.layout = Layout::Flat,
            _ if self.flat => {
                return Err(PolicyLineError::Key(
                    "is flat, which only a directory can be".to_owned(),
                ));
            }
            _ => {}
        }
        Ok(archive)
    }
}
