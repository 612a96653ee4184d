//! The file `users` of the news directory: the users, and their passwords and certificates.
//!
//! A line for each user has four fields separated by a blank: name, argon2id hash of the password, SCRAM verifier (RFC 5803),
//! fingerprints of certificates; `-` for none. See `docs/formats/users.md`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use store::disk::RealDisk;

use crate::error::Error;
use crate::fingerprint::{fingerprint, fingerprint_text};
use crate::password::{Hash, check_length, check_password};
use crate::prepared::prepared;
use crate::random::random;
use crate::sasl::verifier::{Verifier, hmac};

/// The file's name in the news directory.
pub const FILE: &str = "users";
/// Largest file, bytes: some 250,000 users.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// Longest name, bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Maximum number of certificates of a user.
pub const CERTIFICATES_MAX: usize = 16;

/// One user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The hash of the password, if any.
    pub password: Option<Hash>,
    /// The verifier for SCRAM-SHA-256, if allowed.
    pub scram: Option<Verifier>,
    /// Certificates that identify the user (SASL EXTERNAL).
    pub certificates: Vec<[u8; 32]>,
}

impl User {
    /// Makes a user with a password, which may be short, as an older one is. It takes some tens of milliseconds.
    ///
    /// # Errors
    /// The name or password is invalid, or there are no random numbers.
    pub fn with_password(name: &str, password: &[u8], has_scram: bool) -> Result<User, Error> {
        let mut user = User {
            name: new_name(name).map_err(|what| Error::Unfit(format!("`{name}' {what}")))?,
            password: None,
            scram: None,
            certificates: Vec::new(),
        };
        user.store_password(&check_password(password)?, has_scram)?;
        Ok(user)
    }

    /// Changes the password.
    ///
    /// # Errors
    /// The password is invalid or too short, or there are no random numbers.
    pub fn set_password(&mut self, password: &[u8], has_scram: bool) -> Result<(), Error> {
        let password = check_password(password)?;
        check_length(&password)?;
        self.store_password(&password, has_scram)
    }

    fn store_password(&mut self, password: &str, has_scram: bool) -> Result<(), Error> {
        let password = password.as_bytes();
        let scram = if has_scram {
            Some(Verifier::of(password)?)
        } else {
            None
        };
        self.password = Some(Hash::of(password)?);
        self.scram = scram;
        Ok(())
    }

    fn parse(line: &str) -> Result<User, String> {
        let mut fields = line.split(' ');
        let mut field = || fields.next().filter(|field| !field.is_empty());
        let (Some(name), Some(password), Some(scram), Some(certificates), None) =
            (field(), field(), field(), field(), field())
        else {
            return Err("a line has four fields separated by single blanks".to_owned());
        };
        check_name(name).map_err(|what| format!("the name {what}"))?;
        let certificates = match certificates {
            "-" => Vec::new(),
            list => {
                let each = list.split(',').map(fingerprint);
                let read = each.collect::<Result<Vec<_>, _>>();
                read.map_err(|what| format!("a certificate {what}"))?
            }
        };
        if certificates.len() > CERTIFICATES_MAX {
            return Err(format!("it has more than {CERTIFICATES_MAX} certificates"));
        }
        let given = |field| Some(field).filter(|field| *field != "-");
        Ok(User {
            name: name.to_owned(),
            password: given(password)
                .map(Hash::parse)
                .transpose()
                .map_err(|what| format!("the password {what}"))?,
            scram: given(scram)
                .map(Verifier::parse)
                .transpose()
                .map_err(|what| format!("the SCRAM field {what}"))?,
            certificates,
        })
    }

    fn line(&self) -> String {
        let mut line = format!("{} ", self.name);
        let written = match &self.password {
            Some(password) => write!(line, "{password} "),
            None => write!(line, "- "),
        };
        let written = written.and_then(|()| match &self.scram {
            Some(scram) => write!(line, "{scram} "),
            None => write!(line, "- "),
        });
        // Writing to a String cannot fail.
        let _ = written;
        if self.certificates.is_empty() {
            line.push('-')
        } else {
            let each: Vec<String> = self.certificates.iter().map(fingerprint_text).collect();
            line.push_str(&each.join(","));
        }
        line
    }
}

/// Checks a user name: no blanks, colons or control characters (it is written to files and logs), not `*` or `-`, and no `#` in front.
///
/// # Errors
/// The problem, as the rest of a sentence that begins with the name.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || matches!(name, "*" | "-") || name.starts_with('#') {
        return Err("is not a valid user name".to_owned());
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("is longer than {NAME_BYTES_MAX} bytes"));
    }
    let is_unfit = |c: &char| c.is_control() || c.is_whitespace() || *c == ':';
    match name.chars().find(is_unfit) {
        Some(c) => Err(format!("has {c:?}, which is not allowed in a user name")),
        None => Ok(()),
    }
}

/// Checks a new user's name, and prepares it by SASLprep (RFC 4013).
///
/// # Errors
/// As [`check_name`].
pub fn new_name(name: &str) -> Result<String, String> {
    check_name(name)?;
    let name = prepared(name)?.into_owned();
    check_name(&name).map(|()| name)
}

/// All users, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Users {
    lines: Vec<Line>,
    /// The line of each user.
    named: HashMap<String, usize>,
    certified: HashMap<[u8; 32], usize>,
    scram_count: usize,
}

#[derive(Debug, Clone)]
enum Line {
    User(Box<User>),
    /// A comment or an empty line.
    Other(String),
}

impl Users {
    /// Parses a text. `path` is for messages only.
    ///
    /// # Errors
    /// The first invalid line, with its number; a duplicate name or certificate.
    pub fn parse(path: &Path, text: &str) -> Result<Users, Error> {
        let mut users = Users::default();
        for (at, line) in text.lines().enumerate() {
            // Other editors end lines with CRLF.
            let line = line.trim_end_matches('\r');
            let fault = |what| Error::Line {
                path: path.to_owned(),
                line: at + 1,
                what,
            };
            if line.trim().is_empty() || line.starts_with('#') {
                users.lines.push(Line::Other(line.to_owned()));
            } else {
                let user = User::parse(line).map_err(fault)?;
                users.add(user).map_err(|error| fault(error.to_string()))?;
            }
        }
        Ok(users)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            match line {
                Line::User(user) => text.push_str(&user.line()),
                Line::Other(line) => text.push_str(line),
            }
            text.push('\n');
        }
        text
    }

    /// Finds a user by name: as written, or else as prepared by SASLprep.
    pub fn named(&self, name: &str) -> Option<&User> {
        self.at(self.line_of(name)?)
    }

    fn line_of(&self, name: &str) -> Option<usize> {
        let line = self.named.get(name);
        let line = line.or_else(|| self.named.get(&*prepared(name).ok()?));
        line.copied()
    }

    /// Finds a user by certificate.
    pub fn certified(&self, certificate: &[u8; 32]) -> Option<&User> {
        self.at(*self.certified.get(certificate)?)
    }

    /// All users, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &User> {
        self.lines.iter().filter_map(|line| match line {
            Line::User(user) => Some(&**user),
            Line::Other(_) => None,
        })
    }

    /// Whether any user can use SCRAM.
    pub fn has_scram(&self) -> bool {
        self.scram_count > 0
    }

    fn at(&self, line: usize) -> Option<&User> {
        match self.lines.get(line)? {
            Line::User(user) => Some(user),
            Line::Other(_) => None,
        }
    }

    /// Appends a user.
    ///
    /// # Errors
    /// The name or a certificate exists.
    pub fn add(&mut self, user: User) -> Result<(), Error> {
        if self.named.contains_key(&user.name) {
            return Err(Error::Unfit(format!(
                "there is a user `{}' already",
                user.name
            )));
        }
        for certificate in &user.certificates {
            if let Some(other) = self.certified(certificate) {
                let what = format!(
                    "{} is a certificate of `{}' already",
                    fingerprint_text(certificate),
                    other.name
                );
                return Err(Error::Unfit(what));
            }
        }
        let line = self.lines.len();
        self.named.insert(user.name.clone(), line);
        for certificate in &user.certificates {
            self.certified.insert(*certificate, line);
        }
        self.scram_count += usize::from(user.scram.is_some());
        self.lines.push(Line::User(Box::new(user)));
        Ok(())
    }

    /// Replaces the user with the same name.
    ///
    /// # Errors
    /// There is no user with this name, or another user has one of the certificates.
    pub fn change(&mut self, user: User) -> Result<(), Error> {
        let Some(line) = self.named.get(&user.name).copied() else {
            return Err(nobody(&user.name));
        };
        self.anew(|at, old| {
            if at == line {
                Some(Line::User(Box::new(user.clone())))
            } else {
                Some(old)
            }
        })
    }

    /// Removes a user.
    ///
    /// # Errors
    /// There is no user with this name.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        let Some(line) = self.line_of(name) else {
            return Err(nobody(name));
        };
        self.anew(|at, old| (at != line).then_some(old))
    }

    /// Rebuilds the tables from the lines that `each` returns; unchanged after an error.
    fn anew(&mut self, each: impl Fn(usize, Line) -> Option<Line>) -> Result<(), Error> {
        let mut fresh = Users::default();
        for (at, line) in self.lines.iter().cloned().enumerate() {
            match each(at, line) {
                Some(Line::User(user)) => fresh.add(*user)?,
                Some(other) => fresh.lines.push(other),
                None => {}
            }
        }
        *self = fresh;
        Ok(())
    }

    /// Reads the file of a news directory; a missing file has no users.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or has an invalid line.
    pub fn read(news: &Path) -> Result<Users, Error> {
        read(&news.join(FILE)).map(|(_, users)| users)
    }

    /// Replaces the file of a news directory atomically and durably; only its owner can read it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, news: &Path) -> Result<(), Error> {
        let path = news.join(FILE);
        let text = self.text();
        store::replace_private(&RealDisk, &path, |file| file.write_at(text.as_bytes(), 0))?;
        Ok(())
    }
}

fn nobody(name: &str) -> Error {
    Error::Unfit(format!("the user `{name}' does not exist"))
}

fn at(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// Identifies a version of the file: modification time, length, inode.
type Identity = (i64, i64, u64, u64);

fn identity(data: &std::fs::Metadata) -> Identity {
    (data.mtime(), data.mtime_nsec(), data.len(), data.ino())
}

fn read(path: &Path) -> Result<(Option<Identity>, Users), Error> {
    let file = match store::regular::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((None, Users::default()));
        }
        Err(error) => return Err(at("read", path)(error)),
    };
    let data = file.metadata().map_err(at("read", path))?;
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(at("read", path))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Error::TooLarge {
            path: path.to_owned(),
        });
    }
    let text = String::from_utf8(text).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let lines = good
            .unwrap_or_default()
            .iter()
            .filter(|byte| **byte == b'\n');
        Error::Line {
            path: path.to_owned(),
            line: lines.count() + 1,
            what: "it is not UTF-8".to_owned(),
        }
    })?;
    Ok((Some(identity(&data)), Users::parse(path, &text)?))
}

type Job = Box<dyn FnOnce() + Send>;
type Helper = Box<dyn Fn(Job)>;

thread_local! {
    static HELPER: RefCell<Option<Helper>> = const { RefCell::new(None) };
}

/// From now on, `helper` runs the jobs that read the file of users for the calling thread, which may not read it.
pub fn read_by(helper: impl Fn(Job) + 'static) {
    HELPER.set(Some(Box::new(helper)));
}

/// Reads the file in the helper of this thread, or here if it has none.
fn read_in_helper(path: &Path) -> Result<(Option<Identity>, Users), Error> {
    let (result, wait) = channel();
    let is_asked = HELPER.with_borrow(|helper| {
        let Some(helper) = helper else {
            return false;
        };
        let path = path.to_owned();
        helper(Box::new(move || {
            // This thread waits for it.
            let _ = result.send(read(&path));
        }));
        true
    });
    if !is_asked {
        return read(path);
    }
    let gone = |_| at("read", path)(io::Error::other("the thread that reads it has ended"));
    wait.recv().map_err(gone)?
}

/// The current users: the file is read again after a change, so that `user add` needs no reload.
#[derive(Debug, Clone)]
pub struct UsersFile {
    path: Option<PathBuf>,
    read: Arc<Mutex<Option<LoadedUsers>>>,
    /// See [`UsersFile::secret`].
    secret: Arc<OnceLock<[u8; 32]>>,
}

/// The users of one version of the file, or of a missing file.
#[derive(Debug)]
struct LoadedUsers {
    identity: Option<Identity>,
    users: Arc<Users>,
}

impl UsersFile {
    /// The file of a news directory, which need not exist.
    pub fn of(news: &Path) -> UsersFile {
        UsersFile {
            path: Some(news.join(FILE)),
            read: Arc::default(),
            secret: Arc::default(),
        }
    }

    /// No users.
    pub fn none() -> UsersFile {
        UsersFile {
            path: None,
            read: Arc::default(),
            secret: Arc::default(),
        }
    }

    /// The current users. Costs one stat(2) if the file has not changed.
    ///
    /// # Errors
    /// The changed file cannot be read: nobody can log in until it is repaired.
    pub fn now(&self) -> Result<Arc<Users>, Error> {
        let Some(path) = &self.path else {
            return Ok(Arc::default());
        };
        let seen = match std::fs::metadata(path) {
            Ok(data) => Some(identity(&data)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(at("read", path)(error)),
        };
        let mut held = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = held.as_ref().filter(|last| last.identity == seen) {
            return Ok(Arc::clone(&last.users));
        }
        let (identity, users) = read_in_helper(path)?;
        let users = Arc::new(users);
        *held = Some(LoadedUsers {
            identity,
            users: Arc::clone(&users),
        });
        Ok(users)
    }

    /// The secret that makes the salts of unknown users. It comes from the key of the news directory, so that these salts, like those of
    /// known users, stay the same when the daemon starts again; without a key it lasts as long as `self`.
    pub(crate) fn secret(&self) -> io::Result<[u8; 32]> {
        if let Some(secret) = self.secret.get() {
            return Ok(*secret);
        }
        let news = self.path.as_deref().and_then(Path::parent);
        let key = news.and_then(|news| store::hash_key::read(&RealDisk, news).ok().flatten());
        let secret = match key {
            Some(key) => hmac(key.bytes(), &[b"salts of unknown users"]),
            None => random()?,
        };
        Ok(*self.secret.get_or_init(|| secret))
    }

    /// Whether any user can use SCRAM.
    pub(crate) fn has_scram(&self) -> bool {
        self.now().is_ok_and(|users| users.has_scram())
    }
}
