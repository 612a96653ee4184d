//! The sections `[control]`, `[limits]`, `[store]`, `[incoming]`, `[report]` and `[schedule]`.

use groups::When;

/// `[control]`: the effects of control messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// The cancels that take effect.
    pub cancel: relay::CancelPolicy,
    /// Age in days at which a newgroup, rmgroup or checkgroups message has no effect; 0 for no limit.
    pub age_days_max: u64,
    /// Bytes between two dots of a new group's name.
    pub name_part_bytes_max: u64,
}

/// `[limits]`: the limits on articles and batches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of one article, header and body.
    pub article_bytes_max: u64,
    /// Whether a batch with a larger article is saved in bad/.
    pub save_too_large: bool,
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
    /// Bytes of memory for expanding one wrapped batch.
    pub expansion_memory_bytes_max: u64,
}

/// `[store]`: how articles are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    /// Largest size of a segment, bytes.
    pub segment_bytes: u64,
    /// Bytes gathered before they are written and synced.
    pub commit_bytes: u64,
    /// Bytes filed after which the derived files are synced too.
    pub checkpoint_bytes: u64,
    /// When articles are forced to the disk.
    pub sync: Sync,
    /// Days for which a removed article can be restored.
    pub restorable_days: u64,
}

/// `[offload]`: sealed segments whose articles move to an object store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offload {
    /// The object store; empty: none.
    pub url: String,
    /// The address of the servers of a bucket; empty: those of the provider.
    pub endpoint: String,
    /// The region of a bucket of S3.
    pub region: String,
    /// A file of the CAs that are trusted in place of the system's; empty: none.
    pub tls_ca: String,
    /// The one certificate that is trusted; empty: none.
    pub tls_fingerprint: String,
    /// Days after which a segment moves; 0: its age does not matter.
    pub after_days: u64,
    /// Bytes of sealed segments that stay on this machine at most; 0: no limit.
    pub keep_local: u64,
    /// Bytes of the local cache.
    pub cache: u64,
}

impl Offload {
    /// Its faults, and their keys.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        if self.url.is_empty() {
            return Vec::new();
        }
        let mut faults: Vec<_> = objects::faults_of(&self.url, &self.endpoint, &self.region)
            .into_iter()
            .map(|(key, what)| match key {
                "endpoint" => ("offload.endpoint", what),
                "region" => ("offload.region", what),
                _ => ("offload.url", what),
            })
            .collect();
        if let Err(what) = self.fingerprint() {
            faults.push(("offload.tls_fingerprint", what));
        }
        faults
    }

    /// The certificate that is trusted.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the setting's name.
    pub fn fingerprint(&self) -> Result<Option<[u8; 32]>, String> {
        match self.tls_fingerprint.trim() {
            "" => Ok(None),
            text => crate::nntp_server::parse_fingerprint(text).map(Some),
        }
    }
}

/// `[incoming]`: batches that wait in in.coming/.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incoming {
    /// Bytes of the disk that stay free.
    pub keep_free: u64,
    /// Seconds that rnews waits for the lock before it leaves a batch in in.coming/; 0 for no limit.
    pub spool_after_seconds: u64,
}

/// `[schedule]`: the commands that the daemon starts by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// `broadsheet expire`
    pub expire: When,
    /// When the daemon moves segments to the object store.
    pub offload: When,
    /// `broadsheet sendbatches`
    pub sendbatches: When,
    /// `broadsheet report --mail`
    pub report: When,
    /// `broadsheet backup`
    pub backup: When,
    /// `broadsheet fsck`
    pub fsck: When,
}

/// `[backup]`: where `broadsheet backup` without an operand puts its backups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backup {
    /// The directory; empty for none.
    pub to: String,
    /// Number of backups that are kept; 0 for all.
    pub keep: u64,
}

/// `[report]`: the daily report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The address that gets the report of each day; empty for none.
    pub mail: String,
    /// Days for which figures are kept.
    pub days: u64,
    /// How long articles cannot be sent to a site until a mail tells it, such as `1 h`; `off`: none does.
    pub alarm_after: String,
}

/// The value of [`Report::alarm_after`] without alarms.
const OFF: &str = "off";

impl Report {
    /// The seconds of [`Report::alarm_after`]. `None`: no mail tells an outage.
    pub fn alarm_seconds(&self) -> Option<u64> {
        match When::parse(&format!("every {}", self.alarm_after)) {
            Ok(When::Every(seconds)) => Some(seconds),
            _ => None,
        }
    }

    /// The error in a value, with its key.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        if self.alarm_after != OFF && self.alarm_seconds().is_none() {
            let what = "is a time such as \"1 h\" or \"30 min\", or \"off\"";
            return Some(("report.alarm_after", what.to_owned()));
        }
        let is_address = inject::mailbox::is_safe_recipient(self.mail.as_bytes());
        let is_wrong = !self.mail.is_empty() && !is_address;
        is_wrong.then(|| ("report.mail", "is not an address".to_owned()))
    }
}

/// When articles are forced to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    /// After every article.
    Each,
    /// After every commit, and so before rnews ends.
    Commit,
    /// Never: a power cut may lose acknowledged articles.
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
