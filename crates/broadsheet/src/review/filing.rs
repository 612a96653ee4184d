//! The reviews of what keeps articles from being filed: files that the owner of the news directory cannot use, a full disk, and newsrun that is
//! off.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use groups::size;
use relay::incoming::{Name, is_stopped};
use rustix::fs::{Access, statvfs};
use settings::{Finding, Settings};

use super::{Content, Context, Errors, counted, unit};

/// Files of the store beside segments/ that are written at each commit.
const WRITTEN: [&str; 2] = ["active", "log"];

/// The files of the store, and the space on their disk.
pub fn segments(on: &Context<'_>) -> Result<Content, Errors> {
    let segments = on.directory.file("segments");
    let mut summary = "not looked at: only the owner of the news directory can tell";
    if is_owner(on) {
        let mut paths = vec![on.root().to_owned(), segments.clone()];
        let written = WRITTEN.iter().map(|name| on.directory.file(name));
        paths.extend(written.filter(|path| path.exists()));
        paths.extend(files_of(&segments)?);
        let needed = Needed {
            access: Access::WRITE_OK,
            refusal: "cannot be written",
            consequence: "nothing can be filed",
        };
        needed.check(&paths)?;
        summary = "can be written";
    }
    let faults = store::fsck::segment_faults(on.root()).map_err(|error| error.to_string())?;
    if let Some(fault) = faults.first() {
        let more = match faults.len() - 1 {
            0 => String::new(),
            more => format!(" ({more} more)"),
        };
        return Err(format!("{fault}{more}").into());
    }
    let shortage = shortage(&segments, on.settings());
    let of_unit = unit::warning(on.root(), Path::new("/"));
    Ok(Content::new(summary).with(shortage.into_iter().chain(of_unit)))
}

/// The batches that wait, and whether newsrun files them.
pub fn incoming(on: &Context<'_>) -> Result<Content, Errors> {
    let path = on.directory.file("in.coming");
    let batches = files_of(&path)?;
    let is_batch = |path: &PathBuf| {
        let name = path.file_name();
        name.is_some_and(|name| Name::parse(name.as_bytes()).is_some())
    };
    let batches: Vec<PathBuf> = batches.into_iter().filter(is_batch).collect();
    if is_owner(on) {
        let directory = Needed {
            access: Access::WRITE_OK | Access::EXEC_OK,
            refusal: "cannot be written",
            consequence: "nothing can be filed",
        };
        directory.check(std::slice::from_ref(&path))?;
        let batch = Needed {
            access: Access::READ_OK,
            refusal: "cannot be read",
            consequence: "it is not filed",
        };
        batch.check(&batches)?;
    }
    if !is_stopped(on.root()) {
        return Ok(Content::new("newsrun files batches"));
    }
    let summary = format!("{} waiting", counted(batches.len(), "batch"));
    let warning = Finding::warning("newsrunning is off, so batches wait")
        .remedy(':', "`broadsheet newsrunning on'");
    Ok(Content::new(summary).with([warning]))
}

/// Whether this user owns the news directory; what others cannot do says nothing.
fn is_owner(on: &Context<'_>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(on.root()).is_ok_and(|metadata| metadata.uid() == own)
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
    };
    read().map_err(|error| format!("cannot be read: {error}"))
}

/// Access that the owner of the news directory needs to files.
struct Needed {
    access: Access,
    /// The words if it is missing.
    refusal: &'static str,
    consequence: &'static str,
}

impl Needed {
    /// Fails with the first path to which this user has no such access, and the number of the others.
    fn check(&self, paths: &[PathBuf]) -> Result<(), Errors> {
        let mut refused = paths.iter().filter_map(|path| {
            let error = rustix::fs::access(path, self.access).err()?;
            // A segment may be gone meanwhile, and a batch filed.
            (error != rustix::io::Errno::NOENT).then(|| (path, io::Error::from(error)))
        });
        let Some((path, error)) = refused.next() else {
            return Ok(());
        };
        let more = match refused.count() {
            0 => String::new(),
            more => format!(", nor can {}", counted(more, "other")),
        };
        let remedy = match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => "its file system is mounted read-only",
            _ => "give it back by chown or chmod",
        };
        let finding = Finding::error(format!(
            "{} {} by the owner of the news directory ({error}){more}: {}",
            path.display(),
            self.refusal,
            self.consequence
        ));
        Err(finding.remedy(';', remedy).into())
    }
}

/// A warning of a shortage of space or inodes that keeps articles from being filed.
pub fn shortage(segments: &Path, settings: &Settings) -> Option<Finding> {
    let disk = statvfs(segments).ok()?;
    if disk.f_files > 0 && disk.f_favail == 0 {
        let warning = Finding::warning("no inodes are free on this disk: nothing can be filed");
        return Some(warning.remedy(';', "remove files that are not Broadsheet's (`df -i')"));
    }
    let free = store::free_bytes(segments).ok()??;
    let (consequence, key, least) = match settings.incoming.keep_free {
        least if free < least => (
            "rnews, newsrun and inews file nothing",
            "[incoming] keep_free",
            least,
        ),
        _ => (
            "the server takes no articles",
            "[nntp] keep_free",
            settings.nntp.keep_free,
        ),
    };
    (free < least).then(|| {
        Finding::warning(format!(
            "only {} are free on this disk, less than {key} ({}): {consequence}",
            size::rough_bytes(free),
            size::bytes(least),
        ))
        .remedy(';', store::MAKE_ROOM)
    })
}
