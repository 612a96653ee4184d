//! What a whole run says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::play::Outcome;

/// How all cases went against one subject.
#[derive(Debug, Default)]
pub struct Report {
    outcomes: BTreeMap<String, Outcome>,
}

impl Report {
    /// Adds a case.
    pub fn add(&mut self, name: &str, outcome: Outcome) {
        self.outcomes.insert(name.to_owned(), outcome);
    }

    /// How many passed, failed and were skipped.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&Outcome) -> bool| self.outcomes.values().filter(|one| is(one)).count();
        (
            count(|one| *one == Outcome::Passed),
            count(|one| matches!(one, Outcome::Failed(_))),
            count(|one| matches!(one, Outcome::Skipped(_))),
        )
    }

    /// A line for each reason why cases were skipped.
    pub fn skipped(&self) -> Vec<String> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, outcome) in &self.outcomes {
            if let Outcome::Skipped(reason) = outcome {
                reasons.entry(reason).or_default().push(name);
            }
        }
        let line = |(reason, names): (&str, Vec<&str>)| {
            format!("{} cases ({reason}): {}", names.len(), names.join(" "))
        };
        reasons.into_iter().map(line).collect()
    }

    /// Failures that were not expected with all that was said, and expected ones that did not come. Empty: all is well.
    pub fn surprises(&self, expected: &BTreeSet<String>) -> String {
        let mut told = String::new();
        for (name, outcome) in &self.outcomes {
            match outcome {
                Outcome::Failed(why) if !expected.contains(name) => {
                    let _ = write!(told, "\nFAILED {name}\n{}\n", indented(why));
                }
                Outcome::Passed if expected.contains(name) => {
                    let _ = write!(told, "\nPASSED {name}, which is in the list of failures\n");
                }
                _ => {}
            }
        }
        for name in expected {
            if !self.outcomes.contains_key(name) {
                let _ = write!(
                    told,
                    "\nThe list of failures names {name}, which is no case\n"
                );
            }
        }
        told
    }

    /// The failures, one line each: the case and what differs.
    pub fn failures(&self) -> Vec<String> {
        let line = |(name, outcome): (&String, &Outcome)| match outcome {
            Outcome::Failed(why) => {
                let last: Vec<&str> = why.lines().rev().take(2).collect();
                let [end, said] = last.as_slice() else {
                    return Some(name.clone());
                };
                Some(format!("{name}: {} {}", said.trim(), end.trim()))
            }
            _ => None,
        };
        self.outcomes.iter().filter_map(line).collect()
    }
}

/// The names in a list of expected failures: the first word of each line that is no comment.
pub fn expected(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Report, expected};
    use crate::play::Outcome;

    #[test]
    fn only_surprises_are_told() {
        let mut report = Report::default();
        report.add("a/1", Outcome::Passed);
        report.add("a/2", Outcome::Failed("C: x\nS: y\n--> no".to_owned()));
        assert!(report.surprises(&expected("")).contains("FAILED a/2"));
        assert_eq!(report.surprises(&expected("# why\na/2 because\n")), "");
        assert!(
            report
                .surprises(&expected("a/2\na/1\n"))
                .contains("PASSED a/1")
        );
        assert!(report.surprises(&expected("a/2\na/3\n")).contains("a/3"));
        assert_eq!(report.failures(), ["a/2: S: y --> no"]);
    }
}
