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
            true if answer.is_long() => {
                writeln!(out, "{}", visible(format!("{:#}", answer.json())))
            }
            true => writeln!(out, "{}", visible(answer.json().to_string())),
            false => answer.write_text(out),
        }
    }
}

/// The same JSON, with characters that act on a terminal written as `\uNNNN`. JSON itself asks that of ASCII controls only (RFC 8259, 7), and
/// all others can stand within strings only.
fn visible(json: String) -> String {
    let acts = |c: &char| !matches!(c, '\n') && groups::is_terminal_control(*c);
    if !json.chars().any(|c| acts(&c)) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match acts(&character) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_without_controls() {
        let value = serde_json::json!({ "subject": "\u{9b}1m \u{202e}\u{fc}\u{7f}\u{1b}" });
        let text = visible(value.to_string());
        assert_eq!(
            text,
            "{\"subject\":\"\\u009b1m \\u202e\u{fc}\\u007f\\u001b\"}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(visible("\"\u{7f}\"".to_owned()), "\"\\u007f\"");
    }
}
