//! Broadsheet, the one binary: every command by first words (`broadsheet NOUN VERB`) or by the
//! name it is called by (`rnews`, `relaynews`).
//!
//! The way of a command line: `command_set` finds the command, its flag table reads the rest
//! (`flags`), its `run` does the work and writes to standard output; what goes wrong becomes one
//! line on standard error and an exit status (`failure`).

/// In place of the macro of the standard library: [`terminal::tell`] writes the line.
macro_rules! eprintln {
    () => { $crate::terminal::tell(format_args!(""), "\n") };
    ($($line:tt)*) => { $crate::terminal::tell(format_args!($($line)*), "\n") };
}

/// Writes text to standard error as `eprintln` does, without a newline.
macro_rules! eprint {
    ($($line:tt)*) => { $crate::terminal::tell(format_args!($($line)*), "") };
}

mod account;
mod answer;
mod archive_import;
mod archive_report;
mod asked;
mod backup;
mod block_edit;
#[cfg(test)]
mod book_reference;
mod cluster_feeds;
mod cluster_log;
mod command;
mod command_set;
mod completion;
mod deciding_changes;
mod directory;
mod encoded_word;
mod exit;
mod expiry_report;
mod failure;
mod fixed_limits;
mod flags;
mod group_flag;
mod help;
mod ihave;
mod joining;
mod keep_free;
mod key_report;
mod man;
mod matcher;
mod moving_in;
mod name_service;
mod new_directory;
mod new_password;
mod operand;
mod peer;
mod posting;
mod progress;
mod pull_status;
mod removal_search;
mod removed;
mod reseed;
mod review;
mod row_search;
mod setup;
mod spooling;
mod task_record;
mod terminal;
mod text;
mod user_edit;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use command::SECTIONS;
use command_set::CommandSet;
use exit::Status;
use groups::nearest;

/// Bytes gathered before standard output is written. Nothing here is interactive.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1024;

fn main() -> ExitCode {
    name_service::use_built_in();
    store::offload::connect_by(object_store);
    progress::observe_store();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let stdout = io::stdout().lock();
    let is_terminal = stdout.is_terminal();
    let out = terminal::Output::new(stdout, is_terminal);
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, out);
    let done = run(arguments, &mut out);
    let flushed = out.flush();
    let status = match (done, flushed) {
        (Ok(status), Ok(())) => status,
        (Ok(_), Err(error)) => failure::report(&error.into()),
        (Err(error), _) => failure::report(&error),
    };
    ExitCode::from(status.code())
}

/// The object store of a news directory, as its settings say.
fn object_store(dir: &Path) -> io::Result<store::offload::Connection> {
    let directory = settings::NewsDirectory::at(dir);
    let settings = directory.settings();
    let settings = settings.map_err(|error| io::Error::other(error.to_string()))?;
    objects::connect(&settings.settings.object_location(&directory))
}

fn run(arguments: Vec<OsString>, out: &mut dyn Write) -> anyhow::Result<Status> {
    let (command, called, rest) = CommandSet(SECTIONS).chosen(arguments)?;
    let given = flags::parse(SECTIONS, (command, called), rest)?;
    if given.has("help") {
        help::write_command(out, command)?;
        return Ok(Status::OK);
    }
    (command.run)(&given, out)
}

/// Reports each of these on standard error.
fn tell_all(notices: impl IntoIterator<Item = String>) {
    for notice in notices {
        daemon::say(&notice);
    }
}
