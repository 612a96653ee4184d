//! The policy as tables of `broadsheet.toml`: `[[expire]]` for each rule, in
//! order, and `[expiry]` for what holds for all of them.
//!
//! ```toml
//! [expiry]
//! expired_days = 14                   # the /expired/ line
//! bounds = { low = 0, high = 90 }     # the /bounds/ line, for every rule
//! max_fraction = 0.6                  # a run that would remove more needs --force
//! dead_fraction = 0.15                # a segment with more dead articles than this is written anew
//! keep_free = "20 GiB"                # expire by space, too
//! max_size = "500 GiB"
//! archive_directory = "archive"       # for archive = "@" and "segments"
//!
//! [[expire]]
//! patterns = "comp.sources,!comp.sources.d"     # or a list of such texts
//! moderation = "moderated"                      # unmoderated, any (if not given)
//! keep_days = "never"                           # or low, default, high
//! archive = "@"                                 # a directory, or "segments"
//! flat = true
//!
//! [[expire]]
//! patterns = "all"
//! low = 1
//! default = 14
//! high = 60.5
//! ```
//!
//! (TOML allows no `[expire]` beside `[[expire]]`, hence the second name.)

mod values;

use serde::Deserialize;
use toml::Spanned;

use crate::archive::Layout;
use crate::dates::{Bounds, Dates};
use crate::error::{Error, LineFault};
use crate::explist::{Explist, Moderation, RULES_MAX, Rule, archive_named};
use crate::life::Life;

pub use values::{Days, Patterns, Size};

/// Part of the spool that one run may remove without `--force`, unless set.
pub const MAX_FRACTION: f64 = 0.6;
/// Part of a segment above which its scattered dead articles are worth writing it anew, unless set. Less wears the disk
/// more: to free a seventh of a segment the rest is copied.
pub const DEAD_FRACTION: f64 = 0.15;

/// The parts of `broadsheet.toml` that belong to expire; other keys at the top
/// are somebody else's and are passed over, unknown ones inside are errors.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Tables {
    /// `[[expire]]`: the rules in order.
    #[serde(default)]
    pub expire: Vec<Spanned<RuleTable>>,
    /// `[expiry]`
    #[serde(default)]
    pub expiry: ExpiryTable,
}

/// One `[[expire]]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleTable {
    /// Patterns in the language of C News.
    pub patterns: Patterns,
    /// Which of the groups that match.
    #[serde(default)]
    pub moderation: ModerationWord,
    /// Another word for `default`.
    pub keep_days: Option<Days>,
    /// Younger than this, an article stays whatever its Expires says.
    pub low: Option<Days>,
    /// The life of an article without Expires.
    pub default: Option<Days>,
    /// Older than this, an article goes whatever its Expires says.
    pub high: Option<Days>,
    /// A directory, `@` for the one of `[expiry]`, or `segments` for a news
    /// directory there.
    pub archive: Option<String>,
    /// The archive is flat: articles lie in the directory itself, under their numbers. For one group.
    #[serde(default)]
    pub flat: bool,
}

/// Which groups, in words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModerationWord {
    /// Groups with flag `m`.
    Moderated,
    /// All others.
    Unmoderated,
    /// Both.
    #[default]
    Any,
}

/// `[expiry]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpiryTable {
    /// How long history remembers what has gone; without it, not at all.
    pub expired_days: Option<Days>,
    /// Ends for rules that do not give their own.
    pub bounds: Option<BoundsTable>,
    /// Part of the spool, 0 to 1, that one run may remove without `--force`.
    pub max_fraction: Option<f64>,
    /// Part of a segment, 0 to 1, above which its scattered dead articles are worth writing it anew.
    pub dead_fraction: Option<f64>,
    /// Bytes of the file system to keep free.
    pub keep_free: Option<Size>,
    /// Bytes that the segments may take.
    pub max_size: Option<Size>,
    /// The directory for `archive = "@"` and `"segments"`.
    pub archive_directory: Option<String>,
}

/// `bounds`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundsTable {
    /// The least life; 0 if not given.
    pub low: Option<Days>,
    /// The longest life; `never` if not given.
    pub high: Option<Days>,
}

/// Limits on space, and on what one run may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Space {
    /// Bytes of the file system to keep free.
    pub keep_free: Option<u64>,
    /// Bytes that the segments may take.
    pub max_size: Option<u64>,
    /// Part of the spool that one run may remove without `--force`.
    pub max_fraction: f64,
    /// Part of a segment, 0 to 1, above which its scattered dead articles are worth writing it anew.
    pub dead_fraction: f64,
}

impl Space {
    /// True when space may ask for more than the dates.
    pub fn has_limit(&self) -> bool {
        self.keep_free.is_some() || self.max_size.is_some()
    }
}

impl Default for Space {
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
    /// Reads the tables out of the text of `broadsheet.toml`; `file` is its name
    /// for messages.
    ///
    /// # Errors
    /// [`Error::Toml`], with line and column, for what is no TOML, an unknown key
    /// or a wrong value.
    pub fn read(text: &str, file: &str) -> Result<Self, Error> {
        let fault = |fault: String| Error::Toml {
            file: file.to_owned(),
            fault,
        };
        let tables: Self =
            toml::from_str(text).map_err(|error| fault(error.to_string().trim_end().to_owned()))?;
        let fractions = [
            ("max_fraction", tables.expiry.max_fraction),
            ("dead_fraction", tables.expiry.dead_fraction),
        ];
        for (name, part) in fractions {
            if let Some(part) = part
                && !(0.0..=1.0).contains(&part)
            {
                return Err(fault(format!(
                    "[expiry] {name} is {part}; it is a part of the whole, from 0 to 1"
                )));
            }
        }
        Ok(tables)
    }

    /// Whether there is any rule; without one the `explist` file counts.
    pub fn has_rules(&self) -> bool {
        !self.expire.is_empty()
    }

    /// The limits on space.
    pub fn space(&self) -> Space {
        let table = &self.expiry;
        Space {
            keep_free: table.keep_free.map(|size| size.0),
            max_size: table.max_size.map(|size| size.0),
            max_fraction: table.max_fraction.unwrap_or(MAX_FRACTION),
            dead_fraction: table.dead_fraction.unwrap_or(DEAD_FRACTION),
        }
    }

    /// The same policy as an `explist` gives. `text` and `file` must be what the
    /// tables were read from: rules are numbered by the line of their table.
    /// `archive` (`expire -a`) goes before `archive_directory`.
    ///
    /// # Errors
    /// As [`Explist::parse`].
    pub fn explist(
        &self,
        text: &str,
        file: &str,
        archive: Option<&[u8]>,
    ) -> Result<Explist, Error> {
        if self.expire.is_empty() {
            return Err(Error::Empty {
                file: file.to_owned(),
            });
        }
        let given = archive.or_else(|| self.expiry.archive_directory.as_deref().map(str::as_bytes));
        let bounds = self.expiry.bounds();
        let mut rules = Vec::with_capacity(self.expire.len());
        for table in &self.expire {
            let line = line_of(text, table.span().start);
            let rule = table
                .get_ref()
                .rule(line, bounds, given)
                .and_then(|rule| match rules.len() {
                    count if count >= RULES_MAX => Err(LineFault::TooManyRules {
                        number: count + 1,
                        max: RULES_MAX,
                    }),
                    _ => Ok(rule),
                })
                .map_err(|fault| Error::Line {
                    file: file.to_owned(),
                    line,
                    fault,
                })?;
            rules.push(rule);
        }
        Ok(Explist {
            file: file.to_owned(),
            rules,
            expired: self.expiry.expired_days.map(|days| days.0),
        })
    }
}

impl ExpiryTable {
    fn bounds(&self) -> Bounds {
        let plain = Bounds::default();
        self.bounds.map_or(plain, |table| Bounds {
            low: table.low.map_or(plain.low, |days| days.0),
            high: table.high.map_or(plain.high, |days| days.0),
        })
    }
}

impl RuleTable {
    fn rule(&self, line: usize, bounds: Bounds, given: Option<&[u8]>) -> Result<Rule, LineFault> {
        Ok(Rule {
            line,
            patterns: self.patterns.joined()?,
            moderation: match self.moderation {
                ModerationWord::Moderated => Moderation::Moderated,
                ModerationWord::Unmoderated => Moderation::Unmoderated,
                ModerationWord::Any => Moderation::Any,
            },
            dates: Dates::new(
                self.low.map(|days| days.0),
                self.default_life()?,
                self.high.map(|days| days.0),
                bounds,
            )?,
            archive: self.archive(given)?,
        })
    }

    fn default_life(&self) -> Result<Life, LineFault> {
        match (self.keep_days, self.default) {
            (Some(days), None) | (None, Some(days)) => Ok(days.0),
            (None, None) => Err(LineFault::Key(
                "has neither keep_days nor default; say how long articles stay".to_owned(),
            )),
            (Some(_), Some(_)) => Err(LineFault::Key(
                "has both keep_days and default, which mean the same; leave one out".to_owned(),
            )),
        }
    }

    fn archive(&self, given: Option<&[u8]>) -> Result<Option<crate::Archive>, LineFault> {
        let Some(name) = self.archive.as_deref() else {
            return match self.flat {
                true => Err(LineFault::Key("is flat but has no archive".to_owned())),
                false => Ok(None),
            };
        };
        let segments = name == "segments";
        let field = if segments { "@" } else { name };
        let mut archive = archive_named(field.as_bytes(), given)?;
        match &mut archive {
            Some(archive) if segments && !self.flat => archive.layout = Layout::Segments,
            Some(archive) if self.flat && !segments => archive.layout = Layout::Flat,
            _ if self.flat => {
                return Err(LineFault::Key(
                    "is flat, which only a directory can be".to_owned(),
                ));
            }
            _ => {}
        }
        Ok(archive)
    }
}

/// Number of the line, from 1, that holds the byte at an offset.
fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}
