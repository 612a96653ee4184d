//! `broadsheet expov`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["expov"],
    also: &[],
    summary: "nothing to do: expire takes overview rows away",
    about: "\
In C News the overview lines of expired articles stayed until expov removed them. Here a row is
out of sight the moment its article is, and expire gives its space back with the article's. This
command changes nothing and says so, so that old scripts go on working.",
    operands: Operands {
        shown: "[GROUP...]",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, Flag::new("quiet", "Say nothing.")],
    exits: &[],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    NewsDirectory::meant(given)?.settings()?;
    if !given.has("quiet") {
        eprintln!("broadsheet: nothing to do: `broadsheet expire' takes overview rows away itself");
    }
    Ok(Status::OK)
}
