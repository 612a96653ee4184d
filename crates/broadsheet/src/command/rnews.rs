//! `broadsheet rnews`, also `relaynews`: files batches.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use relay::file::FilerOptions;
use relay::rnews::{Input, Options, Summary, Watch};

use crate::daemon::client::{self, FileRequest};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::filing;
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};
use crate::serving;
use crate::spooling;
use settings::{Settings, Sync};

/// The table.
pub static COMMAND: Command = Command {
    words: &["rnews"],
    also: &["relaynews", "cunbatch"],
    summary: "file a batch of articles",
    about: "\
Reads each FILE, or standard input where there is none (or FILE is `-'): a batch of `#! rnews N'
articles, one bare article, or a batch compressed with compress, gzip, zstd, bzip2 or xz, with or
without a `#! cunbatch' line. Each article is checked, filed, numbered and remembered. When the
command ends with 0, all of it is on the disk.

A batch that cannot be read to its end is kept in bad/ under the news directory, and named.
What happened to each article goes to `log' in the news directory, in the classic form.
Only one at a time files articles: a second rnews waits for the first, or, when that takes longer than
incoming.spool_after_seconds says, leaves its batch in in.coming/ for `broadsheet newsrun'. With
--spool it does so at once. Either way the batch is on the disk when the command ends with 0.

  broadsheet rnews --dir news < batch
  ln -s broadsheet rnews; BROADSHEET_DIR=news rnews batch1 batch2",
    operands: Operands { shown: "FILE...", least: 0, most: usize::MAX },
    flags: &[
        DIR,
        Flag::new(
            "json",
            "Print, as the last line of standard output, one object: articles, accepted, duplicates, \
             refused, junked, bytes, seconds.",
        ),
        Flag::new(
            "sync",
            "When articles are forced to the disk, instead of the setting store.sync: after each, after \
             each commit and at the end, or never.",
        )
        .value("each|commit|none"),
        Flag::new(
            "spool",
            "File nothing now: put the batches into in.coming/, as newsspool does. With -u, files go once they are there.",
        ),
        Flag::classic('h', "no-history", "Do not remember the ids of refused articles."),
        Flag::classic('s', "strict", "End with 1 when any article was refused."),
        Flag::classic('u', "unlink", "Remove each input file that was read to its end; refused articles go with it."),
        Flag::classic('x', "no-xref", "Write no Xref into articles filed in one group only."),
        Flag::classic(
            'b',
            "mirror",
            "Take group and number from the incoming Xref when it names SITE, and leave Path as it is.",
        )
        .value("SITE"),
        Flag::classic('c', "relative-to", "An absolute directory that relative FILEs are taken from.").value("DIR"),
        Flag::classic(
            'o',
            "older",
            "Refuse articles whose Date is more than DAYS ago, instead of limits.article_age_days_max.",
        )
        .value("DAYS"),
        Flag::classic('i', "log-output", "Accepted and without effect: log lines always go to `log'."),
        Flag::classic('r', "log-all", "Accepted and without effect: log lines always go to `log'."),
        Flag::refused(
            'a',
            "accept-again",
            "there are no article files to restore; `broadsheet fsck --repair' rebuilds what is derived",
        ),
        Flag::refused('d', "debug", "`broadsheet explain FILE' tells what is done with an article, and why"),
        Flag::refused('n', "note", "no links are made, so there are none to note; refused ids are kept unless -h"),
    ],
    exits: &[
        Meaning { status: Status::OK, when: "everything was read; what was accepted is on the disk" },
        Meaning { status: Status::NO, when: "a batch was bad, or with -s an article was refused" },
        Meaning {
            status: Status::ATTENTION,
            when: "something needs attention: disk full, a batch out of step; the batch is kept",
        },
        Meaning {
            status: Status::AGAIN,
            when: "it was to be spooled and there is no room: give it again later",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let mut inputs = inputs(given)?;
    let mut watch = Watcher::new(&inputs);
    let mut over = None;
    // What the daemon does not do for others.
    let is_own = ["mirror", "sync", "spool"].map(|flag| given.has(flag));
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
        if filed.left.is_empty() {
            return end(given, &watch, &filed.summary, filed.status, out);
        }
        inputs = filed.left.clone();
        over = Some(filed);
    }
    let mut settings = directory.settings()?.settings;
    if let Some(word) = given.value("sync").and_then(|word| word.to_str()) {
        settings.store.sync = Sync::of(word).unwrap_or(settings.store.sync);
    }
    if let Some(days) = given.number("older")? {
        settings.limits.article_age_days_max = days;
    }
    if given.has("spool") {
        return spooled(given, &directory, &settings, &inputs, out);
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
    let Some(mut filer) = filing::open(&directory, &settings, rules, filing, patience)? else {
        return spooled(given, &directory, &settings, &inputs, out);
    };
    let options = Options {
        strict: given.has("strict"),
        unlink: given.has("unlink"),
        ..settings.rnews_options()
    };
    let outcome = relay::rnews::run(&inputs, &mut filer, &options, &mut watch);
    let are_feeds = serving::done_filing(filer);
    let (mut summary, mut status) = (outcome.summary, outcome.status);
    if let Some(filed) = over {
        summary.add(&filed.summary);
        status = status.max(filed.status);
    }
    let status = end(given, &watch, &summary, status, out)?;
    out.flush()?;
    serving::after_filing(&directory, are_feeds);
    Ok(status)
}

fn end(
    given: &Given,
    watch: &Watcher,
    summary: &Summary,
    status: relay::rnews::Status,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    watch.end();
    if given.has("json") {
        writeln!(out, "{}", json(summary))?;
    }
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
    settings: &Settings,
    inputs: &[Input],
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let options = spooling::options(settings, None);
    let done = spooling::all(directory, inputs, options, given.has("unlink"));
    spooling::answer(done, given.has("json"), out)
}

pub(super) fn json(summary: &Summary) -> serde_json::Value {
    serde_json::json!({
        "articles": summary.articles,
        "accepted": summary.accepted,
        "duplicates": summary.duplicates,
        "refused": summary.refused,
        "junked": summary.junked,
        "bytes": summary.bytes,
        "seconds": summary.seconds,
    })
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
            "-c wants an absolute directory, not `{}'",
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
