//! `broadsheet feed pause`

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "pause"],
    also: &[],
    summary: "stop feeding a site until it is resumed",
    about: "\
Articles for the site stay queued. A batch that is being sent is finished first.",
    operands: Operands {
        shown: "SITE...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        Flag::new("why", "The reason, which `feed list' shows.").value("TEXT"),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    crate::cluster_feeds::must_be_here(&directory, &settings)?;
    let why = given.value("why").map(|why| why.to_string_lossy());
    for site in &given.operands {
        let why = why.as_deref().unwrap_or_default();
        feed::site_state::pause(directory.root(), site.as_bytes(), why)?;
    }
    Ok(Status::OK)
}
