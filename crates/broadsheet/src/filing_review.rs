//! The findings of `broadsheet check` about what keeps articles from being filed: files that the owner of the news directory cannot use,
//! a full disk, and newsrun that is off.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use groups::size;
use relay::incoming::{Name, is_stopped};
use rustix::fs::{Access, statvfs};
use settings::Settings;

use crate::directory::NewsDirectory;
use crate::{text, unit_review};

/// Files of the store beside segments/ that are written at each commit.
const WRITTEN: [&str; 2] = ["active", "log"];

/// The files of the store, and the space on their disk.
pub fn store(directory: &NewsDirectory, settings: &Settings) -> Result<String, String> {
    let segments = directory.file("segments");
    let mut told = String::from("not looked at: only the owner of the news directory can tell");
    if is_owner(directory) {
        let mut paths = vec![directory.root().to_owned(), segments.clone()];
        let written = WRITTEN.iter().map(|name| directory.file(name));
        paths.extend(written.filter(|path| path.exists()));
        paths.extend(files_of(&segments)?);
        refused(&paths, Access::WRITE_OK, "cannot be written")?;
        told = String::from("can be written");
    }
    let faults =
        store::fsck::segment_faults(directory.root()).map_err(|error| error.to_string())?;
    if let Some(fault) = faults.first() {
        let more = match faults.len() - 1 {
            0 => String::new(),
            more => format!(" ({more} more)"),
        };
        return Err(format!("{fault}{more}"));
    }
    let of_unit = unit_review::warning(directory.root(), Path::new("/"));
    for warning in space(&segments, settings).into_iter().chain(of_unit) {
        told.push_str("\n    warning: ");
        told.push_str(&warning);
    }
    Ok(told)
}

/// The batches that wait, and whether newsrun files them.
pub fn incoming(directory: &NewsDirectory) -> Result<String, String> {
    let path = directory.file("in.coming");
    let batches = files_of(&path)?;
    let is_batch = |path: &PathBuf| {
        let name = path.file_name();
        name.is_some_and(|name| Name::parse(name.as_bytes()).is_some())
    };
    let batches: Vec<PathBuf> = batches.into_iter().filter(is_batch).collect();
    if is_owner(directory) {
        refused(
            std::slice::from_ref(&path),
            Access::WRITE_OK | Access::EXEC_OK,
            "cannot be written",
        )?;
        refused_with(
            &batches,
            Access::READ_OK,
            "cannot be read",
            "it is not filed",
        )?;
    }
    Ok(match is_stopped(directory.root()) {
        false => "newsrun files batches".to_owned(),
        true => format!(
            "{} waiting\n    warning: newsrunning is off, so batches wait: `broadsheet newsrunning on'",
            match batches.len() {
                1 => "1 batch".to_owned(),
                count => format!("{count} batches"),
            }
        ),
    })
}

/// Whether this user owns the news directory; what others cannot do says nothing.
fn is_owner(directory: &NewsDirectory) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(directory.root()).is_ok_and(|facts| facts.uid() == own)
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
    };
    read().map_err(|error| format!("cannot be read: {error}"))
}

/// Reports the first path to which this user has no access, and the number of the others.
fn refused(paths: &[PathBuf], access: Access, what: &str) -> Result<(), String> {
    refused_with(paths, access, what, "nothing can be filed")
}

/// [`refused`] with another consequence in the message.
fn refused_with(
    paths: &[PathBuf],
    access: Access,
    what: &str,
    consequence: &str,
) -> Result<(), String> {
    let mut faults = paths.iter().filter_map(|path| {
        let error = rustix::fs::access(path, access).err()?;
        // A segment may be gone meanwhile, and a batch filed.
        (error != rustix::io::Errno::NOENT).then(|| (path, io::Error::from(error)))
    });
    let Some((path, error)) = faults.next() else {
        return Ok(());
    };
    let more = match faults.count() {
        0 => String::new(),
        more => format!(", nor can {}", text::counted(more as u64, "other")),
    };
    let remedy = match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "its file system is mounted read-only",
        _ => "give it back by chown or chmod",
    };
    Err(format!(
        "{} {what} by the owner of the news directory ({error}){more}: {consequence}; {remedy}",
        path.display()
    ))
}

/// The shortage of space or inodes that keeps articles from being filed.
fn space(segments: &Path, settings: &Settings) -> Option<String> {
    let disk = statvfs(segments).ok()?;
    if disk.f_files > 0 && disk.f_favail == 0 {
        let why = "no inodes are free on this disk: nothing can be filed; remove files that are not Broadsheet's (`df -i')";
        return Some(why.to_owned());
    }
    let free = store::free_bytes(segments).ok()??;
    let (what, key, least) = match settings.incoming.keep_free {
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
        format!(
            "only {} are free on this disk, less than {key} ({}): {what}; {}",
            size::rough_bytes(free),
            size::bytes(least),
            store::MAKE_ROOM
        )
    })
}
