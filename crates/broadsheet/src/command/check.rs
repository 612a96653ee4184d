//! `broadsheet check`: explains every setting in force and looks over the control files.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::control_files;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::settings::{self, Origin, Read, TABLE};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["check"],
    also: &[],
    summary: "print the settings in force and check the control files",
    about: "\
Prints each setting with its value, where it was set, and its purpose. Then checks active,
newsgroups, sys, explist, the certificate and the other control files. Changes nothing.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
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
    let directory = NewsDirectory::meant(given)?;
    let read = directory.settings()?;
    let findings = control_files::findings(&directory, &read.settings);
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
                Err(told) => writeln!(out, "{}: ERROR: {told}", finding.file)?,
            }
        }
        match faults {
            0 => writeln!(out, "no errors")?,
            1 => writeln!(out, "1 error")?,
            faults => writeln!(out, "{faults} errors")?,
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
            Origin::Default => "default".to_owned(),
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
