//! `broadsheet control run`, also `checkgroups`.

use std::io::{self, Read, Write};

use article::{Article, Form};
use relay::Now;
use relay::control::decide::{ControlOutcome, Disposition};
use relay::control::processor::ControlProcessor;
use serde_json::{Value, json};
use store::{Serials, Spool};

use crate::answer::Answer;
use crate::cluster_log::refuse_node;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use settings::SystemZone;

/// The table.
pub static COMMAND: Command = Command {
    words: &["control", "run"],
    also: &["checkgroups"],
    summary: "obey a control message, or show what it would change",
    about: "\
Reads one newgroup, rmgroup or checkgroups message from standard input, checks it as rnews does,
prints each change, and makes them. With --trust the administrator vouches for the message: policy,
signature, Approved, age and the limits on checkgroups are not checked; names of groups and the ME
line in sys are. A serial number of a checkgroups message is then set, also to a lower one.

  broadsheet article '<id>' | broadsheet control run --dry-run
  broadsheet article '<id>' | broadsheet control run --trust",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new("dry-run", "Print the changes, and make none."),
        Flag::new("trust", "Act as if the policy allowed the message."),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the changes were made, or none was needed",
        },
        Meaning {
            status: Status::NO,
            when: "the message was not obeyed; the reason is printed",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let most = settings.limits.article_bytes_max;
    let mut bytes = Vec::new();
    relay::StandardInput
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        anyhow::bail!("the article is larger than limits.article_bytes_max, {most}");
    }
    let article = Article::parse(&bytes, Form::Native);
    let sys = directory.sys(&settings)?;
    let mut processor = ControlProcessor::new(directory.root(), settings.control_options());
    let now = Now::read().seconds;
    let (at, trust) = (
        (now, &SystemZone as &dyn article::date::LocalZone),
        given.has("trust"),
    );
    let outcome = if given.has("dry-run") {
        let active = directory.active()?;
        let serials = Serials::read(directory.root());
        let state = (&active, serials.as_ref().map_err(ToString::to_string));
        processor.decide(&article, state, sys.subscription(), at, trust)
    } else {
        refuse_node(
            &directory,
            "make the changes that --dry-run prints by `broadsheet group add', `group set' and `group remove'; a message that the policy \
             allows, offer to the daemon over NNTP or by rnews",
        )?;
        let mut spool = Spool::open(directory.root(), settings.store_options())?;
        crate::tell_all(spool.notices());
        let outcome = processor.decide(
            &article,
            (
                spool.active(),
                spool.serials().map_err(|error| error.to_string()),
            ),
            sys.subscription(),
            at,
            trust,
        );
        if let Some(outcome) = &outcome {
            processor.apply(&mut spool, &article, outcome, at)?;
            spool.commit()?;
            processor.write_log()?;
        }
        outcome
    };
    let Some(outcome) = outcome else {
        anyhow::bail!("the article is not a control message: it has no Control header");
    };
    given.print(&outcome, out)?;
    Ok(match outcome.disposition {
        Disposition::Acted | Disposition::Nothing => Status::OK,
        Disposition::Waits | Disposition::Refused | Disposition::Dropped => Status::NO,
    })
}

fn lines(outcome: &ControlOutcome) -> Vec<String> {
    let lines = outcome.changes.lines();
    let shown = |line: &Vec<u8>| {
        let text = groups::escaped(line);
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        text.chars().map(plain).collect()
    };
    lines.iter().map(shown).collect()
}

impl Answer for ControlOutcome {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in lines(self) {
            writeln!(out, "{line}")?;
        }
        if self.verified != "-" {
            writeln!(out, "verified: {}", self.verified)?;
        }
        writeln!(out, "{}: {}", self.disposition.word(), self.why)
    }

    fn json(&self) -> Value {
        json!({
            "done": self.disposition.word(),
            "why": self.why,
            "verified": self.verified,
            "changes": lines(self),
        })
    }
}
