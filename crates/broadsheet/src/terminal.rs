//! What is printed to a terminal: nothing that strangers wrote acts on it. One way for all commands.
//!
//! Headers and names of groups may have escape sequences and controls of writing direction. To a terminal they are written as `\xNN`;
//! pipes and files get the bytes as they are, because scripts read them.

use std::io::{self, Write};

use groups::push_for_terminal;

/// The longest start of a character of UTF-8 that lacks its end, bytes.
const STARTED_BYTES_MAX: usize = 3;

/// Standard output.
pub struct Output<W> {
    out: W,
    is_terminal: bool,
    /// The start of a character whose end comes with the next bytes.
    started: Vec<u8>,
}

impl<W: Write> Output<W> {
    /// Writes to `out`.
    pub fn new(out: W, is_terminal: bool) -> Output<W> {
        Output {
            out,
            is_terminal,
            started: Vec::new(),
        }
    }

    fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut shown = Vec::with_capacity(lines.len());
        push_for_terminal(&mut shown, lines);
        self.out.write_all(&shown)
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        let mut lines = std::mem::take(&mut self.started);
        lines.extend_from_slice(bytes);
        self.started = lines.split_off(lines.len() - started_at_end(&lines));
        self.write_lines(&lines)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let started = std::mem::take(&mut self.started);
        self.write_lines(&started)?;
        self.out.flush()
    }
}

/// Number of bytes at the end that may be the start of a character.
fn started_at_end(lines: &[u8]) -> usize {
    let longest = STARTED_BYTES_MAX.min(lines.len());
    let is_start = |bytes: &&[u8]| {
        str::from_utf8(bytes).is_err_and(|why| why.valid_up_to() == 0 && why.error_len().is_none())
    };
    let ends = (1..=longest).filter_map(|count| lines.get(lines.len() - count..));
    ends.rev().find(is_start).map_or(0, <[u8]>::len)
}

/// Writes a line to standard error, for people: to a terminal, a file or a pipe.
pub fn tell(line: std::fmt::Arguments<'_>, end: &str) {
    let mut shown = Vec::new();
    push_for_terminal(&mut shown, line.to_string().as_bytes());
    shown.extend_from_slice(end.as_bytes());
    // As the standard library does, but a closed standard error stops no command.
    crate::progress::without_bar(|| {
        let _ = io::stderr().write_all(&shown);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pipes_get_the_bytes_as_they_are() {
        let mut to_file = Output::new(Vec::new(), false);
        to_file.write_all(b"\x1b[2J\xff").unwrap();
        to_file.flush().unwrap();
        assert_eq!(to_file.out, b"\x1b[2J\xff");
    }

    proptest! {
        /// However the bytes are divided.
        #[test]
        fn a_terminal_gets_no_controls(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..5),
                    any::<String>().prop_map(String::into_bytes),
                    Just("\u{202e}".as_bytes()[..2].to_vec()),
                    Just("\u{202e}".as_bytes()[2..].to_vec()),
                ],
                0..8,
            )
        ) {
            let mut terminal = Output::new(Vec::new(), true);
            for piece in &pieces {
                terminal.write_all(piece).unwrap();
            }
            terminal.flush().unwrap();
            let mut at_once = Vec::new();
            push_for_terminal(&mut at_once, &pieces.concat());
            let text = String::from_utf8(terminal.out).unwrap();
            prop_assert_eq!(text.as_bytes(), &at_once[..]);
            prop_assert!(
                !text.chars().any(|c| !matches!(c, '\n' | '\t') && groups::is_terminal_control(c))
            );
        }
    }
}
