//! A batch that one program opened and another files.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::input::{Again, Input, Source};
use crate::log::Now;

/// A regular file to be handed to another program, with what is said of it there. Who handed it over removes it, where
/// that is wanted.
#[derive(Debug, Clone)]
pub struct Handed {
    /// For messages.
    pub name: String,
    /// What the end of a kept batch's name is: the file's name, or the number of the process that read a pipe.
    pub tail: String,
    /// The file; it is read from where it stands.
    pub file: Arc<File>,
}

/// An input, opened to be handed over.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    Whole(Handed),
    /// A pipe or the like: it can be read once only.
    Flowing(Handed),
}

impl Handed {
    /// Opens an input to hand it over.
    ///
    /// # Errors
    /// In the words a run would tell it in: it cannot be opened.
    pub fn open(input: &Input) -> Result<Opened, String> {
        let source =
            Source::open(input, Now::read()).map_err(|(name, error)| cannot_open(&name, &error))?;
        let tail = match input {
            Input::File(path) => path
                .file_name()
                .map(|name| Path::new(name).display().to_string()),
            _ => None,
        };
        let handed = Handed {
            name: source.name,
            tail: tail.unwrap_or_else(|| std::process::id().to_string()),
            file: Arc::new(source.file),
        };
        Ok(match source.again {
            Again::Never => Opened::Flowing(handed),
            Again::Path(_) | Again::From(_) => Opened::Whole(handed),
        })
    }
}

/// What is told of an input that cannot be opened.
pub(crate) fn cannot_open(name: &str, error: &io::Error) -> String {
    format!("cannot open {name}: {error}; the others go on")
}
