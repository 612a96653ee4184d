//! `broadsheet control run`, also `checkgroups`.

use std::io::{self, Read, Write};

use article::date::FixedOffset;
use article::{Article, Form};
use relay::Now;
use relay::control::desk::Desk;
use relay::control::judge::{Done, Judged};
use serde_json::json;
use store::Spool;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["control", "run"],
    also: &["checkgroups"],
    summary: "do what a control message asks for, or show what it would do",
    about: "\
Reads one newgroup, rmgroup or checkgroups message from standard input, judges it as rnews does, prints
each change, and makes them. With --trust the administrator answers for it: policy, signature, Approved,
age and the limits of checkgroups do not count; names of groups and our own line in sys still do.

  broadsheet article '<id>' | broadsheet control run --dry-run
  broadsheet article '<id>' | broadsheet control run --trust",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new("dry-run", "Change nothing: only print."),
        Flag::new("trust", "Act as if the policy let the message."),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "it was done, or all is so already",
        },
        Meaning {
            status: Status::NO,
            when: "it is not acted upon, for the reason printed",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let most = settings.limits.article_bytes_max;
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        anyhow::bail!("the article is larger than limits.article_bytes_max, {most}");
    }
    let article = Article::parse(&bytes, Form::Native);
    let sys = directory.sys(&settings)?;
    let mut desk = Desk::new(directory.root(), settings.desk_options());
    let zone = FixedOffset(0);
    let now = Now::read().seconds;
    let (at, trust) = (
        (now, &zone as &dyn article::date::LocalZone),
        given.has("trust"),
    );
    let judged = if given.has("dry-run") {
        let active = directory.active()?;
        desk.judge(&article, &active, sys.subscription(), at, trust)
    } else {
        let mut spool = Spool::open(directory.root(), settings.store_options())?;
        let judged = desk.judge(&article, spool.active(), sys.subscription(), at, trust);
        if let Some(judged) = &judged {
            desk.carry_out(&mut spool, &article, judged, at)?;
            spool.commit()?;
            desk.write_log()?;
        }
        judged
    };
    let Some(judged) = judged else {
        anyhow::bail!("it is no control message: it has no Control header");
    };
    match given.has("json") {
        true => writeln!(out, "{}", json(&judged))?,
        false => write_text(&judged, out)?,
    }
    Ok(match judged.done {
        Done::Acted | Done::Nothing => Status::OK,
        Done::Waits | Done::Refused | Done::Dropped => Status::NO,
    })
}

fn lines(judged: &Judged) -> Vec<String> {
    let lines = judged.changes.lines();
    let shown = |line: &Vec<u8>| {
        let text = String::from_utf8_lossy(line);
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        text.chars().map(plain).collect()
    };
    lines.iter().map(shown).collect()
}

fn write_text(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    for line in lines(judged) {
        writeln!(out, "{line}")?;
    }
    if judged.verified != "-" {
        writeln!(out, "verified: {}", judged.verified)?;
    }
    writeln!(out, "{}: {}", judged.done.word(), judged.why)
}

fn json(judged: &Judged) -> serde_json::Value {
    json!({
        "done": judged.done.word(),
        "why": judged.why,
        "verified": judged.verified,
        "changes": lines(judged),
    })
}
