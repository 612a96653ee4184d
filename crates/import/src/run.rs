//! Files the articles of an INN, in the order of its history, and remembers the ids of those that are gone.
//!
//! *Invariant:* the state file says how far the history was read; everything before that is durable. A killed run continues there. Articles
//! that were filed after the last state are found in our history and passed over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use article::date::{self, Utc};
use article::xref::Xref;
use article::{Article, Form, Header};
use store::seen_hashes::{self, SeenHash};
use store::{Expires, Filing, OverviewFields, Piece, Spool};

use crate::inn::history::{self, Id, Line};
use crate::inn::installation::Installation;
use crate::inn::spools::Spools;
use crate::inn::token::Token;

/// The state file in the news directory, while an import is not finished.
pub const STATE: &str = "import.state";
/// Hashes of ids that are only remembered, while an import is not finished.
const HASHES: &str = "import.hashes";
/// Articles that could not be filed, a batch in `bad/`.
const UNFILED: &str = "bad/import.unfiled";
/// Bytes of a hash with its arrival, in [`HASHES`].
const HASH_BYTES: usize = 20;
/// Faults of single articles that are reported one by one; the others are counted.
pub const FAULTS_NAMED_MAX: u64 = 50;
/// Most groups of one imported article; the others are left out.
pub const LINKS_MAX: usize = 1000;
/// Lines of the history between two calls of [`Watch::progress`].
const PROGRESS_LINES: u64 = 256;

/// An error that ends the import; what was committed stays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The failed action.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}

/// Observes an import.
pub trait Watch {
    /// Reports the fault of one article.
    fn fault(&mut self, text: &str);
    /// Reports how far the history was read, bytes of all bytes.
    fn progress(&mut self, _read: u64, _all: u64, _counts: &Counts) {}
}

/// The results for the lines of the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Articles filed.
    pub filed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Articles that are here already.
    pub known: u64,
    /// Articles that are gone from the spool (cancelled or expired): their ids are remembered.
    pub gone: u64,
    /// Ids that INN only remembered.
    pub remembered: u64,
    /// Articles that were not filed, each with a reported fault.
    pub unfiled: u64,
    /// Lines of the history that cannot be read.
    pub garbled: u64,
    /// Faults beyond [`FAULTS_NAMED_MAX`].
    pub unnamed: u64,
}

/// Options of an import.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// Number of pending bytes that causes a commit.
    pub commit_bytes: usize,
    /// The store.
    pub store: store::Options,
}

/// Imports the articles of an installation into a news directory that has its groups.
///
/// # Errors
/// Errors that are not of one article.
pub fn run(
    inn: &Installation,
    dir: &Path,
    options: RunOptions,
    watch: &mut dyn Watch,
) -> Result<Counts, Error> {
    let path = inn.db.join("history");
    let at = |doing| Error::io(doing, &path);
    let file = File::open(&path).map_err(at("read"))?;
    let all = file.metadata().map_err(at("read"))?.len();
    let spools = Spools::of(inn).map_err(Error::io("read the description of", &inn.articles))?;
    let spool = Spool::open(dir, options.store)?;
    let start = State::read(dir, &path, &file)?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    reader
        .seek(SeekFrom::Start(start.offset))
        .map_err(at("read"))?;
    let hashes = open_hashes(dir, start.hashes)?;
    let mut importer = Importer {
        dir,
        spool,
        spools,
        hashes: io::BufWriter::new(hashes),
        hash_count: start.hashes,
        counts: start.counts,
        faults: 0,
        article: Vec::new(),
        unfiled: None,
        watch,
    };
    let mut offset = start.offset;
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let limit = history::LINE_BYTES_MAX as u64;
        let read = Read::take(&mut reader, limit).read_until(b'\n', &mut line);
        let read = read.map_err(at("read"))?;
        if read == 0 {
            break;
        }
        offset += read as u64;
        match line.strip_suffix(b"\n") {
            Some(line) => importer.line(line)?,
            None if read as u64 == limit => {
                offset += reader.skip_until(b'\n').map_err(at("read"))? as u64;
                importer.counts.garbled += 1;
            }
            // INN is still writing it, or was interrupted.
            None => importer.line(&line)?,
        }
        if importer.spool.pending_bytes() >= options.commit_bytes {
            importer.commit(&path, offset)?;
        }
        if number.is_multiple_of(PROGRESS_LINES) {
            importer.watch.progress(offset, all, &importer.counts);
        }
    }
    importer.commit(&path, offset)?;
    importer.finish()
}

struct Importer<'a> {
    dir: &'a Path,
    spool: Spool,
    spools: Spools,
    hashes: io::BufWriter<File>,
    hash_count: u64,
    counts: Counts,
    faults: u64,
    article: Vec<u8>,
    unfiled: Option<File>,
    watch: &'a mut dyn Watch,
}

/// An article that cannot be filed, and the reason.
struct Unfiled(String);

impl Importer<'_> {
    fn line(&mut self, text: &[u8]) -> Result<(), Error> {
        let Some(line) = Line::parse(text) else {
            self.counts.garbled += u64::from(!text.is_empty());
            return Ok(());
        };
        let Some(token) = line.token else {
            self.counts.remembered += 1;
            return self.remember(&line);
        };
        let mut article = std::mem::take(&mut self.article);
        let read = self.spools.read(token, &mut article);
        let done = match read {
            Ok(true) => self.article(&line, token, &article),
            Ok(false) => {
                self.counts.gone += 1;
                self.remember(&line).map(Ok)
            }
            Err(error) => Ok(Err(Unfiled(format!(
                "{}: cannot be read: {error}",
                shown(line.id)
            )))),
        };
        self.article = article;
        if let Err(Unfiled(why)) = done? {
            self.counts.unfiled += 1;
            self.fault(&why);
        }
        Ok(())
    }

    fn fault(&mut self, why: &str) {
        self.faults += 1;
        match self.faults <= FAULTS_NAMED_MAX {
            true => self.watch.fault(why),
            false => self.counts.unnamed += 1,
        }
    }

    /// Keeps an id, or its hash.
    fn remember(&mut self, line: &Line<'_>) -> Result<(), Error> {
        match line.id {
            Id::Text(id) if self.spool.has(id)? => Ok(()),
            Id::Text(id) => Ok(self.spool.remember(id, line.arrived, Expires::Absent)?),
            Id::Hash(hash) => {
                self.hash_count += 1;
                let arrival = u32::try_from(line.arrived.max(0)).unwrap_or(u32::MAX);
                self.hashes
                    .write_all(&hash)
                    .and_then(|()| self.hashes.write_all(&arrival.to_le_bytes()))
                    .map_err(Error::io("write", &self.dir.join(HASHES)))
            }
        }
    }

    fn article(
        &mut self,
        line: &Line<'_>,
        token: Token,
        bytes: &[u8],
    ) -> Result<Result<(), Unfiled>, Error> {
        let (bytes, form) = form_of(bytes);
        let article = Article::parse(bytes, form);
        let id = article.value(Header::MessageId).unwrap_or_default();
        let is_its_own = match line.id {
            Id::Text(text) => text == id,
            Id::Hash(hash) => seen_hashes::md5_of(id) == hash,
        };
        if !is_its_own || article::message_id::check(id).is_err() {
            return Ok(Err(Unfiled(format!(
                "{}: the {} spool has another article in its place: {}",
                shown(line.id),
                token.method(),
                text_of(id),
            ))));
        }
        if self.spool.has(id)? {
            self.counts.known += 1;
            return Ok(Ok(()));
        }
        let xref = article.value(Header::Xref).unwrap_or_default();
        let (mut links, mut is_late) = (Vec::<(&[u8], u64)>::new(), false);
        for (group, number) in Xref::parse(xref).links().take(LINKS_MAX) {
            let is_here = self.spool.active().find(group).is_some();
            if !is_here || links.iter().any(|(known, _)| *known == group) {
                continue;
            }
            // Not the high mark: active has that of INN from the beginning.
            let last = self.spool.last_used(group)?;
            if number <= last && !self.spool.is_free(group, number)? {
                let why = format!(
                    "{}: number {number} of {} is taken",
                    text_of(id),
                    text_of(group)
                );
                self.keep(bytes, form)?;
                return Ok(Err(Unfiled(
                    why + "; the article is kept in bad/import.unfiled",
                )));
            }
            is_late |= number <= last;
            links.push((group, number));
        }
        if links.is_empty() {
            self.keep(bytes, form)?;
            return Ok(Err(Unfiled(format!(
                "{}: none of its groups is in active: `{}'; the article is kept in bad/import.unfiled",
                text_of(id),
                text_of(xref),
            ))));
        }
        for (group, number) in &links {
            let active = self.spool.active_mut();
            if let Some(found) = active.find(group)
                && active.high(found) < *number
            {
                active.set_high(found, *number);
            }
        }
        let expires = match article.value(Header::Expires) {
            None | Some(b"") => Expires::Absent,
            Some(value) => date::parse(value, &Utc).map_or(Expires::Unreadable(value), Expires::At),
        };
        let (header, body) = bytes
            .split_at_checked(article.body())
            .unwrap_or((bytes, b""));
        let piece = |bytes| match form {
            Form::Native => Piece::Native(bytes),
            Form::Wire => Piece::wire(bytes),
        };
        let filing = Filing {
            id,
            arrival: line.arrived,
            expires,
            is_late,
            links: &links,
            // Old articles do not go to peers.
            sites: b"",
            header: &[piece(header)],
            body: piece(body),
            left_out: None,
            overview: OverviewFields::of(&article, id),
        };
        match self.spool.append(&filing) {
            Ok(_) => {}
            Err(error @ store::Error::TooLarge { .. }) => {
                self.keep(bytes, form)?;
                return Ok(Err(Unfiled(format!(
                    "{}: {error}; the article is kept in bad/import.unfiled",
                    text_of(id)
                ))));
            }
            Err(error) => return Err(error.into()),
        }
        self.counts.filed += 1;
        self.counts.bytes += bytes.len() as u64;
        Ok(Ok(()))
    }

    /// Keeps an article in a batch, in native form.
    fn keep(&mut self, bytes: &[u8], form: Form) -> Result<(), Error> {
        let mut native = Vec::new();
        match form {
            Form::Native => native.extend_from_slice(bytes),
            Form::Wire => article::wire::push_native(&mut native, bytes),
        }
        let path = self.dir.join(UNFILED);
        let at = |doing| Error::io(doing, &path);
        let file = match &mut self.unfiled {
            Some(file) => file,
            None => {
                let opened = OpenOptions::new().create(true).append(true).open(&path);
                self.unfiled.insert(opened.map_err(at("write"))?)
            }
        };
        file.write_all(format!("#! rnews {}\n", native.len()).as_bytes())
            .and_then(|()| file.write_all(&native))
            .map_err(at("write"))
    }

    fn commit(&mut self, history: &Path, offset: u64) -> Result<(), Error> {
        self.spool.commit()?;
        if let Some(unfiled) = &self.unfiled {
            let path = self.dir.join(UNFILED);
            unfiled.sync_all().map_err(Error::io("sync", &path))?;
        }
        let path = self.dir.join(HASHES);
        self.hashes
            .flush()
            .and_then(|()| self.hashes.get_ref().sync_data())
            .map_err(Error::io("write", &path))?;
        let state = State {
            offset,
            hashes: self.hash_count,
            counts: self.counts,
        };
        state.write(self.dir, history)
    }

    /// Puts the remembered ids in force, raises the low marks, and removes the state.
    fn finish(mut self) -> Result<Counts, Error> {
        let path = self.dir.join(HASHES);
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        let hashes = bytes.as_chunks::<HASH_BYTES>().0.iter();
        let hashes: Option<Vec<SeenHash>> = hashes.map(seen_hash).collect();
        seen_hashes::write(self.dir, hashes.unwrap_or_default())?;
        let snapshot = store::Snapshot::open(self.dir)?;
        let marks = snapshot.low_marks(self.spool.active())?;
        let marks: Vec<(&[u8], u64)> = marks
            .iter()
            .filter(|mark| mark.lowest > mark.was)
            .map(|mark| (mark.group.as_slice(), mark.lowest))
            .collect();
        self.spool.set_low_marks(&marks)?;
        self.spool.commit()?;
        for name in [HASHES, STATE] {
            let path = self.dir.join(name);
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        let synced = File::open(self.dir).and_then(|dir| dir.sync_all());
        synced.map_err(Error::io("sync", self.dir))?;
        Ok(self.counts)
    }
}

fn seen_hash(bytes: &[u8; HASH_BYTES]) -> Option<SeenHash> {
    let (hash, arrival) = bytes.split_first_chunk::<16>()?;
    Some((*hash, u32::from_le_bytes(arrival.try_into().ok()?)))
}

/// An article as a spool has it: wire form with its end, or native form (tradspool with `wireformat: false`).
fn form_of(bytes: &[u8]) -> (&[u8], Form) {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(0);
    match bytes.get(end.wrapping_sub(1)) {
        Some(b'\r') => {
            let whole = match bytes {
                b".\r\n" => b"",
                bytes if bytes.ends_with(b"\r\n.\r\n") => {
                    bytes.strip_suffix(b".\r\n").unwrap_or(bytes)
                }
                bytes => bytes,
            };
            (whole, Form::Wire)
        }
        _ => (bytes, Form::Native),
    }
}

fn shown(id: Id<'_>) -> String {
    match id {
        Id::Text(id) => text_of(id),
        Id::Hash(hash) => {
            let digits = hash.iter().map(|byte| format!("{byte:02X}"));
            format!("[{}]", digits.collect::<String>())
        }
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().to_string()
}

/// How far an import came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    offset: u64,
    hashes: u64,
    counts: Counts,
}

impl State {
    /// Reads the state of a killed run over the same history; else begins anew.
    fn read(dir: &Path, history: &Path, file: &File) -> Result<State, Error> {
        let path = dir.join(STATE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::default()),
            read => read.map_err(Error::io("read", &path))?,
        };
        let identity = identity(file).map_err(Error::io("read", history))?;
        let state = parse_state(&text, &identity);
        Ok(state.unwrap_or_default())
    }

    fn write(&self, dir: &Path, history: &Path) -> Result<(), Error> {
        let file = File::open(history).map_err(Error::io("read", history))?;
        let identity = identity(&file).map_err(Error::io("read", history))?;
        let c = &self.counts;
        let text = format!(
            "BSimport1\n{identity}\n{} {} {} {} {} {} {} {} {}\n",
            self.offset,
            self.hashes,
            c.filed,
            c.bytes,
            c.known,
            c.gone,
            c.remembered,
            c.unfiled,
            c.garbled
        );
        let path = dir.join(STATE);
        store::replace(&store::disk::RealDisk, &path, |file| {
            file.write_at(text.as_bytes(), 0)
        })?;
        Ok(())
    }
}

fn parse_state(text: &str, identity: &str) -> Option<State> {
    let mut lines = text.lines();
    if lines.next()? != "BSimport1" || lines.next()? != identity {
        return None;
    }
    let numbers: Option<Vec<u64>> = lines
        .next()?
        .split(' ')
        .map(|number| number.parse().ok())
        .collect();
    let [
        offset,
        hashes,
        filed,
        bytes,
        known,
        gone,
        remembered,
        unfiled,
        garbled,
    ] = *numbers?
    else {
        return None;
    };
    Some(State {
        offset,
        hashes,
        counts: Counts {
            filed,
            bytes,
            known,
            gone,
            remembered,
            unfiled,
            garbled,
            unnamed: 0,
        },
    })
}

/// Another history than before is read from its beginning: expire of INN writes it anew.
fn identity(file: &File) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let info = file.metadata()?;
    Ok(format!("{} {}", info.dev(), info.ino()))
}

/// Opens the file of hashes, cut to those that the state counts.
fn open_hashes(dir: &Path, count: u64) -> Result<File, Error> {
    let path = dir.join(HASHES);
    let at = |doing| Error::io(doing, &path);
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(at("write"))?;
    let end = count.saturating_mul(HASH_BYTES as u64);
    file.set_len(end).map_err(at("write"))?;
    file.seek(SeekFrom::Start(end)).map_err(at("write"))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_the_first_line() {
        assert_eq!(
            form_of(b"Path: a\r\n\r\n..x\r\n.\r\n"),
            (&b"Path: a\r\n\r\n..x\r\n"[..], Form::Wire)
        );
        assert_eq!(
            form_of(b"Path: a\n\n.\n"),
            (&b"Path: a\n\n.\n"[..], Form::Native)
        );
        assert_eq!(form_of(b""), (&b""[..], Form::Native));
    }

    #[test]
    fn a_state_is_of_one_history() {
        let text = "BSimport1\n1 2\n100 3 4 5 6 7 8 9 10\n";
        let state = parse_state(text, "1 2").unwrap();
        assert_eq!(
            (state.offset, state.hashes, state.counts.garbled),
            (100, 3, 10)
        );
        assert_eq!(parse_state(text, "1 3"), None);
        assert_eq!(parse_state("BSimport1\n1 2\n100\n", "1 2"), None);
    }
}
