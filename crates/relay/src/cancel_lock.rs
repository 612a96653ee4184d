//! Cancel-Lock and Cancel-Key (RFC 8315): authentication of cancels.
//!
//! An article carries locks, each the hash of a key that only its poster or its injecting site can make. A message with a key that
//! matches one of the locks may cancel or supersede the article.
//!
//! Keys derive from one secret of the site (RFC 8315, 4): `base64(HMAC-SHA-256(secret, user + id))`. The site's own key is that of the
//! empty user name, so a site can withdraw all articles posted through it, and each user their own.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use article::syntax::strip_cfws;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::control::{ControlMessage, ids};
use crate::keyring;

/// The secret's name in the news directory.
pub const SECRET: &str = "keys/cancel.secret";
/// Maximum number of locks or keys of one header; more are ignored.
pub const ELEMENTS_MAX: usize = 32;
/// Longest Cancel-Lock or Cancel-Key header, bytes; longer ones are ignored.
pub const HEADER_BYTES_MAX: usize = store::offload::CANCEL_LOCK_BYTES_MAX;
/// Longest lock or key, bytes; longer ones are ignored.
pub const ELEMENT_BYTES_MAX: usize = 256;

/// Length of a new secret, bytes, as that of the hash.
const SECRET_BYTES: usize = 32;
/// Largest secret file, bytes.
const SECRET_BYTES_MAX: u64 = 4096;

/// Whether a key of a Cancel-Key header matches a lock of a Cancel-Lock header (RFC 8315, 3.5).
///
/// Schemes are `sha256` and, for older articles, `sha1`, in any case; other schemes and invalid elements are ignored. Headers longer
/// than [`HEADER_BYTES_MAX`] are rejected.
pub fn matches(lock_header: &[u8], key_header: &[u8]) -> bool {
    opens(&elements_of(key_header), lock_header)
}

/// As [`opens`], with parsed keys.
pub fn opens(keys: &[Element], lock_header: &[u8]) -> bool {
    let locks = elements_of(lock_header);
    keys.iter().any(|key| locks.contains(&key.lock()))
}

/// A lock or a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    scheme: Scheme,
    /// In base64.
    value: Vec<u8>,
}

impl Element {
    /// The lock of this key.
    fn lock(&self) -> Element {
        Element {
            scheme: self.scheme,
            value: self.scheme.lock_of(&self.value).into_bytes(),
        }
    }
}

impl std::fmt::Display for Element {
    /// The form in a header: `sha256:...`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_bytes()))
    }
}

impl Element {
    /// The form in a header. Its value is base64.
    pub fn to_bytes(&self) -> Vec<u8> {
        let scheme: &[u8] = match self.scheme {
            Scheme::Sha1 => b"sha1:",
            Scheme::Sha256 => b"sha256:",
        };
        [scheme, &self.value].concat()
    }
}

/// Parses the locks or keys of a header, without comments and folds; none if it is longer than [`HEADER_BYTES_MAX`]. Text after a second
/// colon, a hint in older drafts of the standard, is ignored.
pub fn elements_of(header: &[u8]) -> Vec<Element> {
    if header.len() > HEADER_BYTES_MAX {
        return Vec::new();
    }
    let element = |word: &[u8]| {
        let mut parts = word.split(|&byte| byte == b':');
        let scheme = Scheme::of_name(parts.next()?)?;
        let value = parts.next()?;
        let is_base64 = |&byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let is_one = (1..=ELEMENT_BYTES_MAX).contains(&value.len()) && value.iter().all(is_base64);
        is_one.then(|| Element {
            scheme,
            value: value.to_vec(),
        })
    };
    strip_cfws(header)
        .split(|&byte| byte == b' ')
        .take(ELEMENTS_MAX)
        .filter_map(element)
        .collect()
}

/// The scheme that makes a lock from a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Sha1,
    Sha256,
}

impl Scheme {
    fn of_name(name: &[u8]) -> Option<Scheme> {
        if name.eq_ignore_ascii_case(b"sha256") {
            Some(Scheme::Sha256)
        } else if name.eq_ignore_ascii_case(b"sha1") {
            Some(Scheme::Sha1)
        } else {
            None
        }
    }

    /// The hash of the key's text, in base64.
    fn lock_of(self, key: &[u8]) -> String {
        match self {
            Scheme::Sha1 => STANDARD.encode(Sha1::digest(key)),
            Scheme::Sha256 => STANDARD.encode(Sha256::digest(key)),
        }
    }
}

/// The message-id that an article withdraws by its Control or Also-Control, or else its Supersedes, as parsed by [`ControlMessage`]; its
/// Cancel-Key is for this id. `None` for other control messages.
pub fn withdrawn<'a>(control: Option<&'a [u8]>, supersedes: Option<&'a [u8]>) -> Option<&'a [u8]> {
    let value = match control {
        Some(control) => match ControlMessage::parse(control.trim_ascii()) {
            ControlMessage::Cancel(value) => value,
            _ => return None,
        },
        None => supersedes?,
    };
    let mut withdrawn = ids(value);
    let id = withdrawn.next()?;
    (withdrawn.next().is_none() && article::message_id::check(id).is_ok()).then_some(id)
}

/// The owner of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'a> {
    /// The site that injected the article.
    Site,
    /// The user who posted it, by a unique name. Without a name there is no key.
    User(&'a [u8]),
}

/// The secret from which keys derive. It allows to withdraw every article ever posted here.
#[derive(Clone)]
pub struct Secret {
    bytes: Vec<u8>,
    /// The secret of earlier posts, whose keys are still given.
    older: Option<Box<Secret>>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A secret with these bytes.
    pub fn new(bytes: &[u8]) -> Secret {
        Secret {
            bytes: bytes.to_vec(),
            older: None,
        }
    }

    /// This secret, where posts had locks of another one before.
    pub fn in_place_of(self, older: Option<Secret>) -> Secret {
        Secret {
            older: older.map(Box::new),
            ..self
        }
    }

    /// Reads the secret of a news directory, or makes one from the system's random numbers: a file that only its owner can read, durable
    /// before its first use.
    ///
    /// # Errors
    /// The file cannot be made or read, or is empty.
    pub fn of(dir: &Path) -> Result<Secret, keyring::Error> {
        let path = dir.join(SECRET);
        match read(&path)? {
            Some(secret) => Ok(secret),
            None => make(dir, &path),
        }
    }

    /// Reads the secret of a news directory, if there is one.
    ///
    /// # Errors
    /// The file cannot be read, or is empty.
    pub fn if_there(dir: &Path) -> Result<Option<Secret>, keyring::Error> {
        read(&dir.join(SECRET))
    }

    /// The key that withdraws the article `id`, for Cancel-Key: `sha256:...`.
    pub fn key(&self, holder: Holder<'_>, id: &[u8]) -> Option<String> {
        let user = match holder {
            Holder::Site => b"",
            Holder::User(b"") => return None,
            Holder::User(user) => user,
        };
        // HMAC accepts keys of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.bytes).ok()?;
        mac.update(user);
        mac.update(id);
        let key = STANDARD.encode(mac.finalize().into_bytes());
        Some(format!("sha256:{key}"))
    }

    /// The keys that may withdraw the article `id`: that of [`Secret::key`], and that of the older secret.
    pub fn keys(&self, holder: Holder<'_>, id: &[u8]) -> impl Iterator<Item = String> {
        let older = self.older.as_ref().and_then(|older| older.key(holder, id));
        self.key(holder, id).into_iter().chain(older)
    }

    /// The lock of this key, for Cancel-Lock: `sha256:...`.
    pub fn lock(&self, holder: Holder<'_>, id: &[u8]) -> Option<String> {
        let key = self.key(holder, id)?;
        let (_, key) = key.split_once(':')?;
        Some(format!("sha256:{}", Scheme::Sha256.lock_of(key.as_bytes())))
    }
}

fn io_at(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> keyring::Error {
    let path = path.to_owned();
    move |source| keyring::Error::Io {
        doing,
        path: path.clone(),
        source,
    }
}

fn read(path: &Path) -> Result<Option<Secret>, keyring::Error> {
    let file = match store::regular::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_at("open", path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(SECRET_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(io_at("read", path))?;
    let secret = bytes.trim_ascii();
    if secret.is_empty() {
        return Err(keyring::Error::Damaged {
            path: path.to_owned(),
            why: "it is empty".to_owned(),
        });
    }
    Ok(Some(Secret::new(secret)))
}

/// Makes a new secret. Two concurrent programs both use the first one.
fn make(dir: &Path, path: &Path) -> Result<Secret, keyring::Error> {
    let keys = dir.join(keyring::DIRECTORY);
    store::make_directories(&keys, 0o700).map_err(io_at("make", &keys))?;
    let mut random = [0; SECRET_BYTES];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| io_at("make", path)(errno.into()))?;
    let fresh = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| {
            file.write_all(format!("{}\n", STANDARD.encode(random)).as_bytes())?;
            file.sync_all()
        })
        .map_err(io_at("write", &fresh));
    // A link, unlike a rename, never replaces another program's secret.
    let linked = written.and_then(|()| match fs::hard_link(&fresh, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map_err(io_at("put in place", path)),
    });
    let _ = fs::remove_file(&fresh);
    linked?;
    store::sync_directory(&keys).map_err(io_at("sync", &keys))?;
    read(path)?.ok_or_else(|| io_at("open", path)(io::ErrorKind::NotFound.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const ID: &[u8] = b"<12345@mid.example>";

    #[test]
    fn a_key_opens_its_own_lock_only() {
        let secret = Secret::new(b"ExampleSecret");
        let (site, jane) = (Holder::Site, Holder::User(b"jane"));
        let lock = |holder| secret.lock(holder, ID).unwrap();
        let key = |holder| secret.key(holder, ID).unwrap();
        let both = format!("{} {}", lock(site), lock(jane));
        assert!(matches(both.as_bytes(), key(site).as_bytes()));
        assert!(matches(both.as_bytes(), key(jane).as_bytes()));
        assert!(!matches(lock(site).as_bytes(), key(jane).as_bytes()));
        let other = secret.key(site, b"<1@other>").unwrap();
        assert!(!matches(both.as_bytes(), other.as_bytes()));
        assert_eq!(secret.key(Holder::User(b""), ID), None);
    }

    #[test]
    fn schemes_stand_in_any_case_and_unknown_ones_say_nothing() {
        let secret = Secret::new(b"s");
        let key = secret.key(Holder::Site, ID).unwrap();
        let lock = secret.lock(Holder::Site, ID).unwrap();
        let upper = lock.replace("sha256", "SHA256");
        assert!(matches(upper.as_bytes(), key.as_bytes()));
        let folded = format!("(old) md5:xx==\r\n\t sha512:q== {key}:hint (c)");
        assert!(matches(lock.as_bytes(), folded.as_bytes()));
        // The lock itself, or a key under another scheme, opens nothing.
        assert!(!matches(lock.as_bytes(), lock.as_bytes()));
        let renamed = key.replace("sha256", "sha1");
        assert!(!matches(lock.as_bytes(), renamed.as_bytes()));
        assert!(!matches(b"", b""));
        assert!(!matches(b"sha256:", b"sha256:"));
    }

    #[test]
    fn the_secret_is_made_once_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = Secret::of(dir.path()).unwrap();
        let again = Secret::of(dir.path()).unwrap();
        assert_eq!(first.bytes, again.bytes);
        let mode = fs::metadata(dir.path().join(SECRET))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(dir.path().join("keys")).unwrap().count(),
            1,
            "nothing is left over"
        );
        fs::write(dir.path().join(SECRET), "\n").unwrap();
        assert!(Secret::of(dir.path()).is_err());
    }
}
