//! The files of a news directory, made from those of another system.

use std::io;
use std::path::Path;

use groups::Active;

use crate::conf_file::ConfFile;
use crate::report::{Fate, Report};

/// A file of a news directory: its name, its text, and whether only its owner may read it.
pub type MovedFile = (String, Vec<u8>, bool);

/// The files of a news directory, translated from another system.
#[derive(Debug, Default)]
pub struct Translation {
    /// `broadsheet.toml`.
    pub settings_text: String,
    /// The other files.
    pub files: Vec<MovedFile>,
    /// The result for each line.
    pub report: Report,
    /// Whether groups of the other system have articles by their marks, of a system that is imported by its history only.
    pub has_numbers: bool,
}

/// The number of files in a directory that are not empty and have a name that `is_meant` accepts; 0 where it cannot be listed.
pub fn files_in(dir: &Path, is_meant: impl Fn(&str) -> bool) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let meant = entries.filter(|entry| {
        let info = entry.metadata();
        is_meant(&entry.file_name().to_string_lossy())
            && info.is_ok_and(|info| info.is_file() && info.len() > 0)
    });
    meant.count() as u64
}

/// Whether a group of active has a number that is not below its low mark. Of an empty group, and of a new one, the low mark is one more than the
/// high mark.
pub fn has_numbers(file: &ConfFile) -> bool {
    let active = Active::parse(file.text.clone());
    active.is_ok_and(|active| active.ids().any(|id| active.high(id) >= active.low(id)))
}

/// Reads the groups with their high marks and flags; lines that are no groups are reported. Low marks are raised after the import.
///
/// # Errors
/// There is no such file, or it is too large.
pub fn active(
    file: &ConfFile,
    report: &mut Report,
    files: &mut Vec<MovedFile>,
) -> io::Result<Active> {
    if !file.is_there {
        return Err(io::Error::other(format!(
            "{} does not exist",
            file.path.display()
        )));
    }
    let mut text = Vec::new();
    let mut groups = 0usize;
    for (number, line) in (1..).zip(file.text.split(|&b| b == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match Active::parse([line, b"\n"].concat()) {
            Ok(one) if one.bad_line_count() == 0 => {
                groups += 1;
                // The low marks are raised after the import to what is there.
                for id in one.ids() {
                    text.extend_from_slice(one.name(id));
                    text.extend_from_slice(format!(" {:010} 00001 ", one.high(id)).as_bytes());
                    one.flag(id).push(&mut text);
                    text.push(b'\n');
                }
            }
            _ => report.add(
                file.at(number),
                Fate::Dropped,
                format!("not a group: `{}'", String::from_utf8_lossy(line)),
            ),
        }
    }
    report.add(
        file.at(0),
        Fate::Kept,
        format!("{groups} groups, with their high marks and flags"),
    );
    let table = Active::parse(text.clone());
    let table =
        table.map_err(|error| io::Error::other(format!("{}: {error}", file.path.display())))?;
    files.push(("active".to_owned(), text, false));
    Ok(table)
}
