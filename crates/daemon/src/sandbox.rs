//! The daemon confines itself: a thread that processes bytes from other machines can open, write and start only what its work needs.
//!
//! Landlock and seccomp apply to one thread and the threads that it starts. Network threads, the metrics thread, the writer and the thread
//! that asks a bucket are confined; threads that run programs of the administrator (feeds, sendmail, password programs, scheduled commands) are not, because
//! both need `no_new_privs`, which would disable the setuid and setgid bits of sendmail and uux. [`Starter`] starts those threads,
//! because a thread started by a confined one is confined too.
//!
//! SECURITY.md describes what the sandbox protects against.

mod starter;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
pub use starter::Starter;

use super::lock::lock;
use super::warn;

/// The Landlock rights to restrict; an older kernel restricts those that it knows.
const LANDLOCK: ABI = ABI::V5;

/// The role of a thread, which decides its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Serves connections: reads below the news directory, writes to sockets only.
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
    /// The news directory, and the targets of its symbolic links.
    places: Vec<PathBuf>,
    state: Mutex<State>,
}

impl Sandbox {
    /// The sandbox for the news directory `root`, if the setting `sandbox` enables it.
    pub fn new(root: &Path, is_on: bool) -> Arc<Sandbox> {
        Arc::new(Sandbox {
            is_on,
            places: places(root),
            state: Mutex::default(),
        })
    }

    /// Confines the calling thread permanently. Reports missing kernel features once; the thread continues without them.
    pub fn confine(&self, role: Role) {
        if !self.is_on {
            return;
        }
        let mut lacking: Vec<String> = Vec::new();
        if let Err(why) = self.restrict_files(role) {
            lacking.push(why);
        }
        if let Err(why) = restrict_calls(role) {
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
            Role::Reader => {
                self.landlock(AccessFs::from_all(LANDLOCK), AccessFs::from_read(LANDLOCK))
            }
            Role::Writer => {
                let handled = AccessFs::from_write(LANDLOCK) | AccessFs::Execute;
                self.landlock(handled, AccessFs::from_write(LANDLOCK))
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

    fn landlock(
        &self,
        handled: BitFlags<AccessFs>,
        below: BitFlags<AccessFs>,
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
        for place in &self.places {
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
}

/// The news directory, and the targets of symbolic links in it, in segments/ and in the other directories. Landlock checks the
/// location of a file, not its name. For a link to a file, the directory of the file is added, because replacing it creates a new file.
fn places(root: &Path) -> Vec<PathBuf> {
    let mut places = BTreeSet::from([root.to_owned()]);
    let inner = directories(root);
    for directory in std::iter::once(root.to_owned()).chain(inner) {
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

/// The directories in the news directory, including links to directories.
fn directories(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

/// System calls that confined threads never make. Other calls are allowed: a newer library may make calls that are unknown here, and
/// filing must not stop for that. For the same reason, a denied call fails with "not permitted"
/// and does not kill the process.
const DENIED: &[i64] = &[
    // Programs.
    libc::SYS_execve,
    libc::SYS_execveat,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    // Users and privileges.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    libc::SYS_personality,
    // Views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_mknodat,
    // The kernel, its keys and its clocks.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // Sockets that accept connections.
    libc::SYS_bind,
    libc::SYS_listen,
];

/// The additional ones of this architecture.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];

/// The same calls with x32 numbers: this bit is set, and two of them have another number.
#[cfg(target_arch = "x86_64")]
const X32: (i64, &[i64]) = (0x4000_0000, &[520, 545]);
#[cfg(not(target_arch = "x86_64"))]
const X32: (i64, &[i64]) = (0, &[]);

/// No file can be written, and no port opened.
fn client_landlock() -> Result<RulesetStatus, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_write(LANDLOCK) | AccessFs::Execute)?
        .handle_access(AccessNet::BindTcp)?
        .create()?;
    Ok(ruleset.restrict_self()?.ruleset)
}

fn restrict_calls(role: Role) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("seccomp: {error}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(&error))?;
    for (rules, errno) in rules(role).map_err(|error| failed(&error))? {
        let denied = SeccompAction::Errno(errno.cast_unsigned());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch);
        let program: Result<seccompiler::BpfProgram, _> = filter.and_then(TryInto::try_into);
        let program = program.map_err(|error| failed(&error))?;
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters: the denied calls and their errors.
fn rules(role: Role) -> Result<[(Rules, i32); 2], seccompiler::BackendError> {
    let mut rules: Rules = BTreeMap::new();
    let (bit, more) = X32;
    for call in DENIED.iter().chain(DENIED_HERE) {
        rules.insert(*call, Vec::new());
        rules.insert(*call | bit, Vec::new());
    }
    for call in more {
        rules.insert(*call | bit, Vec::new());
    }
    let condition = |argument, operator, value: i32| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let when = |argument, operator, value| {
        Ok(vec![SeccompRule::new(vec![condition(
            argument, operator, value,
        )?])?])
    };
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    // Threads may be created, processes not.
    rules.insert(libc::SYS_clone, when(0, SeccompCmpOp::MaskedEq(thread), 0)?);
    let families = match role {
        // `session` connects to the daemon's control.sock; connections to other machines are denied.
        Role::Reader | Role::Writer => &[libc::AF_UNIX][..],
        // Looking up a host asks the kernel which kinds of addresses there are.
        Role::Client => &[
            libc::AF_UNIX,
            libc::AF_INET,
            libc::AF_INET6,
            libc::AF_NETLINK,
        ],
    };
    let others: Result<Vec<_>, _> = families
        .iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, *family))
        .collect();
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(others?)?]);
    // Typing into the terminal of the parent process.
    rules.insert(
        libc::SYS_ioctl,
        when(1, SeccompCmpOp::Eq, libc::TIOCSTI as i32)?,
    );
    // Its flags are in memory, which a filter cannot read; without this call the C library uses clone.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([(rules, libc::EPERM), (clone3, libc::ENOSYS)])
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
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let sandbox = Sandbox::new(root, true);
        confined(&sandbox, Role::Reader, || {
            assert_eq!(fs::read(root.join("active")).unwrap(), b"a 0 1 y\n");
            assert!(fs::read_dir(root.join("segments")).is_ok());
            fs::read(root.join("segments/1.art")).unwrap();
            // Written anew beside the link's target, as editors and tools do.
            fs::read(root.join("motd")).unwrap();
            rustix::rand::getrandom(&mut [0; 32], rustix::rand::GetRandomFlags::empty()).unwrap();
            assert!(is_denied(fs::read("/etc/passwd")));
            assert!(is_denied(fs::read(other.join("secret"))));
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

    #[test]
    fn every_filter_can_be_compiled() {
        let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let roles = [Role::Reader, Role::Writer, Role::Client];
        for (rules, errno) in roles.into_iter().flat_map(|role| rules(role).unwrap()) {
            let denied = SeccompAction::Errno(errno.cast_unsigned());
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).unwrap();
            let program: seccompiler::BpfProgram = filter.try_into().unwrap();
            assert!(program.len() < 4096, "the kernel's limit");
        }
    }
}
