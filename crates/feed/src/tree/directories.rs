//! The directories of a tree: descriptors kept open in a name cache.
//!
//! A descriptor of a directory that was removed, moved or made again must never be written through. So each pass compares a descriptor
//! with its name before it uses it for the first time; one that differs is removed from the cache, and with its capability the names of
//! everything below it die. Within a pass the system tells: nothing can be created in a directory that was removed.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use namei::{NameCache, Node};
use rustix::fs::{AtFlags, Mode, OFlags, fstat, mkdirat, open, openat, statat, syncfs, unlinkat};
use rustix::io::Errno;

use super::{DIRECTORIES_MAX, DIRECTORY_NAMES_MAX, path_of};
use crate::error::Error;

/// Rights of new directories, before the umask.
const NEW_DIRECTORY: u32 = 0o777;

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    /// Device and inode.
    identity: (u64, u64),
    /// The last pass that compared it with its name.
    compared: Cell<u64>,
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The directories of one tree.
#[derive(Debug)]
pub struct Directories {
    path: Rc<Path>,
    top: (Node, Rc<Directory>),
    cache: NameCache<Rc<Directory>>,
    pass: u64,
    /// A descriptor of each file system that was used since the last sync, by its device. It is opened before anything is written:
    /// `syncfs` reports the errors since then.
    used: Vec<(u64, OwnedFd)>,
}

impl Directories {
    /// Opens the top directory of a tree.
    pub fn open(path: &Path) -> Result<Directories, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = open(path, flags, Mode::empty())
            .and_then(|descriptor| Directory::new(descriptor, 0))
            .map_err(|error| Error::io("open", path)(error.into()))?;
        let top = Rc::new(opened);
        let mut cache = NameCache::new(DIRECTORY_NAMES_MAX, DIRECTORIES_MAX);
        Ok(Directories {
            path: path.into(),
            top: (cache.add(top.clone()), top),
            cache,
            pass: 0,
            used: Vec::new(),
        })
    }

    /// The path of the tree.
    pub fn path(&self) -> Rc<Path> {
        self.path.clone()
    }

    /// The top directory.
    pub fn top(&mut self) -> (Node, Rc<Directory>) {
        // It may have lost its place to others.
        if self.cache.content(self.top.0).is_none() {
            self.top.0 = self.cache.add(self.top.1.clone());
        }
        self.top.clone()
    }

    /// Whether the path still leads to this tree.
    pub fn is_current(&self) -> bool {
        let told = rustix::fs::stat(&*self.path);
        told.is_ok_and(|told| (told.st_dev, told.st_ino) == self.top.1.identity)
    }

    /// Begins a pass: every descriptor is compared with its name again before it is used.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
    }

    /// The directory of a group, to write in it; makes it if it is missing.
    pub fn made(&mut self, group: &[u8]) -> Result<Rc<Directory>, Error> {
        let found = self.find(group, true);
        found
            .map(|(_, directory)| directory)
            .map_err(|fault| self.error(group, fault))
    }

    /// The directory of a group, if there is one.
    pub fn found(&mut self, group: &[u8]) -> Result<Option<Rc<Directory>>, Error> {
        match self.find(group, false) {
            Ok((_, directory)) => Ok(Some(directory)),
            Err((_, Errno::NOENT | Errno::NOTDIR)) => Ok(None),
            Err(fault) => Err(self.error(group, fault)),
        }
    }

    /// Removes the directory of a group if it is empty, and then those above it.
    pub fn remove_empty(&mut self, group: &[u8]) {
        let (above, name) = match memchr::memrchr(b'.', group) {
            Some(dot) => (group.get(..dot), group.get(dot + 1..).unwrap_or_default()),
            None => (None, group),
        };
        let parent = match above {
            Some(above) => self.find(above, false),
            None => Ok(self.top()),
        };
        if let Ok((node, parent)) = parent
            && unlinkat(&parent, name, AtFlags::REMOVEDIR).is_ok()
        {
            // Nobody finds the descriptor by its name any more, nor those below it.
            if let Some(known) = self.cache.find(node, name) {
                self.cache.remove(known);
            }
            if let Some(above) = above {
                self.remove_empty(above);
            }
        }
    }

    /// The error of the system, and the end of the part of the name at which it occurred.
    fn find(&mut self, group: &[u8], make: bool) -> Result<(Node, Rc<Directory>), (usize, Errno)> {
        let mut at = self.top();
        let mut end = 0;
        for part in group.split(|&byte| byte == b'.') {
            end += part.len() + 1;
            at = self
                .child(&at, part, make)
                .map_err(|error| (end - 1, error))?;
        }
        let device = at.1.identity.0;
        if self.used.iter().all(|(known, _)| *known != device) {
            let descriptor = for_sync(&at.1).map_err(|error| (end - 1, error))?;
            self.used.push((device, descriptor));
        }
        Ok(at)
    }

    /// A directory in another one.
    fn child(
        &mut self,
        (parent_node, parent): &(Node, Rc<Directory>),
        name: &[u8],
        make: bool,
    ) -> rustix::io::Result<(Node, Rc<Directory>)> {
        if let Some(node) = self.cache.find(*parent_node, name)
            && let Some(known) = self.cache.content(node).cloned()
        {
            if known.compared.get() == self.pass || known.is_named(parent, name) {
                known.compared.set(self.pass);
                return Ok((node, known));
            }
            self.cache.remove(node);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || openat(parent, name, flags, Mode::empty());
        let mut opened = open();
        if matches!(opened, Err(Errno::MFILE | Errno::NFILE)) {
            // Fewer open directories have to do.
            self.cache.purge();
            opened = open();
        }
        let descriptor = match opened {
            Err(Errno::NOENT) if make => {
                match mkdirat(parent, name, Mode::from_raw_mode(NEW_DIRECTORY)) {
                    Ok(()) | Err(Errno::EXIST) => open(),
                    Err(error) => Err(error),
                }
            }
            opened => opened,
        }?;
        let directory = Rc::new(Directory::new(descriptor, self.pass)?);
        let node = self.cache.add(directory.clone());
        self.cache.enter(*parent_node, name, node);
        Ok((node, directory))
    }

    fn error(&self, group: &[u8], (end, error): (usize, Errno)) -> Error {
        let upto = group.get(..end).unwrap_or(group);
        let path = path_of(&self.path, upto);
        if error != Errno::NOTDIR {
            return Error::io("open or make the directory", &path)(error.into());
        }
        let shown = String::from_utf8_lossy(group);
        let what = match number_and_group(upto) {
            Some((owner, number)) => format!(
                "article {number} of {owner} has the name of a directory of the group {shown}: exclude {owner}.{number} from this site, or exclude {owner} without its subgroups and remove this file"
            ),
            None => format!("it is in the way of the directory of {shown}: move it away"),
        };
        Error::Tree { path, what }
    }

    /// Waits until everything that was written and removed is on the disk. After an error nobody knows what is: the page cache still has
    /// all of it.
    pub fn sync(&mut self) -> Result<(), Error> {
        let fault = |error: Errno| Error::io("sync", &self.path)(error.into());
        let mut used = std::mem::take(&mut self.used);
        if used.is_empty() {
            used.push((0, for_sync(&self.top.1).map_err(fault)?));
        }
        let synced = used.iter().map(|(_, descriptor)| syncfs(descriptor));
        // All of them, also after an error.
        let synced: Vec<_> = synced.collect();
        synced
            .into_iter()
            .collect::<rustix::io::Result<()>>()
            .map_err(fault)
    }
}

/// A descriptor for `syncfs`, which takes none that only stands for a path.
fn for_sync(directory: &Directory) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(directory, ".", flags, Mode::empty())
}

impl Directory {
    fn new(descriptor: OwnedFd, pass: u64) -> rustix::io::Result<Directory> {
        let told = fstat(&descriptor)?;
        Ok(Directory {
            descriptor,
            identity: (told.st_dev, told.st_ino),
            compared: Cell::new(pass),
        })
    }

    /// Whether a name in a directory leads to this one. Its inode is not used again while it is open.
    fn is_named(&self, parent: &Directory, name: &[u8]) -> bool {
        let told = statat(parent, name, AtFlags::empty());
        told.is_ok_and(|told| (told.st_dev, told.st_ino) == self.identity)
    }
}

/// A group and an article number whose file would have the name of the directory of this group.
fn number_and_group(group: &[u8]) -> Option<(String, u64)> {
    let dot = memchr::memrchr(b'.', group)?;
    let (owner, number) = group.split_at_checked(dot)?;
    let number = article::decimal::parse(number.get(1..)?)?;
    Some((String::from_utf8_lossy(owner).into_owned(), number))
}
