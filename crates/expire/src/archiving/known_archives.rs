//! `archives.known`: the archives that had articles, a path in each line as in the policy.
//!
//! Where such a directory is empty now, its disk is probably not mounted, and copies would go to the disk below.

use std::path::{Path, PathBuf};

use store::disk::RealDisk;

/// The file's name in the news directory.
const FILE: &str = "archives.known";

/// The archives that had articles.
#[derive(Debug)]
pub struct KnownArchives {
    path: PathBuf,
    text: Vec<u8>,
}

impl KnownArchives {
    /// Those of a news directory; without the file there are none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(news: &Path) -> Result<KnownArchives, store::Error> {
        let path = news.join(FILE);
        let text = store::read_whole(&RealDisk, &path)?.unwrap_or_default();
        Ok(KnownArchives { path, text })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an archive, as the policy names it, had articles.
    pub fn has(&self, archive: &[u8]) -> bool {
        self.text
            .split(|&byte| byte == b'\n')
            .any(|line| line == archive)
    }

    /// Adds archives durably.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add<'p>(
        &mut self,
        archives: impl Iterator<Item = &'p [u8]>,
    ) -> Result<(), store::Error> {
        let before = self.text.len();
        for archive in archives {
            if !self.has(archive) {
                if !self.text.is_empty() && !self.text.ends_with(b"\n") {
                    self.text.push(b'\n');
                }
                self.text.extend_from_slice(archive);
                self.text.push(b'\n');
            }
        }
        if self.text.len() == before {
            Ok(())
        } else {
            store::replace(&RealDisk, &self.path, |file| file.write_at(&self.text, 0))
        }
    }
}
