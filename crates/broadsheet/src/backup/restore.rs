//! Makes a news directory of a backup.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use groups::Active;
use groups::active::{NUMBER_MAX, READABLE_NUMBER_MAX};
use store::disk::RealDisk;
use store::offload::{SegmentPlace, place_of_copy};
use store::{AppliedEntry, Lock, Spool, regular};

use crate::directory::SUBDIRECTORIES;
use crate::new_directory::must_be_new;
use crate::progress::Progress;

use super::contents::{Checksum, Contents, is_damage};
use super::manifest::{self, Entry, Manifest};

/// The list of groups.
const ACTIVE: &str = "active";
/// The directory of secrets, which only its owner may open.
const KEYS: &str = "keys";

/// Finds a backup: of this time, or the newest.
///
/// # Errors
/// There is none, or its list is damaged.
pub fn find(backups: &Path, at: Option<i64>) -> anyhow::Result<Manifest> {
    let times = manifest::times(backups)?;
    let found = match at {
        Some(at) => times.contains(&at).then_some(at),
        None => times.last().copied(),
    };
    let Some(time) = found else {
        let known: Vec<String> = times.iter().map(i64::to_string).collect();
        bail!(
            "{} has no such backup; it has {}",
            backups.display(),
            match known.is_empty() {
                true => "none".to_owned(),
                false => known.join(", "),
            }
        );
    };
    Manifest::read(&backups.join(Manifest::name(time)))
}

/// The result of comparing a backup with its checksums.
pub struct Verified {
    /// The faults, with the paths of the files.
    pub faults: Vec<String>,
    /// The damaged contents were set aside, and the next backup copies these files again. The error, if that was not possible; `None` if
    /// there are none.
    pub set_aside: Option<anyhow::Result<()>>,
}

/// Compares all contents of a backup with their checksums, and sets the damaged ones aside.
pub fn verify(backups: &Path, manifest: &Manifest) -> Verified {
    let contents = Contents::of(backups);
    let (mut faults, mut damaged) = (Vec::new(), BTreeSet::new());
    let progress = Progress::of_bytes("verifying", bytes_of(manifest));
    for entry in &manifest.entries {
        progress.advance(entry.size);
        if let Err(error) = contents.verify(&entry.checksum, entry.size) {
            faults.push(format!("{}: {error}", entry.path.display()));
            if is_damage(&error) {
                damaged.insert((entry.checksum, entry.size));
            }
        }
    }
    drop(progress);
    let set_aside = (!damaged.is_empty()).then(|| set_aside(backups, &contents, damaged));
    Verified { faults, set_aside }
}

fn bytes_of(manifest: &Manifest) -> u64 {
    manifest.entries.iter().map(|entry| entry.size).sum()
}

/// A backup that runs now may rely on the damaged contents: it holds the lock.
fn set_aside(
    backups: &Path,
    contents: &Contents,
    damaged: BTreeSet<(Checksum, u64)>,
) -> anyhow::Result<()> {
    let _alone = Lock::take_named(backups, "lock", false)?;
    // One that ended meanwhile may have replaced them.
    let mut damaged: Vec<(Checksum, u64)> = damaged.into_iter().collect();
    damaged.retain(|(checksum, size)| {
        let found = contents.verify(checksum, *size);
        found.is_err_and(|error| is_damage(&error))
    });
    let damaged: Vec<Checksum> = damaged.into_iter().map(|(checksum, _)| checksum).collect();
    contents
        .set_aside(&damaged)
        .with_context(|| format!("cannot write in {}", backups.display()))
}

/// The objects that a backup depends on.
#[derive(Debug, Default)]
pub struct NeededObjects {
    /// The number of objects.
    pub count: u64,
    /// The missing ones, as messages.
    pub missing: Vec<String>,
    /// Why the object store could not be asked.
    pub failure: Option<String>,
}

/// Asks the object store of the settings in a backup for the objects that its segments name.
pub fn find_objects(backups: &Path, manifest: &Manifest) -> NeededObjects {
    let contents = Contents::of(backups);
    let is_art = |entry: &&Entry| {
        entry.path.starts_with("segments") && entry.path.extension().is_some_and(|end| end == "art")
    };
    let arts = manifest.entries.iter().filter(is_art);
    // `backup` reported a damaged header.
    let place = |entry: &Entry| {
        place_of_copy(&contents.path(&entry.checksum))
            .ok()
            .flatten()
    };
    let needed: Vec<(&Entry, SegmentPlace)> = arts
        .filter_map(|entry| Some((entry, place(entry)?)))
        .collect();
    let mut found = NeededObjects {
        count: needed.len() as u64,
        ..NeededObjects::default()
    };
    if needed.is_empty() {
        return found;
    }
    if let Err(error) = connect_to_check(&contents, manifest, backups) {
        found.failure = Some(format!("{error:#}"));
        return found;
    }
    for (entry, place) in &needed {
        let mut asked = [place.clone()];
        let checked = store::offload::check(backups, &mut asked);
        let fault = asked.into_iter().find_map(|place| place.fault);
        if let Some(fault) = fault {
            let what = format!("{}: {fault}", entry.path.display());
            found.missing.push(what);
            continue;
        }
        match checked {
            Ok(lost) if lost.is_empty() => {}
            Ok(_) => found.missing.push(format!(
                "{}: the object store does not have {}, or not all of it",
                entry.path.display(),
                place.object.as_deref().unwrap_or_default()
            )),
            // Each question may take as long as its timeout.
            Err(error) => {
                found.failure = Some(error.to_string());
                break;
            }
        }
    }
    found
}

/// Connects to the object store of the settings in a backup, of which nothing is restored.
fn connect_to_check(
    contents: &Contents,
    manifest: &Manifest,
    backups: &Path,
) -> anyhow::Result<()> {
    let entry_of = |path: &Path| manifest.entries.iter().find(|entry| entry.path == path);
    let entry = entry_of(Path::new(settings::FILE)).context("the backup has no settings")?;
    let path = contents.path(&entry.checksum);
    let text = regular::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let Ok(read) = settings::Read::parse(&entry.path, text) else {
        bail!("{} in the backup has errors", settings::FILE);
    };
    let directory = settings::NewsDirectory::at(backups);
    let mut location = read.settings.object_location(&directory);
    location.news = None;
    // The files of the news directory are under their checksums.
    let bucket = &mut location.bucket;
    for file in std::iter::once(&mut bucket.login).chain(&mut bucket.trust.ca) {
        let entry = file.strip_prefix(backups).ok().and_then(entry_of);
        if let Some(entry) = entry {
            *file = contents.path(&entry.checksum);
        }
    }
    store::offload::connect(backups, objects::connect(&location)?);
    Ok(())
}

/// Whether a backup is of a node of a cluster, which takes the marks of its groups from the log.
pub fn is_of_node(manifest: &Manifest) -> bool {
    let place = Path::new(AppliedEntry::FILE);
    manifest.entries.iter().any(|entry| entry.path == place)
}

/// Restores a backup into a new directory, and raises the high mark of each group by `gap`: numbers that articles got after the backup are not
/// given again. Those of a node stay ([`is_of_node`]).
///
/// # Errors
/// The directory is not new, the backup is damaged, or a file cannot be written.
pub fn restore(
    backups: &Path,
    manifest: &Manifest,
    root: &Path,
    gap: u64,
) -> anyhow::Result<store::Rebuilt> {
    must_be_new(root)?;
    let contents = Contents::of(backups);
    let gap = if is_of_node(manifest) { 0 } else { gap };
    check_gap(&contents, manifest, gap)?;
    fill(&contents, manifest, root, gap).with_context(|| {
        format!(
            "{} is not a whole news directory: remove it before you try again, or with another backup (--at)",
            root.display()
        )
    })
}

fn fill(
    contents: &Contents,
    manifest: &Manifest,
    root: &Path,
    gap: u64,
) -> anyhow::Result<store::Rebuilt> {
    let mut directories = vec![root.to_owned()];
    make(root)?;
    for name in SUBDIRECTORIES {
        make(&root.join(name))?;
    }
    make(&root.join(KEYS))?;
    // The settings come last: a directory that has them is whole.
    let progress = Progress::of_bytes("restoring", bytes_of(manifest));
    let is_settings = |entry: &&Entry| entry.path == Path::new(settings::FILE);
    for entry in manifest.entries.iter().filter(|entry| !is_settings(entry)) {
        let path = root.join(&entry.path);
        let parent = path.parent().unwrap_or(root).to_owned();
        if directories.last() != Some(&parent) {
            make(&parent)?;
            directories.push(parent);
        }
        write(contents, entry, &path)?;
        progress.advance(entry.size);
    }
    drop(progress);
    for directory in &directories {
        sync(directory)?;
    }
    for entry in manifest.entries.iter().filter(is_settings) {
        connect(contents, entry, root)?;
    }
    let rebuilt = rebuild(root)?;
    raise(root, gap)?;
    // No backup has it.
    store::Reserve::of_expire(root).create();
    for entry in manifest.entries.iter().filter(is_settings) {
        write(contents, entry, &root.join(&entry.path))?;
    }
    sync(root)?;
    Ok(rebuilt)
}

/// Connects to the object store of the settings in a backup, if they name one: the articles of some segments are there.
fn connect(contents: &Contents, entry: &Entry, root: &Path) -> anyhow::Result<()> {
    let path = root.join("restoring");
    write(contents, entry, &path)?;
    let text = regular::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    let directory = settings::NewsDirectory::at(root);
    // Settings with errors are restored as well.
    if let Ok(read) = settings::Read::parse(&entry.path, text)
        && let Ok(connection) = objects::connect(&read.settings.object_location(&directory))
    {
        store::offload::connect(root, connection);
    }
    Ok(())
}

fn make(directory: &Path) -> anyhow::Result<()> {
    let mode = match directory.ends_with(KEYS) {
        true => 0o700,
        false => 0o750,
    };
    store::make_directories(directory, mode)
        .with_context(|| format!("cannot create {}", directory.display()))
}

fn sync(directory: &Path) -> anyhow::Result<()> {
    store::sync_directory(directory).with_context(|| format!("cannot sync {}", directory.display()))
}

fn write(contents: &Contents, entry: &Entry, path: &Path) -> anyhow::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(entry.mode)
        .open(path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    contents
        .fetch((&entry.checksum, entry.size), &mut file)
        .with_context(|| format!("cannot restore {}", path.display()))
}

/// Rebuilds what is derived. An `active` that has lost groups is made again from the log.
fn rebuild(root: &Path) -> anyhow::Result<store::Rebuilt> {
    match store::rebuild(root) {
        Err(store::Error::Active { .. }) => {}
        done => return Ok(done?),
    }
    let path = root.join(ACTIVE);
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    let mut rebuilt = store::rebuild(root)?;
    let damaged = "`active' of the backup is damaged or cut".to_owned();
    rebuilt.notices.insert(0, damaged);
    Ok(rebuilt)
}

/// Raises the high marks, which are at least those of the log by now, and has the store take them up.
fn raise(root: &Path, gap: u64) -> anyhow::Result<()> {
    if gap == 0 {
        return Ok(());
    }
    let path = root.join(ACTIVE);
    let text = regular::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let active = raised(Active::parse(text)?, gap)?;
    store::replace(&RealDisk, &path, |file| file.write_at(active.image(), 0))?;
    Spool::open(root, store::Options::default())?;
    Ok(())
}

/// Refuses a gap that is too large for the `active` of a backup, before anything is written. If it cannot be used, it is made again later.
fn check_gap(contents: &Contents, manifest: &Manifest, gap: u64) -> anyhow::Result<()> {
    let mut entries = manifest.entries.iter();
    let Some(entry) = entries.find(|entry| entry.path == Path::new(ACTIVE)) else {
        return Ok(());
    };
    let path = contents.path(&entry.checksum);
    let verified = contents.verify(&entry.checksum, entry.size);
    let text = verified.and_then(|()| regular::read(&path));
    let text = text.with_context(|| format!("the backup is damaged: {}", path.display()))?;
    match Active::parse(text) {
        Ok(active) => raised(active, gap).map(drop),
        Err(_) => Ok(()),
    }
}

/// The table with its high marks raised by `gap`.
fn raised(mut active: Active, gap: u64) -> anyhow::Result<Active> {
    let groups: Vec<_> = active.ids().collect();
    for group in groups {
        let high = active.high(group).saturating_add(gap);
        // A group that is above it already has readers that can use such numbers.
        let most = match active.high(group) {
            0..=READABLE_NUMBER_MAX => READABLE_NUMBER_MAX,
            _ => NUMBER_MAX,
        };
        if high > most {
            bail!(
                "the high mark of {} would be {high}, above the highest number of an article, {most} (RFC 3977, 6): use a smaller --gap",
                groups::shown(active.name(group))
            );
        }
        active.set_high(group, high);
    }
    Ok(active)
}
