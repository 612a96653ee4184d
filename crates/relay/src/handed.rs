//! A batch that one program opens and another files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::input::{Handed, Input, Reread, Source};
use crate::log::Now;

/// An opened input for another program.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    Whole(Handed),
    /// A pipe or the like, which can be read only once.
    Flowing(Handed),
}

impl Handed {
    /// Opens an input for another program.
    ///
    /// # Errors
    /// The input cannot be opened; the message is that of a run.
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
        Ok(match source.reread {
            Reread::Never => Opened::Flowing(handed),
            Reread::Path(_) | Reread::From(_) => Opened::Whole(handed),
        })
    }
}

/// The message about an input that cannot be opened.
pub(crate) fn cannot_open(name: &str, error: &io::Error) -> String {
    format!("cannot open {name}: {error}; the others go on")
}
