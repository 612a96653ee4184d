//! The news directory of a command: `--dir`, or the environment, or the usual place.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use crate::account::Account;
use crate::flags::{Given, UsageError};

/// The environment's word for the news directory, when `--dir` is absent.
pub const ENVIRONMENT: &str = "BROADSHEET_DIR";

/// The environment's word for a command of root's that goes on as the owner of the news directory. Only messages depend on it.
pub const RUN_BY_ROOT: &str = "BROADSHEET_RUN_BY_ROOT";

/// The news directory without `--dir` and `BROADSHEET_DIR`, if there is one; packages make it.
pub const DEFAULT: &str = "/var/spool/news";

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
    /// The directory meant: `--dir`, else `BROADSHEET_DIR`; these need not exist. Else [`DEFAULT`], if it is a news directory. If root runs the command in
    /// another user's directory, the program starts again as that user, so that nothing there ever belongs to root.
    ///
    /// # Errors
    /// No directory is named, or the program cannot start as the owner.
    pub fn meant(given: &Given) -> Result<NewsDirectory, UsageError> {
        let found = NewsDirectory::maybe(given).ok_or_else(|| missing(given))?;
        if rustix::process::geteuid().is_root()
            && let Ok(facts) = std::fs::metadata(found.root())
            && facts.uid() != 0
        {
            let owner = Account::of_uid(facts.uid());
            let error = start_again(&owner, facts.gid());
            return Err(given.usage(format!(
                "cannot go on as {}, to whom {} belongs: {error}",
                owner.name,
                found.root().display()
            )));
        }
        Ok(found)
    }

    /// As [`NewsDirectory::meant`], for a command that makes the directory: [`DEFAULT`] need only exist.
    ///
    /// # Errors
    /// As [`NewsDirectory::meant`].
    pub fn to_make(given: &Given) -> anyhow::Result<NewsDirectory> {
        let found = NewsDirectory::maybe_to_make(given).ok_or_else(|| missing(given))?;
        found.checked()
    }

    /// The directory of [`NewsDirectory::to_make`], whoever owns it, by its full name.
    ///
    /// # Errors
    /// Nothing says which one.
    pub fn root_to_make(given: &Given) -> Result<PathBuf, UsageError> {
        let found = NewsDirectory::maybe_to_make(given).ok_or_else(|| missing(given))?;
        std::path::absolute(found.root()).map_err(|error| given.usage(error.to_string()))
    }

    fn maybe_to_make(given: &Given) -> Option<NewsDirectory> {
        let default = Path::new(DEFAULT);
        let default = || {
            default
                .is_dir()
                .then(|| NewsDirectory::at(default.as_os_str(), "default"))
        };
        NewsDirectory::named(given).or_else(default)
    }

    fn checked(self) -> anyhow::Result<NewsDirectory> {
        let owner = std::fs::metadata(self.root()).map_or(0, |data| data.uid());
        if owner != 0 && rustix::process::geteuid().is_root() {
            let name = Account::name_of(owner);
            anyhow::bail!(
                "{} belongs to {name}, who could not write to files that root creates there: run `sudo -u {name} ...'",
                self.root().display()
            );
        }
        Ok(self)
    }

    /// Like `meant`, for commands that can do without one.
    pub fn maybe(given: &Given) -> Option<NewsDirectory> {
        // Reading the settings reports a link to a missing file.
        let is_there = || match std::fs::symlink_metadata(Path::new(DEFAULT).join(settings::FILE)) {
            // Then its owner has to be asked.
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
            Ok(_) => true,
        };
        let default = || is_there().then(|| NewsDirectory::at(OsStr::new(DEFAULT), "default"));
        NewsDirectory::named(given).or_else(default)
    }

    /// Opens it to read. Where that mends what a crash left, standard error tells what was found.
    ///
    /// # Errors
    /// A file cannot be read or mended.
    pub fn snapshot(&self) -> Result<store::Snapshot, store::Error> {
        let snapshot = store::Snapshot::open(self.root())?;
        crate::tell_all(snapshot.notices().to_vec());
        Ok(snapshot)
    }

    fn named(given: &Given) -> Option<NewsDirectory> {
        if let Some(root) = given.value("dir") {
            return Some(NewsDirectory::at(root, "--dir"));
        }
        let root = std::env::var_os(ENVIRONMENT).filter(|root| !root.is_empty())?;
        Some(NewsDirectory::at(&root, ENVIRONMENT))
    }

    fn at(root: &OsStr, source: &'static str) -> NewsDirectory {
        NewsDirectory {
            directory: settings::NewsDirectory::at(root),
            source,
        }
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

/// Replaces this process by the same command, run by another user; returns only if that fails.
fn start_again(user: &Account, group: u32) -> std::io::Error {
    let mut arguments = std::env::args_os();
    let mut command = Process::new(OWN_PROGRAM);
    command
        .arg0(arguments.next().unwrap_or_default())
        .args(arguments)
        .env(RUN_BY_ROOT, "1")
        .uid(user.uid)
        .gid(group);
    if let Some(home) = &user.home {
        command.env("HOME", home);
    }
    command.exec()
}

fn missing(given: &Given) -> UsageError {
    given.usage(format!(
        "the news directory is missing: add --dir DIR, or set {ENVIRONMENT}"
    ))
}
