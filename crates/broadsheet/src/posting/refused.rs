//! Refused posts: saved for their poster, who is told why.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use inject::Refusal;

use crate::account::Account;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::failure;
use crate::flags::Given;

/// The file of refused posts, in the home of their poster (C News).
const DEAD_ARTICLE: &str = "dead.article";

/// A post that did not go on: why, with a word for scripts.
pub struct Failed {
    pub status: Status,
    pub code: &'static str,
    pub why: String,
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed {
            status: Status::NO,
            code: refusal.code(),
            why: refusal.to_string(),
        }
    }
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Failed {
        Failed {
            status: failure::status_of(&error),
            code: "not-filed",
            why: failure::text_of(&error),
        }
    }
}

/// Where the refused posts of a command are saved.
pub struct RefusedPosts<'g> {
    given: &'g Given,
    home: Option<PathBuf>,
    /// For posters without a home: bad/ of the news directory, if that is known.
    bad: Option<PathBuf>,
}

impl<'g> RefusedPosts<'g> {
    /// Those of this account.
    pub fn of(
        account: &Account,
        directory: Option<&NewsDirectory>,
        given: &'g Given,
    ) -> RefusedPosts<'g> {
        RefusedPosts {
            given,
            home: account.home.clone().filter(|home| home.is_dir()),
            bad: directory.map(|directory| directory.file("bad")),
        }
    }

    /// Saves the post and says why it did not go on.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn refuse(
        &self,
        failed: impl Into<Failed>,
        post: &mut dyn Read,
        out: &mut dyn Write,
    ) -> anyhow::Result<Status> {
        let saved = match super::is_dry_run(self.given) {
            true => None,
            false => Some(self.save(post)),
        };
        let Failed { status, code, why } = failed.into();
        if super::has(self.given, "json") {
            let path = saved.as_ref().and_then(|saved| saved.as_ref().ok());
            let path = path.map(|path| path.display().to_string());
            let told =
                serde_json::json!({ "status": "refused", "code": code, "why": why, "saved": path });
            writeln!(out, "{told}")?;
        }
        let kept = match &saved {
            None => String::new(),
            Some(Ok(path)) => format!("; the post is saved in {}", path.display()),
            Some(Err(error)) => {
                format!("; the post could not be saved: {}", failure::text_of(error))
            }
        };
        eprintln!("broadsheet: refused ({code}): {why}{kept}");
        Ok(status)
    }

    /// Adds the post to ~/dead.article, or where that cannot be written to one in bad/.
    fn save(&self, post: &mut dyn Read) -> anyhow::Result<PathBuf> {
        let (path, mut file) = match (&self.home, &self.bad) {
            (None, None) => anyhow::bail!("there is no home directory"),
            (Some(home), None) => open(home)?,
            (None, Some(bad)) => open(bad)?,
            (Some(home), Some(bad)) => open(home).or_else(|error| open(bad).map_err(|_| error))?,
        };
        io::copy(post, &mut file)
            .and_then(|_| file.sync_all())
            .with_context(|| format!("cannot write {}", path.display()))?;
        relay::bad_batches::sync_parent(&path)?;
        Ok(path)
    }
}

fn open(place: &Path) -> anyhow::Result<(PathBuf, File)> {
    let path = place.join(DEAD_ARTICLE);
    let made = match place.is_dir() {
        true => Ok(()),
        false => DirBuilder::new().mode(0o770).create(place),
    };
    let opened = made.and_then(|()| {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
    });
    let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
    Ok((path, file))
}
