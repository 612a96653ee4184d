//! `broadsheet expov`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["expov"],
    also: &[],
    summary: "do nothing: expire removes overview rows",
    about: "\
In C News the overview lines of expired articles stayed until expov removed them. In Broadsheet a
row disappears with its article, and expire frees the space of both. This command only prints a
message, so that old scripts keep working.",
    operands: Operands {
        shown: "[GROUP...]",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, Flag::new("quiet", "Print no message.")],
    exits: &[],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    NewsDirectory::meant(given)?.settings()?;
    if !given.has("quiet") {
        eprintln!("broadsheet: nothing to do: `broadsheet expire' also removes overview rows");
    }
    Ok(Status::OK)
}
