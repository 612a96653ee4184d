//! The news directory of a command: `--dir`, or the environment.

use std::ffi::OsStr;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;

use crate::account::Account;
use crate::flags::{Given, UsageError};

/// The environment's word for the news directory, when `--dir` is absent.
pub const ENVIRONMENT: &str = "BROADSHEET_DIR";

/// This program, even where its file was replaced by a newer one. It does not answer to that name, so the first argument is its command.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Subdirectories that `broadsheet init` makes.
pub const SUBDIRECTORIES: &[&str] = &["segments", "feeds", "in.coming", "bad"];

/// The news directory that a command works on.
#[derive(Clone)]
pub struct NewsDirectory {
    directory: settings::NewsDirectory,
    source: &'static str,
}

impl Deref for NewsDirectory {
    type Target = settings::NewsDirectory;

    fn deref(&self) -> &settings::NewsDirectory {
        &self.directory
    }
}

impl NewsDirectory {
    /// The directory meant: `--dir`, else `BROADSHEET_DIR`. It need not exist.
    ///
    /// # Errors
    /// When neither says one; or root asks, and it is another user's: what root writes there its owner could not write again, and
    /// the news system would stand still.
    pub fn meant(given: &Given) -> Result<NewsDirectory, UsageError> {
        let Some(directory) = NewsDirectory::maybe(given) else {
            return Err(given.usage(format!(
                "the news directory is missing: add --dir DIR, or set {ENVIRONMENT}"
            )));
        };
        let owner = std::fs::metadata(directory.root()).map_or(0, |data| data.uid());
        if owner != 0 && rustix::process::geteuid().is_root() {
            let name = Account::name_of(owner);
            return Err(given.usage(format!(
                "{} belongs to {name}, who could not write to files that root creates there: run `sudo -u {name} ...'",
                directory.root().display()
            )));
        }
        Ok(directory)
    }

    /// Like `meant`, for commands that can do without one.
    pub fn maybe(given: &Given) -> Option<NewsDirectory> {
        let of = |root: &OsStr, source| NewsDirectory {
            directory: settings::NewsDirectory::at(root),
            source,
        };
        if let Some(root) = given.value("dir") {
            return Some(of(root, "--dir"));
        }
        let root = std::env::var_os(ENVIRONMENT).filter(|root| !root.is_empty())?;
        Some(of(&root, ENVIRONMENT))
    }

    /// The same by its full name, which is valid in any working directory.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn by_full_name(self) -> Result<settings::NewsDirectory, settings::Error> {
        self.directory.by_full_name()
    }

    /// Returns the origin of the name: `--dir` or the environment variable.
    pub fn source(&self) -> &'static str {
        self.source
    }
}
