//! `broadsheet explain`

use std::io::{self, Read, Write};

use article::Form;
use groups::matrix::Matrix;
use groups::{escaped, shown};
use relay::decide::{Arrival, State};
use relay::explain::{ExpectedResult, Explanation, explain};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::operand;
use settings::{Settings, SystemZone};

/// The table.
pub static COMMAND: Command = Command {
    words: &["explain"],
    also: &[],
    summary: "show whether rnews would accept an article, and why",
    about: "\
Reads one article from FILE or standard input and prints its id, date, groups, hops and verdict,
with the text that rnews would write to `log'. Files nothing. History has the ids of refused articles,
too: `otherwise' tells why a duplicate would be refused if its id were new. In a news directory with
headers_only, where rnews files nothing, it judges an article from a header-only feed (MODE
HEADFEED).

  broadsheet explain article.txt",
    operands: Operands {
        shown: "FILE",
        least: 0,
        most: 1,
    },
    flags: &[DIR, JSON],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the article would be accepted",
        },
        Meaning {
            status: Status::NO,
            when: "the article would be rejected",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let bytes = read(given, settings.limits.article_bytes_max)?;
    let told = explained(&directory, &settings, &bytes)?;
    given.print(&told, out)?;
    Ok(match told.expected_result {
        ExpectedResult::Refuse => Status::NO,
        _ => Status::OK,
    })
}

/// Decides about an article as rnews would, and files nothing.
///
/// # Errors
/// `sys` or the store cannot be read.
pub fn explained(
    directory: &NewsDirectory,
    settings: &Settings,
    bytes: &[u8],
) -> anyhow::Result<Explanation> {
    let sys = directory.sys(settings)?;
    let snapshot = directory.snapshot()?;
    let mut matrix = Matrix::new(snapshot.active(), &sys);
    let mut state = State {
        active: snapshot.active(),
        matrix: &mut matrix,
        zone: &SystemZone,
        sender: None,
        is_announced: false,
    };
    let arrival = Arrival {
        seconds: relay::Now::read().seconds,
    };
    let rules = settings.rules();
    let seen = |id: &[u8]| snapshot.has(id);
    Ok(explain(
        (bytes, Form::Native, settings.headers_only),
        arrival,
        &mut state,
        &sys,
        &rules,
        seen,
    )?)
}

/// The article; of one over the limit enough to show that it is.
fn read(given: &Given, article_bytes_max: u64) -> anyhow::Result<Vec<u8>> {
    let source: Box<dyn Read> = match given.operands.first() {
        Some(path) if path != "-" => Box::new(operand::open(path)?),
        _ => Box::new(relay::StandardInput),
    };
    let mut bytes = Vec::new();
    source
        .take(article_bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn verdict(expected_result: ExpectedResult) -> &'static str {
    match expected_result {
        ExpectedResult::Accept => "accepted",
        ExpectedResult::Control => "accepted, control message",
        ExpectedResult::Junk => "accepted, junk",
        ExpectedResult::Refuse => "refused",
    }
}

fn list(items: &[Vec<u8>]) -> Vec<String> {
    items.iter().map(|item| escaped(item)).collect()
}

impl Answer for Explanation {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let seconds =
            |date: Option<i64>| date.map_or_else(|| "-".to_owned(), |date| date.to_string());
        let mut line = |what: &str, value: &str| writeln!(out, "{what:10} {value}");
        line("id", &shown(&self.message_id))?;
        line("date", &seconds(self.date))?;
        line("expires", &seconds(self.expires))?;
        for group in &self.groups {
            let flag = group
                .flag
                .as_deref()
                .map_or_else(|| "not in active".to_owned(), shown);
            let filed = match &group.filed_as {
                Some(filed) => format!("filed as {}", shown(filed)),
                None => "not filed".to_owned(),
            };
            let subscribed = if group.subscribed {
                ""
            } else {
                ", not subscribed"
            };
            line(
                "group",
                &format!("{} ({flag}; {filed}{subscribed})", shown(&group.name)),
            )?;
        }
        line("hops", &self.hops.to_string())?;
        line("from site", &shown(&self.site))?;
        line("verdict", verdict(self.expected_result))?;
        let what = if self.expected_result == ExpectedResult::Refuse {
            "reason"
        } else {
            "sites"
        };
        line(what, &shown(&self.text))?;
        for (feed, group) in &self.poisoned {
            let why = format!(
                "{}: `@' of its groups matches {}",
                shown(feed),
                shown(group)
            );
            line("not to", &why)?;
        }
        if let Some(why) = &self.otherwise {
            line("otherwise", &shown(why))?;
        }
        if self.remembered {
            line("history", "the id would be stored")?;
        }
        for id in &self.cancels {
            line("cancels", &shown(id))?;
        }
        if self.expected_result != ExpectedResult::Refuse {
            line("path", &shown(&self.path))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let groups: Vec<_> = self
            .groups
            .iter()
            .map(|group| {
                json!({
                    "group": escaped(&group.name),
                    "flag": group.flag.as_deref().map(escaped),
                    "filed_as": group.filed_as.as_deref().map(escaped),
                    "subscribed": group.subscribed,
                })
            })
            .collect();
        let poisoned = self.poisoned.iter();
        let poisoned =
            poisoned.map(|(feed, group)| json!({"site": escaped(feed), "group": escaped(group)}));
        json!({
            "id": escaped(&self.message_id),
            "date": self.date,
            "expires": self.expires,
            "groups": groups,
            "hops": self.hops,
            "site": escaped(&self.site),
            "verdict": verdict(self.expected_result),
            "text": escaped(&self.text),
            "otherwise": self.otherwise.as_deref().map(escaped),
            "remembered": self.remembered,
            "filed_in": list(&self.filed_in),
            "excluded": list(&self.excluded),
            "sites": list(&self.sites),
            "poisoned": poisoned.collect::<Vec<_>>(),
            "cancels": list(&self.cancels),
            "path": escaped(&self.path),
        })
    }
}
