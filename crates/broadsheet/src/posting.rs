//! The common part of `inews` and `injnews`: a draft goes into the news system, to a moderator, or back to its poster.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use feed::serving::done_filing;
use inject::{Draft, EveryGroup, Injected, InjectionTime, Moderators, Poster, Refusal, Route};
use inject::{InjectionSite, PostLine, mail_queue, posts_log};
use relay::Now;
use relay::cancel_lock::Secret;
use relay::incoming::{Grade, Spooled, spool};
use store::Snapshot;

use crate::account::Account;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::Given;
use crate::spooling;
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
        when: "an error occurred: the post was saved, unless the message says that it was filed",
    },
];

/// Where a refused post is kept, in the home of its poster (C News).
const DEAD_ARTICLE: &str = "dead.article";

/// Everything a post needs.
pub struct Posting<'g> {
    directory: NewsDirectory,
    settings: Settings,
    account: Account,
    given: &'g Given,
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

/// A post that did not go on: why, with a word for scripts.
struct Failed {
    status: Status,
    code: &'static str,
    why: String,
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

impl<'g> Posting<'g> {
    /// Reads the settings. The flags of `given` that are asked for: `dir`, `json`, `no-post`, `verbose`.
    ///
    /// # Errors
    /// No news directory, or faults in its settings; a program that runs with another user's rights.
    pub fn begin(given: &'g Given) -> anyhow::Result<Posting<'g>> {
        if rustix::process::getuid() != rustix::process::geteuid() {
            // It reads files that are named, and writes to HOME: with other rights than the poster's it would give files away.
            anyhow::bail!(
                "the program must not be set-user-id; see `Posting' in docs/operations.md"
            );
        }
        let directory = NewsDirectory::meant(given)?;
        let settings = directory.settings()?.settings;
        Ok(Posting {
            directory,
            settings,
            account: Account::mine(),
            given,
        })
    }

    /// Whether a flag was given, of those that the command has.
    fn has(&self, flag: &str) -> bool {
        self.given.command.takes(flag) && self.given.has(flag)
    }

    /// The post: the FILEs one after the other, or standard input; or, told and saved, the status of one that is too large.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn input(&self, out: &mut dyn Write) -> anyhow::Result<Result<Vec<u8>, Status>> {
        let mut readers: Vec<Box<dyn Read>> = Vec::new();
        for path in &self.given.operands {
            let file = File::open(path).map_err(|error| {
                let what = format!("cannot read {}", Path::new(path).display());
                anyhow::Error::new(error).context(what)
            })?;
            readers.push(Box::new(file));
        }
        if readers.is_empty() {
            readers.push(Box::new(std::io::stdin().lock()));
        }
        let empty: Box<dyn Read> = Box::new(std::io::empty());
        let mut all = readers
            .into_iter()
            .fold(empty, |all, next| Box::new(all.chain(next)));
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
        self.refuse(failed, &mut bytes.chain(all), out).map(Err)
    }

    /// Refuses what cannot even be read as a post.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn refuse_input(
        &self,
        refusal: Refusal,
        bytes: &[u8],
        out: &mut dyn Write,
    ) -> anyhow::Result<Status> {
        self.refuse(refusal.into(), &mut &*bytes, out)
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
    /// Standard output, or `active`, or the like. What concerns the post is told and ends with a status.
    pub fn post(&self, draft: Draft, out: &mut dyn Write) -> anyhow::Result<Status> {
        let saved = draft.write();
        let now = InjectionTime::now()?;
        let injected = match self.inject(draft, now)? {
            Ok(injected) => injected,
            Err(refusal) => return self.refuse(refusal.into(), &mut saved.as_slice(), out),
        };
        if self.has("no-post") {
            out.write_all(&injected.bytes)?;
            return Ok(Status::OK);
        }
        for note in &injected.notes {
            eprintln!("broadsheet: {note}");
        }
        self.log_post(&injected, now)?;
        let mut are_feeds = false;
        let done = match &injected.route {
            Route::File => self.file(&injected, &mut are_feeds),
            Route::Mail { group, address } => self.mail(&injected, group, address, now),
        };
        let status = match done {
            Ok(done) => self.tell(&injected, &done, out),
            Err(failed) => self.refuse(failed, &mut saved.as_slice(), out),
        }?;
        out.flush()?;
        daemon::after_filing(self.directory.root(), OWN_PROGRAM, are_feeds);
        Ok(status)
    }

    fn inject(
        &self,
        draft: Draft,
        now: InjectionTime,
    ) -> anyhow::Result<Result<Injected, Refusal>> {
        let mut rules = self.settings.inject_rules(&self.directory);
        if self.has("no-organization") {
            rules.organization.clear();
        }
        let mailname = String::from_utf8_lossy(&rules.mailname).into_owned();
        let from = self.account.from(&mailname);
        let is_admin = self.account.is_admin(self.directory.root());
        let logging_data = self.token(now)?;
        let poster = Poster {
            account: self.account.name.as_bytes(),
            from: from.as_bytes(),
            host: b"localhost",
            logging_data: logging_data.as_bytes(),
            sender: &self.sender(),
            is_admin,
        };
        // Where nothing is posted nothing is made.
        let secret = match self.has("no-post") {
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

    /// The token of the account in Injection-Info.
    fn token(&self, now: InjectionTime) -> anyhow::Result<String> {
        match self.settings.post.log_seconds() {
            0 => Ok(String::new()),
            _ if self.has("no-post") => Ok(String::new()),
            keep => {
                let who = (self.account.name.as_bytes(), &b"localhost"[..]);
                let token = posts_log::token(self.directory.root(), who, now.seconds, keep);
                token.with_context(|| format!("cannot use {}", posts_log::KEY))
            }
        }
    }

    /// Writes who posts this to posts.log.
    fn log_post(&self, injected: &Injected, now: InjectionTime) -> anyhow::Result<()> {
        if self.settings.post.log_seconds() == 0 {
            return Ok(());
        }
        let line = PostLine {
            seconds: now.seconds,
            token: &self.token(now)?,
            id: &String::from_utf8_lossy(&injected.id),
            account: &self.account.name,
            host: "localhost",
            is_secure: false,
        };
        posts_log::append(self.directory.root(), &line)
            .with_context(|| format!("cannot write {}", posts_log::POSTS))
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
    fn file(&self, injected: &Injected, are_feeds: &mut bool) -> Result<Done, Failed> {
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
            Ok(None) => return self.spool(injected),
            Err(error) => return self.spool_if_full(injected, &error),
        };
        let now = Now::read();
        let filed = filer
            .file_for(&self.sender(), &injected.bytes, now)
            .and_then(|verdict| filer.commit().map(|()| verdict));
        match filed {
            Ok(verdict) => {
                *are_feeds = done_filing(filer);
                verdict_of(verdict)
            }
            // It is on the disk, and must not be posted again.
            Err(error) if error.is_of_log() => {
                *are_feeds = done_filing(filer);
                Ok(Done::FiledUntold(error.to_string()))
            }
            Err(error) => {
                drop(filer);
                self.spool_if_full(injected, &error.into())
            }
        }
    }

    fn spool_if_full(&self, injected: &Injected, error: &anyhow::Error) -> Result<Done, Failed> {
        let is_full = error
            .downcast_ref::<relay::Error>()
            .is_some_and(relay::Error::is_disk_full)
            || error
                .downcast_ref::<store::Error>()
                .is_some_and(store::Error::is_disk_full);
        let spooled = is_full.then(|| self.spool(injected).ok()).flatten();
        spooled.ok_or_else(|| Failed {
            status: Status::ATTENTION,
            code: "not-filed",
            why: format!("{error:#}"),
        })
    }

    fn spool(&self, injected: &Injected) -> Result<Done, Failed> {
        // Who files it later can tell the poster nothing.
        let snapshot = Snapshot::open(self.directory.root()).ok();
        if snapshot
            .is_some_and(|snapshot| matches!(snapshot.history_line(&injected.id), Ok(Some(_))))
        {
            return Err(in_use());
        }
        let options = spooling::options(&self.settings, Some(Grade::FIRST));
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
        group: &[u8],
        address: &[u8],
        now: InjectionTime,
    ) -> Result<Done, Failed> {
        let group = String::from_utf8_lossy(group).into_owned();
        let address = String::from_utf8_lossy(address).into_owned();
        let root = self.directory.root();
        let path = mail_queue::enqueue(root, &injected.bytes, now.seconds, now.random);
        let path = path.map_err(|error| Failed {
            status: Status::ATTENTION,
            code: "not-mailed",
            why: error.to_string(),
        })?;
        let mail = mail_queue::QueuedMail {
            path,
            since: now.seconds,
        };
        Ok(match self.settings.mailer(&self.directory).send(&mail) {
            Ok(true) => Done::Mailed { group, address },
            Ok(false) => Done::Queued { group, address },
            Err(error) => {
                eprintln!("broadsheet: the mail to the moderator stays in mail.queue/: {error}");
                Done::Queued { group, address }
            }
        })
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
        if self.has("json") {
            let mut told = serde_json::json!({ "status": word, "message_id": id });
            if let (Some((group, address)), Some(told)) = (to, told.as_object_mut()) {
                told.insert("group".to_owned(), group.as_str().into());
                told.insert("moderator".to_owned(), address.as_str().into());
            }
            writeln!(out, "{told}")?;
        } else if self.has("verbose") {
            match to {
                None => writeln!(out, "{word} {id}")?,
                Some((group, address)) => writeln!(out, "{word} {id} for {group} to {address}")?,
            }
        } else if let Some((group, address)) = to {
            // Else the poster would look for the article in vain.
            eprintln!("broadsheet: {group} is moderated: {word} to {address}");
        }
        match done {
            Done::FiledUntold(why) => {
                eprintln!("broadsheet: {id} was filed, but {why}");
                Ok(Status::ATTENTION)
            }
            _ => Ok(Status::OK),
        }
    }

    /// Saves the post and says why it did not go on.
    fn refuse(
        &self,
        failed: Failed,
        post: &mut dyn Read,
        out: &mut dyn Write,
    ) -> anyhow::Result<Status> {
        let saved = match self.has("no-post") {
            true => None,
            false => Some(self.save(post)),
        };
        let Failed { status, code, why } = failed;
        if self.has("json") {
            let path = saved.as_ref().and_then(|saved| saved.as_ref().ok());
            let path = path.map(|path| path.display().to_string());
            let told =
                serde_json::json!({ "status": "refused", "code": code, "why": why, "saved": path });
            writeln!(out, "{told}")?;
        }
        let kept = match &saved {
            None => String::new(),
            Some(Ok(path)) => format!("; the post is saved in {}", path.display()),
            Some(Err(error)) => format!("; the post could not be saved: {error:#}"),
        };
        eprintln!("broadsheet: refused ({code}): {why}{kept}");
        Ok(status)
    }

    /// Adds the post to ~/dead.article, or where there is no home to one in the news directory's bad/.
    fn save(&self, post: &mut dyn Read) -> anyhow::Result<PathBuf> {
        let home = self.account.home.clone().filter(|home| home.is_dir());
        let place = match home {
            Some(home) => home,
            None => {
                let bad = self.directory.file("bad");
                std::fs::create_dir_all(&bad)?;
                bad
            }
        };
        let path = place.join(DEAD_ARTICLE);
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| {
                anyhow::Error::new(error).context(format!("cannot open {}", path.display()))
            })?;
        std::io::copy(post, &mut file)?;
        file.sync_all()?;
        relay::bad_batches::sync_parent(&path)?;
        Ok(path)
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
