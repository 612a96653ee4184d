//! `broadsheet import mbox`

use std::io::Write;
use std::path::PathBuf;

use import::mbox::files;
use import::mbox::mailbox::Quoting;

use crate::archive_import;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["import", "mbox"],
    also: &[],
    summary: "file the articles of mailboxes, such as archives of Usenet",
    about: "\
Files the articles of mailboxes, however old they are, in those of their groups that active has,
under the next numbers. A FILE may be compressed (gzip, bzip2, xz, lzma, zstd, compress), or a zip
archive of mailboxes. Articles that are here already are counted and passed over, so an import that was
interrupted is simply run again. Nothing is sent to peers, and control messages have no effect: they
are filed in the group control. The time of arrival is that of the import; expire counts from it.

A message begins at a line `From ' with a sender and a date, behind an empty line or before a header
with Message-ID or Newsgroups. Text that only looks like a beginning stays text, is reported and
listed, and the exit status is 1.

An article that cannot be filed is reported, listed in import.refused in the news directory, and
kept in bad/import.unfiled: articles without Message-ID, Date, Path, Newsgroups, Subject or From,
those without a group in active, and those whose id another article here has (it differs in more
than Path and Xref). Both files have each article once, however often the import is run. With
--mend, missing headers are added as far as they can be known; import.mended lists each.

  broadsheet import mbox comp.lang.c.mbox.zip
  broadsheet import mbox --mend --group local.old old-*.mbox.gz",
    operands: Operands {
        shown: "FILE...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        archive_import::GROUP,
        archive_import::XREF,
        archive_import::MEND,
        Flag::new(
            "quoting",
            "Undo the quoting of lines that begin with `From ': mboxrd (one `>' less before each) or mboxo (only `>From '). \
            By default such lines stay, because a mailbox does not say how it was written, and people quote with `>' too.",
        )
        .value("FORM"),
    ],
    exits: archive_import::EXITS,
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let quoting = match given.value("quoting").map(|form| form.to_string_lossy()) {
        None => Quoting::Unknown,
        Some(form) => match form.as_ref() {
            "mboxo" => Quoting::Mboxo,
            "mboxrd" => Quoting::Mboxrd,
            other => {
                let why = format!("--quoting is `{other}', not mboxo or mboxrd");
                return Err(given.usage(why).into());
            }
        },
    };
    let paths: Vec<PathBuf> = given.operands.iter().map(PathBuf::from).collect();
    archive_import::run(given, out, &|options, importer| {
        files::import(&paths, quoting, options, importer)
    })
}
