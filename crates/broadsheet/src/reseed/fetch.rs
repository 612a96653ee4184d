//! Fetches the files of a node, and compares their hashes with those there.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use cluster::jetstream::segments::Asking;
use cluster::reseed::{self, FILES_MAX, Listing, Reply, Request};
use groups::size;
use indicatif::ProgressBar;
use sha2::{Digest, Sha256};

use super::Wanted;
use super::choice::Chosen;
use super::fetched::{Fetched, Name, name_of};

/// Rounds after which the node changes its files faster than they can be fetched.
const ROUNDS: usize = 100;
/// After a round that fetched less, bytes, the copy is near enough to the end of the log.
const NEAR_BYTES: u64 = 64 << 20;
/// Attempts at a file whose hash differs.
const FILE_ATTEMPTS: usize = 2;
/// Part of the space that stays free for the index and what else is derived: one in this many.
const DERIVED_PART: u64 = 12;
/// Bytes of a file that are hashed at once.
const PIECE_BYTES: usize = 256 << 10;

/// The error of a write or a sync of a file of the copy: the page cache may have bytes that the disk lacks, and a second sync may report
/// success.
#[derive(Debug)]
struct Unwritten(PathBuf);

impl fmt::Display for Unwritten {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "cannot write {} (it is removed, and the next run fetches it again)",
            self.0.display()
        )
    }
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Whole,
    /// The node has another one in its place.
    Changed,
    /// The bytes here are not those there.
    Differs,
}

/// The copy under construction.
pub struct Fetching {
    asking: Asking,
    staged: PathBuf,
    segments: PathBuf,
    fetched: Fetched,
    /// The last list.
    listed: Vec<reseed::File>,
    pace: Pace,
    bar: Option<ProgressBar>,
    is_told: bool,
    files: u64,
    bytes: u64,
    fetched_bytes: u64,
}

impl Fetching {
    /// Goes on with the copy in `staged`, or begins one.
    ///
    /// # Errors
    /// An I/O error.
    pub fn begin(chosen: Chosen, staged: &Path, wanted: &Wanted<'_>) -> anyhow::Result<Fetching> {
        let asking = chosen.asking;
        super::make(staged)?;
        let fetched = Fetched::open(staged, &wanted.log.name, asking.node())
            .with_context(|| format!("cannot write in {}", staged.display()))?;
        let segments = staged.join("segments");
        super::make(&segments)?;
        Ok(Fetching {
            asking,
            staged: staged.to_owned(),
            segments,
            fetched,
            listed: Vec::new(),
            pace: Pace::new(wanted.rate),
            bar: crate::progress::bar("{bytes}/{total_bytes} {wide_bar} {bytes_per_sec} {eta}"),
            is_told: false,
            files: 0,
            bytes: 0,
            fetched_bytes: 0,
        })
    }

    /// Replies that were damaged on the way, and fetched again.
    pub fn damaged(&self) -> u64 {
        self.asking.damaged()
    }

    /// Files of the copy, their bytes, and those that this run fetched.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.files, self.bytes, self.fetched_bytes)
    }

    /// Fetches until all files are as one list of the node has them, and little is behind it. Gives `reached` the entry of each list.
    ///
    /// # Errors
    /// The node does not answer, a file is damaged, or the disk is full.
    pub fn fetch(&mut self, reached: impl Fn(u64)) -> anyhow::Result<()> {
        for _ in 0..ROUNDS {
            let listing = self.list()?;
            self.make_room(&listing)?;
            reached(listing.sequence);
            let before = self.fetched_bytes;
            let mut is_same = true;
            for listed in &listing.files {
                is_same &= self.fetch_file(listed)? == Outcome::Whole;
            }
            if is_same && self.fetched_bytes - before < NEAR_BYTES {
                self.files = listing.files.len() as u64;
                self.bytes = sum(listing.files.iter().map(|file| file.length));
                self.listed = listing.files;
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
                return Ok(());
            }
        }
        bail!(
            "the node {} changes its segments faster than they can be fetched: run this again when its expire has ended",
            self.asking.node()
        )
    }

    /// Compares the checked copy with the list of the node: the check sees only the segments that are there.
    ///
    /// # Errors
    /// A file is missing.
    pub fn ensure_complete(&self) -> anyhow::Result<()> {
        if let Some(lacked) = self.fetched.lacks(&self.listed) {
            bail!(
                "{} vanished from the copy, and nothing was changed here: look at the disk, and run this again, which fetches it",
                self.fetched.path_of(lacked).display()
            );
        }
        Ok(())
    }

    /// Does something that takes a while, and says so on a terminal.
    pub fn say_while<T>(&self, doing: &'static str, work: impl FnOnce() -> T) -> T {
        let spinner = self.bar.as_ref().map(|_| {
            let spinner = ProgressBar::new_spinner().with_message(doing);
            spinner.enable_steady_tick(Duration::from_millis(200));
            spinner
        });
        let done = work();
        if let Some(spinner) = spinner {
            spinner.finish_and_clear();
        }
        done
    }

    /// The list of the node, all pages of it.
    fn list(&self) -> anyhow::Result<Listing> {
        let mut whole = Listing::default();
        let mut from = 0;
        loop {
            let page = match self.asking.ask(&Request::List(from))? {
                Reply::Listing(page) => page,
                Reply::Refused(why) => bail!("the node {}: {why}", self.asking.node()),
                _ => bail!(
                    "the node {} gave a reply to another question",
                    self.asking.node()
                ),
            };
            match add_page(&mut whole, page, from, self.asking.node())? {
                Some(next) => from = next,
                None => return Ok(whole),
            }
        }
    }

    /// Removes files that the node does not have any more, and looks whether there is room for the others.
    fn make_room(&mut self, listing: &Listing) -> anyhow::Result<()> {
        let names: HashSet<Name> = listing.files.iter().map(name_of).collect();
        let reading = || format!("cannot read {}", self.segments.display());
        for entry in fs::read_dir(&self.segments).with_context(reading)? {
            let path = entry.with_context(reading)?.path();
            if !name_of_path(&path).is_some_and(|name| names.contains(&name)) {
                fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        let all = sum(listing.files.iter().map(|file| file.allocated));
        let mut missing: u64 = 0;
        for file in &listing.files {
            if !self.fetched.is_whole(file) {
                let here = fs::metadata(self.fetched.path_of(file)).map_or(0, |facts| facts.len());
                missing = missing.saturating_add(file.allocated.saturating_sub(here));
            }
        }
        let free = store::free_bytes(&self.staged)
            .with_context(|| format!("cannot read {}", self.staged.display()))?;
        let needed = missing.saturating_add(all / DERIVED_PART);
        if !self.is_told {
            self.is_told = true;
            eprintln!(
                "broadsheet: the node {} has {} in {} files; {} of them are missing here, {} are free",
                self.asking.node(),
                size::rough_bytes(all),
                listing.files.len(),
                size::rough_bytes(missing),
                free.map_or("unknown bytes".to_owned(), size::rough_bytes)
            );
        }
        if let Some(free) = free {
            ensure!(
                needed <= free,
                "the copy needs {} more in {}, where {} are free: what is here stays until the copy is whole",
                size::rough_bytes(needed),
                self.staged.display(),
                size::rough_bytes(free)
            );
        }
        if let Some(bar) = &self.bar {
            bar.set_length(self.fetched_bytes.saturating_add(missing));
        }
        Ok(())
    }

    /// Fetches what is missing of a file.
    fn fetch_file(&mut self, listed: &reseed::File) -> anyhow::Result<Outcome> {
        if self.fetched.is_whole(listed) {
            return Ok(Outcome::Whole);
        }
        let path = self.fetched.path_of(listed);
        for _ in 0..FILE_ATTEMPTS {
            if !self.fetched.is_begun(listed) {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error)
                            .with_context(|| format!("cannot remove {}", path.display()));
                    }
                    _ => self.put(listed, false)?,
                }
            }
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false);
            let file = options
                .open(&path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            let fetched = self.fetch_rest(listed, &file, &path);
            match fetched.inspect_err(remove_unwritten)? {
                // From its beginning, for the bytes here may be of an earlier file of this name.
                Outcome::Differs => file
                    .set_len(0)
                    .with_context(|| format!("cannot write {}", path.display()))?,
                outcome => return Ok(outcome),
            }
        }
        bail!(
            "{} was damaged on the way from the node {}, twice: its hash differs",
            path.display(),
            self.asking.node()
        )
    }

    fn put(&mut self, listed: &reseed::File, is_whole: bool) -> anyhow::Result<()> {
        let put = self.fetched.put(listed, is_whole);
        put.with_context(|| format!("cannot write {}", self.fetched.path().display()))
    }

    /// Fetches a file behind the bytes that are here, and compares the hashes.
    fn fetch_rest(
        &mut self,
        listed: &reseed::File,
        file: &File,
        path: &Path,
    ) -> anyhow::Result<Outcome> {
        let writing = || Unwritten(path.to_owned());
        let here = file.metadata().with_context(writing)?.len();
        if here > listed.length {
            file.set_len(listed.length).with_context(writing)?;
        }
        let start = here.min(listed.length);
        let mut hash = Sha256::new();
        add_to_hash(&mut hash, file, start)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let step = self.asking.piece_bytes();
        let pieces = (0..(listed.length - start).div_ceil(step)).map(|place| start + place * step);
        let requests = pieces.map(|offset| {
            let most = step.min(listed.length - offset);
            Request::Read(listed.clone(), offset, most as u32)
        });
        let mut at = start;
        let mut failed = None;
        let node = self.asking.node();
        let (pace, bar, fetched_bytes) = (&mut self.pace, &self.bar, &mut self.fetched_bytes);
        self.asking.ask_all(requests, |reply| {
            let expected = step.min(listed.length - at);
            let written = match reply {
                Reply::Bytes(bytes) if bytes.len() as u64 == expected => {
                    hash.update(&bytes);
                    file.write_all_at(&bytes, at).with_context(writing)
                }
                // They stay a hole.
                Reply::Zeros(count) if u64::from(count) == expected => {
                    add_zeros(&mut hash, expected);
                    Ok(())
                }
                Reply::Changed => {
                    failed = Some(Ok(()));
                    return false;
                }
                Reply::Refused(why) => Err(anyhow::anyhow!("the node {node}: {why}")),
                _ => Err(anyhow::anyhow!(
                    "the node {node} gave a reply to another question"
                )),
            };
            if let Err(error) = written {
                failed = Some(Err(error));
                return false;
            }
            at += expected;
            *fetched_bytes += expected;
            if let Some(bar) = bar {
                bar.set_position(*fetched_bytes);
            }
            pace.wait(expected);
            true
        })?;
        match failed {
            Some(Ok(())) => return Ok(Outcome::Changed),
            Some(Err(error)) => return Err(error),
            None => {}
        }
        file.set_len(listed.length).with_context(writing)?;
        let ours: [u8; 32] = hash.finalize().into();
        match self.asking.ask(&Request::Hash(listed.clone()))? {
            Reply::Hash(theirs) if theirs == ours => {}
            Reply::Hash(_) => return Ok(Outcome::Differs),
            Reply::Changed => return Ok(Outcome::Changed),
            Reply::Refused(why) => bail!("the node {}: {why}", self.asking.node()),
            _ => bail!(
                "the node {} gave a reply to another question",
                self.asking.node()
            ),
        }
        file.sync_all().with_context(writing)?;
        if listed.version.is_some() {
            let synced = store::sync_directory(&self.segments);
            synced.with_context(writing)?;
            self.put(listed, true)?;
        }
        Ok(Outcome::Whole)
    }
}

/// Removes the file of a failed write or sync, so that the next run trusts no byte of it: a new file has pages of its own.
fn remove_unwritten(error: &anyhow::Error) {
    if let Some(Unwritten(path)) = error.downcast_ref()
        && let Err(error) = fs::remove_file(path)
    {
        eprintln!(
            "broadsheet: cannot remove {}: {error}; remove it before you run this again, for its bytes may not be on the disk",
            path.display()
        );
    }
}

/// Adds a page, from the segment `from` on, to the list of a node. Returns where the next one begins; `None`: the list is whole.
fn add_page(
    whole: &mut Listing,
    page: Listing,
    from: u64,
    node: &str,
) -> anyhow::Result<Option<u64>> {
    // A node may be faulty: the list must come to an end.
    ensure!(
        whole.files.len().saturating_add(page.files.len()) <= FILES_MAX,
        "the node {node} lists more than {FILES_MAX} files: fetch from another node with --from"
    );
    let is_file = |file: &reseed::File| matches!(&*file.kind, "art" | "his" | "ovr" | "exp");
    ensure!(
        page.files.iter().all(is_file),
        "the node {node} lists a file that is none of a segment"
    );
    let next = page.next.filter(|next| *next > from);
    ensure!(
        next.is_none() || !page.files.is_empty(),
        "the node {node} gave a page of its list without files: fetch from another node with --from"
    );
    // The earliest: the list has at least this entry.
    if from == 0 {
        whole.sequence = page.sequence;
    }
    whole.log = page.log;
    whole.files.extend(page.files);
    Ok(next)
}

/// The sum of numbers of another node.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// The name of a file of a segment.
fn name_of_path(path: &Path) -> Option<Name> {
    let base = path.file_stem()?.to_str()?.parse().ok()?;
    Some((base, path.extension()?.to_str()?.to_owned()))
}

/// Adds the first bytes of a file.
fn add_to_hash(hash: &mut Sha256, file: &File, count: u64) -> io::Result<()> {
    let mut rest = file.take(count);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match rest.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(got) => hash.update(piece.get(..got).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn add_zeros(hash: &mut Sha256, count: u64) {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut rest = count;
    while rest > 0 {
        let some = rest.min(ZEROS.len() as u64);
        hash.update(ZEROS.get(..some as usize).unwrap_or_default());
        rest -= some;
    }
}

/// Keeps to a rate.
struct Pace {
    rate: Option<u64>,
    begun: Instant,
    bytes: u64,
}

impl Pace {
    fn new(rate: Option<u64>) -> Pace {
        Pace {
            rate,
            begun: Instant::now(),
            bytes: 0,
        }
    }

    fn wait(&mut self, bytes: u64) {
        self.bytes += bytes;
        let Some(rate) = self.rate.filter(|rate| *rate > 0) else {
            return;
        };
        let due = Duration::from_secs_f64(self.bytes as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_whose_sync_failed_is_not_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("00000000000000004096.art");
        let failed = || Err::<(), _>(io::Error::from_raw_os_error(5));
        fs::write(&path, b"pages that the disk lacks").unwrap();
        // An error of the network leaves the bytes for the next run.
        let error = failed().context("the node b does not answer").unwrap_err();
        remove_unwritten(&error);
        assert!(path.exists());
        let error = failed().with_context(|| Unwritten(path.clone()));
        let error = error.unwrap_err();
        remove_unwritten(&error);
        assert!(!path.exists());
        assert!(error.to_string().contains("fetches it again"), "{error}");
    }

    #[test]
    fn a_faulty_node_does_not_fill_the_memory() {
        let file = reseed::File {
            base: 4096,
            kind: "art".to_owned(),
            length: u64::MAX,
            allocated: u64::MAX,
            version: None,
        };
        let page = |count: usize, next| Listing {
            log: "l".to_owned(),
            sequence: 7,
            files: vec![file.clone(); count],
            next,
            ..Listing::default()
        };
        // It never comes to the end of its list.
        let (mut whole, mut from, mut pages) = (Listing::default(), 0, 0);
        let error = loop {
            match add_page(&mut whole, page(4096, Some(from + 1)), from, "b") {
                Ok(next) => (from, pages) = (next.unwrap(), pages + 1),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("more than 1048576 files"), "{error}");
        assert_eq!((pages, whole.files.len()), (256, FILES_MAX));
        let mut whole = Listing::default();
        assert!(add_page(&mut whole, page(0, Some(1)), 0, "b").is_err());
        assert_eq!(
            add_page(&mut whole, page(2, Some(5)), 0, "b").unwrap(),
            Some(5)
        );
        assert_eq!(add_page(&mut whole, page(1, None), 5, "b").unwrap(), None);
        assert_eq!((whole.files.len(), whole.sequence), (3, 7));
        assert_eq!(sum(whole.files.iter().map(|file| file.length)), u64::MAX);
    }
}
