//! Files the batches in `in.coming`, in order.
//!
//! A batch is removed when its articles are durable, so a run may end at any moment: the next run files the rest, and refuses articles
//! that were filed already as duplicates.

use std::collections::{BinaryHeap, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use store::{Error as StoreError, Lock};

use super::STOP;
use super::name::{Grade, Grades, Name};
use super::stop::{incoming_dir, is_stopped};
use super::tries::{TRIES_MAX, Tries};
use crate::Error;
use crate::bad_batches::{self, TEMPORARY};
use crate::outlet::Outlet;
use crate::rnews::{self, Input, Status, Summary, Watch};

/// The lock against concurrent drains.
pub const LOCK: &str = "lock.input";
/// Files between two checks of `stop`, which share a commit, as in C News.
pub const FILES_AT_ONCE: usize = 50;
/// Names in memory at a time, the first in order.
pub const NAMES_MAX: usize = 50_000;
/// Failed files after which a drain ends.
pub const LEFT_MAX: usize = 10_000;
/// Time after which the directory is listed again, if filing has taken [`LISTING_SHARE`] times as long as listing.
const LISTING_VALID: Duration = Duration::from_secs(1);
const LISTING_SHARE: u32 = 20;
/// Files with other names that are reported; of more, nothing is said.
pub const OTHERS_MAX: usize = 100;
/// Age below which a file with another name is not reported: it may still get its own.
const BEING_WRITTEN: Duration = Duration::from_secs(60);
/// Age of a temporary file that belongs to a killed program.
const TEMPORARY_AGE: Duration = Duration::from_secs(86_400);

/// Options of a drain.
#[derive(Debug, Clone)]
pub struct DrainOptions {
    /// Only these grades.
    pub grades: Grades,
    /// Only names that end in a dot and this.
    pub suffix: Option<String>,
    /// Options of filing; those about removing files are ignored.
    pub rnews: rnews::Options,
}

impl Default for DrainOptions {
    fn default() -> DrainOptions {
        DrainOptions {
            grades: Grades::ALL,
            suffix: None,
            rnews: rnews::Options::default(),
        }
    }
}

/// The result so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drained {
    /// Files removed from `in.coming`, those moved to `bad/` included.
    pub files: u64,
    /// Files moved to `bad/`.
    pub bad: u64,
    /// Files that could be neither read nor moved, and stay.
    pub left: u64,
    /// Files with names that no batch has; they stay.
    pub others: u64,
    /// The counts of articles.
    pub summary: Summary,
    /// The worst status.
    pub status: Status,
}

/// Files the waiting batches:
///
/// ```text
/// while drain.is_waiting()? && !drain.is_over() {
///     let Some(lock) = drain.take_lock()? else { break };   // another drain runs, and will find the newest batches
///     drain.run(&lock, &mut filer, watch)?;
///     drop(lock);
/// }
/// ```
///
/// The check after the lock's release makes it safe to leave when another drain has the lock.
#[derive(Debug)]
pub struct Drain {
    dir: PathBuf,
    options: DrainOptions,
    /// Files that stay and are not tried again.
    left: HashSet<Name>,
    /// Files at which filing stopped.
    tries: Tries,
    drained: Drained,
    is_over: bool,
    /// Reported files with other names.
    others: HashSet<std::ffi::OsString>,
}

impl Drain {
    /// A drain of the news directory `dir`.
    pub fn new(dir: &Path, mut options: DrainOptions) -> Drain {
        options.rnews.unlink = true;
        options.rnews.unlink_saved = true;
        Drain {
            dir: dir.to_owned(),
            options,
            left: HashSet::new(),
            tries: Tries::read(dir),
            drained: Drained {
                files: 0,
                bad: 0,
                left: 0,
                others: 0,
                summary: Summary::default(),
                status: Status::Fine,
            },
            is_over: false,
            others: HashSet::new(),
        }
    }

    /// The result so far.
    pub fn drained(&self) -> Drained {
        self.drained
    }

    /// True if the store stopped filing, or too many files failed: an administrator is needed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Tries files that stayed again, after a change by an administrator.
    pub fn try_again(&mut self, name: &Name) {
        self.left.remove(name);
    }

    /// Takes the lock; `None` if another drain has it.
    ///
    /// # Errors
    /// An I/O error.
    pub fn take_lock(&self) -> Result<Option<Lock>, Error> {
        match Lock::take_named(&self.dir, LOCK, false) {
            Ok(lock) => Ok(Some(lock)),
            Err(StoreError::Locked(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reports files with names that no batch has, each once: nothing would ever file them.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn report_others(&mut self, watch: &mut dyn Watch) -> Result<(), Error> {
        let dir = incoming_dir(&self.dir);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(StoreError::io("list", &dir, source).into()),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let bytes = name.as_bytes();
            let is_ours = bytes.starts_with(TEMPORARY.as_bytes()) || bytes == STOP.as_bytes();
            if is_ours || bytes.starts_with(b".") || Name::parse(bytes).is_some() {
                continue;
            }
            // Someone may be writing it still, and rename it at the end.
            let is_fresh = entry
                .metadata()
                .and_then(|data| data.modified())
                .is_ok_and(|at| {
                    SystemTime::now()
                        .duration_since(at)
                        .is_ok_and(|age| age < BEING_WRITTEN)
                });
            if is_fresh || self.others.len() >= OTHERS_MAX || !self.others.insert(name) {
                continue;
            }
            self.drained.others = self.others.len() as u64;
            watch.message(&format!(
                "{}: batches have other names, so this file is never filed; run `broadsheet rnews' on it, then remove it",
                entry.path().to_string_lossy().escape_debug()
            ));
        }
        Ok(())
    }

    /// Whether an untried batch waits.
    ///
    /// # Errors
    /// An I/O error.
    pub fn is_waiting(&self) -> Result<bool, Error> {
        let stopped = is_stopped(&self.dir);
        let mut found = false;
        self.each(|name| {
            found = found || self.wants(&name, stopped);
            !found
        })?;
        Ok(found)
    }

    /// Files all waiting batches, and those that arrive meanwhile, under the [lock](Drain::take_lock).
    ///
    /// # Errors
    /// The directory cannot be read. Errors of batches and of the store are reported to `watch`.
    pub fn run(
        &mut self,
        _lock: &Lock,
        outlet: &mut dyn Outlet,
        watch: &mut dyn Watch,
    ) -> Result<(), Error> {
        self.sweep(watch)?;
        self.tries = Tries::read(&self.dir);
        while !self.is_over {
            let began = Instant::now();
            let stopped = is_stopped(&self.dir);
            let names = self.waiting(stopped)?;
            if names.is_empty() {
                break;
            }
            let listed_for = LISTING_VALID.max(began.elapsed().saturating_mul(LISTING_SHARE));
            // A batch that cannot be filed must not block the others.
            let (tried, fresh): (Vec<Name>, Vec<Name>) =
                names.into_iter().partition(|name| self.tries.has(name));
            let groups = fresh.chunks(FILES_AT_ONCE).chain(tried.chunks(1));
            for group in groups {
                match group {
                    [name] if self.tries.is_hopeless(name, outlet.filer().spool().end().0) => {
                        self.move_to_bad(name, watch)?;
                    }
                    _ => self.file(group, outlet, watch)?,
                }
                let is_late = began.elapsed() > listed_for || is_stopped(&self.dir) != stopped;
                if self.is_over || is_late || watch.is_over() {
                    break;
                }
            }
            if watch.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        names: &[Name],
        outlet: &mut dyn Outlet,
        watch: &mut dyn Watch,
    ) -> Result<(), Error> {
        let end = outlet.filer().spool().end().0;
        let dir = incoming_dir(&self.dir);
        let path = |name: &Name| dir.join(name.to_string());
        let inputs: Vec<Input> = names
            .iter()
            .map(|name| Input::Spooled(path(name)))
            .collect();
        let outcome = rnews::run(&inputs, outlet, &self.options.rnews, watch);
        let drained = &mut self.drained;
        drained.summary.add(&outcome.summary);
        drained.status = drained.status.max(outcome.status);
        drained.bad += outcome.saved;
        for name in names {
            let path = path(name);
            // A removed file's name may be reused: a file with that name may be the next batch.
            if outcome.removed.contains(&path) || fs::symlink_metadata(&path).is_err() {
                drained.files += 1;
                self.tries.forget(name)?;
            } else if !outcome.is_stopped {
                self.left.insert(name.clone());
            }
        }
        drained.left = self.left.len() as u64;
        self.is_over = outcome.is_stopped;
        if self.left.len() >= LEFT_MAX {
            self.is_over = true;
            drained.status = drained.status.max(Status::Attention);
            let text = format!(
                "{} files in {} could not be filed; examine them, then run newsrun again",
                self.left.len(),
                dir.display()
            );
            watch.message(&text);
        }
        if let Some(name) = outcome.stopped_at.and_then(|index| names.get(index)) {
            let times = self.tries.add(name, end, outcome.needs_room)?;
            let attempt = match outcome.needs_room {
                // It waits for room, however long.
                true => String::new(),
                false => format!(" (attempt {times} of {TRIES_MAX})"),
            };
            watch.message(&format!(
                "{}: filing stopped at this batch{attempt}; other batches are filed before the next attempt",
                path(name).display()
            ));
        }
        Ok(())
    }

    /// Moves a batch that cannot be filed to bad/.
    fn move_to_bad(&mut self, name: &Name, watch: &mut dyn Watch) -> Result<(), Error> {
        let path = incoming_dir(&self.dir).join(name.to_string());
        let at = |source| StoreError::io("put into bad/", &path, source);
        let bad = self.dir.join(bad_batches::BAD);
        let saved = bad_batches::save_file(&bad, &name.to_string(), &path).map_err(at)?;
        bad_batches::sync_parent(&saved).map_err(at)?;
        fs::remove_file(&path).map_err(at)?;
        self.tries.forget(name)?;
        self.drained.files += 1;
        self.drained.bad += 1;
        self.drained.status = self.drained.status.max(Status::Attention);
        watch.message(&format!(
            "{}: filing stopped at this batch {TRIES_MAX} times, while others were filed; moved to {}; correct the reported errors, then run rnews on it",
            path.display(),
            saved.display()
        ));
        Ok(())
    }

    fn wants(&self, name: &Name, stopped: bool) -> bool {
        let suffix = self.options.suffix.as_ref();
        self.options.grades.has(name.grade)
            && (!stopped || name.grade == Grade::FIRST)
            && suffix.is_none_or(|suffix| *suffix == name.suffix)
            && !self.left.contains(name)
    }

    /// The next names, in order.
    fn waiting(&self, stopped: bool) -> Result<Vec<Name>, Error> {
        // A max-heap: the greatest name is dropped when there are too many.
        let mut first = BinaryHeap::new();
        self.each(|name| {
            if self.wants(&name, stopped) {
                first.push(name);
            }
            if first.len() > NAMES_MAX {
                first.pop();
            }
            true
        })?;
        Ok(first.into_sorted_vec())
    }

    /// Calls `look` for the name of each batch, in no order, until it returns false.
    fn each(&self, mut look: impl FnMut(Name) -> bool) -> Result<(), Error> {
        let dir = incoming_dir(&self.dir);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(StoreError::io("list", &dir, source).into()),
        };
        for entry in entries {
            let entry = entry.map_err(|source| StoreError::io("list", &dir, source))?;
            let name = Name::parse(entry.file_name().as_bytes());
            if name.is_some_and(|name| !look(name)) {
                break;
            }
        }
        Ok(())
    }

    /// Removes temporary files of killed programs, which were never acknowledged.
    fn sweep(&self, watch: &mut dyn Watch) -> Result<(), Error> {
        let dir = incoming_dir(&self.dir);
        let Ok(entries) = fs::read_dir(&dir) else {
            return Ok(());
        };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let is_old = |data: fs::Metadata| {
                data.is_file()
                    && data
                        .modified()
                        .is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > TEMPORARY_AGE))
            };
            let name = entry.file_name();
            if name.as_bytes().starts_with(TEMPORARY.as_bytes())
                && entry.metadata().is_ok_and(is_old)
            {
                let path = entry.path();
                fs::remove_file(&path).map_err(|source| StoreError::io("remove", &path, source))?;
                watch.message(&format!(
                    "removed {}: the program that wrote it was killed more than a day ago; its sender still has the batch",
                    path.display()
                ));
            }
        }
        Ok(())
    }
}
