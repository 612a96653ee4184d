//! `broadsheet check`: explains every setting in force and looks over the control files.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::control_files;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;
use settings::{Origin, Read, TABLE};

/// The table.
pub static COMMAND: Command = Command {
    words: &["check"],
    also: &[],
    summary: "explain the settings in force and check the control files",
    about: "\
For each setting: its value, where it came from, and what it is for. Then whether active, newsgroups, sys,
explist, the certificate and so on can be used. Nothing is changed.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "all is well",
        },
        Meaning {
            status: Status::NO,
            when: "a control file has a fault",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let read = directory.settings()?;
    let findings = control_files::findings(&directory, &read);
    let faults = findings
        .iter()
        .filter(|finding| finding.told.is_err())
        .count();
    if given.has("json") {
        let all = json!({
            "directory": directory.root().to_string_lossy(),
            "settings": settings_json(&read),
            "files": findings.iter().map(|finding| json!({
                "file": finding.file,
                "fault": finding.told.is_err(),
                "told": finding.told.as_ref().unwrap_or_else(|told| told),
            })).collect::<Vec<_>>(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        write_settings(out, &directory, &read)?;
        for finding in &findings {
            match &finding.told {
                Ok(told) => writeln!(out, "{}: {told}", finding.file)?,
                Err(told) => writeln!(out, "{}: FAULT: {told}", finding.file)?,
            }
        }
        match faults {
            0 => writeln!(out, "all is well")?,
            1 => writeln!(out, "1 fault")?,
            faults => writeln!(out, "{faults} faults")?,
        }
    }
    Ok(if faults == 0 { Status::OK } else { Status::NO })
}

fn write_settings(out: &mut dyn Write, directory: &NewsDirectory, read: &Read) -> io::Result<()> {
    writeln!(
        out,
        "news directory {} (from {})\n",
        directory.root().display(),
        directory.source()
    )?;
    for (setting, origin) in TABLE.iter().zip(read.origins()) {
        let origin = match origin {
            Origin::Default => "the default".to_owned(),
            Origin::Line(line) => format!("{} line {line}", settings::FILE),
        };
        writeln!(
            out,
            "{} = {}  ({origin})",
            setting.path(),
            setting.written(&read.settings)
        )?;
        for line in text::wrap(setting.help, text::WIDTH - 4) {
            writeln!(out, "    {line}")?;
        }
    }
    writeln!(out)
}

fn settings_json(read: &Read) -> Vec<Value> {
    let row = |(setting, origin): (&settings::Setting, Origin)| {
        let value = match setting.number(&read.settings) {
            Some(number) => json!(number),
            None => json!(setting.text(&read.settings)),
        };
        let line = match origin {
            Origin::Default => Value::Null,
            Origin::Line(line) => json!(line),
        };
        json!({"setting": setting.path(), "value": value, "line": line, "for": setting.help})
    };
    TABLE.iter().zip(read.origins()).map(row).collect()
}
