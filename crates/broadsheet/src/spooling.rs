//! Putting inputs into in.coming/: what `rnews --spool` and `newsspool` share.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use relay::StandardInput;
use relay::incoming::{Grade, SpoolOptions, Spooled, spool};
use relay::rnews::Input;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::failure;
use crate::flags::Given;

/// What was put there.
#[derive(Default)]
pub struct Count {
    /// Batches that wait now.
    pub spooled: u64,
    /// Batches with nothing in them, discarded.
    pub empty: u64,
    /// Bytes of those that wait.
    pub bytes: u64,
}

impl Answer for Count {
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn json(&self) -> Value {
        json!({ "spooled": self.spooled, "empty": self.empty, "bytes": self.bytes })
    }
}

/// How batches are spooled. A sender such as uuxqt may have no other copy, so an error in the settings is only reported.
///
/// # Errors
/// It is no news directory.
pub fn options(directory: &NewsDirectory, grade: Option<Grade>) -> anyhow::Result<SpoolOptions> {
    let (keep_free, fault) = keep_free(directory)?;
    if let Some(fault) = fault {
        failure::report(&fault.into());
    }
    Ok(SpoolOptions {
        grade: grade.unwrap_or(Grade::NONE),
        keep_free,
    })
}

/// The setting incoming.keep_free; or its default, with the error in the settings.
///
/// # Errors
/// It is no news directory.
pub fn keep_free(directory: &NewsDirectory) -> anyhow::Result<(u64, Option<settings::Error>)> {
    match directory.settings() {
        Ok(read) => Ok((read.settings.incoming.keep_free, None)),
        Err(error) if !store::is_news_directory(directory.root()) => Err(error.into()),
        Err(error) => Ok((SpoolOptions::default().keep_free, Some(error))),
    }
}

/// The exit status for the sender of a batch: after an error, [`Status::AGAIN`] if nobody else may have a copy of it. The default news
/// directory may be on a disk that is not mounted, so that this holds for the missing one, too.
///
/// # Errors
/// The error, if somebody has.
pub fn for_sender(done: anyhow::Result<Status>, is_only_copy: bool) -> anyhow::Result<Status> {
    match done {
        Err(error) if is_only_copy => {
            failure::report(&error);
            Ok(Status::AGAIN)
        }
        done => done,
    }
}

/// Prints the result, and returns the exit status: a full disk tells the sender to retry.
///
/// # Errors
/// Those of spooling, except a full disk, and of writing.
pub fn answer(
    done: anyhow::Result<Count>,
    given: &Given,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    match done {
        Ok(count) => {
            given.print(&count, out)?;
            Ok(Status::OK)
        }
        Err(error) => {
            let cause = error.downcast_ref::<relay::Error>();
            if !cause.is_some_and(relay::Error::is_disk_full) {
                return Err(error);
            }
            failure::report(&error);
            Ok(Status::AGAIN)
        }
    }
}

/// Spools every input, and removes those that are files if `unlink`.
///
/// # Errors
/// The first input that cannot be read or spooled: named. Those before it wait.
pub fn all(
    directory: &NewsDirectory,
    inputs: &[Input],
    options: SpoolOptions,
    unlink: bool,
) -> anyhow::Result<Count> {
    let mut count = Count::default();
    for input in inputs {
        let done = match input {
            Input::Handed(handed) => {
                let name = Path::new(&handed.name);
                one(directory, name, &mut &*handed.file, options)?
            }
            Input::Stdin => {
                let name = Path::new("standard input");
                one(directory, name, &mut StandardInput, options)?
            }
            Input::File(path) | Input::Spooled(path) => {
                let mut file = File::open(path).map_err(|error| {
                    anyhow::Error::new(error).context(format!("cannot open {}", path.display()))
                })?;
                let done = one(directory, path, &mut file, options)?;
                if unlink {
                    std::fs::remove_file(path).map_err(|error| {
                        let what = format!("cannot remove {} after spooling it", path.display());
                        anyhow::Error::new(error).context(what)
                    })?;
                }
                done
            }
        };
        match done {
            Spooled::Waits { bytes, .. } => {
                count.spooled += 1;
                count.bytes += bytes;
            }
            Spooled::Empty => count.empty += 1,
        }
    }
    Ok(count)
}

fn one(
    directory: &NewsDirectory,
    name: &Path,
    from: &mut dyn Read,
    options: SpoolOptions,
) -> anyhow::Result<Spooled> {
    Ok(spool(directory.root(), name, from, options)?)
}
