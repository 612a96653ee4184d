//! INN's `expire.ctl` brought over to `explist`.
//!
//! Three things differ: INN's last matching line rules a group, here it is the
//! first, so the lines come out in reverse; the patterns of an INN line count
//! one by one (`a,!b` is: what matches a, and what does not match b), so each
//! becomes a line of its own; and a group that no INN line matches is kept for
//! ever, so a last line says so. (One thing is only nearly the same: `/remember/`
//! counts from posting there, `/expired/` from arrival here.) What `explist` cannot say is never guessed at:
//! it is left as a comment where it stood and reported as a fault.

mod wild;

use crate::dates::{Bounds, Dates};
use crate::explist::shown;
use crate::life::{DAY_SECONDS, Life, LifeFault};

/// INN takes more days than this for `never`.
const NEVER_DAYS: u64 = 49_710;

/// What came of a conversion with parts that could not be brought over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} of expire.ctl cannot be said in explist; the first: {}", lines(.faults), first(.faults))]
pub struct Untranslated {
    /// The lines that could be, with comments where the others stood. Do not
    /// expire by it before the comments are answered: their groups would fall to
    /// other lines.
    pub explist: Vec<u8>,
    /// What could not be, in the order of the file.
    pub faults: Vec<Fault>,
}

/// A line that could not be brought over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Fault {
    /// Number of the line in `expire.ctl`, from 1.
    pub line: usize,
    /// Why not, and what to do.
    pub why: String,
}

/// The `explist` that means the same as an `expire.ctl`, of either format
/// (`pattern:flag:keep:default:purge`, or `class:keep:default:purge` of servers
/// with `groupbaseexpiry: false`).
///
/// # Errors
/// [`Untranslated`] if any line has no equal; it holds the rest.
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
                refuse(
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
            Err(why) => refuse(index + 1, line, &why, &mut blocks, &mut faults),
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

/// Leaves a line as a comment in its place, and notes the fault.
fn refuse(line: usize, text: &[u8], why: &str, blocks: &mut Vec<Vec<u8>>, faults: &mut Vec<Fault>) {
    let comment = format!(
        "# NOT BROUGHT OVER, line {line}: {}\n#   {why}\n",
        shown(text)
    );
    blocks.push(comment.into_bytes());
    faults.push(Fault {
        line,
        why: why.to_owned(),
    });
}

/// One line of `expire.ctl`.
enum Entry {
    Remember(Life),
    Rules {
        /// Lines of `explist`.
        lines: Vec<u8>,
        /// They rule every group.
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
                "rules storage class {}, and there are none here; write rules for the groups that storage.conf puts in it",
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
                "has flag X (remove from all groups at once), but here each group of a cross-posted article goes by its own rule"
                    .to_owned(),
            );
        }
        // The first of M, U, A that occurs, in this order, as INN looks for them.
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
    Dates::new(Some(keep), default, Some(purge), Bounds::default())
        .map(|dates| dates.to_string())
        .map_err(|fault| fault.to_string())
}

/// INN's days: any case of `never`, and very many days, mean never.
fn life(text: &[u8]) -> Result<Life, String> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"never") {
        return Ok(Life::Never);
    }
    match Life::parse(text) {
        Ok(Life::Seconds(seconds)) if seconds > NEVER_DAYS * DAY_SECONDS => Ok(Life::Never),
        Ok(life) => Ok(life),
        Err(LifeFault::TooLong(_)) => Ok(Life::Never),
        Err(fault) => Err(fault.to_string()),
    }
}

fn lines(faults: &[Fault]) -> String {
    match faults.len() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

fn first(faults: &[Fault]) -> String {
    faults.first().map(Fault::to_string).unwrap_or_default()
}
