//! Makes the articles of a news directory those of a node of the cluster: fetches its segments beside those that are here, checks them, and
//! puts them in their place.
//!
//! Everything before the last step may be interrupted: the next run fetches the rest. The last step may be left to the start of the daemon.

mod choice;
mod cursors;
mod fetch;
mod fetched;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use cluster::jetstream::{announce, members};
use cluster::log::{LogError, LogIdentity, LogOptions};
use cluster::members::{CopyMark, Mark};
use groups::size;
use serde_json::{Value, json};
use store::reseed::{
    Checked, check, finish, go_on, is_interrupted, mark_whole, place, staging, unmark_whole,
};
use store::{AppliedEntry, Lock};

use self::choice::Chosen;
use self::fetch::Fetching;
use crate::answer::Answer;
use crate::text;

/// Copies that were too old for the log when they were checked, before the command gives up.
const ATTEMPTS: usize = 3;
/// Findings of the check in the message.
const SHOWN: usize = 5;

/// What a command wants.
pub struct Wanted<'a> {
    /// The news directory.
    pub root: &'a Path,
    /// Its way to the log.
    pub options: &'a LogOptions,
    /// The log.
    pub log: &'a LogIdentity,
    /// The parts of its settings by which it decides, with their hashes.
    pub parts: Vec<(String, String)>,
    /// Its articles are headers only, as those of the cluster.
    pub headers_only: bool,
    /// The nodes to fetch from, the furthest of them; empty: any.
    pub from: Vec<String>,
    /// Bytes a second at most.
    pub rate: Option<u64>,
}

/// The result.
pub struct Reseeded {
    root: PathBuf,
    stream: String,
    /// The node; empty if an interrupted run was finished.
    from: String,
    files: u64,
    bytes: u64,
    /// Those of them that this run fetched.
    fetched: u64,
    /// Replies that were damaged on the way, and fetched again.
    damaged: u64,
    seconds: f64,
    /// Those of them that the check took.
    check_seconds: f64,
    sequence: u64,
    /// The copy waits for the next start of the daemon.
    is_staged: bool,
}

impl Reseeded {
    fn of(wanted: &Wanted<'_>) -> Reseeded {
        Reseeded {
            root: wanted.root.to_owned(),
            stream: wanted.options.stream.clone(),
            from: String::new(),
            files: 0,
            bytes: 0,
            fetched: 0,
            damaged: 0,
            seconds: 0.0,
            check_seconds: 0.0,
            sequence: 0,
            is_staged: false,
        }
    }
}

/// Fetches the segments, checks them, and puts them in the place of those that are here.
///
/// # Errors
/// No node answers, a file is damaged, the space does not suffice, or a daemon serves the news directory; then nothing of it has changed.
pub fn reseed(wanted: &Wanted<'_>) -> anyhow::Result<Reseeded> {
    let (root, options_of_log) = (wanted.root, wanted.options);
    let started = Instant::now();
    let staged = staging(root)?;
    let mut done = Reseeded::of(wanted);
    let _alone = alone(&staged)?;
    if is_interrupted(root, &staged) {
        let _not_served = not_served(root)?;
        finish_interrupted(root, &staged)?;
        // Opening makes again what is derived and not there.
        let options = store::Options {
            follows_log: true,
            ..store::Options::default()
        };
        let spool = store::Spool::open(root, options)?;
        done.sequence = spool.applied_entry()?.sequence;
        drop(spool);
        if reaches_back(wanted, done.sequence)? {
            tell_at(options_of_log, done.sequence, false);
            return Ok(done);
        }
    }
    let chosen = chosen(wanted, &staged)?;
    done.from = chosen.asking.node().to_owned();
    let applied = whole_copy(wanted, chosen, &staged, &mut done)?;
    let _not_served = not_served(root)?;
    let note = cursors::note(root, &staged)?;
    mark_whole(&staged, &note)?;
    // From here on this node is the one of the copy, whoever finishes the last step.
    tell_at(options_of_log, applied.sequence, false);
    place(root, &staged, &note)?;
    cursors::apply(root, &note)?;
    finish(root, &staged)?;
    done.sequence = applied.sequence;
    done.seconds = started.elapsed().as_secs_f64();
    Ok(done)
}

/// Fetches and checks the segments, and marks the copy as whole: [`take_up`] puts it in its place. A daemon may serve the news directory.
///
/// # Errors
/// Those of [`reseed`], and the servers do not take the mark of this node. The news directory is unchanged then.
pub fn stage(wanted: &Wanted<'_>) -> anyhow::Result<Reseeded> {
    let (root, started) = (wanted.root, Instant::now());
    let staged = staging(root)?;
    let _alone = alone(&staged)?;
    ensure!(
        !store::reseed::is_unfinished(root),
        "the last step of an earlier run was interrupted: `broadsheet cluster reseed' without --stage, or the next start of the daemon, \
         goes on with it"
    );
    // What was fetched before is still of use, but not whole any more.
    unmark_whole(&staged)?;
    let mut done = Reseeded::of(wanted);
    let chosen = chosen(wanted, &staged)?;
    done.from = chosen.asking.node().to_owned();
    let applied = whole_copy(wanted, chosen, &staged, &mut done)?;
    mark_whole(&staged, &cursors::note(root, &staged)?)?;
    // From here on this node is the one of the copy, whenever the daemon starts.
    announce_at(wanted.options, applied.sequence, false)?;
    done.is_staged = true;
    done.sequence = applied.sequence;
    done.seconds = started.elapsed().as_secs_f64();
    Ok(done)
}

/// Puts a copy that is whole in the place of what is here, if there is one, and notes the time. The caller keeps daemons out.
///
/// # Errors
/// It cannot. The daemon must not serve what is here then: the other nodes may contradict it, and the log need not have what it lacks.
pub fn take_up(root: &Path) -> anyhow::Result<()> {
    if !is_unfinished(root) {
        return Ok(());
    }
    take_up_whole(root)
        .context("the copy of the articles of another node cannot take the place of those here")
}

fn take_up_whole(root: &Path) -> anyhow::Result<()> {
    let staged = staging(root)?;
    let _alone = alone(&staged)?;
    // A program that fetches more has removed the mark.
    if !is_interrupted(root, &staged) {
        return Ok(());
    }
    daemon::say("putting the copy of the articles of another node in the place of those here");
    if !mount::counters::read(root).is_empty() {
        daemon::warn("mounts show the old articles until they are mounted anew");
    }
    daemon::note_taken(root)?;
    finish_interrupted(root, &staged)
}

/// Chooses the node to fetch from. A new news directory is declared as one of headers before it has articles.
fn chosen(wanted: &Wanted<'_>, staged: &Path) -> anyhow::Result<Chosen> {
    let chosen = choice::choose(wanted, staged)?;
    relay::headers_only::check(wanted.root, wanted.headers_only)?;
    Ok(chosen)
}

/// Does the last step, as far as an earlier run has not.
fn finish_interrupted(root: &Path, staged: &Path) -> anyhow::Result<()> {
    let note = go_on(root, staged)?;
    cursors::apply(root, &note)?;
    finish(root, staged)?;
    Ok(())
}

/// Whether an interrupted run has to be finished before anything else is done in a news directory.
pub fn is_unfinished(root: &Path) -> bool {
    staging(root).is_ok_and(|staged| is_interrupted(root, &staged))
}

/// Keeps daemons out.
fn not_served(root: &Path) -> anyhow::Result<Lock> {
    match Lock::take_named(root, daemon::client::LOCK, false) {
        Err(store::Error::Locked(_)) => bail!(
            "the copy is whole, and a daemon serves {}: stop it, and run this again, which fetches only what was filed meanwhile",
            root.display()
        ),
        taken => Ok(taken?),
    }
}

/// Whether the log still has the entry behind this one.
fn reaches_back(wanted: &Wanted<'_>, sequence: u64) -> anyhow::Result<bool> {
    let (_, log) = members(wanted.options)?;
    Ok(log.first <= sequence + 1)
}

/// Makes a directory as those of a news directory.
fn make(directory: &Path) -> anyhow::Result<()> {
    store::make_directories(directory, 0o750)
        .with_context(|| format!("cannot create {}", directory.display()))
}

/// Keeps a second run out.
fn alone(staged: &Path) -> anyhow::Result<Lock> {
    make(staged)?;
    match Lock::take_named(staged, "lock.reseed", false) {
        Err(store::Error::Locked(_)) => {
            bail!("another program fetches segments into {}", staged.display())
        }
        taken => Ok(taken?),
    }
}

/// Fetches and checks until the copy is whole, and the log goes on where it ends. Returns its place.
fn whole_copy(
    wanted: &Wanted<'_>,
    chosen: Chosen,
    staged: &Path,
    done: &mut Reseeded,
) -> anyhow::Result<AppliedEntry> {
    let node = done.from.clone();
    let mut fetching = Fetching::begin(chosen, staged, wanted)?;
    for _ in 0..ATTEMPTS {
        fetching.fetch(|sequence| tell_at(wanted.options, sequence, true))?;
        (done.files, done.bytes, done.fetched) = fetching.counts();
        done.damaged = fetching.damaged();
        let begun = Instant::now();
        let checked = fetching.say_while("checking", || check(staged))?;
        done.check_seconds += begun.elapsed().as_secs_f64();
        refuse_damage(&checked, &node, staged)?;
        fetching.ensure_complete()?;
        let applied = checked.place;
        ensure!(
            applied.log == wanted.log.name,
            "the segments of the node {node} end in another log than that of the stream {}",
            wanted.options.stream
        );
        if reaches_back(wanted, applied.sequence)? {
            return Ok(applied);
        }
    }
    bail!(
        "the log forgets its entries faster than they can be fetched and checked: make it larger (`nats stream edit {} --max-bytes'), or \
         allow more than --rate",
        wanted.options.stream
    )
}

fn refuse_damage(checked: &Checked, node: &str, staged: &Path) -> anyhow::Result<()> {
    if checked.report.faults == 0 {
        return Ok(());
    }
    let shown = checked.report.findings.iter().take(SHOWN).map(|found| {
        let path = found.path.strip_prefix(staged).unwrap_or(&found.path);
        format!("{}, byte {}: {}", path.display(), found.offset, found.what)
    });
    let shown: Vec<String> = shown.collect();
    bail!(
        "the segments of the node {node} are damaged there, and nothing was changed here: {}; run `broadsheet fsck' there, or fetch from \
         another node with --from",
        shown.join("; ")
    )
}

/// Lets the log keep what comes after an entry. `is_copying`: also if a daemon of this node is further, until the copy is in its place.
fn announce_at(options: &LogOptions, sequence: u64, is_copying: bool) -> Result<(), LogError> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = since_1970.map_or(0, |time| time.as_secs() as i64);
    let copy = CopyMark {
        durable: sequence,
        time,
    };
    let mark = Mark {
        durable: sequence,
        time,
        copy: is_copying.then_some(copy),
        ..Mark::default()
    };
    announce(options, &mark)
}

/// Announces as [`announce_at`] does, and only logs an error.
fn tell_at(options: &LogOptions, sequence: u64, is_copying: bool) {
    if let Err(error) = announce_at(options, sequence, is_copying) {
        eprintln!("broadsheet: {error}; the log does not wait for this node until its daemon runs");
    }
}

impl Answer for Reseeded {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.from.is_empty() {
            let files = text::counted(self.files, "file");
            let bytes = size::rough_bytes(self.bytes);
            let fetched = size::rough_bytes(self.fetched);
            writeln!(
                out,
                "{files} from the node {}, {bytes}, {fetched} of them fetched now, in {:.0} s; they are checked",
                self.from, self.seconds
            )?;
            if self.damaged > 0 {
                let damaged = text::counted(self.damaged, "reply");
                writeln!(
                    out,
                    "{damaged} damaged on the way, and fetched again: look at the network and the memory of both machines"
                )?;
            }
        }
        if self.is_staged {
            return writeln!(
                out,
                "the copy is whole; from its next start on the daemon goes on with it, behind entry {}",
                self.sequence
            );
        }
        writeln!(
            out,
            "{} is a node of the cluster {}, and goes on behind entry {}",
            self.root.display(),
            self.stream,
            self.sequence
        )
    }

    fn json(&self) -> Value {
        json!({
            "stream": self.stream, "from": self.from, "files": self.files, "bytes": self.bytes,
            "fetched_bytes": self.fetched, "damaged_replies": self.damaged, "seconds": self.seconds, "check_seconds": self.check_seconds,
            "applied": self.sequence, "staged": self.is_staged,
        })
    }
}
