//! A run of rnews: batches in, articles filed, commits now and then, bad batches kept.
//!
//! *Invariant:* when a run ends with status 0, everything it accepted is durable. Whatever the
//! status, no batch is lost: what could not be filed is still in the input file, or in `bad/`.

use std::io::{self, Read};
use std::path::PathBuf;

use article::Form;
use article::batch::{Batch, BatchLimits, Item};
use article::wrap::{self, WrapError, WrapLimits};

use store::MapRef;

use crate::error::Error;
use crate::file::{Filer, Verdict};
pub use crate::handed::Opened;
use crate::handed::cannot_open;
use crate::input::{Again, Source};
pub use crate::input::{Handed, Input};
use crate::kept;
use crate::log::{Code, LOCAL, Now};
use crate::tee::Tee;

/// Default of [`Options::commit_bytes`]: 8 MiB.
pub const COMMIT_BYTES: usize = 8 << 20;
/// Log lines are written, with a commit before them, when there are so many bytes of them.
pub const LOG_BYTES: usize = 1 << 20;
/// What is safe of a pipe is let go in steps of so many bytes.
const FORGET_BYTES: usize = 1 << 20;
/// Of a pipe at most about so many bytes are held in memory; then comes a commit, or a file takes them.
pub const HELD_BYTES_MAX: usize = 32 << 20;
/// [`Watch::progress`] is called once in so many articles.
pub const PROGRESS_ARTICLES: u64 = 512;

/// How a run works.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Commit when so many bytes wait.
    pub commit_bytes: usize,
    /// Commit after each article (`--sync each`).
    pub sync_each: bool,
    /// A refusal makes the status 1 (`-s`).
    pub strict: bool,
    /// Remove input files that gave no trouble (`-u`), at the end of the run, when all of it is durable.
    pub unlink: bool,
    /// Remove those that gave trouble as well, once they are kept whole in `bad/`.
    pub unlink_kept: bool,
    /// Bounds on compressed batches.
    pub wrap: WrapLimits,
    /// The clock, read once an article.
    pub clock: fn() -> Now,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            commit_bytes: COMMIT_BYTES,
            sync_each: false,
            strict: false,
            unlink: false,
            unlink_kept: false,
            wrap: WrapLimits::default(),
            clock: Now::read,
        }
    }
}

/// Who is told what happens during a run.
pub trait Watch {
    /// Something the administrator should know; one sentence or two, without a newline.
    fn message(&mut self, text: &str);

    /// How far the run is: bytes of articles, and articles.
    fn progress(&mut self, _bytes: u64, _articles: u64) {}

    /// Should a drain of in.coming/ end here, though more waits? Asked between files.
    fn is_over(&self) -> bool {
        false
    }
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Articles met, whatever became of them.
    pub articles: u64,
    /// Articles filed, those in junk among them.
    pub accepted: u64,
    /// Articles refused because their ids were in the history.
    pub duplicates: u64,
    /// Articles refused for other reasons, and those cut off or too large.
    pub refused: u64,
    /// Articles filed in junk.
    pub junked: u64,
    /// Bytes of the articles as received.
    pub bytes: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Summary {
    /// Adds what another run did.
    pub fn add(&mut self, other: &Summary) {
        self.articles += other.articles;
        self.accepted += other.accepted;
        self.duplicates += other.duplicates;
        self.refused += other.refused;
        self.junked += other.junked;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
    }
}

/// How a run ended, in relaynews's exit statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 0: everything was read, and all that was accepted is durable.
    Fine,
    /// 1: a batch was bad or short, or with `-s` an article was refused.
    Bad,
    /// 2: something needs attention.
    Attention,
}

impl Status {
    /// The exit status.
    pub fn code(self) -> u8 {
        match self {
            Status::Fine => 0,
            Status::Bad => 1,
            Status::Attention => 2,
        }
    }
}

/// The end of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What was done.
    pub summary: Summary,
    /// How it ended.
    pub status: Status,
    /// Inputs that were read to their end and gave no trouble: those that `-u` removes.
    pub untroubled: u64,
    /// Inputs that are kept in `bad/`.
    pub kept: u64,
    /// Input files that were removed. The name of one may be that of another batch by now.
    pub removed: Vec<PathBuf>,
    /// The store stopped filing: the inputs from here on were not read, and others fare no better.
    pub is_stopped: bool,
    /// The place of the input at which it stopped, if that may be the input's own fault.
    pub stopped_at: Option<usize>,
}

/// Files every batch of `inputs` in order.
///
/// What is wrong with an article or a batch is told to `watch` and goes on with the next. What stops
/// the store (a full disk) ends the run with [`Status::Attention`]; what was committed stays.
pub fn run(
    inputs: &[Input],
    filer: &mut Filer,
    options: &Options,
    watch: &mut dyn Watch,
) -> Outcome {
    let started = std::time::Instant::now();
    let mut run = Run {
        filer,
        options,
        watch,
        summary: Summary::default(),
        status: Status::Fine,
        untroubled: 0,
        kept: 0,
        done: Vec::new(),
        removed: Vec::new(),
    };
    let mut reading = None;
    let ended = inputs.iter().enumerate().try_for_each(|(place, input)| {
        reading = Some(place);
        run.input(input)
    });
    let ended = ended.and_then(|()| {
        reading = None;
        run.settle()
    });
    // A full disk, or a log that cannot be written, stops any of them.
    let is_general = |error: &Error| error.is_disk_full() || error.is_of_log();
    let stopped_at = match &ended {
        Err(error) if !is_general(error) => reading,
        _ => None,
    };
    if let Err(error) = &ended {
        run.filer.abandon();
        run.worse(Status::Attention);
        run.watch.message(&error.to_string());
    }
    let Run {
        mut summary,
        status,
        untroubled,
        kept,
        removed,
        ..
    } = run;
    summary.seconds = started.elapsed().as_secs_f64();
    Outcome {
        summary,
        status,
        untroubled,
        kept,
        removed,
        is_stopped: ended.is_err(),
        stopped_at,
    }
}

struct Run<'a> {
    filer: &'a mut Filer,
    options: &'a Options,
    watch: &'a mut dyn Watch,
    summary: Summary,
    status: Status,
    untroubled: u64,
    kept: u64,
    /// Input files that can go as soon as everything is durable.
    done: Vec<PathBuf>,
    removed: Vec<PathBuf>,
}

/// What is known of the batch being read.
struct Trouble {
    /// How this input ended so far.
    status: Status,
    /// The kept batch and the offset of its first byte in the input.
    kept: Option<(PathBuf, u64)>,
    /// The file that a pipe is copied to while it is read, and the offset of its first byte in the input.
    copy: Option<(PathBuf, u64)>,
    /// It has been said that the batch is out of step.
    is_out_of_step: bool,
}

impl Run<'_> {
    fn worse(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// Makes everything durable, and then removes the files that are done with.
    fn settle(&mut self) -> Result<(), Error> {
        self.filer.commit()?;
        for path in std::mem::take(&mut self.done) {
            match std::fs::remove_file(&path) {
                Ok(()) => self.removed.push(path),
                Err(error) => {
                    self.worse(Status::Attention);
                    let name = path.display();
                    self.watch
                        .message(&format!("cannot remove {name}, which is filed: {error}"));
                }
            }
        }
        Ok(())
    }

    /// One input from opening to its end. An error stops the run.
    fn input(&mut self, input: &Input) -> Result<(), Error> {
        let source = match Source::open(input, (self.options.clock)()) {
            Ok(source) => source,
            Err((name, error)) => {
                self.worse(Status::Attention);
                self.watch.message(&cannot_open(&name, &error));
                return Ok(());
            }
        };
        let mut trouble = Trouble {
            status: Status::Fine,
            kept: None,
            copy: None,
            is_out_of_step: false,
        };
        let tee = match source.again {
            Again::Never => Tee::holding(),
            _ => Tee::off(),
        };
        let refused_before = self.summary.refused + self.summary.duplicates;
        let done = self.read(&source, &tee, &mut trouble);
        let kept = trouble.kept.as_ref();
        let sure = tee
            .close()
            .and_then(|()| kept.map_or(Ok(()), |(kept, _)| kept::sync_place(kept)));
        let is_kept = sure.is_ok();
        if let Err(error) = sure {
            self.lost(&source, &error);
        }
        if let Some((copy, _)) = &trouble.copy {
            // Kept batches were moved out of in.coming; what is still there is filed.
            let _ = std::fs::remove_file(copy);
        }
        self.worse(trouble.status);
        done?;
        let refused = self.summary.refused + self.summary.duplicates - refused_before;
        if self.options.strict && refused > 0 {
            trouble.status = trouble.status.max(Status::Bad);
            self.worse(Status::Bad);
        }
        self.untroubled += u64::from(trouble.status == Status::Fine);
        self.kept += u64::from(trouble.kept.is_some());
        if let Again::Path(path) = source.again
            && self.may_go(&trouble, is_kept)
        {
            self.done.push(path);
        }
        Ok(())
    }

    /// Is an input file no longer needed, once all is durable? `is_kept`: what is kept of it is on the disk.
    fn may_go(&self, trouble: &Trouble, is_kept: bool) -> bool {
        match &trouble.kept {
            None => self.options.unlink && trouble.status == Status::Fine,
            Some((_, 0)) => self.options.unlink_kept && is_kept,
            Some(_) => false,
        }
    }

    fn read(&mut self, source: &Source, tee: &Tee, trouble: &mut Trouble) -> Result<(), Error> {
        let reader = tee.fit(&source.file);
        let unwrapped = match wrap::open(reader, self.options.wrap) {
            Ok(unwrapped) => unwrapped,
            Err(error) => {
                self.keep_to_end(source, tee, 0, trouble);
                self.bad(source, trouble, Status::Bad, &error.to_string());
                return Ok(());
            }
        };
        let is_wrapped = !unwrapped.layers().is_empty();
        if is_wrapped && tee.is_holding() && !self.copy(source, tee, 0, trouble) {
            return Ok(());
        }
        let limits = BatchLimits {
            article_bytes_max: self.filer.rules().article_bytes_max,
            ..BatchLimits::default()
        };
        // Mapping leaves the file read to its end, so it is not even tried for what must be unwrapped.
        let map = if is_wrapped { None } else { source.map() };
        let done = match map {
            Some(map) => {
                let mut batch = Batch::from_bytes(map.bytes(), limits);
                self.items(source, &mut batch, tee, trouble, Some(&map))
            }
            None => {
                let mut batch = Batch::new(unwrapped, limits);
                self.items(source, &mut batch, tee, trouble, None)
            }
        };
        if done.is_err() && matches!(source.again, Again::Never) {
            // Filing stopped. The rest of a pipe would be lost: let it flow into the kept file.
            self.keep_to_end(source, tee, 0, trouble);
            if let Some((path, _)) = &trouble.kept {
                self.watch.message(&format!(
                    "{}: what was not committed is kept in {}; give it again",
                    source.name,
                    path.display()
                ));
            }
        }
        done
    }

    /// Every item of a batch, and the last commit of a pipe.
    fn items<R: Read>(
        &mut self,
        source: &Source,
        batch: &mut Batch<'_, R>,
        tee: &Tee,
        trouble: &mut Trouble,
        map: Option<&MapRef>,
    ) -> Result<(), Error> {
        // Where the last article began, with its `#! rnews` line.
        let mut entry = batch.offset();
        loop {
            let now = (self.options.clock)();
            let start = batch.offset();
            let item = batch.next();
            if map.is_some()
                && let Ok(Some(Item::Article { bytes, .. })) = &item
            {
                // All of it is looked at, so that the map tells.
                store::can_be_read(bytes);
            }
            if let Some(at) = map.and_then(MapRef::unreadable_from) {
                // Zeros stand for what the disk cannot read: they are no article.
                drop(item);
                self.filer.commit()?;
                self.keep(source, tee, start, trouble);
                self.bad(
                    source,
                    trouble,
                    Status::Attention,
                    &format!(
                        "cannot be read on after byte {start}: the disk cannot read byte {at}"
                    ),
                );
                break;
            }
            match item {
                Ok(Some(Item::Article { bytes, .. })) => {
                    entry = start;
                    self.article(bytes, now)?;
                    if self.is_commit_due() || tee.held_bytes() >= HELD_BYTES_MAX {
                        self.filer.commit()?;
                        if let Some(map) = map {
                            // What is filed need not take up memory any more.
                            map.forget_before(batch.offset());
                        }
                    }
                    if self.filer.pending_bytes() == 0 && tee.is_holding() {
                        tee.forget_before(entry, FORGET_BYTES);
                    }
                }
                Ok(Some(Item::TooLarge { size, offset })) => {
                    let limit = self.filer.rules().article_bytes_max;
                    let text = format!("article too large: {size} bytes, the limit is {limit}");
                    self.count_refused(0);
                    self.filer
                        .log(now, LOCAL, Code::Refused, b"", text.as_bytes());
                    let name = &source.name;
                    self.watch
                        .message(&format!("{name}: at byte {offset}: {text}; refused"));
                    if tee.is_holding() && size >= HELD_BYTES_MAX as u64 {
                        // Its size may be a lie that swallows the rest of the batch, so what is skipped is kept
                        // until the end is seen; but not in memory.
                        self.filer.commit()?;
                        let start = start_of_entry(0, size, offset);
                        if !self.copy(source, tee, start, trouble) {
                            return Ok(());
                        }
                    }
                }
                Ok(Some(Item::OutOfStep { offset, line })) => {
                    let line = String::from_utf8_lossy(line).escape_debug().to_string();
                    let text = format!("unbatcher out of synch in file {}", source.name);
                    self.filer
                        .log(now, LOCAL, Code::BadInput, b"", text.as_bytes());
                    if trouble.is_out_of_step {
                        // C News complains once. A batch with a blank line behind each article would
                        // else mean a message and a commit for each; the log has them all.
                        continue;
                    }
                    trouble.is_out_of_step = true;
                    // What came before the last entry is durable. The count of that entry may be wrong, so it is kept as well.
                    self.filer.commit()?;
                    self.keep(source, tee, entry.min(offset), trouble);
                    self.bad(
                        source,
                        trouble,
                        Status::Attention,
                        &format!("out of step at byte {offset}: `{line}' is no `#! rnews' line"),
                    );
                }
                Ok(Some(Item::Short {
                    missing,
                    bytes,
                    offset,
                })) => {
                    self.count_refused(bytes.len());
                    self.filer.short(bytes, missing, now);
                    self.filer.commit()?;
                    let start = start_of_entry(bytes.len(), missing, offset);
                    self.keep(source, tee, start, trouble);
                    self.bad(
                        source,
                        trouble,
                        Status::Bad,
                        &format!("short by {missing} bytes, in the article at byte {offset}"),
                    );
                }
                Ok(None) => break,
                Err(error) => {
                    let at = batch.offset();
                    self.filer.commit()?;
                    self.keep_to_end(source, tee, at, trouble);
                    let status = match WrapError::of(&error) {
                        Some(_) => Status::Bad,
                        None => Status::Attention,
                    };
                    self.bad(
                        source,
                        trouble,
                        status,
                        &format!("cannot be read on after byte {at}: {error}"),
                    );
                    break;
                }
            }
        }
        // A file is there until the end of the run, so many small ones can share a commit.
        if matches!(source.again, Again::Never) {
            self.filer.commit()?;
        }
        self.watch
            .progress(self.summary.bytes, self.summary.articles);
        Ok(())
    }

    fn article(&mut self, bytes: &[u8], now: Now) -> Result<(), Error> {
        self.summary.articles += 1;
        self.summary.bytes += bytes.len() as u64;
        match self.filer.file(bytes, Form::Native, now)? {
            Verdict::Filed => self.summary.accepted += 1,
            Verdict::Junked => {
                self.summary.accepted += 1;
                self.summary.junked += 1;
            }
            Verdict::Duplicate => self.summary.duplicates += 1,
            Verdict::Refused(_) => self.summary.refused += 1,
            Verdict::NeedsAttention(_) => {
                self.summary.refused += 1;
                self.worse(Status::Attention);
            }
        }
        if self.summary.articles.is_multiple_of(PROGRESS_ARTICLES) {
            self.watch
                .progress(self.summary.bytes, self.summary.articles);
        }
        Ok(())
    }

    fn count_refused(&mut self, bytes: usize) {
        self.summary.articles += 1;
        self.summary.refused += 1;
        self.summary.bytes += bytes as u64;
    }

    fn is_commit_due(&self) -> bool {
        self.options.sync_each
            || self.filer.pending_bytes() >= self.options.commit_bytes
            || self.filer.log_bytes() >= LOG_BYTES
    }

    /// Copies a pipe from `offset` on to in.coming while it is read, so that it can be kept if it turns
    /// out to be bad: a compressed one, or one whose next article is too large to be held.
    fn copy(&mut self, source: &Source, tee: &Tee, offset: u64, trouble: &mut Trouble) -> bool {
        let dir = self.filer.dir().join(kept::INCOMING);
        let name = format!("nspool.{}", std::process::id());
        let made = kept::create(&dir, &name).and_then(|(file, path)| {
            trouble.copy = Some((path, offset));
            tee.pour_into(file, offset)
        });
        if let Err(error) = made {
            self.worse(Status::Attention);
            self.watch.message(&format!(
                "{}: cannot copy it to {} while it is read: {error}; nothing was filed from byte {offset} on, send it again",
                source.name,
                dir.display()
            ));
            return false;
        }
        true
    }

    /// Keeps the batch in bad/, once: whole if it can be had again, else from `offset` on.
    fn keep(&mut self, source: &Source, tee: &Tee, offset: u64, trouble: &mut Trouble) {
        if trouble.kept.is_some() {
            return;
        }
        let bad = self.filer.dir().join(kept::BAD);
        let kept = match (&source.again, trouble.copy.take()) {
            // A file in in.coming/ is about to be removed; another one may be overwritten by the next batch.
            (Again::Path(path), _) if source.is_spooled => {
                kept::keep_file(&bad, &source.stem, path).map(|path| (path, 0))
            }
            (Again::Path(_), _) => {
                kept::keep_copy(&bad, &source.stem, &source.file).map(|path| (path, 0))
            }
            (Again::From(start), _) => {
                kept::keep_reader(&bad, &source.stem, &mut source.once_more(*start))
                    .map(|path| (path, 0))
            }
            // The copy is still being written; it goes on under its new name.
            (Again::Never, Some((copy, from))) => {
                kept::move_file(&bad, &source.stem, &copy).map(|path| (path, from))
            }
            (Again::Never, None) => kept::create(&bad, &source.stem)
                .and_then(|(file, path)| Ok((path, tee.pour_into(file, offset)?))),
        };
        match kept {
            Ok(kept) => trouble.kept = Some(kept),
            Err(error) => self.lost(source, &error),
        }
    }

    /// As [`Run::keep`], when the batch is read no further: what is left of a pipe is copied, too.
    fn keep_to_end(&mut self, source: &Source, tee: &Tee, offset: u64, trouble: &mut Trouble) {
        self.keep(source, tee, offset, trouble);
        if !matches!(source.again, Again::Never) || trouble.kept.is_none() {
            return;
        }
        if let Err(error) = io::copy(&mut tee.fit(&source.file), &mut io::sink()) {
            trouble.kept = None;
            self.lost(source, &error);
        }
    }

    /// Says what is wrong with a batch and where it is kept.
    fn bad(&mut self, source: &Source, trouble: &mut Trouble, status: Status, what: &str) {
        trouble.status = trouble.status.max(status);
        let kept = match &trouble.kept {
            Some((path, 0)) => format!("the batch is kept in {}", path.display()),
            Some((path, from)) => {
                format!(
                    "the batch is kept from byte {from} on in {}",
                    path.display()
                )
            }
            None => "the batch is not kept".to_owned(),
        };
        self.watch
            .message(&format!("{}: {what}; {kept}", source.name));
    }

    fn lost(&mut self, source: &Source, error: &io::Error) {
        self.worse(Status::Attention);
        let hint = match source.again {
            Again::Never => "send it again",
            _ => "it is still where it was",
        };
        self.watch.message(&format!(
            "cannot keep {} in bad/: {error}; {hint}",
            source.name
        ));
    }
}

/// Where the `#! rnews N` line of a short article begins, given that the line was the usual one.
fn start_of_entry(held: usize, missing: u64, offset: u64) -> u64 {
    let size = missing.saturating_add(held as u64);
    let line = format!("#! rnews {size}\n").len() as u64;
    offset.saturating_sub(line)
}
