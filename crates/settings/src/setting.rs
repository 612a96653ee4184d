//! A row of the table of settings: its key, its unit, its range, its help, and where its value lives.

use groups::{When, size};

use crate::{Settings, Sync};

/// One row of the table.
pub struct Setting {
    /// The `[section]`; empty for the top of the file.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// Unit of a number; empty for text.
    pub unit: Unit,
    /// Least and most a number may be.
    pub range: (u64, u64),
    /// What it is for, in a sentence or two; the comment in the file.
    pub help: &'static str,
    /// Where it lives.
    pub slot: fn(&mut Settings) -> Slot<'_>,
}

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Not a number.
    Text,
    /// Bytes; the file may say `8 MiB`.
    Bytes,
    /// Anything else, by its name.
    Count(&'static str),
}

impl Unit {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Text => "",
            Unit::Bytes => "bytes",
            Unit::Count(word) => word,
        }
    }
}

/// The place of one setting, by its type.
pub enum Slot<'a> {
    /// A line of text.
    Text(&'a mut String),
    /// A whole number.
    Number(&'a mut u64),
    /// Yes or no.
    Truth(&'a mut bool),
    /// One of a few words.
    Sync(&'a mut Sync),
    /// One of a few words.
    Cancel(&'a mut relay::CancelPolicy),
    /// A time of the day, or every so often.
    When(&'a mut When),
}

impl Setting {
    /// `limits.article_bytes_max`, or `name`.
    pub fn path(&self) -> String {
        match self.section {
            "" => self.key.to_owned(),
            section => format!("{section}.{}", self.key),
        }
    }

    /// The value as the file says it: `"8 MiB"`, `86400`, `"commit"`.
    pub fn written(&self, settings: &Settings) -> String {
        match (self.slot)(&mut settings.clone()) {
            Slot::Number(number) if self.unit == Unit::Bytes => match size::bytes(*number) {
                plain if plain.bytes().all(|b| b.is_ascii_digit()) => plain,
                with_unit => quoted(&with_unit),
            },
            Slot::Number(number) => number.to_string(),
            Slot::Truth(truth) => truth.to_string(),
            _ => quoted(&self.text(settings).unwrap_or_default()),
        }
    }

    /// The text or word, where it is one.
    pub fn text(&self, settings: &Settings) -> Option<String> {
        match (self.slot)(&mut settings.clone()) {
            Slot::Text(text) => Some(text.clone()),
            Slot::Sync(sync) => Some(sync.word().to_owned()),
            Slot::Cancel(cancel) => Some(cancel.word().to_owned()),
            Slot::When(when) => Some(when.to_string()),
            Slot::Truth(truth) => Some(truth.to_string()),
            Slot::Number(_) => None,
        }
    }

    /// The number, where it is one.
    pub fn number(&self, settings: &Settings) -> Option<u64> {
        match (self.slot)(&mut settings.clone()) {
            Slot::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// A text as a TOML basic string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
