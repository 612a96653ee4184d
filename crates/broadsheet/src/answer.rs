//! How the answer of an operation is printed: as text, or as JSON with `--json`. One way for all commands.

use std::io::{self, Write};

use serde_json::Value;

use crate::flags::Given;

/// What an operation returns.
pub trait Answer {
    /// Writes it for people.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;

    /// The same for programs.
    fn json(&self) -> Value;

    /// Whether its JSON goes over several lines.
    fn is_long(&self) -> bool {
        false
    }
}

impl Given {
    /// Prints an answer in the form that the flags ask for.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn print(&self, answer: &impl Answer, out: &mut dyn Write) -> io::Result<()> {
        match self.has("json") {
            true if answer.is_long() => writeln!(out, "{:#}", answer.json()),
            true => writeln!(out, "{}", answer.json()),
            false => answer.write_text(out),
        }
    }
}
