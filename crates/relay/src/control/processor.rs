//! Processes control messages: decides on them, applies them and logs the results. It reads the policy and the keys again when
//! their files have changed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use article::{Article, Form, date};
use groups::{Newsgroups, Pattern};
use store::state::group_files::NEWSGROUPS;
use store::{Serials, Spool};

use super::decide::{ControlOutcome, Disposition, State, decide};
use super::events::Events;
use super::policy::{POLICY_FILES, Policy};
use super::request::Request;
use crate::error::Error;
use crate::group_files;
use crate::keyring::{self, Keyring};

/// Settings for control messages that create and remove groups.
#[derive(Debug, Clone, Copy)]
pub struct ControlOptions {
    /// Maximum age of a message, seconds; `None` for any age.
    pub age_seconds_max: Option<i64>,
    /// Longest part between dots of a new group's name, bytes.
    pub name_part_bytes_max: usize,
}

/// Default of [`ControlOptions::age_seconds_max`], seconds: ten days, as long as C News remembers ids.
pub const AGE_SECONDS_MAX: i64 = 10 * 86_400;

impl Default for ControlOptions {
    fn default() -> ControlOptions {
        ControlOptions {
            age_seconds_max: Some(AGE_SECONDS_MAX),
            name_part_bytes_max: groups::name::NEW_PART_BYTES_MAX,
        }
    }
}

/// Modification time with its nanoseconds, length and inode of a file; `None` for a missing file.
type FileIdentity = Option<[i64; 4]>;
type FileIdentities = Vec<FileIdentity>;

/// Policy and keys, as of the last reading.
#[derive(Debug)]
struct PolicyFiles {
    identities: FileIdentities,
    /// Policy and keys, or why they cannot be used.
    read: Result<(Policy, Keyring), String>,
}

/// Processes the control messages of a news directory. It reads no file before the first message.
#[derive(Debug)]
pub struct ControlProcessor {
    news: PathBuf,
    options: ControlOptions,
    policy_files: Option<PolicyFiles>,
    /// Policy and keys stay as they were read.
    is_fixed: bool,
    descriptions: Option<(FileIdentity, Newsgroups)>,
    events: Events,
}

impl ControlProcessor {
    /// A processor for the news directory `news`.
    pub fn new(news: &Path, options: ControlOptions) -> ControlProcessor {
        ControlProcessor {
            news: news.to_owned(),
            options,
            policy_files: None,
            is_fixed: false,
            descriptions: None,
            events: Events::default(),
        }
    }

    /// Reads policy and keys in a directory, and keeps them however their files change: all nodes of a cluster decide by the files whose
    /// hash they have compared.
    pub fn fix_policy(&mut self, directory: &Path) {
        self.policy_files = Some(PolicyFiles {
            identities: FileIdentities::new(),
            read: read(directory),
        });
        self.is_fixed = true;
    }

    /// Decides on the control message in an article; `None` without a Control header. `trust`: the administrator vouches for it.
    /// If a file cannot be used, the outcome reports it.
    pub fn decide(
        &mut self,
        article: &Article<'_>,
        (active, serials): (&groups::Active, Result<&Serials, String>),
        subscription: &Pattern,
        (now, zone): (i64, &dyn date::LocalZone),
        trust: bool,
    ) -> Option<ControlOutcome> {
        let request = Request::of(article, zone)?;
        let about_groups = matches!(request.kind, b"newgroup" | b"rmgroup" | b"checkgroups");
        let options = self.options;
        self.refresh_policy();
        // Anybody may send a control message, so an unusable file prevents applying it, but not filing it.
        let mut errors = Vec::new();
        if about_groups && let Err(error) = self.refresh_descriptions() {
            errors.push(error.to_string());
        }
        let no_serials = Serials::default();
        let serials = serials.unwrap_or_else(|error| {
            if request.kind == b"checkgroups" {
                errors.push(error);
            }
            &no_serials
        });
        let policy_files = match self
            .policy_files
            .as_ref()
            .map(|policy_files| &policy_files.read)
        {
            Some(Ok(policy_files)) => Some(policy_files),
            Some(Err(error)) => {
                errors.push(error.clone());
                None
            }
            None => None,
        };
        let (Some((policy, keyring)), []) = (policy_files, errors.as_slice()) else {
            let why = format!(
                "no control message is applied until this error is corrected: {}",
                errors.join("; ")
            );
            return Some(ControlOutcome {
                disposition: Disposition::Refused,
                changes: super::changes::Changes::default(),
                why,
                verified: "-".to_owned(),
                serial: None,
            });
        };
        let state = State {
            policy,
            keyring,
            active,
            subscription,
            descriptions: self.descriptions.as_ref().map(|(_, read)| read),
            serials,
            now,
            age_seconds_max: options.age_seconds_max,
            name_part_bytes_max: options.name_part_bytes_max,
            trust,
        };
        // Signatures are over the native form.
        let mut native = Vec::new();
        Some(match article.form() {
            Form::Native => decide(article, &request, &state),
            Form::Wire => {
                article::wire::push_native(&mut native, article.bytes());
                let article = Article::parse(&native, Form::Native);
                decide(&article, &Request::of(&article, zone)?, &state)
            }
        })
    }

    /// Applies an outcome and logs it. The changes of active take effect with the next commit of the spool.
    ///
    /// # Errors
    /// Errors of the files and of the store.
    pub fn apply(
        &mut self,
        spool: &mut Spool,
        article: &Article<'_>,
        outcome: &ControlOutcome,
        (now, zone): (i64, &dyn date::LocalZone),
    ) -> Result<(), Error> {
        let Some(request) = Request::of(article, zone) else {
            return Ok(());
        };
        if outcome.disposition == Disposition::Acted {
            outcome.changes.apply(spool, now, &request.sender)?;
        }
        if matches!(
            outcome.disposition,
            Disposition::Acted | Disposition::Nothing
        ) && let Some(serial) = &outcome.serial
        {
            spool.keep_serial(serial)?;
        }
        if outcome.disposition != Disposition::Dropped {
            self.events.add(now, &request, outcome);
        }
        Ok(())
    }

    /// Writes the pending lines of the control log.
    ///
    /// # Errors
    /// An I/O error.
    pub fn write_log(&mut self) -> Result<(), Error> {
        self.events.write(&self.news)
    }

    /// Discards the pending lines after a failed commit.
    pub fn abandon(&mut self) {
        self.events.clear();
    }

    /// Bytes of pending lines.
    pub fn pending_bytes(&self) -> usize {
        self.events.pending()
    }

    /// Reads policy and keys again if their files have changed.
    fn refresh_policy(&mut self) {
        if self.is_fixed {
            return;
        }
        // Files of keys are renamed and removed, which changes their directory.
        let files = POLICY_FILES.iter().chain(&[keyring::DIRECTORY]);
        let identities: FileIdentities =
            files.map(|file| file_identity(&self.news, file)).collect();
        if self
            .policy_files
            .as_ref()
            .is_none_or(|policy_files| policy_files.identities != identities)
        {
            let read = read(&self.news);
            self.policy_files = Some(PolicyFiles { identities, read });
        }
    }

    /// Reads the descriptions again if their file has changed.
    fn refresh_descriptions(&mut self) -> Result<(), Error> {
        let identities = file_identity(&self.news, NEWSGROUPS.name);
        if self
            .descriptions
            .as_ref()
            .is_none_or(|(old, _)| *old != identities)
        {
            self.descriptions = Some((identities, group_files::descriptions(&self.news)?));
        }
        Ok(())
    }
}

fn read(news: &Path) -> Result<(Policy, Keyring), String> {
    let policy = Policy::read(news).map_err(|error| error.to_string())?;
    let keyring = Keyring::read(news).map_err(|error| error.to_string())?;
    Ok((policy, keyring))
}

fn file_identity(news: &Path, file: &str) -> FileIdentity {
    let meta = std::fs::metadata(news.join(file)).ok()?;
    Some([
        meta.mtime(),
        meta.mtime_nsec(),
        i64::try_from(meta.len()).unwrap_or(i64::MAX),
        i64::from_ne_bytes(meta.ino().to_ne_bytes()),
    ])
}
