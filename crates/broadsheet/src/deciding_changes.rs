//! The difference between the settings in force in a cluster and the files of this node, as lines for people.

use std::collections::BTreeMap;

use cluster::settings_change::Origin;
use settings::cluster::{DecidingPart, is_fixed};
use settings::in_force::{self, DecidingFiles};
use settings::{FILE, NewsDirectory, Settings, TABLE, deciding_text};
use store::AppliedEntry;

/// Lines that are shown of a file with many changes.
const LINES_SHOWN: usize = 20;

/// The settings in force.
pub struct InForce {
    settings: Settings,
    files: DecidingFiles,
    /// The parts with their hashes.
    pub parts: Vec<DecidingPart>,
}

impl InForce {
    /// Those of a copy of a node.
    ///
    /// # Errors
    /// The copy or broadsheet.toml cannot be read.
    pub fn of(directory: &NewsDirectory, copy: &NewsDirectory) -> anyhow::Result<InForce> {
        let settings = in_force::settings_with(directory, copy)?;
        let parts = settings.deciding_parts_of_copy(copy, directory)?;
        Ok(InForce {
            files: DecidingFiles::of(copy)?,
            settings,
            parts,
        })
    }

    /// Refuses the change of a setting that a cluster never changes; `parts`: those of the files of the administrator.
    ///
    /// # Errors
    /// There is such a change.
    pub fn refuse_fixed(&self, parts: &[DecidingPart]) -> anyhow::Result<()> {
        let mut pairs = self.parts.iter().zip(parts);
        match pairs.find(|(before, now)| before.hash != now.hash && is_fixed(&now.name)) {
            None => Ok(()),
            Some((part, _)) => anyhow::bail!(
                "{} has changed, and never does in a cluster: take the change back",
                part.name
            ),
        }
    }

    /// The changes to the settings and files of the administrator, a line each.
    pub fn changes(&self, settings: &Settings, files: &DecidingFiles) -> Vec<String> {
        let mut lines = Vec::new();
        for setting in TABLE {
            let path = setting.path();
            let (old, new) = (setting.written(&self.settings), setting.written(settings));
            if old != new && self.parts.iter().any(|part| part.name == path) {
                lines.push(format!("{path}: {old} -> {new}"));
            }
        }
        let (old, new) = (sites(&self.files), sites(files));
        for (name, value) in &old {
            match new.get(name) {
                None => lines.push(format!("- {name}")),
                Some(other) if other != value => {
                    lines.push(format!("~ {name}: {value} -> {other}"))
                }
                Some(_) => {}
            }
        }
        let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
        lines.extend(added.map(|(name, value)| format!("+ {name}: {value}")));
        let names = self.files.iter().chain(files.iter());
        let names: std::collections::BTreeSet<&str> = names.map(|(name, _)| name).collect();
        for name in names.into_iter().filter(|name| *name != FILE) {
            lines.extend(changed_lines(name, self.files.get(name), files.get(name)));
        }
        lines
    }
}

/// `accept` and each `[[site]]`, as text.
fn sites(files: &DecidingFiles) -> BTreeMap<String, String> {
    let text = files.get(FILE).and_then(|text| str::from_utf8(text).ok());
    deciding_text::sites(text.unwrap_or_default())
}

/// The lines that only one of two contents of a file has.
fn changed_lines(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let mut counts: BTreeMap<&[u8], i64> = BTreeMap::new();
    for (content, sign) in [(old, -1), (new, 1)] {
        for line in content.unwrap_or_default().split(|&byte| byte == b'\n') {
            *counts.entry(line).or_default() += sign;
        }
    }
    let changed = counts
        .iter()
        .filter(|(line, count)| **count != 0 && !line.is_empty());
    let mut lines: Vec<String> = changed
        .map(|(line, count)| {
            let sign = if *count < 0 { '-' } else { '+' };
            format!("{name}: {sign} {}", line.escape_ascii())
        })
        .collect();
    let more = lines.len().saturating_sub(LINES_SHOWN);
    if more > 0 {
        lines.truncate(LINES_SHOWN);
        lines.push(format!("{name}: and {more} more"));
    }
    if lines.is_empty() {
        lines.push(format!(
            "{name}: lines have moved, or the file is new or gone"
        ));
    }
    lines
}

/// The payload of the entry with these files, made at this place in the log.
///
/// # Errors
/// They are too large for an entry.
pub fn payload(
    origin: &Origin<'_>,
    place: &AppliedEntry,
    files: &DecidingFiles,
    bytes_max: usize,
) -> anyhow::Result<Vec<u8>> {
    let here = (place.rules, place.sequence);
    let payload = cluster::settings_change::payload(origin, here, files.iter());
    let size = payload.as_ref().map_or(usize::MAX, Vec::len);
    match payload.filter(|_| size <= bytes_max) {
        Some(payload) => Ok(payload),
        None => anyhow::bail!(
            "the settings have {size} bytes together, and an entry of the log at most {bytes_max}: shorten sys, control.ctl, or the keys"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_shown() {
        let lines = changed_lines("sys", Some(b"a\nb\nb\n"), Some(b"b\nc\n"));
        assert_eq!(lines, ["sys: - a", "sys: - b", "sys: + c"]);
        assert_eq!(changed_lines("sys", None, None), [""; 0]);
        assert_eq!(changed_lines("sys", None, Some(b"")).len(), 1);
        let many: Vec<u8> = (0..50)
            .flat_map(|n| format!("{n}\n").into_bytes())
            .collect();
        let lines = changed_lines("sys", Some(&many), None);
        assert_eq!(lines.last().map(String::as_str), Some("sys: and 30 more"));
    }

    #[test]
    fn settings_that_are_too_large_are_refused() {
        let long = [b'x'; 100];
        let files = DecidingFiles::from_parts([("sys", &long[..])].into_iter()).unwrap_or_default();
        let place = AppliedEntry::default();
        let origin = Origin {
            login: "",
            log: "",
            rules: 1,
        };
        assert!(payload(&origin, &place, &files, 100).is_err());
        assert!(payload(&origin, &place, &files, 200).is_ok());
    }
}
