//! How far the groups of a server to pull from were read, and which of them rest.

use std::io::{self, Write};

use groups::wildmat::Wildmat;
use pull::marks::Marks;
use pull::{Asked, Interest, Source};
use relay::log::Now;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::text;

/// The groups of ours that the patterns of a server have.
fn wanted<'g>(source: &Source, groups: &'g [Vec<u8>]) -> impl Iterator<Item = &'g Vec<u8>> {
    let wildmat = Wildmat::parse(source.groups.as_bytes());
    groups.iter().filter(move |group| wildmat.matches(group))
}

/// Whether a group of a server rests.
fn rests(source: &Source, group: &[u8], interest: Option<&Interest>, now: i64) -> bool {
    let both = source.rest_days.zip(interest);
    both.is_some_and(|(rest_days, interest)| interest.rests(group, rest_days, now))
}

/// The groups to read at a server, and the number of those that rest.
pub fn awake(
    source: &Source,
    groups: &[Vec<u8>],
    interest: Option<&Interest>,
) -> (Vec<Vec<u8>>, u64) {
    let now = Now::read().seconds;
    let (resting, awake): (Vec<_>, Vec<_>) = wanted(source, groups)
        .cloned()
        .partition(|group| rests(source, group, interest, now));
    (awake, resting.len() as u64)
}

/// The state of the groups of a server.
pub struct PullStatus<'a> {
    source: &'a Source,
    groups: Vec<Group<'a>>,
}

struct Group<'a> {
    name: &'a [u8],
    /// The server's highest number that was read.
    number: Option<u64>,
    asked: Option<Asked>,
    rests: bool,
}

impl<'a> PullStatus<'a> {
    /// Looks at the files of a news directory.
    ///
    /// # Errors
    /// The marks cannot be read.
    pub fn look(
        directory: &settings::NewsDirectory,
        source: &'a Source,
        groups: &'a [Vec<u8>],
        interest: Option<&Interest>,
    ) -> Result<PullStatus<'a>, pull::Error> {
        let marks = Marks::read(directory.root(), &source.name)?;
        let now = Now::read().seconds;
        let group = |name: &'a Vec<u8>| Group {
            name,
            number: marks.get(name).map(|mark| mark.number),
            asked: interest.and_then(|interest| interest.get(name)),
            rests: rests(source, name, interest, now),
        };
        Ok(PullStatus {
            source,
            groups: wanted(source, groups).map(group).collect(),
        })
    }

    fn resting(&self) -> usize {
        self.groups.iter().filter(|group| group.rests).count()
    }
}

impl Group<'_> {
    fn state(&self) -> &'static str {
        match self.rests {
            true => "rests",
            false => "awake",
        }
    }

    /// Why it is in this state.
    fn why(&self) -> String {
        match self.asked {
            None => "no reader has asked for it".to_owned(),
            Some(Asked { last, woken: None }) => {
                format!("a reader asked for it at {}", text::utc(last))
            }
            Some(Asked {
                last,
                woken: Some(woken),
            }) => format!(
                "a reader asked for it at {}; one woke it at {}",
                text::utc(last),
                text::utc(woken)
            ),
        }
    }
}

impl Answer for PullStatus<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let resting = self.resting();
        let groups = text::counted(self.groups.len() as u64, "group");
        write!(out, "{}: {groups}", self.source.name)?;
        match self.source.rest_days {
            None => writeln!(out)?,
            Some(days) => writeln!(
                out,
                ", {resting} at rest (after {} without a reader)",
                text::counted(u64::from(days), "day")
            )?,
        }
        for group in &self.groups {
            write!(out, "    ")?;
            out.write_all(group.name)?;
            match group.number {
                Some(number) => write!(out, "  read up to {number}")?,
                None => write!(out, "  not read yet")?,
            }
            match self.source.rest_days {
                None => writeln!(out)?,
                Some(_) => writeln!(out, "  {}: {}", group.state(), group.why())?,
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let group = |group: &Group<'_>| {
            json!({
                "group": groups::escaped(group.name),
                "number": group.number,
                "state": group.state(),
                "asked": group.asked.map(|asked| asked.last),
                "woken": group.asked.and_then(|asked| asked.woken),
                "why": self.source.rest_days.map(|_| group.why()),
            })
        };
        json!({
            "server": self.source.name,
            "rest_days": self.source.rest_days,
            "resting": self.resting(),
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
        })
    }
}
