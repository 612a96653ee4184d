//! `broadsheet cluster join`

use std::io::Write;

use anyhow::bail;
use cluster::jetstream::find;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::joining;

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "join"],
    also: &[],
    summary: "make this news directory a further node of a cluster",
    about: "\
Makes this news directory follow the log of the cluster in [cluster], from its first entry on. The
directory must have no articles, and the groups that the first node had then: `broadsheet init' with
the same file. If the first node had articles, or the log does not reach back so far, make the
node by a copy of the news directory of another one, which is stopped meanwhile; then nothing is to
be joined.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::OK,
        when: "the directory is a node",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let root = directory.root();
    let (options, _) = joining::node_settings(&directory)?;
    let log = find(&options)?;
    let base = joining::base_of(root)?;
    if base == joining::COPY {
        bail!(
            "{} has articles, so it cannot begin where the log begins: copy the news directory of another node",
            root.display()
        );
    }
    if log.base == joining::COPY {
        bail!(
            "the first node had articles before the log began: copy the news directory of a node"
        );
    }
    if log.base != base {
        bail!(
            "{} has other groups than the first node had when the log began: make the directory with the same active file",
            root.display()
        );
    }
    joining::follow(root, &log)?;
    joining::announce_here(&options);
    writeln!(
        out,
        "{} is a node of the cluster {}",
        root.display(),
        options.stream
    )?;
    Ok(Status::OK)
}
