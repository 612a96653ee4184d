//! A file of settings of another system, and its lines.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::regular;

/// Largest file of settings, bytes.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// A file of another system, and its text.
#[derive(Debug, Clone, Default)]
pub struct ConfFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text; empty where there is no such file.
    pub text: Vec<u8>,
    /// Whether it is there.
    pub is_there: bool,
}

impl ConfFile {
    /// Reads a file; one that is missing is empty.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub fn read(path: PathBuf) -> std::io::Result<ConfFile> {
        let at = |error: std::io::Error| {
            std::io::Error::new(
                error.kind(),
                format!("cannot read {}: {error}", path.display()),
            )
        };
        let file = match regular::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ConfFile {
                    path,
                    ..ConfFile::default()
                });
            }
            opened => opened.map_err(at)?,
        };
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX + 1)
            .read_to_end(&mut text)
            .map_err(at)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(at(std::io::Error::other("it is larger than 64 MiB")));
        }
        Ok(ConfFile {
            path,
            text,
            is_there: true,
        })
    }

    /// The place of a line, for the report.
    pub fn at(&self, line: usize) -> (&Path, usize) {
        (&self.path, line)
    }

    /// The lines that say something, numbered from 1: no comments, no empty ones. A backslash at the end joins the next.
    pub fn lines(&self) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        let mut joined: Option<(usize, String)> = None;
        for (number, line) in (1..).zip(self.text.split(|&b| b == b'\n')) {
            let line = String::from_utf8_lossy(line).into_owned();
            let line = line.trim_end_matches('\r');
            if joined.is_none()
                && (line.trim_ascii().is_empty() || line.trim_ascii_start().starts_with('#'))
            {
                continue;
            }
            let (start, mut text) = joined.take().unwrap_or((number, String::new()));
            let part = if text.is_empty() {
                line
            } else {
                line.trim_start()
            };
            match part.strip_suffix('\\') {
                Some(part) => {
                    text.push_str(part);
                    joined = Some((start, text));
                }
                None => {
                    text.push_str(part);
                    lines.push((start, text));
                }
            }
        }
        lines.extend(joined);
        lines
    }
}
