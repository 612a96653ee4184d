//! Positions in text files, for messages.

use std::fmt;

/// A position in a file that the administrator writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// The file's name in the news directory.
    pub file: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1; `None` for the whole line.
    pub column: Option<usize>,
}

impl TextPosition {
    /// The position of a byte in a text.
    pub fn of(file: &'static str, text: &str, offset: usize) -> Self {
        let (line, column) = line_and_column(text, offset);
        Self {
            file,
            line,
            column: Some(column),
        }
    }
}

/// Writes `sys:3`, or `broadsheet.toml:3:5`.
impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}

/// Line and column of a byte offset, both from 1; the column counts characters.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let before = text.get(..end).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}
