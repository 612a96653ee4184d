//! `broadsheet history find`

use std::borrow::Cow;
use std::io::Write;

use store::{Expires, HistoryLine, Reader};

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "find"],
    also: &["newshist"],
    summary: "look up Message-IDs",
    about: "\
Prints the history line of each id: the id, arrival~expires~size~position, and group/number for each
group it is filed in. A line without groups is an article that was seen and not stored. The brackets
of an id can be left out. The field `expires' has the text of the header if it is not a date, and
`-' without the header.",
    operands: Operands {
        shown: "ID...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "an id is not in history",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let reader = Reader::open(directory.root())?;
    let mut status = Status::OK;
    for id in &given.operands {
        match reader.find(&bracketed(id.as_encoded_bytes()))? {
            Some(line) if given.has("json") => {
                let answer = json(&line, reader.is_alive(&line));
                writeln!(out, "{answer}")?;
            }
            Some(line) => {
                out.write_all(line.text)?;
                out.write_all(b"\n")?;
            }
            None => {
                eprintln!("broadsheet: {} is not in history", id.display());
                status = Status::NO;
            }
        }
    }
    Ok(status)
}

/// An id in its brackets; the shell makes leaving them out convenient.
fn bracketed(id: &[u8]) -> Cow<'_, [u8]> {
    match id {
        [b'<', ..] => Cow::Borrowed(id),
        bare => Cow::Owned([b"<", bare, b">"].concat()),
    }
}

fn json(line: &HistoryLine<'_>, alive: bool) -> serde_json::Value {
    let links: Vec<_> = line
        .links()
        .map(|(group, number)| serde_json::json!({ "group": String::from_utf8_lossy(group), "number": number }))
        .collect();
    let unreadable = match line.expires {
        Expires::Unreadable(text) => Some(String::from_utf8_lossy(text)),
        Expires::Absent | Expires::At(_) => None,
    };
    serde_json::json!({
        "id": String::from_utf8_lossy(line.id),
        "arrival": line.arrival,
        "expires": line.expires.date(),
        "expires_unreadable": unreadable,
        "bytes": line.size,
        "position": line.position.map(|position| position.0),
        "groups": links,
        "alive": alive,
    })
}
