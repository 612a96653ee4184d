//! `broadsheet check`: explains every setting in force and looks over the control files.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::control_files::{self, Finding};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::peer_review;
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
    let mut checked = check(NewsDirectory::meant(given)?)?;
    // It may take seconds, and a script asks often.
    if !given.has("quiet")
        && let Some(told) = peer_review::peers(&checked.directory, &checked.read.settings)
    {
        checked.findings.push(Finding {
            file: "peers",
            told: Ok(told),
        });
    }
    match given.has("quiet") {
        true if checked.faults().is_empty() => {}
        true => given.print(&Quiet(&checked), out)?,
        false => given.print(&checked, out)?,
    }
    Ok(match checked.errors() {
        0 => Status::OK,
        _ => Status::NO,
    })
}

/// The settings in force, and what was found in the control files.
pub struct Checked {
    directory: NewsDirectory,
    read: Read,
    findings: Vec<Finding>,
}

/// Reads the settings and looks over the control files.
///
/// # Errors
/// The settings cannot be read, or have errors.
pub fn check(directory: NewsDirectory) -> anyhow::Result<Checked> {
    let read = directory.settings()?;
    let findings = control_files::findings(&directory, &read);
    Ok(Checked {
        directory,
        read,
        findings,
    })
}

impl Checked {
    /// The findings that are wrong: the file, whether it is an error, and the lines about it.
    fn faults(&self) -> Vec<(&str, bool, Vec<&str>)> {
        let is_fault = |line: &&str| line.starts_with("warning: ") || line.starts_with("note: ");
        let findings = self.findings.iter();
        let faults = findings.map(|finding| match &finding.told {
            Err(told) => (finding.file, true, vec![told.as_str()]),
            Ok(told) => {
                let lines = told.lines().map(str::trim_start);
                (finding.file, false, lines.filter(is_fault).collect())
            }
        });
        faults.filter(|(_, _, lines)| !lines.is_empty()).collect()
    }

    fn errors(&self) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.told.is_err()).count()
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
        for finding in &self.findings {
            match &finding.told {
                Ok(told) => writeln!(out, "{}: {told}", finding.file)?,
                Err(told) => writeln!(out, "{}: ERROR: {told}", finding.file)?,
            }
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
        let files = self.findings.iter().map(|finding| {
            let told = finding.told.as_ref().unwrap_or_else(|told| told);
            file_json(finding.file, finding.told.is_err(), told)
        });
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
        for (file, is_error, lines) in self.0.faults() {
            let mark = if is_error { "ERROR: " } else { "" };
            for line in lines {
                writeln!(out, "{file}: {mark}{line}")?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let files = self.0.faults().into_iter();
        let files =
            files.map(|(file, is_error, lines)| file_json(file, is_error, &lines.join("\n")));
        json!({
            "directory": self.0.directory.root().to_string_lossy(),
            "files": files.collect::<Vec<_>>(),
        })
    }

    fn is_long(&self) -> bool {
        true
    }
}

fn file_json(file: &str, is_error: bool, told: &str) -> Value {
    json!({ "file": file, "fault": is_error, "told": told })
}
