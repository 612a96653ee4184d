//! `broadsheet rnews`, also `relaynews`: files batches.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use relay::file::FilerOptions;
use relay::rnews::{Handed, Input, Options, STANDARD_INPUT, Summary, Watch};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};
use crate::spooling;
use daemon::client::{self, FileRequest};
use feed::serving;
use settings::Sync;

/// The table.
pub static COMMAND: Command = Command {
    words: &["rnews"],
    also: &["relaynews", "cunbatch"],
    summary: "file a batch of articles",
    about: "\
Reads each FILE, or standard input if there is none (or FILE is `-'): a batch of `#! rnews N'
articles, a single article, or a batch compressed with compress, gzip, zstd, bzip2 or xz, with or
without a `#! cunbatch' line. Each article is checked, filed and numbered, and its Message-ID is
stored in history. When the command exits with 0, everything is on the disk.

A batch with an error is saved in bad/ in the news directory, and its name is reported. The result
for each article is written to `log' in the news directory, in the format of C News. A pipe
is read to its end first, so that a slow sender delays nobody. The disk of the news directory needs
room for a batch of a pipe, and for a compressed batch in its expanded form, besides the articles, and
incoming.keep_free stays free; `broadsheet expire' makes room. Only one program files articles at a
time. A second rnews waits for the first; if that takes longer than
incoming.spool_after_seconds, it writes its batch to in.coming/ for `broadsheet newsrun'. With
--spool it does so at once. In each case the batch is on the disk when the command exits with 0.

  broadsheet rnews --dir news < batch
  ln -s broadsheet rnews; BROADSHEET_DIR=news rnews batch1 batch2",
    operands: Operands { shown: "FILE...", least: 0, most: usize::MAX },
    flags: &[
        DIR,
        Flag::new(
            "json",
            "Print one object as the last line of standard output: articles, accepted, duplicates, refused, \
            junked, bytes, seconds.",
        ),
        Flag::new(
            "sync",
            "When to sync articles to the disk, instead of the setting store.sync: after each article, after each \
            commit and at the end, or never.",
        )
        .value("each|commit|none"),
        Flag::new(
            "spool",
            "Write the batches to in.coming/, as newsspool does, and file nothing. With -u, files are removed \
            after that.",
        ),
        Flag::classic('h', "no-history", "Do not store the ids of rejected articles."),
        Flag::classic('s', "strict", "Exit with 1 if an article was rejected."),
        Flag::classic('u', "unlink", "Remove each input file that was read to its end, even if articles in it were rejected."),
        Flag::classic('x', "no-xref", "Write no Xref into articles that are filed in only one group."),
        Flag::classic(
            'b',
            "mirror",
            "Take groups and numbers from the incoming Xref if it names SITE, and leave Path unchanged.",
        )
        .value("SITE"),
        Flag::classic('c', "relative-to", "An absolute directory that relative FILEs are in.").value("DIR"),
        Flag::classic(
            'o',
            "older",
            "Reject articles whose Date is more than DAYS ago, instead of limits.article_age_days_max.",
        )
        .value("DAYS"),
        Flag::classic(
            'd',
            "decompressor",
            "Accepted without effect: the first bytes of a batch tell its compression. Refused as `relaynews', \
            where -d was for debugging.",
        )
        .value("NAME"),
        Flag::classic('i', "log-output", "Accepted without effect: log lines always go to `log'."),
        Flag::classic('v', "verbose", "Accepted without effect (INN)."),
        Flag::classic('r', "log-all", "Accepted without effect: log lines always go to `log'."),
        Flag::refused(
            'a',
            "accept-again",
            "there are no article files to restore; `broadsheet fsck --repair' rebuilds the derived files",
        ),
        Flag::refused('n', "note", "no links are made, so none can be reported; ids of rejected articles are stored unless -h is given"),
    ],
    exits: &[
        Meaning { status: Status::OK, when: "all input was read, and the accepted articles are on the disk" },
        Meaning { status: Status::NO, when: "a batch has an error, or with -s an article was rejected" },
        Meaning {
            status: Status::ATTENTION,
            when: "an administrator is needed (disk full, a batch with an error); the batch is saved",
        },
        Meaning {
            status: Status::AGAIN,
            when: "the disk is full, or (for standard input) a file of settings has an error or the log of the cluster cannot be \
            reached: what came was neither filed nor saved, so the sender must keep it and retry later",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    if given.called == "relaynews" && given.has("decompressor") {
        let hint = "`broadsheet explain FILE' shows how an article is processed, and why";
        return Err(given
            .usage(format!("-d of relaynews is not supported: {hint}"))
            .into());
    }
    let mut inputs = inputs(given)?;
    given.number("older")?;
    let mut is_only_copy = inputs.iter().any(Input::may_be_only_copy);
    let directory = match NewsDirectory::meant(given) {
        Ok(directory) => directory,
        Err(error) => return spooling::for_sender(Err(error.into()), is_only_copy),
    };
    if given.has("spool") {
        let done = spooled(given, &directory, &inputs, out);
        return spooling::for_sender(done, is_only_copy);
    }
    if inputs.iter().any(Input::is_flowing) {
        // Before the lock is taken: a sender may pause.
        let keep_free = spooling::keep_free(&directory).map_or(0, |(bytes, _)| bytes);
        for input in &mut inputs {
            match input.clone().gathered(directory.root(), keep_free) {
                Ok(gathered) => *input = gathered,
                Err(text) => {
                    eprintln!("broadsheet: {text}");
                    return Ok(Status::AGAIN);
                }
            }
        }
        let is_empty = |handed: &Handed| handed.file.metadata().is_ok_and(|data| data.len() == 0);
        is_only_copy = !inputs.iter().filter_map(handed).all(is_empty)
            || inputs.iter().any(Input::may_be_only_copy);
    }
    let done = file(given, &directory, inputs, out);
    spooling::for_sender(done, is_only_copy)
}

/// Files the inputs, with the daemon or without it.
fn file(
    given: &Given,
    directory: &NewsDirectory,
    mut inputs: Vec<Input>,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let mut watch = Watcher::new(&inputs);
    let (mut over, mut are_saved) = (None, true);
    // What the daemon does not do for others.
    let is_own = ["mirror", "sync"].map(|flag| given.has(flag));
    if !is_own.contains(&true) {
        let request = FileRequest {
            strict: given.has("strict"),
            no_history: given.has("no-history"),
            no_xref: given.has("no-xref"),
            sealed: given.number("older")?,
            progress: watch.bar.is_some(),
            ..FileRequest::default()
        };
        let unlink = given.has("unlink");
        let filed = client::file(directory.root(), inputs, &request, unlink, &mut watch);
        are_saved = save_unkept(directory, &filed.unkept, &mut watch);
        if filed.left.is_empty() {
            let status = end(given, &watch, &filed.summary, filed.status, out)?;
            return Ok(if are_saved { status } else { Status::AGAIN });
        }
        inputs = filed.left.clone();
        over = Some(filed);
    }
    let status = file_without_daemon(given, directory, &inputs, over, &mut watch, out)?;
    Ok(if are_saved { status } else { Status::AGAIN })
}

/// Files what the daemon has not filed; `over` is its part.
///
/// A function of its own, because its variables take five pages of the stack: each is a page fault in a run that needs none of them.
#[inline(never)]
fn file_without_daemon(
    given: &Given,
    directory: &NewsDirectory,
    inputs: &[Input],
    over: Option<client::HandedOver>,
    watch: &mut Watcher,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let mut settings = directory.settings()?.settings;
    if let Some(word) = given.value("sync").and_then(|word| word.to_str()) {
        settings.store.sync = Sync::of(word).unwrap_or(settings.store.sync);
    }
    if let Some(days) = given.number("older")? {
        settings.limits.article_age_days_max = days;
    }
    let mut rules = settings.rules();
    rules.remember_refused = !given.has("no-history");
    rules.xref_single = !given.has("no-xref");
    let filing = FilerOptions {
        mirror: given
            .value("mirror")
            .map(|site| site.as_encoded_bytes().to_vec()),
        ..settings.filer_options()
    };
    // What the flags of this run ask for, newsrun would not know.
    let is_plain = !["no-history", "no-xref", "mirror", "older", "strict"]
        .iter()
        .any(|flag| given.has(flag));
    let patience = Duration::from_secs(settings.incoming.spool_after_seconds);
    let patience = (is_plain && !patience.is_zero()).then_some(patience);
    let Some(mut filer) = daemon::open_filer(directory, &settings, rules, filing, patience)? else {
        let status = spooled(given, directory, inputs, out)?;
        return Ok(match over {
            Some(filed) if status == Status::OK => self::status(filed.status),
            _ => status,
        });
    };
    let options = Options {
        strict: given.has("strict"),
        unlink: given.has("unlink"),
        ..settings.rnews_options()
    };
    let outcome = relay::rnews::run(inputs, &mut filer, &options, watch);
    let left = outcome.left.iter().filter_map(|index| inputs.get(*index));
    let is_input_left = left.clone().any(|input| matches!(input, Input::Stdin));
    let unkept: Vec<Handed> = left.filter_map(handed).cloned().collect();
    let are_feeds = serving::done_filing(filer);
    let (mut summary, mut status) = (outcome.summary, outcome.status);
    if let Some(filed) = over {
        summary.add(&filed.summary);
        status = status.max(filed.status);
    }
    let are_saved = save_unkept(directory, &unkept, watch) && !is_input_left;
    let status = end(given, watch, &summary, status, out)?;
    out.flush()?;
    daemon::after_filing(directory.root(), OWN_PROGRAM, are_feeds);
    Ok(if are_saved { status } else { Status::AGAIN })
}

fn handed(input: &Input) -> Option<&Handed> {
    match input {
        Input::Handed(handed) => Some(handed),
        _ => None,
    }
}

/// Saves what came through pipes in bad/ if it was neither filed nor saved, because it cannot be read again. Returns false if that fails, or
/// if the file that is standard input was neither.
fn save_unkept(directory: &NewsDirectory, unkept: &[Handed], watch: &mut Watcher) -> bool {
    let (pipes, files): (Vec<&Handed>, Vec<&Handed>) =
        unkept.iter().partition(|handed| handed.is_private);
    let mut are_saved = files.iter().all(|file| file.name != STANDARD_INPUT);
    if pipes.is_empty() {
        return are_saved;
    }
    let keep_free = spooling::keep_free(directory).map_or(0, |(bytes, _)| bytes);
    for handed in pipes {
        let name = &handed.name;
        watch.message(&match handed.save(directory.root(), keep_free) {
            Ok(path) => format!("{name}: saved in {}; run rnews on it again", path.display()),
            Err(error) => {
                are_saved = false;
                let why = match error {
                    relay::Error::NoRoom { .. } => {
                        format!("bad/ has no room for it: {}", store::MAKE_ROOM)
                    }
                    error => error.to_string(),
                };
                format!("{name}: not saved: {why}; send it again")
            }
        });
    }
    are_saved
}

fn end(
    given: &Given,
    watch: &Watcher,
    summary: &Summary,
    status: relay::rnews::Status,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    watch.end();
    given.print(summary, out)?;
    Ok(self::status(status))
}

/// What the process says of a run.
pub(super) fn status(of: relay::rnews::Status) -> Status {
    match of {
        relay::rnews::Status::Fine => Status::OK,
        relay::rnews::Status::Bad => Status::NO,
        relay::rnews::Status::Attention => Status::ATTENTION,
    }
}

fn spooled(
    given: &Given,
    directory: &NewsDirectory,
    inputs: &[Input],
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let options = spooling::options(directory, None)?;
    let done = spooling::all(directory, inputs, options, given.has("unlink"));
    spooling::answer(done, given, out)
}

impl Answer for Summary {
    /// For people rnews reports only errors, while it runs.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "articles": self.articles,
            "accepted": self.accepted,
            "duplicates": self.duplicates,
            "refused": self.refused,
            "junked": self.junked,
            "bytes": self.bytes,
            "seconds": self.seconds,
        })
    }
}

/// Messages to standard error; a bar on a terminal, for a run that takes a while.
struct Watcher {
    bar: Option<ProgressBar>,
}

/// Runs shorter than this show no bar.
const BAR_AFTER: Duration = Duration::from_millis(500);

impl Watcher {
    fn new(inputs: &[Input]) -> Watcher {
        if !std::io::stderr().is_terminal() {
            return Watcher { bar: None };
        }
        let size = |input: &Input| match input {
            Input::File(path) | Input::Spooled(path) => {
                std::fs::metadata(path).map_or(0, |meta| meta.len())
            }
            Input::Stdin | Input::Handed(_) => 0,
        };
        // What a compressed batch grows to is not known, so the bar may run over its end.
        let bytes: u64 = inputs.iter().map(size).sum();
        let bar = if bytes > 0 {
            ProgressBar::new(bytes)
        } else {
            ProgressBar::no_length()
        };
        let style =
            ProgressStyle::with_template("{bytes}/{total_bytes} {wide_bar} {bytes_per_sec} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Watcher { bar: Some(bar) }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Watcher {
    fn message(&mut self, text: &str) {
        let tell = || eprintln!("broadsheet: {text}");
        match &self.bar {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }

    fn progress(&mut self, bytes: u64, articles: u64) {
        if let Some(bar) = &self.bar
            && bar.elapsed() > BAR_AFTER
        {
            bar.set_position(bytes);
            bar.set_message(format!("{articles} articles"));
        }
    }
}

/// The inputs, with `-c` put before relative names; none means standard input, as does `-`.
fn inputs(given: &Given) -> Result<Vec<Input>, UsageError> {
    let from = given.value("relative-to").map(Path::new);
    if let Some(from) = from.filter(|from| !from.is_absolute()) {
        return Err(given.usage(format!(
            "-c needs an absolute directory, not `{}'",
            from.display()
        )));
    }
    if given.operands.is_empty() {
        return Ok(vec![Input::Stdin]);
    }
    let place = |name: &std::ffi::OsString| match from {
        _ if name == "-" => Input::Stdin,
        Some(from) => Input::File(from.join(name)),
        None => Input::File(PathBuf::from(name)),
    };
    Ok(given.operands.iter().map(place).collect())
}
