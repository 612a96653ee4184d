//! The rows of `bench nntp-out`, and the output.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::measure::Usages;
use crate::nntp::number;
use crate::report::median;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    One,
    OneCpu,
    Innd,
    InndCpu,
    Durable,
    DurableCpu,
    Many,
    ManyCpu,
    Quiet,
    QuietLate,
    Far,
    /// The same round trip on a line that carries only so much.
    Line,
    DeadNone,
    Dead,
    DeadThreads,
    DeadDescriptors,
    DeadMemory,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// The load program of the bench, or the same without what the row is about.
    Limit,
    Ours,
    Innxmit,
    Innfeed,
}

impl Sender {
    const ALL: [Sender; 4] = [
        Sender::Limit,
        Sender::Ours,
        Sender::Innxmit,
        Sender::Innfeed,
    ];

    /// The name above the column.
    pub fn name(self) -> &'static str {
        match self {
            Sender::Limit => "limit",
            Sender::Ours => "broadsheet",
            Sender::Innxmit => "innxmit",
            Sender::Innfeed => "innfeed",
        }
    }
}

/// The figure that a row should reach.
#[derive(Clone, Copy)]
enum Goal {
    None,
    /// A number.
    Is(f64),
    /// A multiple of the value of a column.
    Times(f64, Sender),
    /// The value of a column divided by so much.
    Part(f64, Sender),
}

struct About {
    row: Row,
    only: &'static str,
    what: &'static str,
    unit: &'static str,
    reach: Goal,
    aim: Goal,
}

const fn about(
    row: Row,
    only: &'static str,
    what: &'static str,
    unit: &'static str,
    (reach, aim): (Goal, Goal),
) -> About {
    About {
        row,
        only,
        what,
        unit,
        reach,
        aim,
    }
}

const NONE: (Goal, Goal) = (Goal::None, Goal::None);
const PER_SECOND: &str = "a second";
const CPU: &str = "µs";

#[rustfmt::skip]
const ROWS: &[About] = &[
    about(Row::One, "one", "one peer that keeps nothing", PER_SECOND, (Goal::Times(3.0, Sender::Innxmit), Goal::Times(1.0, Sender::Limit))),
    about(Row::OneCpu, "one", "    CPU of the sender an article", CPU, (Goal::Is(6.0), Goal::Is(2.0))),
    about(Row::Innd, "innd", "into a real innd", PER_SECOND, (Goal::Times(1.0, Sender::Limit), Goal::None)),
    about(Row::InndCpu, "innd", "    CPU of the sender an article", CPU, NONE),
    about(Row::Durable, "durable", "into another Broadsheet, durable", PER_SECOND, (Goal::Times(1.0, Sender::Limit), Goal::None)),
    about(Row::DurableCpu, "durable", "    CPU of the sender an article", CPU, NONE),
    about(Row::Many, "many", "32 peers that want all, all together", PER_SECOND, NONE),
    about(Row::ManyCpu, "many", "    CPU of the sender an article and peer", CPU, (Goal::Part(4.0, Sender::Innfeed), Goal::Is(1.0))),
    about(Row::Quiet, "quiet", "from the commit to a quiet peer, median", "ms", (Goal::Is(2.0), Goal::Is(0.3))),
    about(Row::QuietLate, "quiet", "    99 % within", "ms", (Goal::Is(10.0), Goal::Is(1.0))),
    about(Row::Far, "far", "a peer with a round trip of 50 ms", PER_SECOND, (Goal::Times(1.0, Sender::Limit), Goal::None)),
    about(Row::Line, "line", "a line of 1 Gbit/s with that round trip", PER_SECOND, (Goal::Times(1.0, Sender::Limit), Goal::None)),
    about(Row::DeadNone, "dead", "filing with 10 peers", PER_SECOND, NONE),
    about(Row::Dead, "dead", "    and 490 dead ones", PER_SECOND, (Goal::Times(0.95, Sender::Limit), Goal::Times(0.99, Sender::Limit))),
    about(Row::DeadThreads, "dead", "    threads of the daemon", "", NONE),
    about(Row::DeadDescriptors, "dead", "    descriptors", "", NONE),
    about(Row::DeadMemory, "dead", "    memory", "MB", NONE),
];

/// All results.
pub struct Table {
    runs: BTreeMap<(Row, Sender), Vec<f64>>,
    notes: BTreeSet<String>,
    only: Option<String>,
}

/// The two cells of a sender: its rate, and its CPU time.
pub struct Cells<'a> {
    table: &'a mut Table,
    rows: (Row, Row),
    sender: Sender,
}

impl Cells<'_> {
    /// Adds a run: articles a second, and what it has used for `articles`.
    pub fn add(self, rate: f64, used: &Usages, articles: usize) {
        let cpu = used.cpu().as_secs_f64() * 1e6 / articles.max(1) as f64;
        self.table.add(self.rows.0, self.sender, rate);
        self.table.add(self.rows.1, self.sender, cpu);
    }
}

impl Table {
    /// An empty table; with `only`, other rows are not wanted.
    ///
    /// # Errors
    /// There is no such row.
    pub fn new(only: Option<String>) -> Result<Table> {
        let words: BTreeSet<&str> = ROWS.iter().map(|about| about.only).collect();
        if let Some(only) = &only
            && !words.contains(only.as_str())
        {
            let words: Vec<&str> = words.into_iter().collect();
            bail!("--only takes one of: {}", words.join(", "));
        }
        Ok(Table {
            runs: BTreeMap::new(),
            notes: BTreeSet::new(),
            only,
        })
    }

    /// Whether a row is wanted.
    pub fn wants(&self, row: Row) -> bool {
        self.wanted().any(|about| about.row == row)
    }

    fn wanted(&self) -> impl Iterator<Item = &About> {
        let is_wanted = |only: &str| self.only.as_ref().is_none_or(|word| word == only);
        ROWS.iter().filter(move |about| is_wanted(about.only))
    }

    /// Adds a run.
    pub fn add(&mut self, row: Row, sender: Sender, value: f64) {
        self.runs.entry((row, sender)).or_default().push(value);
    }

    /// The cells of a sender.
    pub fn cells(&mut self, rate: Row, cpu: Row, sender: Sender) -> Cells<'_> {
        Cells {
            table: self,
            rows: (rate, cpu),
            sender,
        }
    }

    /// Adds a line below the table.
    pub fn note(&mut self, note: String) {
        self.notes.insert(note);
    }

    fn median(&self, row: Row, sender: Sender) -> Option<f64> {
        self.runs.get(&(row, sender)).cloned().map(median)
    }

    fn goal(&self, row: Row, goal: Goal) -> Option<f64> {
        match goal {
            Goal::None => None,
            Goal::Is(value) => Some(value),
            Goal::Times(times, sender) => Some(self.median(row, sender)? * times),
            Goal::Part(part, sender) => Some(self.median(row, sender)? / part),
        }
    }

    /// Formats every run, the medians side by side, and the notes.
    pub fn text(&self) -> String {
        let mut text = String::from("every run\n");
        for about in self.wanted() {
            for sender in Sender::ALL {
                let Some(runs) = self.runs.get(&(about.row, sender)) else {
                    continue;
                };
                let runs: Vec<String> = runs.iter().copied().map(number).collect();
                let runs = runs.join("; ");
                let (what, unit, name) = (about.what, about.unit, sender.name());
                text += &format!("  {what:<42} {unit:<8} {name:<12} {runs}\n");
            }
        }
        text += &format!("\n{:<42} {:<8}", "medians", "");
        for sender in Sender::ALL {
            text += &format!(" {:>11}", sender.name());
        }
        text += &format!(" {:>10} {:>10}\n", "reach", "aim");
        for about in self.wanted() {
            text += &format!("{:<42} {:<8}", about.what, about.unit);
            for sender in Sender::ALL {
                let cell = self.median(about.row, sender);
                text += &format!(" {:>11}", cell.map_or_else(|| "–".into(), number));
            }
            let goal = |goal| self.goal(about.row, goal).map(number).unwrap_or_default();
            let goals = format!(" {:>10} {:>10}", goal(about.reach), goal(about.aim));
            text += goals.trim_end();
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("note  {note}\n");
        }
        text
    }

    /// Formats everything as JSON.
    pub fn json(&self, circumstances: &str) -> Value {
        let rows = self.wanted().map(|about| {
            let senders = Sender::ALL.into_iter().filter_map(|sender| {
                let runs = self.runs.get(&(about.row, sender))?;
                let cell = json!({ "median": self.median(about.row, sender), "runs": runs });
                Some((sender.name().to_owned(), cell))
            });
            json!({
                "row": format!("{:?}", about.row),
                "only": about.only,
                "what": about.what.trim(),
                "unit": about.unit,
                "reach": self.goal(about.row, about.reach),
                "aim": self.goal(about.row, about.aim),
                "senders": senders.collect::<serde_json::Map<_, _>>(),
            })
        });
        let rows: Vec<Value> = rows.collect();
        json!({ "circumstances": circumstances, "rows": rows, "notes": self.notes })
    }
}
