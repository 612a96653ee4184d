//! The system calls of confined threads: a list of those that they never make.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::Role;

// Numbers that are the same on all machines, of calls that are newer than the C library's list.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

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
    libc::SYS_setrlimit,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_ioprio_set,
    // What all processes of a user share.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // What all threads of the process share.
    libc::SYS_umask,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    // The owner, mode, times and attributes of a file by its name: Landlock does not know them.
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
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
    OPEN_TREE_ATTR,
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
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];

/// Calls that only the writer makes: it gives a new file the mode and the owner of the file that it replaces.
const WRITER_ONLY: &[i64] = &[libc::SYS_fchmod, libc::SYS_fchown];

/// Calls that threads without connections of their own never make: a connected socket is read and written, or sent to without an address.
const ACCEPTED_ONLY: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
];

/// The options that network threads and the metrics thread set, by level.
const OPTIONS: [(i32, &[i32]); 2] = [
    (
        libc::SOL_SOCKET,
        &[libc::SO_KEEPALIVE, libc::SO_RCVTIMEO, libc::SO_SNDTIMEO],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
        ],
    ),
];

/// Requests of ioctl(2): typing into the terminal of the parent process or into a console, signals for other processes, and attributes of files.
const REQUESTS: &[u64] = &[
    libc::TIOCSTI,
    0x541c, // TIOCLINUX
    0x8901, // FIOSETOWN
    0x8902, // SIOCSPGRP
    libc::FS_IOC_SETFLAGS,
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
];

/// Commands of fcntl(2) by which a descriptor sends signals to another process.
const SIGNALS: [i32; 3] = [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX];
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// Numbers of calls of the x32 ABI have this bit, and its calls are denied as a whole: no thread of ours makes any.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// Restricts the calls of the calling thread, and of threads that it starts.
pub fn restrict(role: Role) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("seccomp: {error}");
    for program in programs(role).map_err(|error| failed(&error))? {
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn programs(role: Role) -> Result<Vec<BpfProgram>, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut programs = Vec::new();
    for (rules, errno) in rules(role)? {
        let denied = SeccompAction::Errno(errno.cast_unsigned());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch)?;
        programs.push(filter.try_into()?);
    }
    #[cfg(target_arch = "x86_64")]
    programs.push(without_x32());
    Ok(programs)
}

#[cfg(target_arch = "x86_64")]
fn without_x32() -> BpfProgram {
    let step = |code: u32, jt, jf, k| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    vec![
        // The number of the call.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned(),
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters: the denied calls and their errors.
fn rules(role: Role) -> Result<[(Rules, i32); 2], BackendError> {
    let mut rules: Rules = BTreeMap::new();
    let mut deny = |calls: &[i64]| rules.extend(calls.iter().map(|call| (*call, Vec::new())));
    deny(DENIED);
    deny(DENIED_HERE);
    if role != Role::Writer {
        deny(WRITER_ONLY);
    }
    match role {
        Role::Reader => {
            deny(ACCEPTED_ONLY);
            deny(&[libc::SYS_connect]);
        }
        Role::Writer => deny(&[libc::SYS_connect]),
        Role::Client => {}
    }
    rules.extend(process_rules()?);
    rules.extend(socket_rules(role)?);
    rules.insert(libc::SYS_ioctl, any(1, SeccompCmpOp::Eq, REQUESTS)?);
    let signals = SIGNALS.map(word);
    rules.insert(libc::SYS_fcntl, any(1, SeccompCmpOp::Eq, &signals)?);
    // Its flags are in memory, which a filter cannot read; without this call the C library uses clone.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([(rules, libc::EPERM), (clone3, libc::ENOSYS)])
}

/// Threads may be created, processes not; no other process gets signals, limits or priorities.
fn process_rules() -> Result<Rules, BackendError> {
    let own = u64::from(std::process::id());
    let thread = word(libc::CLONE_THREAD);
    let other_process = || all(&[(0, SeccompCmpOp::Ne, 0), (0, SeccompCmpOp::Ne, own)]);
    let new_limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    Ok(BTreeMap::from([
        (
            libc::SYS_clone,
            any(0, SeccompCmpOp::MaskedEq(thread), &[0])?,
        ),
        // The C library's abort() sends a signal to its own thread.
        (libc::SYS_tgkill, any(0, SeccompCmpOp::Ne, &[own])?),
        // getrlimit(3) is this call without new limits.
        (
            libc::SYS_prlimit64,
            vec![SeccompRule::new(vec![new_limit])?, other_process()?],
        ),
        // A thread may make itself slower.
        (
            libc::SYS_setpriority,
            [
                any(0, SeccompCmpOp::Ne, &[word(libc::PRIO_PROCESS as i32)])?,
                any(1, SeccompCmpOp::Ne, &[0])?,
            ]
            .concat(),
        ),
    ]))
}

/// No connection goes out, also not through an accepted socket that was disconnected: TCP Fast Open connects when it sends.
fn socket_rules(role: Role) -> Result<Rules, BackendError> {
    let fast_open = word(libc::MSG_FASTOPEN);
    let fast_open = |argument| any(argument, SeccompCmpOp::MaskedEq(fast_open), &[fast_open]);
    let to_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    let families = |families: &[i32]| {
        let others: Vec<_> = families
            .iter()
            .map(|family| (0, SeccompCmpOp::Ne, word(*family)))
            .collect();
        Ok(vec![all(&others)?])
    };
    Ok(match role {
        Role::Reader => BTreeMap::from([
            (
                libc::SYS_sendto,
                [fast_open(3)?, vec![SeccompRule::new(vec![to_address])?]].concat(),
            ),
            (libc::SYS_setsockopt, other_options()?),
        ]),
        // It sends its state to systemd: a datagram.
        Role::Writer => BTreeMap::from([
            (libc::SYS_socket, families(&[libc::AF_UNIX])?),
            (libc::SYS_sendto, fast_open(3)?),
            (libc::SYS_sendmsg, fast_open(2)?),
            (libc::SYS_sendmmsg, fast_open(3)?),
            (
                libc::SYS_setsockopt,
                any(1, SeccompCmpOp::Eq, &[word(libc::IPPROTO_TCP)])?,
            ),
        ]),
        // Looking up a host asks the kernel which kinds of addresses there are.
        Role::Client => BTreeMap::from([(
            libc::SYS_socket,
            families(&[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK])?,
        )]),
    })
}

/// All options but [`OPTIONS`].
fn other_options() -> Result<Vec<SeccompRule>, BackendError> {
    let levels = OPTIONS.map(|(level, _)| (1, SeccompCmpOp::Ne, word(level)));
    let mut rules = vec![all(&levels)?];
    for (level, options) in OPTIONS {
        let mut conditions = vec![(1, SeccompCmpOp::Eq, word(level))];
        conditions.extend(options.iter().map(|one| (2, SeccompCmpOp::Ne, word(*one))));
        rules.push(all(&conditions)?);
    }
    Ok(rules)
}

/// A 32-bit argument, as a filter sees it.
fn word(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

/// A rule for each value of an argument.
fn any(
    argument: u8,
    operator: SeccompCmpOp,
    values: &[u64],
) -> Result<Vec<SeccompRule>, BackendError> {
    let each = values
        .iter()
        .map(|value| all(&[(argument, operator.clone(), *value)]));
    each.collect()
}

/// A rule with all these conditions.
fn all(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    let each = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    SeccompRule::new(each.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    // The calls that the C library would not make.
    #![allow(unsafe_code)]

    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::io;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    /// Runs in a thread whose calls are restricted so; its files are not. `None` where this kernel has no seccomp.
    fn restricted<T: Send>(role: Role, work: impl FnOnce() -> T + Send) -> Option<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| match restrict(role) {
                Ok(()) => Some(work()),
                Err(why) => {
                    println!("skipped: calls are restricted ({why})");
                    None
                }
            });
            thread.join().unwrap()
        })
    }

    /// Makes a call; the number of the error.
    fn call(number: i64, arguments: [i64; 6]) -> Result<i64, i32> {
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: Each caller passes numbers, or pointers to values that live as long as the call.
        let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
        match result {
            -1 => Err(io::Error::last_os_error().raw_os_error().unwrap()),
            result => Ok(result),
        }
    }

    fn name(path: &Path) -> CString {
        CString::new(path.as_os_str().as_bytes()).unwrap()
    }

    fn pointer<T>(value: *const T) -> i64 {
        value as i64
    }

    const DENIED_HERE: Result<i64, i32> = Err(libc::EPERM);
    const HERE: i64 = libc::AT_FDCWD as i64;

    /// The metadata of a file that the denied calls would change.
    fn state(path: &Path) -> (u32, i64, i64) {
        use std::os::unix::fs::MetadataExt;
        let data = fs::metadata(path).unwrap();
        (data.mode(), data.mtime(), data.ctime_nsec())
    }

    #[test]
    fn files_keep_their_modes_times_and_attributes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"x").unwrap();
        let file = fs::File::open(&path).unwrap();
        let before = state(&path);
        let (path, value, key) = (name(&path), b"v", c"user.a");
        let (at, fd) = (pointer(path.as_ptr()), i64::from(file.as_raw_fd()));
        let (key, value) = (pointer(key.as_ptr()), pointer(value.as_ptr()));
        let mut flags: libc::c_int = 0;
        let flags = pointer(&raw mut flags);
        for role in [Role::Reader, Role::Client, Role::Writer] {
            restricted(role, || {
                let denied = |number, arguments| {
                    assert_eq!(call(number, arguments), DENIED_HERE, "{role:?} {number}");
                };
                denied(libc::SYS_fchmodat, [HERE, at, 0o777, 0, 0, 0]);
                denied(FCHMODAT2, [HERE, at, 0o777, 0, 0, 0]);
                denied(libc::SYS_fchownat, [HERE, at, -1, -1, 0, 0]);
                denied(libc::SYS_utimensat, [HERE, at, 0, 0, 0, 0]);
                denied(libc::SYS_utimensat, [fd, 0, 0, 0, 0, 0]);
                denied(libc::SYS_setxattr, [at, key, value, 1, 0, 0]);
                denied(libc::SYS_lsetxattr, [at, key, value, 1, 0, 0]);
                denied(libc::SYS_fsetxattr, [fd, key, value, 1, 0, 0]);
                denied(libc::SYS_removexattr, [at, key, 0, 0, 0, 0]);
                denied(libc::SYS_ioctl, [fd, REQUESTS[4] as i64, flags, 0, 0, 0]);
                #[cfg(target_arch = "x86_64")]
                {
                    denied(libc::SYS_chmod, [at, 0o777, 0, 0, 0, 0]);
                    denied(libc::SYS_chown, [at, -1, -1, 0, 0, 0]);
                    denied(libc::SYS_utimes, [at, 0, 0, 0, 0, 0]);
                    // The same by its x32 number.
                    denied(
                        libc::SYS_chmod | i64::from(X32_BIT),
                        [at, 0o777, 0, 0, 0, 0],
                    );
                }
                let by_descriptor = call(libc::SYS_fchmod, [fd, 0o600, 0, 0, 0, 0]);
                match role {
                    Role::Writer => assert_eq!(by_descriptor, Ok(0)),
                    _ => assert_eq!(by_descriptor, DENIED_HERE),
                }
            });
            if role != Role::Writer {
                assert_eq!(state(&dir.path().join("file")), before);
            }
        }
    }

    #[test]
    fn other_processes_get_no_signals_limits_or_priorities() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let (other, own) = (i64::from(child.id()), i64::from(std::process::id()));
        let limit = [1u64 << 20, 1 << 20];
        let limit = pointer(limit.as_ptr());
        let mut old = [0u64; 2];
        let old = pointer(old.as_mut_ptr());
        let (read, _write) = io::pipe().unwrap();
        let pipe = i64::from(read.as_raw_fd());
        for role in [Role::Reader, Role::Client, Role::Writer] {
            restricted(role, || {
                let denied = |number, arguments| {
                    assert_eq!(call(number, arguments), DENIED_HERE, "{role:?} {number}");
                };
                denied(libc::SYS_tgkill, [other, other, 0, 0, 0, 0]);
                denied(libc::SYS_kill, [other, 0, 0, 0, 0, 0]);
                denied(libc::SYS_tkill, [other, 0, 0, 0, 0, 0]);
                let nofile = libc::RLIMIT_NOFILE as i64;
                denied(libc::SYS_prlimit64, [0, nofile, limit, 0, 0, 0]);
                denied(libc::SYS_prlimit64, [other, nofile, 0, old, 0, 0]);
                denied(libc::SYS_setrlimit, [nofile, limit, 0, 0, 0, 0]);
                denied(libc::SYS_setpriority, [0, other, 5, 0, 0, 0]);
                denied(libc::SYS_setpriority, [2, 0, 5, 0, 0, 0]);
                denied(libc::SYS_umask, [0, 0, 0, 0, 0, 0]);
                denied(libc::SYS_fchdir, [HERE, 0, 0, 0, 0, 0]);
                denied(libc::SYS_shmget, [0, 4096, 0o1600, 0, 0, 0]);
                for command in SIGNALS {
                    denied(libc::SYS_fcntl, [pipe, command.into(), other, 0, 0, 0]);
                }
                // What the C library does with its own process: getrlimit(3), raise(3), and nice(2) of one thread.
                let thread = call(libc::SYS_gettid, [0; 6]).unwrap();
                assert_eq!(call(libc::SYS_prlimit64, [0, nofile, 0, old, 0, 0]), Ok(0));
                assert_eq!(call(libc::SYS_tgkill, [own, thread, 0, 0, 0, 0]), Ok(0));
                assert_eq!(call(libc::SYS_setpriority, [0, 0, 10, 0, 0, 0]), Ok(0));
                thread::spawn(|| {}).join().unwrap();
            });
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The address of a server, as the kernel takes it.
    fn address(server: &TcpListener) -> libc::sockaddr_in {
        libc::sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: server.local_addr().unwrap().port().to_be(),
            sin_addr: libc::in_addr {
                s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be(),
            },
            sin_zero: [0; 8],
        }
    }

    #[test]
    fn no_connection_goes_out_through_an_accepted_socket() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = address(&server);
        let (to, length) = (pointer(&raw const to), size_of_val(&to) as i64);
        // sa_family of AF_UNSPEC.
        let unspecified = [0u8; 16];
        let unspecified = pointer(unspecified.as_ptr());
        let text = b"x";
        let text = pointer(text.as_ptr());
        // SAFETY: A message without anything in it.
        let message: libc::msghdr = unsafe { std::mem::zeroed() };
        let message = pointer(&raw const message);
        let fast_open = i64::from(libc::MSG_FASTOPEN);
        let on: libc::c_int = 1;
        let on = pointer(&raw const on);
        let tcp = i64::from(libc::IPPROTO_TCP);
        for role in [Role::Reader, Role::Writer] {
            let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
            let (accepted, _) = server.accept().unwrap();
            let fd = i64::from(accepted.as_raw_fd());
            restricted(role, || {
                let denied = |number, arguments| {
                    assert_eq!(call(number, arguments), DENIED_HERE, "{role:?} {number}");
                };
                denied(libc::SYS_connect, [fd, unspecified, 16, 0, 0, 0]);
                denied(libc::SYS_connect, [fd, to, length, 0, 0, 0]);
                denied(libc::SYS_sendto, [fd, text, 1, fast_open, to, length]);
                denied(libc::SYS_sendmsg, [fd, message, fast_open, 0, 0, 0]);
                denied(libc::SYS_sendmmsg, [fd, message, 1, fast_open, 0, 0]);
                // TCP_FASTOPEN_CONNECT, TCP_REPAIR.
                denied(libc::SYS_setsockopt, [fd, tcp, 30, on, 4, 0]);
                denied(libc::SYS_setsockopt, [fd, tcp, 19, on, 4, 0]);
                denied(libc::SYS_socket, [libc::AF_INET.into(), 1, 0, 0, 0, 0]);
                // The connection itself goes on.
                io::Write::write_all(&mut &accepted, b"200\r\n").unwrap();
            });
            drop(client);
        }
        restricted(Role::Reader, || {
            for (level, option) in [(tcp, libc::TCP_CONGESTION), (0, 1), (1, 25)] {
                let arguments = [0, level, option.into(), on, 4, 0];
                assert_eq!(call(libc::SYS_setsockopt, arguments), DENIED_HERE);
            }
        });
        // Nothing came but the two connections.
        server.set_nonblocking(true).unwrap();
        assert!(server.accept().is_err());
    }

    #[test]
    fn network_threads_reach_no_local_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control.sock");
        let _server = UnixListener::bind(&path).unwrap();
        let other = dir.path().join("log");
        let _other = UnixDatagram::bind(&other).unwrap();
        let ready = UnixDatagram::unbound().unwrap();
        let is_denied = |made: io::Result<()>| {
            made.map_err(|error| error.raw_os_error()) == Err(Some(libc::EPERM))
        };
        restricted(Role::Reader, || {
            assert!(is_denied(UnixStream::connect(&path).map(drop)));
            assert!(is_denied(UnixStream::pair().map(drop)));
            assert!(is_denied(ready.connect(&other)));
            assert!(is_denied(ready.send_to(b"x", &other).map(drop)));
        });
        restricted(Role::Writer, || {
            assert!(is_denied(UnixStream::connect(&path).map(drop)));
            // As systemd is notified.
            let ready = UnixDatagram::unbound().unwrap();
            ready.send_to(b"READY=1", &other).unwrap();
        });
        restricted(Role::Client, || {
            assert!(is_denied(UnixStream::connect(&path).map(drop)));
        });
    }

    #[test]
    fn accepted_sockets_take_the_options_of_the_server() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let (accepted, _) = server.accept().unwrap();
        restricted(Role::Reader, || {
            use rustix::net::sockopt;
            let short = std::time::Duration::from_secs(2);
            accepted.set_read_timeout(Some(short)).unwrap();
            accepted.set_write_timeout(Some(short)).unwrap();
            sockopt::set_tcp_nodelay(&accepted, true).unwrap();
            sockopt::set_socket_keepalive(&accepted, true).unwrap();
            sockopt::set_tcp_keepidle(&accepted, short).unwrap();
            sockopt::set_tcp_keepintvl(&accepted, short).unwrap();
            sockopt::set_tcp_keepcnt(&accepted, 3).unwrap();
        });
    }

    #[test]
    fn every_filter_can_be_compiled() {
        for role in [Role::Reader, Role::Writer, Role::Client] {
            for program in programs(role).unwrap() {
                assert!(program.len() < 4096, "the kernel's limit");
            }
        }
    }
}
