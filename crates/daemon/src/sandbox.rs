//! The daemon confines itself: a thread that processes bytes from other machines can open, write and start only what its work needs.
//!
//! Landlock and seccomp apply to one thread and the threads that it starts. Network threads, the metrics thread, the writer and the thread
//! that asks a bucket are confined; threads that run programs of the administrator (feeds, sendmail, password programs, scheduled commands) are not, because
//! both need `no_new_privs`, which would disable the setuid and setgid bits of sendmail and uux. [`Starter`] starts those threads,
//! because a thread started by a confined one is confined too.
//!
//! SECURITY.md describes what the sandbox protects against.

mod calls;
mod helper;
mod starter;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use helper::{Helper, is_secret};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
pub use starter::Starter;

use super::lock::lock;
use super::warn;

/// The Landlock rights to restrict; an older kernel restricts those that it knows.
const LANDLOCK: ABI = ABI::V5;

/// The role of a thread, which decides its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Serves connections that others accepted: reads the news directory but for users and keys, writes to these sockets only.
    Reader,
    /// Files articles: reads everything that its user may (settings name certificates elsewhere), writes below the news directory.
    Writer,
    /// Asks a server over the network: reads everything that its user may (names of hosts), writes to connections only.
    Client,
}

/// The state of confinement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum State {
    /// No thread is confined yet.
    #[default]
    Unknown,
    Whole,
    /// The kernel lacks these features.
    Lacking(String),
}

/// The sandbox of one news directory.
#[derive(Debug)]
pub struct Sandbox {
    is_on: bool,
    root: PathBuf,
    /// The news directory, and the targets of its symbolic links.
    places: Vec<PathBuf>,
    /// The directories in it that readers open files in, and the targets of their symbolic links.
    reader_places: Vec<PathBuf>,
    /// Opens for readers what lies in the news directory itself.
    helper: Option<Helper>,
    state: Mutex<State>,
}

impl Sandbox {
    /// The sandbox for the news directory `root`, if the setting `sandbox` enables it. Call it from a thread that is not confined.
    pub fn new(root: &Path, is_on: bool) -> Arc<Sandbox> {
        Arc::new(Sandbox {
            is_on,
            root: root.to_owned(),
            places: places(std::iter::once(root.to_owned()).chain(directories(root))),
            reader_places: reader_places(root),
            helper: is_on.then(Helper::start).and_then(Result::ok),
            state: Mutex::default(),
        })
    }

    /// Confines the calling thread permanently. Reports missing kernel features once; the thread continues without them.
    pub fn confine(&self, role: Role) {
        if !self.is_on {
            return;
        }
        let mut lacking: Vec<String> = Vec::new();
        if role == Role::Reader {
            match self.helper {
                Some(_) => self.help_this_thread(),
                None => {
                    lacking.push("the thread that opens files for others did not start".to_owned())
                }
            }
        }
        if let Err(why) = self.restrict_files(role) {
            lacking.push(why);
        }
        if let Err(why) = calls::restrict(role) {
            lacking.push(why);
        }
        let mut state = lock(&self.state);
        if lacking.is_empty() {
            if *state == State::Unknown {
                *state = State::Whole;
            }
            return;
        }
        let lacking = lacking.join("; ");
        if !matches!(*state, State::Lacking(_)) {
            warn(&format!(
                "the sandbox is incomplete: {lacking}; continuing without these features (sandbox = false disables this message)"
            ));
        }
        *state = State::Lacking(lacking);
    }

    /// Opens for the calling thread, which one with [`Role::Reader`] started, what it needs of the news directory.
    pub fn help_this_thread(&self) {
        if let Some(helper) = &self.helper {
            helper.serve_this_thread(&self.root);
        }
    }

    /// The state, for `status`.
    pub fn told(&self) -> String {
        match (&*lock(&self.state), self.is_on) {
            (_, false) => "off".to_owned(),
            (State::Lacking(why), true) => format!("not whole: {why}"),
            (State::Unknown | State::Whole, true) => "on".to_owned(),
        }
    }

    fn restrict_files(&self, role: Role) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("Landlock: {error}");
        let is_whole = match role {
            Role::Reader => landlock(
                AccessFs::from_all(LANDLOCK),
                AccessFs::from_read(LANDLOCK),
                &self.reader_places,
            ),
            Role::Writer => {
                let handled = AccessFs::from_write(LANDLOCK) | AccessFs::Execute;
                landlock(handled, AccessFs::from_write(LANDLOCK), &self.places)
            }
            Role::Client => client_landlock(),
        };
        match is_whole.map_err(|error| failed(&error))? {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => Err(failed(
                &"this kernel does not have it, or it is not enabled",
            )),
        }
    }
}

/// Restricts the calling thread: of the rights `handled` it keeps `below` in these places.
fn landlock(
    handled: BitFlags<AccessFs>,
    below: BitFlags<AccessFs>,
    places: &[PathBuf],
) -> Result<RulesetStatus, landlock::RulesetError> {
    let mut ruleset = Ruleset::default();
    if handled.contains(AccessFs::Refer) {
        // Without this right (before Linux 5.19), renaming between directories would fail.
        ruleset = ruleset
            .set_compatibility(CompatLevel::SoftRequirement)
            .handle_access(AccessFs::Refer)?
            .set_compatibility(CompatLevel::BestEffort);
    }
    let mut ruleset = ruleset
        .handle_access(handled)?
        // Denies opening ports and making connections.
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .create()?;
    for place in places {
        // The directory no longer exists: there is nothing to allow.
        if let Ok(place) = PathFd::new(place) {
            ruleset = ruleset.add_rule(PathBeneath::new(place, below & !AccessFs::Execute))?;
        }
    }
    for (device, access) in [
        ("/dev/null", AccessFs::ReadFile | AccessFs::WriteFile),
        // They tell whether the watermarks of the index are of this run of the machine, and of this mount.
        ("/proc/sys/kernel/random/boot_id", AccessFs::ReadFile.into()),
        ("/sys/fs/btrfs", AccessFs::ReadDir.into()),
    ] {
        let access = access & handled;
        if let Ok(device) = PathFd::new(device)
            && !access.is_empty()
        {
            ruleset = ruleset.add_rule(PathBeneath::new(device, access))?;
        }
    }
    Ok(ruleset.restrict_self()?.ruleset)
}

/// These directories, and the targets of symbolic links in them. Landlock checks the
/// location of a file, not its name. For a link to a file, the directory of the file is added, because replacing it creates a new file.
fn places(directories: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut places = BTreeSet::new();
    for directory in directories {
        places.insert(directory.clone());
        let entries = std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        for link in links {
            let target = std::fs::read_link(link.path()).map(|target| directory.join(target));
            let Ok(target) = target else {
                continue;
            };
            let place = match (target.is_dir(), target.parent()) {
                // The file may not exist yet.
                (false, Some(parent)) => parent.canonicalize(),
                _ => target.canonicalize(),
            };
            places.extend(place);
            // Follows a link to a link to its end.
            if let Ok(end) = target.canonicalize() {
                places.extend(end.parent().map(Path::to_owned).filter(|_| end.is_file()));
            }
        }
    }
    places.into_iter().collect()
}

/// The directories that network threads may read without the helper: not the news directory itself, in which the secrets are.
fn reader_places(root: &Path) -> Vec<PathBuf> {
    let is_open = |path: &PathBuf| path.file_name().is_none_or(|name| !is_secret(name));
    let mut places = places(directories(root).into_iter().filter(is_open));
    let root = root.canonicalize();
    places.retain(|place| root.as_ref().is_ok_and(|root| place != root));
    places
}

/// The directories in the news directory, including links to directories.
fn directories(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

/// No file can be written, and no port opened.
fn client_landlock() -> Result<RulesetStatus, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_write(LANDLOCK) | AccessFs::Execute)?
        .handle_access(AccessNet::BindTcp)?
        .create()?;
    Ok(ruleset.restrict_self()?.ruleset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::thread;
    use store::disk::{Disk, Open, RealDisk};

    /// True where this kernel has what the daemon asks for; else the test is skipped, with the reason.
    fn is_whole() -> bool {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(dir.path(), true);
        confined(&sandbox, Role::Reader, || {});
        match &*lock(&sandbox.state) {
            State::Lacking(why) => {
                println!("skipped: the sandbox ({why})");
                false
            }
            _ => true,
        }
    }

    fn confined<T: Send>(sandbox: &Sandbox, role: Role, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                sandbox.confine(role);
                work()
            });
            thread.join().unwrap()
        })
    }

    fn is_denied<T>(done: io::Result<T>) -> bool {
        let kind = done.map(drop).map_err(|error| error.kind());
        kind == Err(io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn a_reader_reads_the_news_directory_and_does_nothing_else() {
        if !is_whole() {
            return;
        }
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, other) = (dir.path(), other.path());
        fs::write(root.join("active"), b"a 0 1 y\n").unwrap();
        fs::create_dir(root.join("segments")).unwrap();
        fs::create_dir(other.join("disk")).unwrap();
        fs::create_dir(other.join("texts")).unwrap();
        fs::write(other.join("disk/1.art"), b"x").unwrap();
        fs::write(other.join("texts/motd"), b"x").unwrap();
        fs::write(other.join("secret"), b"x").unwrap();
        symlink(other.join("disk/1.art"), root.join("segments/1.art")).unwrap();
        symlink(other.join("texts/motd"), root.join("motd")).unwrap();
        fs::create_dir(root.join("keys")).unwrap();
        fs::write(root.join("keys/cancel.secret"), b"x").unwrap();
        fs::write(root.join("users"), b"anna - - -\n").unwrap();
        let users_file = access::UsersFile::of(root);
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let sandbox = Sandbox::new(root, true);
        confined(&sandbox, Role::Reader, || {
            let active = store::regular::read(&root.join("active"));
            assert_eq!(active.unwrap(), b"a 0 1 y\n");
            let told = store::regular::read(&root.join("missing")).unwrap_err();
            assert_eq!(told.kind(), io::ErrorKind::NotFound);
            assert!(fs::read_dir(root.join("segments")).is_ok());
            fs::read(root.join("segments/1.art")).unwrap();
            // Written anew beside the link's target, as editors and tools do.
            store::regular::read(&root.join("motd")).unwrap();
            rustix::rand::getrandom(&mut [0; 32], rustix::rand::GetRandomFlags::empty()).unwrap();
            assert!(is_denied(fs::read("/etc/passwd")));
            assert!(is_denied(fs::read(other.join("secret"))));
            assert!(is_denied(store::regular::read(&other.join("secret"))));
            for secret in ["users", "keys/cancel.secret"] {
                let inside_out = root.join("segments/..").join(secret);
                for path in [root.join(secret), inside_out] {
                    assert!(is_denied(fs::read(&path)), "{}", path.display());
                    let opened = RealDisk.open(&path, Open::Read);
                    assert!(is_denied(opened), "{}", path.display());
                }
            }
            assert!(is_denied(fs::read_dir(root.join("keys"))));
            let users = users_file.now().unwrap();
            assert!(users.named("anna").is_some());
            assert!(is_denied(fs::write(root.join("active"), b"")));
            assert!(is_denied(fs::write(root.join("new"), b"")));
            assert!(is_denied(fs::remove_file(root.join("active"))));
            assert!(is_denied(fs::create_dir(root.join("new"))));
            assert!(is_denied(fs::write(other.join("new"), b"")));
            assert!(is_denied(Command::new("/bin/true").status()));
            assert!(is_denied(TcpStream::connect(address)));
            assert!(is_denied(TcpListener::bind("127.0.0.1:0")));
            // What a thread needs later on.
            thread::spawn(|| {}).join().unwrap();
            drop(vec![1u8; 64 << 20]);
            assert!(rustix::fs::statvfs(root).is_ok());
        });
        // This thread is as it was.
        assert!(Command::new("/bin/true").status().unwrap().success());
        assert!(fs::read("/etc/passwd").is_ok());
    }

    #[test]
    fn a_writer_writes_the_news_directory_and_starts_nothing() {
        if !is_whole() {
            return;
        }
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, other) = (dir.path(), other.path());
        for made in ["in.coming", "bad"] {
            fs::create_dir(root.join(made)).unwrap();
        }
        fs::write(other.join("theirs"), b"x").unwrap();
        fs::create_dir(other.join("logs")).unwrap();
        symlink(other.join("logs/log"), root.join("log")).unwrap();
        fs::write(other.join("logs/log"), b"").unwrap();
        let sandbox = Sandbox::new(root, true);
        confined(&sandbox, Role::Writer, || {
            fs::write(root.join("in.coming/1"), b"x").unwrap();
            fs::rename(root.join("in.coming/1"), root.join("bad/1")).unwrap();
            fs::remove_file(root.join("bad/1")).unwrap();
            fs::write(root.join("log"), b"x").unwrap();
            let file = fs::File::create(root.join("index")).unwrap();
            file.set_len(4096).unwrap();
            file.sync_all().unwrap();
            // Certificates lie elsewhere.
            fs::read(other.join("theirs")).unwrap();
            assert!(is_denied(fs::write(other.join("theirs"), b"")));
            assert!(is_denied(fs::write(other.join("new"), b"")));
            assert!(is_denied(fs::rename(
                root.join("index"),
                other.join("index")
            )));
            assert!(is_denied(Command::new("/bin/true").status()));
        });
    }

    #[test]
    fn a_client_connects_and_does_nothing_else() {
        if !is_whole() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        fs::write(root.join("active"), b"a 0 1 y\n").unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let sandbox = Sandbox::new(&root, true);
        let (tell, told) = channel();
        let work = move || {
            fs::read("/etc/passwd").unwrap();
            TcpStream::connect(("localhost", port))
                .or_else(|_| TcpStream::connect(("127.0.0.1", port)))
                .unwrap();
            assert!(is_denied(fs::write(root.join("active"), b"")));
            assert!(is_denied(fs::remove_file(root.join("active"))));
            assert!(is_denied(Command::new("/bin/true").status()));
            assert!(is_denied(TcpListener::bind("127.0.0.1:0")));
            tell.send(()).unwrap();
        };
        let starter = Starter::start().unwrap();
        starter.for_clients(&sandbox)("objects", Box::new(work)).unwrap();
        // A failed assertion ends the thread.
        told.recv().unwrap();
    }

    #[test]
    fn what_the_starter_starts_is_not_confined() {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(dir.path(), true);
        let starter = Starter::start().unwrap();
        let (tell, told) = channel();
        confined(&sandbox, Role::Reader, || {
            let run = move || tell.send(Command::new("/bin/true").status()).unwrap();
            starter.spawn("free", Box::new(run)).unwrap();
        });
        assert!(told.recv().unwrap().unwrap().success());
    }

    #[test]
    fn switched_off_it_does_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(dir.path(), false);
        confined(&sandbox, Role::Reader, || {
            assert!(Command::new("/bin/true").status().unwrap().success());
        });
        assert_eq!(sandbox.told(), "off");
    }
}
