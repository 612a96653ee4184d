//! `broadsheet.toml`: one table of settings feeds the commented file that `broadsheet init`
//! writes, the reading of it, `broadsheet check` and `broadsheet limits`.

mod nntp;
mod read;
mod table;
mod template;

pub use nntp::{Auth, Nntp};
pub use read::{Faults, Origin, Read};
pub use table::{SECTIONS, TABLE};
pub use template::template;

use std::path::Path;
use std::time::Duration;

use groups::When;

use crate::text;

/// The file's name in the news directory.
pub const FILE: &str = groups::tables::FILE;

/// Every setting in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// This site's name in Path and Xref.
    pub name: String,
    /// For the Organization header of articles posted here.
    pub organization: String,
    /// How the daemon writes what it says: `text` or `json`.
    pub log_format: String,
    /// Whether the daemon confines its threads.
    pub sandbox: bool,
    /// `[limits]`
    pub limits: Limits,
    /// `[store]`
    pub store: Store,
    /// `[schedule]`
    pub schedule: Schedule,
    /// `[incoming]`
    pub incoming: Incoming,
    /// `accept` and `[[site]]`
    pub sites: groups::Tables,
    /// `[post]`
    pub post: Post,
    /// `[control]`
    pub control: Control,
    /// `[nntp]`
    pub nntp: Nntp,
    /// `[auth]`
    pub auth: Auth,
    /// `[[access]]`
    pub access: access::Tables,
}

/// `[control]`: what control messages may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// Who may cancel.
    pub cancel: relay::CancelPolicy,
    /// Days after which a message that makes or removes groups does nothing; 0 for never.
    pub age_days_max: u64,
    /// Bytes between two dots of a new group's name.
    pub name_part_bytes_max: u64,
}

/// `[limits]`: what an article or a batch may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of one article, header and body.
    pub article_bytes_max: u64,
    /// Bytes of one article's header.
    pub header_bytes_max: u64,
    /// Groups named in one Newsgroups header.
    pub groups_per_article_max: u64,
    /// Bytes of a Message-ID with its brackets.
    pub message_id_bytes_max: u64,
    /// Seconds a Date may lie in the future.
    pub clock_skew_seconds: u64,
    /// Days after which a Date is ancient; 0 for never.
    pub article_age_days_max: u64,
    /// Bytes one wrapped batch may grow to.
    pub expansion_bytes_max: u64,
    /// Bytes out for each byte in, of a wrapped batch.
    pub expansion_ratio_max: u64,
}

/// `[store]`: how articles are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    /// Bytes at which a segment is sealed.
    pub segment_bytes: u64,
    /// Bytes gathered before they are written and synced.
    pub commit_bytes: u64,
    /// Bytes filed after which the derived files are synced too.
    pub checkpoint_bytes: u64,
    /// When articles are forced to the disk.
    pub sync: Sync,
}

/// `[incoming]`: batches that wait in in.coming/.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incoming {
    /// Bytes of the disk that stay free.
    pub keep_free: u64,
    /// Seconds that rnews waits for the lock before it leaves a batch in in.coming/; 0 for ever.
    pub spool_after_seconds: u64,
}

/// `[post]`: articles posted here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Post {
    /// What stands behind the `@` of posters and new ids; empty for the file `mailname`, or else the name.
    pub mailname: String,
    /// Who may approve, and post control messages: users, or `*` for all.
    pub approve: String,
    /// What is told of posters.
    pub reveal: String,
    /// Who hears complaints.
    pub complaints: String,
    /// The command that sends mail.
    pub sendmail: String,
    /// Lines of ~/.signature.
    pub signature_lines: u64,
    /// Old customs.
    pub customs: String,
}

impl Post {
    /// Whether a user may give Approved.
    pub fn lets_approve(&self, user: &str) -> bool {
        let mut users = self.approve.split(',').map(str::trim);
        users.any(|known| known == "*" || known == user)
    }

    /// Whether `Subject: cmsg X` makes a control message.
    pub fn takes_cmsg(&self) -> bool {
        self.customs == CMSG
    }

    /// What is wrong with the texts, and of which key it is said.
    fn fault(&self) -> Option<(&'static str, String)> {
        let is_domain = article::message_id::valid_domain_strict(self.mailname.as_bytes());
        if !self.mailname.is_empty() && !is_domain {
            return Some(("post.mailname", "is no name of a mail host".to_owned()));
        }
        if let Err(word) = inject::Reveal::parse(&self.reveal) {
            let told = format!("takes account, host, logging and sender, not `{word}'");
            return Some(("post.reveal", told));
        }
        let is_address = inject::mailbox::is_safe_recipient(self.complaints.as_bytes());
        if !self.complaints.is_empty() && !is_address {
            return Some(("post.complaints", "is no address".to_owned()));
        }
        if !self.sendmail.trim().is_empty()
            && let Err(error) = groups::command_line::CommandLine::parse(self.sendmail.as_bytes())
        {
            return Some(("post.sendmail", format!("cannot be run: {error}")));
        }
        let is_known = matches!(self.customs.as_str(), "" | CMSG);
        (!is_known).then(|| ("post.customs", "is \"cmsg\" or empty".to_owned()))
    }
}

/// The one old custom there is.
const CMSG: &str = "cmsg";

/// `[schedule]`: what the daemon starts by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// `broadsheet expire`
    pub expire: When,
    /// `broadsheet sendbatches`
    pub sendbatches: When,
}

/// When articles are forced to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    /// After every article.
    Each,
    /// After every commit, and so before rnews ends.
    Commit,
    /// Never: a power cut may lose what was acknowledged.
    None,
}

impl Sync {
    /// Every choice with its word, in the order of care.
    pub const ALL: &[(&str, Sync)] = &[
        ("each", Sync::Each),
        ("commit", Sync::Commit),
        ("none", Sync::None),
    ];

    /// The word in the file and on the command line.
    pub fn word(self) -> &'static str {
        Sync::ALL
            .iter()
            .find(|(_, sync)| *sync == self)
            .map_or("commit", |(word, _)| word)
    }

    /// The choice a word stands for.
    pub fn of(word: &str) -> Option<Sync> {
        Sync::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, sync)| *sync)
    }
}

impl Settings {
    /// What an article must keep to.
    pub fn rules(&self) -> relay::Rules {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let seconds = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let age = self.limits.article_age_days_max;
        relay::Rules {
            article_bytes_max: count(self.limits.article_bytes_max),
            header_bytes_max: count(self.limits.header_bytes_max),
            groups_max: count(self.limits.groups_per_article_max),
            message_id_bytes_max: count(self.limits.message_id_bytes_max),
            future_seconds_max: seconds(self.limits.clock_skew_seconds),
            age_seconds_max: (age > 0).then(|| seconds(age.saturating_mul(86_400))),
            ..relay::Rules::new(self.name.as_bytes())
        }
    }

    /// How articles are filed, besides the rules.
    pub fn filer_options(&self) -> relay::FilerOptions {
        relay::FilerOptions {
            cancel: self.control.cancel,
            processor: self.control_options(),
            ..relay::FilerOptions::default()
        }
    }

    /// About control messages that make and remove groups.
    pub fn control_options(&self) -> relay::control::processor::ControlOptions {
        let days = self.control.age_days_max;
        let seconds = i64::try_from(days.saturating_mul(86_400)).unwrap_or(i64::MAX);
        relay::control::processor::ControlOptions {
            age_seconds_max: (days > 0).then_some(seconds),
            name_part_bytes_max: usize::try_from(self.control.name_part_bytes_max)
                .unwrap_or(usize::MAX),
        }
    }

    /// Who may read, post and send, in a news directory.
    pub fn access(&self, news: &Path) -> access::Access {
        let time_max = Duration::from_secs(self.auth.program_seconds);
        let program = self.auth.command().and_then(Result::ok);
        let login = access::Login {
            users: access::UsersFile::of(news),
            program: program.map(|line| access::Authenticator::new(line, news, time_max)),
            plaintext_passwords: self.nntp.plaintext_passwords,
        };
        access::Access::new(&self.access, login)
    }

    /// How far a wrapped batch may grow.
    pub fn wrap_limits(&self) -> article::wrap::WrapLimits {
        article::wrap::WrapLimits {
            expanded_bytes_max: self.limits.expansion_bytes_max,
            ratio_max: self.limits.expansion_ratio_max,
            ..article::wrap::WrapLimits::default()
        }
    }

    /// What the store is to be opened with.
    pub fn store_options(&self) -> store::Options {
        store::Options {
            durability: match self.store.sync {
                Sync::Each => store::Durability::Each,
                Sync::Commit => store::Durability::Commit,
                Sync::None => store::Durability::None,
            },
            segment_bytes: self.store.segment_bytes,
            checkpoint_bytes: self.store.checkpoint_bytes,
            ..store::Options::default()
        }
    }

    /// How batches are filed.
    pub fn rnews_options(&self) -> relay::rnews::Options {
        relay::rnews::Options {
            commit_bytes: usize::try_from(self.store.commit_bytes).unwrap_or(usize::MAX),
            sync_each: self.store.sync == Sync::Each,
            wrap: self.wrap_limits(),
            ..relay::rnews::Options::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            name: String::new(),
            organization: String::new(),
            log_format: "text".to_owned(),
            sandbox: true,
            limits: Limits {
                article_bytes_max: 8 << 20,
                header_bytes_max: 128 << 10,
                groups_per_article_max: 256,
                message_id_bytes_max: 250,
                clock_skew_seconds: 86_400,
                article_age_days_max: 0,
                expansion_bytes_max: 4 << 30,
                expansion_ratio_max: 1_000,
            },
            store: Store {
                segment_bytes: 256 << 20,
                commit_bytes: 8 << 20,
                checkpoint_bytes: 64 << 20,
                sync: Sync::Commit,
            },
            schedule: Schedule {
                expire: When::Daily(4 * 3_600 + 30 * 60),
                sendbatches: When::Off,
            },
            control: Control {
                cancel: relay::CancelPolicy::Locked,
                age_days_max: 10,
                name_part_bytes_max: groups::name::NEW_PART_BYTES_MAX as u64,
            },
            nntp: Nntp {
                listen: String::new(),
                listen_tls: String::new(),
                certificate: String::new(),
                key: String::new(),
                without: String::new(),
                plaintext_passwords: false,
                idle_seconds: 600,
                first_seconds: 60,
                connections_max: 20_000,
                connections_per_address_max: 64,
                threads: 0,
                keep_free: 128 << 20,
                metrics: String::new(),
            },
            incoming: Incoming {
                keep_free: relay::incoming::spool::KEEP_FREE_BYTES,
                spool_after_seconds: 0,
            },
            sites: groups::Tables::default(),
            auth: Auth {
                program: String::new(),
                program_seconds: access::program::PROGRAM_SECONDS_MAX,
            },
            access: access::Tables::default(),
            post: Post {
                mailname: String::new(),
                approve: "*".to_owned(),
                reveal: String::new(),
                complaints: String::new(),
                sendmail: "/usr/sbin/sendmail -oi -t".to_owned(),
                signature_lines: 4,
                customs: String::new(),
            },
        }
    }
}

/// One row of the table.
pub struct Setting {
    /// The `[section]`; empty for the top of the file.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// Unit of a number; empty for text.
    pub unit: Unit,
    /// Least and most a number may be.
    pub range: (u64, u64),
    /// What it is for, in a sentence or two; the comment in the file.
    pub help: &'static str,
    /// Where it lives.
    pub slot: fn(&mut Settings) -> Slot<'_>,
}

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Not a number.
    Text,
    /// Bytes; the file may say `8 MiB`.
    Bytes,
    /// Anything else, by its name.
    Count(&'static str),
}

impl Unit {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Text => "",
            Unit::Bytes => "bytes",
            Unit::Count(word) => word,
        }
    }
}

/// The place of one setting, by its type.
pub enum Slot<'a> {
    /// A line of text.
    Text(&'a mut String),
    /// A whole number.
    Number(&'a mut u64),
    /// Yes or no.
    Truth(&'a mut bool),
    /// One of a few words.
    Sync(&'a mut Sync),
    /// One of a few words.
    Cancel(&'a mut relay::CancelPolicy),
    /// A time of the day, or every so often.
    When(&'a mut When),
}

impl Setting {
    /// `limits.article_bytes_max`, or `name`.
    pub fn path(&self) -> String {
        match self.section {
            "" => self.key.to_owned(),
            section => format!("{section}.{}", self.key),
        }
    }

    /// The value as the file says it: `"8 MiB"`, `86400`, `"commit"`.
    pub fn written(&self, settings: &Settings) -> String {
        let mut settings = settings.clone();
        match (self.slot)(&mut settings) {
            Slot::Text(text) => quoted(text),
            Slot::Number(number) if self.unit == Unit::Bytes => match text::bytes(*number) {
                plain if plain.bytes().all(|b| b.is_ascii_digit()) => plain,
                with_unit => quoted(&with_unit),
            },
            Slot::Number(number) => number.to_string(),
            Slot::Truth(truth) => truth.to_string(),
            Slot::Sync(sync) => quoted(sync.word()),
            Slot::Cancel(cancel) => quoted(cancel.word()),
            Slot::When(when) => quoted(&when.to_string()),
        }
    }

    /// The text or word, where it is one.
    pub fn text(&self, settings: &Settings) -> Option<String> {
        match (self.slot)(&mut settings.clone()) {
            Slot::Text(text) => Some(text.clone()),
            Slot::Sync(sync) => Some(sync.word().to_owned()),
            Slot::Cancel(cancel) => Some(cancel.word().to_owned()),
            Slot::When(when) => Some(when.to_string()),
            Slot::Truth(truth) => Some(truth.to_string()),
            Slot::Number(_) => None,
        }
    }

    /// The number, where it is one.
    pub fn number(&self, settings: &Settings) -> Option<u64> {
        match (self.slot)(&mut settings.clone()) {
            Slot::Number(number) => Some(*number),
            Slot::Text(_) | Slot::Sync(_) | Slot::Cancel(_) | Slot::When(_) | Slot::Truth(_) => {
                None
            }
        }
    }
}

/// A TOML basic string. Only what the settings allow has to be escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Rules that bind settings together, and texts that are more than a line: what is wrong, and the key it is said of.
pub fn check_together(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    // In wire form an article of nothing but empty lines has twice the bytes, and an article
    // must lie in one segment.
    let article = settings.limits.article_bytes_max;
    if article > settings.store.segment_bytes / 2 {
        let told = format!(
            "is less than twice limits.article_bytes_max ({}), so that such an article would not fit in a segment",
            text::bytes(article)
        );
        faults.push(("store.segment_bytes", told));
    }
    faults.extend(settings.post.fault());
    faults.extend(settings.nntp.faults());
    if !crate::daemon::FORMATS.contains(&settings.log_format.as_str()) {
        faults.push(("log_format", "is \"text\" or \"json\"".to_owned()));
    }
    if let Some(Err(error)) = settings.auth.command() {
        faults.push(("auth.program", format!("cannot be run: {error}")));
    }
    faults
}

/// May this be a site's name? The characters are those C News takes as part of a host in Path
/// (`A-Z a-z 0-9 . -`) and `_`, which old sites have.
///
/// # Errors
/// In words, what is wrong and what to do.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the site has no name: say name = \"news.example.org\"".to_owned());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match name.chars().find(|&c| !allowed(c)) {
        Some(c) => Err(format!(
            "a site's name may not hold {c:?}: it stands in Path, where only letters, digits, `.', `-' and `_' are part of a name"
        )),
        None if name.eq_ignore_ascii_case("ME") => {
            Err("`ME' is how sys names this site; give its real name".to_owned())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_their_ranges() {
        let settings = Settings::default();
        for setting in TABLE {
            if let Some(number) = setting.number(&settings) {
                assert!(
                    (setting.range.0..=setting.range.1).contains(&number),
                    "{}",
                    setting.path()
                );
            }
        }
    }

    #[test]
    fn names_with_path_delimiters_are_refused() {
        assert!(check_name("news.example.org").is_ok());
        assert!(check_name("ihnp4").is_ok());
        for bad in ["", "a!b", "a b", "a:b", "a,b", "ME", "é"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
