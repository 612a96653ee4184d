//! Converts INN's `expire.ctl` to `explist`.
//!
//! Three things differ. INN's last matching line rules a group, here the
//! first one does, so the lines are reversed. The patterns of an INN line count
//! one by one (`a,!b` means: groups that match a, and groups that do not match b), so each
//! becomes a line of its own. INN keeps a group that no line matches for
//! ever, so a last line does the same. (One thing is only similar: `/remember/`
//! counts from posting, `/expired/` from expiry.) The converter never guesses: a line without an equivalent
//! becomes a comment in its place, and is reported.

mod wild;

use groups::shown;

use crate::dates::{DateBounds, Dates};
use crate::life::{DAY_SECONDS, Lifetime, LifetimeError};

/// INN treats more days than this as `never`.
const NEVER_DAYS: u64 = 49_710;

/// The error of a conversion in which some lines have no equivalent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} of expire.ctl cannot be converted to explist; the first: {}", lines(.faults), first(.faults))]
pub struct Untranslated {
    /// The converted lines, with comments in place of the others. Do not
    /// use it before you have replaced the comments: other lines would apply to
    /// their groups.
    pub explist: Vec<u8>,
    /// The lines without an equivalent, in the order of the file.
    pub faults: Vec<UntranslatedLine>,
}

/// A line of `expire.ctl` without an equivalent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct UntranslatedLine {
    /// Number of the line in `expire.ctl`, from 1.
    pub line: usize,
    /// The reason, and what to do.
    pub why: String,
}

/// Converts an `expire.ctl` of either format to the equivalent `explist`
/// (`pattern:flag:keep:default:purge`, or `class:keep:default:purge` of servers
/// with `groupbaseexpiry: false`).
///
/// # Errors
/// [`Untranslated`] if any line has no equivalent; it contains the rest.
pub fn convert(text: &[u8]) -> Result<Vec<u8>, Untranslated> {
    let mut faults = Vec::new();
    let mut remember = None;
    let mut catch_all = false;
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    for (index, whole) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = whole.split(|byte| *byte == b'#').next().unwrap_or(whole);
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match Entry::parse(line) {
            Ok(Entry::Remember(_)) if remember.is_some() => {
                leave_as_comment(
                    index + 1,
                    line,
                    "is a second /remember/ line",
                    &mut blocks,
                    &mut faults,
                );
            }
            Ok(Entry::Remember(life)) => remember = Some(life),
            Ok(Entry::Rules { lines, all }) => {
                catch_all |= all;
                blocks.push(lines);
            }
            Err(why) => leave_as_comment(index + 1, line, &why, &mut blocks, &mut faults),
        }
    }
    let mut out =
        b"# Brought over from INN's expire.ctl; there the last match counted, here the first.\n"
            .to_vec();
    if let Some(life) = remember {
        out.extend_from_slice(format!("/expired/\tx\t{life}\t-\n").as_bytes());
    }
    out.extend(blocks.into_iter().rev().flatten());
    if !catch_all {
        out.extend_from_slice(b"# INN keeps for ever what no line of expire.ctl matches.\nall\tx\tnever-never-never\t-\n");
    }
    if faults.is_empty() {
        return Ok(out);
    }
    Err(Untranslated {
        explist: out,
        faults,
    })
}

/// Adds a line as a comment in its place, and records the error.
fn leave_as_comment(
    line: usize,
    text: &[u8],
    why: &str,
    blocks: &mut Vec<Vec<u8>>,
    faults: &mut Vec<UntranslatedLine>,
) {
    let comment = format!(
        "# NOT BROUGHT OVER, line {line}: {}\n#   {why}\n",
        shown(text)
    );
    blocks.push(comment.into_bytes());
    faults.push(UntranslatedLine {
        line,
        why: why.to_owned(),
    });
}

/// One line of `expire.ctl`.
enum Entry {
    Remember(Lifetime),
    Rules {
        /// The lines of `explist`.
        lines: Vec<u8>,
        /// Whether they rule every group.
        all: bool,
    },
}

impl Entry {
    fn parse(line: &[u8]) -> Result<Self, String> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        match fields.as_slice() {
            [b"/remember/", days] => Ok(Self::Remember(life(days)?)),
            [b"/remember/", ..] => Err("is not `/remember/:days'".to_owned()),
            [class, keep, default, purge] => Self::class(class, &dates(keep, default, purge)?),
            [patterns, flag, keep, default, purge] => {
                Self::groups(patterns, flag, &dates(keep, default, purge)?)
            }
            _ => Err(format!(
                "has {} fields where pattern:flag:keep:default:purge has 5",
                fields.len()
            )),
        }
    }

    fn class(class: &[u8], dates: &str) -> Result<Self, String> {
        if class != b"*" {
            return Err(format!(
                "rules storage class {}, but Broadsheet has no storage classes; write rules for the groups that storage.conf assigns to it",
                shown(class)
            ));
        }
        Ok(Self::Rules {
            lines: format!("all\tx\t{dates}\t-\n").into_bytes(),
            all: true,
        })
    }

    fn groups(patterns: &[u8], flag: &[u8], dates: &str) -> Result<Self, String> {
        if flag.contains(&b'X') {
            return Err(
                "has flag X (remove from all groups at once), but Broadsheet removes each group of a cross-posted article by its own rule"
                    .to_owned(),
            );
        }
        // The first of M, U, A that occurs, in this order, as in INN.
        let letter = [(b'M', 'm'), (b'U', 'u'), (b'A', 'x')]
            .into_iter()
            .find(|(inn, _)| flag.contains(inn))
            .map(|(_, letter)| letter)
            .ok_or_else(|| format!("has flag `{}'; it must be M, U or A", shown(flag)))?;
        let mut lines = Vec::new();
        let mut all = false;
        for pattern in patterns.split(|byte| *byte == b',') {
            let pattern = pattern.trim_ascii();
            if pattern.is_empty() {
                continue;
            }
            let same = wild::translate(pattern)?;
            all |= letter == 'x' && same == b"all";
            lines.extend_from_slice(&same);
            lines.extend_from_slice(format!("\t{letter}\t{dates}\t-\n").as_bytes());
        }
        if lines.is_empty() {
            return Err("names no group".to_owned());
        }
        Ok(Self::Rules { lines, all })
    }
}

fn dates(keep: &[u8], default: &[u8], purge: &[u8]) -> Result<String, String> {
    let (keep, default, purge) = (life(keep)?, life(default)?, life(purge)?);
    Dates::new(Some(keep), default, Some(purge), DateBounds::default())
        .map(|dates| dates.to_string())
        .map_err(|fault| fault.to_string())
}

/// Parses INN's days: `never` in any case, and very many days, mean never.
fn life(text: &[u8]) -> Result<Lifetime, String> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"never") {
        return Ok(Lifetime::Never);
    }
    match Lifetime::parse(text) {
        Ok(Lifetime::Seconds(seconds)) if seconds > NEVER_DAYS * DAY_SECONDS => Ok(Lifetime::Never),
        Ok(life) => Ok(life),
        Err(LifetimeError::TooLong(_)) => Ok(Lifetime::Never),
        Err(fault) => Err(fault.to_string()),
    }
}

fn lines(faults: &[UntranslatedLine]) -> String {
    match faults.len() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

fn first(faults: &[UntranslatedLine]) -> String {
    faults
        .first()
        .map(UntranslatedLine::to_string)
        .unwrap_or_default()
}
