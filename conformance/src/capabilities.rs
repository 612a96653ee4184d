//! The capabilities that a server advertises.

use crate::line::{Connection, block_line, initial_line};

/// The lines of a capability list (RFC 3977, 5.2.2); empty if the server has no such command.
#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    lines: Vec<String>,
}

impl Capabilities {
    /// Requests the list.
    pub fn ask(connection: &mut Connection) -> Result<Capabilities, String> {
        let lost = |error: std::io::Error| format!("CAPABILITIES: {error}");
        connection.send(b"CAPABILITIES\r\n").map_err(lost)?;
        let ended = "CAPABILITIES: the server closed the connection";
        let line = connection.line().map_err(lost)?.ok_or(ended)?;
        let mut lines = Vec::new();
        if !initial_line(&line)?.starts_with(b"101") {
            return Ok(Capabilities { lines });
        }
        loop {
            let line = connection.line().map_err(lost)?.ok_or(ended)?;
            match block_line(&line)? {
                Some(text) => lines.push(String::from_utf8_lossy(text).into_owned()),
                None => return Ok(Capabilities { lines }),
            }
        }
    }

    /// Whether the list contains this label, with this argument if any. Keywords are case-insensitive (RFC 3977, 9.5).
    pub fn have(&self, label: &str, argument: Option<&str>) -> bool {
        self.lines.iter().any(|line| {
            let mut words = line.split_whitespace();
            words
                .next()
                .is_some_and(|word| word.eq_ignore_ascii_case(label))
                && argument
                    .is_none_or(|argument| words.any(|word| word.eq_ignore_ascii_case(argument)))
        })
    }
}
