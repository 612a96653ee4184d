//! A new password: asked for twice on the terminal, which does not show it; or a line of standard input.

use std::io::{self, BufRead, Read, Write};

use anyhow::Context;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Longest line, bytes.
const LINE_BYTES_MAX: u64 = access::password::PASSWORD_BYTES_MAX as u64 + 2;

/// What a terminal sends for Control-C.
const INTERRUPT: u8 = 3;

/// Asks for it, or reads it.
///
/// # Errors
/// Standard input cannot be read, the two passwords differ, or the user interrupted. The caller checks the password.
pub fn ask(user: &str) -> anyhow::Result<Vec<u8>> {
    let stdin = io::stdin();
    let Ok(shown) = tcgetattr(&stdin) else {
        return line();
    };
    let _silence = Silence::begin(shown).context("cannot turn off the echo of the terminal")?;
    let first = asked(&format!("Password for {user}: "))?;
    let again = asked("Repeat the password: ")?;
    anyhow::ensure!(
        first == again,
        "the two passwords differ; nothing was changed"
    );
    Ok(first)
}

fn asked(prompt: &str) -> anyhow::Result<Vec<u8>> {
    eprint!("{prompt}");
    io::stderr().flush()?;
    let read = line();
    eprintln!();
    let read = read?;
    anyhow::ensure!(
        !read.contains(&INTERRUPT),
        "interrupted; nothing was changed"
    );
    Ok(read)
}

/// One line, without its end.
fn line() -> anyhow::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut input = io::stdin().lock().take(LINE_BYTES_MAX);
    input
        .read_until(b'\n', &mut line)
        .context("cannot read the password from standard input")?;
    if line.ends_with(b"\n") {
        line.pop();
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
    Ok(line)
}

/// The terminal shows nothing that is typed, for as long as this lives. It sends no signals either: one that ended us would
/// leave it so.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin(before: Termios) -> io::Result<Silence> {
        let mut silent = before.clone();
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Silence { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}
