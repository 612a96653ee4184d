//! A copy of the segments of another node, beside the news directory: checks it, and puts it in the place of what is there.
//!
//! The exchange of the two directories of segments is one rename. What is derived goes before it, so that at each moment a program that opens
//! the news directory makes it again from the segments that it finds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::check::fsck::fsck;
use crate::check::rebuild::rebuild;
use crate::io::directories::sync_directory;
use crate::io::disk::{Disk, RealDisk};
use crate::io::lock::Lock;
use crate::io::replace::{replace, sync_parent};
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::object_name::ObjectName;
use crate::offload::unnamed;
use crate::report::Report;
use crate::spool::Spool;
use crate::spool::options::Options;
use crate::state::group_files::{ACTIVE_TIMES, GROUP_FILES, NEWSGROUPS};
use crate::{AppliedEntry, Error};

/// A file in the directory of segments of a whole copy, until everything is in its place.
const WHOLE: &str = "whole";
/// The directory of segments.
const SEGMENTS: &str = "segments";
/// Symbolic links that lead to the segments, one to the next, at most.
const LINKS_MAX: usize = 40;
/// The files that are derived from segments. The index is the first to go, and the last to come.
const DERIVED: [&str; 12] = [
    "index",
    "index.key",
    "active",
    NEWSGROUPS.name,
    ACTIVE_TIMES.name,
    "cancels",
    "expired",
    "cancels.early",
    "checkgroups.serials",
    "cluster.applied",
    "unreclaimed",
    "erasing",
];
/// Those that stay until the copy is in its place: the first two may have been edited by hand, and the last tells whose node this is.
const KEPT: [&str; 3] = [NEWSGROUPS.name, ACTIVE_TIMES.name, "cluster.applied"];

/// The result of a check.
#[derive(Debug)]
pub struct Checked {
    /// The place of the copy in the log of the cluster.
    pub place: AppliedEntry,
    /// What the check found.
    pub report: Report,
}

/// Makes what is derived from the segments in `staged`, and checks everything against `.art`. Derived files of sealed segments that
/// disagree with it are made again.
///
/// # Errors
/// The files cannot be read or written, or are none of a node.
pub fn check(staged: &Path) -> Result<Checked, Error> {
    forget_derived(staged)?;
    let options = Options {
        follows_log: true,
        ..Options::default()
    };
    let spool = Spool::open(staged, options)?;
    let place = spool.applied_entry()?.clone();
    drop(spool);
    let mut report = fsck(staged, false)?;
    let is_derived = |path: &Path| {
        path.extension()
            .is_none_or(|end| end != SegmentFile::Art.suffix())
    };
    if report.faults > 0 && report.findings.iter().all(|found| is_derived(&found.path)) {
        rebuild(staged)?;
        report = fsck(staged, false)?;
    }
    Ok(Checked { place, report })
}

/// Removes what an earlier check made.
fn forget_derived(staged: &Path) -> Result<(), Error> {
    remove(&staged.join(SEGMENTS).join(WHOLE))?;
    DERIVED
        .iter()
        .try_for_each(|name| remove(&staged.join(name)))
}

/// The directory for the copy: in the news directory, or beside its segments if they are elsewhere.
///
/// # Errors
/// The news directory cannot be read.
pub fn staging(dir: &Path) -> Result<PathBuf, Error> {
    let root = target_of(dir)?;
    let segments = target_of(&root.join(SEGMENTS));
    Ok(match segments {
        Ok(segments) if segments.parent() != Some(&*root) => segments.with_extension("reseed"),
        _ => root.join("reseed"),
    })
}

/// Whether a [`place`] was interrupted, or [`finish`] not called after it.
pub fn is_interrupted(dir: &Path, staged: &Path) -> bool {
    is_unfinished(dir) || staged.join(SEGMENTS).join(WHOLE).exists()
}

/// Whether the segments of a copy are in their place and [`finish`] was not called yet, or the old ones are away and the copy has not come.
pub fn is_unfinished(dir: &Path) -> bool {
    let here = dir.join(SEGMENTS);
    let is_between = || {
        let staged = staging(dir);
        staged.is_ok_and(|staged| staged.join(SEGMENTS).join(WHOLE).exists())
    };
    here.join(WHOLE).exists() || !here.exists() && is_between()
}

/// Marks a checked copy as whole, durably, as the first step of [`place`]: whoever calls [`go_on`] does the others. `note` is for it.
///
/// # Errors
/// An I/O error.
pub fn mark_whole(staged: &Path, note: &[u8]) -> Result<(), Error> {
    let mark = staged.join(SEGMENTS).join(WHOLE);
    replace(&RealDisk, &mark, |file| file.write_at(note, 0))?;
    sync(staged)
}

/// Removes the mark of [`mark_whole`], durably: the copy may change then.
///
/// # Errors
/// An I/O error.
pub fn unmark_whole(staged: &Path) -> Result<(), Error> {
    let segments = staged.join(SEGMENTS);
    if !segments.exists() {
        return Ok(());
    }
    remove(&segments.join(WHOLE))?;
    sync(&segments)
}

/// Goes on with an interrupted [`place`], or with what [`mark_whole`] has begun. Returns its note.
///
/// # Errors
/// An I/O error.
pub fn go_on(dir: &Path, staged: &Path) -> Result<Vec<u8>, Error> {
    let (here, there) = (dir.join(SEGMENTS), staged.join(SEGMENTS));
    let read = |path: PathBuf| {
        crate::regular::read(&path).map_err(|source| Error::io("read", &path, source))
    };
    if !here.exists() && there.join(WHOLE).exists() {
        // Killed between the two renames of a file system that cannot exchange.
        let target = target_of(&here)?;
        fs::rename(&there, &target).map_err(|source| Error::io("put in place", &target, source))?;
        sync_parent(&RealDisk, &target)?;
    }
    if is_unfinished(dir) {
        let _lock = Lock::take(dir, None)?;
        write_group_files(dir)?;
        return read(here.join(WHOLE));
    }
    let note = read(there.join(WHOLE))?;
    place(dir, staged, &note)?;
    Ok(note)
}

/// Puts a checked copy in the place of the segments of a news directory and of what is derived from them. The caller makes sure that no
/// daemon serves it, and calls [`finish`] in the end. `note` is for [`go_on`].
///
/// # Errors
/// An I/O error. The news directory then has the old segments or the new ones, and [`go_on`] does the rest.
pub fn place(dir: &Path, staged: &Path, note: &[u8]) -> Result<(), Error> {
    let _no_expire = Lock::take_named(dir, "lock.expire", true)?;
    let _lock = Lock::take(dir, None)?;
    let (here, there) = (dir.join(SEGMENTS), staged.join(SEGMENTS));
    mark_whole(staged, note)?;
    leave_objects(dir)?;
    // A program that finds none of them makes them again from the old segments.
    for name in DERIVED {
        if !KEPT.contains(&name) {
            remove(&dir.join(name))?;
        }
    }
    sync(dir)?;
    exchange(&here, &there)?;
    sync(dir)?;
    sync(staged)?;
    write_group_files(dir)?;
    let is_group_file = |name: &str| GROUP_FILES.iter().any(|file| file.name == name);
    for name in DERIVED.iter().rev().filter(|name| !is_group_file(name)) {
        let (from, to) = (staged.join(name), dir.join(name));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => remove(&to)?,
            // The segments are on another disk: the next program makes the files again.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => break,
            renamed => renamed.map_err(|source| Error::io("put in place", &to, source))?,
        }
        sync(dir)?;
    }
    Ok(())
}

/// Writes `newsgroups` and `active.times` as the new segments have them. Programs that open the news directory restore them only if they are
/// missing, and those of the old segments may be there.
fn write_group_files(dir: &Path) -> Result<(), Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let segments = Segments::of(&disk, dir);
    for file in GROUP_FILES {
        remove(&file.path(dir))?;
        let text = file.fold(&segments, dir)?;
        // Without lines, `newsgroups' is an empty file.
        if !text.is_empty() || file == NEWSGROUPS {
            file.write(&segments, dir, &text)?;
        }
    }
    sync(dir)
}

/// Notes the objects of the old segments: when these are gone, the next run of offload or expire deletes them.
fn leave_objects(dir: &Path) -> Result<(), Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let segments = Segments::of(&disk, dir);
    let mut names = Vec::new();
    for base in segments.bases()? {
        // Of a segment with a damaged header nobody knows an object.
        if let Ok(Some(header)) = segments.header(base)
            && let Some(sum) = header.object
        {
            names.push(ObjectName { base, sum });
        }
    }
    match names.is_empty() {
        true => Ok(()),
        false => unnamed::add(&segments, &names),
    }
}

/// Removes the old segments, after the copy is in their place.
///
/// # Errors
/// An I/O error.
pub fn finish(dir: &Path, staged: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(staged) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.map_err(|source| Error::io("remove", staged, source))?,
    }
    remove(&dir.join(SEGMENTS).join(WHOLE))?;
    sync(&dir.join(SEGMENTS))
}

/// Exchanges two directories; where the file system cannot, one after the other.
fn exchange(here: &Path, there: &Path) -> Result<(), Error> {
    // The link of a directory that lies elsewhere stays.
    let here = &target_of(here)?;
    let at = |source| Error::io("put the copy in the place of", here, source);
    match renameat_with(CWD, there, CWD, here, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            set_aside(here, there).map_err(at)?;
            fs::rename(there, here).map_err(at)?;
            sync_parent(&RealDisk, here)
        }
        Err(errno) => Err(at(errno.into())),
    }
}

/// Renames the old segments to a free name beside the copy, where [`finish`] removes them. An interrupted run may have left others there.
fn set_aside(here: &Path, there: &Path) -> io::Result<()> {
    let mut old = there.with_extension("old");
    for number in 1_u32.. {
        if !old.try_exists()? {
            break;
        }
        old = there.with_extension(format!("old{number}"));
    }
    fs::rename(here, old)
}

/// The file to which a path leads through symbolic links. The last one may be missing: between two renames it is.
fn target_of(path: &Path) -> Result<PathBuf, Error> {
    let at = |source| Error::io("read", path, source);
    let mut target = path.to_owned();
    for _ in 0..LINKS_MAX {
        match target.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found.map_err(at),
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = folder.canonicalize().map_err(at)?;
        let name = target.file_name().unwrap_or_default();
        let missing = folder.join(name);
        match fs::read_link(&missing) {
            Ok(link) => target = folder.join(link),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(missing),
            Err(error) => return Err(at(error)),
        }
    }
    Err(at(rustix::io::Errno::LOOP.into()))
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, source))
        }
        _ => Ok(()),
    }
}

fn sync(directory: &Path) -> Result<(), Error> {
    sync_directory(directory).map_err(|source| Error::io("sync", directory, source))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::state::group_files::GroupEdits;
    use groups::Active;
    use groups::times::GroupCreation;

    /// A news directory of a node behind an entry.
    fn node(dir: &Path, sequence: u64) {
        fs::create_dir_all(dir.join(SEGMENTS)).unwrap();
        let active = Active::parse(format!("g{sequence} 0 1 y\n").into_bytes()).unwrap();
        fs::write(dir.join("active"), active.image()).unwrap();
        let place = AppliedEntry {
            log: "l".to_owned(),
            sequence,
            chain: "-".to_owned(),
            ..AppliedEntry::default()
        };
        let mut spool = Spool::open(dir, options()).unwrap();
        let (group, text) = (format!("g{sequence}"), format!("Of {sequence}."));
        let creation = GroupCreation {
            group: group.as_bytes(),
            seconds: 7,
            creator: b"x",
        };
        let edits = GroupEdits {
            descriptions: vec![(group.as_bytes(), Some(text.as_bytes()))],
            creations: vec![creation],
            removed: vec![],
        };
        spool.edit_groups(&edits).unwrap();
        spool.follow_from(&place).unwrap();
    }

    /// That the group files are those of the node behind entry 9.
    #[track_caller]
    fn assert_group_files(dir: &Path) {
        let texts = GROUP_FILES.map(|file| fs::read_to_string(file.path(dir)).unwrap());
        assert_eq!(texts, ["g9\t\t\tOf 9.\n", "g9 7 x\n"]);
    }

    fn options() -> Options {
        Options {
            follows_log: true,
            ..Options::default()
        }
    }

    /// The entry, and whether the groups are those of that node.
    fn seen(dir: &Path) -> (u64, bool) {
        let spool = Spool::open(dir, options()).unwrap();
        let sequence = spool.applied_entry().unwrap().sequence;
        let group = format!("g{sequence}");
        (sequence, spool.active().find(group.as_bytes()).is_some())
    }

    /// A news directory at entry 5, and a checked copy at entry 9.
    fn both() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path().join("news");
        node(&dir, 5);
        let staged = staging(&dir).unwrap();
        node(&staged, 9);
        let checked = check(&staged).unwrap();
        assert_eq!((checked.place.sequence, checked.report.faults), (9, 0));
        (room, dir, staged)
    }

    #[test]
    fn it_goes_on_wherever_it_was_interrupted() {
        // After each number of removed files of the news directory, before the exchange.
        for removed in 0..=DERIVED.len() {
            let (_room, dir, staged) = both();
            fs::write(staged.join(SEGMENTS).join(WHOLE), b"a note").unwrap();
            for name in DERIVED
                .iter()
                .filter(|name| !KEPT.contains(name))
                .take(removed)
            {
                remove(&dir.join(name)).unwrap();
            }
            assert!(is_interrupted(&dir, &staged) && !is_unfinished(&dir));
            // Programs see the old articles.
            assert_eq!(seen(&dir), (5, true), "{removed}");
            assert_eq!(go_on(&dir, &staged).unwrap(), b"a note");
            assert_eq!(seen(&dir), (9, true), "{removed}");
            finish(&dir, &staged).unwrap();
            assert!(!is_interrupted(&dir, &staged) && !staged.exists());
            assert_group_files(&dir);
        }
        // After the exchange, and after each number of files that came.
        for came in 0..=DERIVED.len() {
            let (_room, dir, staged) = both();
            fs::write(staged.join(SEGMENTS).join(WHOLE), b"a note").unwrap();
            for name in DERIVED.iter().filter(|name| !KEPT.contains(name)) {
                remove(&dir.join(name)).unwrap();
            }
            exchange(&dir.join(SEGMENTS), &staged.join(SEGMENTS)).unwrap();
            for name in DERIVED.iter().rev().take(came) {
                let _ = fs::rename(staged.join(name), dir.join(name));
            }
            assert!(is_unfinished(&dir));
            assert_eq!(seen(&dir), (9, true), "{came}");
            assert_eq!(go_on(&dir, &staged).unwrap(), b"a note");
            finish(&dir, &staged).unwrap();
            assert_eq!(seen(&dir), (9, true), "{came}");
            assert!(!is_interrupted(&dir, &staged) && !staged.exists());
            assert_group_files(&dir);
        }
        // Where the segments are elsewhere: beside the news directory, or on another disk.
        let other_disk = tempfile::tempdir_in("/dev/shm");
        if other_disk.is_err() {
            eprintln!("skipped in part: /dev/shm cannot be written");
        }
        for elsewhere in [tempfile::tempdir(), other_disk].into_iter().flatten() {
            let room = tempfile::tempdir().unwrap();
            let (dir, disk) = (room.path().join("news"), elsewhere.path().join("disk"));
            node(&dir, 5);
            fs::create_dir(&disk).unwrap();
            for entry in fs::read_dir(dir.join(SEGMENTS)).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), disk.join(entry.file_name())).unwrap();
            }
            fs::remove_dir_all(dir.join(SEGMENTS)).unwrap();
            std::os::unix::fs::symlink(&disk, dir.join(SEGMENTS)).unwrap();
            let staged = staging(&dir).unwrap();
            assert_eq!(
                staged,
                elsewhere.path().canonicalize().unwrap().join("disk.reseed")
            );
            node(&staged, 9);
            check(&staged).unwrap();
            place(&dir, &staged, b"").unwrap();
            finish(&dir, &staged).unwrap();
            assert!(dir.join(SEGMENTS).is_symlink());
            assert_group_files(&dir);
            assert_eq!(seen(&dir), (9, true));
        }
    }

    /// A file system that cannot exchange two directories: the one that was here is away, and the copy has not come.
    #[test]
    fn it_goes_on_between_two_renames() {
        // No link; one that is not relative; two, one to the other.
        for links in 0..3 {
            let (room, dir, staged) = both();
            let mut target = dir.join(SEGMENTS);
            let mut staged = staged;
            for link in 0..links {
                let name = ["disk", "other"].get(link).unwrap();
                let (elsewhere, shown) = match link {
                    0 => (room.path().join(name), room.path().join(name)),
                    _ => (room.path().join(name), PathBuf::from(name)),
                };
                fs::rename(&target, &elsewhere).unwrap();
                std::os::unix::fs::symlink(shown, &target).unwrap();
                target = elsewhere;
            }
            if links > 0 {
                let beside = staging(&dir).unwrap();
                fs::rename(&staged, &beside).unwrap();
                staged = beside;
            }
            fs::write(staged.join(SEGMENTS).join(WHOLE), b"a note").unwrap();
            for name in DERIVED.iter().filter(|name| !KEPT.contains(name)) {
                remove(&dir.join(name)).unwrap();
            }
            set_aside(&target, &staged.join(SEGMENTS)).unwrap();
            assert!(!dir.join(SEGMENTS).exists());
            // Killed here.
            assert_eq!(staging(&dir).unwrap(), staged, "{links}");
            assert!(is_interrupted(&dir, &staged) && is_unfinished(&dir));
            assert_eq!(go_on(&dir, &staged).unwrap(), b"a note");
            finish(&dir, &staged).unwrap();
            assert_eq!(seen(&dir), (9, true), "{links}");
            assert_eq!(dir.join(SEGMENTS).is_symlink(), links > 0);
            assert!(!is_interrupted(&dir, &staged) && !staged.exists());
            assert_group_files(&dir);
        }
    }

    #[test]
    fn old_segments_are_set_aside_beside_others() {
        let (_room, dir, staged) = both();
        let (here, there) = (dir.join(SEGMENTS), staged.join(SEGMENTS));
        for name in ["segments.old", "segments.old1"] {
            set_aside(&here, &there).unwrap();
            assert!(staged.join(name).is_dir() && !here.exists());
            // A program made an empty directory meanwhile.
            fs::create_dir(&here).unwrap();
            fs::write(here.join("x"), b"").unwrap();
        }
    }
}
