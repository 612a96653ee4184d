//! The experiment through a real mount, whose names the kernel does not keep: real `ls`, and a thread for each reader, since FUSE tells the
//! file system the thread that asks.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mount::{Caches, Counters};
use rustix::fs::{AtFlags, Mode, OFlags, open, statat};
use rustix::mount::{UnmountFlags, unmount};

use crate::nntp::process;

use super::day::{READERS, Visit};
use super::way::Way;

/// The counts are written within a second.
const COUNTED: Duration = Duration::from_millis(1_500);

/// A mount, and the readers.
pub struct ThroughMount {
    child: Child,
    news: PathBuf,
    at: PathBuf,
    readers: Vec<Sender<(Visit, PathBuf)>>,
    done: Receiver<Result<()>>,
}

impl ThroughMount {
    /// Mounts a news directory beside it. `Err`: this machine does not allow it.
    ///
    /// # Errors
    /// As said.
    pub fn start(binary: &Path, news: &Path, caches: Caches) -> Result<ThroughMount> {
        File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .context("/dev/fuse")?;
        let at = news.with_file_name("spool");
        std::fs::create_dir_all(&at)?;
        let mut command = Command::new(binary);
        command
            .args(["mount", "--cache-seconds", "0", "--dir"])
            .arg(news)
            .args(["--name-cache", &caches.names.to_string()])
            .args(["--offset-cache", &caches.processes.to_string()])
            .arg(&at)
            .stderr(Stdio::piped());
        if caches.is_linear {
            command.arg("--linear");
        }
        let mut child = command.spawn().context("starting broadsheet mount")?;
        let stderr = child.stderr.take().context("standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let said = lines.next().context("broadsheet mount says nothing")??;
        // So that it can go on to speak.
        std::thread::spawn(move || lines.for_each(drop));
        let (tell, done) = channel();
        let mut mounted = ThroughMount {
            child,
            news: news.to_owned(),
            at,
            readers: Vec::new(),
            done,
        };
        if !said.contains("mounted at") {
            bail!("{said}");
        }
        for _ in 0..READERS {
            let (sender, visits) = channel::<(Visit, PathBuf)>();
            let tell = tell.clone();
            std::thread::spawn(move || {
                for (visit, directory) in visits {
                    if tell.send(read(&visit, &directory)).is_err() {
                        return;
                    }
                }
            });
            mounted.readers.push(sender);
        }
        Ok(mounted)
    }
}

/// Looks up the articles of a visit.
fn read(visit: &Visit, directory: &Path) -> Result<()> {
    if visit.changes_directory {
        let directory = open(directory, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        for number in &visit.numbers {
            statat(&directory, number.to_string(), AtFlags::empty())?;
        }
    } else {
        for number in &visit.numbers {
            statat(
                rustix::fs::CWD,
                directory.join(number.to_string()),
                AtFlags::empty(),
            )?;
        }
    }
    Ok(())
}

impl Way for ThroughMount {
    fn list(&mut self, groups: &[String]) -> Result<()> {
        let mut command = Command::new("ls");
        command.arg("-ln");
        match groups {
            [group] => command.current_dir(self.at.join(group)),
            _ => command.current_dir(&self.at).args(groups),
        };
        let listed = command.env("LC_ALL", "C").output().context("ls")?;
        match listed.status.success() && listed.stderr.is_empty() {
            true => Ok(()),
            false => Err(anyhow!("ls: {}", String::from_utf8_lossy(&listed.stderr))),
        }
    }

    fn visit(&mut self, visit: &Visit, group: &str) -> Result<()> {
        let reader = self.readers.get(visit.reader as usize);
        let reader = reader.context("a reader")?;
        reader.send((visit.clone(), self.at.join(group)))?;
        self.done.recv()?
    }

    fn cpu(&self) -> Result<Duration> {
        process::cpu(&[self.child.id()])
    }

    fn counters(&mut self) -> Result<Counters> {
        std::thread::sleep(COUNTED);
        let mounts = mount::counters::read(&self.news);
        let own = mounts.iter().find(|mount| mount.pid == self.child.id());
        Ok(own.context("the counts of the mount")?.counters)
    }
}

impl Drop for ThroughMount {
    fn drop(&mut self) {
        let _ = unmount(&self.at, UnmountFlags::DETACH);
        // Ends by itself then; and if it was not mounted, now.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir(&self.at);
    }
}
