//! The review of the systemd unit. It lets the daemon write only below its `ReadWritePaths`, so that where a directory
//! of the news directory is a link to elsewhere, a command files there and the daemon cannot.

use std::fs;
use std::path::{Path, PathBuf};

use settings::Finding;

/// The unit, and the directory of its drop-ins.
const UNIT: [&str; 2] = ["broadsheet.service", "broadsheet.service.d"];

/// The places of units, relative to the root of the system.
pub const PLACES: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// A warning about the unit of the `system` whose root this is: a directory of `ReadWritePaths` is missing, so that systemd does not start the
/// service, and calls that a condition; or links lead out of the news directory at `root`, to where the unit may not write. None where there is
/// no unit.
pub fn warning(root: &Path, system: &Path) -> Option<Finding> {
    let root = fs::canonicalize(root).ok()?;
    let texts: Vec<String> = files(system)
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    if texts.is_empty() {
        return None;
    }
    missing_path(&texts).or_else(|| links_outside(&root, &texts))
}

/// A warning of a directory of `ReadWritePaths` that is missing.
fn missing_path(texts: &[String]) -> Option<Finding> {
    let mut required = texts.iter().flat_map(|text| required(text));
    let path = required.find(|path| !path.exists())?;
    let path = path.display();
    let warning = Finding::warning(format!(
        "{path} is missing, and systemd passes over the service (`ReadWritePaths={path}')"
    ));
    let remedy =
        format!("make it, or write `ReadWritePaths=-{path}' (`systemctl edit --full broadsheet')");
    Some(warning.remedy(':', remedy))
}

/// A warning of links that lead out of the news directory, to directories that `ReadWritePaths` has not.
fn links_outside(root: &Path, texts: &[String]) -> Option<Finding> {
    let allowed: Vec<PathBuf> = texts.iter().flat_map(|text| written(text)).collect();
    let entries = fs::read_dir(root).ok()?.filter_map(Result::ok);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let mut outside: Vec<PathBuf> = links
        .filter_map(|entry| fs::canonicalize(entry.path()).ok())
        .filter(|target| target.is_dir() && !target.starts_with(root))
        .filter(|target| !allowed.iter().any(|path| target.starts_with(path)))
        .collect();
    outside.sort();
    let first = outside.first()?.display();
    let warning = Finding::warning(format!(
        "the daemon of the systemd unit may not write to {first}, where a link of the news directory leads"
    ));
    let paths: Vec<String> = outside
        .iter()
        .map(|path| format!("-{}", path.display()))
        .collect();
    let remedy = format!(
        "`systemctl edit broadsheet', with the lines `[Service]' and `ReadWritePaths={}'",
        paths.join(" ")
    );
    Some(warning.remedy(':', remedy))
}

/// The unit and its drop-ins.
fn files(system: &Path) -> Vec<PathBuf> {
    let [unit, drop_ins] = UNIT;
    let mut files = Vec::new();
    for place in PLACES.map(|place| system.join(place)) {
        files.push(place.join(unit));
        let found = fs::read_dir(place.join(drop_ins)).into_iter().flatten();
        files.extend(found.filter_map(|entry| Some(entry.ok()?.path())));
    }
    files
}

/// The words of the `ReadWritePaths` lines of a unit.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    let values = lines.filter_map(|line| line.strip_prefix("ReadWritePaths="));
    let words = values.flat_map(str::split_ascii_whitespace);
    words.map(|word| word.trim_matches('"'))
}

/// The paths; a `-` before one says that it may be missing.
fn written(text: &str) -> impl Iterator<Item = PathBuf> {
    words(text).map(|word| PathBuf::from(word.trim_start_matches(['-', '+'])))
}

/// The paths that may not be missing.
fn required(text: &str) -> impl Iterator<Item = PathBuf> {
    let required = words(text).filter(|word| !word.starts_with('-'));
    required.map(|word| PathBuf::from(word.trim_start_matches('+')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_elsewhere_needs_a_line_in_the_unit() {
        let room = tempfile::tempdir().unwrap();
        let place = |name: &str| room.path().canonicalize().unwrap().join(name);
        for name in ["news/feeds", "disk/segments", "etc/systemd/system"] {
            fs::create_dir_all(place(name)).unwrap();
        }
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(place(target), place(name)).unwrap();
        };
        link("news/feeds", "news/inside");
        let warned = || warning(&place("news"), room.path());
        link("disk/segments", "news/segments");
        assert_eq!(warned(), None, "no unit");
        let unit = place("etc/systemd/system/broadsheet.service");
        let text = format!("[Service]\nReadWritePaths={}\n", place("news").display());
        fs::write(unit, text).unwrap();
        let told = warned().unwrap().to_string();
        let line = format!("ReadWritePaths=-{}'", place("disk/segments").display());
        assert!(told.contains(&line), "{told}");
        let drop_ins = place("etc/systemd/system/broadsheet.service.d");
        fs::create_dir(&drop_ins).unwrap();
        let text = format!("[Service]\nReadWritePaths=-{}\n", place("disk").display());
        fs::write(drop_ins.join("override.conf"), text).unwrap();
        assert_eq!(warned(), None);
        for (line, is_told) in [("-/none", false), ("/none", true)] {
            let text = format!(
                "[Service]\nReadWritePaths={line}\nReadWritePaths=-{}\n",
                place("disk").display()
            );
            fs::write(drop_ins.join("override.conf"), text).unwrap();
            let told = warned().is_some_and(|told| told.text.starts_with("/none is missing"));
            assert_eq!(told, is_told, "{line}");
        }
    }
}
