//! A run of rnews: reads batches, files their articles, commits, and saves bad batches.
//!
//! *Invariant:* when a run ends with status 0, every accepted article is durable. Whatever the status, no batch is lost: articles
//! that could not be filed are still in the input file, or in `bad/`.

mod form;
mod kept;

use std::io::{self, Read};
use std::path::PathBuf;

use article::batch::{Batch, BatchLimits, Item};
use article::crlf;
use article::wrap::{self, UpToEnd, WrapError, WrapLimits};

use store::MapRef;

use crate::bad_batches;
use crate::error::Error;
use crate::file::Verdict;
use crate::handed::cannot_open;
use crate::headers_only;
pub use crate::input::{Handed, Input, STANDARD_INPUT};
use crate::input::{Reread, Source};
use crate::log::{Code, LOCAL, Now};
use crate::outlet::Outlet;
use crate::verified::{Failure, Verified, has_checksum};
use form::{FormCounts, OfArticle, form_of, has_form};

/// Default of [`Options::commit_bytes`]: 8 MiB.
pub const COMMIT_BYTES: usize = 8 << 20;
/// Size of the pending log lines that causes a commit, bytes.
pub const LOG_BYTES: usize = 1 << 20;
/// Number of lines of one input that are logged as out of step.
const OUT_OF_STEP_LOGGED: u64 = 1_000;
/// Number of articles of one input, not filed and kept in `bad/`, that are reported one by one; the log has all.
pub const UNFILED_NAMED_MAX: u64 = 20;
/// Number of articles of a mapped file that are filed with one reading of the clock.
const TIMED_ARTICLES: u32 = 16;
/// Number of articles between two calls of [`Watch::progress`].
pub const PROGRESS_ARTICLES: u64 = 512;

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Number of pending bytes that causes a commit.
    pub commit_bytes: usize,
    /// Commit after each article (`--sync each`).
    pub sync_each: bool,
    /// A refusal makes the status 1 (`-s`).
    pub strict: bool,
    /// Remove input files without errors (`-u`) at the end of the run, when all articles are durable.
    pub unlink: bool,
    /// Remove input files with errors too, after they were saved completely in `bad/`.
    pub unlink_saved: bool,
    /// Save a batch with an article above the size limit in `bad/`.
    pub save_too_large: bool,
    /// Limits of compressed batches.
    pub wrap: WrapLimits,
    /// The clock, read for each article, and of a mapped file for every sixteenth.
    pub clock: fn() -> Now,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            commit_bytes: COMMIT_BYTES,
            sync_each: false,
            strict: false,
            unlink: false,
            unlink_saved: false,
            save_too_large: false,
            wrap: WrapLimits::default(),
            clock: Now::read,
        }
    }
}

/// Observes a run.
pub trait Watch {
    /// Reports a message for the administrator: one or two sentences, without a newline.
    fn message(&mut self, text: &str);

    /// Reports the progress of the run: bytes of articles, and number of articles.
    fn progress(&mut self, _bytes: u64, _articles: u64) {}

    /// Returns true to end a drain of in.coming/ early; called between files.
    fn is_over(&self) -> bool {
        false
    }
}

/// The counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// All articles.
    pub articles: u64,
    /// Articles filed, including those in junk.
    pub accepted: u64,
    /// Articles refused because the history has their ids.
    pub duplicates: u64,
    /// Articles refused for other reasons, including incomplete and too large ones.
    pub refused: u64,
    /// Articles filed in junk.
    pub junked: u64,
    /// Size of the articles as received, bytes.
    pub bytes: u64,
    /// Duration, seconds.
    pub seconds: f64,
}

impl Summary {
    /// Adds the counts of another run.
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

/// The result of a run, with relaynews's exit statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 0: everything was read, and all accepted articles are durable.
    Fine,
    /// 1: a batch was bad or short, or an article was refused and `-s` is given.
    Bad,
    /// 2: an error needs attention.
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

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The counts.
    pub summary: Summary,
    /// The status.
    pub status: Status,
    /// Number of inputs that were read completely and without errors, which `-u` removes.
    pub without_errors: u64,
    /// Number of inputs saved in `bad/`.
    pub saved: u64,
    /// Removed input files. Another batch may use such a name by now.
    pub removed: Vec<PathBuf>,
    /// An error of the store stopped filing: the remaining inputs were not read, and others would fail too.
    pub is_stopped: bool,
    /// Index of the input at which filing stopped, if that input may be the cause.
    pub stopped_at: Option<usize>,
    /// Filing stopped because the disk has no room for that input when it is expanded.
    pub needs_room: bool,
    /// Indices of the inputs of which articles are neither filed nor refused, and that are not saved in `bad/` either: they were not read to
    /// their end, or could not be saved.
    pub left: Vec<usize>,
}

/// Files all batches of `inputs`, in order.
///
/// An error in an article or a batch is reported to `watch`, and the run continues with the next one. An error of the store (such as
/// a full disk) ends the run with [`Status::Attention`]; committed articles stay.
pub fn run(
    inputs: &[Input],
    outlet: &mut dyn Outlet,
    options: &Options,
    watch: &mut dyn Watch,
) -> Outcome {
    let started = std::time::Instant::now();
    let mut run = Run {
        outlet,
        options,
        watch,
        summary: Summary::default(),
        status: Status::Fine,
        without_errors: 0,
        saved: 0,
        done: Vec::new(),
        removed: Vec::new(),
        ends: Vec::with_capacity(inputs.len()),
    };
    let mut reading = None;
    let filer = run.outlet.filer();
    let takes_batches = headers_only::refuse_whole(filer.dir(), filer.is_headers_only());
    let ended = takes_batches.and_then(|()| {
        inputs.iter().enumerate().try_for_each(|(index, input)| {
            reading = Some(index);
            run.input(input)
        })
    });
    let ended = ended.and_then(|()| {
        reading = None;
        run.finish()
    });
    // A full disk, or a log that cannot be written, is not the fault of one input.
    let is_general =
        |error: &Error| error.is_disk_full() || error.is_of_log() || error.is_of_cluster();
    let stopped_at = match &ended {
        Err(error) if !is_general(error) => reading,
        _ => None,
    };
    if let Err(error) = &ended {
        run.outlet.filer().abandon();
        run.raise_status(Status::Attention);
        let hint = match &error {
            Error::Store(error) if error.is_disk_full() => {
                ", and is refused as duplicate when the batch is given again"
            }
            _ => "",
        };
        run.watch.message(&format!("{error}{hint}"));
    }
    let Run {
        mut summary,
        status,
        without_errors,
        saved,
        removed,
        mut ends,
        ..
    } = run;
    ends.resize(inputs.len(), InputEnd::Left);
    let is_left = |end: &InputEnd| match end {
        InputEnd::Saved => false,
        // Without the last commit, nobody knows which of its articles are filed.
        InputEnd::Filed => ended.is_err(),
        InputEnd::Left => true,
    };
    let left = (0..).zip(&ends).filter(|(_, end)| is_left(end));
    let left = left.map(|(index, _)| index).collect();
    summary.seconds = started.elapsed().as_secs_f64();
    Outcome {
        summary,
        status,
        without_errors,
        saved,
        removed,
        is_stopped: ended.is_err(),
        stopped_at,
        needs_room: matches!(&ended, Err(Error::NoRoomToExpand { .. })),
        left,
    }
}

/// What became of an input.
#[derive(Clone, Copy)]
enum InputEnd {
    /// It was read to its end.
    Filed,
    /// The whole of it is in `bad/`.
    Saved,
    /// See [`Outcome::left`].
    Left,
}

struct Run<'a> {
    outlet: &'a mut dyn Outlet,
    options: &'a Options,
    watch: &'a mut dyn Watch,
    summary: Summary,
    status: Status,
    without_errors: u64,
    saved: u64,
    /// Input files to remove as soon as everything is durable.
    done: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    /// Of the inputs so far.
    ends: Vec<InputEnd>,
}

/// The state of the input that is being read.
struct InputState {
    /// The status of this input so far.
    status: Status,
    /// The saved batch in `bad/`.
    saved: Option<PathBuf>,
    /// The batch in `bad/` of articles that could not be filed, and their number. `None` with articles: it cannot be written.
    unfiled: Option<(std::fs::File, PathBuf)>,
    unfiled_articles: u64,
    /// Number of lines at which the batch is out of step.
    out_of_step: u64,
    /// It has an article of 0 bytes.
    has_empty_articles: bool,
    /// The forms of its articles.
    forms: FormCounts,
    /// Something of it should have been saved in `bad/`, and could not be.
    is_unsaved: bool,
}

impl Run<'_> {
    fn raise_status(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// Makes everything durable, and counts the verdicts that come only now.
    fn commit(&mut self) -> Result<(), Error> {
        for verdict in self.outlet.commit()? {
            self.count(&verdict);
        }
        Ok(())
    }

    /// Makes everything durable, and then removes the files that are no longer needed.
    fn finish(&mut self) -> Result<(), Error> {
        self.commit()?;
        for path in std::mem::take(&mut self.done) {
            match std::fs::remove_file(&path) {
                Ok(()) => self.removed.push(path),
                Err(error) => {
                    self.raise_status(Status::Attention);
                    let name = path.display();
                    self.watch.message(&format!(
                        "cannot remove {name}, whose articles are filed: {error}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Processes one input. An error stops the run.
    fn input(&mut self, input: &Input) -> Result<(), Error> {
        let source = match Source::open(input, (self.options.clock)()) {
            Ok(source) => source,
            Err((name, error)) => {
                self.raise_status(Status::Attention);
                self.watch.message(&cannot_open(&name, &error));
                self.ends.push(InputEnd::Left);
                return Ok(());
            }
        };
        let mut state = InputState {
            status: Status::Fine,
            saved: None,
            unfiled: None,
            unfiled_articles: 0,
            out_of_step: 0,
            has_empty_articles: false,
            forms: FormCounts::default(),
            is_unsaved: false,
        };
        let refused_before = self.summary.refused + self.summary.duplicates;
        if source.name != STANDARD_INPUT {
            let filer = self.outlet.filer();
            filer.sent_by(b"rnews", source.name.as_bytes());
        }
        let done = self.read(&source, &mut state);
        self.outlet.filer().sent_by(b"", b"");
        if done.is_ok() {
            self.refuse_without_form(&source, &mut state);
        }
        let saved = state.saved.as_ref();
        let synced = saved.map_or(Ok(()), |saved| bad_batches::sync_parent(saved));
        let is_saved = synced.is_ok();
        if let Err(error) = synced {
            self.report_loss(&source, &mut state, &error);
        }
        self.close_unfiled(&source, &mut state);
        self.raise_status(state.status);
        self.ends.push(match (&state.saved, &done) {
            _ if state.is_unsaved => InputEnd::Left,
            (Some(_), _) => InputEnd::Saved,
            (None, Ok(())) => InputEnd::Filed,
            (None, Err(_)) => InputEnd::Left,
        });
        done?;
        if self.options.strict {
            // On a node of a cluster, the verdicts come with the commit.
            self.commit()?;
        }
        let refused = self.summary.refused + self.summary.duplicates - refused_before;
        if self.options.strict && refused > 0 {
            state.status = state.status.max(Status::Bad);
            self.raise_status(Status::Bad);
        }
        self.without_errors += u64::from(state.status == Status::Fine);
        self.saved += u64::from(state.saved.is_some());
        if let Reread::Path(path) = source.reread
            && self.is_removable(&state, is_saved)
        {
            self.done.push(path);
        }
        Ok(())
    }

    /// Whether to remove an input file after its articles are durable. `is_saved`: its copy in `bad/` is on the disk.
    fn is_removable(&self, state: &InputState, is_saved: bool) -> bool {
        match &state.saved {
            None => self.options.unlink && state.status == Status::Fine,
            Some(_) => self.options.unlink_saved && is_saved,
        }
    }

    fn read(&mut self, source: &Source, state: &mut InputState) -> Result<(), Error> {
        let unwrapped = match wrap::open(&source.file, self.options.wrap) {
            Ok(unwrapped) => unwrapped,
            Err(error) => {
                self.save(source, state);
                self.report_bad(source, state, Status::Bad, &error.to_string());
                return Ok(());
            }
        };
        let limits = BatchLimits {
            article_bytes_max: self.outlet.filer().rules().article_bytes_max,
            ..BatchLimits::default()
        };
        let mut wrapped = UpToEnd::new(unwrapped);
        if has_checksum(wrapped.unwrapped().layers()) {
            let place = self.outlet.filer().dir().join(bad_batches::INCOMING);
            let keep_free = self.outlet.filer().keep_free();
            let dir = self.outlet.filer().dir().to_owned();
            match Verified::read(&mut wrapped, (&place, &dir), keep_free) {
                Ok(verified) => {
                    let mut batch = Batch::from_bytes(verified.bytes(), limits);
                    self.items(source, &mut batch, state, verified.map())?;
                    self.end_of_wrapper(&wrapped, source, state);
                    Ok(())
                }
                Err(Failure::Place(error)) => Err(error),
                Err(Failure::Batch(error)) => {
                    self.save(source, state);
                    let status = read_error_status(&error);
                    self.report_bad(
                        source,
                        state,
                        status,
                        &format!("nothing was filed: {error}"),
                    );
                    Ok(())
                }
            }
        } else if let Some(map) = wrapped
            .unwrapped()
            .is_unchanged()
            .then(|| source.map())
            .flatten()
        {
            // Mapping moves the file offset to its end, and a map has the lines of wrappers.
            let mut batch = Batch::from_bytes(map.bytes(), limits);
            self.items(source, &mut batch, state, Some(&map))
        } else {
            let mut batch = Batch::new(&mut wrapped, limits);
            self.items(source, &mut batch, state, None)?;
            self.end_of_wrapper(&wrapped, source, state);
            Ok(())
        }
    }

    /// Processes all items of a batch.
    fn items<R: Read>(
        &mut self,
        source: &Source,
        batch: &mut Batch<'_, R>,
        state: &mut InputState,
        map: Option<&MapRef>,
    ) -> Result<(), Error> {
        let mut now = (self.options.clock)();
        let mut timed = 0;
        loop {
            // Reading a file may wait, reading a map hardly does.
            if map.is_none() || timed == TIMED_ARTICLES {
                now = (self.options.clock)();
                timed = 0;
            }
            timed += 1;
            let start = batch.offset();
            let item = batch.next();
            if map.is_some()
                && let Ok(Some(Item::Article { bytes, .. })) = &item
            {
                // Reads all bytes, so that the map records unreadable ones.
                store::can_be_read(bytes);
            }
            if let Some(at) = map.and_then(MapRef::unreadable_from) {
                // The bytes that the disk cannot read are zeros now, not an article.
                drop(item);
                self.save(source, state);
                self.report_bad(
                    source,
                    state,
                    Status::Attention,
                    &format!("cannot be read after byte {start}: the disk cannot read byte {at}"),
                );
                break;
            }
            match item {
                // One line of the log stands for all: an article of 0 bytes is shorter than its line.
                Ok(Some(Item::Article { bytes: [], .. })) if state.has_empty_articles => {
                    self.count_refused(0);
                    state.forms.add(OfArticle::No(Vec::new()));
                }
                Ok(Some(Item::Article { bytes, offset })) => {
                    state.has_empty_articles |= bytes.is_empty();
                    // Without a `#! rnews' line the input is one article, or no news at all.
                    let is_bare = start == 0 && offset == 0;
                    let form = self.article(bytes, (now, is_bare), (source, state))?;
                    if !is_bare {
                        state.forms.add(form);
                    } else if let OfArticle::No(why) = form {
                        let why = groups::shown(&why);
                        self.save(source, state);
                        let what = format!("neither a batch nor an article: {why}");
                        self.report_bad(source, state, Status::Bad, &what);
                    }
                    if self.is_commit_due() {
                        self.commit()?;
                        timed = TIMED_ARTICLES;
                        if let Some(map) = map {
                            // Releases the memory of filed articles.
                            map.forget_before(batch.offset());
                        }
                    }
                }
                Ok(Some(Item::TooLarge { size, head, offset })) => {
                    let is_bare = start == 0 && offset == 0;
                    let article = (head, size, offset, is_bare);
                    self.too_large(article, now, source, state);
                }
                Ok(Some(Item::OutOfStep { offset, line })) => {
                    self.out_of_step(line, offset, now, source, state);
                    // Such lines may follow each other without an article.
                    if self.is_log_full() {
                        self.commit()?;
                    }
                }
                Ok(Some(Item::Short {
                    missing,
                    bytes,
                    offset,
                })) => self.short((bytes, missing, offset), now, source, state),
                Ok(None) => break,
                Err(error) => {
                    let at = batch.offset();
                    self.save(source, state);
                    let what = format!("cannot be read after byte {at}: {error}");
                    self.report_bad(source, state, read_error_status(&error), &what);
                    break;
                }
            }
        }
        self.watch
            .progress(self.summary.bytes, self.summary.articles);
        Ok(())
    }

    /// Refuses an article above the limit, of which `head` is the start.
    fn too_large(
        &mut self,
        (head, size, offset, is_bare): (&[u8], u64, u64, bool),
        now: Now,
        source: &Source,
        state: &mut InputState,
    ) {
        let text = self.outlet.filer().too_large(head, size, now);
        self.count_refused(0);
        if !is_bare {
            state.forms.add(if has_form(head) {
                OfArticle::Yes
            } else {
                OfArticle::No(text.clone().into())
            });
        }
        let mut place = String::new();
        if is_bare {
            // A mailbox or an archive: not even its size is that of news.
            state.status = state.status.max(Status::Bad);
            self.save(source, state);
            place = format!("; {}", place_of(state));
        } else if self.options.save_too_large {
            self.save(source, state);
            place = format!("; {}", place_of(state));
        }
        let name = &source.name;
        self.watch
            .message(&format!("{name}: at byte {offset}: {text}; refused{place}"));
    }

    /// Reports a line that should be a `#! rnews` line, and saves the input.
    fn out_of_step(
        &mut self,
        line: &[u8],
        offset: u64,
        now: Now,
        source: &Source,
        state: &mut InputState,
    ) {
        let line = groups::shown(line);
        let text = format!("unbatcher out of synch in file {}", source.name);
        state.out_of_step += 1;
        if state.out_of_step <= OUT_OF_STEP_LOGGED {
            self.outlet
                .filer()
                .log(now, LOCAL, Code::BadInput, b"", text.as_bytes());
        }
        if state.out_of_step > 1 {
            // Reports it once, as C News does: a batch with an empty line after each article would cause a message
            // for each one.
            return;
        }
        self.save(source, state);
        self.report_bad(
            source,
            state,
            Status::Attention,
            &format!("out of step at byte {offset}: `{line}' is not a `#! rnews' line"),
        );
    }

    /// Refuses an article that ends before its size, and saves it.
    fn short(
        &mut self,
        (bytes, missing, offset): (&[u8], u64, u64),
        now: Now,
        source: &Source,
        state: &mut InputState,
    ) {
        self.count_refused(bytes.len());
        self.outlet.filer().short(bytes, missing, now);
        self.save(source, state);
        self.report_bad(
            source,
            state,
            Status::Bad,
            &format!("short by {missing} bytes, in the article at byte {offset}"),
        );
    }

    /// Files an article, whose lines may end in CRLF. Returns whether its header is that of an article.
    fn article(
        &mut self,
        bytes: &[u8],
        (now, is_bare): (Now, bool),
        (source, state): (&Source, &mut InputState),
    ) -> Result<OfArticle, Error> {
        self.summary.articles += 1;
        self.summary.bytes += bytes.len() as u64;
        let native = crlf::to_native(bytes);
        let bytes = native.as_deref().unwrap_or(bytes);
        let verdict = match self.outlet.file(bytes, now)? {
            // The rest of the input depends on what the first article is.
            None if is_bare => {
                let mut verdicts = self.outlet.commit()?;
                let last = verdicts.pop();
                for earlier in &verdicts {
                    self.count(earlier);
                }
                last
            }
            verdict => verdict,
        };
        let form = form_of(bytes, verdict.as_ref(), state.forms.has_some());
        if let Some(verdict) = verdict {
            self.count(&verdict);
            if let Verdict::NeedsAttention(refusal) | Verdict::Unfiled(refusal) = verdict {
                self.keep_unfiled(bytes, &refusal, (source, state));
            }
        }
        if self.summary.articles.is_multiple_of(PROGRESS_ARTICLES) {
            self.watch
                .progress(self.summary.bytes, self.summary.articles);
        }
        Ok(form)
    }

    /// Counts a verdict.
    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Filed => self.summary.accepted += 1,
            Verdict::Junked => {
                self.summary.accepted += 1;
                self.summary.junked += 1;
            }
            Verdict::Duplicate => self.summary.duplicates += 1,
            Verdict::Refused(_) => self.summary.refused += 1,
            Verdict::NeedsAttention(_) | Verdict::Unfiled(_) => {
                self.summary.refused += 1;
                self.raise_status(Status::Attention);
            }
        }
    }

    fn count_refused(&mut self, bytes: usize) {
        self.summary.articles += 1;
        self.summary.refused += 1;
        self.summary.bytes += bytes as u64;
    }

    fn is_commit_due(&mut self) -> bool {
        self.options.sync_each
            || self.outlet.pending_bytes() >= self.options.commit_bytes
            || self.is_log_full()
    }

    /// Whether the lines for the log need much memory.
    fn is_log_full(&mut self) -> bool {
        self.outlet.filer().log_bytes() >= LOG_BYTES
    }

    /// Reports the error of a batch and where the batch is saved.
    fn report_bad(&mut self, source: &Source, state: &mut InputState, status: Status, what: &str) {
        state.status = state.status.max(status);
        let place = place_of(state);
        self.watch
            .message(&format!("{}: {what}; {place}", source.name));
    }
}

/// Where the batch is saved.
fn place_of(state: &InputState) -> String {
    match &state.saved {
        Some(path) => format!("the batch is saved in {}", path.display()),
        None => "the batch is not saved".to_owned(),
    }
}

/// The status of a batch that cannot be read to its end: damage is the batch's fault, anything else needs attention.
fn read_error_status(error: &io::Error) -> Status {
    match WrapError::of(error) {
        Some(_) => Status::Bad,
        None => Status::Attention,
    }
}
