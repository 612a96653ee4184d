//! The identities of posters: the private file `posts.log`, a line a post, and the token in Injection-Info that leads to it.
//!
//! A token is a keyed hash of login and address: the posts of one person have one token, until the key changes. The key changes when the
//! file is renamed to `posts.log.old`, after half of the time for which lines are kept; then the old file before is gone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use relay::cancel_lock::{Holder, Secret};

/// The file.
pub const POSTS: &str = "posts.log";
/// The file before.
pub const OLD: &str = "posts.log.old";
/// The key of the tokens: the time when it was made, seconds since 1970, and random bytes in hexadecimal digits.
pub const KEY: &str = "keys/posts.key";
/// Length of a token, letters and digits.
const TOKEN_CHARACTERS: usize = 16;
/// Random bytes of a key.
const KEY_BYTES: usize = 32;
/// Longest field of a line, bytes. A longer one is truncated.
pub const FIELD_BYTES_MAX: usize = 500;

/// One post, as its line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostLine<'a> {
    /// The time, seconds since 1970.
    pub seconds: i64,
    /// The token in Injection-Info.
    pub token: &'a str,
    /// The message-id.
    pub id: &'a str,
    /// The login, or the account of this machine; empty without one.
    pub account: &'a str,
    /// The address; empty for this machine.
    pub host: &'a str,
    /// It came over TLS.
    pub is_secure: bool,
}

impl<'a> PostLine<'a> {
    /// Parses a line without its newline.
    pub fn parse(line: &'a str) -> Option<PostLine<'a>> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        Some(PostLine {
            seconds: next()?.parse().ok()?,
            token: next()?,
            id: next()?,
            account: next()?,
            host: next()?,
            is_secure: next()? == "tls",
        })
    }

    fn text(&self) -> String {
        let clean = |text: &str| -> String {
            let clean = text.chars().map(|c| if c.is_control() { '?' } else { c });
            let mut kept = String::new();
            for c in clean {
                if kept.len() + c.len_utf8() > FIELD_BYTES_MAX {
                    break;
                }
                kept.push(c);
            }
            kept
        };
        let tls = if self.is_secure { "tls" } else { "plain" };
        format!(
            "{}\t{}\t{}\t{}\t{}\t{tls}\n",
            self.seconds,
            clean(self.token),
            clean(self.id),
            clean(self.account),
            clean(self.host)
        )
    }
}

/// The token of a poster now. Makes the key at the first use, and renews it with the file when it is old: `keep_seconds` is the time for
/// which lines are kept.
///
/// # Errors
/// The key cannot be read or written.
pub fn token(
    dir: &Path,
    (account, host): (&[u8], &[u8]),
    now: i64,
    keep_seconds: i64,
) -> io::Result<String> {
    rotate(dir, now, keep_seconds)?;
    let key = match read_key(dir)? {
        Some((_, key)) => key,
        None => make_key(dir, now)?,
    };
    let who = [account, b"\0", host].concat();
    let hash = Secret::new(key.as_bytes()).key(Holder::User(&who), b"");
    let hash = hash.unwrap_or_default();
    let hash = hash.split_once(':').map_or("", |(_, hash)| hash);
    // Letters and digits alone: a token that begins with a hyphen would look like a flag.
    let plain = hash.chars().filter(char::is_ascii_alphanumeric);
    Ok(plain.take(TOKEN_CHARACTERS).collect())
}

/// Appends a line, durably: before the post is filed.
///
/// # Errors
/// The file cannot be written.
pub fn append(dir: &Path, line: &PostLine<'_>) -> io::Result<()> {
    let path = dir.join(POSTS);
    let is_new = !path.exists();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(line.text().as_bytes())?;
    file.sync_data()?;
    match is_new {
        true => File::open(dir)?.sync_all(),
        false => Ok(()),
    }
}

/// Renames the file and removes the key when they are older than half of the time for which lines are kept, and removes the old file when
/// all its lines are older than that time.
///
/// # Errors
/// A file cannot be renamed or removed.
pub fn rotate(dir: &Path, now: i64, keep_seconds: i64) -> io::Result<()> {
    let Some((made, _)) = read_key(dir)? else {
        return Ok(());
    };
    let half = keep_seconds / 2;
    let is_old = now.saturating_sub(made) > half || made > now.saturating_add(86_400);
    if !is_old {
        return Ok(());
    }
    // After a kill in between, the file is renamed once more: lines go earlier, never later.
    match fs::rename(dir.join(POSTS), dir.join(OLD)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove(&dir.join(OLD))?,
        done => done?,
    }
    remove(&dir.join(KEY))?;
    make_key(dir, now)?;
    File::open(dir)?.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Calls `each` for every line of both files, the oldest first.
///
/// # Errors
/// A file cannot be read.
pub fn each_line(dir: &Path, mut each: impl FnMut(&PostLine<'_>)) -> io::Result<()> {
    for name in [OLD, POSTS] {
        let text = match fs::read(dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        let text = String::from_utf8_lossy(&text);
        text.lines()
            .filter_map(PostLine::parse)
            .for_each(|line| each(&line));
    }
    Ok(())
}

fn read_key(dir: &Path) -> io::Result<Option<(i64, String)>> {
    let text = match fs::read(dir.join(KEY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let text = String::from_utf8_lossy(&text);
    let (made, key) = text.trim_end().split_once(' ').unwrap_or_default();
    // A damaged one is replaced.
    Ok(made.parse().ok().map(|made| (made, key.to_owned())))
}

fn make_key(dir: &Path, now: i64) -> io::Result<String> {
    let path = dir.join(KEY);
    let keys = path.parent().unwrap_or(dir);
    if !keys.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(keys)?;
        File::open(dir)?.sync_all()?;
    }
    let mut random = [0; KEY_BYTES];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let fresh = dir.join(format!("{KEY}.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(format!("{now} {key}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, &path)?;
    File::open(keys)?.sync_all()?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    #[test]
    fn one_poster_has_one_token_until_the_key_changes() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        let of = |account: &str, now| {
            token(dir, (account.as_bytes(), b"192.0.2.1"), now, 30 * DAY).unwrap()
        };
        let anna = of("anna", 1_000);
        for number in 0..1_000 {
            let token = of(&format!("user{number}"), 1_000);
            assert_eq!(token.len(), TOKEN_CHARACTERS);
            assert!(
                token.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{token}"
            );
        }
        assert_eq!(of("anna", 1_000 + 14 * DAY), anna);
        assert_ne!(of("berta", 1_000), anna);
        let line = PostLine {
            seconds: 1_000,
            token: &anna,
            id: "<1@example.com>",
            account: "anna\tx",
            host: "192.0.2.1",
            is_secure: true,
        };
        append(dir, &line).unwrap();
        let later = of("anna", 1_000 + 16 * DAY);
        assert_ne!(later, anna);
        let mut found = Vec::new();
        each_line(dir, |line| {
            found.push((line.token.to_owned(), line.account.to_owned()))
        })
        .unwrap();
        assert_eq!(found, [(anna, "anna?x".to_owned())]);
        // Nobody posts any more: the lines go all the same.
        rotate(dir, 1_000 + 32 * DAY, 30 * DAY).unwrap();
        let mut left = 0;
        each_line(dir, |_| left += 1).unwrap();
        assert_eq!(left, 0);
    }
}
