//! The directories of a C News: NEWSCTL and NEWSARTS.

use std::io;
use std::path::{Path, PathBuf};

use crate::conf_file::ConfFile;

/// A C News.
#[derive(Debug, Clone)]
pub struct Installation {
    /// NEWSCTL: active, history, sys and the other control files.
    pub ctl: PathBuf,
    /// NEWSARTS: the tree of articles.
    pub articles: PathBuf,
}

/// Places of the file of shell variables (NEWSCONFIG) below NEWSCTL.
const CONFIGS: [&str; 2] = ["bin/config", "config"];

impl Installation {
    /// Finds an installation: `ctl` is NEWSCTL. The tree is `articles`, or what its file of shell variables says, or `ctl` itself.
    ///
    /// # Errors
    /// There is no `active`, or no tree.
    pub fn find(ctl: &Path, articles: Option<&Path>) -> io::Result<Installation> {
        let missing = |why: String| io::Error::new(io::ErrorKind::NotFound, why);
        if !ctl.join("active").is_file() {
            return Err(missing(format!(
                "{} has no active: name the directory of C News that has active, history and sys (NEWSCTL), such as /usr/lib/news",
                ctl.display()
            )));
        }
        let articles = match articles {
            Some(articles) => articles.to_owned(),
            None => {
                let mut configured = None;
                for name in CONFIGS {
                    let file = ConfFile::read(ctl.join(name))?;
                    configured = configured.or_else(|| variable(&file, "NEWSARTS"));
                }
                configured.unwrap_or_else(|| ctl.to_owned())
            }
        };
        if !articles.is_dir() {
            return Err(missing(format!(
                "{} is not a directory: name the tree of articles (NEWSARTS) with --articles",
                articles.display()
            )));
        }
        Ok(Installation {
            ctl: ctl.to_owned(),
            articles,
        })
    }

    /// A control file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn control(&self, name: &str) -> io::Result<ConfFile> {
        ConfFile::read(self.ctl.join(name))
    }
}

/// The default of a shell variable: `NAME=${NAME-VALUE}`, or `NAME=VALUE`.
fn variable(file: &ConfFile, name: &str) -> Option<PathBuf> {
    file.lines().iter().rev().find_map(|(_, line)| {
        let value = line.trim().strip_prefix(name)?.strip_prefix('=')?;
        let value = match value.strip_prefix("${") {
            Some(rest) => {
                let rest = rest.strip_prefix(name)?.strip_suffix('}')?;
                rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'))?
            }
            None => value,
        };
        let value = value.trim_matches(['"', '\'']);
        value.starts_with('/').then(|| PathBuf::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_found_in_the_shell_variables() {
        let read = |text: &str| {
            let file = ConfFile {
                text: text.into(),
                ..ConfFile::default()
            };
            variable(&file, "NEWSARTS")
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            read("# x\nNEWSBIN=${NEWSBIN-/b}\nNEWSARTS=${NEWSARTS-/var/spool/news}\n"),
            path("/var/spool/news")
        );
        assert_eq!(read("NEWSARTS=\"/a b\"\n"), path("/a b"));
        for none in ["", "NEWSARTS=`pwd`", "NEWSARTS=${HOME}/x", "XNEWSARTS=/a"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
