//! The news directory, and the files in it that the settings belong to.

use std::io;
use std::path::{Path, PathBuf};

use groups::sites::{FeedNames, Via};
use groups::text_position::TextPosition;
use groups::{ActiveError, Sites, SitesError};

use crate::{FILE, Faults, Read, Settings};

/// A file of the news directory that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no `broadsheet.toml`.
    #[error("{} is not a news directory (it has no {FILE}): create one with `broadsheet init'", .0.display())]
    NoDirectory(PathBuf),
    /// `broadsheet.toml` is a link to a file that is not there.
    #[error(
        "{} leads to {}, which is not there: put that file back, from a backup (`broadsheet restore' brings the settings, too) or by hand",
        .0.display(), .1.display()
    )]
    DanglingLink(PathBuf, PathBuf),
    /// The directory cannot be used.
    #[error("cannot use {}{}", .0.display(), hint(.0, .1))]
    Use(PathBuf, #[source] io::Error),
    /// A file cannot be read.
    #[error("cannot read {}{}", .0.display(), hint(.0, .1))]
    Io(PathBuf, #[source] io::Error),
    /// There is no `active`.
    #[error("{} is missing: `broadsheet fsck --repair' makes it again from the log, as rnews and the daemon do", .0.display())]
    NoActive(PathBuf),
    /// `broadsheet.toml` has errors.
    #[error(transparent)]
    Settings(#[from] Faults),
    /// `active` has an error.
    #[error(transparent)]
    Active(#[from] ActiveError),
    /// `sys` has an error, or does not go together with `broadsheet.toml`.
    #[error("{}: {}", .0.display(), .1)]
    Sites(PathBuf, Box<SitesError>),
    /// `blocks` has an error.
    #[error("{}, {}", .0.display(), .1)]
    Blocks(PathBuf, relay::blocks::BlocksError),
    /// A site that would get articles without their bodies as if they were whole.
    #[error(
        "{place}: site `{name}' would get whole articles, and this news directory has none (headers_only): give it via = {{ nntp = \"HOST\", headfeed = true }}, or remove it"
    )]
    NeedsHeadfeed {
        /// Its definition.
        place: TextPosition,
        /// Its name.
        name: String,
    },
    /// The settings and the directory do not agree about articles without their bodies.
    #[error(transparent)]
    HeadersOnly(#[from] relay::Error),
}

fn hint(path: &Path, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::PermissionDenied => format!(" ({})", store::permission_hint(path)),
        _ => String::new(),
    }
}

/// A news directory.
#[derive(Clone, Debug)]
pub struct NewsDirectory {
    root: PathBuf,
}

impl NewsDirectory {
    /// The directory at a path. It need not exist.
    pub fn at(root: impl Into<PathBuf>) -> NewsDirectory {
        NewsDirectory { root: root.into() }
    }

    /// The same by its full name, which is valid in any working directory.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn by_full_name(self) -> Result<NewsDirectory, Error> {
        match self.root.canonicalize() {
            Ok(root) => Ok(NewsDirectory { root }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::NoDirectory(self.root))
            }
            Err(error) => Err(Error::Use(self.root, error)),
        }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Reads `active`, as it stands in the file.
    ///
    /// # Errors
    /// The file cannot be read or is too large.
    pub fn active(&self) -> Result<groups::Active, Error> {
        let path = self.file("active");
        let text = store::regular::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if store::is_news_directory(self.root()) => {
                Error::NoActive(path)
            }
            _ => Error::Io(path, error),
        })?;
        Ok(groups::Active::parse(text)?)
    }

    /// The sites: reads `sys`, and adds those of `broadsheet.toml`. A missing `sys` is an empty one.
    ///
    /// # Errors
    /// The file cannot be read, a line of it is wrong, or it does not go together with `broadsheet.toml`; or a site would get articles
    /// without their bodies as if they were whole.
    pub fn sys(&self, settings: &Settings) -> Result<Sites, Error> {
        self.sys_of(settings, self)
    }

    /// As [`NewsDirectory::sys`], with the file `sys` of another directory.
    ///
    /// # Errors
    /// As [`NewsDirectory::sys`].
    pub fn sys_of(&self, settings: &Settings, other: &NewsDirectory) -> Result<Sites, Error> {
        let path = other.file(groups::sys::FILE);
        let text = match store::regular::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|error| Error::Io(path, error))?,
        };
        let sites = Sites::read(&text, &settings.sites, settings.name.as_bytes())
            .map(|sites| sites.with_names(&self.feed_names()))
            .map_err(|fault| Error::Sites(self.root.clone(), Box::new(fault)))?;
        self.check_headers_only(settings, &sites)?;
        Ok(sites)
    }

    /// Refuses feeds of whole articles from a directory whose articles lack their bodies. All programs that feed call it by way of
    /// [`NewsDirectory::sys`].
    ///
    /// # Errors
    /// A site would get them, or the settings and the directory do not agree.
    pub fn check_headers_only(&self, settings: &Settings, sites: &Sites) -> Result<(), Error> {
        if !settings.headers_only {
            return if relay::headers_only::is_declared(&self.root) {
                Err(relay::headers_only::disagree(&self.root).into())
            } else {
                Ok(())
            };
        }
        let takes_headers = |via: &Via| matches!(via, Via::Nntp(via) if via.headfeed);
        let mut others = sites.sites().iter().filter(|site| !site.is_me);
        match others.find(|site| !takes_headers(&site.via)) {
            None => Ok(()),
            Some(site) => Err(Error::NeedsHeadfeed {
                place: site.place,
                name: String::from_utf8_lossy(&site.name).into_owned(),
            }),
        }
    }

    /// The names that feeds have had.
    pub fn feed_names(&self) -> FeedNames {
        // Missing, or unreadable: feeds are named by their order.
        FeedNames::parse(&store::regular::read(&self.file(FeedNames::FILE)).unwrap_or_default())
    }

    /// Reads `blocks`; a missing file has none.
    ///
    /// # Errors
    /// The file cannot be read, or a line is invalid.
    pub fn blocks(&self) -> Result<relay::Blocks, Error> {
        let path = self.file(relay::blocks::FILE);
        match store::regular::read(&path) {
            Ok(text) => relay::Blocks::parse(&text).map_err(|error| Error::Blocks(path, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(relay::Blocks::default()),
            Err(error) => Err(Error::Io(path, error)),
        }
    }

    /// Reads `broadsheet.toml`, and `blocks`.
    ///
    /// # Errors
    /// There is no such directory or file, or a file has errors.
    pub fn settings(&self) -> Result<Read, Error> {
        let path = self.file(FILE);
        match store::regular::read(&path) {
            Ok(bytes) => {
                let mut read = Read::parse(&path, bytes)?;
                read.settings.blocks = self.blocks()?.into();
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(match std::fs::read_link(&path) {
                    Ok(target) => Error::DanglingLink(path, target),
                    Err(_) => Error::NoDirectory(self.root.clone()),
                })
            }
            Err(error) => Err(Error::Io(path, error)),
        }
    }
}
