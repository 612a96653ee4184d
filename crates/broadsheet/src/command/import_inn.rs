//! `broadsheet import inn`

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use import::inn::history::Line;
use import::inn::installation::Installation;
use import::inn::source::InnSource;
use import::inn::translate::translate;
use import::run::Source;

use crate::command::init;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::moving_in::{self, History, System};

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
adds the articles and groups that came since, raises the high marks, and leaves the settings alone.
It removes nothing: import.gone lists the articles that INN has cancelled or expired since.

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
        moving_in::DRY_RUN,
        moving_in::SETTINGS_ONLY,
        init::RUN_AS,
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
    let inn = Installation::find(from)?;
    let system = System {
        name: "INN",
        articles: "patharticles and pathspool of inn.conf",
        place: inn.conf.path.parent().unwrap_or(from),
        translation: translate(&inn)?,
    };
    moving_in::run(given, out, system, &|| history(&inn), &|| {
        let source = InnSource::of(&inn).with_context(|| {
            format!("cannot read the description of {}", inn.articles.display())
        })?;
        Ok(Box::new(source) as Box<dyn Source>)
    })
}

fn history(inn: &Installation) -> anyhow::Result<History> {
    let path = inn.db.join("history");
    let file = store::regular::open(&path)
        .map(io::BufReader::new)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut found = History::default();
    for line in io::BufRead::split(file, b'\n') {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        match Line::parse(&line) {
            None => found.garbled += u64::from(!line.is_empty()),
            Some(line) => match line.token {
                None => found.remembered += 1,
                Some(token) => found.count(token.method()),
            },
        }
    }
    Ok(found)
}
