//! One archive of the policy, and the check whether it is usable.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use groups::Active;
use store::{Options, Record};

use super::Archiving;
use super::archive_links::ArchiveLink;
use super::copy_error::CopyError;
use super::file_archive::FileArchive;
use super::known_archives::KnownArchives;
use super::news_archive::NewsArchive;
use crate::archive::{Archive, Layout};
use crate::policy::Policy;

/// An archive during a run.
pub struct ArchiveTarget<'a> {
    /// Whether nothing (more) is copied there in this run.
    pub held: bool,
    kind: TargetKind<'a>,
}

enum TargetKind<'a> {
    Files(FileArchive),
    News(Box<NewsArchive<'a>>),
}

impl ArchiveTarget<'_> {
    /// Copies an article for one of its groups.
    pub fn copy(
        &mut self,
        link: &ArchiveLink<'_>,
        record: &Record<'_>,
        native: &[u8],
    ) -> Result<(), CopyError> {
        match &mut self.kind {
            TargetKind::Files(files) => {
                files.copy(link.position, (link.group, link.number), native)
            }
            TargetKind::News(news) => news.copy(record),
        }
    }

    /// Makes all copies durable.
    pub fn flush(&mut self) -> Result<(), CopyError> {
        match &mut self.kind {
            TargetKind::Files(files) => files.flush(),
            TargetKind::News(news) => news.flush(),
        }
    }
}

/// The archives of a policy, each once.
pub fn archives(policy: &Policy) -> Vec<&Archive> {
    let mut found: Vec<&Archive> = Vec::new();
    for archive in policy.rules().filter_map(|rule| rule.archive.as_ref()) {
        if !found.contains(&archive) {
            found.push(archive);
        }
    }
    found
}

/// Maps the line number of each rule with an archive to the index of the archive in [`archives`].
pub fn by_rule(policy: &Policy) -> HashMap<usize, usize> {
    let archives = archives(policy);
    policy
        .rules()
        .filter_map(|rule| {
            let own = rule.archive.as_ref()?;
            Some((rule.line, archives.iter().position(|known| *known == own)?))
        })
        .collect()
}

/// Prepares an archive; creates and opens nothing yet.
pub fn open<'a>(
    archive: &Archive,
    news: &Path,
    (policy, active): (&Policy, &Active),
    options: Options,
    archiving: &Archiving<'a>,
) -> ArchiveTarget<'a> {
    let root = path_of(archive, news);
    let kind = match archive.layout {
        Layout::Tree => TargetKind::Files(FileArchive::new(root, false)),
        Layout::Flat => TargetKind::Files(FileArchive::new(root, true)),
        Layout::Segments => {
            let archives = |id: &groups::GroupId| {
                let rule = policy.rule(*id);
                rule.is_some_and(|rule| rule.archive.as_ref() == Some(archive))
            };
            let ids = active.ids().filter(archives);
            let groups = ids.map(|id| active.name(id).to_vec()).collect();
            let news = NewsArchive::new(root, options, groups, archiving);
            TargetKind::News(Box::new(news))
        }
    };
    ArchiveTarget { held: false, kind }
}

/// The directories in a news directory that are its own.
const OWN_DIRECTORIES: &[&str] = &[
    "segments",
    "feeds",
    "in.coming",
    "bad",
    "mail.queue",
    "keys",
    "pull",
    "mounts",
    "figures",
    "reseed",
    "cluster.settings",
];

/// Whether an archive has any content.
pub fn has_content(archive: &Archive, news: &Path) -> bool {
    is_empty(&path_of(archive, news)) == Some(false)
}

/// Returns a message if an archive is unusable: as in C News, its directory must exist and be writable. A missing archive that is
/// a news directory is created, but its parent directory must exist. One that had articles and has none now is not mounted.
pub fn check_archive(archive: &Archive, news: &Path, known: &KnownArchives) -> Option<String> {
    let root = path_of(archive, news);
    let shown = root.display();
    let is_news = archive.layout == Layout::Segments;
    if known.has(&archive.path) && is_empty(&root) == Some(true) {
        return Some(format!(
            "the archive {shown} is missing or empty, and had articles before: mount its disk (or, if it is meant to begin anew, remove its line from {})",
            known.path().display()
        ));
    }
    let parent = root.parent().filter(|_| is_news && !root.exists());
    let needed = parent.unwrap_or(&root);
    if !needed.is_dir() {
        return Some(format!(
            "the archive directory {} does not exist: create it, or mount it",
            needed.display()
        ));
    }
    if rustix::fs::access(needed, rustix::fs::Access::WRITE_OK).is_err() {
        return Some(format!(
            "the archive directory {} is not writable: run as its owner",
            needed.display()
        ));
    }
    let real = |path: &Path| path.canonicalize().ok();
    let place = real(needed);
    if root.exists() && place == real(news) {
        return Some(format!(
            "the archive {shown} is the news directory itself: archive to another directory"
        ));
    }
    let is_inside = |own: &&&str| match (&place, real(&news.join(own))) {
        (Some(place), Some(own)) => place.starts_with(own),
        _ => false,
    };
    if let Some(own) = OWN_DIRECTORIES.iter().find(is_inside) {
        return Some(format!(
            "the archive {shown} is in `{own}' of the news directory, which is for nothing else: archive to another directory (a second news directory is \
             `archive = \"segments\"' of [[expire]])"
        ));
    }
    if is_news
        && root.exists()
        && !store::is_news_directory(&root)
        && is_empty(&root) == Some(false)
    {
        return Some(format!(
            "the archive {shown} is neither a news directory nor empty: set another [expiry] archive_directory, or move away what is there"
        ));
    }
    None
}

/// Whether a directory has no entries, or does not exist. `None`: this thread may not read it (a confined one of the daemon).
fn is_empty(directory: &Path) -> Option<bool> {
    match std::fs::read_dir(directory) {
        Ok(mut entries) => Some(entries.next().is_none()),
        Err(error) => (error.kind() == std::io::ErrorKind::NotFound).then_some(true),
    }
}

fn path_of(archive: &Archive, news: &Path) -> PathBuf {
    news.join(OsStr::from_bytes(&archive.path))
}
