//! What `broadsheet check` finds in the control files.

use std::io;

use groups::{Active, Flag};

use crate::directory::NewsDirectory;
use crate::settings::Settings;

/// Faults of one file that are told one by one; of the rest only the number.
const FAULTS_TOLD_MAX: usize = 10;

/// Groups without which nothing can be filed: control messages go to one, and what is taken but
/// belongs nowhere to the other.
pub const NEEDED: &[&str] = &["control", "junk"];

/// One control file, looked over.
pub struct Finding {
    /// Its name in the news directory.
    pub file: &'static str,
    /// What is in it, or what is wrong with it.
    pub told: Result<String, String>,
}

/// Looks over all of them.
pub fn findings(directory: &NewsDirectory, _settings: &Settings) -> Vec<Finding> {
    let look = |file, told: fn(Vec<u8>) -> Result<String, String>| Finding {
        file,
        told: read(directory, file).and_then(told),
    };
    vec![
        look("active", active),
        look("newsgroups", lines),
        look("sys", lines),
        look("explist", lines),
    ]
}

fn read(directory: &NewsDirectory, file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(directory.file(file)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "is missing".to_owned(),
        _ => format!("cannot be read: {error}"),
    })
}

fn active(text: Vec<u8>) -> Result<String, String> {
    let active = Active::parse(text).map_err(|fault| fault.to_string())?;
    let mut faults: Vec<String> = active.faults().iter().map(ToString::to_string).collect();
    let untold = active.fault_count().saturating_sub(faults.len());
    for group in NEEDED {
        if active.find(group.as_bytes()).is_none() {
            faults.push(format!("active has no group `{group}'"));
        }
    }
    for id in active.ids() {
        if matches!(active.flag(id), Flag::Alias(_)) && active.resolve(id).is_none() {
            faults.push(format!(
                "group `{}' is an alias that leads to no group",
                String::from_utf8_lossy(active.name(id))
            ));
        }
    }
    told_or_faults(faults, untold, || count_by_flag(&active))
}

fn told_or_faults(
    faults: Vec<String>,
    untold: usize,
    told: impl Fn() -> String,
) -> Result<String, String> {
    if faults.is_empty() {
        return Ok(told());
    }
    let more = faults
        .len()
        .saturating_sub(FAULTS_TOLD_MAX)
        .saturating_add(untold);
    let mut lines: Vec<String> = faults.into_iter().take(FAULTS_TOLD_MAX).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Err(lines.join("\n    "))
}

/// `826 groups: 805 y, 21 m`.
fn count_by_flag(active: &Active) -> String {
    let count = |letter: u8| {
        active
            .ids()
            .filter(|id| active.flag(*id).letter() == letter)
            .count()
    };
    let counted: Vec<String> = b"ynmxj="
        .iter()
        .map(|letter| (count(*letter), char::from(*letter)))
        .filter(|(count, _)| *count > 0)
        .map(|(count, letter)| format!("{count} {letter}"))
        .collect();
    format!("{} groups: {}", active.len(), counted.join(", "))
}

fn lines(text: Vec<u8>) -> Result<String, String> {
    let lines = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .count();
    Ok(format!(
        "{lines} {}",
        if lines == 1 { "line" } else { "lines" }
    ))
}
