//! `broadsheet upact`

use std::io::{self, Write};

use groups::Active;
use serde_json::{Value, json};
use store::{LowMark, Spool};

use crate::answer::Answer;
use crate::cluster_log::refuse_node;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["upact"],
    also: &["updatemin", "recovact"],
    summary: "raise the low marks in active to the existing articles",
    about: "\
Sets the low mark of each group to its lowest existing article, and that of an empty group to its
high mark plus one. Expire raises low marks itself; this command is for groups whose lowest articles
were cancelled, and for an edited or imported `active'. A low mark never goes down (RFC 3977,
6.1.1.2): a low mark above an existing article is reported. rnews and readers are not blocked; a
group that was empty and receives an article during the run keeps its mark until the next run.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag {
            short: Some('v'),
            ..Flag::new("verbose", "Print each change.")
        },
        Flag::classic(
            'b',
            "both",
            "Accepted without effect: every command that writes raises a high mark that is too low.",
        ),
        Flag::classic(
            'p',
            "p",
            "Accepted without effect for old scripts: no directories are read.",
        ),
        Flag::classic('s', "s", "As -p."),
        Flag::refused('#', "hash", "no directories are read; omit it"),
    ],
    exits: &[],
    run,
};

/// One mark that was changed.
struct Change {
    group: Vec<u8>,
    mark: &'static str,
    from: u64,
    to: u64,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    refuse_node(
        &directory,
        "`broadsheet expire' raises the low marks on all nodes",
    )?;
    let options = directory.settings()?.settings.store_options();
    let edited = directory.active()?;
    // Opening mends what was edited, and nothing that this table counts is under way: the snapshot will see all of it.
    let spool = Spool::open(directory.root(), options)?;
    let notices = spool.notices();
    let mut changes = raised_on_opening(&edited, spool.active());
    let before = Active::parse(spool.active().image().to_vec())?;
    drop(spool);
    let marks = directory.snapshot()?.low_marks(&before)?;
    let mut spool = Spool::open(directory.root(), options)?;
    let rising = rising(&marks, spool.active());
    let told: Vec<(&[u8], u64)> = rising
        .iter()
        .map(|mark| (mark.group.as_slice(), mark.lowest))
        .collect();
    spool.set_low_marks(&told)?;
    spool.commit()?;
    drop(spool);
    for notice in notices {
        eprintln!("broadsheet: {notice}");
    }
    for mark in marks.iter().filter(|mark| mark.was > mark.lowest) {
        eprintln!(
            "broadsheet: the low mark of {} is {}, above article {}, which is still there; if readers never saw \
             that mark, lower it in active by hand",
            mark.group.escape_ascii(),
            mark.was,
            mark.lowest
        );
    }
    changes.extend(rising.iter().map(|mark| Change {
        group: mark.group.clone(),
        mark: "low",
        from: mark.was,
        to: mark.lowest,
    }));
    let changes = Changes {
        changes,
        is_verbose: given.has("verbose"),
    };
    given.print(&changes, out)?;
    Ok(Status::OK)
}

/// Marks that rise, in the table as it is under the lock.
fn rising<'m>(marks: &'m [LowMark], active: &Active) -> Vec<&'m LowMark> {
    let rises = |mark: &&LowMark| {
        active.find(&mark.group).is_some_and(|id| {
            // As in C News: when the high mark has gone on meanwhile, an empty group need not be empty any more.
            let still = !mark.is_empty || active.high(id) == mark.high;
            still && active.low(id) < mark.lowest
        })
    };
    marks.iter().filter(rises).collect()
}

/// High marks of a table that was edited: opening the store raised those that were below numbers given.
fn raised_on_opening(before: &Active, after: &Active) -> Vec<Change> {
    let change = |id| {
        let group = before.name(id);
        let (from, to) = (before.high(id), after.high(after.find(group)?));
        (from < to).then(|| Change {
            group: group.to_vec(),
            mark: "high",
            from,
            to,
        })
    };
    before.ids().filter_map(change).collect()
}

/// The changed marks.
struct Changes {
    changes: Vec<Change>,
    /// Whether the text lists them.
    is_verbose: bool,
}

impl Answer for Changes {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for change in self.changes.iter().filter(|_| self.is_verbose) {
            out.write_all(&change.group)?;
            writeln!(out, " {} {} -> {}", change.mark, change.from, change.to)?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            json!({
                "group": groups::escaped(&change.group), "mark": change.mark,
                "from": change.from, "to": change.to,
            })
        });
        json!({ "changes": changes.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(group: &str, lowest: u64, high: u64, is_empty: bool) -> LowMark {
        LowMark {
            group: group.into(),
            was: 1,
            lowest,
            high,
            is_empty,
        }
    }

    /// C News's regression: max bumped meanwhile keeps the old min.
    #[test]
    fn a_group_that_was_empty_and_has_got_an_article_keeps_its_mark() {
        let active =
            Active::parse(b"still 7 1 y\ngot.one 8 1 y\nfull 9 1 y\nright 9 3 y\n".to_vec());
        let marks = [
            mark("still", 8, 7, true),
            mark("got.one", 8, 7, true),
            mark("full", 3, 8, false),
            mark("right", 3, 9, false),
            mark("taken.out", 3, 9, false),
        ];
        let names: Vec<Vec<u8>> = rising(&marks, &active.unwrap())
            .iter()
            .map(|mark| mark.group.clone())
            .collect();
        assert_eq!(names, [b"still".to_vec(), b"full".to_vec()]);
    }
}
