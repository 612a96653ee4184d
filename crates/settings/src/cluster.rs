//! `[cluster]`: the log that several machines share, and the settings by which all of them must decide.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ::cluster::articles_entry::ENTRY_FULL_BYTES;
use ::cluster::decisions::DecisionRange;
use ::cluster::entry::ENTRY_BYTES_MAX;
use ::cluster::log::LogOptions;
use ::cluster::login_secrets;
use relay::cancel_lock::Secret;
use relay::control::policy::POLICY_FILES;
use relay::keyring;
use sha2::{Digest, Sha256};

use crate::{FILE, NewsDirectory, Settings, TABLE};

/// The file with the keys for the NATS servers: NKEY seeds of the user of the stream, and of a user of the system account, each on a
/// line.
pub const LOGIN_FILE: &str = "keys/cluster.login";
/// Smallest segments of a node, bytes: an entry must fit in one.
pub const SEGMENT_BYTES_MIN: u64 = 64 << 20;
/// Bytes of a file that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Settings by which nodes decide about articles, besides those of the section limits and control.
const DECIDING: [&str; 5] = [
    "name",
    "junk",
    "headers_only",
    "store.restorable_days",
    "post.customs",
];
/// Ids that another system had seen.
const SEEN_HASHES: &str = "seen.hashes";
/// Files by which nodes decide, besides those of the policy for control messages.
const DECIDING_FILES: [&str; 2] = [groups::sys::FILE, SEEN_HASHES];

/// `[cluster]`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// Addresses of the NATS servers; empty for a site of one machine.
    pub servers: String,
    /// The stream.
    pub stream: String,
    /// Its replicas.
    pub replicas: u64,
    /// A file of certificates.
    pub ca: String,
    /// The name of this node; empty: that of the machine.
    pub node: String,
    /// Whether this node may send articles to the sites.
    pub feeds: bool,
    /// `auto`: a node that most others contradict fetches their articles by itself; `manual`: it waits for the administrator.
    pub reseed: String,
}

/// The value of `cluster.reseed` for a node that fetches the articles of others by itself.
pub(crate) const RESEED_AUTO: &str = "auto";
/// The value for a node that waits for the administrator.
const RESEED_MANUAL: &str = "manual";

/// A part of the settings by which nodes decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidingPart {
    /// Its name: a setting or a file.
    pub name: String,
    /// The hash of its value.
    pub hash: u64,
}

impl Settings {
    /// Whether this news directory belongs to a cluster.
    pub fn is_node(&self) -> bool {
        !self.cluster.servers.trim().is_empty()
    }

    pub(crate) fn cluster_fault(&self) -> Option<(&'static str, String)> {
        if !self.is_node() {
            return None;
        }
        if !::cluster::IS_BUILT_IN {
            let told = "needs a program that was built with the feature `cluster' (cargo build -p broadsheet)";
            return Some(("cluster.servers", told.to_owned()));
        }
        let mut servers = self.cluster.servers.split(',').map(str::trim);
        let is_other = |server: &&str| {
            let scheme = server.split_once("://").map(|(scheme, _)| scheme);
            scheme.is_some_and(|scheme| !matches!(scheme, "nats" | "tls"))
        };
        if let Some(server) = servers.find(is_other) {
            let told = format!("has `{server}'; a server is nats://HOST:PORT or tls://HOST:PORT");
            return Some(("cluster.servers", told));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if self.cluster.stream.is_empty() || !self.cluster.stream.chars().all(is_name) {
            let told = "has letters, digits, `-' and `_' only".to_owned();
            return Some(("cluster.stream", told));
        }
        if !self.cluster.node.chars().all(|c| is_name(c) || c == '.') {
            let told = "has letters, digits, `.', `-' and `_' only".to_owned();
            return Some(("cluster.node", told));
        }
        if ![RESEED_AUTO, RESEED_MANUAL].contains(&self.cluster.reseed.as_str()) {
            let told = format!("is \"{RESEED_AUTO}\" or \"{RESEED_MANUAL}\"");
            return Some(("cluster.reseed", told));
        }
        if self.store.segment_bytes < SEGMENT_BYTES_MIN {
            let least = groups::size::bytes(SEGMENT_BYTES_MIN);
            return Some((
                "store.segment_bytes",
                format!("is at least {least} in a cluster"),
            ));
        }
        let entry = self.limits.article_bytes_max as usize + ENTRY_FULL_BYTES;
        (entry > ENTRY_BYTES_MAX).then(|| {
            let most = groups::size::bytes((ENTRY_BYTES_MAX - ENTRY_FULL_BYTES) as u64);
            (
                "limits.article_bytes_max",
                format!("is at most {most} in a cluster"),
            )
        })
    }

    /// Whether this node fetches the articles of others by itself when most of them contradict it.
    pub fn reseeds_by_itself(&self) -> bool {
        self.cluster.reseed == RESEED_AUTO
    }

    /// The options of the log of the cluster.
    ///
    /// # Errors
    /// The file of logins cannot be used.
    pub fn log_options(&self, directory: &NewsDirectory) -> io::Result<LogOptions> {
        let cluster = &self.cluster;
        let servers = cluster
            .servers
            .split(',')
            .map(|server| server.trim().to_owned());
        let [login, system_login] = logins(directory)?;
        let ca = cluster.ca.as_str();
        Ok(LogOptions {
            servers: servers.filter(|server| !server.is_empty()).collect(),
            stream: cluster.stream.clone(),
            subject: format!("broadsheet.{}", cluster.stream),
            node: match cluster.node.as_str() {
                "" => machine_name(),
                name => name.to_owned(),
            },
            log: String::new(),
            login,
            system_login,
            ca: (!ca.is_empty()).then(|| PathBuf::from(ca)),
            replicas: cluster.replicas as usize,
            entry_bytes_max: self.limits.article_bytes_max as usize + ENTRY_FULL_BYTES,
            decisions: decisions(),
        })
    }

    /// The parts of the settings by which all nodes must decide alike.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn deciding_parts(&self, directory: &NewsDirectory) -> io::Result<Vec<DecidingPart>> {
        self.deciding_parts_of_copy(directory, directory)
    }

    /// Reads these parts from a copy of the settings of a news directory (`in_force`). A copy has no `seen.hashes`: that of the news
    /// directory counts.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn deciding_parts_of_copy(
        &self,
        copy: &NewsDirectory,
        directory: &NewsDirectory,
    ) -> io::Result<Vec<DecidingPart>> {
        let part = |name: &str, value: &[u8]| DecidingPart {
            name: name.to_owned(),
            hash: hash(value),
        };
        let file = |name: &str| -> io::Result<DecidingPart> {
            let of = match name {
                SEEN_HASHES => directory,
                _ => copy,
            };
            Ok(DecidingPart {
                name: name.to_owned(),
                hash: hash_of_file(&of.file(name))?,
            })
        };
        let mut parts = Vec::new();
        for setting in TABLE {
            let path = setting.path();
            if is_deciding(setting.section, setting.key) {
                parts.push(part(&path, setting.written(self).as_bytes()));
            }
        }
        let text = store::regular::read_to_string(&copy.file(FILE))?;
        let table: toml::Table = text.parse().map_err(io::Error::other)?;
        for name in ["site", "accept"] {
            let value = table.get(name).map(ToString::to_string);
            parts.push(part(name, value.unwrap_or_default().as_bytes()));
        }
        for name in DECIDING_FILES.iter().chain(&POLICY_FILES) {
            parts.push(file(name)?);
        }
        // Without the file, the parts are those of builds that do not know it.
        if copy.file(relay::blocks::FILE).exists() {
            parts.push(file(relay::blocks::FILE)?);
        }
        let mut keys = Vec::new();
        for entry in std::fs::read_dir(copy.file(keyring::DIRECTORY))
            .into_iter()
            .flatten()
        {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|end| end == keyring::EXTENSION)
            {
                keys.push(hash_of_file(&path)?);
            }
        }
        keys.sort_unstable();
        parts.push(part("the trusted keys", format!("{keys:?}").as_bytes()));
        Ok(parts)
    }
}

/// Whether nodes decide by a setting of broadsheet.toml, a single one.
pub(crate) fn is_deciding(section: &str, key: &str) -> bool {
    let path = match section {
        "" => key.to_owned(),
        section => format!("{section}.{key}"),
    };
    matches!(section, "limits" | "control") || path == "accept" || DECIDING.contains(&path.as_str())
}

/// Whether a cluster never changes this part of the settings: a news directory has articles of one kind.
pub fn is_fixed(part: &str) -> bool {
    part == "headers_only"
}

/// The hash of all parts; never 0.
pub fn hash_of_parts(parts: &[DecidingPart]) -> u64 {
    let text: String = parts
        .iter()
        .map(|part| format!("{} {:016x}\n", part.name, part.hash))
        .collect();
    hash(text.as_bytes()).max(1)
}

fn hash(bytes: &[u8]) -> u64 {
    first_64_bits(&Sha256::digest(bytes))
}

fn first_64_bits(digest: &[u8]) -> u64 {
    digest
        .first_chunk::<8>()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A missing file is an empty one.
fn hash_of_file(path: &Path) -> io::Result<u64> {
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut digest = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut file = match store::regular::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(hash(b"")),
        opened => opened.map_err(told)?,
    };
    loop {
        match file.read(&mut buffer).map_err(told)? {
            0 => return Ok(first_64_bits(&digest.finalize())),
            count => digest.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

/// The versions of the decisions that this program can apply.
fn decisions() -> DecisionRange {
    #[cfg(debug_assertions)]
    if let Some(pretended) = pretended_decisions() {
        return pretended;
    }
    DecisionRange::OF_THIS_BUILD
}

/// The versions that a test gives to a node in place of those of its program, `OLDEST-NEWEST`: a node of another build.
#[cfg(debug_assertions)]
fn pretended_decisions() -> Option<DecisionRange> {
    let text = std::env::var("BROADSHEET_TEST_DECISIONS").ok()?;
    let (oldest, newest) = text.split_once('-')?;
    Some(DecisionRange {
        oldest: oldest.parse().ok()?,
        newest: newest.parse().ok()?,
    })
}

/// The secret of the Cancel-Locks of posts: that of the news directory, which is made if it is missing. Nodes derive one from their login, so that
/// a poster can withdraw an article through any of them; they give the keys of an earlier `keys/cancel.secret` as well.
///
/// # Errors
/// A file in `keys` cannot be used.
pub fn cancel_secret(directory: &NewsDirectory, is_node: bool) -> io::Result<Secret> {
    let [login, _] = if is_node {
        logins(directory)?
    } else {
        [None, None]
    };
    let shared = login.and_then(|login| login_secrets::cancel_secret(&login));
    let root = directory.root();
    let secret = match shared {
        Some(shared) => {
            Secret::if_there(root).map(|older| Secret::new(shared.as_bytes()).in_place_of(older))
        }
        None => Secret::of(root),
    };
    secret.map_err(io::Error::other)
}

/// The name of this machine.
fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

type Login = Option<String>;

fn logins(directory: &NewsDirectory) -> io::Result<[Login; 2]> {
    let path = directory.file(LOGIN_FILE);
    let told = |text: String| io::Error::other(format!("{}: {text}", path.display()));
    let text = match store::regular::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok([None, None]),
        read => read.map_err(|error| told(format!("cannot read it: {error}")))?,
    };
    let mode = std::fs::metadata(&path)?.mode();
    if mode & 0o077 != 0 {
        return Err(told("others can read it: chmod 600 it".to_owned()));
    }
    let mut lines = text.lines().map(|line| line.trim().to_owned());
    Ok([lines.next(), lines.next()])
}
