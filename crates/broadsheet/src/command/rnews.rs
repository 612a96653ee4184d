//! `broadsheet rnews`, also `relaynews`: files batches.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::not_built;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};

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
Only one at a time files articles: a second rnews waits for the first.

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
        Flag::classic('h', "no-history", "Do not remember the ids of refused articles."),
        Flag::classic('s', "strict", "End with 1 when any article was refused."),
        Flag::classic('u', "unlink", "Remove each input file whose articles were all filed without trouble."),
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
    ],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let _settings = directory.settings()?.settings;
    let _older_days = given.number("older")?;
    let _files = files(given)?;
    not_built(given)
}

/// The inputs, with `-c` put before relative names; none means standard input, as does `-`.
fn files(given: &Given) -> Result<Vec<PathBuf>, UsageError> {
    let from = given.value("relative-to").map(Path::new);
    if let Some(from) = from.filter(|from| !from.is_absolute()) {
        return Err(given.usage(format!(
            "-c wants an absolute directory, not `{}'",
            from.display()
        )));
    }
    let place = |name: &std::ffi::OsString| match from {
        Some(from) if name != "-" => from.join(name),
        _ => PathBuf::from(name),
    };
    Ok(given.operands.iter().map(place).collect())
}
