//! The common part of `inews` and `injnews`: a draft goes into the news system, to a moderator, or back to its poster.

mod refused;

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use daemon::client;
use feed::serving::done_filing;
use inject::{Draft, EveryGroup, Injected, InjectionTime, Moderators, Poster, Refusal, Route};
use inject::{InjectionSite, LoggedPoster, PostEntry, mail_queue};
use relay::Now;
use relay::cancel_lock::Secret;
use relay::incoming::{Grade, SpoolOptions, Spooled, spool};
use relay::log::{self, Code};

use crate::account::Account;
use crate::cluster_log::refuse_node;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::Given;
use crate::operand;
use refused::{Failed, RefusedPosts};
use settings::{Settings, SystemZone};

/// Exit statuses of the commands that post.
pub const EXITS: &[Meaning] = &[
    Meaning {
        status: Status::OK,
        when: "posted: the article was filed, or written to in.coming/, or mailed or queued for the moderator; it is on the disk",
    },
    Meaning {
        status: Status::NO,
        when: "rejected: the message has the reason, a code word for scripts, and the file with the saved post",
    },
    Meaning {
        status: Status::ATTENTION,
        when: "an error occurred: the post was saved, unless the message says otherwise, or that it was filed",
    },
];

/// Everything a post needs.
pub struct Posting<'g> {
    directory: NewsDirectory,
    settings: Settings,
    account: Account,
    given: &'g Given,
    refused: RefusedPosts<'g>,
}

/// The result of a post, for people and for machines.
enum Done {
    Filed,
    /// Filed, but a log could not be written, and why.
    FiledUntold(String),
    Spooled,
    Mailed {
        group: String,
        address: String,
    },
    Queued {
        group: String,
        address: String,
    },
}

/// Whether nothing is to be posted.
fn is_dry_run(given: &Given) -> bool {
    has(given, "no-post") || has(given, "dry-run")
}

/// Whether a flag was given, of those that the command has.
fn has(given: &Given, flag: &str) -> bool {
    given.command.takes(flag) && given.has(flag)
}

/// The FILEs one after the other, or standard input.
fn input(given: &Given) -> anyhow::Result<Box<dyn Read>> {
    let mut all: Box<dyn Read> = match given.operands.is_empty() {
        true => Box::new(relay::StandardInput),
        false => Box::new(std::io::empty()),
    };
    for path in &given.operands {
        all = Box::new(all.chain(operand::open(path)?));
    }
    Ok(all)
}

/// Posts the input, of which `draft_of` makes a draft, or nothing.
///
/// # Errors
/// The input cannot be read, or standard output not be written. An error that concerns the post is reported, and gives a status.
pub fn run(
    given: &Given,
    out: &mut dyn Write,
    draft_of: impl FnOnce(&Posting<'_>, &[u8]) -> Result<Option<Draft>, Refusal>,
) -> anyhow::Result<Status> {
    check_user()?;
    let posting = match Posting::begin(given) {
        Ok(posting) => posting,
        Err(error) => return refuse_unread(error, given, out),
    };
    let bytes = match posting.read(out)? {
        Ok(bytes) => bytes,
        Err(status) => return Ok(status),
    };
    match draft_of(&posting, &bytes) {
        Ok(Some(draft)) => posting.post(draft, out),
        Ok(None) => Ok(Status::OK),
        Err(refusal) => {
            let failed = Failed::from(refusal);
            posting.log_refused(b"", &failed);
            posting.refused.refuse(failed, &mut bytes.as_slice(), out)
        }
    }
}

/// Refuses a program that runs with another user's rights: it reads files that are named, and writes to HOME, and would give files away.
fn check_user() -> anyhow::Result<()> {
    anyhow::ensure!(
        rustix::process::getuid() == rustix::process::geteuid(),
        "the program must not be set-user-id; see docs/book/posting.md"
    );
    Ok(())
}

/// Saves a post as it is, because there are no settings to read it by.
fn refuse_unread(
    error: anyhow::Error,
    given: &Given,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    // Nobody types a post that will be refused.
    let is_typed = given.operands.is_empty() && std::io::stdin().is_terminal();
    let directory = NewsDirectory::meant(given).ok();
    match input(given) {
        Ok(mut post) if !is_typed && !is_dry_run(given) => {
            RefusedPosts::of(&Account::mine(), directory.as_ref(), given)
                .refuse(error, &mut post, out)
        }
        _ => Err(error),
    }
}

impl<'g> Posting<'g> {
    /// Reads the settings. The flags of `given` that are asked for: `dir`, `json`, `no-post`, `verbose`.
    ///
    /// # Errors
    /// No news directory, or faults in its settings; a program that runs with another user's rights.
    pub fn begin(given: &'g Given) -> anyhow::Result<Posting<'g>> {
        check_user()?;
        let directory = NewsDirectory::meant(given)?;
        let settings = directory.settings()?.settings;
        if !is_dry_run(given) {
            refuse_node(
                &directory,
                "post over NNTP to the daemon of a node ([nntp] listen, [[access]] with post)",
            )?;
        }
        let account = Account::mine();
        Ok(Posting {
            refused: RefusedPosts::of(&account, Some(&directory), given),
            directory,
            settings,
            account,
            given,
        })
    }

    /// Whether a flag was given, of those that the command has.
    fn has(&self, flag: &str) -> bool {
        has(self.given, flag)
    }

    /// The post; or, told and saved, the status of one that is too large.
    fn read(&self, out: &mut dyn Write) -> anyhow::Result<Result<Vec<u8>, Status>> {
        let mut all = input(self.given)?;
        let limit = self.settings.limits.article_bytes_max;
        let mut bytes = Vec::new();
        all.by_ref()
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= limit {
            return Ok(Ok(bytes));
        }
        let failed = Failed {
            status: Status::NO,
            code: "too-large",
            why: format!("the post is larger than limits.article_bytes_max, {limit} bytes"),
        };
        self.refused
            .refuse(failed, &mut bytes.chain(all), out)
            .map(Err)
    }

    /// `-- ` and the first lines of ~/.signature; nothing where there is none.
    pub fn signature(&self) -> Vec<u8> {
        let lines = usize::try_from(self.settings.post.signature_lines).unwrap_or(usize::MAX);
        let home = self.account.home.as_deref();
        let file = home.and_then(|home| File::open(home.join(".signature")).ok());
        let mut text = Vec::new();
        if let Some(file) = file {
            let _ = file.take(SIGNATURE_BYTES_MAX).read_to_end(&mut text);
        }
        let text: Vec<u8> = text
            .split_inclusive(|&byte| byte == b'\n')
            .take(lines)
            .flatten()
            .copied()
            .collect();
        match text.trim_ascii().is_empty() {
            true => Vec::new(),
            false => [b"-- \n", text.as_slice()].concat(),
        }
    }

    /// Posts the draft, and says what became of it.
    ///
    /// # Errors
    /// Standard output cannot be written. An error that concerns the post is reported, and gives a status.
    pub fn post(&self, draft: Draft, out: &mut dyn Write) -> anyhow::Result<Status> {
        let saved = draft.write();
        let own_id = draft.value("Message-ID").unwrap_or_default().to_vec();
        let refuse = |failed: Failed, out: &mut dyn Write| {
            self.log_refused(&own_id, &failed);
            self.refused.refuse(failed, &mut saved.as_slice(), out)
        };
        let (injected, mut entry, now) = match self.injected(draft) {
            Ok(injected) => injected,
            Err(failed) => return refuse(failed, out),
        };
        if is_dry_run(self.given) {
            out.write_all(&injected.bytes)?;
            return Ok(Status::OK);
        }
        for note in &injected.notes {
            eprintln!("broadsheet: {note}");
        }
        let mut are_feeds = false;
        let done = match &injected.route {
            Route::File => self.file(&injected, &mut entry, &mut are_feeds),
            Route::Mail { group, address } => {
                self.mail(&injected, &mut entry, (group, address), now)
            }
        };
        let status = match done {
            Ok(done) => self.tell(&injected, &done, out),
            Err(failed) => refuse(failed, out),
        };
        daemon::after_filing(self.directory.root(), OWN_PROGRAM, are_feeds);
        status
    }

    /// Writes a line about a refused post into the log, and about its poster into posts.log, where this account may write there.
    fn log_refused(&self, id: &[u8], failed: &Failed) {
        // The filer logs what it refuses.
        let is_logged = matches!(failed.code, "not-accepted" | "not-filed" | "duplicate");
        let Ok(now) = InjectionTime::now() else {
            return;
        };
        if is_dry_run(self.given) || is_logged || failed.status != Status::NO {
            return;
        }
        let mailname = self.settings.inject_rules(&self.directory).mailname;
        let id = match article::message_id::valid_strict(id) {
            true => id.to_vec(),
            false => inject::message_id::new(now.seconds, now.random, &mailname),
        };
        let keep_seconds = self.settings.post.log_seconds();
        let root = self.directory.root();
        if let Ok(entry) = PostEntry::begin(root, keep_seconds, self.logged(), now.seconds) {
            entry.write_refused(&id);
        }
        self.log(Code::Refused, &id, failed.why.as_bytes());
    }

    /// Writes a line into the log, where this account may: it is for people.
    fn log(&self, code: Code, id: &[u8], text: &[u8]) {
        let _ = log::append(
            self.directory.root(),
            Now::read(),
            log::LOCAL,
            code,
            (id, text),
        );
    }

    /// The poster, for posts.log.
    fn logged(&self) -> LoggedPoster<'_> {
        LoggedPoster {
            account: &self.account.name,
            host: "localhost",
            is_secure: false,
        }
    }

    /// Makes an article of the draft, with the entry of its poster in posts.log.
    fn injected(&self, draft: Draft) -> Result<(Injected, PostEntry<'_>, InjectionTime), Failed> {
        let now = InjectionTime::now().map_err(anyhow::Error::from)?;
        let keep_seconds = match is_dry_run(self.given) {
            true => 0,
            false => self.settings.post.log_seconds(),
        };
        let entry = PostEntry::begin(
            self.directory.root(),
            keep_seconds,
            self.logged(),
            now.seconds,
        );
        let entry = entry.map_err(anyhow::Error::from)?;
        let injected = self.inject(draft, entry.token(), now)??;
        Ok((injected, entry, now))
    }

    fn inject(
        &self,
        draft: Draft,
        token: &str,
        now: InjectionTime,
    ) -> anyhow::Result<Result<Injected, Refusal>> {
        let mut rules = self.settings.inject_rules(&self.directory);
        if self.has("no-organization") {
            rules.organization.clear();
        }
        let mailname = String::from_utf8_lossy(&rules.mailname).into_owned();
        let from = self.account.from(&mailname);
        let is_admin = self.account.is_admin(self.directory.root());
        let poster = Poster {
            account: self.account.name.as_bytes(),
            from: from.as_bytes(),
            host: b"localhost",
            logging_data: token.as_bytes(),
            sender: &self.sender(),
            is_admin,
        };
        // Where nothing is posted nothing is made.
        let secret = match is_dry_run(self.given) {
            true => Secret::if_there(self.directory.root()),
            false => Secret::of(self.directory.root()).map(Some),
        };
        let secret = secret.unwrap_or_else(|error| {
            eprintln!("broadsheet: the article has no Cancel-Lock: {error}");
            None
        });
        let (moderators, faults) = Moderators::of(self.directory.root())?;
        for fault in faults {
            eprintln!("broadsheet: {fault}");
        }
        let site = InjectionSite {
            rules: &rules,
            active: &self.directory.active()?,
            moderators: &moderators,
            secret: secret.as_ref(),
            zone: &SystemZone,
        };
        Ok(inject::inject(draft, &poster, &site, now))
    }

    /// The rights of the account: it posts to every group.
    fn sender(&self) -> EveryGroup {
        let is_admin = self.account.is_admin(self.directory.root());
        EveryGroup {
            may_approve: is_admin || self.settings.post.lets_approve(&self.account.name),
        }
    }

    /// Files it now; where another program files for long, or the disk is full, it waits in in.coming as grade 0.
    /// `are_feeds` becomes whether some feed gets it at once.
    fn file(
        &self,
        injected: &Injected,
        entry: &mut PostEntry<'_>,
        are_feeds: &mut bool,
    ) -> Result<Done, Failed> {
        let most = self.settings.incoming.spool_after_seconds;
        let patience = (most > 0).then(|| Duration::from_secs(most));
        let settings = &self.settings;
        let options = settings.filer_options();
        let filer = daemon::open_filer(
            &self.directory,
            settings,
            settings.rules(),
            options,
            patience,
        );
        let mut filer = match filer {
            Ok(Some(filer)) => filer,
            Ok(None) => return self.spool(injected, entry),
            Err(error) => return self.spool_if_full(injected, entry, error),
        };
        let has_id = filer.spool().has(&injected.id);
        has_id
            .map_err(anyhow::Error::from)
            .and_then(|has_id| Ok(entry.write(&injected.id, has_id)?))?;
        let now = Now::read();
        let filed = filer
            .file_for(&self.sender(), &injected.bytes, now)
            .and_then(|verdict| filer.commit().map(|()| verdict));
        match filed {
            Ok(verdict) => {
                *are_feeds = done_filing(filer);
                if verdict == relay::Verdict::Filed
                    && let Some(approved) = &injected.approved
                {
                    let text = daemon::approved_by(approved);
                    self.log(Code::Moderated, &injected.id, &text);
                }
                verdict_of(verdict)
            }
            // It is on the disk, and must not be posted again.
            Err(error) if error.is_of_log() => {
                *are_feeds = done_filing(filer);
                Ok(Done::FiledUntold(error.to_string()))
            }
            Err(error) => {
                drop(filer);
                self.spool_if_full(injected, entry, error.into())
            }
        }
    }

    fn spool_if_full(
        &self,
        injected: &Injected,
        entry: &mut PostEntry<'_>,
        error: anyhow::Error,
    ) -> Result<Done, Failed> {
        let is_full = error
            .downcast_ref::<relay::Error>()
            .is_some_and(relay::Error::is_disk_full)
            || error
                .downcast_ref::<store::Error>()
                .is_some_and(store::Error::is_disk_full);
        let spooled = is_full.then(|| self.spool(injected, entry).ok()).flatten();
        spooled.ok_or_else(|| error.into())
    }

    /// Writes the entry of a post that is filed later, or by somebody else, who can tell the poster nothing.
    fn write_unless_known(
        &self,
        injected: &Injected,
        entry: &mut PostEntry<'_>,
    ) -> Result<(), Failed> {
        let snapshot = self.directory.snapshot().ok();
        if snapshot
            .is_some_and(|snapshot| matches!(snapshot.history_line(&injected.id), Ok(Some(_))))
        {
            return Err(in_use());
        }
        let written = entry.write(&injected.id, false);
        written.map_err(|error| anyhow::Error::from(error).into())
    }

    fn spool(&self, injected: &Injected, entry: &mut PostEntry<'_>) -> Result<Done, Failed> {
        self.write_unless_known(injected, entry)?;
        let options = SpoolOptions {
            grade: Grade::FIRST,
            keep_free: self.settings.incoming.keep_free,
        };
        let what = Path::new("the post");
        let mut bytes = injected.bytes.as_slice();
        match spool(self.directory.root(), what, &mut bytes, options) {
            Ok(Spooled::Waits { .. }) => Ok(Done::Spooled),
            Ok(Spooled::Empty) => Err(Refusal::NoBody.into()),
            Err(error) => Err(Failed {
                status: Status::ATTENTION,
                code: "not-filed",
                why: error.to_string(),
            }),
        }
    }

    /// Keeps the mail, then has it sent. When that fails it stays, and that is no failure of the post.
    fn mail(
        &self,
        injected: &Injected,
        entry: &mut PostEntry<'_>,
        (group, address): (&[u8], &[u8]),
        now: InjectionTime,
    ) -> Result<Done, Failed> {
        self.write_unless_known(injected, entry)?;
        let group = String::from_utf8_lossy(group).into_owned();
        let address = String::from_utf8_lossy(address).into_owned();
        let root = self.directory.root();
        let path = mail_queue::enqueue(root, &injected.bytes, now.seconds, now.random);
        let path = path.map_err(|error| Failed {
            status: Status::ATTENTION,
            code: "not-mailed",
            why: error.to_string(),
        })?;
        self.log(
            Code::Moderated,
            &injected.id,
            &daemon::queued_for(address.as_bytes()),
        );
        let mail = mail_queue::QueuedMail {
            path,
            since: now.seconds,
        };
        let why = match self.settings.mailer(&self.directory).send(&mail) {
            Ok(true) => return Ok(Done::Mailed { group, address }),
            Ok(false) => mail_queue::NO_WAY.to_owned(),
            Err(error) => error.to_string(),
        };
        eprintln!("broadsheet: the mail to the moderator stays in mail.queue/: {why}");
        // A daemon retries.
        client::send_mail(root);
        Ok(Done::Queued { group, address })
    }

    fn tell(
        &self,
        injected: &Injected,
        done: &Done,
        out: &mut dyn Write,
    ) -> anyhow::Result<Status> {
        let id = String::from_utf8_lossy(&injected.id);
        let (word, to) = match done {
            Done::Filed | Done::FiledUntold(_) => ("posted", None),
            Done::Spooled => ("spooled", None),
            Done::Mailed { group, address } => ("mailed", Some((group, address))),
            Done::Queued { group, address } => ("queued", Some((group, address))),
        };
        let mut text = String::new();
        if self.has("json") {
            let mut told = serde_json::json!({ "status": word, "message_id": id });
            if let (Some((group, address)), Some(told)) = (to, told.as_object_mut()) {
                told.insert("group".to_owned(), group.as_str().into());
                told.insert("moderator".to_owned(), address.as_str().into());
            }
            text = format!("{told}\n");
        } else if self.has("verbose") {
            text = match to {
                None => format!("{word} {id}\n"),
                Some((group, address)) => format!("{word} {id} for {group} to {address}\n"),
            };
        } else if let Some((group, address)) = to {
            // Else the poster would look for the article in vain.
            eprintln!("broadsheet: {group} is moderated: {word} to {address}");
        }
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.with_context(|| format!("{id} was {word}, but cannot write standard output"))?;
        match done {
            Done::FiledUntold(why) => {
                eprintln!("broadsheet: {id} was filed, but {why}");
                Ok(Status::ATTENTION)
            }
            _ => Ok(Status::OK),
        }
    }
}

/// The most of ~/.signature that is read, in bytes.
pub const SIGNATURE_BYTES_MAX: u64 = 4096;

fn in_use() -> Failed {
    Failed {
        status: Status::NO,
        code: "duplicate",
        why: "the Message-ID is already in use".to_owned(),
    }
}

fn verdict_of(verdict: relay::Verdict) -> Result<Done, Failed> {
    let failed = |status, code, refusal: relay::Refusal| {
        let why = String::from_utf8_lossy(&refusal.text).into_owned();
        Err(Failed { status, code, why })
    };
    match verdict {
        relay::Verdict::Filed | relay::Verdict::Junked => Ok(Done::Filed),
        relay::Verdict::Duplicate => Err(in_use()),
        relay::Verdict::Refused(why) => failed(Status::NO, "not-accepted", why),
        relay::Verdict::NeedsAttention(why) | relay::Verdict::Unfiled(why) => {
            failed(Status::ATTENTION, "not-filed", why)
        }
    }
}
