//! `broadsheet history find`

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Value, json};
use store::{Expires, HistoryLine, Snapshot};

use crate::answer::Answer;
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
    let snapshot = directory.snapshot()?;
    let mut status = Status::OK;
    for id in &given.operands {
        match find(&snapshot, id.as_encoded_bytes())? {
            Some(known) => given.print(&known, out)?,
            None => {
                let seen = seen_elsewhere(&snapshot, id.as_encoded_bytes())?;
                eprintln!("broadsheet: {} is not in history{seen}", id.display());
                status = Status::NO;
            }
        }
    }
    Ok(status)
}

/// What history has about an id.
pub struct Known<'r> {
    /// Its line.
    pub line: HistoryLine<'r>,
    /// Whether the article can be read.
    pub is_alive: bool,
}

/// Looks up an id, with or without its brackets.
///
/// # Errors
/// The store cannot be read.
pub fn find<'r>(snapshot: &'r Snapshot, id: &[u8]) -> Result<Option<Known<'r>>, store::Error> {
    let line = snapshot.history_line(&in_brackets(id))?;
    Ok(line.map(|line| Known {
        is_alive: snapshot.is_alive(&line),
        line,
    }))
}

/// Tells why an id that is not in history is refused nevertheless, for the end of a message; empty if it is not refused.
///
/// # Errors
/// The store cannot be read.
pub fn seen_elsewhere(snapshot: &Snapshot, id: &[u8]) -> Result<&'static str, store::Error> {
    Ok(match snapshot.has(&in_brackets(id))? {
        true => ", but the imported system had seen it (seen.hashes): refused as a duplicate",
        false => "",
    })
}

fn in_brackets(id: &[u8]) -> Cow<'_, [u8]> {
    match id {
        [b'<', ..] => Cow::Borrowed(id),
        bare => Cow::Owned([b"<", bare, b">"].concat()),
    }
}

impl Answer for Known<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.line.text)?;
        out.write_all(b"\n")
    }

    fn json(&self) -> Value {
        let line = &self.line;
        let links = line.links();
        let links = links
            .map(|(group, number)| json!({ "group": groups::escaped(group), "number": number }));
        let unreadable = match line.expires {
            Expires::Unreadable(text) => Some(groups::escaped(text)),
            Expires::Absent | Expires::At(_) => None,
        };
        json!({
            "id": groups::escaped(line.id),
            "arrival": line.arrival,
            "expires": line.expires.date(),
            "expires_unreadable": unreadable,
            "bytes": line.size,
            "position": line.position.map(|position| position.0),
            "groups": links.collect::<Vec<_>>(),
            "alive": self.is_alive,
        })
    }
}
