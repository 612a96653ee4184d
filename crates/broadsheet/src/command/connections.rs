//! `broadsheet connections`

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::asked;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;
use daemon::client::{self, NntpConnection};

/// The table.
pub static COMMAND: Command = Command {
    words: &["connections"],
    also: &[],
    summary: "list the NNTP connections of the daemon",
    about: "\
Prints a line for each client that is connected to the daemon by NNTP, the oldest first: its number
(for `connections close'), its address, the entry of [[access]] and the login, since when it is
connected, its activity, the selected group, and, since the connection began, commands, articles and
bytes in and out. `peer' marks clients that may send articles. Feeds to other sites are in `feed
list', sessions of inetd are not listed.

Only the owner of the news directory and root may ask: the list shows who reads what.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[asked::NO_DAEMON],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let Some((all, is_whole)) = client::connections(directory.root())? else {
        return asked::told_none(directory.root(), false);
    };
    for connection in all {
        given.print(&Listed(connection), out)?;
    }
    Ok(whole(is_whole))
}

/// The exit status of an answer of all network threads, or not of all.
pub fn whole(is_whole: bool) -> Status {
    if is_whole {
        return Status::OK;
    }
    eprintln!("broadsheet: a network thread did not answer in time: the list is incomplete");
    Status::ATTENTION
}

struct Listed(NntpConnection);

impl Listed {
    /// The activity, in words.
    fn activity(&self) -> String {
        let connection = &self.0;
        let mut words = visible(&connection.state);
        if connection.state == "idle" {
            words = match connection.idle_seconds {
                0 => "active".to_owned(),
                seconds => format!("idle for {}", duration(seconds)),
            };
        }
        if !connection.last_command.is_empty() {
            words.push_str(&format!(", last {}", connection.last_command));
        }
        if let Some(group) = &connection.group {
            words.push_str(&format!(", in {}", visible(group)));
        }
        words
    }
}

impl Answer for Listed {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let connection = &self.0;
        let address = connection.address.as_deref().unwrap_or("local");
        let entry = match connection.entry.as_str() {
            "" => "-",
            entry => entry,
        };
        write!(
            out,
            "{} {} {}",
            connection.id,
            visible(address),
            visible(entry)
        )?;
        if let Some(user) = &connection.user {
            write!(out, " login={}", visible(user))?;
        }
        let marks = [
            (connection.peer, "peer"),
            (connection.tls, "TLS"),
            (connection.compressed, "COMPRESS"),
        ];
        for (_, mark) in marks.iter().filter(|(is_set, _)| *is_set) {
            write!(out, " {mark}")?;
        }
        writeln!(out, ": {}", self.activity())?;
        write!(
            out,
            "    since {}, {}",
            text::utc(connection.since),
            text::counted(connection.commands, "command")
        )?;
        if connection.offered > 0 {
            write!(out, ", {}", text::counted(connection.offered, "offer"))?;
        }
        writeln!(
            out,
            "; in {}, {}; out {}, {}",
            text::counted(connection.articles_in, "article"),
            text::rough_bytes(connection.bytes_in),
            text::counted(connection.articles_out, "article"),
            text::rough_bytes(connection.bytes_out),
        )
    }

    fn json(&self) -> Value {
        json!(self.0)
    }
}

/// A text from a client, as one line.
fn visible(text: &str) -> String {
    groups::shown(text.as_bytes())
}

/// `45 s`, `12 min`, `3 h`.
fn duration(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
