//! Makes a backup while the news directory is in use.
//!
//! The lock of the store is held while the small files are copied and the lengths of the segments are noted: what is filed later belongs to the
//! next backup. Segments are copied afterwards; `lock.expire` keeps them as they are until the end.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use relay::Now;
use store::Lock;

use super::contents::{Checksum, Contents};
use super::manifest::{self, Entry, Manifest, Stamp};
use crate::progress::Progress;

/// Files in the news directory that are made again, belong to running programs, or to this news directory and not to a copy of it.
const LEFT_OUT: [&str; 18] = [
    "index",
    "index.key",
    "log",
    "unreclaimed",
    "unreclaimed.all",
    "reserve",
    "reserve.node",
    "lock",
    "lock.cache",
    "lock.expire",
    "lock.input",
    "lock.serve",
    "control.sock",
    "schedule",
    "schedule.failed",
    "mounts",
    "objects.owner",
    "reseed",
];
/// The directories of small files.
const SMALL: [&str; 6] = [
    "cluster.settings",
    "feeds",
    "figures",
    "keys",
    "mail.queue",
    "pull",
];
/// Links to the waiting batches, until they are copied.
const LINKS: &str = "backup.links";
/// Age of a change at the time of a backup from which on the times of a file show a later change, seconds.
const CLOCK_SECONDS: i64 = 10;
/// Most directories inside each other in a news directory.
pub const DEPTH_MAX: usize = 64;

/// The result.
#[derive(Debug)]
pub struct Taken {
    pub time: i64,
    pub files: u64,
    pub bytes: u64,
    pub new_bytes: u64,
    /// Number of old backups that were removed.
    pub removed: usize,
    /// The segments without a valid header, the fault of an `active` with which nothing can be filed, a damaged list of an older backup, and the
    /// files that the disk cannot read as a whole.
    pub faults: Vec<String>,
    /// Number of files that the disk cannot read as a whole.
    pub unreadable: u64,
}

/// A file to copy.
struct Source {
    /// Its place below the news directory.
    path: PathBuf,
    /// The file to read.
    from: PathBuf,
    /// Bytes to copy.
    bytes_max: u64,
    /// It may be gone.
    is_optional: bool,
}

/// Makes a backup of the news directory `root` in `backups`, and keeps at most `keep` backups.
///
/// # Errors
/// A file cannot be read or written; the backups that were there stay as they are.
pub fn take(root: &Path, backups: &Path, keep: Option<usize>) -> anyhow::Result<Taken> {
    let full = |path: &Path| {
        fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let root = full(root)?;
    let check = |place: &Path| {
        ensure!(
            !place.starts_with(&root),
            "{} is in the news directory: choose a directory outside it, on another disk",
            backups.display()
        );
        Ok(())
    };
    // A refusal leaves nothing behind.
    if !backups.exists() {
        let above = backups.parent().filter(|above| *above != Path::new(""));
        fs::canonicalize(above.unwrap_or(Path::new("."))).map_or(Ok(()), |above| check(&above))?;
    }
    // The directories above it are not made: below the place of a disk that is not mounted, the backup would fill another one.
    match DirBuilder::new().mode(0o700).create(backups) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "cannot create {}: the directory above it does not exist: mount the disk of the backups, or create the directory",
            backups.display()
        ),
        done => done.with_context(|| format!("cannot create {}", backups.display()))?,
    }
    let backups = full(backups)?;
    check(&backups)?;
    let _alone = Lock::take_named(&backups, "lock", false)?;
    let contents = Contents::of(&backups);
    contents
        .make()
        .with_context(|| format!("cannot write in {}", backups.display()))?;
    let times = manifest::times(&backups)?;
    // This run made the directory, or one that was interrupted before it had a list.
    if times.is_empty() {
        sync_name(&backups)?;
    }
    // A damaged list is of no use to compare with.
    let last = times.last();
    let last = last.and_then(|time| Manifest::read(&backups.join(Manifest::name(*time))).ok());
    let mut taking = Taking {
        root: &root,
        contents,
        known: HashMap::new(),
        entries: Vec::new(),
        new_bytes: 0,
        unreadable: Vec::new(),
    };
    if let Some(last) = last {
        // A file that changed in the same moment in which it was copied may have the same times with another content.
        let is_old = |entry: &Entry| entry.stamp.is_older_than(last.time - CLOCK_SECONDS);
        let old = last.entries.into_iter().filter(is_old);
        taking.known = old.map(|entry| (entry.path.clone(), entry)).collect();
    }
    // Until the end no segment is changed or removed.
    let may_change = !store::is_mounted_read_only(&root);
    let _no_expire = match may_change {
        true => Some(Lock::take_named(&root, "lock.expire", true)?),
        false => None,
    };
    taking.unlink()?;
    let progress;
    let (later, faults) = {
        let _lock = match may_change {
            true => Some(Lock::take(&root, None)?),
            false => None,
        };
        let (now, later) = taking.sources()?;
        let all = now.iter().chain(&later).map(|source| source.bytes_max);
        progress = Progress::of_bytes("copying", all.sum());
        for source in &now {
            taking.copy(source)?;
            progress.advance(source.bytes_max);
        }
        let mut faults = match store::fsck::segment_faults(&root) {
            Err(error) if error.is_unreadable() => vec![error],
            faults => faults?,
        };
        faults.extend(store::check_active(&root).err());
        (later, faults)
    };
    for source in &later {
        taking.copy(source)?;
        progress.advance(source.bytes_max);
    }
    drop(progress);
    taking.unlink()?;
    taking.contents.sync()?;
    let newest = times.last().map_or(0, |time| time + 1);
    let mut entries = taking.entries;
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let manifest = Manifest {
        time: Now::read().seconds.max(newest),
        entries,
    };
    manifest.write(&backups)?;
    let mut faults: Vec<String> = faults.iter().map(store::Error::to_string).collect();
    let unreadable = taking.unreadable.len() as u64;
    faults.append(&mut taking.unreadable);
    let mut removed = 0;
    // The older ones may be without the damage.
    if let Some(keep) = keep.filter(|_| faults.is_empty()) {
        match remove_old(&backups, &taking.contents, keep.max(1))? {
            Ok(count) => removed = count,
            Err(fault) => faults.push(fault),
        }
    }
    Ok(Taken {
        time: manifest.time,
        files: manifest.entries.len() as u64,
        bytes: manifest.entries.iter().map(|entry| entry.size).sum(),
        new_bytes: taking.new_bytes,
        removed,
        faults,
        unreadable,
    })
}

/// Whether a file is one of the small ones that belong together: the store is locked while they are copied. Others (of an archive, of a tree,
/// of the administrator) may be many and large.
fn is_small(path: &Path) -> bool {
    path.components().count() == 1 || SMALL.iter().any(|own| path.starts_with(own))
}

/// Whether other programs remove a file without the lock: sent mail, and all files of a feed but those of its position.
fn may_go(path: &Path) -> bool {
    let is_place = path.ends_with("cursor") || path.ends_with("selected");
    path.starts_with("mail.queue") || path.starts_with("feeds") && !is_place
}

/// Waits until the name of a directory is on the disk.
fn sync_name(directory: &Path) -> anyhow::Result<()> {
    let above = directory.parent().unwrap_or(directory);
    match store::sync_directory(above) {
        // Another user made the directory.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced.with_context(|| format!("cannot sync {}", above.display())),
    }
}

/// Removes all backups but the newest `keep`, and the contents that only they needed. Returns their number; or the fault of a list among
/// those to keep: then nothing is removed.
fn remove_old(
    backups: &Path,
    contents: &Contents,
    keep: usize,
) -> anyhow::Result<Result<usize, String>> {
    let times = manifest::times(backups)?;
    let (old, kept) = times.split_at(times.len().saturating_sub(keep));
    let mut needed: HashSet<Checksum> = HashSet::new();
    for time in kept {
        let kept = match Manifest::read(&backups.join(Manifest::name(*time))) {
            Ok(kept) => kept,
            Err(error) => {
                return Ok(Err(format!(
                    "no older backup was removed, because the list of one to keep cannot be read ({error:#}): repair or remove that list"
                )));
            }
        };
        needed.extend(kept.entries.iter().map(|entry| entry.checksum));
    }
    for time in old {
        fs::remove_file(backups.join(Manifest::name(*time)))?;
    }
    // First the lists are gone for certain: each list that is there has its contents. Those of an interrupted backup go as well.
    store::sync_directory(backups)?;
    contents.keep_only(&needed)?;
    Ok(Ok(old.len()))
}

struct Taking<'a> {
    root: &'a Path,
    contents: Contents,
    /// The files of the last backup.
    known: HashMap<PathBuf, Entry>,
    entries: Vec<Entry>,
    new_bytes: u64,
    /// The files that the disk cannot read as a whole, as messages.
    unreadable: Vec<String>,
}

impl Taking<'_> {
    /// Removes the links of this run, or of one that was killed.
    fn unlink(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(self.root.join(LINKS)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {LINKS}"))
            }
            _ => Ok(()),
        }
    }

    /// The files to copy while the lock is held, and those to copy later.
    fn sources(&self) -> anyhow::Result<(Vec<Source>, Vec<Source>)> {
        let mut paths = Vec::new();
        walk(self.root, Path::new(""), &mut Vec::new(), &mut paths)?;
        let names = paths
            .iter()
            .filter_map(|path| path.strip_prefix("segments").ok());
        let arts = names.filter(|name| name.extension().is_some_and(|end| end == "art"));
        let current = arts.max().map(|name| name.with_extension(""));
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for path in paths {
            let from = self.root.join(&path);
            let Some(data) = data_of(&from)? else {
                continue;
            };
            let bytes_max = data.len();
            let mut source = Source {
                path,
                from,
                bytes_max,
                is_optional: false,
            };
            if let Ok(name) = source.path.strip_prefix("segments") {
                let is_derived = name.extension().is_none_or(|end| end != "art");
                // The derived files of the current segment are made again.
                if !is_derived || Some(name.with_extension("")) != current {
                    later.push(source);
                }
            } else if source.path.starts_with("in.coming") {
                // newsrun removes what it has filed.
                match self.linked(&source.path, later.len()) {
                    Some(link) => {
                        source.from = link;
                        later.push(source);
                    }
                    None => now.push(source),
                }
            } else if source.path.starts_with("bad") {
                source.is_optional = true;
                later.push(source);
            } else if is_small(&source.path) {
                source.is_optional = may_go(&source.path);
                now.push(source);
            } else {
                source.is_optional = true;
                later.push(source);
            }
        }
        Ok((now, later))
    }

    /// Makes another name for a file. `None`: the file system cannot.
    fn linked(&self, path: &Path, number: usize) -> Option<PathBuf> {
        let links = self.root.join(LINKS);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&links)
            .ok()?;
        let link = links.join(number.to_string());
        fs::hard_link(self.root.join(path), &link).ok()?;
        Some(link)
    }

    /// Copies a file, unless the last backup has it.
    fn copy(&mut self, source: &Source) -> anyhow::Result<()> {
        let doing = || format!("cannot copy {}", source.from.display());
        let file = match store::regular::open(&source.from) {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && source.is_optional
                    && data_of(&source.from)?.is_none() =>
            {
                return Ok(());
            }
            opened => opened.with_context(doing)?,
        };
        let data = file.metadata().with_context(doing)?;
        let stamp = Stamp::of(&data);
        let file = store::disk::salvaged(file, &source.from);
        let known = self.known.get(&source.path).filter(|known| {
            known.stamp == stamp
                && known.size == source.bytes_max
                && self.contents.has(&known.checksum, known.size)
        });
        let (checksum, size) = match known {
            Some(known) => (known.checksum, known.size),
            None => {
                let from = match source.path.extension().is_some_and(|end| end == "art") {
                    // What is in the object store stays there; the cache is not copied.
                    true => Zeroed::new(&*file, store::offload::cached_bytes(&source.from)?),
                    false => Zeroed::new(&*file, 0..0),
                };
                let stored = self.contents.store(from, source.bytes_max);
                let (checksum, size, is_new) = stored.with_context(doing)?;
                if size < source.bytes_max && !source.is_optional {
                    bail!(
                        "{} became shorter meanwhile: try again",
                        source.from.display()
                    );
                }
                self.new_bytes += if is_new { size } else { 0 };
                (checksum, size)
            }
        };
        let is_whole = !file.was_unreadable(0..size);
        if !is_whole {
            // The records and rows of a segment have checksums; nothing else would show that bytes are missing.
            let is_kept = source.path.starts_with("segments");
            let fault = unreadable_fault(&source.from, &*file, (size, is_kept));
            self.unreadable.push(fault);
            if !is_kept {
                return Ok(());
            }
        }
        self.entries.push(Entry {
            checksum,
            size,
            mode: data.permissions().mode() & 0o777,
            stamp: if is_whole { stamp } else { stamp.of_none() },
            path: source.path.clone(),
        });
        Ok(())
    }
}

/// Tells which bytes of a file are not in the backup, and what to do.
fn unreadable_fault(
    path: &Path,
    file: &dyn store::disk::File,
    (size, is_kept): (u64, bool),
) -> String {
    let block = store::disk::BLOCK_BYTES as u64;
    let blocks = (0..size).step_by(store::disk::BLOCK_BYTES);
    let mut bad = blocks.filter(|at| file.was_unreadable(*at..at + block));
    let first = bad.next().unwrap_or(0);
    let bytes = block * (1 + bad.count() as u64);
    let (path, bytes) = (path.display(), bytes.min(size));
    let unreadable = format!("{path}: the disk cannot read {bytes} bytes, the first at {first}");
    match is_kept {
        true => format!(
            "{unreadable}: this backup has all else of it; look into the log of the system, run `broadsheet fsck --repair`"
        ),
        false => format!(
            "{unreadable}: it is not in this backup; look into the log of the system, replace the file"
        ),
    }
}

/// A file with zeros in the place of some bytes.
struct Zeroed<'f> {
    file: &'f dyn store::disk::File,
    zeros: Range<u64>,
    offset: u64,
}

impl<'f> Zeroed<'f> {
    fn new(file: &'f dyn store::disk::File, zeros: Range<u64>) -> Zeroed<'f> {
        Zeroed {
            file,
            zeros,
            offset: 0,
        }
    }
}

impl io::Read for Zeroed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(buffer, self.offset)?;
        let clip = |at: u64| at.saturating_sub(self.offset).min(got as u64) as usize;
        let zeros = clip(self.zeros.start)..clip(self.zeros.end);
        if let Some(zeros) = buffer.get_mut(zeros) {
            zeros.fill(0);
        }
        self.offset += got as u64;
        Ok(got)
    }
}

/// The state of a file or of the target of a link. `None`: it was removed, or is the lock of an editor.
fn data_of(path: &Path) -> anyhow::Result<Option<fs::Metadata>> {
    let reading = || format!("cannot read {}", path.display());
    for is_second in [false, true] {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            data => return data.with_context(reading).map(Some),
        }
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            data => data.with_context(reading)?,
        };
        let name = path.file_name().unwrap_or_default();
        // Emacs makes such a link, which names user and machine.
        if name.as_encoded_bytes().starts_with(b".#") {
            return Ok(None);
        }
        // Another file may have got the name in between.
        ensure!(
            !is_second,
            "{} is a link that leads nowhere, so the backup would not be whole: mount the disk to which it leads, or remove the link",
            path.display()
        );
    }
    Ok(None)
}

/// Lists the regular files below a directory; links are followed.
fn walk(
    root: &Path,
    below: &Path,
    above: &mut Vec<(u64, u64)>,
    paths: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    let depth = above.len();
    let directory = root.join(below);
    let reading = || format!("cannot read {}", directory.display());
    ensure!(
        depth <= DEPTH_MAX,
        "{}: more than {DEPTH_MAX} directories inside each other",
        directory.display()
    );
    for entry in fs::read_dir(&directory).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let name = entry.file_name();
        let is_left_out = depth == 0
            && name.to_str().is_some_and(|name| {
                LEFT_OUT.contains(&name) || name.starts_with("log.") || name == LINKS
            });
        let path = below.join(&name);
        if is_left_out {
            continue;
        }
        let Some(data) = data_of(&entry.path())? else {
            continue;
        };
        let kind = data.file_type();
        // A file in the making. In these directories others choose the names.
        let is_temporary = path.extension().is_some_and(|end| end == "new")
            && !["in.coming", "keys", "bad", "pull"]
                .iter()
                .any(|own| path.starts_with(own));
        if kind.is_dir() {
            let own = (data.dev(), data.ino());
            ensure!(
                !above.contains(&own),
                "{} is a link to a directory above it: remove the link",
                entry.path().display()
            );
            above.push(own);
            walk(root, &path, above, paths)?;
            above.pop();
        } else if kind.is_file() {
            if !is_temporary {
                paths.push(path);
            }
        } else if !kind.is_socket() && !kind.is_fifo() {
            bail!("{} is no file and no directory", entry.path().display());
        }
    }
    Ok(())
}
