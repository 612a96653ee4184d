//! Watches the files of a certificate: inotify on the directories that lead to them.
//!
//! Renewal tools do not overwrite the old file: they rename a new one over it, or change a symbolic link (certbot:
//! live/x/fullchain.pem to ../../archive/x/fullchain3.pem). So it watches the directory of the file, and of each link on the way to it.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::Certificates;

/// Quiet time after a change before the files are read: certificate and key are two files.
const SETTLES: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};
const SETTLES_MAX: Duration = Duration::from_secs(5);
/// Buffer for the events of one wake-up, bytes.
const EVENTS_BYTES: usize = 4 << 10;
/// Most symbolic links on one path, as in the kernel.
const LINKS_MAX: usize = 40;

/// A running watch; it ends when dropped.
pub struct Watching {
    over: Arc<OwnedFd>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It can only fail when it was told already.
        let _ = rustix::io::write(&*self.over, &1u64.to_ne_bytes());
    }
}

pub(super) type Say = Box<dyn Fn(&str) + Send>;

pub(super) fn start(certificates: Arc<Certificates>, say: Say) -> io::Result<Watching> {
    let over = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
    let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    watch_ways(&events, &certificates);
    let watching = Watching {
        over: Arc::clone(&over),
    };
    let thread = std::thread::Builder::new().name("certificates".to_owned());
    thread.spawn(move || {
        // They may have changed since they were read, or be about to.
        settle(&events, &over);
        reload(&certificates, &say);
        loop {
            match wait(&events, &over, None) {
                Ok(Woken::Changed) => {}
                Ok(_) => return,
                Err(error) => {
                    say(&format!(
                        "the TLS certificate is no longer watched: {error}"
                    ));
                    return;
                }
            }
            settle(&events, &over);
            // A link may point into another directory now. What changes there from here on is heard of.
            watch_ways(&events, &certificates);
            reload(&certificates, &say);
        }
    })?;
    Ok(watching)
}

/// Waits until the directories are quiet, for `SETTLES_MAX` at most.
fn settle(events: &OwnedFd, over: &OwnedFd) {
    let began = Instant::now();
    loop {
        forget(events);
        let woken = wait(events, over, Some(&SETTLES));
        if !matches!(woken, Ok(Woken::Changed)) || began.elapsed() > SETTLES_MAX {
            return;
        }
    }
}

enum Woken {
    Changed,
    Over,
    Late,
}

fn wait(events: &OwnedFd, over: &OwnedFd, timeout: Option<&Timespec>) -> io::Result<Woken> {
    let mut both = [
        PollFd::new(over, PollFlags::IN),
        PollFd::new(events, PollFlags::IN),
    ];
    loop {
        match poll(&mut both, timeout) {
            Ok(0) => return Ok(Woken::Late),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [over, _] = &both;
        return Ok(if over.revents().is_empty() {
            Woken::Changed
        } else {
            Woken::Over
        });
    }
}

/// Discards all events. Their content does not matter: the files are read again.
fn forget(events: &OwnedFd) {
    let mut space = [MaybeUninit::uninit(); EVENTS_BYTES];
    let mut events = Reader::new(events, &mut space);
    while events.next().is_ok() {}
}

fn reload(certificates: &Certificates, say: &Say) {
    match certificates.reload() {
        Ok(true) => {
            say(&format!("TLS: new certificate {}", certificates.facts()));
        }
        Ok(false) => {}
        Err(fault) => say(&format!("TLS: the old certificate stays in use: {fault}")),
    }
}

/// Watches the existing directories; a missing one will appear in one of these.
fn watch_ways(events: &OwnedFd, certificates: &Certificates) {
    let wanted = WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVED_TO
        | WatchFlags::CREATE
        | WatchFlags::ATTRIB
        | WatchFlags::ONLYDIR;
    for path in certificates.paths() {
        for directory in directories(path) {
            // The same directory twice is one watch.
            let _ = add_watch(events, &directory, wanted);
        }
    }
}

/// The directories in which a change can replace `path`: of the file itself and of each link on the way.
fn directories(path: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let Ok(path) = std::path::absolute(path) else {
        return found;
    };
    let mut rest = parts(&path);
    let mut here = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            here.pop();
            continue;
        }
        match std::fs::read_link(here.join(&part)) {
            Ok(target) => {
                found.insert(here.clone());
                links += 1;
                if links > LINKS_MAX {
                    return found;
                }
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                let mut way = parts(&target);
                way.append(&mut rest);
                rest = way;
            }
            Err(_) if rest.is_empty() || !here.join(&part).is_dir() => {
                found.insert(here.clone());
                return found;
            }
            Err(_) => here.push(part),
        }
    }
    found
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_link_on_the_way_is_watched() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("its name");
        for made in ["live", "archive/1", "elsewhere"] {
            std::fs::create_dir_all(root.join(made)).expect("made");
        }
        std::fs::write(root.join("archive/1/chain"), b"").expect("written");
        symlink("../archive/now/chain", root.join("live/chain")).expect("linked");
        symlink("1", root.join("archive/now")).expect("linked");
        symlink(root.join("live"), root.join("elsewhere/tls")).expect("linked");
        let found = directories(&root.join("elsewhere/tls/chain"));
        let wanted: BTreeSet<PathBuf> = ["elsewhere", "live", "archive", "archive/1"]
            .iter()
            .map(|name| root.join(name))
            .collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_circle_of_links_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        symlink("b", dir.path().join("a")).expect("linked");
        symlink("a", dir.path().join("b")).expect("linked");
        assert!(!directories(&dir.path().join("a")).is_empty());
    }
}
