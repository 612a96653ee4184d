//! The settings by which a node of a cluster decides, in copies of their own: `cluster.settings/HASH/`. An administrator edits the files of
//! the news directory; the copy stays in force until an entry of the log puts others into force.
//!
//! *Invariant:* the place of the node in the log has the hash of the settings in force, and the copy of this name is on the disk before the
//! place. So a kill or a power cut leaves the old settings or the new ones, and never a mixture.
//!
//! docs/formats/cluster.md has the states.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use relay::control::policy::{POLICY_FILES, Policy};
use relay::keyring::{self, Keyring};
use store::disk::{Access, RealDisk};

use crate::cluster::hash_of_parts;
use crate::directory::Error;
use crate::{FILE, NewsDirectory, Read, Settings, deciding_text};

/// The directory of the copies.
pub const DIRECTORY: &str = "cluster.settings";
/// Names the copy that is to be written into the news directory, and the one before it.
const PENDING: &str = "pending";
/// The end of the name of a file of the administrator that was not in force, and was replaced.
pub const REPLACED: &str = "replaced";
/// The mode of a file of the administrator that an entry makes here.
const NEW_FILE_MODE: u32 = 0o640;

/// The reason why settings cannot be put into force.
#[derive(Debug, thiserror::Error)]
pub enum InForceError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A text of settings cannot be taken apart or put together.
    #[error("{}: {what}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// The settings have errors.
    #[error(transparent)]
    Settings(#[from] Error),
    /// The rules for control messages have an error.
    #[error(transparent)]
    Policy(#[from] relay::control::policy::PolicyError),
    /// A key cannot be used.
    #[error(transparent)]
    Keys(#[from] keyring::Error),
    /// A file cannot be replaced.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A name is none of the files by which nodes decide.
    #[error("`{0}' is no file by which nodes decide")]
    Name(String),
    /// Other settings than the expected ones.
    #[error(
        "these settings have the hash {found:016x} here, and {expected:016x} elsewhere: seen.hashes or the builds of the nodes differ"
    )]
    Hash {
        /// The hash here.
        found: u64,
        /// The expected one.
        expected: u64,
    },
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> InForceError {
    move |source| InForceError::Io {
        path: path.to_owned(),
        source,
    }
}

/// The files by which nodes decide, by their names: the deciding part of broadsheet.toml, sys, blocks, those of the policy for control messages, the
/// trusted keys. A file that is not there is missing. `seen.hashes` is not among them: it may be large, and does not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecidingFiles(BTreeMap<String, Vec<u8>>);

impl DecidingFiles {
    /// Those of a news directory, or of a copy.
    ///
    /// # Errors
    /// A file cannot be read, or the text of the settings cannot be taken apart.
    pub fn of(directory: &NewsDirectory) -> Result<DecidingFiles, InForceError> {
        let mut files = BTreeMap::new();
        let names = [groups::sys::FILE, relay::blocks::FILE];
        let mut names: Vec<String> = names.map(str::to_owned).to_vec();
        names.extend(POLICY_FILES.map(str::to_owned));
        names.extend(key_files(directory)?);
        for name in names {
            let path = directory.file(&name);
            match store::regular::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                read => {
                    files.insert(name, read.map_err(io_error(&path))?);
                }
            }
        }
        let path = directory.file(FILE);
        let text = store::regular::read_to_string(&path).map_err(io_error(&path))?;
        let part = deciding_text::deciding(&text);
        let part = part.map_err(|what| InForceError::Text { path, what })?;
        files.insert(FILE.to_owned(), part.into_bytes());
        Ok(DecidingFiles(files))
    }

    /// Those with these names and contents.
    ///
    /// # Errors
    /// A name is none of such a file.
    pub fn from_parts<'a>(
        parts: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<DecidingFiles, InForceError> {
        let mut files = BTreeMap::new();
        for (name, content) in parts {
            if !is_name(name) {
                return Err(InForceError::Name(name.to_owned()));
            }
            files.insert(name.to_owned(), content.to_owned());
        }
        Ok(DecidingFiles(files))
    }

    /// Their names and contents.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> + Clone {
        let files = self.0.iter();
        files.map(|(name, content)| (name.as_str(), content.as_slice()))
    }

    /// The content of a file.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }
}

/// Whether a file by which nodes decide may have this name.
fn is_name(name: &str) -> bool {
    let is_key = || {
        let stem = name
            .strip_prefix(keyring::DIRECTORY)
            .and_then(|name| name.strip_prefix('/'))
            .and_then(|name| name.strip_suffix(keyring::EXTENSION))
            .and_then(|name| name.strip_suffix('.'));
        stem.is_some_and(|stem| {
            !stem.is_empty()
                && stem.len() <= 200
                && stem.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    let names = [FILE, groups::sys::FILE, relay::blocks::FILE];
    names.contains(&name) || POLICY_FILES.contains(&name) || is_key()
}

/// The files of trusted keys of a directory.
fn key_files(directory: &NewsDirectory) -> Result<Vec<String>, InForceError> {
    let keys = directory.file(keyring::DIRECTORY);
    let entries = match fs::read_dir(&keys) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(io_error(&keys))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io_error(&keys))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name)
            .extension()
            .is_some_and(|end| end == keyring::EXTENSION)
        {
            names.push(format!("{}/{name}", keyring::DIRECTORY));
        }
    }
    Ok(names)
}

/// The copy of the settings with this hash, if it is here.
pub fn copy_of(directory: &NewsDirectory, rules: u64) -> Option<NewsDirectory> {
    let path = directory.file(DIRECTORY).join(format!("{rules:016x}"));
    path.is_dir().then(|| NewsDirectory::at(path))
}

/// The settings of a node, with those of a copy in the place of the deciding ones.
///
/// # Errors
/// broadsheet.toml cannot be read, or does not go together with the copy.
pub fn settings_with(
    directory: &NewsDirectory,
    copy: &NewsDirectory,
) -> Result<Settings, InForceError> {
    let text = text_with(directory, copy)?;
    let path = directory.file(FILE);
    let mut read = Read::parse(&path, text.into_bytes()).map_err(Error::from)?;
    read.settings.blocks = copy.blocks()?.into();
    Ok(read.settings)
}

fn text_with(directory: &NewsDirectory, copy: &NewsDirectory) -> Result<String, InForceError> {
    let read = |directory: &NewsDirectory| {
        let path = directory.file(FILE);
        store::regular::read_to_string(&path).map_err(io_error(&path))
    };
    deciding_text::merged(&read(directory)?, &read(copy)?).map_err(|what| InForceError::Text {
        path: directory.file(FILE),
        what,
    })
}

/// Whether these files are settings that this node could go by, with this hash.
///
/// # Errors
/// The reason why not.
pub fn check(
    directory: &NewsDirectory,
    files: &DecidingFiles,
    rules: u64,
) -> Result<(), InForceError> {
    let name = format!("check.{}", std::process::id());
    let made = make(directory, files, rules, &name);
    let path = directory.file(DIRECTORY).join(name);
    let removed = remove(&path);
    made.and(removed)
}

/// Makes the copy of settings that an entry puts into force in the place of `before`. It is on the disk afterwards, and in force when the
/// place of the node has its hash.
///
/// # Errors
/// This node cannot go by these settings, or the disk fails. Nothing has changed.
pub fn stage(
    directory: &NewsDirectory,
    files: &DecidingFiles,
    rules: u64,
    before: u64,
) -> Result<(), InForceError> {
    keep(directory, files, rules)?;
    let pending = directory.file(DIRECTORY).join(PENDING);
    let line = format!("{rules:016x} {before:016x}\n");
    Ok(store::replace(&RealDisk, &pending, |file| {
        file.write_at(line.as_bytes(), 0)
    })?)
}

/// Makes the copy of settings that are in force already.
///
/// # Errors
/// The files have another hash, or the disk fails. Nothing has changed.
pub fn keep(
    directory: &NewsDirectory,
    files: &DecidingFiles,
    rules: u64,
) -> Result<(), InForceError> {
    let copies = directory.file(DIRECTORY);
    let name = format!("{rules:016x}");
    let whole = copies.join(&name);
    if !whole.is_dir() {
        let fresh = format!("{name}.new");
        make(directory, files, rules, &fresh)?;
        fs::rename(copies.join(&fresh), &whole).map_err(io_error(&whole))?;
    }
    // Also of a copy that is there: a kill may have come before its syncs.
    sync(&copies)?;
    sync(directory.root())
}

/// Writes the files into a new directory beside the copies, and checks them.
fn make(
    directory: &NewsDirectory,
    files: &DecidingFiles,
    rules: u64,
    name: &str,
) -> Result<(), InForceError> {
    let path = directory.file(DIRECTORY).join(name);
    remove(&path)?;
    let keys = path.join(keyring::DIRECTORY);
    make_directory(&keys, 0o750)?;
    for (name, content) in files.iter() {
        let path = path.join(name);
        fs::File::create(&path)
            .and_then(|mut file| {
                file.write_all(content)?;
                file.sync_all()
            })
            .map_err(io_error(&path))?;
    }
    sync(&keys)?;
    sync(&path)?;
    let copy = NewsDirectory::at(&path);
    let settings = settings_with(directory, &copy)?;
    directory.sys_of(&settings, &copy)?;
    Policy::read(&path)?;
    Keyring::read(&path)?;
    let parts = settings
        .deciding_parts_of_copy(&copy, directory)
        .map_err(io_error(&path))?;
    match hash_of_parts(&parts) {
        found if found == rules => Ok(()),
        found => Err(InForceError::Hash {
            found,
            expected: rules,
        }),
    }
}

/// Completes an interrupted change: writes the settings in force into the news directory if an entry has put them there, and removes other
/// copies. The caller has the lock of the news directory. Returns the files that an administrator had edited and that were replaced.
///
/// # Errors
/// A file cannot be written. The next call tries again; meanwhile the node decides by the copy.
pub fn settle(directory: &NewsDirectory, rules: u64) -> Result<Vec<String>, InForceError> {
    let copies = directory.file(DIRECTORY);
    let pending = copies.join(PENDING);
    let text = match store::regular::read_to_string(&pending) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(io_error(&pending))?,
    };
    let mut hashes = text
        .split_whitespace()
        .map(|word| u64::from_str_radix(word, 16).ok());
    let (new, before) = (hashes.next().flatten(), hashes.next().flatten());
    let mut replaced = Vec::new();
    // Otherwise a power cut took the place back before the entry, which will be told again.
    if new == Some(rules)
        && let Some(copy) = copy_of(directory, rules)
    {
        let before = before.and_then(|before| copy_of(directory, before));
        replaced = install(directory, &copy, before.as_ref())?;
    }
    for entry in fs::read_dir(&copies).map_err(io_error(&copies))? {
        let entry = entry.map_err(io_error(&copies))?;
        let name = entry.file_name();
        if name != *format!("{rules:016x}") && name != PENDING {
            remove(&entry.path())?;
        }
    }
    fs::remove_file(&pending).map_err(io_error(&pending))?;
    sync(&copies)?;
    Ok(replaced)
}

/// Writes the files of a copy into the news directory.
fn install(
    directory: &NewsDirectory,
    copy: &NewsDirectory,
    before: Option<&NewsDirectory>,
) -> Result<Vec<String>, InForceError> {
    let new = DecidingFiles::of(copy)?;
    let here = DecidingFiles::of(directory)?;
    // Without the copy before, every file that is replaced counts as edited.
    let old = before.map(DecidingFiles::of).transpose()?;
    let mut replaced = Vec::new();
    let names: std::collections::BTreeSet<&String> = new.0.keys().chain(here.0.keys()).collect();
    for name in names {
        let (wanted, found) = (new.get(name), here.get(name));
        if is_same(name, wanted, found) {
            continue;
        }
        let path = directory.file(name);
        // It may be a link to a file in another directory.
        let path = path.canonicalize().unwrap_or(path);
        let is_edited = found.is_some()
            && old
                .as_ref()
                .is_none_or(|old| !is_same(name, old.get(name), found));
        if is_edited {
            let content = store::regular::read(&path).map_err(io_error(&path))?;
            let aside = path.with_file_name(format!(
                "{}.{REPLACED}",
                path.file_name().unwrap_or_default().to_string_lossy()
            ));
            write(&aside, &content, &path)?;
            replaced.push(name.clone());
        }
        match wanted {
            Some(_) if name == FILE => {
                write(&path, text_with(directory, copy)?.as_bytes(), &path)?;
            }
            Some(content) => {
                if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
                    // keys/ has secrets, too.
                    make_directory(parent, 0o700)?;
                }
                write(&path, content, &path)?;
            }
            None => {
                fs::remove_file(&path).map_err(io_error(&path))?;
                sync(path.parent().unwrap_or(directory.root()))?;
            }
        }
    }
    Ok(replaced)
}

/// Whether two contents of a file say the same.
fn is_same(name: &str, one: Option<&[u8]>, other: Option<&[u8]>) -> bool {
    let table = |content: &[u8]| str::from_utf8(content).ok()?.parse::<toml::Table>().ok();
    match (one, other) {
        (Some(one), Some(other)) if name == FILE => table(one) == table(other),
        _ => one == other,
    }
}

/// Makes a directory, and those above it, with this mode.
fn make_directory(path: &Path, mode: u32) -> Result<(), InForceError> {
    store::make_directories(path, mode).map_err(io_error(path))
}

/// Replaces a file durably. It gets the mode of the file `like`, and its owner and group if this process may give them; without that file
/// the mode is [`NEW_FILE_MODE`].
fn write(path: &Path, content: &[u8], like: &Path) -> Result<(), InForceError> {
    let before = Access::of(like).map_err(io_error(like))?;
    let access = before.unwrap_or(Access {
        mode: NEW_FILE_MODE,
        owner: None,
    });
    Ok(store::replace_as(&RealDisk, path, access, |file| {
        file.write_at(content, 0)
    })?)
}

fn sync(path: &Path) -> Result<(), InForceError> {
    store::sync_directory(path).map_err(io_error(path))
}

fn remove(path: &Path) -> Result<(), InForceError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            // A file that is none of ours.
            fs::remove_file(path).map_err(io_error(path))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A news directory with these settings, and the hash of them.
    fn node(text: &str) -> (tempfile::TempDir, NewsDirectory) {
        let room = tempfile::tempdir().unwrap();
        let directory = NewsDirectory::at(room.path());
        fs::write(directory.file(FILE), text).unwrap();
        fs::create_dir(directory.file("keys")).unwrap();
        (room, directory)
    }

    fn hash(directory: &NewsDirectory) -> u64 {
        let settings = directory.settings().unwrap().settings;
        hash_of_parts(&settings.deciding_parts(directory).unwrap())
    }

    const OLD: &str = "# ours\nname = \"a.example\"\nlog_format = \"json\"\n\n[limits]\ngroups_per_article_max = 9 # few\n";
    const NEW: &str = "name = \"a.example\"\n[limits]\ngroups_per_article_max = 5\n[[site]]\nname = \"b\"\ngroups = \"comp\"\nvia = \"batchparms\"\n";

    /// A node with the settings OLD in force, and the files of one with NEW.
    fn nodes() -> (tempfile::TempDir, NewsDirectory, u64, DecidingFiles, u64) {
        let (room, directory) = node(OLD);
        let old = hash(&directory);
        keep(&directory, &DecidingFiles::of(&directory).unwrap(), old).unwrap();
        let (_other, there) = node(NEW);
        fs::write(there.file("sys"), "ME:all\n").unwrap();
        fs::write(there.file("control.ctl"), "newgroup:*:*:doit\n").unwrap();
        let files = DecidingFiles::of(&there).unwrap();
        (room, directory, old, files, hash(&there))
    }

    fn names(directory: &NewsDirectory) -> Vec<String> {
        let entries = fs::read_dir(directory.file(DIRECTORY)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn new_settings_are_in_force_with_the_place_of_the_node() {
        let (_room, directory, old, files, new) = nodes();
        stage(&directory, &files, new, old).unwrap();
        assert_eq!(fs::read_to_string(directory.file(FILE)).unwrap(), OLD);
        let copy = copy_of(&directory, new).unwrap();
        let settings = settings_with(&directory, &copy).unwrap();
        assert_eq!(settings.limits.groups_per_article_max, 5);
        assert_eq!(settings.log_format, "json");
        // Killed here, and again while the files are written.
        for _ in 0..2 {
            assert_eq!(settle(&directory, new).unwrap(), [""; 0]);
        }
        assert_eq!(hash(&directory), new);
        let text = fs::read_to_string(directory.file(FILE)).unwrap();
        assert!(
            text.starts_with("# ours\nname") && text.contains("= 5 # few\n"),
            "{text}"
        );
        assert_eq!(
            fs::read_to_string(directory.file("sys")).unwrap(),
            "ME:all\n"
        );
        assert_eq!(names(&directory), [format!("{new:016x}")]);
    }

    #[test]
    fn files_that_were_written_in_part_are_written_again() {
        let (_room, directory, old, files, new) = nodes();
        stage(&directory, &files, new, old).unwrap();
        let pending = fs::read(directory.file(DIRECTORY).join(PENDING)).unwrap();
        let before = copy_of(&directory, old);
        install(
            &directory,
            &copy_of(&directory, new).unwrap(),
            before.as_ref(),
        )
        .unwrap();
        fs::remove_file(directory.file("sys")).unwrap();
        remove(&directory.file(DIRECTORY).join(format!("{old:016x}"))).unwrap();
        assert!(!pending.is_empty());
        // Without the copy before, what is here counts as edited, if it differs.
        assert_eq!(settle(&directory, new).unwrap(), [""; 0]);
        assert_eq!(hash(&directory), new);
    }

    #[test]
    fn an_entry_that_a_power_cut_took_back_leaves_nothing() {
        let (_room, directory, old, files, new) = nodes();
        stage(&directory, &files, new, old).unwrap();
        settle(&directory, old).unwrap();
        assert_eq!(names(&directory), [format!("{old:016x}")]);
        assert_eq!(fs::read_to_string(directory.file(FILE)).unwrap(), OLD);
        // It is told again.
        stage(&directory, &files, new, old).unwrap();
        settle(&directory, new).unwrap();
        assert_eq!(hash(&directory), new);
    }

    #[test]
    fn edits_that_were_not_in_force_are_kept_aside() {
        let (_room, directory, old, files, new) = nodes();
        fs::write(directory.file("sys"), "ME:comp\n").unwrap();
        fs::write(directory.file("controlperm"), "x\n").unwrap();
        let mine = OLD.replace("= 9", "= 7");
        fs::write(directory.file(FILE), &mine).unwrap();
        stage(&directory, &files, new, old).unwrap();
        let replaced = settle(&directory, new).unwrap();
        assert_eq!(replaced, [FILE, "controlperm", "sys"]);
        let aside =
            |name: &str| fs::read_to_string(directory.file(&format!("{name}.{REPLACED}"))).unwrap();
        assert_eq!(aside(FILE), mine);
        assert_eq!(aside("sys"), "ME:comp\n");
        assert!(!directory.file("controlperm").exists());
        assert_eq!(hash(&directory), new);
    }

    #[test]
    fn replaced_files_keep_their_modes() {
        let (_room, directory, old, files, new) = nodes();
        let mode = |name: &str| {
            let facts = fs::metadata(directory.file(name)).unwrap();
            facts.permissions().mode() & 0o777
        };
        let set = |name: &str, mode: u32| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(directory.file(name), mode).unwrap();
        };
        fs::write(directory.file(FILE), OLD.replace("= 9", "= 7")).unwrap();
        set(FILE, 0o600);
        fs::write(directory.file("sys"), "ME:comp\n").unwrap();
        set("sys", 0o664);
        // Remains of a killed run.
        fs::write(directory.file("sys.new"), "ME").unwrap();
        stage(&directory, &files, new, old).unwrap();
        settle(&directory, new).unwrap();
        assert_eq!(hash(&directory), new);
        for (name, expected) in [
            (FILE, 0o600),
            ("broadsheet.toml.replaced", 0o600),
            ("sys", 0o664),
            ("sys.replaced", 0o664),
        ] {
            assert_eq!(mode(name), expected, "{name}");
        }
        // What the umask allows of it.
        assert_eq!(mode("control.ctl") & !NEW_FILE_MODE, 0);
        assert_eq!(mode(DIRECTORY) & !0o750, 0);
        assert!(!directory.file("sys.new").exists());
    }

    #[test]
    fn settings_that_do_not_fit_here_change_nothing() {
        let (_room, directory, old, files, new) = nodes();
        let before = names(&directory);
        let told = stage(&directory, &files, new + 1, old).unwrap_err();
        assert!(matches!(told, InForceError::Hash { .. }), "{told}");
        for (name, content, part) in [
            ("control.ctl", "x\n", "control.ctl line 1"),
            ("sys", "ME:all\nx:comp:Z\n", "sys line 2"),
            (FILE, "name = \"a\"\n[limits]\nx = 1\n", "unknown"),
            ("keys/AB.asc", "x\n", "not a key file"),
        ] {
            let mut files = files.clone();
            files
                .0
                .insert(name.to_owned(), content.as_bytes().to_owned());
            let told = check(&directory, &files, new).unwrap_err().to_string();
            assert!(told.contains(part), "{name}: {told}");
        }
        let remains: Vec<String> = names(&directory);
        let is_copy = |name: &&String| !name.ends_with(".new");
        assert_eq!(
            remains.iter().filter(is_copy).collect::<Vec<_>>(),
            before.iter().collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_ids_that_another_system_had_seen_are_those_of_the_news_directory() {
        let (_room, directory) = node(OLD);
        let old = hash(&directory);
        keep(&directory, &DecidingFiles::of(&directory).unwrap(), old).unwrap();
        let copy = copy_of(&directory, old).unwrap();
        assert!(!copy.file("seen.hashes").is_symlink());
        let of_copy = || {
            let settings = settings_with(&directory, &copy).unwrap();
            let parts = settings.deciding_parts_of_copy(&copy, &directory);
            hash_of_parts(&parts.unwrap())
        };
        assert_eq!(of_copy(), old);
        fs::write(directory.file("seen.hashes"), "x").unwrap();
        assert_ne!(of_copy(), old);
        assert_eq!(of_copy(), hash(&directory));
    }

    #[test]
    fn no_other_file_can_be_written() {
        for name in [
            "../x",
            "keys/cluster.login",
            "keys/../x.asc",
            "keys/.asc",
            "keys/a/b.asc",
            "users",
            "keys",
            "",
            "seen.hashes",
            "/etc/x.asc",
        ] {
            let parts = [(name, &b""[..])].into_iter();
            assert!(DecidingFiles::from_parts(parts).is_err(), "{name}");
        }
        for name in [
            FILE,
            "sys",
            "control.ctl",
            "control.ctl.local",
            "controlperm",
            "blocks",
            "keys/0AF.asc",
        ] {
            let parts = [(name, &b""[..])].into_iter();
            assert!(DecidingFiles::from_parts(parts).is_ok(), "{name}");
        }
    }
}
