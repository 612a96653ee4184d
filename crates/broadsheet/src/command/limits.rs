//! `broadsheet limits`: every limit, its value, its unit and what it is for.

use std::io::Write;

use serde_json::json;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::fixed_limits::FIXED;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::settings::{Read, Settings, TABLE, Unit};
use crate::text;

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

struct Row {
    name: String,
    value: u64,
    unit: Unit,
    /// The constant, where the limit is part of the program.
    constant: Option<&'static str>,
    help: &'static str,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let settings = match NewsDirectory::maybe(given) {
        Some(directory) => directory.settings()?.settings,
        None => Read::defaults().settings,
    };
    let rows = rows(&settings);
    if given.has("json") {
        let all: Vec<_> = rows
            .iter()
            .map(|row| json!({"limit": row.name, "value": row.value, "unit": row.unit.word(), "fixed": row.constant.is_some(), "constant": row.constant, "for": row.help}))
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(Status::OK);
    }
    for row in rows {
        let fixed = if row.constant.is_some() {
            " (fixed)"
        } else {
            ""
        };
        let also = match (row.unit, text::bytes(row.value)) {
            (Unit::Bytes, size) if size != row.value.to_string() => format!(" = {size}"),
            _ => String::new(),
        };
        writeln!(
            out,
            "{}: {} {}{also}{fixed}",
            row.name,
            row.value,
            row.unit.word()
        )?;
        for line in text::wrap(row.help, text::WIDTH - 4) {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(Status::OK)
}

fn rows(settings: &Settings) -> Vec<Row> {
    let set = TABLE.iter().filter_map(|setting| {
        let value = setting.number(settings)?;
        Some(Row {
            name: setting.path(),
            value,
            unit: setting.unit,
            constant: None,
            help: setting.help,
        })
    });
    let fixed = FIXED.iter().map(|limit| Row {
        name: limit.name.to_owned(),
        value: limit.value,
        unit: limit.unit,
        constant: Some(limit.constant),
        help: limit.help,
    });
    set.chain(fixed).collect()
}
