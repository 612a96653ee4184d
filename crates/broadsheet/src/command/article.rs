//! `broadsheet article`

use std::ffi::OsStr;
use std::io::Write;

use store::{Record, Snapshot};

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["article"],
    also: &[],
    summary: "print an article as it was filed",
    about: "\
Finds an article by its Message-ID, or by group and number, and prints it byte for byte as it was
filed: with this site's name first in Path, and with its Xref. Quote a Message-ID for the shell; its
brackets may be left out:

  broadsheet article '<1993Apr5.1234@news.example.org>'
  broadsheet article comp.lang.c/123",
    operands: Operands {
        shown: "ID|GROUP/NUMBER...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        Flag::new(
            "wire",
            "Print the form that NNTP sends: lines end in CRLF, and leading dots are doubled.",
        ),
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
    let mut status = Status::OK;
    let (mut buffer, mut native) = (Vec::new(), Vec::new());
    for operand in &given.operands {
        let Some(record) = find(&snapshot, operand.as_encoded_bytes(), &mut buffer)? else {
            eprintln!("broadsheet: {}", missing(&snapshot, operand));
            status = Status::NO;
            continue;
        };
        if record.head.header_only {
            eprintln!(
                "broadsheet: the article came without its body: {}",
                operand.display()
            );
        }
        if given.has("wire") {
            out.write_all(record.wire())?;
        } else {
            native.clear();
            record.push_native(&mut native);
            out.write_all(&native)?;
        }
    }
    Ok(status)
}

/// Why there is no article of this name.
fn missing(snapshot: &Snapshot, name: &OsStr) -> String {
    let shown = name.display();
    match link(name.as_encoded_bytes()) {
        Some((group, _))
            if !name.as_encoded_bytes().contains(&b'@')
                && snapshot.active().find(&group).is_none() =>
        {
            let group = String::from_utf8_lossy(&group).into_owned();
            format!("no such article: {shown}: the group `{group}' is not in active")
        }
        None if !name.as_encoded_bytes().contains(&b'@') => {
            format!("no such article: {shown}: neither a Message-ID nor GROUP/NUMBER")
        }
        _ => format!("no such article: {shown}"),
    }
}

/// Copies the article with a name into a buffer: an id in its brackets, or group and number.
///
/// # Errors
/// The store cannot be read.
pub fn find<'b>(
    snapshot: &Snapshot,
    name: &[u8],
    buffer: &'b mut Vec<u8>,
) -> Result<Option<Record<'b>>, store::Error> {
    match (name.first(), link(name)) {
        (Some(b'<'), _) => snapshot.article(name, buffer),
        _ if name.contains(&b'@') => snapshot.article(&[b"<", name, b">"].concat(), buffer),
        (_, Some((group, number))) => snapshot.article_by_number(&group, number, buffer),
        (_, None) => Ok(None),
    }
}

/// `comp.lang.c/123` as in history, `comp/lang/c/123` as in a togo file, or `comp.lang.c:123` as in Xref: the number stands behind
/// the last slash or colon. No group has a slash in its name: others are dots.
pub fn link(name: &[u8]) -> Option<(Vec<u8>, u64)> {
    let at = name.iter().rposition(|byte| matches!(byte, b'/' | b':'))?;
    let (group, number) = name.split_at_checked(at)?;
    let number = article::decimal::parse(number.get(1..)?)?;
    let dots = |&byte: &u8| if byte == b'/' { b'.' } else { byte };
    Some((group.iter().map(dots).collect(), number))
}
