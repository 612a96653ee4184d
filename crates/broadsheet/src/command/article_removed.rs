//! `broadsheet article removed`

use std::io::{self, Write};

use serde_json::Value;

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::removed::{self, RemovedArticle};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["article", "removed"],
    also: &[],
    summary: "list the cancelled and removed articles",
    about: "\
Prints a line for each article that a cancel or `article remove' removed, in the order of their
arrival: the Message-ID, when and why it was removed, and until when `article restore' can bring it
back, separated by tabs. Articles whose segment was removed meanwhile are not listed.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let snapshot = directory.snapshot()?;
    let now = relay::Now::read().seconds;
    for article in removed::all(&snapshot)? {
        given.print(&Listed { article, now }, out)?;
    }
    Ok(Status::OK)
}

struct Listed {
    article: RemovedArticle,
    now: i64,
}

impl Answer for Listed {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let article = &self.article;
        let until = match article.is_restorable(self.now) {
            true => format!("restorable until {}", text::utc(article.until)),
            false => "not restorable".to_owned(),
        };
        writeln!(
            out,
            "{}\t{}\t{until}",
            groups::shown(&article.id),
            article.told()
        )
    }

    fn json(&self) -> Value {
        self.article.json(self.now)
    }
}
