//! Every run, the medians, and their ratio to the goals.

use std::fmt::Write;
use std::time::Duration;

use crate::measure::Usages;

/// The goals of one row of the table in docs/performance.md, in its unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// The required value.
    pub reach: f64,
    /// The intended value.
    pub aim: f64,
}

/// The runs of one row.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The name of the row.
    pub what: String,
    /// Number of articles of each run.
    pub articles: u64,
    /// Goal of the CPU time, µs per article, if the table has one.
    pub goal: Option<Goal>,
    /// The results, in order.
    pub runs: Vec<Usages>,
}

impl Runs {
    /// A row without runs.
    pub fn of(what: impl Into<String>, articles: u64, goal: Option<Goal>) -> Self {
        Runs {
            what: what.into(),
            articles,
            goal,
            runs: Vec::new(),
        }
    }

    /// The median of a value over all runs, in µs per article.
    pub fn median(&self, of: impl Fn(&Usages) -> Duration) -> f64 {
        median(
            self.runs
                .iter()
                .map(|run| self.an_article(of(run)))
                .collect(),
        )
    }

    fn an_article(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.articles.max(1) as f64
    }
}

/// The middle value, or the mean of the two middle values; 0 for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    let count = 2 - values.len() % 2;
    values.iter().skip(middle).take(count).sum::<f64>() / count as f64
}

/// Formats every run of every row.
pub fn every_run(rows: &[Runs]) -> String {
    let mut text = String::from(
        "every run (µs an article: user + system = cpu, real; largest resident set)\n",
    );
    for row in rows {
        for (number, run) in row.runs.iter().enumerate() {
            let _ = writeln!(
                text,
                "  {:<44} {:>2}: {:>8.3} + {:>8.3} = {:>8.3}, {:>9.3}; {:>6.1} MB",
                row.what,
                number + 1,
                row.an_article(run.user),
                row.an_article(run.system),
                row.an_article(run.cpu()),
                row.an_article(run.real),
                run.resident_kib as f64 * 1024.0 / 1e6,
            );
        }
    }
    text
}

/// Formats the medians with the goals. "of reach" is measured / reach:
/// 1.0 or less is good.
pub fn medians(rows: &[Runs]) -> String {
    let mut text = format!(
        "{:<46} {:>4} {:>8} {:>8} {:>8} {:>9} {:>10} {:>7} {:>9} {:>6} {:>8}\n",
        "medians, µs an article",
        "runs",
        "user",
        "system",
        "cpu",
        "real",
        "articles/s",
        "reach",
        "of reach",
        "aim",
        "of aim",
    );
    for row in rows.iter().filter(|row| !row.runs.is_empty()) {
        let cpu = row.median(Usages::cpu);
        let real = row.median(|run| run.real);
        let _ = write!(
            text,
            "{:<46} {:>4} {:>8.3} {:>8.3} {cpu:>8.3} {real:>9.3} {:>10.0}",
            row.what,
            row.runs.len(),
            row.median(|run| run.user),
            row.median(|run| run.system),
            1e6 / real,
        );
        if let Some(goal) = row.goal {
            text.push_str(&against(cpu, goal));
        }
        text.push('\n');
    }
    text
}

/// Formats a row that is not a time.
pub fn figure(what: &str, value: f64, unit: &str, goal: Goal) -> String {
    format!(
        "{what:<46} {value:>10.3} {unit:<22}{}\n",
        against(value, goal)
    )
}

fn against(value: f64, goal: Goal) -> String {
    format!(
        " {:>7} {:>7.2} × {:>6} {:>6.2} ×",
        plain(goal.reach),
        value / goal.reach,
        plain(goal.aim),
        value / goal.aim
    )
}

/// A goal with at most two decimals.
fn plain(goal: f64) -> String {
    let text = format!("{goal:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{median, plain};

    #[test]
    fn goals_are_short() {
        let goals = [10.0, 0.5, 1.394_736_842_105_263, 160_000.0].map(plain);
        assert_eq!(goals, ["10", "0.5", "1.39", "160000"]);
    }

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }
}
