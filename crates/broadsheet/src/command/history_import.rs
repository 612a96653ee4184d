//! `broadsheet history import`

use std::io::{BufRead, BufReader, Write};

use import::cnews::history::epoch;
use store::{Spool, history};

use crate::cluster_log::refuse_node;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::operand;

/// Lines that could not be read are named up to this many; the rest are counted.
const NAMED_MAX: u64 = 20;
/// Ids remembered before they are committed.
const COMMIT_IDS: u64 = 100_000;

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "import"],
    also: &[],
    summary: "import the history of another news system",
    about: "\
Reads a text history file of C News or INN (with numeric or old text dates) and stores its ids, so
that their articles are rejected as duplicates. No articles are copied. Ids that
`expire' would have forgotten by now (`/expired/') are counted and not stored. INN since 2.0 stores hashes
instead of ids (lines that begin with a square bracket), which this command cannot read.

To move a whole site in, with its articles, use `broadsheet import cnews' or `broadsheet import inn':
they read the history too, and the hashes of INN.",
    operands: Operands {
        shown: "FILE",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "FILE has unreadable lines; each is reported",
    }],
    run,
};

#[derive(Default)]
struct Counts {
    taken: u64,
    known: u64,
    old: u64,
    bad: u64,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    refuse_node(
        &directory,
        "import the history before `broadsheet cluster init', on the machine that becomes the first node",
    )?;
    let settings = directory.settings()?.settings;
    let Some(path) = given.operands.first() else {
        return Ok(Status::NO);
    };
    let file = operand::open(path)?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut spool = Spool::open(directory.root(), settings.store_options())?;
    let now = relay::Now::read().seconds;
    let id_bytes_max = usize::try_from(settings.limits.message_id_bytes_max).unwrap_or(usize::MAX);
    let mut counts = Counts::default();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let limit = history::LINE_BYTES_MAX as u64;
        if std::io::Read::take(&mut reader, limit).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let taken = if line.len() as u64 == limit && line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
            Taken::Bad("too long for a history line")
        } else {
            take(&mut spool, &line, now, id_bytes_max)?
        };
        match taken {
            Taken::New => {
                counts.taken += 1;
                if counts.taken.is_multiple_of(COMMIT_IDS) {
                    spool.commit()?;
                }
            }
            Taken::Known => counts.known += 1,
            Taken::Old => counts.old += 1,
            Taken::Bad(why) => {
                counts.bad += 1;
                if counts.bad <= NAMED_MAX {
                    eprintln!("broadsheet: {} line {number}: {why}", path.display());
                }
            }
        }
    }
    spool.commit()?;
    write!(
        out,
        "{} ids imported, {} known already, {} lines not read",
        counts.taken, counts.known, counts.bad
    )?;
    match counts.old {
        0 => writeln!(out)?,
        old => writeln!(out, ", {old} too old to be remembered")?,
    }
    Ok(if counts.bad == 0 {
        Status::OK
    } else {
        Status::NO
    })
}

enum Taken {
    New,
    Known,
    /// Expire has forgotten the ids of its time.
    Old,
    Bad(&'static str),
}

fn take(
    spool: &mut Spool,
    line: &[u8],
    now: i64,
    id_bytes_max: usize,
) -> Result<Taken, store::Error> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.first() == Some(&b'[') {
        return Ok(Taken::Bad(
            "a hash, not a Message-ID (INN 2): use `broadsheet import inn'",
        ));
    }
    let mut fields = line.split(|&b| b == b'\t');
    let (Some(id), Some(dates)) = (fields.next(), fields.next()) else {
        return Ok(Taken::Bad(
            "garbled: a history line must have two or three fields, separated by tabs",
        ));
    };
    if article::message_id::check(id).is_err() {
        return Ok(Taken::Bad("the first field is not a Message-ID"));
    }
    if id.len() > id_bytes_max {
        return Ok(Taken::Bad(
            "the Message-ID is longer than limits.message_id_bytes_max, so such an article would be rejected anyway",
        ));
    }
    if spool.has(id)? {
        return Ok(Taken::Known);
    }
    let mut dates = dates.split(|&b| b == b'~');
    let arrival = dates.next().and_then(epoch).unwrap_or(now);
    let expires = dates.next().and_then(epoch);
    let remembered = match expires {
        Some(expires) => format!("\t{arrival}~{expires}"),
        None => format!("\t{arrival}~-"),
    };
    if spool
        .expired()?
        .forgets_line(&[id, remembered.as_bytes()].concat())
    {
        return Ok(Taken::Old);
    }
    spool.remember(id, arrival, expires.into())?;
    Ok(Taken::New)
}
