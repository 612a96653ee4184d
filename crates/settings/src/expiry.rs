//! `[[expire]]`, the rules of expire in their order, and `[expiry]`, what holds for all of them.
//!
//! ```toml
//! [expiry]
//! expired_days = 14                   # the /expired/ line
//! bounds = { low = 0, high = 90 }     # the /bounds/ line, for every rule
//! max_fraction = 0.6                  # a run that would remove more needs --force
//! dead_fraction = 0.15                # a segment with more dead articles than this is written anew
//! keep_free = "20 GiB"                # expire by space, too
//! max_size = "500 GiB"
//! archive_directory = "archive"       # for archive = "@" and "segments"
//!
//! [[expire]]
//! patterns = "comp.sources,!comp.sources.d"     # or a list of such texts
//! moderation = "moderated"                      # unmoderated, any (if not given)
//! keep_days = "never"                           # or low, default, high
//! archive = "@"                                 # a directory, or "segments"
//! flat = true
//!
//! [[expire]]
//! patterns = "all"
//! low = 1
//! default = 14
//! high = 60.5
//! ```
//!
//! (TOML allows no `[expire]` beside `[[expire]]`, hence the second name.)

use expire::explist::RULES_MAX;
use expire::tables::TableRule;
use expire::{DateBounds, Lifetime, Moderation, Tables};
use toml::de::DeValue;

use crate::table_reader::TableReader;
use crate::value;

const MODERATION: &[(&str, Moderation)] = &[
    ("moderated", Moderation::Moderated),
    ("unmoderated", Moderation::Unmoderated),
    ("any", Moderation::Any),
];

/// Reads `[expiry]` and each `[[expire]]`.
pub fn read(top: &mut TableReader<'_, '_>) -> Tables {
    let mut tables = Tables::default();
    top.section("expiry", |table| section(table, &mut tables));
    top.each("expire", "a rule of expire", RULES_MAX, |table| {
        tables.rules.push(rule(table));
    });
    tables
}

fn section(table: &mut TableReader<'_, '_>, tables: &mut Tables) {
    tables.expired = table.take("expired_days", days);
    tables.archive_directory = table.take("archive_directory", value::line);
    let space = &mut tables.space;
    space.keep_free = table.take("keep_free", value::size);
    space.max_size = table.take("max_size", value::size);
    let max_fraction = table.take("max_fraction", |value| match fraction(value)? {
        0.0 => Err("is 0, with which no run of expire removes anything".to_owned()),
        part => Ok(part),
    });
    if let Some(part) = max_fraction {
        space.max_fraction = part;
    }
    if let Some(part) = table.take("dead_fraction", fraction) {
        space.dead_fraction = part;
    }
    table.section("bounds", |bounds| {
        let plain = DateBounds::default();
        let (low, high) = (bounds.take("low", days), bounds.take("high", days));
        tables.bounds = DateBounds {
            low: low.unwrap_or(plain.low),
            high: high.unwrap_or(plain.high),
        };
        if let Err(error) = tables.bounds.check() {
            bounds.fault(bounds.value_offset("low"), format!("bounds: {error}"));
        }
    });
}

fn rule(table: &mut TableReader<'_, '_>) -> TableRule {
    table.require(
        "rule",
        &[("patterns", "write patterns = \"comp.sources\", or \"all\"")],
    );
    let moderation = table.take("moderation", |word| value::word(word, MODERATION));
    TableRule {
        line: table.place(table.offset).line,
        patterns: table.take("patterns", lines).unwrap_or_default(),
        moderation: moderation.unwrap_or(Moderation::Any),
        keep_days: table.take("keep_days", days),
        low: table.take("low", days),
        default: table.take("default", days),
        high: table.take("high", days),
        archive: table.take("archive", value::line),
        flat: table.take("flat", value::truth).unwrap_or_default(),
    }
}

/// Patterns as one text or as a list of texts, joined with commas.
fn lines(value: &DeValue<'_>) -> Result<String, String> {
    let lines: Vec<String> = match value {
        DeValue::Array(items) => {
            let lines = items.iter().map(|item| value::line(item.get_ref()));
            lines.collect::<Result<_, _>>()?
        }
        one => vec![value::line(one)?],
    };
    Ok(lines.join(","))
}

/// Days as a number (14, 0.5) or a text (`"never"`, `"0.5"`).
fn days(value: &DeValue<'_>) -> Result<Lifetime, String> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(_) => value::integer(value).map_or_else(String::new, |n| n.to_string()),
        // The shortest decimal that is the number, so that 0.07 means 0.07.
        DeValue::Float(float) => float
            .as_str()
            .parse::<f64>()
            .map_or_else(|_| String::new(), |days| days.to_string()),
        _ => String::new(),
    };
    let wanted = || value::wrong("a number of days or \"never\"", value);
    match Lifetime::parse(text.as_bytes()) {
        Ok(life) => Ok(life),
        Err(fault) if value.is_str() => Err(fault.to_string()),
        Err(_) => Err(wanted()),
    }
}

/// A part of the whole.
fn fraction(value: &DeValue<'_>) -> Result<f64, String> {
    let part = match value {
        DeValue::Integer(integer) => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
        _ => None,
    };
    match part {
        Some(part) if (0.0..=1.0).contains(&part) => Ok(part),
        Some(part) => Err(format!("is {part}; it is a part of the whole, from 0 to 1")),
        None => Err(value::wrong("a number from 0 to 1", value)),
    }
}
