//! `broadsheet upact`

use std::io::Write;

use groups::Active;
use serde_json::json;
use store::{LowMark, Reader, Spool};

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["upact"],
    also: &["updatemin", "recovact"],
    summary: "raise the low marks of active to the articles that are there",
    about: "\
Sets each group's low mark to the lowest article that is there, and that of an empty group to one
more than its high mark. Expire raises low marks itself; this is for groups whose lowest articles
were cancelled, and for an `active' that was edited or brought over. A low mark never goes back
(RFC 3977, 6.1.1.2): where it stands above an article, that is told. rnews and readers go on
meanwhile; a group that was empty and has got an article since keeps its mark until the next run.",
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
            "Without effect: a high mark below a number that was given is raised by whatever opens the store \
             to write, this command too.",
        ),
        Flag::classic(
            'p',
            "p",
            "Taken for the sake of old scripts, without effect: no directories are read here.",
        ),
        Flag::classic('s', "s", "As -p."),
        Flag::refused('#', "hash", "no directories are read here; leave it out"),
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
    let options = directory.settings()?.settings.store_options();
    let edited = directory.active()?;
    // Opening mends what was edited, and nothing that this table counts is under way: the reader will see all of it.
    let spool = Spool::open(directory.root(), options)?;
    let notices = spool.notices().to_vec();
    let mut changes = raised_on_opening(&edited, spool.active());
    let before = Active::parse(spool.active().image().to_vec())?;
    drop(spool);
    let marks = Reader::open(directory.root())?.low_marks(&before)?;
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
    tell(&changes, given, out)?;
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

fn tell(changes: &[Change], given: &Given, out: &mut dyn Write) -> anyhow::Result<()> {
    if given.has("json") {
        let all: Vec<_> = changes
            .iter()
            .map(|change| {
                json!({
                    "group": String::from_utf8_lossy(&change.group), "mark": change.mark,
                    "from": change.from, "to": change.to,
                })
            })
            .collect();
        writeln!(out, "{}", json!({ "changes": all }))?;
    } else if given.has("verbose") {
        for change in changes {
            out.write_all(&change.group)?;
            writeln!(out, " {} {} -> {}", change.mark, change.from, change.to)?;
        }
    }
    Ok(())
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
