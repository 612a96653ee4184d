//! The rows of the table, their samples, and the output.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::servers::Subject;
use crate::report::{Goal, median};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    Takethis,
    TakethisDisk,
    TakethisCpu,
    Takethis4,
    Takethis4Cpu,
    Window1,
    Window5,
    Window10,
    Window20,
    Window50,
    Window200,
    Ihave1,
    Ihave5,
    Ihave10,
    Ihave20,
    Ihave50,
    Ihave200,
    Tls,
    TlsCpu,
    Check,
    CheckCpu,
    Known,
    KnownCpu,
    Over1,
    Over8,
    Article,
    ArticleQuick,
    Article8,
    Article8Quick,
    Coming,
    Coming8,
    Quiet,
    QuietLate,
    Idle,
    IdleEach,
}

/// The description of a row.
struct About {
    row: Row,
    /// The name for `--only`.
    only: &'static str,
    what: &'static str,
    unit: &'static str,
    goal: Option<Goal>,
}

const fn about(
    row: Row,
    only: &'static str,
    what: &'static str,
    unit: &'static str,
    goal: Option<(f64, f64)>,
) -> About {
    let goal = match goal {
        Some((reach, aim)) => Some(Goal { reach, aim }),
        None => None,
    };
    About {
        row,
        only,
        what,
        unit,
        goal,
    }
}

const PER_SECOND: &str = "a second";
const CPU: &str = "µs";
const MS: &str = "ms";

#[rustfmt::skip]
const ROWS: &[About] = &[
    about(Row::Takethis, "takethis", "TAKETHIS, 1 connection", PER_SECOND, Some((60e3, 150e3))),
    about(Row::TakethisDisk, "takethis", "    as many bytes written and synced", PER_SECOND, None),
    about(Row::TakethisCpu, "takethis", "    CPU of the server an article", CPU, Some((12.0, 6.0))),
    about(Row::Takethis4, "takethis4", "TAKETHIS, 4 connections", PER_SECOND, None),
    about(Row::Takethis4Cpu, "takethis4", "    CPU of the server an article", CPU, None),
    about(Row::Window1, "window", "TAKETHIS, at most 1 without a reply", PER_SECOND, None),
    about(Row::Window5, "window", "    at most 5", PER_SECOND, None),
    about(Row::Window10, "window", "    at most 10", PER_SECOND, None),
    about(Row::Window20, "window", "    at most 20", PER_SECOND, None),
    about(Row::Window50, "window", "    at most 50", PER_SECOND, None),
    about(Row::Window200, "window", "    at most 200", PER_SECOND, None),
    about(Row::Ihave1, "ihave", "IHAVE, 1 connection", PER_SECOND, None),
    about(Row::Ihave5, "ihave", "    5 connections", PER_SECOND, None),
    about(Row::Ihave10, "ihave", "    10 connections", PER_SECOND, None),
    about(Row::Ihave20, "ihave", "    20 connections", PER_SECOND, None),
    about(Row::Ihave50, "ihave", "    50 connections", PER_SECOND, None),
    about(Row::Ihave200, "ihave", "    200 connections", PER_SECOND, None),
    about(Row::Tls, "tls", "TAKETHIS, 1 connection, TLS", PER_SECOND, Some((40e3, 100e3))),
    about(Row::TlsCpu, "tls", "    CPU of the server an article", CPU, None),
    about(Row::Check, "check", "CHECK of known ids", PER_SECOND, Some((800e3, 2e6))),
    about(Row::CheckCpu, "check", "    CPU of the server an id", CPU, None),
    about(Row::Known, "known", "TAKETHIS of known ids", PER_SECOND, Some((200e3, 400e3))),
    about(Row::KnownCpu, "known", "    CPU of the server an article", CPU, None),
    about(Row::Over1, "over", "OVER of 1,000 rows, 1 connection", PER_SECOND, Some((3_000.0, 5_500.0))),
    about(Row::Over8, "over", "OVER of 1,000 rows, 8 connections", PER_SECOND, None),
    about(Row::Article, "article", "ARTICLE, 1 connection, one at a time", PER_SECOND, Some((25e3, 33e3))),
    about(Row::ArticleQuick, "article", "    where the client acks at once", PER_SECOND, None),
    about(Row::Article8, "article", "ARTICLE, 8 connections, 32 at a time", PER_SECOND, Some((150e3, 300e3))),
    about(Row::Article8Quick, "article", "    where the client acks at once", PER_SECOND, None),
    about(Row::Coming, "connections", "new reader connections, 1 thread", PER_SECOND, None),
    about(Row::Coming8, "connections", "new reader connections, 8 threads", PER_SECOND, Some((20e3, 45e3))),
    about(Row::Quiet, "quiet", "one quiet IHAVE, median", MS, Some((1.5, 0.0))),
    about(Row::QuietLate, "quiet", "    99 % within", MS, Some((5.0, 0.0))),
    about(Row::Idle, "idle", "10,000 idle readers", "MB", Some((300.0, 160.0))),
    about(Row::IdleEach, "idle", "    each", "KB", None),
];

/// The names that `--only` accepts.
pub fn words() -> BTreeSet<&'static str> {
    ROWS.iter().map(|about| about.only).collect()
}

/// One run of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub value: f64,
    /// CPU of the server per operation, µs, if measured.
    pub server: Option<f64>,
    /// CPU of the load program per operation, µs.
    pub load: Option<f64>,
}

/// All results.
#[derive(Default)]
pub struct Table {
    samples: BTreeMap<(Row, Subject), Vec<Sample>>,
    /// Reaches that this machine has shown, one a round.
    reaches: BTreeMap<Row, Vec<f64>>,
    /// The reasons for missing results, and remarks on others.
    pub notes: BTreeSet<String>,
    only: Option<String>,
}

impl Table {
    /// An empty table; with `only`, other rows are not wanted.
    pub fn new(only: Option<String>) -> Table {
        Table {
            only,
            ..Table::default()
        }
    }

    /// Whether any of these rows is wanted.
    pub fn wants(&self, words: &[&str]) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| words.contains(&only.as_str()))
    }

    /// Adds a run.
    pub fn add(&mut self, row: Row, subject: Subject, sample: Sample) {
        self.samples.entry((row, subject)).or_default().push(sample);
    }

    /// Adds a reach of a row, measured in a round.
    pub fn add_reach(&mut self, row: Row, reach: f64) {
        self.reaches.entry(row).or_default().push(reach);
    }

    /// The last value of a row.
    pub fn last(&self, row: Row, subject: Subject) -> Option<f64> {
        self.runs(row, subject).last().map(|sample| sample.value)
    }

    /// The reach of a row: a fixed one, or the median of the measured ones.
    fn reach(&self, about: &About) -> Option<f64> {
        let measured = self.reaches.get(&about.row).cloned().map(median);
        about.goal.map(|goal| goal.reach).or(measured)
    }

    fn runs(&self, row: Row, subject: Subject) -> &[Sample] {
        self.samples.get(&(row, subject)).map_or(&[], Vec::as_slice)
    }

    fn wanted(&self) -> impl Iterator<Item = &About> {
        ROWS.iter().filter(|about| self.wants(&[about.only]))
    }

    /// Formats every run, with its CPU times.
    pub fn every_run(&self) -> String {
        let mut text = String::from("every run (CPU in µs each: server, load program)\n");
        for about in self.wanted() {
            for subject in Subject::ALL {
                let runs = self.runs(about.row, subject);
                if runs.is_empty() {
                    continue;
                }
                let formatted: Vec<String> = runs.iter().map(format_sample).collect();
                text.push_str(&format!(
                    "  {:<38} {:<8} {:<14}{}\n",
                    about.what,
                    about.unit,
                    subject.name(),
                    formatted.join("; ")
                ));
            }
        }
        text
    }

    /// Formats the medians side by side, and the notes.
    pub fn medians(&self) -> String {
        let mut text = format!("{:<38} {:<8}", "medians", "");
        for subject in Subject::ALL {
            text.push_str(&format!(" {:>13}", subject.name()));
        }
        text.push_str(&format!(" {:>10} {:>10}\n", "reach", "aim"));
        for about in self.wanted() {
            text.push_str(&format!("{:<38} {:<8}", about.what, about.unit));
            for subject in Subject::ALL {
                let cell = self
                    .median(about.row, subject)
                    .map_or_else(|| "–".into(), number);
                text.push_str(&format!(" {cell:>13}"));
            }
            let (reach, aim) = match about.goal {
                Some(Goal { reach, aim: 0.0 }) => (number(reach), "fdatasync".into()),
                Some(goal) => (number(goal.reach), number(goal.aim)),
                None => {
                    let reach = self.reach(about).map(number);
                    (reach.unwrap_or_default(), String::new())
                }
            };
            text.push_str(format!(" {reach:>10} {aim:>10}").trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("note  {note}\n"));
        }
        text
    }

    fn median(&self, row: Row, subject: Subject) -> Option<f64> {
        let runs = self.runs(row, subject);
        (!runs.is_empty()).then(|| median(runs.iter().map(|run| run.value).collect()))
    }

    /// Formats everything as JSON.
    pub fn json(&self, circumstances: &str) -> Value {
        let rows: Vec<Value> = self.wanted().map(|about| self.row_json(about)).collect();
        json!({ "circumstances": circumstances, "rows": rows, "notes": self.notes })
    }

    fn row_json(&self, about: &About) -> Value {
        let mut subjects = serde_json::Map::new();
        for subject in Subject::ALL {
            let runs = self.runs(about.row, subject);
            let of = |part: fn(&Sample) -> Option<f64>| -> Vec<f64> {
                runs.iter().filter_map(part).collect()
            };
            let result = json!({
                "median": self.median(about.row, subject),
                "runs": of(|run| Some(run.value)),
                "server_cpu_us": of(|run| run.server),
                "load_cpu_us": of(|run| run.load),
            });
            subjects.insert(subject.name().into(), result);
        }
        json!({
            "row": format!("{:?}", about.row),
            "only": about.only,
            "what": about.what.trim(),
            "unit": about.unit,
            "reach": self.reach(about),
            "aim": about.goal.map(|goal| goal.aim).filter(|&aim| aim > 0.0),
            "subjects": subjects,
        })
    }
}

fn format_sample(run: &Sample) -> String {
    let cpu = match (run.server, run.load) {
        (Some(server), Some(load)) => format!(" ({server:.2}, {load:.2})"),
        _ => String::new(),
    };
    number(run.value) + &cpu
}

/// Formats at least three digits, with separated thousands.
pub fn number(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.2}");
    }
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_readable() {
        for (value, text) in [
            (0.314, "0.31"),
            (31.41, "31.4"),
            (314.1, "314"),
            (31_415.9, "31,416"),
            (3_141_592.0, "3,141,592"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
