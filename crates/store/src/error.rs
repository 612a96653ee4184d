//! What can go wrong in the store, and whose fault it is.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Position;

/// An error of the store. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory has no `segments`: it is not a news directory.
    #[error("{dir} is not a news directory: make one with `broadsheet init --dir {dir} --active FILE`", dir = .0.display())]
    NotANewsDirectory(PathBuf),
    /// The directory belongs to a cluster, and the caller does not follow its log.
    #[error("{} belongs to a cluster: only its daemon changes it, by the log of the cluster; start `broadsheet serve' if it does not run (docs/book/cluster.md names the commands that no node takes)", .0.display())]
    OfCluster(PathBuf),
    /// Another program holds the lock and the caller did not want to wait.
    #[error("{} is locked by another program; wait for it to end", .0.display())]
    Locked(PathBuf),
    /// The operating system refused. `doing` is a verb phrase.
    #[error("cannot {doing} {}: {source}{}", path.display(), hint(doing, path, source))]
    Io {
        /// What was being done, as a verb phrase.
        doing: &'static str,
        /// The file it was done to.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A file of ours does not hold what its checksum or its form promises.
    #[error("{} is damaged at byte {offset}: {what}; run `broadsheet fsck --repair`", path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The file of a segment has the name of another one.
    #[error("{} is the file of another segment, which belongs to {}: give the files of segments their right names; nothing was changed", path.display(), right.display())]
    WrongName {
        /// The file.
        path: PathBuf,
        /// The name that it should have.
        right: PathBuf,
    },
    /// A file of ours was written by a newer release.
    #[error("{} has format version {found}; this release reads up to {known}: use a newer broadsheet", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it has.
        found: u16,
        /// The newest version we know.
        known: u16,
    },
    /// An earlier commit failed, so what is in core no longer matches the disk.
    #[error(
        "filing stopped after an earlier failure; start again: recovery keeps all that was committed"
    )]
    Stopped,
    /// One record does not fit in a segment.
    #[error(
        "an article of {bytes} bytes does not fit in a segment of {segment_bytes}; raise store.segment_bytes"
    )]
    TooLarge {
        /// The size of the record, bytes.
        bytes: u64,
        /// The room in an empty segment, bytes.
        segment_bytes: u64,
    },
    /// The active file cannot be used.
    #[error("{}: {what}", path.display())]
    Active {
        /// The file.
        path: PathBuf,
        /// Its fault, with the line number.
        what: String,
    },
    /// A group cannot be added or changed.
    #[error(transparent)]
    Group(#[from] groups::AddGroupError),
    /// The article is in the object store, and the caller must not wait for it.
    #[error("the article at position {} is in the object store", .0.0)]
    Offloaded(Position),
    /// The object store does not answer, or refuses. What is on this machine stays readable.
    #[error(
        "cannot {doing} {object} in the object store: {source}; check `[offload]' and the store, then try again"
    )]
    ObjectStore {
        /// What was being done, as a verb phrase.
        doing: &'static str,
        /// The name of the object.
        object: String,
        /// The answer.
        source: io::Error,
    },
    /// The object store does not have an object that a segment names, or not all of it. It may have it again later, so nothing may be given up
    /// for it.
    #[error(
        "the object store does not have {object}, or not all of it, and the articles of {} are there: put it back. If it is lost for good, docs/book/offload.md says how to give them up",
        path.display()
    )]
    LostObject {
        /// The file of the segment.
        path: PathBuf,
        /// The name of the object.
        object: String,
    },
    /// The articles of a segment are in the object store, and the header of its file, which names the object, is damaged.
    #[error("{}: {what}", path.display())]
    UnknownObject {
        /// The file of the segment.
        path: PathBuf,
        /// The damage, and what to do.
        what: String,
    },
    /// Nothing is stored at this position (any more).
    #[error("no article at position {}", .0.0)]
    NoArticle(Position),
}

/// What an administrator does on a full disk.
pub const MAKE_ROOM: &str = "make room (`broadsheet expire' may have space to give back)";

/// How the actions begin that only read.
const READS: [&str; 5] = ["read", "open", "map", "list", "look"];

fn hint(doing: &str, path: &Path, source: &io::Error) -> String {
    let fixed = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            return format!("; {MAKE_ROOM} and try again: what was committed stays");
        }
        _ if is_unreadable(source) && !READS.iter().any(|read| doing.starts_with(read)) => {
            "; the disk may fail: look into the log of the system before you try again. What was committed stays"
        }
        _ if is_unreadable(source) => {
            "; the disk cannot read it: look into the log of the system, then run `broadsheet fsck --repair`, which steps over it"
        }
        io::ErrorKind::ReadOnlyFilesystem if is_only_mount_read_only(path) => {
            "; the file system can be written, but not by this process: a service may write only below its ReadWritePaths (`systemctl edit \
             broadsheet`)"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; if nobody meant it so, look into the log of the system: its disk may fail. `broadsheet backup` works there, too"
        }
        io::ErrorKind::PermissionDenied => return format!("; {}", permission_hint(path)),
        _ => "",
    };
    fixed.to_owned()
}

/// Whether the file system of a path can be written, and only the mount through which this process sees it cannot: as the kernel tells in
/// `/proc/self/mountinfo`, with the options of the mount in the sixth field and those of the file system in the third behind ` - `.
fn is_only_mount_read_only(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let number = |path: &Path| statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok();
    let Some(found) = number(path).or_else(|| number(path.parent()?)) else {
        return false;
    };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let start = format!("{} ", found.stx_mnt_id);
    let line = mounts.lines().find(|line| line.starts_with(&start));
    let is = |option: &str, options: Option<&str>| {
        options.is_some_and(|options| options.split(',').any(|known| known == option))
    };
    line.and_then(|line| line.split_once(" - "))
        .is_some_and(|(mount, file_system)| {
            is("ro", mount.split(' ').nth(5)) && is("rw", file_system.split(' ').nth(2))
        })
}

/// What helps when this user may not use a file of the news directory: another user, or the file's owner again.
pub fn permission_hint(path: &Path) -> &'static str {
    let own = rustix::process::geteuid().as_raw();
    let is_own = |path: &Path| std::fs::metadata(path).is_ok_and(|facts| facts.uid() == own);
    let is_read_only =
        |path: &Path| std::fs::metadata(path).is_ok_and(|facts| facts.mode() & 0o200 == 0);
    match (path.parent().is_some_and(is_own), is_own(path)) {
        (true, false) => {
            "it belongs to another user: give it back to the owner of the news directory (chown)"
        }
        (true, true) if is_read_only(path) => {
            "it is read-only: let its owner write to it (chmod u+w)"
        }
        _ => "run as the owner of the news directory",
    }
}

/// What is told of a place that the disk cannot read.
pub(crate) const UNREADABLE: &str = "the disk cannot read it";

/// True when an error says that the disk cannot read this place, and not that something is wrong with the call or the file.
pub fn is_unreadable(source: &io::Error) -> bool {
    use rustix::io::Errno;
    // EIO of most file systems; that of the block layer for a bad sector; checksums of XFS and ext4; integrity data.
    [
        Errno::IO,
        Errno::NODATA,
        Errno::BADMSG,
        Errno::UCLEAN,
        Errno::REMOTEIO,
        Errno::ILSEQ,
    ]
    .iter()
    .any(|errno| source.raw_os_error() == Some(errno.raw_os_error()))
}

impl Error {
    /// The disk cannot read a place of a file: damage of what lies there.
    pub(crate) fn unreadable(path: &Path, offset: u64) -> Error {
        Error::Damaged {
            path: path.to_owned(),
            offset,
            what: UNREADABLE,
        }
    }

    /// Whether the disk cannot read what was asked for, which may be as it was.
    pub fn is_unreadable(&self) -> bool {
        match self {
            Error::Damaged { what, .. } => *what == UNREADABLE,
            Error::Io { source, .. } => is_unreadable(source),
            _ => false,
        }
    }

    /// Wraps a system error with what was being done to which file. An error of the object store that the reading of a segment brought stays
    /// what it is.
    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> Error {
        match source.downcast::<Error>() {
            Ok(error) => error,
            Err(source) => Error::Io {
                doing,
                path: path.to_owned(),
                source,
            },
        }
    }

    /// Whether articles in the object store cannot be reached now: it does not answer, or it lacks an object, or nobody knows which one.
    pub fn is_of_object_store(&self) -> bool {
        matches!(
            self,
            Error::ObjectStore { .. } | Error::LostObject { .. } | Error::UnknownObject { .. }
        )
    }

    /// True if the object store answers, and one object cannot be used: it is archived, or the answer makes no sense.
    pub fn is_of_one_object(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, ResourceBusy};
        matches!(self, Error::ObjectStore { source, .. }
            if matches!(source.kind(), InvalidData | ResourceBusy))
    }

    /// True when the disk (or quota) is full: the same batch can be given again after space returns.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Error::Io { source, .. }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unreadable_file_is_one_for_repair() {
        let of = |doing, errno: rustix::io::Errno| {
            Error::io(doing, Path::new("segments/0.art"), errno.into()).to_string()
        };
        for doing in ["read", "read the length of", "open", "map"] {
            assert!(of(doing, rustix::io::Errno::IO).contains("fsck --repair"));
        }
        for doing in ["write", "sync", "cut", "put in place", "remove"] {
            let told = of(doing, rustix::io::Errno::IO);
            assert!(!told.contains("fsck"), "{told}");
            assert!(told.contains("look into the log of the system"), "{told}");
        }
        let told = of("write", rustix::io::Errno::NOSPC);
        assert!(
            told.contains("make room") && !told.contains("batch"),
            "{told}"
        );
    }
}
