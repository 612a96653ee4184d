//! The desk where control messages are judged: it has the policy, the keys and the logs at hand, and reads them again when they
//! have changed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use article::{Article, Form, date};
use groups::{Newsgroups, Pattern};
use store::{Serials, Spool};

use super::decide::{ControlOutcome, Done, State, decide};
use super::events::Events;
use super::policy::{CONTROL_CTL, CONTROL_CTL_LOCAL, CONTROLPERM, Policy};
use super::request::Request;
use crate::error::Error;
use crate::group_files;
use crate::keyring::{self, Keyring};

/// What the administrator chose about control messages that make and remove groups.
#[derive(Debug, Clone, Copy)]
pub struct ControlOptions {
    /// An older message is not acted upon, in seconds; `None`: any age.
    pub age_seconds_max: Option<i64>,
    /// Longest part between dots of a new group's name, in bytes.
    pub name_part_bytes_max: usize,
}

/// Default of [`ControlOptions::age_seconds_max`]: ten days, as long as C News remembers ids.
pub const AGE_SECONDS_MAX: i64 = 10 * 86_400;

impl Default for ControlOptions {
    fn default() -> ControlOptions {
        ControlOptions {
            age_seconds_max: Some(AGE_SECONDS_MAX),
            name_part_bytes_max: groups::name::NEW_PART_BYTES_MAX,
        }
    }
}

/// Modification time with its nanoseconds, length and inode of each file; `None` where there is none.
type FileIdentity = Option<[i64; 4]>;
type FileIdentities = Vec<FileIdentity>;

/// Policy and keys as they were read.
#[derive(Debug)]
struct PolicyFiles {
    identities: FileIdentities,
    /// Or why they cannot be used.
    read: Result<(Policy, Keyring), String>,
}

/// The desk of a news directory. Nothing is read before the first message comes.
#[derive(Debug)]
pub struct ControlProcessor {
    news: PathBuf,
    options: ControlOptions,
    policy_files: Option<PolicyFiles>,
    descriptions: Option<(FileIdentity, Newsgroups)>,
    events: Events,
}

impl ControlProcessor {
    /// Of a news directory.
    pub fn new(news: &Path, options: ControlOptions) -> ControlProcessor {
        ControlProcessor {
            news: news.to_owned(),
            options,
            policy_files: None,
            descriptions: None,
            events: Events::default(),
        }
    }

    /// Judges the control message in an article. `trust`: the administrator answers for it. `None`: it has no Control header.
    /// A file that cannot be used is told in the judgement.
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
        self.read_books();
        // Anybody may send a control message, so a file that cannot be used stops what would be done about it, not filing.
        let mut faults = Vec::new();
        if about_groups && let Err(fault) = self.read_descriptions() {
            faults.push(fault.to_string());
        }
        let no_serials = Serials::default();
        let serials = serials.unwrap_or_else(|fault| {
            if request.kind == b"checkgroups" {
                faults.push(fault);
            }
            &no_serials
        });
        let policy_files = match self
            .policy_files
            .as_ref()
            .map(|policy_files| &policy_files.read)
        {
            Some(Ok(policy_files)) => Some(policy_files),
            Some(Err(fault)) => {
                faults.push(fault.clone());
                None
            }
            None => None,
        };
        let (Some((policy, keyring)), []) = (policy_files, faults.as_slice()) else {
            let why = format!(
                "nothing is acted upon until this is mended: {}",
                faults.join("; ")
            );
            return Some(ControlOutcome {
                done: Done::Refused,
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

    /// Does what was judged, and notes it. The groups in active wait for the next commit of the spool.
    ///
    /// # Errors
    /// Those of the files and of the store.
    pub fn carry_out(
        &mut self,
        spool: &mut Spool,
        article: &Article<'_>,
        judged: &ControlOutcome,
        (now, zone): (i64, &dyn date::LocalZone),
    ) -> Result<(), Error> {
        let Some(request) = Request::of(article, zone) else {
            return Ok(());
        };
        if judged.done == Done::Acted {
            judged.changes.make(spool, now, &request.sender)?;
        }
        if matches!(judged.done, Done::Acted | Done::Nothing)
            && let Some(serial) = &judged.serial
        {
            spool.keep_serial(serial)?;
        }
        if judged.done != Done::Dropped {
            self.events.add(now, &request, judged);
        }
        Ok(())
    }

    /// Writes the lines of the control log.
    ///
    /// # Errors
    /// The system's.
    pub fn write_log(&mut self) -> Result<(), Error> {
        self.events.write(&self.news)
    }

    /// Forgets the lines of what will not be committed.
    pub fn abandon(&mut self) {
        self.events.clear();
    }

    /// Bytes of lines that wait.
    pub fn pending_bytes(&self) -> usize {
        self.events.pending()
    }

    /// Policy and keys as they are now.
    fn read_books(&mut self) {
        let files = [
            CONTROL_CTL,
            CONTROL_CTL_LOCAL,
            CONTROLPERM,
            // Keys come and go by renaming, which changes their directory.
            keyring::DIRECTORY,
        ];
        let identities: FileIdentities = files.iter().map(|file| look(&self.news, file)).collect();
        if self
            .policy_files
            .as_ref()
            .is_none_or(|policy_files| policy_files.identities != identities)
        {
            let read = read(&self.news);
            self.policy_files = Some(PolicyFiles { identities, read });
        }
    }

    /// The descriptions as they are now.
    fn read_descriptions(&mut self) -> Result<(), Error> {
        let identities = look(&self.news, group_files::NEWSGROUPS);
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
    let policy = Policy::read(news).map_err(|fault| fault.to_string())?;
    let keyring = Keyring::read(news).map_err(|fault| fault.to_string())?;
    Ok((policy, keyring))
}

fn look(news: &Path, file: &str) -> FileIdentity {
    let meta = std::fs::metadata(news.join(file)).ok()?;
    Some([
        meta.mtime(),
        meta.mtime_nsec(),
        i64::try_from(meta.len()).unwrap_or(i64::MAX),
        i64::from_ne_bytes(meta.ino().to_ne_bytes()),
    ])
}
