//! `broadsheet queuelen`, also by its classic name: how many batches wait to be taken.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use groups::sites::{To, Via};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::command::sendbatches::UUCP_SPOOL;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["queuelen"],
    also: &[],
    summary: "count the batches in the queue of a site",
    about: "\
Prints the number of batches for SITE that are in its queue: its UUCP jobs, or, if its [[site]]
table names a directory, the files there. `sendbatches' stops when the site's queue is full.",
    operands: Operands {
        shown: "SITE",
        least: 1,
        most: 1,
    },
    flags: &[DIR, JSON, UUCP_SPOOL],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let name = given.operands.first().map(|word| word.as_bytes());
    let name = name.unwrap_or_default();
    let spool = given
        .value("uucp-spool")
        .map_or(Path::new(feed::UUCP_SPOOL), Path::new);
    let waiting = match directory_of(given, name)? {
        Some(directory) => feed::waiting_in_directory(&directory)?,
        None => feed::waiting_in_uucp(spool, name)?,
    };
    given.print(&QueueLength { waiting }, out)?;
    Ok(Status::OK)
}

/// The number of batches in a queue.
struct QueueLength {
    waiting: u64,
}

impl Answer for QueueLength {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.waiting)
    }

    fn json(&self) -> Value {
        json!({ "waiting": self.waiting })
    }
}

/// The directory that a site's batches go to. UUCP can be asked about sites without a news directory.
fn directory_of(given: &Given, name: &[u8]) -> anyhow::Result<Option<std::path::PathBuf>> {
    let Some(news) = NewsDirectory::maybe(given) else {
        return Ok(None);
    };
    let settings = news.settings()?.settings;
    let sites = news.sys(&settings)?;
    let via = sites.feed(name).map(|site| &site.via);
    Ok(match via {
        Some(Via::Batch(via)) => match &via.to {
            Some(To::Directory(directory)) => Some(news.root().join(directory)),
            _ => None,
        },
        _ => None,
    })
}
