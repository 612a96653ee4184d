//! `broadsheet feed resume`

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use daemon::client;

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "resume"],
    also: &[],
    summary: "feed a paused site again",
    about: "\
The feed continues where it stopped; articles filed during the pause are sent.",
    operands: Operands {
        shown: "SITE...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR],
    exits: &[],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    crate::cluster_feeds::must_be_here(&directory, &settings)?;
    for site in &given.operands {
        if !feed::site_state::resume(directory.root(), site.as_bytes())? {
            eprintln!("broadsheet: {} is not paused", site.to_string_lossy());
        }
        client::look_at_feed(directory.root(), site.as_bytes());
    }
    Ok(Status::OK)
}
