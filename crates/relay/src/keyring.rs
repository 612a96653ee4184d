//! The trusted keys of a news directory and their permissions: a file for each key in `keys/`.
//!
//! *Architecture Invariant:* only the administrator makes a key trusted, by importing it. Names and signatures inside keys prove
//! nothing.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use groups::Wildmat;
use openpgp::{Certificate, Digest, PublicKey, armor};
use store::disk::RealDisk;

/// The directory of keys in a news directory.
pub const DIRECTORY: &str = "keys";
/// Maximum number of keys.
pub const KEYS_MAX: usize = 1000;
/// Longest list of hierarchies, bytes.
pub const HIERARCHIES_BYTES_MAX: usize = 8192;

/// Suffix of key files.
pub const EXTENSION: &str = "asc";
const HIERARCHIES: &str = "Hierarchies: ";
const ALLOW: &str = "Allow: ";

/// An error of the keyring.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A file in the directory does not have the form that `key import` writes.
    #[error("{} is not a key file: {why}; remove it, or import the key again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// The directory has more than [`KEYS_MAX`] keys.
    #[error("{} has more than {KEYS_MAX} keys; remove some", path.display())]
    TooMany {
        /// The directory.
        path: PathBuf,
    },
}

/// The weak hashes allowed in a key's signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowed {
    /// MD5, used by PGP 2.
    pub md5: bool,
    /// SHA-1, the default of GnuPG until about 2010.
    pub sha1: bool,
}

impl Allowed {
    /// Parses `md5`, `sha1` or both separated by a comma; empty text allows none.
    ///
    /// # Errors
    /// The unknown word.
    pub fn parse(list: &str) -> Result<Allowed, String> {
        let mut allowed = Allowed::default();
        for word in list.split(',').map(str::trim) {
            match word {
                "md5" => allowed.md5 = true,
                "sha1" => allowed.sha1 = true,
                "" => {}
                other => return Err(other.to_owned()),
            }
        }
        Ok(allowed)
    }

    /// The names, in the form that `parse` reads.
    pub fn names(self) -> Vec<&'static str> {
        let names = [(self.md5, "md5"), (self.sha1, "sha1")];
        names
            .into_iter()
            .filter_map(|(is_allowed, name)| is_allowed.then_some(name))
            .collect()
    }

    /// Whether signatures with this hash are accepted.
    pub fn allows(self, digest: Digest) -> bool {
        match digest {
            Digest::Md5 => self.md5,
            Digest::Sha1 => self.sha1,
            other => !other.is_weak(),
        }
    }
}

/// A trusted key and its permissions.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    /// The key with its names.
    pub certificate: Certificate,
    /// The groups it is trusted for, as a wildmat: `comp.*,news.*`.
    pub hierarchies: String,
    /// The weak hashes it may use.
    pub allowed: Allowed,
}

impl TrustedKey {
    /// The key itself.
    pub fn key(&self) -> &PublicKey {
        &self.certificate.key
    }

    /// The key id, 16 digits.
    pub fn id(&self) -> String {
        format!("{:016X}", self.key().id())
    }

    /// Its first name, with blanks for control characters.
    pub fn user_id(&self) -> String {
        let name = self.certificate.user_ids.first();
        let name = String::from_utf8_lossy(name.map_or(b"(no name)", Vec::as_slice));
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        name.chars().map(plain).collect()
    }

    /// Whether the argument KEY matches this key: its fingerprint, the last 8 or more digits of it or of the key id, or a whole name.
    pub fn matches(&self, key: &str) -> bool {
        let digits: String = key.split_whitespace().collect::<String>().to_uppercase();
        let digits = digits.strip_prefix("0X").unwrap_or(&digits);
        let is_id = digits.len() >= 8
            && (self.key().fingerprint().ends_with(digits) || self.id().ends_with(digits));
        let mut names = self.certificate.user_ids.iter();
        is_id || names.any(|name| name == key.as_bytes())
    }

    /// The parts of the list that match the groups, or the first group that the key is not trusted for.
    pub fn check_groups<'g, G: AsRef<[u8]>>(&self, groups: &'g [G]) -> Result<Vec<&str>, &'g [u8]> {
        let all = Wildmat::parse(self.hierarchies.as_bytes());
        let mut names = groups.iter().map(AsRef::as_ref);
        if let Some(foreign) = names.find(|group| !all.matches(group)) {
            return Err(foreign);
        }
        let parts = self.hierarchies.split(',').filter(|part| {
            let part = Wildmat::parse(part.as_bytes());
            groups.iter().any(|group| part.matches(group.as_ref()))
        });
        Ok(parts.collect())
    }

    fn file_name(&self) -> String {
        format!("{}.{EXTENSION}", self.key().fingerprint())
    }

    fn text(&self) -> String {
        format!(
            "{HIERARCHIES}{}\n{ALLOW}{}\n\n{}",
            self.hierarchies,
            self.allowed.names().join(","),
            armor::encode("PUBLIC KEY BLOCK", &self.certificate.packets)
        )
    }

    fn parse(text: &[u8]) -> Result<TrustedKey, String> {
        let mut lines = text.split(|&byte| byte == b'\n');
        let mut line = |what: &str| {
            let line = lines.next().and_then(|line| str::from_utf8(line).ok());
            line.and_then(|line| line.strip_prefix(what))
                .map(str::to_owned)
                .ok_or_else(|| format!("it does not begin with `{HIERARCHIES}' and `{ALLOW}'"))
        };
        let hierarchies = line(HIERARCHIES)?;
        let allowed = Allowed::parse(&line(ALLOW)?)
            .map_err(|word| format!("`{word}' is not a hash that can be allowed"))?;
        let mut found = Certificate::read_all(text).map_err(|error| error.to_string())?;
        let certificate = match (found.pop(), found.is_empty()) {
            (Some(read), true) => read.map_err(|error| error.to_string())?,
            _ => return Err("it has more than one key".to_owned()),
        };
        Ok(TrustedKey {
            certificate,
            hierarchies,
            allowed,
        })
    }
}

/// The keys of a news directory.
#[derive(Debug, Default)]
pub struct Keyring {
    /// The keys, by fingerprint.
    pub keys: Vec<TrustedKey>,
}

impl Keyring {
    /// Reads `keys/` of a news directory; a missing directory has no keys.
    ///
    /// # Errors
    /// A file cannot be read or parsed: no trusted key is ignored silently.
    pub fn read(news: &Path) -> Result<Keyring, Error> {
        let directory = news.join(DIRECTORY);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Keyring::default()),
            Err(error) => return Err(io_error("read", &directory)(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error("read", &directory))?.path();
            if path.extension().is_some_and(|end| end == EXTENSION) {
                paths.push(path);
            }
            if paths.len() > KEYS_MAX {
                return Err(Error::TooMany { path: directory });
            }
        }
        paths.sort();
        let keys = paths.iter().map(|path| read_key(path));
        Ok(Keyring {
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    /// All keys that match KEY.
    pub fn matching(&self, key: &str) -> Vec<&TrustedKey> {
        let keys = self.keys.iter();
        keys.filter(|trusted| trusted.matches(key)).collect()
    }

    /// Writes a key atomically and durably; it replaces the same key with other permissions.
    ///
    /// # Errors
    /// The directory or file cannot be written.
    pub fn keep(news: &Path, key: &TrustedKey) -> Result<(), Error> {
        let directory = news.join(DIRECTORY);
        store::make_directories(&directory, 0o700).map_err(io_error("create", &directory))?;
        let path = directory.join(key.file_name());
        let text = key.text();
        store::replace_private(&RealDisk, &path, |file| file.write_at(text.as_bytes(), 0))?;
        Ok(())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(news: &Path, key: &TrustedKey) -> Result<(), Error> {
        let directory = news.join(DIRECTORY);
        let path = directory.join(key.file_name());
        fs::remove_file(&path).map_err(io_error("remove", &path))?;
        store::sync_directory(&directory).map_err(io_error("sync", &directory))
    }
}

fn read_key(path: &Path) -> Result<TrustedKey, Error> {
    let mut text = Vec::new();
    store::regular::open(path)
        .and_then(|file| {
            file.take(armor::FILE_BYTES_MAX as u64 + 1)
                .read_to_end(&mut text)
        })
        .map_err(io_error("read", path))?;
    TrustedKey::parse(&text).map_err(|why| Error::Damaged {
        path: path.to_owned(),
        why,
    })
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
