//! `broadsheet import diablo`

use std::io::Write;
use std::path::PathBuf;

use import::diablo::run as diablo;

use crate::archive_import;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["import", "diablo"],
    also: &[],
    summary: "file the articles of a Diablo's spool",
    about: "\
Files the articles of spools of Diablo 5: the files B.xxxx in the directories D.xxxxxxxx of SPOOL,
such as /news/spool/news/P.00. They are filed in those of their groups that active has, under the
next numbers, or with --xref under the numbers that the Xref of a site gives them. The time of
arrival is that of their directory. Articles that are here already are counted and passed over, so
an import that was interrupted is simply run again. Nothing of Diablo's is changed.

Diablo's history has hashes instead of ids, which cannot be remembered here; and articles that were
cancelled there, but still lie in the spool, come back. Articles of which only the header was stored
are not imported. What cannot be filed, or has the id of another article here, is reported, listed
in import.refused in the news directory, and kept in bad/import.unfiled.

  broadsheet import diablo /news/spool/news/P.00 /news/spool/news/P.01
  broadsheet import diablo --xref news.example.org /news/spool/news/P.00",
    operands: Operands {
        shown: "SPOOL...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        archive_import::GROUP,
        archive_import::XREF,
        archive_import::MEND,
    ],
    exits: archive_import::EXITS,
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let spools: Vec<PathBuf> = given.operands.iter().map(PathBuf::from).collect();
    archive_import::run(given, out, &|options, importer| {
        diablo::import(&spools, options, importer)
    })
}
