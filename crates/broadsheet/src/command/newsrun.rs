//! `broadsheet newsrun`: files what waits in in.coming/.

use std::io::Write;

use relay::Rules;
use relay::incoming::{Drain, DrainOptions, Drained, Grades};
use relay::rnews::Watch;

use super::rnews;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::filing;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::serving;
use settings::Settings;

/// The table.
pub static COMMAND: Command = Command {
    words: &["newsrun"],
    also: &[],
    summary: "file the batches that wait in in.coming/",
    about: "\
Files what newsspool and `rnews --spool' have put into in.coming/: grade 0 first, 9 before batches
without a grade, and in each grade in the order of arrival. What comes meanwhile is filed too. A batch goes
when its articles are on the disk; one that cannot be read to its end goes to bad/, and is named.
Files that are none of the names that newsspool gives are left alone.

With GRADES, such as 04, only those grades. After `newsrunning off' only grade 0.

Another newsrun at work makes this one end at once, with 0: the first sees what came last. It may be
killed at any moment: the next one goes on.

  */5 * * * * broadsheet newsrun --dir /srv/news",
    operands: Operands { shown: "GRADES...", least: 0, most: 10 },
    flags: &[
        DIR,
        JSON,
        Flag::classic('s', "suffix", "Only names that end in a dot and this: t for plain batches.").value("SUFFIX"),
        Flag::classic('h', "no-history", "Do not remember the ids of refused articles."),
    ],
    exits: &[
        Meaning { status: Status::OK, when: "what waited is filed, or another newsrun is at it, or it is off" },
        Meaning { status: Status::NO, when: "a batch was bad and is in bad/; the others are filed" },
        Meaning {
            status: Status::ATTENTION,
            when: "something needs attention: disk full, a batch out of step (it is in bad/), a file that cannot be read",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let mut options = everything(&settings);
    if !given.operands.is_empty() {
        let digits: Vec<u8> = given
            .operands
            .iter()
            .flat_map(|word| word.as_encoded_bytes())
            .copied()
            .collect();
        options.grades = Grades::of(&digits)
            .ok_or_else(|| given.usage("GRADES are digits, such as 0 or 04".to_owned()))?;
    }
    options.suffix = given
        .value("suffix")
        .map(|word| word.to_string_lossy().into_owned());
    let mut rules = settings.rules();
    rules.remember_refused = !given.has("no-history");
    let drained = drain(&directory, &settings, rules, options)?;
    if given.has("json") {
        let mut answer = rnews::json(&drained.summary);
        if let Some(fields) = answer.as_object_mut() {
            for (key, count) in [
                ("files", drained.files),
                ("bad", drained.bad),
                ("left", drained.left),
            ] {
                fields.insert(key.to_owned(), count.into());
            }
        }
        writeln!(out, "{answer}")?;
    }
    Ok(rnews::status(drained.status))
}

/// Every batch that waits.
pub fn everything(settings: &Settings) -> DrainOptions {
    DrainOptions {
        rnews: settings.rnews_options(),
        ..DrainOptions::default()
    }
}

/// Files what waits, unless another drain is at it. The store is opened only when there is something.
///
/// # Errors
/// Those of the file system, of the store and of `sys`.
pub fn drain(
    directory: &NewsDirectory,
    settings: &Settings,
    rules: Rules,
    options: DrainOptions,
) -> anyhow::Result<Drained> {
    let mut drain = Drain::new(directory.root(), options);
    while !drain.is_over() && drain.is_waiting()? {
        let Some(turn) = drain.turn()? else { break };
        let filer = filing::open(
            directory,
            settings,
            rules.clone(),
            settings.filer_options(),
            None,
        )?;
        if let Some(mut filer) = filer {
            drain.run(&turn, &mut filer, &mut Messages)?;
            let are_feeds = serving::done_filing(filer);
            // Feeds take their time; what comes meanwhile is for whoever looks next.
            drop(turn);
            serving::after_filing(directory, are_feeds);
        }
    }
    Ok(drain.drained())
}

/// Messages to standard error.
struct Messages;

impl Watch for Messages {
    fn message(&mut self, text: &str) {
        eprintln!("broadsheet: {text}");
    }
}
