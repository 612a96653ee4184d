//! The requests of the kernel.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, Request,
};
use hashbrown::HashMap;
use rustix::process::{getgid, getuid};

use crate::attributes::{Attributes, Kind};
use crate::counters::Counters;
use crate::tree::{Entry, Fault, Opened, Tree};

/// Overview files and files of the news directory that are open at once; articles are not counted.
pub const HANDLES_MAX: usize = 1024;
/// The unit of sizes, bytes.
const BLOCK_BYTES: u64 = 4096;
/// The unit of `st_blocks`, bytes.
const SECTOR_BYTES: u64 = 512;
/// The longest name, bytes: that of a Message-ID, and more than a part of the name of a group has.
const NAME_BYTES: u32 = 1024;

/// Reports what an administrator should know.
pub type Say = fn(&str);

/// The tree, and what is open.
#[derive(Debug)]
pub struct State {
    tree: Tree,
    handles: HashMap<u64, Opened>,
    last_handle: u64,
    /// The last error that was reported: it is not reported again.
    reported: String,
    say: Say,
    /// The thread that waits for a request.
    waiting: Option<Thread>,
    /// The function that the serving thread calls before the first request.
    begin: Option<Begin>,
}

struct Begin(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Begin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begin")
    }
}

/// The tree behind FUSE.
#[derive(Debug, Clone)]
pub struct News {
    state: Arc<Mutex<State>>,
    /// How long the kernel may keep names and attributes.
    kept: Duration,
    owner: (u32, u32),
}

impl News {
    /// Serves a tree. `begin` is called before the first request, in the thread that serves.
    pub fn new(
        tree: Tree,
        kept: Duration,
        say: Say,
        begin: impl FnOnce() + Send + 'static,
    ) -> News {
        let state = State {
            tree,
            handles: HashMap::new(),
            last_handle: 0,
            reported: String::new(),
            say,
            waiting: None,
            begin: Some(Begin(Box::new(begin))),
        };
        News {
            state: Arc::new(Mutex::new(state)),
            kept,
            owner: (getuid().as_raw(), getgid().as_raw()),
        }
    }

    /// Takes over what changed in the news directory, so that files that were removed do not stay mapped.
    pub fn catch_up(&self) {
        let mut state = self.state();
        state.tree.catch_up();
        state.tell_failure();
    }

    /// Waits until there was a request.
    pub fn wait_for_request(&self) {
        self.state().waiting = Some(std::thread::current());
        loop {
            std::thread::park();
            if self.state().waiting.is_none() {
                return;
            }
        }
    }

    /// The state, for a request.
    fn request(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if let Some(waiting) = state.waiting.take() {
            waiting.unpark();
        }
        if let Some(Begin(begin)) = state.begin.take() {
            begin();
        }
        // Of an earlier one.
        state.tell_failure();
        state
    }

    /// The counts of the caches.
    pub fn counters(&self) -> Counters {
        self.state().tree.counters()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attributes(&self, of: &Attributes) -> FileAttr {
        let since = Duration::from_secs(of.mtime.unsigned_abs());
        let time = if of.mtime < 0 {
            UNIX_EPOCH.checked_sub(since)
        } else {
            UNIX_EPOCH.checked_add(since)
        };
        let time = time.unwrap_or(SystemTime::UNIX_EPOCH);
        let (kind, perm) = match of.kind {
            Kind::Directory => (FileType::Directory, 0o555),
            Kind::File => (FileType::RegularFile, 0o444),
        };
        FileAttr {
            ino: INodeNo(of.number),
            size: of.size,
            blocks: of.size.div_ceil(SECTOR_BYTES),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: of.links,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: BLOCK_BYTES as u32,
            flags: 0,
        }
    }
}

impl State {
    /// Reports that the tree shows nothing new, and why.
    fn tell_failure(&mut self) {
        let why = match self.tree.take_failure() {
            None => return,
            // Its own text is about lasting damage.
            Some(store::Error::Damaged { path, what, .. }) => format!("{}: {what}", path.display()),
            Some(error) => error.to_string(),
        };
        (self.say)(&format!(
            "{why}: the mount shows the articles as they were before, and tries again; this ends by itself when a `history rebuild' or another repair that runs is done, otherwise run `broadsheet fsck'"
        ));
    }

    /// The number for the caller; reports an error of the store once.
    fn error(&mut self, fault: Fault) -> Errno {
        let error = match fault {
            Fault::Gone => return Errno::ESTALE,
            Fault::Kind => return Errno::EINVAL,
            Fault::Store(error) => error.to_string(),
        };
        if error != self.reported {
            (self.say)(&error);
            self.reported = error;
        }
        Errno::EIO
    }

    fn open(&mut self, number: u64) -> Result<(FileHandle, FopenFlags), Errno> {
        if self.handles.len() >= HANDLES_MAX {
            return Err(Errno::ENFILE);
        }
        let opened = match self.tree.open_file(number) {
            // An article never changes.
            Ok(Opened::Article) => return Ok((FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE)),
            Ok(opened) => opened,
            Err(fault) => return Err(self.error(fault)),
        };
        self.last_handle += 1;
        self.handles.insert(self.last_handle, opened);
        // These change: the kernel keeps nothing of them.
        Ok((FileHandle(self.last_handle), FopenFlags::FOPEN_DIRECT_IO))
    }

    fn read(&mut self, (number, handle): (u64, u64), (at, size): (u64, usize), reply: ReplyData) {
        let mut reply = Some(reply);
        let mut answer = |text: &[u8]| {
            if let Some(reply) = reply.take() {
                reply.data(text);
            }
        };
        let done = match self.handles.get_mut(&handle) {
            None => self.tree.read_article(number, (at, size), answer),
            Some(Opened::Overview(file)) => self.tree.read_overview(file, (at, size), answer),
            Some(Opened::File(file)) => {
                let mut text = vec![0; size];
                match file.read_at(&mut text, at) {
                    Ok(length) => {
                        answer(text.get(..length).unwrap_or_default());
                        Ok(())
                    }
                    Err(_) => Err(Fault::Gone),
                }
            }
            Some(Opened::Article) => Err(Fault::Kind),
        };
        if let Err(fault) = done {
            let errno = self.error(fault);
            if let Some(reply) = reply {
                reply.error(errno);
            }
        }
    }
}

impl Filesystem for News {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Attributes together with names are of use where the kernel keeps them.
        if !self.kept.is_zero() {
            let wanted = InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO;
            // A kernel without them asks for each file.
            let _ = config.add_capabilities(wanted);
        }
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut state = self.request();
        let found = state.tree.lookup(parent.0, name.as_bytes(), request.pid());
        match found {
            Ok(Some(found)) => {
                reply.entry(&self.kept, &self.attributes(&found), Generation(0));
            }
            // The kernel does not keep that a name is not there: it may come at any moment.
            Ok(None) => reply.error(Errno::ENOENT),
            Err(fault) => reply.error(state.error(fault)),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let mut state = self.request();
        match state.tree.attributes(number.0) {
            Ok(found) => reply.attr(&self.kept, &self.attributes(&found)),
            Err(fault) => reply.error(state.error(fault)),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.request().open(number.0) {
            Ok((handle, flags)) => reply.opened(handle, flags),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let range = (offset, size as usize);
        self.request().read((number.0, handle.0), range, reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.request().handles.remove(&handle.0);
        reply.ok();
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        cookie: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut state = self.request();
        let mut add = |entry: Entry<'_>| {
            let kind = match entry.kind {
                Kind::Directory => FileType::Directory,
                Kind::File => FileType::RegularFile,
            };
            let name = OsStr::from_bytes(entry.name);
            !reply.add(INodeNo(entry.number), entry.cookie, kind, name)
        };
        match state.tree.entries(number.0, cookie, false, &mut add) {
            Ok(()) => reply.ok(),
            Err(fault) => reply.error(state.error(fault)),
        }
    }

    fn readdirplus(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        cookie: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let mut state = self.request();
        let mut add = |entry: Entry<'_>| {
            let Some(attributes) = entry.attributes else {
                return true;
            };
            let attributes = self.attributes(&attributes);
            let name = OsStr::from_bytes(entry.name);
            let (own, generation) = (entry.cookie, Generation(0));
            let number = INodeNo(entry.number);
            !reply.add(number, own, name, &self.kept, &attributes, generation)
        };
        match state.tree.entries(number.0, cookie, true, &mut add) {
            Ok(()) => reply.ok(),
            Err(fault) => reply.error(state.error(fault)),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.request().tree.log_bytes().div_ceil(BLOCK_BYTES);
        let unit = BLOCK_BYTES as u32;
        reply.statfs(blocks, 0, 0, 0, 0, unit, NAME_BYTES, unit);
    }
}
