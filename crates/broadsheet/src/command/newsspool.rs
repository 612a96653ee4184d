//! `broadsheet newsspool`: batches into in.coming/.

use std::io::Write;
use std::path::PathBuf;

use relay::incoming::Grade;
use relay::rnews::Input;

use super::newsrun;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::failure;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::spooling;

/// The table.
pub static COMMAND: Command = Command {
    words: &["newsspool"],
    also: &[],
    summary: "write batches to in.coming/, to be filed later",
    about: "\
Copies each FILE, or standard input if there is none (or FILE is `-'), to in.coming/ in the news
directory, for `broadsheet newsrun'. It never waits for a lock. When the command exits with 0, the
batches are on the disk. They are copied unchanged; an empty one is discarded.

If less than incoming.keep_free would stay free, the batch is rejected: the command exits with 75,
and uuxqt keeps the request and retries it.

  uux -r -z far!newsspool < batch
  broadsheet newsspool -g 0 < posted-here",
    operands: Operands { shown: "FILE...", least: 0, most: usize::MAX },
    flags: &[
        DIR,
        JSON,
        Flag::classic('i', "immediate", "Then file the waiting batches, as newsrun does."),
        Flag::classic(
            'g',
            "grade",
            "Grade of the batch, 0 to 9. Batches with a low grade are filed first, those without a grade last. \
            Grade 0 is filed even after `newsrunning off'.",
        )
        .value("DIGIT"),
    ],
    exits: &[
        Meaning { status: Status::OK, when: "all batches are on the disk" },
        Meaning {
            status: Status::ATTENTION,
            when: "a batch could not be read or copied; those before it are in in.coming/",
        },
        Meaning {
            status: Status::AGAIN,
            when: "the disk is full, or standard input could not be spooled: retry this batch later; those before it are in in.coming/",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let grade = match given.value("grade").map(|word| word.as_encoded_bytes()) {
        None => None,
        Some([digit]) if digit.is_ascii_digit() => Grade::of(*digit),
        Some(_) => return Err(given.usage("-g needs one digit".to_owned()).into()),
    };
    let place = |name: &std::ffi::OsString| match name {
        name if name == "-" => Input::Stdin,
        name => Input::File(PathBuf::from(name)),
    };
    let mut inputs: Vec<Input> = given.operands.iter().map(place).collect();
    if inputs.is_empty() {
        inputs.push(Input::Stdin);
    }
    let done = spooled(given, grade, &inputs, out);
    let status = spooling::for_sender(done, inputs.iter().any(Input::may_be_only_copy))?;
    if given.has("immediate") {
        // The batch is safe: what filing says of it and of others is no answer to who gave it.
        if let Err(error) = filed(given) {
            failure::report(&error);
        }
    }
    Ok(status)
}

fn spooled(
    given: &Given,
    grade: Option<Grade>,
    inputs: &[Input],
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let done = spooling::options(&directory, grade)
        .and_then(|options| spooling::all(&directory, inputs, options, false));
    spooling::answer(done, given, out)
}

/// Files the waiting batches, as newsrun does.
fn filed(given: &Given) -> anyhow::Result<()> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    newsrun::drain(
        &directory,
        &settings,
        settings.rules(),
        settings.drain_options(),
    )?;
    Ok(())
}
