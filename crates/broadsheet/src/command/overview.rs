//! `broadsheet overview`

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::row_search::{self, RowFound, RowSearch};

/// The table.
pub static COMMAND: Command = Command {
    words: &["overview"],
    also: &[],
    summary: "print the overview rows of a group, or search those of all groups",
    about: "\
With GROUP alone, prints the rows that NNTP OVER would send (RFC 3977, 8.3): number, Subject, From,
Date, Message-ID, References, bytes, lines, separated by tabs. RANGE is a number, `1-50', or `100-'.

With --match, --since or --groups, prints a row for each article that meets all of them, in the order
of arrival, with GROUP/NUMBER of all its groups instead of the number. It searches all groups, or
GROUP and RANGE. A pattern without `*' is a part of the content of the field, one with `*' is a wildmat
of the whole content (in which `?' and `[a-z]' count, too); capital and small letters are the same.
Content in encoded words (RFC 2047) matches as it is and decoded.

  broadsheet overview --match From:spammer@example.com --since '2 days'
  broadsheet overview --match 'Subject:*make*fast' --groups 'misc.*' --json",
    operands: Operands {
        shown: "GROUP [RANGE]",
        least: 0,
        most: 2,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "match",
            "Only articles with this in a field of the overview: Subject, From, Date, Message-ID, References, Bytes, Lines or Xref. May be repeated.",
        )
        .value("FIELD:PATTERN"),
        row_search::SINCE,
        row_search::GROUPS,
        row_search::WILDMAT,
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the group does not exist, or the search found nothing",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let mut search = RowSearch::of(given, "groups")?;
    for text in given.values("match") {
        search.demand(given, text.as_bytes())?;
    }
    let group = given.operands.first();
    let is_search = given.has("json") || !search.is_empty();
    if group.is_none() && search.is_empty() {
        return Err(given
            .usage("needs GROUP [RANGE], or what to search for: --match, --since or --groups")
            .into());
    }
    let range = match given.operands.get(1) {
        Some(text) => parse_range(text).ok_or_else(|| {
            given.usage(format!(
                "RANGE must be like `7', `1-50' or `100-', not `{}'",
                text.display()
            ))
        })?,
        None => (0, u64::MAX),
    };
    let snapshot = directory.snapshot()?;
    if let Some(group) = group
        && snapshot.active().find(group.as_bytes()).is_none()
    {
        eprintln!("broadsheet: the group {} does not exist", group.display());
        return Ok(Status::NO);
    }
    if let Some(group) = group.filter(|_| is_search) {
        search.within(group.as_bytes(), range);
    }
    let Some(group) = group.filter(|_| !is_search) else {
        let (found, searched) = search.run(&snapshot)?;
        for article in &found {
            given.print(article, out)?;
        }
        searched?;
        return Ok(match found.is_empty() {
            true => Status::NO,
            false => Status::OK,
        });
    };
    // An error of the output is no error of the store.
    let mut failed = None;
    let walked = snapshot.overview(group.as_encoded_bytes(), range, |row| {
        out.write_all(row.text).map_err(|error| {
            let kind = error.kind();
            failed = Some(error);
            kind.into()
        })
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(walked.map(|()| Status::OK)?),
    }
}

impl Answer for RowFound {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let places = self.places().join(&b","[..]);
        out.write_all(&[&places, &b"\t"[..], self.text(), b"\n"].concat())
    }

    fn json(&self) -> Value {
        let value = |name| groups::escaped(self.value(name));
        let number = |name| article::decimal::parse(self.value(name));
        let places = self.places();
        let links: Vec<String> = places.iter().map(|link| groups::escaped(link)).collect();
        json!({
            "links": links,
            "subject": value("Subject"),
            "from": value("From"),
            "date": value("Date"),
            "id": value("Message-ID"),
            "references": value("References"),
            "bytes": number("Bytes"),
            "lines": number("Lines"),
            "arrived": self.arrival,
        })
    }
}

/// RFC 3977, 6.1.1.1: a number, `low-high`, or `low-`.
fn parse_range(text: &OsStr) -> Option<(u64, u64)> {
    let text = text.to_str()?;
    match text.split_once('-') {
        None => text.parse().ok().map(|number| (number, number)),
        Some((low, "")) => Some((low.parse().ok()?, u64::MAX)),
        Some((low, high)) => Some((low.parse().ok()?, high.parse().ok()?)),
    }
}
