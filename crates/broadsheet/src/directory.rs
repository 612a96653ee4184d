//! The news directory: which one is meant, and what lies in it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use groups::sites::FeedNames;

use crate::account::Account;
use crate::flags::{Given, UsageError};
use settings::Read;

/// The environment's word for the news directory, when `--dir` is absent.
pub const ENVIRONMENT: &str = "BROADSHEET_DIR";

/// Subdirectories that `broadsheet init` makes.
pub const SUBDIRECTORIES: &[&str] = &["segments", "feeds", "in.coming", "bad"];

/// The feeds' names and ways, as who filed last knew them.
pub const FEED_NAMES: &str = "feeds.names";

/// The news directory a command works on.
#[derive(Clone)]
pub struct NewsDirectory {
    root: PathBuf,
    source: &'static str,
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
            root: PathBuf::from(root),
            source,
        };
        if let Some(root) = given.value("dir") {
            return Some(of(root, "--dir"));
        }
        let root = std::env::var_os(ENVIRONMENT).filter(|root| !root.is_empty())?;
        Some(of(&root, ENVIRONMENT))
    }

    /// The same by its full name, which is good from anywhere.
    ///
    /// # Errors
    /// There is no such directory: its name, and what to do.
    pub fn by_full_name(self) -> anyhow::Result<NewsDirectory> {
        match self.root.canonicalize() {
            Ok(root) => Ok(NewsDirectory { root, ..self }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.is_none()),
            Err(error) => {
                Err(anyhow::Error::new(error)
                    .context(format!("cannot use {}", self.root.display())))
            }
        }
    }

    fn is_none(&self) -> anyhow::Error {
        anyhow::anyhow!(
            "{} is not a news directory (it has no {}): create one with `broadsheet init'",
            self.root.display(),
            settings::FILE
        )
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Who named it: `--dir` or the environment variable.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Reads `active`, as it stands in the file.
    ///
    /// # Errors
    /// The file cannot be read or is too large.
    pub fn active(&self) -> anyhow::Result<groups::Active> {
        let path = self.file("active");
        let text = std::fs::read(&path).map_err(|error| {
            anyhow::Error::new(error).context(format!("cannot read {}", path.display()))
        })?;
        Ok(groups::Active::parse(text)?)
    }

    /// The sites: reads `sys`, and adds what `broadsheet.toml` says of sites. A missing `sys` is an empty one.
    ///
    /// # Errors
    /// The file cannot be read, a line of it is wrong, or it does not go together with `broadsheet.toml`: named.
    pub fn sys(&self, settings: &settings::Settings) -> anyhow::Result<groups::Sites> {
        let path = self.file("sys");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(
                    anyhow::Error::new(error).context(format!("cannot read {}", path.display()))
                );
            }
        };
        groups::Sites::read(&text, &settings.sites, settings.name.as_bytes())
            .map(|sites| sites.with_names(&self.feed_names()))
            .map_err(|fault| anyhow::anyhow!("{}: {fault}", self.root.display()))
    }

    /// The names that feeds have had.
    pub fn feed_names(&self) -> FeedNames {
        // Missing, or unreadable: named by their place.
        FeedNames::parse(&std::fs::read(self.file(FEED_NAMES)).unwrap_or_default())
    }

    /// Reads `broadsheet.toml`.
    ///
    /// # Errors
    /// No such directory or file (with what to do), or `settings::Faults`.
    pub fn settings(&self) -> anyhow::Result<Read> {
        let path = self.file(settings::FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.is_none()),
            Err(error) => {
                return Err(
                    anyhow::Error::new(error).context(format!("cannot read {}", path.display()))
                );
            }
        };
        Ok(Read::parse(&path, bytes)?)
    }
}
