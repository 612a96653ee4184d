//! `broadsheet import inn`

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use import::inn::history::Line;
use import::inn::installation::Installation;
use import::inn::translate::{Translation, translate};
use import::report::{Fate, Report};
use import::run::{self, Counts, RunOptions, STATE, Watch};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::command::init;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The report in the news directory.
const REPORT: &str = "import.report";

/// The table.
pub static COMMAND: Command = Command {
    words: &["import", "inn"],
    also: &[],
    summary: "move in from INN: groups, settings and articles with their numbers",
    about: "\
Reads the INN 2 installation whose inn.conf is in PLACE, and creates the news directory: with its
groups, settings (broadsheet.toml, explist, and files of the same format), and its articles from
tradspool, timehash, timecaf and CNFS, under the same numbers, with their arrival times. Cancelled
articles are left out. What INN has seen is refused from then on. Nothing of INN's is changed.

With -n it only prints what comes over, what does not, and why, line by line. Stop INN before the
last run. A run that was interrupted continues where it stopped; a later run into the same directory
adds the articles that came since, and leaves the settings alone.

  broadsheet import inn -n /etc/news
  broadsheet import inn /etc/news --dir /var/spool/broadsheet
  broadsheet check --dir /var/spool/broadsheet",
    operands: Operands {
        shown: "PLACE",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic('n', "dry-run", "Only print the report. Writes nothing."),
        Flag::new(
            "settings-only",
            "Create the news directory without articles.",
        ),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "everything that INN has of articles is on the disk",
        },
        Meaning {
            status: Status::NO,
            when: "some articles could not be filed; each is reported",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let Some(from) = given.operands.first().map(Path::new) else {
        return Ok(Status::NO);
    };
    let inn = Installation::find(from)?;
    let translation = translate(&inn)?;
    let read = settings::Read::parse(
        &inn.conf.path.with_file_name(settings::FILE),
        translation.settings_text.clone().into_bytes(),
    );
    if given.has("dry-run") {
        let moved = Moved {
            report: translation.report,
            faults: read.err().map(|faults| faults.to_string()),
            history: Some(History::of(&inn)?),
            counts: None,
            dir: None,
        };
        given.print(&moved, out)?;
        return Ok(Status::OK);
    }
    let read = read.map_err(|faults| {
        anyhow::anyhow!(
            "the settings of INN cannot be translated: {faults}; `-n' prints the report"
        )
    })?;
    let directory = NewsDirectory::meant(given)?;
    let root = directory.root();
    let is_new = !root.join(settings::FILE).exists();
    if is_new {
        make(root, &read.settings, &translation)?;
    }
    let mut moved = Moved {
        report: if is_new {
            translation.report
        } else {
            Report::default()
        },
        faults: None,
        history: None,
        counts: None,
        dir: Some(root.display().to_string()),
    };
    if !given.has("settings-only") {
        let settings = directory.settings()?.settings;
        let options = RunOptions {
            commit_bytes: usize::try_from(settings.store.commit_bytes).unwrap_or(usize::MAX),
            store: settings.store_options(),
        };
        let mut watcher = Watcher { bar: bar() };
        let counts = run::run(&inn, root, options, &mut watcher);
        if let Some(bar) = &watcher.bar {
            bar.finish_and_clear();
        }
        let counts = counts.with_context(|| {
            format!("the import stopped; run it again: it continues where {STATE} says")
        })?;
        moved.counts = Some(counts);
    }
    given.print(&moved, out)?;
    let is_whole = moved.counts.is_none_or(|counts| {
        counts.unfiled == 0 && counts.garbled == 0 && !is_nothing_there(&counts)
    });
    Ok(if is_whole { Status::OK } else { Status::NO })
}

/// Whether the history has articles, and the spool none of them: it is elsewhere.
fn is_nothing_there(counts: &Counts) -> bool {
    counts.gone > 0 && counts.filed + counts.known == 0
}

/// Makes the news directory; the report is kept in it.
fn make(root: &Path, settings: &settings::Settings, from: &Translation) -> anyhow::Result<()> {
    init::must_be_new(root)?;
    let mut files = from.files.clone();
    for (name, text, _) in &mut files {
        if name == "active" {
            *text = init::with_needed_groups(std::mem::take(text))?.0;
        }
    }
    let mut report = Vec::new();
    write_report(&from.report, &mut report)?;
    files.push((REPORT.to_owned(), report, true));
    init::make_moved(root, settings, &files, &from.settings_text)
}

/// The counts of the history, for a dry run.
#[derive(Default)]
struct History {
    /// Articles by storage method, in the order in which they were met.
    articles: Vec<(&'static str, u64)>,
    remembered: u64,
    garbled: u64,
}

impl History {
    fn of(inn: &Installation) -> anyhow::Result<History> {
        let path = inn.db.join("history");
        let map = fs::File::open(&path)
            .map(io::BufReader::new)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut found = History::default();
        for line in io::BufRead::split(map, b'\n') {
            let line = line.with_context(|| format!("cannot read {}", path.display()))?;
            match Line::parse(&line) {
                None => found.garbled += u64::from(!line.is_empty()),
                Some(line) => match line.token {
                    None => found.remembered += 1,
                    Some(token) => {
                        let method = token.method();
                        match found
                            .articles
                            .iter_mut()
                            .find(|(known, _)| *known == method)
                        {
                            Some((_, count)) => *count += 1,
                            None => found.articles.push((method, 1)),
                        }
                    }
                },
            }
        }
        Ok(found)
    }
}

/// The answer.
struct Moved {
    report: Report,
    /// Errors of the translated settings.
    faults: Option<String>,
    history: Option<History>,
    counts: Option<Counts>,
    dir: Option<String>,
}

fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for entry in &report.entries {
        let path = entry.path.display();
        match entry.line {
            0 => writeln!(out, "{path}: {}: {}", entry.fate.word(), entry.text)?,
            line => writeln!(out, "{path}:{line}: {}: {}", entry.fate.word(), entry.text)?,
        }
    }
    if report.more > 0 {
        writeln!(out, "{} more lines", report.more)?;
    }
    Ok(())
}

impl Answer for Moved {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write_report(&self.report, out)?;
        if !self.report.entries.is_empty() {
            let count = |fate| self.report.count(fate);
            writeln!(
                out,
                "settings: {} kept, {} changed, {} not kept",
                count(Fate::Kept),
                count(Fate::Changed),
                count(Fate::Dropped)
            )?;
        }
        if let Some(faults) = &self.faults {
            writeln!(out, "the translated settings have errors: {faults}")?;
        }
        if let Some(history) = &self.history {
            for (method, count) in &history.articles {
                writeln!(
                    out,
                    "articles in {method}: {count}, less the cancelled ones"
                )?;
            }
            writeln!(out, "ids that are only remembered: {}", history.remembered)?;
            if history.garbled > 0 {
                writeln!(
                    out,
                    "lines of the history that cannot be read: {}",
                    history.garbled
                )?;
            }
        }
        if let Some(counts) = &self.counts {
            writeln!(
                out,
                "{} articles filed ({}), {} were here, {} are gone from the spool, {} ids remembered, {} not filed",
                counts.filed,
                HumanBytes(counts.bytes),
                counts.known,
                counts.gone,
                counts.remembered,
                counts.unfiled
            )?;
            if is_nothing_there(counts) {
                writeln!(
                    out,
                    "No article of the history is in the spool: see patharticles and pathspool of inn.conf, remove the new directory, and try again."
                )?;
            }
            if counts.unnamed > 0 {
                writeln!(out, "{} further faults were not printed", counts.unnamed)?;
            }
            if counts.garbled > 0 {
                writeln!(
                    out,
                    "{} lines of the history cannot be read",
                    counts.garbled
                )?;
            }
        }
        match &self.dir {
            Some(dir) => writeln!(
                out,
                "Read {dir}/{REPORT} and {dir}/{}, then run `broadsheet check --dir {dir}'.",
                settings::FILE
            ),
            None => Ok(()),
        }
    }

    fn json(&self) -> Value {
        let entries = self.report.entries.iter().map(|entry| {
            json!({
                "file": entry.path.to_string_lossy(),
                "line": entry.line,
                "fate": entry.fate.word(),
                "text": entry.text,
            })
        });
        let counts = self.counts.map(|counts| {
            json!({
                "filed": counts.filed,
                "bytes": counts.bytes,
                "known": counts.known,
                "gone": counts.gone,
                "remembered": counts.remembered,
                "unfiled": counts.unfiled,
                "garbled": counts.garbled,
            })
        });
        let history = self.history.as_ref().map(|history| {
            let methods = history.articles.iter();
            let methods = methods.map(|(method, count)| ((*method).to_owned(), json!(count)));
            json!({
                "articles": Value::Object(methods.collect()),
                "remembered": history.remembered,
                "garbled": history.garbled,
            })
        });
        json!({
            "report": entries.collect::<Vec<_>>(),
            "settings_errors": self.faults,
            "history": history,
            "counts": counts,
        })
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// A bar on a terminal.
fn bar() -> Option<ProgressBar> {
    let style = ProgressStyle::with_template("{percent}% {wide_bar} {msg} {eta}").ok()?;
    io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(0);
        bar.set_style(style);
        bar
    })
}

struct Watcher {
    bar: Option<ProgressBar>,
}

impl Watch for Watcher {
    fn fault(&mut self, text: &str) {
        let tell = || eprintln!("broadsheet: {text}");
        match &self.bar {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }

    fn progress(&mut self, read: u64, all: u64, counts: &Counts) {
        if let Some(bar) = &self.bar {
            bar.set_length(all);
            bar.set_position(read);
            bar.set_message(format!(
                "{} articles, {}",
                counts.filed,
                HumanBytes(counts.bytes)
            ));
        }
    }
}
