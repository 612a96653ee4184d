//! Filing what waits in `in.coming`, in turn.
//!
//! A file goes when its articles are durable, so a run may end at any moment: what is left is filed by the next, and what
//! was filed already is refused as duplicate.

use std::collections::{BinaryHeap, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use store::{Error as StoreError, Lock};

use super::name::{Grade, Grades, Name};
use super::spool::TEMPORARY;
use super::stop::{is_stopped, place};
use super::tries::{TRIES_MAX, Tries};
use crate::Error;
use crate::file::Filer;
use crate::kept;
use crate::rnews::{self, Input, Status, Summary, Watch};

/// The lock that keeps two drains apart.
pub const LOCK: &str = "lock.input";
/// So many files are filed between two looks at `stop`, and share a commit; as in C News.
pub const FILES_AT_ONCE: usize = 50;
/// So many names, those whose turn is first, are held at a time.
pub const NAMES_MAX: usize = 50_000;
/// When so many files could not be filed, a drain ends.
pub const LEFT_MAX: usize = 10_000;
/// The directory is listed anew, for what comes first now, after so much time, and not before filing has taken
/// [`LISTING_SHARE`] times as long as listing.
const LISTED_FOR: Duration = Duration::from_secs(1);
const LISTING_SHARE: u32 = 20;
/// A temporary file that was not written to for so long is of a program that was killed.
const TEMPORARY_FOR: Duration = Duration::from_secs(86_400);

/// What is filed, and how.
#[derive(Debug, Clone)]
pub struct DrainOptions {
    /// Only these grades.
    pub grades: Grades,
    /// Only names that end in a dot and this.
    pub suffix: Option<String>,
    /// How batches are filed; which files are removed is not looked at.
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

/// What was done so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drained {
    /// Files that are gone from `in.coming`, those that went to `bad/` among them.
    pub files: u64,
    /// Files that went to `bad/`.
    pub bad: u64,
    /// Files that could not be read or kept, and stay.
    pub left: u64,
    /// What became of the articles.
    pub summary: Summary,
    /// How it went, the worst of all.
    pub status: Status,
}

/// Files what waits:
///
/// ```text
/// while drain.is_waiting()? && !drain.is_over() {
///     let Some(turn) = drain.turn()? else { break };   // somebody else is at it, and will see what came last
///     drain.run(&turn, &mut filer, watch)?;
///     drop(turn);
/// }
/// ```
///
/// Looking again after the turn was given up is what makes it safe to go away when somebody else has it.
#[derive(Debug)]
pub struct Drain {
    dir: PathBuf,
    options: DrainOptions,
    /// Files that stayed: not to be tried again.
    left: HashSet<Name>,
    /// Files at which filing stopped.
    tries: Tries,
    drained: Drained,
    is_over: bool,
}

impl Drain {
    /// Of the news directory `dir`.
    pub fn new(dir: &Path, mut options: DrainOptions) -> Drain {
        options.rnews.unlink = true;
        options.rnews.unlink_kept = true;
        Drain {
            dir: dir.to_owned(),
            options,
            left: HashSet::new(),
            tries: Tries::read(dir),
            drained: Drained {
                files: 0,
                bad: 0,
                left: 0,
                summary: Summary::default(),
                status: Status::Fine,
            },
            is_over: false,
        }
    }

    /// What was done so far.
    pub fn drained(&self) -> Drained {
        self.drained
    }

    /// The store stopped filing, or too much could not be filed: an administrator is needed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// A file that stayed is tried again: somebody did something to it.
    pub fn try_again(&mut self, name: &Name) {
        self.left.remove(name);
    }

    /// Takes the lock; `None`: another drain has it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn turn(&self) -> Result<Option<Lock>, Error> {
        match Lock::take_named(&self.dir, LOCK, false) {
            Ok(lock) => Ok(Some(lock)),
            Err(StoreError::Locked(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Is there anything to file that was not tried?
    ///
    /// # Errors
    /// Those of the file system.
    pub fn is_waiting(&self) -> Result<bool, Error> {
        let stopped = is_stopped(&self.dir);
        let mut found = false;
        self.each(|name| {
            found = found || self.wants(&name, stopped);
            !found
        })?;
        Ok(found)
    }

    /// Files everything that waits, and what comes meanwhile, in a [turn](Drain::turn).
    ///
    /// # Errors
    /// The directory cannot be read. What is wrong with a batch, or with the store, is told to `watch`.
    pub fn run(
        &mut self,
        _turn: &Lock,
        filer: &mut Filer,
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
            let listed_for = LISTED_FOR.max(began.elapsed().saturating_mul(LISTING_SHARE));
            // One that cannot be filed shall stop no others.
            let (tried, fresh): (Vec<Name>, Vec<Name>) =
                names.into_iter().partition(|name| self.tries.has(name));
            let turns = fresh.chunks(FILES_AT_ONCE).chain(tried.chunks(1));
            for some in turns {
                match some {
                    [name] if self.tries.is_hopeless(name, filer.spool().end().0) => {
                        self.put_aside(name, watch)?;
                    }
                    _ => self.file(some, filer, watch)?,
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
        filer: &mut Filer,
        watch: &mut dyn Watch,
    ) -> Result<(), Error> {
        let end = filer.spool().end().0;
        let dir = place(&self.dir);
        let path = |name: &Name| dir.join(name.to_string());
        let inputs: Vec<Input> = names
            .iter()
            .map(|name| Input::Spooled(path(name)))
            .collect();
        let outcome = rnews::run(&inputs, filer, &self.options.rnews, watch);
        let drained = &mut self.drained;
        drained.summary.add(&outcome.summary);
        drained.status = drained.status.max(outcome.status);
        drained.bad += outcome.kept;
        for name in names {
            let path = path(name);
            // A name is free again when its file goes: what is there now may be the next batch.
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
                "{} files in {} could not be filed; look at them, then run it again",
                self.left.len(),
                dir.display()
            );
            watch.message(&text);
        }
        if let Some(name) = outcome.stopped_at.and_then(|place| names.get(place)) {
            let times = self.tries.add(name, end)?;
            watch.message(&format!(
                "{}: filing stopped at this batch ({times} of {TRIES_MAX} tries); the others are filed before it is tried again",
                path(name).display()
            ));
        }
        Ok(())
    }

    /// Puts a batch that cannot be filed into bad/.
    fn put_aside(&mut self, name: &Name, watch: &mut dyn Watch) -> Result<(), Error> {
        let path = place(&self.dir).join(name.to_string());
        let at = |source| StoreError::io("put into bad/", &path, source);
        let bad = self.dir.join(kept::BAD);
        let kept = kept::keep_file(&bad, &name.to_string(), &path).map_err(at)?;
        kept::sync_place(&kept).map_err(at)?;
        fs::remove_file(&path).map_err(at)?;
        self.tries.forget(name)?;
        self.drained.files += 1;
        self.drained.bad += 1;
        self.drained.status = self.drained.status.max(Status::Attention);
        watch.message(&format!(
            "{}: filing stopped at this batch {TRIES_MAX} times, while others were filed: it is now {}; mend what was said to be wrong, then give it to rnews",
            path.display(),
            kept.display()
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

    /// The names whose turn is next, in order.
    fn waiting(&self, stopped: bool) -> Result<Vec<Name>, Error> {
        // The greatest is on top, and goes when there are too many.
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

    /// Shows every batch's name to `look`, in no order, until it says false.
    fn each(&self, mut look: impl FnMut(Name) -> bool) -> Result<(), Error> {
        let dir = place(&self.dir);
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

    /// Removes what killed programs left behind. They acknowledged none of it.
    fn sweep(&self, watch: &mut dyn Watch) -> Result<(), Error> {
        let dir = place(&self.dir);
        let Ok(entries) = fs::read_dir(&dir) else {
            return Ok(());
        };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let is_old = |data: fs::Metadata| {
                data.is_file()
                    && data
                        .modified()
                        .is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > TEMPORARY_FOR))
            };
            let name = entry.file_name();
            if name.as_bytes().starts_with(TEMPORARY.as_bytes())
                && entry.metadata().is_ok_and(is_old)
            {
                let path = entry.path();
                fs::remove_file(&path).map_err(|source| StoreError::io("remove", &path, source))?;
                watch.message(&format!(
                    "removed {}: its writer was killed more than a day ago, and its sender still has it",
                    path.display()
                ));
            }
        }
        Ok(())
    }
}
