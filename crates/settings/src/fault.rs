//! The errors of `broadsheet.toml`, with their places.

use std::fmt;
use std::path::PathBuf;

use groups::text_position::line_and_column;

/// The errors in one file. Exit status 78.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The file.
    pub path: PathBuf,
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
}

/// One error.
#[derive(Clone, Debug)]
pub struct Fault {
    line: usize,
    column: usize,
    what: String,
}

impl Fault {
    /// An error at a byte offset of a text.
    pub fn at(text: &str, offset: usize, what: String) -> Fault {
        let (line, column) = line_and_column(text, offset);
        Fault { line, column, what }
    }

    /// Its line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The error, without its place.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            let newline = if number == 0 { "" } else { "\n" };
            let Fault { line, column, what } = fault;
            write!(
                f,
                "{newline}{}:{line}:{column}: {what}",
                self.path.display()
            )?;
        }
        Ok(())
    }
}
