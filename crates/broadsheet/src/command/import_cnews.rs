//! `broadsheet import cnews`

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use import::cnews::history::Line;
use import::cnews::installation::Installation;
use import::cnews::source::CnewsSource;
use import::cnews::translate::translate;
use import::run::Source;

use crate::command::init;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::moving_in::{self, History, System};

/// The table.
pub static COMMAND: Command = Command {
    words: &["import", "cnews"],
    also: &[],
    summary: "move in from C News: groups, control files and articles with their numbers",
    about: "\
Reads the C News whose active, history and sys are in CTL (its NEWSCTL, such as /usr/lib/news), and
creates the news directory: with its groups, its control files (sys, batchparms, explist, mailpaths,
controlperm), and its articles under the same numbers, with their arrival times. The articles are
the files of the tree (NEWSARTS): those that the history has, then all others. Ids that the history
has without a file are refused from then on. Nothing of C News is changed; the index files of the
history (dbz) are not needed. Without a history, a bare tree is imported too.

With -n it only prints what comes over, what does not, and why, line by line. Stop C News before the
last run. A run that was interrupted continues where it stopped; a later run into the same directory
adds the articles and groups that came since, raises the high marks, and leaves the settings alone.
It removes nothing: import.gone lists the articles that C News has cancelled or expired since.

  broadsheet import cnews -n /usr/lib/news
  broadsheet import cnews /usr/lib/news --articles /usr/spool/news --dir /var/spool/broadsheet
  broadsheet check --dir /var/spool/broadsheet",
    operands: Operands {
        shown: "CTL",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        moving_in::DRY_RUN,
        moving_in::SETTINGS_ONLY,
        init::RUN_AS,
        Flag::new(
            "articles",
            "The tree of articles (NEWSARTS). The default is what CTL/bin/config says, or else CTL.",
        )
        .value("DIR"),
    ],
    exits: moving_in::EXITS,
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    if let Some(status) = moving_in::as_user(given)? {
        return Ok(status);
    }
    let Some(from) = given.operands.first().map(Path::new) else {
        return Ok(Status::NO);
    };
    let cnews = Installation::find(from, given.value("articles").map(Path::new))?;
    let system = System {
        name: "C News",
        articles: "the tree of articles (--articles)",
        place: &cnews.ctl,
        translation: translate(&cnews)?,
    };
    moving_in::run(given, out, system, &|| history(&cnews), &|| {
        Ok(Box::new(CnewsSource::of(&cnews)) as Box<dyn Source>)
    })
}

fn history(cnews: &Installation) -> anyhow::Result<History> {
    let path = cnews.ctl.join("history");
    let mut found = History::default();
    let file = match store::regular::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        opened => opened.with_context(|| format!("cannot read {}", path.display()))?,
    };
    for line in io::BufRead::split(io::BufReader::new(file), b'\n') {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        match Line::parse(&line) {
            None => found.garbled += u64::from(!line.is_empty()),
            Some(line) if line.fields.is_filed() => found.count("the history"),
            Some(_) => found.remembered += 1,
        }
    }
    Ok(found)
}
