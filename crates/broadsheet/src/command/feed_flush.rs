//! `broadsheet feed flush`

use std::io::Write;

use feed::place;
use store::Reader;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::feeds;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::serving::{Served, Serving, why_it_waits};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "flush"],
    also: &[],
    summary: "send what waits for sites now, however they are served",
    about: "\
Each SITE, or every site, has its turn: batches are sent, lines written to its file, articles given to its program or command, or
filed in the other news directory. A program that is started for it has its input closed at the end, and is waited for.",
    operands: Operands {
        shown: "SITE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "nothing waits any more",
        },
        Meaning {
            status: Status::NO,
            when: "articles wait: it is told why",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let sites = directory.sys(&settings)?;
    let mut reader = Reader::open(directory.root())?;
    feeds::enrol(&directory, &sites, reader.end())?;
    let chosen = feeds::chosen(&sites, &given.operands)?;
    let mut serving = Serving::new(&directory, &sites, &reader)?;
    let names: Vec<&[u8]> = chosen.iter().map(|(name, _)| *name).collect();
    serving.plan(&names, &reader)?;
    let mut status = Status::OK;
    for (name, site) in chosen {
        let shown = place::shown(name);
        let (articles, why) = match serving.serve(name, site, &mut reader) {
            Ok(served) => (articles(&served), why_it_waits(&served)),
            Err(error) => (0, Some(error.to_string())),
        };
        if why.is_some() {
            status = Status::NO;
        }
        if given.has("json") {
            let told = serde_json::json!({ "site": shown, "articles": articles, "why": why });
            writeln!(out, "{told}")?;
        } else {
            writeln!(out, "{shown}: {}", text::counted(articles, "article"))?;
            if let Some(why) = why {
                eprintln!("broadsheet: {shown}: {why}");
            }
        }
    }
    Ok(status)
}

fn articles(served: &Served) -> u64 {
    match served {
        Served::Sent(sent) => sent.articles,
        Served::Given { articles, .. } => *articles,
        Served::Paused(_) => 0,
    }
}
