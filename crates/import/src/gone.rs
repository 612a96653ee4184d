//! The articles that are visible here, and cancelled or expired there since an earlier run filed them. They stay: a spool that is not mounted
//! looks the same.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use hashbrown::{HashMap, HashSet};
use store::disk::RealDisk;
use store::seen_hashes::md5_of;
use store::{HistoryLine, Position};

use crate::error::Error;
use crate::importer::Importer;
use crate::regular;
use crate::run::Source;

/// The list of their ids in the news directory, one a line, of the last run; without any, there is no file.
pub const GONE: &str = "import.gone";

/// Writes the list, and counts its ids. `before` is the end of the log before this run.
///
/// # Errors
/// Those of the store and of the files.
pub(crate) fn list(
    source: &mut dyn Source,
    importer: &mut Importer<'_>,
    (dir, before): (&Path, Position),
) -> Result<(), Error> {
    let path = dir.join(GONE);
    let counts = importer.counts();
    // The spool is elsewhere.
    let mut here = if counts.is_nothing_there() {
        HashMap::new()
    } else {
        visible(importer, before)?
    };
    if !here.is_empty() {
        let history = source.history().to_owned();
        remove_found(source, &history, &mut here)?;
    }
    if here.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        };
    }
    importer.set_gone_here(here.len() as u64);
    let mut ids: Vec<Vec<u8>> = here.into_values().collect();
    ids.sort_unstable();
    let text = [ids.join(&b'\n'), b"\n".to_vec()].concat();
    Ok(store::replace(&RealDisk, &path, |file| {
        file.write_at(&text, 0)
    })?)
}

/// The visible articles from before this run that the other system only remembers, by the MD5 of their ids.
fn visible(
    importer: &mut Importer<'_>,
    before: Position,
) -> Result<HashMap<[u8; 16], Vec<u8>>, Error> {
    let mut here = HashMap::new();
    // A snapshot shows only what is committed.
    importer.sync()?;
    let Some(hashes) = importer.hashes().filter(|hashes| hashes.count() > 0) else {
        return Ok(here);
    };
    let gone: HashSet<[u8; 16]> = hashes.read()?.into_iter().map(|(hash, _)| hash).collect();
    let snapshot = importer.spool().snapshot()?;
    snapshot.each_history_line(|line| {
        if let Some(line) = HistoryLine::parse(line)
            && line.position.is_some_and(|position| position < before)
            && snapshot.is_alive(&line)
        {
            let hash = md5_of(line.id);
            if gone.contains(&hash) {
                here.insert(hash, line.id.to_vec());
            }
        }
        Ok(())
    })?;
    Ok(here)
}

/// Removes the articles that another line of the history says to be elsewhere in the spool.
fn remove_found(
    source: &mut dyn Source,
    history: &Path,
    here: &mut HashMap<[u8; 16], Vec<u8>>,
) -> Result<(), Error> {
    let at = || Error::io("read", history);
    let mut reader = BufReader::with_capacity(1 << 20, regular::open(history).map_err(at())?);
    let limit = source.line_bytes_max() as u64;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = Read::take(&mut reader, limit).read_until(b'\n', &mut line);
        if read.map_err(at())? == 0 {
            return Ok(());
        }
        let Some(whole) = line.strip_suffix(b"\n") else {
            reader.skip_until(b'\n').map_err(at())?;
            continue;
        };
        if let Some(hash) = source.hash_of(whole)
            && here.contains_key(&hash)
            && source.may_be_there(whole)
        {
            here.remove(&hash);
        }
    }
}
