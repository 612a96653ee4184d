//! What `broadsheet check` finds in the control files.

use std::io;

use crate::directory::NewsDirectory;
use crate::settings::Settings;

/// One control file, looked over.
pub struct Finding {
    /// Its name in the news directory.
    pub file: &'static str,
    /// What is in it, or what is wrong with it.
    pub told: Result<String, String>,
}

/// Looks over all of them.
pub fn findings(directory: &NewsDirectory, _settings: &Settings) -> Vec<Finding> {
    ["active", "newsgroups", "sys", "explist"]
        .into_iter()
        .map(|file| Finding {
            file,
            told: read(directory, file).map(|bytes| told(&bytes)),
        })
        .collect()
}

fn read(directory: &NewsDirectory, file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(directory.file(file)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "is missing".to_owned(),
        _ => format!("cannot be read: {error}"),
    })
}

fn told(bytes: &[u8]) -> String {
    let lines = bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .count();
    format!("{lines} {}", if lines == 1 { "line" } else { "lines" })
}
