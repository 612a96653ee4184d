//! A directory as an object store: another disk of this machine, or one that the network brings.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use store::offload::Objects;

/// Bytes copied at once: 1 MiB.
const PIECE_BYTES: usize = 1 << 20;

/// A directory. Each object is a file below the site's name in it.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    site: PathBuf,
}

impl Directory {
    /// The objects of a site in a directory, which must exist when it is used: an empty place where a disk should be mounted is not taken for the disk.
    pub fn new(root: PathBuf, site: &str) -> Directory {
        Directory {
            site: root.join(site),
            root,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.site.join(name)
    }

    /// What a missing file means: without the site's directory the disk is not there.
    fn missing(&self, error: io::Error, path: &Path) -> io::Error {
        if error.kind() == io::ErrorKind::NotFound && !self.site.is_dir() {
            let what = format!("{} is not there: is its disk mounted?", self.site.display());
            return io::Error::new(io::ErrorKind::NotConnected, what);
        }
        named(error, path)
    }
}

fn named(error: io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Objects for Directory {
    fn put(&self, name: &str, content: &mut dyn Read, length: u64) -> io::Result<()> {
        let path = self.path(name);
        let part = self.site.join("part");
        let mut put = || {
            if !self.root.is_dir() {
                let what = "the directory does not exist: create it, or mount its disk";
                return Err(io::Error::new(io::ErrorKind::NotConnected, what));
            }
            let folder = path.parent().unwrap_or(&self.site);
            store::make_directories(folder, 0o777)?;
            let mut file = File::create(&part)?;
            let mut buffer = vec![0; PIECE_BYTES];
            let mut left = length;
            while left > 0 {
                let most = left.min(PIECE_BYTES as u64) as usize;
                let got = content.read(buffer.get_mut(..most).unwrap_or_default())?;
                if got == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                file.write_all(buffer.get(..got).unwrap_or_default())?;
                left -= got as u64;
            }
            file.sync_all()?;
            // What is read back comes from the disk.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
            fs::rename(&part, &path)?;
            for folder in [folder, &self.site, &self.root] {
                store::sync_directory(folder)?;
            }
            Ok(())
        };
        let done = put();
        if done.is_err() {
            // The disk may be full because of it.
            let _ = fs::remove_file(&part);
        }
        done.map_err(|error| named(error, &path))
    }

    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let path = self.path(name);
        let read = store::regular::open(&path);
        let read = read.and_then(|file| file.read_exact_at(buffer, offset));
        read.map_err(|error| self.missing(error, &path))
    }

    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        let path = self.path(name);
        match fs::metadata(&path).map_err(|error| self.missing(error, &path)) {
            Ok(data) => Ok(Some(data.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_unused(&self) -> bool {
        !self.site.is_dir()
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path).map_err(|error| self.missing(error, &path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
        // Also if another attempt removed it: who asked forgets the name.
        let folder = path.parent().unwrap_or(&self.site);
        match store::sync_directory(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|error| named(error, folder)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_until_it_is_deleted() {
        let root = tempfile::tempdir().unwrap();
        let objects = Directory::new(root.path().to_owned(), "news.example.org");
        let name = "segments/1-2.art";
        // Nothing tells yet that the disk is there.
        assert!(objects.length(name).is_err());
        objects.put(name, &mut &b"0123456789"[..], 10).unwrap();
        let mut bytes = [0; 3];
        objects.read(name, 4, &mut bytes).unwrap();
        assert_eq!(&bytes, b"456");
        assert_eq!(objects.length(name).unwrap(), Some(10));
        let short = objects.read(name, 8, &mut bytes).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
        objects.delete(name).unwrap();
        objects.delete(name).unwrap();
        assert_eq!(objects.length(name).unwrap(), None);
        let gone = objects.read(name, 0, &mut bytes).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_object_that_ends_early_is_not_stored() {
        let root = tempfile::tempdir().unwrap();
        let objects = Directory::new(root.path().to_owned(), "a");
        assert!(objects.put("segments/x", &mut &b"0123"[..], 10).is_err());
        assert_eq!(objects.length("segments/x").unwrap(), None);
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn a_disk_that_is_not_mounted_is_no_empty_store() {
        let root = tempfile::tempdir().unwrap();
        let objects = Directory::new(root.path().join("disk"), "a");
        let put = objects.put("segments/x", &mut &b""[..], 0).unwrap_err();
        assert_eq!(put.kind(), io::ErrorKind::NotConnected);
        for answer in [
            objects.length("segments/x").map(drop),
            objects.delete("segments/x"),
        ] {
            assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::NotConnected);
        }
    }
}
