//! `broadsheet histinfo`

use std::ffi::OsStr;
use std::io::{BufRead, Read, Write, stdin};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use store::{HistoryLine, Snapshot, history};

use super::article::link;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// Of a name that is not known so many bytes are shown.
const SHOWN_BYTES: usize = 200;

/// The table.
pub static COMMAND: Command = Command {
    words: &["histinfo"],
    also: &[],
    summary: "print the history lines of articles named on standard input",
    about: "\
Reads names of articles, one a line, and prints their stored history lines, in which the arrival is
the time of filing. A name is that in a C News spool, `comp/lang/c/123', or `comp.lang.c/123', or a
Message-ID with its brackets. Unknown names are reported on standard error, and the command
continues. An article that has expired or was cancelled is found only by its Message-ID, while that
is in history.

  broadsheet overview comp.lang.c | sed 's|^|comp.lang.c/|' | cut -f1 | broadsheet histinfo",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new(
            "spool",
            "The directory of absolute names; default: the news directory.",
        )
        .value("DIR"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "an article was not found",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let snapshot = directory.snapshot()?;
    let spool = given
        .value("spool")
        .map_or_else(|| directory.root().to_owned(), PathBuf::from);
    let mut input = stdin().lock();
    let mut status = Status::OK;
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = history::LINE_BYTES_MAX as u64;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut line);
        if read.context("cannot read standard input")? == 0 {
            return Ok(status);
        }
        let is_whole = line.pop_if(|last| *last == b'\n').is_some() || (line.len() as u64) < limit;
        if !is_whole {
            input
                .skip_until(b'\n')
                .context("cannot read standard input")?;
        }
        if line.is_empty() {
            continue;
        }
        let found = match is_whole {
            true => history_line(&snapshot, strip_spool(&line, &spool)),
            false => Ok(None),
        };
        match found {
            Ok(Some(told)) => {
                out.write_all(&told)?;
                out.write_all(b"\n")?;
            }
            Ok(None) => {
                eprintln!("broadsheet: no such article: {}", shown(&line));
                status = worse(status, Status::NO);
            }
            // The next one may lie elsewhere.
            Err(error) => {
                eprintln!("broadsheet: {}: {error}", shown(&line));
                status = Status::ATTENTION;
            }
        }
    }
}

fn worse(one: Status, other: Status) -> Status {
    if one.code() > other.code() {
        one
    } else {
        other
    }
}

/// The history line of the article with a name, without its newline.
fn history_line(snapshot: &Snapshot, name: &[u8]) -> Result<Option<Vec<u8>>, store::Error> {
    if name.first() == Some(&b'<') {
        return Ok(snapshot.history_line(name)?.map(|line| line.text.to_vec()));
    }
    let Some((group, number)) = link(name) else {
        return Ok(None);
    };
    let mut buffer = Vec::new();
    let Some(record) = snapshot.article_by_number(&group, number, &mut buffer)? else {
        return Ok(None);
    };
    let Some(filed) = HistoryLine::parse(record.line()) else {
        return Ok(None);
    };
    // The record has the line of the day it was filed; history has the last word.
    Ok(snapshot
        .history_line(filed.id)?
        .map(|line| line.text.to_vec()))
}

/// An absolute name without the spool in front; `find .` puts a dot there.
fn strip_spool<'n>(name: &'n [u8], spool: &Path) -> &'n [u8] {
    let path = Path::new(OsStr::from_bytes(name));
    let within = path.strip_prefix(spool).or_else(|_| path.strip_prefix("."));
    within.map_or(name, |rest| rest.as_os_str().as_bytes())
}

/// For the screen: any bytes, but not too many.
fn shown(name: &[u8]) -> String {
    let cut = name.get(..SHOWN_BYTES);
    let more = if cut.is_some() { "..." } else { "" };
    format!("{}{more}", groups::shown(cut.unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_both_kinds_mean_the_same() {
        let c = || Some((b"comp.lang.c".to_vec(), 123));
        assert_eq!(link(b"comp/lang/c/123"), c());
        assert_eq!(link(b"comp.lang.c/123"), c());
        let spool = Path::new("/var/spool/news");
        assert_eq!(
            link(strip_spool(b"/var/spool/news/comp/lang/c/123", spool)),
            c()
        );
        assert_eq!(link(strip_spool(b"./comp/lang/c/123", spool)), c());
        for odd in [&b"comp.lang.c"[..], b"comp/lang/c/", b"comp/lang/c/x1", b""] {
            assert_eq!(link(odd), None);
        }
        assert_ne!(link(b"/elsewhere/comp/lang/c/123"), c());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_name_or_none(name: Vec<u8>) {
            let stripped = strip_spool(&name, Path::new("/n"));
            let _ = (link(stripped), shown(&name));
        }
    }
}
