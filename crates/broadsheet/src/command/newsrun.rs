//! `broadsheet newsrun`: files what waits in in.coming/.

use std::io::{self, Write};

use anyhow::bail;
use relay::Rules;
use relay::incoming::{Drain, DrainOptions, Drained, Grades};
use relay::rnews::Watch;
use serde_json::Value;

use super::rnews;
use crate::answer::Answer;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use feed::serving;
use settings::Settings;
use store::AppliedEntry;

/// The table.
pub static COMMAND: Command = Command {
    words: &["newsrun"],
    also: &[],
    summary: "file the batches in in.coming/",
    about: "\
Files the batches that newsspool and `rnews --spool' have written to in.coming/: grade 0 first,
grade 9 before batches without a grade, and in each grade the oldest first. Batches that arrive
meanwhile are filed too. A batch is removed when its articles are on the disk; a batch with an error
is moved to bad/ and reported. Files with other names than those that newsspool gives are not filed;
they are reported once they are a minute old.

With GRADES, such as 04, only batches of those grades are filed. After `newsrunning off' only grade
0 is.

If another newsrun is running, this one exits at once with 0: the other files the new batches as
well. A newsrun can be killed at any time; the next one continues.

On a node of a cluster the daemon files them; this command only says why it does not.

  */5 * * * * broadsheet newsrun --dir /srv/news",
    operands: Operands {
        shown: "GRADES...",
        least: 0,
        most: 10,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic(
            's',
            "suffix",
            "Only files whose names end in a dot and SUFFIX: t for uncompressed batches.",
        )
        .value("SUFFIX"),
        Flag::classic(
            'h',
            "no-history",
            "Do not store the ids of rejected articles.",
        ),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "all batches were filed, or another newsrun is running, or newsrunning is off",
        },
        Meaning {
            status: Status::NO,
            when: "a batch with an error is in bad/; the others were filed",
        },
        Meaning {
            status: Status::ATTENTION,
            when: "an administrator is needed: disk full, a batch with an error (it is in bad/), an unreadable file",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let mut options = settings.drain_options();
    if !given.operands.is_empty() {
        let digits: Vec<u8> = given
            .operands
            .iter()
            .flat_map(|word| word.as_encoded_bytes())
            .copied()
            .collect();
        options.grades = Grades::of(&digits)
            .ok_or_else(|| given.usage("GRADES must be digits, such as 0 or 04".to_owned()))?;
    }
    options.suffix = given
        .value("suffix")
        .map(|word| word.to_string_lossy().into_owned());
    let mut rules = settings.rules();
    rules.remember_refused = !given.has("no-history");
    let drained = drain(&directory, &settings, rules, options)?;
    given.print(&drained, out)?;
    Ok(rnews::status(drained.status))
}

impl Answer for Drained {
    /// For people newsrun reports only errors, while it runs.
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn json(&self) -> Value {
        let mut answer = self.summary.json();
        if let Some(fields) = answer.as_object_mut() {
            for (key, count) in [
                ("files", self.files),
                ("bad", self.bad),
                ("left", self.left),
                ("others", self.others),
            ] {
                fields.insert(key.to_owned(), count.into());
            }
        }
        answer
    }
}

/// Files what waits, unless another drain is at it. The store is opened only when there is something.
///
/// # Errors
/// Those of the file system, of the store and of `sys`.
pub fn drain(
    directory: &settings::NewsDirectory,
    settings: &Settings,
    rules: Rules,
    options: DrainOptions,
) -> anyhow::Result<Drained> {
    let mut drain = Drain::new(directory.root(), options);
    drain.report_others(&mut Messages)?;
    while !drain.is_over() && drain.is_waiting()? {
        let Some(lock) = drain.take_lock()? else {
            break;
        };
        if !AppliedEntry::read(directory.root())?.log.is_empty() {
            // The batch has woken the daemon, or it files others before.
            daemon_files(directory)?;
            break;
        }
        let filer = daemon::open_filer(
            directory,
            settings,
            rules.clone(),
            settings.filer_options(),
            None,
        )?;
        if let Some(mut filer) = filer {
            drain.run(&lock, &mut filer, &mut Messages)?;
            let are_feeds = serving::done_filing(filer);
            // Feeds take their time; what comes meanwhile is for whoever looks next.
            drop(lock);
            daemon::after_filing(directory.root(), OWN_PROGRAM, are_feeds);
        }
    }
    Ok(drain.drained())
}

/// Returns if the daemon of a node files the batches: it appends them to the log of the cluster.
///
/// # Errors
/// It does not run, has stopped, or does not reach the log.
fn daemon_files(directory: &settings::NewsDirectory) -> anyhow::Result<()> {
    let root = directory.root().display();
    let Some(daemon) = daemon::client::status(directory.root()) else {
        bail!(
            "{root} belongs to a cluster, and its daemon files the batches in in.coming/: start `broadsheet serve'"
        );
    };
    match daemon.status.cluster_node {
        Some(node) if node.is_stopped => {
            bail!(
                "the batches wait in in.coming/: the node has {}",
                node.sentence()
            )
        }
        Some(node) if node.unreachable_seconds > 0 => bail!(
            "the log of the cluster cannot be reached ({}): the batches wait in in.coming/ until it can, and then the daemon files them",
            node.why_unreachable
        ),
        _ => Ok(()),
    }
}

/// Messages to standard error.
struct Messages;

impl Watch for Messages {
    fn message(&mut self, text: &str) {
        eprintln!("broadsheet: {text}");
    }
}
