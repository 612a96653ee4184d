//! Reads articles from INN's spools: tradspool, timehash, timecaf and CNFS.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::inn::caf::{self, ARTICLE_BYTES_MAX, Place};
use crate::inn::cnfs::Buffer;
use crate::inn::conf::ConfFile;
use crate::inn::installation::Installation;
use crate::inn::token::Token;
use crate::regular;

/// A spool that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct SpoolError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// The spools of an installation.
#[derive(Debug)]
pub struct Spools {
    articles: PathBuf,
    /// The directory of each group, by its number in tradspool.map.
    groups: HashMap<u32, PathBuf>,
    /// The buffers of CNFS, by name; each is opened when first needed.
    buffers: HashMap<Vec<u8>, PathBuf>,
    opened: HashMap<Vec<u8>, Buffer>,
    /// The CAF file that was read last: neighbours in history usually share one.
    caf: Option<(PathBuf, File)>,
}

impl Spools {
    /// The spools of an installation.
    ///
    /// # Errors
    /// A file that describes them cannot be read.
    pub fn of(inn: &Installation) -> io::Result<Spools> {
        let map = ConfFile::read(inn.spool.join("tradspool.map"))?;
        let groups = map.lines().into_iter().filter_map(|(_, line)| {
            let (group, number) = line.rsplit_once(' ')?;
            // The map has slashes in place of dots, in older releases dots.
            let below = relative(&group.replace('.', "/"))?;
            Some((number.trim().parse().ok()?, below))
        });
        let cycbuff = inn.setting("cycbuff.conf")?;
        let buffers = cycbuff.lines().into_iter().filter_map(|(_, line)| {
            let mut fields = line.strip_prefix("cycbuff:")?.split(':');
            let (name, path) = (fields.next()?, fields.next()?);
            Some((name.as_bytes().to_vec(), PathBuf::from(path)))
        });
        Ok(Spools {
            articles: inn.articles.clone(),
            groups: groups.collect(),
            buffers: buffers.collect(),
            opened: HashMap::new(),
            caf: None,
        })
    }

    /// The group and the number of an article, if its token has them.
    pub fn link(&self, token: Token) -> Option<(Vec<u8>, u64)> {
        let Token::Tradspool { group, number } = token else {
            return None;
        };
        let group = self.groups.get(&group)?.to_str()?.replace('/', ".");
        Some((group.into_bytes(), u64::from(number)))
    }

    /// Reads the article of a token into a buffer, as it lies in the spool. False: it is not there any more (cancelled or expired).
    ///
    /// # Errors
    /// The spool cannot be read.
    pub fn read(&mut self, token: Token, out: &mut Vec<u8>) -> Result<bool, SpoolError> {
        out.clear();
        match token {
            Token::Tradspool { group, number } => match self.groups.get(&group) {
                None => Err(SpoolError {
                    path: self.articles.clone(),
                    source: io::Error::other(format!("tradspool.map has no group {group}")),
                }),
                Some(group) => read_file(&self.articles.join(group).join(number.to_string()), out),
            },
            Token::Timehash {
                class,
                arrival,
                sequence,
            } => {
                let [a, b, c, d] = arrival.to_be_bytes();
                let name =
                    format!("time-{class:02x}/{b:02x}/{c:02x}/{sequence:04x}-{a:02x}{d:02x}");
                read_file(&self.articles.join(name), out)
            }
            Token::Timecaf {
                class,
                arrival,
                number,
            } => {
                let [_, a, b, c] = arrival.to_be_bytes();
                let name = format!("timecaf-{class:02x}/{b:02x}/{a:02x}{c:02x}.CF");
                let path = self.articles.join(name);
                self.read_caf(&path, number, out)
                    .map_err(|source| SpoolError { path, source })
            }
            Token::Cnfs {
                buffer,
                block,
                cycle,
            } => self.read_cnfs(&buffer, (block, cycle), out),
            Token::Trash | Token::Other(_) => Ok(false),
        }
    }

    fn read_caf(&mut self, path: &Path, number: u32, out: &mut Vec<u8>) -> io::Result<bool> {
        if self.caf.as_ref().is_none_or(|(known, _)| known != path) {
            match regular::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                opened => self.caf = Some((path.to_owned(), opened?)),
            }
        }
        let Some((_, file)) = &self.caf else {
            return Ok(false);
        };
        match caf::find(file, u64::from(number))? {
            None => Ok(false),
            Some(place) => read_place(file, place, out).map(|()| true),
        }
    }

    fn read_cnfs(
        &mut self,
        name: &[u8; 8],
        (block, cycle): (u32, u32),
        out: &mut Vec<u8>,
    ) -> Result<bool, SpoolError> {
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        let name = name.get(..end).unwrap_or_default();
        let Some(path) = self.buffers.get(name) else {
            return Err(SpoolError {
                path: self.articles.clone(),
                source: io::Error::other(format!(
                    "cycbuff.conf has no buffer {}",
                    String::from_utf8_lossy(name)
                )),
            });
        };
        let at = |source| SpoolError {
            path: path.clone(),
            source,
        };
        let buffer = match self.opened.entry_ref(name) {
            hashbrown::hash_map::EntryRef::Occupied(known) => known.into_mut(),
            hashbrown::hash_map::EntryRef::Vacant(place) => {
                place.insert(Buffer::open(path).map_err(at)?)
            }
        };
        match buffer.find(block, cycle).map_err(at)? {
            None => Ok(false),
            Some(place) => read_place(buffer.file(), place, out)
                .map(|()| true)
                .map_err(at),
        }
    }
}

/// A path of plain names only: nothing leads out of the spool.
fn relative(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let mut parts = path.components();
    let is_plain = parts.all(|part| matches!(part, std::path::Component::Normal(_)));
    (is_plain && !name.is_empty()).then_some(path)
}

fn read_file(path: &Path, out: &mut Vec<u8>) -> Result<bool, SpoolError> {
    let read = |out: &mut Vec<u8>| {
        let file = match regular::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let size = file.metadata()?.len();
        if size > ARTICLE_BYTES_MAX {
            return Err(io::Error::other(format!("it has {size} bytes")));
        }
        read_place(&file, Place { offset: 0, size }, out).map(|()| size > 0)
    };
    read(out).map_err(|source| SpoolError {
        path: path.to_owned(),
        source,
    })
}

fn read_place(file: &File, place: Place, out: &mut Vec<u8>) -> io::Result<()> {
    out.resize(place.size as usize, 0);
    file.read_exact_at(out, place.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_spool() {
        assert_eq!(relative("comp/lang/c"), Some(PathBuf::from("comp/lang/c")));
        for bad in ["", "/etc", "a/../../b"] {
            assert_eq!(relative(bad), None, "{bad}");
        }
    }
}
