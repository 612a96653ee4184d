//! The report of a whole run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::play::CaseResult;

/// The results of all cases against one subject.
#[derive(Debug, Default)]
pub struct Report {
    outcomes: BTreeMap<String, CaseResult>,
}

impl Report {
    /// Adds the result of a case.
    pub fn add(&mut self, name: &str, outcome: CaseResult) {
        self.outcomes.insert(name.to_owned(), outcome);
    }

    /// The numbers of passed, failed and skipped cases.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count =
            |is: fn(&CaseResult) -> bool| self.outcomes.values().filter(|one| is(one)).count();
        (
            count(|one| *one == CaseResult::Passed),
            count(|one| matches!(one, CaseResult::Failed(_))),
            count(|one| matches!(one, CaseResult::Skipped(_))),
        )
    }

    /// One line for each reason for skipping cases.
    pub fn skipped(&self) -> Vec<String> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, outcome) in &self.outcomes {
            if let CaseResult::Skipped(reason) = outcome {
                reasons.entry(reason).or_default().push(name);
            }
        }
        let line = |(reason, names): (&str, Vec<&str>)| {
            format!("{} cases ({reason}): {}", names.len(), names.join(" "))
        };
        reasons.into_iter().map(line).collect()
    }

    /// Unexpected failures with their transcripts, and expected failures that passed. Empty if the run is as expected.
    pub fn surprises(&self, expected: &BTreeSet<String>) -> String {
        let mut summary = String::new();
        for (name, outcome) in &self.outcomes {
            match outcome {
                CaseResult::Failed(why) if !expected.contains(name) => {
                    let _ = write!(summary, "\nFAILED {name}\n{}\n", indented(why));
                }
                CaseResult::Passed if expected.contains(name) => {
                    let _ = write!(
                        summary,
                        "\nPASSED {name}, which is in the list of expected failures\n"
                    );
                }
                _ => {}
            }
        }
        for name in expected {
            if !self.outcomes.contains_key(name) {
                let _ = write!(
                    summary,
                    "\nThe list of expected failures contains {name}, which is not a case\n"
                );
            }
        }
        summary
    }

    /// The failures, one line each: the case and the violation.
    pub fn failures(&self) -> Vec<String> {
        let line = |(name, outcome): (&String, &CaseResult)| match outcome {
            CaseResult::Failed(why) => {
                let last: Vec<&str> = why.lines().rev().take(2).collect();
                let [end, reply] = last.as_slice() else {
                    return Some(name.clone());
                };
                Some(format!("{name}: {} {}", reply.trim(), end.trim()))
            }
            _ => None,
        };
        self.outcomes.iter().filter_map(line).collect()
    }
}

/// Parses a list of expected failures: the first word of each line that is not a comment.
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
    use crate::play::CaseResult;

    #[test]
    fn only_surprises_are_reported() {
        let mut report = Report::default();
        report.add("a/1", CaseResult::Passed);
        report.add("a/2", CaseResult::Failed("C: x\nS: y\n--> no".to_owned()));
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
