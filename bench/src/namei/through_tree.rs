//! The experiment with the file system's code alone: no kernel, so the time is that of the caches and of the directories.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mount::{Caches, Counters, Tree};
use rustix::time::{ClockId, clock_gettime};

use super::day::Visit;
use super::way::Way;

/// The root directory.
const ROOT: u64 = 1;
/// The process of `ls`; the readers' are greater.
const LS: u32 = 1;

/// The tree of a news directory.
pub struct ThroughTree {
    tree: Tree,
}

impl ThroughTree {
    /// Opens it with empty caches.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(news: &Path, caches: Caches) -> Result<ThroughTree> {
        let tree = Tree::open(news, caches)?;
        Ok(ThroughTree { tree })
    }

    /// Translates a path below a directory.
    fn look_up(&mut self, process: u32, start: u64, path: &str) -> Result<u64> {
        let mut directory = start;
        for part in path.split('/') {
            let found = self.tree.lookup(directory, part.as_bytes(), process);
            let found = found.map_err(|fault| anyhow!("{path}: {fault:?}"))?;
            directory = found.with_context(|| format!("{path}: {part}"))?.number;
        }
        Ok(directory)
    }

    fn names(&mut self, directory: u64) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut add = |entry: mount::Entry<'_>| {
            let name = String::from_utf8_lossy(entry.name).into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
            true
        };
        let listed = self.tree.entries(directory, 0, false, &mut add);
        listed.map_err(|fault| anyhow!("{fault:?}"))?;
        Ok(names)
    }
}

impl Way for ThroughTree {
    fn list(&mut self, groups: &[String]) -> Result<()> {
        match groups {
            // In the directory itself.
            [group] => {
                let directory = self.look_up(LS, ROOT, group)?;
                for name in self.names(directory)? {
                    self.look_up(LS, directory, &name)?;
                }
            }
            _ => {
                for group in groups {
                    let directory = self.look_up(LS, ROOT, group)?;
                    for name in self.names(directory)? {
                        self.look_up(LS, ROOT, &format!("{group}/{name}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn visit(&mut self, visit: &Visit, group: &str) -> Result<()> {
        let process = LS + 1 + visit.reader;
        if visit.changes_directory {
            let directory = self.look_up(process, ROOT, group)?;
            for number in &visit.numbers {
                self.look_up(process, directory, &number.to_string())?;
            }
        } else {
            for number in &visit.numbers {
                self.look_up(process, ROOT, &format!("{group}/{number}"))?;
            }
        }
        Ok(())
    }

    fn cpu(&self) -> Result<Duration> {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    fn counters(&mut self) -> Result<Counters> {
        Ok(self.tree.counters())
    }
}
