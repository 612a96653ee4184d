//! The identities of posters: the private file `posts.log`, a line a post, and the token in Injection-Info that leads to it.
//!
//! A token is a keyed hash of login and address: the posts of one person have one token, until the key changes. The key changes with each
//! period, which is half of the time for which lines are kept. `posts.log` has the lines of this period, `posts.log.old` those of the one
//! before. The first post or expire of the next period does this:
//!
//! | step | on the disk |
//! |---|---|
//! | 1 | `posts.log` is removed if a whole period has passed since; then, or if nothing was posted, `posts.log.old` is removed |
//! | 2 | `keys/posts.key.next` has the next key: what follows is finished by the next run, if this one is killed |
//! | 3 | `posts.log`, if there is one, is renamed to `posts.log.old` |
//! | 4 | `keys/posts.key.next` is renamed to `keys/posts.key` |
//!
//! *Guarantee:* each line is kept for half of the time at least; the first post or expire after all of it removes the line. All of this
//! happens under a lock on the directory `keys`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use relay::cancel_lock::{Holder, Secret};

/// The file.
pub const POSTS: &str = "posts.log";
/// The file before.
pub const OLD: &str = "posts.log.old";
/// Directory of the keys.
const KEYS: &str = "keys";
/// The key of the tokens: the time when its period began, seconds since 1970, and random bytes in hexadecimal digits.
pub const KEY: &str = "keys/posts.key";
/// The key that comes into force when `posts.log` is renamed.
const NEXT_KEY: &str = "keys/posts.key.next";
/// Length of a token, letters and digits.
const TOKEN_CHARACTERS: usize = 16;
/// Random bytes of a key.
const KEY_BYTES: usize = 32;
/// Longest field of a line, bytes. A longer one is truncated.
pub const FIELD_BYTES_MAX: usize = 500;

/// Longest `posts.log` to which a refused post is added, bytes: strangers must not fill the disk with them.
pub const REFUSED_LOG_BYTES_MAX: u64 = 64 << 20;

/// The last field of the line of a refused post.
const REFUSED: &str = "refused";

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
    /// The post was refused: an article with its id is another one.
    pub is_refused: bool,
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
            is_refused: next() == Some(REFUSED),
        })
    }

    fn text(&self) -> String {
        let clean = |text: &str| -> String {
            let plain = |c: char| {
                if groups::is_terminal_control(c) {
                    '?'
                } else {
                    c
                }
            };
            let clean = text.chars().map(plain);
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
        let refused = if self.is_refused {
            format!("\t{REFUSED}")
        } else {
            String::new()
        };
        format!(
            "{}\t{}\t{}\t{}\t{}\t{tls}{refused}\n",
            self.seconds,
            clean(self.token),
            clean(self.id),
            clean(self.account),
            clean(self.host)
        )
    }
}

/// A poster, as `posts.log` names him.
#[derive(Debug, Clone, Copy)]
pub struct LoggedPoster<'a> {
    /// As in [`PostLine`].
    pub account: &'a str,
    /// As in [`PostLine`].
    pub host: &'a str,
    /// As in [`PostLine`].
    pub is_secure: bool,
}

/// The entry of one post: first its token, for the article; then, before the article is filed, its line.
pub struct PostEntry<'a> {
    dir: &'a Path,
    poster: LoggedPoster<'a>,
    seconds: i64,
    /// `None`: posts are not logged.
    token: Option<String>,
    is_written: bool,
}

impl<'a> PostEntry<'a> {
    /// Makes the token of the poster now. `keep_seconds` is the time for which lines are kept; with 0 there is neither token nor line.
    ///
    /// # Errors
    /// The key cannot be read or written.
    pub fn begin(
        dir: &'a Path,
        keep_seconds: i64,
        poster: LoggedPoster<'a>,
        seconds: i64,
    ) -> io::Result<PostEntry<'a>> {
        let token = || {
            let _lock = lock(dir)?;
            Ok(token(&current_key(dir, seconds, keep_seconds)?, &poster))
        };
        Ok(PostEntry {
            dir,
            poster,
            seconds,
            token: match keep_seconds {
                0 => None,
                _ => Some(token().map_err(named("use", KEY))?),
            },
            is_written: false,
        })
    }

    /// The token, empty where posts are not logged.
    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    /// Writes the line, once and durably: to be called before the post is filed. If the history `has_id` already, the article with this id
    /// is somebody else's, and no line names this poster.
    ///
    /// # Errors
    /// The file cannot be written; then it is as before.
    pub fn write(&mut self, id: &[u8], has_id: bool) -> io::Result<()> {
        let Some(token) = self
            .token
            .as_deref()
            .filter(|_| !has_id && !self.is_written)
        else {
            return Ok(());
        };
        self.append(token, id, false)?;
        self.is_written = true;
        Ok(())
    }

    /// Writes the line of a post that was refused, without a sync, unless `posts.log` is longer than [`REFUSED_LOG_BYTES_MAX`]. Its loss costs only
    /// the look-up of its poster.
    pub fn write_refused(&self, id: &[u8]) {
        if let Some(token) = self.token.as_deref() {
            let _ = self.append(token, id, true);
        }
    }

    fn append(&self, token: &str, id: &[u8], is_refused: bool) -> io::Result<()> {
        let line = PostLine {
            seconds: self.seconds,
            token,
            id: &String::from_utf8_lossy(id),
            account: self.poster.account,
            host: self.poster.host,
            is_secure: self.poster.is_secure,
            is_refused,
        };
        append(self.dir, &line).map_err(named("write", POSTS))
    }
}

fn named(doing: &'static str, file: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot {doing} {file}: {error}"))
}

fn append(dir: &Path, line: &PostLine<'_>) -> io::Result<()> {
    let _lock = lock(dir)?;
    let path = dir.join(POSTS);
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    let options = options.append(true).create(true).mode(0o600);
    let mut file = store::regular::open_with(&path, options)?;
    let before = file.metadata()?.len();
    if line.is_refused && before > REFUSED_LOG_BYTES_MAX {
        return Ok(());
    }
    let written = file.write_all(line.text().as_bytes()).and_then(|()| {
        if line.is_refused {
            Ok(())
        } else {
            file.sync_data()
        }
    });
    if written.is_err() {
        // The next line must not become the end of a part of this one.
        let _ = file.set_len(before);
    }
    written?;
    if is_new {
        File::open(dir)?.sync_all()
    } else {
        Ok(())
    }
}

/// Begins a new period if it is time; with 0 as the time for which lines are kept, removes all.
///
/// # Errors
/// A file cannot be written, renamed or removed.
pub fn rotate(dir: &Path, now: i64, keep_seconds: i64) -> io::Result<()> {
    let files = [POSTS, OLD, KEY, NEXT_KEY].map(|name| dir.join(name));
    if !files.iter().any(|path| path.exists()) {
        return Ok(());
    }
    let _lock = lock(dir)?;
    if keep_seconds > 0 {
        return current_key(dir, now, keep_seconds).map(drop);
    }
    files.iter().try_for_each(|path| remove(path))?;
    File::open(dir)?.sync_all()
}

/// Returns the key in force. Begins a new period if there is none, or the last one is over.
fn current_key(dir: &Path, now: i64, keep_seconds: i64) -> io::Result<String> {
    if read_key(dir, NEXT_KEY)?.is_some() {
        begin_period(dir)?;
    }
    let period = (keep_seconds / 2).max(1);
    let known = read_key(dir, KEY)?;
    let age = known.as_ref().map(|(began, _)| now.saturating_sub(*began));
    let began = match (age, known) {
        (Some(-86_400..), Some((_, key))) if age <= Some(period) => return Ok(key),
        (Some(0..), Some((began, _))) => began + (now - began) / period * period,
        // There is no key, or the clock was wrong.
        _ => now,
    };
    if age >= Some(2 * period) {
        remove(&dir.join(POSTS))?;
    }
    if !dir.join(POSTS).exists() {
        remove(&dir.join(OLD))?;
    }
    let key = make_next_key(dir, began)?;
    begin_period(dir)?;
    Ok(key)
}

/// The last two steps of a new period. `posts.log` has no line of it yet.
fn begin_period(dir: &Path) -> io::Result<()> {
    match fs::rename(dir.join(POSTS), dir.join(OLD)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => done?,
    }
    File::open(dir)?.sync_all()?;
    fs::rename(dir.join(NEXT_KEY), dir.join(KEY))?;
    File::open(dir.join(KEYS))?.sync_all()
}

/// Locks the files against other programs, until the result is dropped. Makes the directory of the keys.
fn lock(dir: &Path) -> io::Result<File> {
    let keys = dir.join(KEYS);
    if !keys.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&keys)?;
        File::open(dir)?.sync_all()?;
    }
    let lock = File::open(keys)?;
    lock.lock()?;
    Ok(lock)
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
    // A line that moves to the other file meanwhile would be missed.
    let keys = match File::open(dir.join(KEYS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        opened => Some(opened?),
    };
    if let Some(keys) = &keys {
        keys.lock_shared()?;
    }
    for name in [OLD, POSTS] {
        let file = match store::regular::open(&dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line?;
            if let Some(line) = PostLine::parse(&String::from_utf8_lossy(&line)) {
                each(&line);
            }
        }
    }
    Ok(())
}

/// The time when the period of a key began, and the key.
fn read_key(dir: &Path, name: &str) -> io::Result<Option<(i64, String)>> {
    let text = match store::regular::read(&dir.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let text = String::from_utf8_lossy(&text);
    let (began, key) = text.trim_end().split_once(' ').unwrap_or_default();
    // A damaged one is replaced.
    let began = began.parse().ok().filter(|_| key.len() == 2 * KEY_BYTES);
    Ok(began.map(|began| (began, key.to_owned())))
}

fn make_next_key(dir: &Path, began: i64) -> io::Result<String> {
    let mut random = [0; KEY_BYTES];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(dir.join(NEXT_KEY))?;
    file.write_all(format!("{began} {key}\n").as_bytes())?;
    file.sync_all()?;
    File::open(dir.join(KEYS))?.sync_all()?;
    Ok(key)
}

fn token(key: &str, poster: &LoggedPoster<'_>) -> String {
    let who = [poster.account.as_bytes(), b"\0", poster.host.as_bytes()].concat();
    let hash = Secret::new(key.as_bytes()).key(Holder::User(&who), b"");
    let hash = hash.unwrap_or_default();
    let hash = hash.split_once(':').map_or("", |(_, hash)| hash);
    // Letters and digits alone: a token that begins with a hyphen would look like a flag.
    let plain = hash.chars().filter(char::is_ascii_alphanumeric);
    plain.take(TOKEN_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn poster(account: &str) -> LoggedPoster<'_> {
        LoggedPoster {
            account,
            host: "192.0.2.1",
            is_secure: true,
        }
    }

    fn entry<'a>(dir: &'a Path, account: &'a str, now: i64) -> PostEntry<'a> {
        PostEntry::begin(dir, 30 * DAY, poster(account), now).unwrap()
    }

    fn ids(dir: &Path) -> Vec<String> {
        let mut found = Vec::new();
        each_line(dir, |line| found.push(line.id.to_owned())).unwrap();
        found
    }

    #[test]
    fn one_poster_has_one_token_until_the_key_changes() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        let of = |account: &str, now| entry(dir, account, now).token().to_owned();
        let anna = of("anna\tx", 1_000);
        for number in 0..1_000 {
            let token = of(&format!("user{number}"), 1_000);
            assert_eq!(token.len(), TOKEN_CHARACTERS);
            assert!(
                token.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{token}"
            );
        }
        assert_eq!(of("anna\tx", 1_000 + 14 * DAY), anna);
        assert_ne!(of("berta", 1_000), anna);
        let mut post = entry(dir, "anna\tx", 1_000);
        // The article of a duplicate is somebody else's; a line is written once.
        post.write_refused(b"<9@example.com>");
        let mut refused = Vec::new();
        let each = |line: &PostLine<'_>| refused.push((line.id.to_owned(), line.is_refused));
        each_line(dir, each).unwrap();
        assert_eq!(refused, [("<9@example.com>".to_owned(), true)]);
        fs::remove_file(dir.join(POSTS)).unwrap();
        post.write(b"<0@example.com>", true).unwrap();
        post.write(b"<1@example.com>", false).unwrap();
        post.write(b"<1@example.com>", false).unwrap();
        let later = of("anna\tx", 1_000 + 16 * DAY);
        assert_ne!(later, anna);
        let mut found = Vec::new();
        each_line(dir, |line| {
            found.push((line.token.to_owned(), line.account.to_owned()))
        })
        .unwrap();
        assert_eq!(found, [(anna, "anna?x".to_owned())]);
        // Nobody posts any more: the lines go all the same.
        rotate(dir, 1_000 + 32 * DAY, 30 * DAY).unwrap();
        assert_eq!(ids(dir), Vec::<String>::new());
        // No log is wanted any more.
        entry(dir, "anna", 1_000 + 33 * DAY)
            .write(b"<2@example.com>", false)
            .unwrap();
        rotate(dir, 1_000 + 33 * DAY, 0).unwrap();
        assert_eq!(ids(dir), Vec::<String>::new());
        assert!(!dir.join(KEY).exists());
    }

    #[test]
    fn lines_without_a_key_do_not_stay_longer() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        entry(dir, "anna", 1_000)
            .write(b"<1@example.com>", false)
            .unwrap();
        fs::write(dir.join(KEY), "damaged").unwrap();
        entry(dir, "anna", 1_000 + 14 * DAY)
            .write(b"<2@example.com>", false)
            .unwrap();
        assert_eq!(ids(dir), ["<1@example.com>", "<2@example.com>"]);
        rotate(dir, 1_000 + 30 * DAY, 30 * DAY).unwrap();
        assert_eq!(ids(dir), ["<2@example.com>"]);
    }

    #[test]
    fn lines_go_at_the_first_run_after_their_time() {
        for runs in [&[16, 31][..], &[20, 31], &[29, 31], &[31], &[45], &[100]] {
            let room = tempfile::tempdir().unwrap();
            let dir = room.path();
            for (day, id) in [(0, "<0@example.com>"), (14, "<14@example.com>")] {
                entry(dir, "anna", 1_000 + day * DAY)
                    .write(id.as_bytes(), false)
                    .unwrap();
            }
            for day in runs {
                rotate(dir, 1_000 + day * DAY, 30 * DAY).unwrap();
                let left = ids(dir);
                assert_eq!(
                    left.contains(&"<0@example.com>".to_owned()),
                    *day < 30,
                    "{runs:?}"
                );
                assert!(*day >= 29 || left.len() == 2, "{runs:?}: {left:?}");
            }
        }
    }

    #[test]
    fn programs_at_once_rotate_once() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        for round in 1..10 {
            let now = round * 16 * DAY;
            let id = format!("<{round}@example.com>");
            let last = ids(dir).pop();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| rotate(dir, now, 30 * DAY).unwrap());
                }
            });
            assert_eq!(ids(dir), Vec::from_iter(last));
            entry(dir, "anna", now).write(id.as_bytes(), false).unwrap();
        }
    }
}
