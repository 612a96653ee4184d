//! `broadsheet limits`: every limit, its value, its unit and what it is for.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::fixed_limits::FIXED;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;
use settings::{Read, Settings, TABLE, Unit};

/// The table.
pub static COMMAND: Command = Command {
    words: &["limits"],
    also: &[],
    summary: "print every limit and its purpose",
    about: "\
Limits with a key can be changed in broadsheet.toml; `fixed' limits cannot. Without a news directory
the defaults are printed.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let settings = match NewsDirectory::maybe(given) {
        Some(directory) => directory.settings()?.settings,
        None => Read::defaults().settings,
    };
    given.print(&Limits(limits(&settings)), out)?;
    Ok(Status::OK)
}

/// A limit.
#[derive(Serialize)]
pub struct Limit {
    #[serde(rename = "limit")]
    name: String,
    value: u64,
    unit: &'static str,
    /// Part of the program: no setting changes it.
    fixed: bool,
    /// The constant of a fixed one.
    constant: Option<&'static str>,
    #[serde(rename = "for")]
    help: &'static str,
}

/// Every limit, with the values that these settings give.
pub fn limits(settings: &Settings) -> Vec<Limit> {
    let set = TABLE.iter().filter_map(|setting| {
        Some(Limit {
            name: setting.path(),
            value: setting.number(settings)?,
            unit: setting.unit.word(),
            fixed: false,
            constant: None,
            help: setting.help,
        })
    });
    let fixed = FIXED.iter().map(|limit| Limit {
        name: limit.name.to_owned(),
        value: limit.value,
        unit: limit.unit.word(),
        fixed: true,
        constant: Some(limit.constant),
        help: limit.help,
    });
    set.chain(fixed).collect()
}

struct Limits(Vec<Limit>);

impl Answer for Limits {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for limit in &self.0 {
            let Limit {
                name, value, unit, ..
            } = limit;
            let fixed = if limit.fixed { " (fixed)" } else { "" };
            let also = match text::bytes(*value) {
                size if *unit == Unit::Bytes.word() && size != value.to_string() => {
                    format!(" = {size}")
                }
                _ => String::new(),
            };
            writeln!(out, "{name}: {value} {unit}{also}{fixed}")?;
            for line in text::wrap(limit.help, text::WIDTH - 4) {
                writeln!(out, "    {line}")?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!(self.0)
    }

    fn is_long(&self) -> bool {
        true
    }
}
