//! Where the files of an INN are, by its inn.conf.

use std::io;
use std::path::{Path, PathBuf};

use crate::inn::conf::{ConfFile, Group};

/// An INN: its inn.conf, and the directories that it names.
#[derive(Debug)]
pub struct Installation {
    /// inn.conf.
    pub conf: ConfFile,
    /// Its keys.
    pub keys: Group,
    /// Where its settings are (`pathetc`).
    pub etc: PathBuf,
    /// Where active and history are (`pathdb`).
    pub db: PathBuf,
    /// Where the articles are (`patharticles`).
    pub articles: PathBuf,
    /// Where the spools are (`pathspool`).
    pub spool: PathBuf,
}

/// Places of inn.conf below the directory that is given.
const PLACES: [&str; 3] = ["inn.conf", "etc/inn.conf", "etc/news/inn.conf"];

impl Installation {
    /// Finds an installation: `from` is its inn.conf, or a directory with it.
    ///
    /// # Errors
    /// There is no inn.conf, or it cannot be read.
    pub fn find(from: &Path) -> io::Result<Installation> {
        let path = if from.is_dir() {
            let places = PLACES.iter().map(|place| from.join(place));
            let mut found = places.filter(|path| path.exists());
            found.next().ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    format!(
                        "{} has no inn.conf: name the directory that has it, usually /etc/news",
                        from.display()
                    ),
                )
            })?
        } else {
            from.to_owned()
        };
        let conf = ConfFile::read(path)?;
        if !conf.is_there {
            let why = format!("{} does not exist", conf.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let keys = conf.groups();
        let beside = conf.path.parent().unwrap_or(Path::new(".")).to_owned();
        // The defaults of INN, with pathnews as its prefix; Debian sets all of them.
        let news = keys.value("pathnews").map(PathBuf::from);
        let set = |key: &str, default: &dyn Fn() -> Option<PathBuf>| match keys.value(key) {
            Some(path) => Some(PathBuf::from(path)),
            None => default(),
        };
        let below = |name: &str| news.as_ref().map(|news| news.join(name));
        let spool = set("pathspool", &|| below("spool"));
        let etc = set("pathetc", &|| Some(beside.clone()));
        let db = set("pathdb", &|| below("db"));
        let articles = set("patharticles", &|| {
            spool.as_ref().map(|spool| spool.join("articles"))
        });
        let missing = |key: &str| {
            io::Error::other(format!(
                "{}: no `{key}', and no `pathnews'",
                conf.path.display()
            ))
        };
        Ok(Installation {
            etc: etc.ok_or_else(|| missing("pathetc"))?,
            db: db.ok_or_else(|| missing("pathdb"))?,
            spool: spool.ok_or_else(|| missing("pathspool"))?,
            articles: articles.ok_or_else(|| missing("patharticles"))?,
            conf,
            keys,
        })
    }

    /// A file of its settings.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn setting(&self, name: &str) -> io::Result<ConfFile> {
        ConfFile::read(self.etc.join(name))
    }

    /// A file of its data.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn data(&self, name: &str) -> io::Result<ConfFile> {
        ConfFile::read(self.db.join(name))
    }
}
