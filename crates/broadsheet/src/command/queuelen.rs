//! `broadsheet queuelen`, also by its classic name: how many batches wait to be taken.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use feed::Batchparms;
use feed::serving::BATCHPARMS;
use groups::sites::{To, Via};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::command::sendbatches::UUCP_SPOOL;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["queuelen"],
    also: &[],
    summary: "count the batches in the queue of a site",
    about: "\
Prints the number of batches for SITE that are in its queue: the UUCP jobs of the host that its command
names (`uux ... HOST!rnews'), or, if its [[site]] table names a directory, the files there. `sendbatches' stops when the site's queue is full. For a name
that is no site, and has no UUCP jobs, it prints 0, and an error.",
    operands: Operands {
        shown: "SITE",
        least: 1,
        most: 1,
    },
    flags: &[DIR, JSON, UUCP_SPOOL],
    exits: &[Meaning {
        status: Status::NO,
        when: "the news directory has no site of this name, and UUCP no jobs",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let name = given.operands.first().map(|word| word.as_bytes());
    let name = name.unwrap_or_default();
    let spool = given
        .value("uucp-spool")
        .map_or(Path::new(feed::UUCP_SPOOL), Path::new);
    let queue = queue_of(given, name)?;
    let waiting = match &queue {
        Queue::Directory(directory) => feed::waiting_in_directory(directory)?,
        Queue::Uucp(host) => feed::waiting_in_uucp(spool, host)?,
        Queue::Unknown => feed::waiting_in_uucp(spool, name)?,
    };
    given.print(&QueueLength { waiting }, out)?;
    if matches!(queue, Queue::Unknown) && waiting == 0 {
        eprintln!(
            "broadsheet: no site is named `{}': `broadsheet feed list' prints the names",
            name.escape_ascii()
        );
        return Ok(Status::NO);
    }
    Ok(Status::OK)
}

/// The queue of a site.
enum Queue {
    /// The directory that its batches go to.
    Directory(PathBuf),
    /// The UUCP jobs for this host.
    Uucp(Vec<u8>),
    /// The news directory has no such site.
    Unknown,
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

/// The queue of a site. UUCP can be asked about sites without a news directory.
fn queue_of(given: &Given, name: &[u8]) -> anyhow::Result<Queue> {
    let Some(news) = NewsDirectory::maybe(given) else {
        return Ok(Queue::Uucp(name.to_vec()));
    };
    let settings = news.settings()?.settings;
    let sites = news.sys(&settings)?;
    let mut all = sites.feeds();
    let Some((_, site)) = all.find(|(feed, site)| *feed == name || site.name == name) else {
        return Ok(Queue::Unknown);
    };
    let Via::Batch(via) = &site.via else {
        return Ok(Queue::Uucp(site.name.clone()));
    };
    let parms = Batchparms::read(&news.file(BATCHPARMS))?;
    Ok(match parms.parms(&site.name, via, None) {
        Ok(parms) => match &parms.to {
            To::Directory(directory) => Queue::Directory(news.root().join(directory)),
            To::Command(_) => Queue::Uucp(parms.uucp_host().to_vec()),
        },
        // Without a way for its batches: those of another program.
        Err(_) => Queue::Uucp(site.name.clone()),
    })
}
