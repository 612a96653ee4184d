//! The subjects of `broadsheet check`: control files, tables of broadsheet.toml, and parts of the news directory; a file for each here.

pub mod access;
mod active;
mod backup;
mod control;
mod expiry;
mod failed_tasks;
mod feeds;
pub mod filing;
mod mail;
mod newsgroups;
mod offload;
pub mod peers;
mod pulls;
mod server;
mod sites;
pub mod unit;

use std::io;

use groups::Active;
use serde_json::{Value, json};
use settings::{Finding, Read, Settings, Severity};

use crate::directory::NewsDirectory;
use crate::text;

pub use active::NEEDED;

/// Most findings of one kind in one subject that `check` prints; it counts the other errors.
const FINDINGS_SHOWN_MAX: usize = 10;

/// The news directory and the settings that a review compares.
pub struct Context<'a> {
    directory: &'a NewsDirectory,
    read: &'a Read,
    /// The groups; none if the file cannot be read, which is an error of its own.
    active: Active,
}

impl<'a> Context<'a> {
    /// Reads the groups.
    pub fn new(directory: &'a NewsDirectory, read: &'a Read) -> Context<'a> {
        let text = read_file(directory, "active");
        let active = text.ok().and_then(|text| Active::parse(text).ok());
        Context {
            directory,
            read,
            active: active.unwrap_or_else(Active::empty),
        }
    }

    fn settings(&self) -> &Settings {
        &self.read.settings
    }

    fn root(&self) -> &std::path::Path {
        self.directory.root()
    }

    fn read_file(&self, name: &str) -> Result<Vec<u8>, Errors> {
        read_file(self.directory, name)
    }
}

fn read_file(directory: &NewsDirectory, name: &str) -> Result<Vec<u8>, Errors> {
    store::regular::read(&directory.file(name)).map_err(|error| {
        Errors::from(match error.kind() {
            io::ErrorKind::NotFound => "is missing".to_owned(),
            _ => format!("cannot be read: {error}"),
        })
    })
}

/// A subject of `check`.
pub struct Subject {
    /// The control file or the table, or a name of the part of the news directory.
    name: &'static str,
    /// Reviews it. None: there is nothing to report on it here.
    review: fn(&Context<'_>) -> Option<Result<Content, Errors>>,
}

/// A subject of `check -q` too, in the order of the report.
#[rustfmt::skip]
static SUBJECTS: &[Subject] = &[
    Subject { name: "active", review: |on| Some(active::review(on)) },
    Subject { name: "newsgroups", review: |on| Some(newsgroups::review(on)) },
    Subject { name: groups::sys::FILE, review: |on| Some(sites::review(on)) },
    Subject { name: "mailpaths", review: |on| Some(mail::moderators(on)) },
    Subject { name: "mail", review: |on| Some(mail::review(on)) },
    Subject { name: "explist", review: |on| Some(expiry::explist(on)) },
    Subject { name: settings::FILE, review: |on| Some(expiry::tables(on)) },
    Subject { name: ::access::users::FILE, review: |on| Some(access::users(on)) },
    Subject { name: "[[access]]", review: |on| Some(access::entries(on)) },
    Subject { name: "[nntp]", review: |on| Some(server::review(on)) },
    Subject { name: "[auth]", review: |on| Some(server::password_program(on)) },
    Subject { name: "control messages", review: |on| Some(control::review(on)) },
    Subject { name: "news directory", review: |on| Some(access::news_directory(on)) },
    Subject { name: "segments", review: |on| Some(filing::segments(on)) },
    Subject { name: "in.coming", review: |on| Some(filing::incoming(on)) },
    Subject { name: "[expiry]", review: |on| expiry::limits(on).map(Ok) },
    Subject { name: "[[pull]]", review: pulls::review },
    Subject { name: report::failed_tasks::FILE, review: |on| failed_tasks::review(on).map(Ok) },
    Subject { name: feed::site_directory::FEEDS, review: |on| feeds::review(on).map(Ok) },
    Subject { name: "[backup]", review: |on| backup::review(on).map(Ok) },
    Subject { name: "[offload]", review: offload::review },
];

/// A subject of `check` without -q: it may take seconds, and a script asks often.
static PEERS: Subject = Subject {
    name: "peers",
    review: |on| peers::review(on).map(Ok),
};

/// Whether peers are called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Each peer that is fed by NNTP is called.
    Peers,
    /// Nobody is called.
    Nobody,
}

/// Reviews all subjects.
pub fn all(directory: &NewsDirectory, read: &Read, calls: Calls) -> Vec<Review> {
    let context = Context::new(directory, read);
    let peers = (calls == Calls::Peers).then_some(&PEERS);
    let reviews = SUBJECTS.iter().chain(peers).filter_map(|subject| {
        Some(Review {
            subject: subject.name,
            result: (subject.review)(&context)?,
        })
    });
    reviews.collect()
}

/// The result for one subject.
pub struct Review {
    /// Its name.
    pub subject: &'static str,
    result: Result<Content, Errors>,
}

/// A subject without errors.
pub struct Content {
    /// The content in short; empty if the first finding has it.
    summary: String,
    findings: Vec<Finding>,
    parts: Vec<Part>,
    /// Number of further parts.
    unlisted: usize,
}

/// A part of a subject, such as a site of sys, with a line of its own.
struct Part {
    summary: String,
    findings: Vec<Finding>,
}

/// The findings in a subject that has errors.
pub struct Errors {
    /// The errors, then the warnings and notes.
    findings: Vec<Finding>,
    /// Number of further errors.
    unlisted: usize,
    /// The text between two errors.
    separator: &'static str,
}

/// The text between two lines on a subject.
const NEXT_LINE: &str = "\n    ";

impl Content {
    fn new(summary: impl Into<String>) -> Content {
        Content {
            summary: summary.into(),
            findings: Vec::new(),
            parts: Vec::new(),
            unlisted: 0,
        }
    }

    /// Adds findings.
    fn with(mut self, findings: impl IntoIterator<Item = Finding>) -> Content {
        self.findings.extend(findings);
        self
    }
}

impl From<Finding> for Errors {
    fn from(error: Finding) -> Errors {
        Errors {
            findings: vec![error],
            unlisted: 0,
            separator: NEXT_LINE,
        }
    }
}

impl From<String> for Errors {
    fn from(text: String) -> Errors {
        Finding::error(text).into()
    }
}

/// Fails with the errors, if there are any: with [`FINDINGS_SHOWN_MAX`] of them, and the number of the others, which has `unlisted` more.
fn none_of(mut errors: Vec<Finding>, unlisted: usize) -> Result<(), Errors> {
    if errors.is_empty() {
        return Ok(());
    }
    let unlisted = errors
        .len()
        .saturating_sub(FINDINGS_SHOWN_MAX)
        .saturating_add(unlisted);
    errors.truncate(FINDINGS_SHOWN_MAX);
    Err(Errors {
        findings: errors,
        unlisted,
        separator: NEXT_LINE,
    })
}

impl Review {
    /// Whether the subject has an error.
    pub fn is_error(&self) -> bool {
        self.result.is_err()
    }

    /// All findings, in the order of the report.
    pub fn findings(&self) -> Vec<&Finding> {
        match &self.result {
            Ok(content) => {
                let parts = content.parts.iter().flat_map(|part| &part.findings);
                content.findings.iter().chain(parts).collect()
            }
            Err(errors) => errors.findings.iter().collect(),
        }
    }

    /// The findings that `check -q` prints: all but advice.
    pub fn faults(&self) -> Vec<&Finding> {
        let mut faults = self.findings();
        faults.retain(|finding| finding.severity != Severity::Advice);
        faults
    }

    /// The text of [`Review::faults`]: that of the errors as a whole, or a line for each warning and note.
    pub fn fault_texts(&self) -> Vec<String> {
        if self.is_error() {
            return vec![self.text()];
        }
        let faults = self.faults();
        faults.iter().map(ToString::to_string).collect()
    }

    /// The report on the subject, of several lines, without `SUBJECT: ` and without `ERROR: `.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        match &self.result {
            Ok(content) => {
                lines.extend((!content.summary.is_empty()).then(|| content.summary.clone()));
                lines.extend(content.findings.iter().map(Finding::to_string));
                for part in &content.parts {
                    lines.push(part.summary.clone());
                    let findings = part.findings.iter();
                    lines.extend(findings.map(|finding| format!("    {finding}")));
                }
                lines.extend(more(content.unlisted));
            }
            Err(Errors {
                findings,
                unlisted,
                separator,
            }) => {
                let is_error = |finding: &&Finding| finding.severity == Severity::Error;
                let errors = findings.iter().filter(is_error);
                let errors: Vec<String> = errors.map(Finding::to_string).collect();
                lines.push(errors.join(separator));
                lines.extend(more(*unlisted));
                let others = findings.iter().filter(|finding| !is_error(finding));
                lines.extend(others.map(Finding::to_string));
            }
        }
        lines.join(NEXT_LINE)
    }

    /// The report as JSON, with this text and these findings.
    pub fn json(&self, text: &str, findings: &[&Finding]) -> Value {
        let findings = findings.iter().map(|finding| {
            json!({
                "severity": finding.severity.word(),
                "place": finding.place,
                "text": finding.text,
                "remedy": finding.remedy.as_ref().map(|remedy| remedy.text()),
            })
        });
        json!({
            "file": self.subject,
            "fault": self.is_error(),
            "told": text,
            "findings": findings.collect::<Vec<_>>(),
        })
    }
}

fn more(unlisted: usize) -> Option<String> {
    (unlisted > 0).then(|| format!("and {unlisted} more"))
}

/// A number of things.
fn counted(count: usize, what: &str) -> String {
    text::counted(count as u64, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(result: Result<Content, Errors>) -> Review {
        Review {
            subject: "sys",
            result,
        }
    }

    #[test]
    fn parts_have_their_findings_below_them() {
        let mut content = Content::new("3 sites").with([Finding::warning("old")]);
        content.parts.push(Part {
            summary: "a: files".to_owned(),
            findings: vec![Finding::note("far"), Finding::advice("closer")],
        });
        content.unlisted = 2;
        let review = review(Ok(content));
        let text = "3 sites\n    warning: old\n    a: files\n        note: far\n        advice: closer\n    and 2 more";
        assert_eq!(review.text(), text);
        assert_eq!((review.findings().len(), review.faults().len()), (3, 2));
        assert!(!review.is_error());
    }

    #[test]
    fn errors_beyond_the_most_are_counted() {
        assert!(none_of(Vec::new(), 0).is_ok());
        let errors = (0..FINDINGS_SHOWN_MAX + 2).map(|at| Finding::error(format!("line {at}")));
        let mut errors = none_of(errors.collect(), 5).unwrap_err();
        errors.findings.push(Finding::note("x"));
        let review = review(Err(errors));
        let text = review.text();
        assert!(text.starts_with("line 0\n    line 1\n"), "{text}");
        assert!(
            text.ends_with("line 9\n    and 7 more\n    note: x"),
            "{text}"
        );
        assert!(review.is_error());
    }

    #[test]
    fn json_has_the_findings_as_values() {
        let finding = Finding::warning("is full")
            .at("/disk")
            .remedy(':', "make room");
        let review = review(Ok(Content::new("").with([finding])));
        let text = review.text();
        assert_eq!(text, "warning: /disk: is full: make room");
        let json = review.json(&text, &review.findings());
        assert_eq!(json["fault"], false);
        let finding = &json["findings"][0];
        assert_eq!(
            (&finding["severity"], &finding["place"]),
            (&json!("warning"), &json!("/disk"))
        );
        assert_eq!(
            (&finding["text"], &finding["remedy"]),
            (&json!("is full"), &json!("make room"))
        );
    }
}
