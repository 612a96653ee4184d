//! Moving another news system in: what `import inn` and `import cnews` share.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use groups::Active;
use import::gone::GONE;
use import::importer::{Counts, REFUSED, Watch};
use import::moved::Translation;
use import::report::{Fate, Report};
use import::run::{self, RunOptions, STATE, Source};
use indicatif::{HumanBytes, ProgressBar};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::command::init;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Flag, Given};
use crate::new_directory;
use crate::setup::by_root;

/// The report in the news directory.
const REPORT: &str = "import.report";

/// Only prints the report.
pub const DRY_RUN: Flag = Flag::classic('n', "dry-run", "Only print the report. Writes nothing.");
/// Imports no articles.
pub const SETTINGS_ONLY: Flag = Flag::new(
    "settings-only",
    "Create the news directory without articles.",
);
/// The exit statuses.
pub const EXITS: &[Meaning] = &[
    Meaning {
        status: Status::OK,
        when: "all articles of the other system are on the disk",
    },
    Meaning {
        status: Status::NO,
        when: "some articles could not be filed, or none was found, or groups have another flag than there; each is reported, and \
            listed in import.refused",
    },
];

/// A system that moves in.
pub struct System<'a> {
    /// Its name, for messages.
    pub name: &'static str,
    /// The place of its articles, for the message that none was found.
    pub articles: &'static str,
    /// Where its settings come from, for errors of the translated ones.
    pub place: &'a Path,
    /// Its files as ours.
    pub translation: Translation,
}

/// Runs the command as the user who will run the server, if root called it. `None`: this process does it.
///
/// # Errors
/// There is no such user, the directory is another's, or the command cannot be started.
pub fn as_user(given: &Given) -> anyhow::Result<Option<Status>> {
    if given.has("dry-run") {
        return Ok(None);
    }
    let root = NewsDirectory::root_to_make(given)?;
    // A later run goes on as the owner of the directory, also where that is root.
    match root.join(settings::FILE).exists() && by_root::owner(&root) == 0 {
        true => Ok(None),
        false => by_root::init_as_user(given, &root),
    }
}

/// Runs the command: prints the report, or makes the news directory and imports the articles.
pub fn run(
    given: &Given,
    out: &mut dyn Write,
    system: System<'_>,
    history: &dyn Fn() -> anyhow::Result<History>,
    source: &dyn Fn() -> anyhow::Result<Box<dyn Source>>,
) -> anyhow::Result<Status> {
    let System {
        name,
        articles,
        place,
        translation,
    } = system;
    let read = settings::Read::parse(
        Path::new(settings::FILE),
        translation.settings_text.clone().into_bytes(),
    );
    let mut moved = Moved {
        articles,
        report: Report::default(),
        faults: None,
        history: None,
        counts: None,
        dir: None,
    };
    if given.has("dry-run") {
        moved.report = translation.report;
        moved.faults = read
            .err()
            .map(|faults| faults_of(&faults, &translation.settings_text));
        moved.history = Some(history()?);
        given.print(&moved, out)?;
        return Ok(match moved.faults {
            None => Status::OK,
            Some(_) => Status::ATTENTION,
        });
    }
    let read = read.map_err(|faults| {
        anyhow::anyhow!(
            "the settings of {name} in {} cannot be translated: {}; `-n' prints the report",
            place.display(),
            faults_of(&faults, &translation.settings_text)
        )
    })?;
    let directory = NewsDirectory::meant(given)?;
    let root = directory.root();
    let active = active_of(&translation)?;
    if !root.join(settings::FILE).exists() {
        make(root, &read.settings, &translation)?;
        by_root::note_owner(given, root);
        moved.report = translation.report.clone();
    }
    moved.dir = Some(root.display().to_string());
    if !given.has("settings-only") {
        let settings = directory.settings()?.settings;
        relay::headers_only::refuse_whole(root, settings.headers_only)?;
        let options = RunOptions {
            commit_bytes: usize::try_from(settings.store.commit_bytes).unwrap_or(usize::MAX),
            store: settings.store_options(),
            keep_free: settings.incoming.keep_free,
            has_numbers: translation.has_numbers,
        };
        let mut watcher = Watcher::new();
        let counts = run::run(&mut *source()?, (root, &active), options, &mut watcher);
        watcher.end();
        let counts = counts.with_context(|| {
            format!("the import stopped; run it again: it continues where {STATE} says")
        })?;
        moved.counts = Some(counts);
    }
    given.print(&moved, out)?;
    let is_whole = moved.counts.is_none_or(|counts| {
        counts.unfiled + counts.garbled + counts.differing == 0
            && !counts.is_nothing_there()
            && !counts.is_nothing_known()
    });
    Ok(if is_whole { Status::OK } else { Status::NO })
}

/// The errors of translated settings, each with its line: the file with these settings does not exist.
fn faults_of(faults: &settings::Faults, text: &str) -> String {
    let faults = faults.faults.iter().map(|fault| {
        let line = text.lines().nth(fault.line().saturating_sub(1));
        match line.unwrap_or_default().trim() {
            // Of a key that is missing.
            line if line.is_empty() || line.starts_with('#') => fault.what().to_owned(),
            line => format!("`{line}': {}", fault.what()),
        }
    });
    faults.collect::<Vec<_>>().join("; ")
}

/// The groups of the other system.
fn active_of(translation: &Translation) -> anyhow::Result<Active> {
    let files = translation.files.iter();
    let text = files.filter(|(name, ..)| name == "active");
    let text: Vec<u8> = text.flat_map(|(_, text, _)| text.clone()).collect();
    Active::parse(text).context("its groups")
}

/// Makes the news directory; the report is kept in it.
fn make(root: &Path, settings: &settings::Settings, from: &Translation) -> anyhow::Result<()> {
    new_directory::must_be_new(root)?;
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

/// The contents of the history, for a dry run.
#[derive(Default)]
pub struct History {
    /// Articles by where they are, in the order in which they were met.
    pub articles: Vec<(&'static str, u64)>,
    /// Ids without an article.
    pub remembered: u64,
    /// Lines that cannot be read.
    pub garbled: u64,
}

impl History {
    /// Counts an article.
    pub fn count(&mut self, place: &'static str) {
        let mut known = self.articles.iter_mut();
        match known.find(|(known, _)| *known == place) {
            Some((_, count)) => *count += 1,
            None => self.articles.push((place, 1)),
        }
    }
}

/// The answer.
struct Moved {
    /// The place of the articles.
    articles: &'static str,
    report: Report,
    /// Errors of the translated settings.
    faults: Option<String>,
    history: Option<History>,
    counts: Option<Counts>,
    dir: Option<String>,
}

fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for fate in Fate::ALL.into_iter().filter(|fate| report.count(*fate) > 0) {
        writeln!(out, "{}", fate.heading())?;
        for entry in report.entries.iter().filter(|entry| entry.fate == fate) {
            let path = entry.path.display();
            match entry.line {
                0 => writeln!(out, "{path}: {}: {}", fate.word(), entry.text)?,
                line => writeln!(out, "{path}:{line}: {}: {}", fate.word(), entry.text)?,
            }
        }
        writeln!(out)?;
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
                "settings: {} kept, {} changed, {} not kept (you must act), {} not needed",
                count(Fate::Kept),
                count(Fate::Changed),
                count(Fate::Dropped),
                count(Fate::Unneeded)
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
            if counts.is_nothing_there() {
                writeln!(
                    out,
                    "No article of the history is in the spool: see {}, remove the new directory, and try again.",
                    self.articles
                )?;
            }
            if counts.is_nothing_known() {
                writeln!(
                    out,
                    "No article was found, but by the marks in active there are some: see {} and the history, and run the import \
                     again into this directory. If the groups are empty there, all is well; `broadsheet upact' raises their low marks.",
                    self.articles
                )?;
            }
            if counts.gone_here > 0
                && let Some(dir) = &self.dir
            {
                writeln!(
                    out,
                    "{} articles are here that were cancelled or have expired there: {dir}/{GONE} lists their ids. Remove them by\n    \
                     xargs -d '\\n' -a {dir}/{GONE} broadsheet article remove --dir {dir} --",
                    counts.gone_here
                )?;
            }
            if counts.added > 0 {
                writeln!(out, "{} groups are new, and were added", counts.added)?;
            }
            if counts.differing > 0 {
                writeln!(out, "{} groups have another flag here", counts.differing)?;
            }
            if counts.unnamed > 0 {
                writeln!(
                    out,
                    "{} further faults were not printed; {REFUSED} in the news directory has all",
                    counts.unnamed
                )?;
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
            Some(dir) if !Path::new(dir).join(REPORT).exists() => writeln!(
                out,
                "{dir} was not made by this import: its settings stay, and none of the other system came over; `-n' prints what they would be."
            ),
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
                "gone_here": counts.gone_here,
                "remembered": counts.remembered,
                "unfiled": counts.unfiled,
                "garbled": counts.garbled,
                "added_groups": counts.added,
                "differing_groups": counts.differing,
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

/// Prints faults, and a bar on a terminal.
pub struct Watcher {
    bar: Option<ProgressBar>,
}

impl Watcher {
    /// A watcher without progress yet.
    pub fn new() -> Watcher {
        let form = "{bytes}/{total_bytes} {wide_bar} {msg} {bytes_per_sec} {eta}";
        Watcher {
            bar: crate::progress::bar(form),
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
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
