//! `broadsheet help`, also `--help`.

use std::io::Write;

use crate::command_set::CommandSet;
use crate::exit::Status;
use crate::flags::{Command, Given, Operands, UsageError};
use crate::{help, nearest};

/// The table.
pub static COMMAND: Command = Command {
    words: &["help"],
    also: &[],
    summary: "list the commands, or describe one",
    about: "`broadsheet COMMAND --help' prints the same.",
    operands: Operands {
        shown: "COMMAND",
        least: 0,
        most: 2,
    },
    flags: &[],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    if let [noun] = given.operands.as_slice()
        && let commands = CommandSet(given.sections).of_noun(&noun.to_string_lossy())
        && !commands.is_empty()
    {
        help::write_list(out, &commands)?;
        return Ok(Status::OK);
    }
    match about(given)? {
        Some(command) => help::write_command(out, command)?,
        None => help::write_all(out, given.sections)?,
    }
    Ok(Status::OK)
}

/// The command that the operands of `help` or `man` name, if they name any.
pub fn about(given: &Given) -> Result<Option<&'static Command>, UsageError> {
    let words: Vec<String> = given
        .operands
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.is_empty() {
        return Ok(None);
    }
    match CommandSet(given.sections).named(&words) {
        Some((command, used)) if used == words.len() => Ok(Some(command)),
        _ => {
            let names: Vec<String> = CommandSet(given.sections)
                .all()
                .map(Command::name)
                .collect();
            let hint = nearest::hint(&words.join(" "), "", names.iter().map(String::as_str));
            Err(given.usage(format!("unknown command `{}'{hint}", words.join(" "))))
        }
    }
}
