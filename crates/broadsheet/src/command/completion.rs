//! `broadsheet completion`: completions for shells from the flag tables.

use std::io::Write;

use crate::command_set::CommandSet;
use crate::completion;
use crate::exit::Status;
use crate::flags::{Command, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["completion"],
    also: &[],
    summary: "print the completion script for a shell",
    about: "\
  broadsheet completion bash > /etc/bash_completion.d/broadsheet
  broadsheet completion zsh > /usr/local/share/zsh/site-functions/_broadsheet
  broadsheet completion fish > /etc/fish/completions/broadsheet.fish",
    operands: Operands {
        shown: "bash|zsh|fish",
        least: 1,
        most: 1,
    },
    flags: &[],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let shell = given
        .operands
        .first()
        .map(|shell| shell.to_string_lossy())
        .unwrap_or_default();
    let Some(written) = completion::write(out, &shell, CommandSet(given.sections)) else {
        let known = completion::SHELLS.join(", ");
        return Err(given
            .usage(format!(
                "the shell `{shell}' is not supported; supported are {known}"
            ))
            .into());
    };
    written?;
    Ok(Status::OK)
}
