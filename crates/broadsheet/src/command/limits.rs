//! `broadsheet limits`: every limit, its value, its unit and what it is for.

use std::io::Write;

use serde_json::json;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::settings::{Read, Settings, TABLE, Unit};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["limits"],
    also: &[],
    summary: "print every limit and what it is for",
    about: "\
Those with a key can be changed in broadsheet.toml; `fixed' ones are part of the program. Without
a news directory it prints the defaults.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

/// A limit that no setting changes.
struct Fixed {
    name: &'static str,
    value: u64,
    unit: Unit,
    help: &'static str,
}

/// The limits that are part of the program.
static FIXED: &[Fixed] = &[
    Fixed {
        name: "batch line",
        value: article::batch::BATCH_LINE_BYTES_MAX as u64,
        unit: Unit::Bytes,
        help: "A longer `#! rnews N' line is a bad line.",
    },
    Fixed {
        name: "wrappers",
        value: article::wrap::LAYERS_MAX as u64,
        unit: Unit::Count("layers"),
        help: "A batch wrapped in more layers of compression goes to bad/.",
    },
    Fixed {
        name: "expansion without a look at the ratio",
        value: article::wrap::RATIO_FREE_BYTES,
        unit: Unit::Bytes,
        help: "limits.expansion_ratio_max does not count before a batch has grown to this.",
    },
    Fixed {
        name: "zstd window",
        value: 1 << article::wrap::ZSTD_WINDOW_LOG_MAX,
        unit: Unit::Bytes,
        help: "A zstd batch that asks for more memory goes to bad/.",
    },
    Fixed {
        name: "xz memory",
        value: article::wrap::XZ_MEMORY_BYTES_MAX,
        unit: Unit::Bytes,
        help: "An xz batch that asks for more memory goes to bad/.",
    },
    Fixed {
        name: "active file",
        value: groups::active::IMAGE_BYTES_MAX as u64,
        unit: Unit::Bytes,
        help: "A larger active file is not read.",
    },
    Fixed {
        name: "alias hops",
        value: groups::active::ALIAS_HOPS_MAX as u64,
        unit: Unit::Count("hops"),
        help: "A group that is an alias through more hops is unknown, as in C News.",
    },
];

struct Row {
    name: String,
    value: u64,
    unit: Unit,
    fixed: bool,
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
            .map(|row| json!({"limit": row.name, "value": row.value, "unit": row.unit.word(), "fixed": row.fixed, "for": row.help}))
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(Status::OK);
    }
    for row in rows {
        let fixed = if row.fixed { " (fixed)" } else { "" };
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
            fixed: false,
            help: setting.help,
        })
    });
    let fixed = FIXED.iter().map(|limit| Row {
        name: limit.name.to_owned(),
        value: limit.value,
        unit: limit.unit,
        fixed: true,
        help: limit.help,
    });
    set.chain(fixed).collect()
}
