//! `broadsheet man`: manual pages from the flag tables.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::help;
use crate::command_set::CommandSet;
use crate::exit::Status;
use crate::flags::{Command, Flag, Given, Operands, Section};
use crate::man;

/// The table.
pub static COMMAND: Command = Command {
    words: &["man"],
    also: &[],
    summary: "print a manual page",
    about: "\
Prints the page of a command in roff format, or the page that lists all commands.

  broadsheet man rnews | man -l -
  broadsheet man --out man8",
    operands: Operands {
        shown: "COMMAND",
        least: 0,
        most: 2,
    },
    flags: &[Flag::new(
        "out",
        "Write the pages of all commands to files in DIR instead.",
    )
    .value("DIR")],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    if let Some(directory) = given.value("out") {
        write_pages(Path::new(directory), given.sections)?;
        return Ok(Status::OK);
    }
    match help::about(given)? {
        Some(command) => man::write_command(out, command)?,
        None => man::write_all(out, given.sections)?,
    }
    Ok(Status::OK)
}

fn write_pages(directory: &Path, sections: &'static [Section]) -> anyhow::Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for command in std::iter::once(None).chain(CommandSet(sections).all().map(Some)) {
        let mut page = Vec::new();
        match command {
            Some(command) => man::write_command(&mut page, command)?,
            None => man::write_all(&mut page, sections)?,
        }
        let path = directory.join(man::file_name(command));
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
