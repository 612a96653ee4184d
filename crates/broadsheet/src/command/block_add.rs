//! `broadsheet block add`

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use relay::blocks::{Block, BlockKind};

use crate::block_edit::{edit, named};
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::row_search;

/// The table.
pub static COMMAND: Command = Command {
    words: &["block", "add"],
    also: &[],
    summary: "refuse the articles and posts of a sender",
    about: "\
Writes a line into the file blocks, and reloads the daemon. From then on, batches, articles of peers
and posts of this sender are refused, with the reason `blocked'; they are not remembered. What is
here already stays: see `article remove'.

KIND is from (the address in From), host (the posting host in Injection-Info or NNTP-Posting-Host, or
the address of a client that posts here), login (posting-account in Injection-Info, or the login here)
or injector (the injecting site in Injection-Info or Path). PATTERN is the whole of it, or a wildmat
with `*'; capital and small letters are the same. A block of the same kind and pattern is replaced.

  broadsheet block add from '*@spam.example' --until '7 days' --reason flood",
    operands: Operands {
        shown: "KIND PATTERN",
        least: 2,
        most: 2,
    },
    flags: &[
        DIR,
        Flag::new("until", "The end of the block: a date, or a time from now such as `2h' or `7 days'. Default: it does not end.")
            .value("WHEN"),
        Flag::new("reason", "Why; `block list' tells it.").value("TEXT"),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let (kind, pattern) = named(given)?;
    let is_whole = !pattern.contains(&b'*');
    if kind == BlockKind::From && is_whole && (!pattern.contains(&b'@') || pattern.contains(&b'<'))
    {
        let what = "a sender is an address alone (`anna@example.org'), or a wildmat with `*'";
        return Err(given.usage(what).into());
    }
    let now = relay::Now::read().seconds;
    let until = given.value("until").map(|when| {
        row_search::until(when.as_bytes(), now).ok_or_else(|| {
            given.usage(format!(
                "--until needs a date (`31 Dec 2026') or a time from now (`7 days'), not `{}'",
                when.display()
            ))
        })
    });
    let until = until.transpose()?;
    if until.is_some_and(|until| until <= now) {
        return Err(given.usage("--until is in the past").into());
    }
    let reason = given.value("reason").unwrap_or_default();
    let reason = reason.to_string_lossy().trim().to_owned();
    if reason.chars().any(char::is_control) {
        return Err(given
            .usage("the reason must be one line without tabs")
            .into());
    }
    let directory = NewsDirectory::meant(given)?;
    edit(&directory, out, |blocks| {
        blocks.retain(|block| !(block.kind == kind && block.pattern == pattern));
        blocks.push(Block {
            kind,
            pattern,
            until,
            reason,
        });
        true
    })
}
