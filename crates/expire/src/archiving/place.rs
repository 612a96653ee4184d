//! One archive of the policy, and whether it can be used.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use groups::Active;
use store::{Options, Record};

use super::Archiving;
use super::fault::CopyFault;
use super::files::Files;
use super::going::Link;
use super::second_news::SecondNews;
use crate::archive::{Archive, Layout};
use crate::policy::Policy;

/// An archive, as one run uses it.
pub struct Place<'a> {
    /// Nothing goes there in this run (any more).
    pub held: bool,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Files(Files),
    News(Box<SecondNews<'a>>),
}

impl Place<'_> {
    /// Copies an article as it leaves one group.
    pub fn copy(
        &mut self,
        link: &Link<'_>,
        record: &Record<'_>,
        native: &[u8],
    ) -> Result<(), CopyFault> {
        match &mut self.kind {
            Kind::Files(files) => files.copy(link.position, (link.group, link.number), native),
            Kind::News(news) => news.copy(record),
        }
    }

    /// Makes all that was copied sure.
    pub fn flush(&mut self) -> Result<(), CopyFault> {
        match &mut self.kind {
            Kind::Files(files) => files.flush(),
            Kind::News(news) => news.flush(),
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

/// By the line of each rule that archives, the place of its archive among [`archives`].
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

/// Gets an archive ready; nothing is made or opened yet.
pub fn open<'a>(
    archive: &Archive,
    news: &Path,
    (policy, active): (&Policy, &Active),
    options: Options,
    archiving: &Archiving<'a>,
) -> Place<'a> {
    let root = path_of(archive, news);
    let kind = match archive.layout {
        Layout::Tree => Kind::Files(Files::new(root, false)),
        Layout::Flat => Kind::Files(Files::new(root, true)),
        Layout::Segments => {
            let archives = |id: &groups::GroupId| {
                let rule = policy.rule(*id);
                rule.is_some_and(|rule| rule.archive.as_ref() == Some(archive))
            };
            let ids = active.ids().filter(archives);
            let groups = ids.map(|id| active.name(id).to_vec()).collect();
            let news = SecondNews::new(root, options, groups, archiving.make);
            Kind::News(Box::new(news))
        }
    };
    Place { held: false, kind }
}

/// Why an archive cannot be used, in a sentence: as C News, its directory must be there and be writable. One that is a news
/// directory is made when it is missing, but not what it lies in.
pub fn fault_of(archive: &Archive, news: &Path) -> Option<String> {
    let root = path_of(archive, news);
    let shown = root.display();
    let is_news = archive.layout == Layout::Segments;
    let parent = root.parent().filter(|_| is_news && !root.exists());
    let needed = parent.unwrap_or(&root);
    if !needed.is_dir() {
        return Some(format!(
            "the archive directory {} does not exist: make it, or mount it",
            needed.display()
        ));
    }
    if rustix::fs::access(needed, rustix::fs::Access::WRITE_OK).is_err() {
        return Some(format!(
            "the archive directory {} cannot be written: run as its owner",
            needed.display()
        ));
    }
    let same = |a: &Path, b: &Path| Some(a.canonicalize().ok()? == b.canonicalize().ok()?);
    if is_news && same(&root, news) == Some(true) {
        return Some(format!(
            "the archive {shown} is the news directory itself: name another in [expiry] archive_directory"
        ));
    }
    None
}

fn path_of(archive: &Archive, news: &Path) -> PathBuf {
    news.join(OsStr::from_bytes(&archive.path))
}
