//! `broadsheet check`: explains every setting in force and looks over the control files.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::review::{self, Calls, Review};
use crate::text;
use settings::{Origin, Read, TABLE};

/// The table.
pub static COMMAND: Command = Command {
    words: &["check"],
    also: &[],
    summary: "print the settings in force and check the control files",
    about: "\
Prints each setting with its value, where it was set, and its purpose. Then checks active,
newsgroups, sys, explist, the certificate and the other control files, and without -q calls each peer
that is fed by NNTP, as `peer test' does. Changes nothing.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::classic(
            'q',
            "quiet",
            "Print only what is wrong: errors, warnings and notes. Nothing: all is well.",
        ),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "no errors",
        },
        Meaning {
            status: Status::NO,
            when: "a control file has an error",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let is_quiet = given.has("quiet");
    let calls = if is_quiet {
        Calls::Nobody
    } else {
        Calls::Peers
    };
    let checked = check(NewsDirectory::meant(given)?, calls)?;
    if !is_quiet {
        given.print(&checked, out)?;
    } else if checked.faulty().next().is_some() {
        given.print(&Quiet(&checked), out)?;
    }
    Ok(match checked.errors() {
        0 => Status::OK,
        _ => Status::NO,
    })
}

/// The settings in force, and the reviews of the control files.
struct Checked {
    directory: NewsDirectory,
    read: Read,
    reviews: Vec<Review>,
}

/// Reads the settings and reviews the control files.
fn check(directory: NewsDirectory, calls: Calls) -> anyhow::Result<Checked> {
    let read = directory.settings()?;
    let reviews = review::all(&directory, &read, calls);
    Ok(Checked {
        directory,
        read,
        reviews,
    })
}

impl Checked {
    /// The reviews with errors, warnings or notes.
    fn faulty(&self) -> impl Iterator<Item = &Review> {
        let reviews = self.reviews.iter();
        reviews.filter(|review| !review.faults().is_empty())
    }

    /// The number of subjects with errors.
    fn errors(&self) -> usize {
        let reviews = self.reviews.iter();
        reviews.filter(|review| review.is_error()).count()
    }
}

impl Answer for Checked {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (root, source) = (self.directory.root().display(), self.directory.source());
        writeln!(out, "news directory {root} (from {source})\n")?;
        for (setting, origin) in TABLE.iter().zip(self.read.origins()) {
            let origin = match origin {
                Origin::Default => "default".to_owned(),
                Origin::Line(line) => format!("{} line {line}", settings::FILE),
            };
            let value = setting.written(&self.read.settings);
            writeln!(out, "{} = {value}  ({origin})", setting.path())?;
            for line in text::wrap(setting.help, text::WIDTH - 4) {
                writeln!(out, "    {line}")?;
            }
        }
        writeln!(out)?;
        for review in &self.reviews {
            writeln!(out, "{}: {}{}", review.subject, mark(review), review.text())?;
        }
        match self.errors() {
            0 => writeln!(out, "no errors"),
            errors => writeln!(out, "{}", text::counted(errors as u64, "error")),
        }
    }

    fn json(&self) -> Value {
        let settings = TABLE.iter().zip(self.read.origins());
        let settings = settings.map(|(setting, origin)| {
            let value = match setting.number(&self.read.settings) {
                Some(number) => json!(number),
                None => json!(setting.text(&self.read.settings)),
            };
            let line = match origin {
                Origin::Default => None,
                Origin::Line(line) => Some(line),
            };
            json!({"setting": setting.path(), "value": value, "line": line, "for": setting.help})
        });
        let files = self
            .reviews
            .iter()
            .map(|review| review.json(&review.text(), &review.findings()));
        json!({
            "directory": self.directory.root().to_string_lossy(),
            "settings": settings.collect::<Vec<_>>(),
            "files": files.collect::<Vec<_>>(),
        })
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// Only what is wrong (`-q`).
struct Quiet<'a>(&'a Checked);

impl Answer for Quiet<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for review in self.0.faulty() {
            for text in review.fault_texts() {
                writeln!(out, "{}: {}{text}", review.subject, mark(review))?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let files = self
            .0
            .faulty()
            .map(|review| review.json(&review.fault_texts().join("\n"), &review.faults()));
        json!({
            "directory": self.0.directory.root().to_string_lossy(),
            "files": files.collect::<Vec<_>>(),
        })
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// The word before the text of a subject that has errors.
fn mark(review: &Review) -> &'static str {
    if review.is_error() { "ERROR: " } else { "" }
}
