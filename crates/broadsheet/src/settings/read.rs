//! Reading `broadsheet.toml`. Every fault is reported with file, line and column; an unknown key
//! with the nearest known one.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use groups::place::line_and_column;
use groups::{When, size, tables};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{SECTIONS, Setting, Settings, Slot, Sync, TABLE, Unit, check_name, check_together};
use crate::{nearest, text};

/// Settings and where each came from.
pub struct Read {
    /// The values in force.
    pub settings: Settings,
    text: String,
    /// For each row of `TABLE`, where in `text` its key stands. Lines are counted only when asked
    /// for: every command reads the settings, and few tell where they stand.
    offsets: Vec<Option<usize>>,
}

/// Where a setting came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Not in the file.
    Default,
    /// On this line of the file, from 1.
    Line(usize),
}

/// Everything wrong with one file. Exit status 78.
#[derive(Debug)]
pub struct Faults {
    path: PathBuf,
    faults: Vec<Fault>,
}

#[derive(Debug)]
struct Fault {
    line: usize,
    column: usize,
    what: String,
}

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            let newline = if number == 0 { "" } else { "\n" };
            write!(
                f,
                "{newline}{}:{}:{}: {}",
                self.path.display(),
                fault.line,
                fault.column,
                fault.what
            )?;
        }
        Ok(())
    }
}

/// One file being read.
struct Reading<'t> {
    text: &'t str,
    sites: tables::Reading<'t>,
    access: access::reading::Reading<'t>,
    faults: Vec<Fault>,
    read: Read,
}

impl Read {
    /// Where each row of `TABLE` came from, in its order.
    pub fn origins(&self) -> impl Iterator<Item = Origin> {
        self.offsets.iter().map(|offset| match offset {
            None => Origin::Default,
            Some(offset) => Origin::Line(line_and_column(&self.text, *offset).0),
        })
    }

    /// Nothing read yet: the defaults.
    pub fn defaults() -> Read {
        Read {
            settings: Settings::default(),
            text: String::new(),
            offsets: vec![None; TABLE.len()],
        }
    }

    /// Reads a file's bytes; `path` is for messages only.
    ///
    /// # Errors
    /// All faults of the file together, or only the first when it is not TOML at all.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Read, Faults> {
        let faulty = |faults| Faults {
            path: path.to_owned(),
            faults,
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let (line, column) =
                    line_and_column(&String::from_utf8_lossy(error.as_bytes()), good);
                let what = "not UTF-8".to_owned();
                return Err(faulty(vec![Fault { line, column, what }]));
            }
        };
        let mut reading = Reading {
            text: &text,
            sites: tables::Reading::new(&text),
            access: access::reading::Reading::new(&text),
            faults: Vec::new(),
            read: Read::defaults(),
        };
        match DeTable::parse(&text) {
            Ok(table) => reading.top(table.get_ref()),
            Err(error) => reading.fault(
                error.span().unwrap_or_default(),
                tables::toml_fault(&text, &error),
            ),
        }
        reading.sites();
        reading.access();
        if reading.faults.is_empty() {
            reading.together();
        }
        let Reading { faults, read, .. } = reading;
        match faults.is_empty() {
            true => Ok(Read { text, ..read }),
            false => Err(faulty(faults)),
        }
    }
}

impl Reading<'_> {
    fn fault(&mut self, span: Range<usize>, what: String) {
        let (line, column) = line_and_column(self.text, span.start);
        self.faults.push(Fault { line, column, what });
    }

    /// A fault of a value that is seen only when all is read: at its key, or at the file's start
    /// when it is not in the file.
    fn fault_of(&mut self, path: &str, what: String) {
        let row = TABLE.iter().position(|setting| setting.path() == path);
        let offset = row.and_then(|row| self.read.offsets.get(row).copied().flatten());
        let offset = offset.unwrap_or_default();
        self.fault(offset..offset, what);
    }

    fn together(&mut self) {
        if let Err(what) = check_name(&self.read.settings.name) {
            self.fault_of("name", what);
        }
        for (path, what) in check_together(&self.read.settings) {
            self.fault_of(path, format!("{path} {what}"));
        }
    }

    /// What the sites' own reading found.
    fn sites(&mut self) {
        let reading = std::mem::replace(&mut self.sites, tables::Reading::new(self.text));
        let (sites, faults) = reading.done();
        self.read.settings.sites = sites;
        for fault in faults {
            self.fault(fault.offset..fault.offset, fault.what);
        }
    }

    /// What the reading of `[[access]]` found.
    fn access(&mut self) {
        let fresh = access::reading::Reading::new(self.text);
        let (access, faults) = std::mem::replace(&mut self.access, fresh).done();
        self.read.settings.access = access;
        for fault in faults {
            self.fault(fault.offset..fault.offset, fault.what);
        }
    }

    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if matches!(name, "expire" | "expiry") {
                // Read by expire itself, when it runs.
                continue;
            }
            let offset = key.span().start;
            if self.sites.entry(name, offset, value) || self.access.entry(name, offset, value) {
                continue;
            }
            if let Some((section, _)) = SECTIONS.iter().find(|(section, _)| *section == name) {
                match value.get_ref() {
                    DeValue::Table(table) => self.section(section, table),
                    _ => self.fault(key.span(), format!("`{name}' is a section: write [{name}]")),
                }
            } else {
                self.entry("", key.span(), name, value);
            }
        }
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            self.entry(section, key.span(), key.get_ref().as_ref(), value);
        }
    }

    fn entry(
        &mut self,
        section: &str,
        span: Range<usize>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) {
        let row = TABLE
            .iter()
            .position(|setting| setting.section == section && setting.key == key);
        let Some((row, setting)) = row.and_then(|row| TABLE.get(row).map(|setting| (row, setting)))
        else {
            let what = unknown(section, key, matches!(value.get_ref(), DeValue::Table(_)));
            return self.fault(span, what);
        };
        if let Err(what) = assign(setting, &mut self.read.settings, value.get_ref()) {
            return self.fault(value.span(), format!("{} {what}", setting.path()));
        }
        if let Some(offset) = self.read.offsets.get_mut(row) {
            *offset = Some(span.start);
        }
    }
}

/// The message for a key that is in no table: a key of another section is the likeliest slip.
fn unknown(section: &str, key: &str, is_section: bool) -> String {
    if is_section {
        let hint = nearest::hint(
            key,
            "",
            SECTIONS
                .iter()
                .map(|(name, _)| *name)
                .chain(tables::KEYS.iter().copied())
                .chain(access::reading::KEYS.iter().copied()),
        );
        return format!("unknown section [{key}]{hint}");
    }
    if let Some(elsewhere) = TABLE.iter().find(|setting| setting.key == key) {
        return match elsewhere.section {
            "" => format!("`{key}' stands at the top of the file, before the first section"),
            right => format!("`{key}' belongs in [{right}]"),
        };
    }
    if key == "accept" {
        return "`accept' stands at the top of the file, before the first section".to_owned();
    }
    let others = tables::KEYS.iter().copied().filter(|_| section.is_empty());
    let here = TABLE
        .iter()
        .filter(|setting| setting.section == section)
        .map(|setting| setting.key)
        .chain(others);
    let hint = nearest::hint(key, "", here);
    match section {
        "" => format!("unknown key `{key}'{hint}"),
        section => format!("unknown key `{key}' in [{section}]{hint}"),
    }
}

fn assign(setting: &Setting, settings: &mut Settings, value: &DeValue<'_>) -> Result<(), String> {
    match (setting.slot)(settings) {
        Slot::Text(slot) => {
            let text = value
                .as_str()
                .ok_or_else(|| wrong("text in quotes", value))?;
            if text.chars().any(char::is_control) {
                return Err("is one line of text, without control characters".to_owned());
            }
            *slot = text.to_owned();
        }
        Slot::Sync(slot) => *slot = choice(value, Sync::ALL)?,
        Slot::Cancel(slot) => *slot = choice(value, relay::CancelPolicy::ALL)?,
        Slot::When(slot) => {
            let text = value
                .as_str()
                .ok_or_else(|| wrong("a time in quotes", value))?;
            *slot = When::parse(text)?;
        }
        Slot::Number(slot) => *slot = number(setting, value)?,
        Slot::Truth(slot) => match value {
            DeValue::Boolean(truth) => *slot = *truth,
            other => return Err(wrong("true or false", other)),
        },
    }
    Ok(())
}

/// One of a few words.
fn choice<T: Copy>(value: &DeValue<'_>, all: &[(&str, T)]) -> Result<T, String> {
    let word = value
        .as_str()
        .ok_or_else(|| wrong("a word in quotes", value))?;
    let found = all.iter().find(|(known, _)| *known == word);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        format!(
            "is one of {}, not \"{word}\"{}",
            words.join(", "),
            nearest::hint(word, "", words.iter().copied())
        )
    })
}

fn number(setting: &Setting, value: &DeValue<'_>) -> Result<u64, String> {
    let (least, most) = setting.range;
    let wanted = match setting.unit {
        Unit::Bytes => "a number of bytes, or a size in quotes such as \"8 MiB\"",
        _ => "a whole number",
    };
    let negative = || format!("may not be below {least}");
    let number = match value {
        DeValue::Integer(integer) if integer.as_str().starts_with('-') => return Err(negative()),
        DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix()).ok(),
        DeValue::String(text) if setting.unit == Unit::Bytes => size::parse(text),
        _ => None,
    };
    let number = number.ok_or_else(|| wrong(wanted, value))?;
    match number {
        number if number < least => Err(format!("may not be below {}", shown(setting, least))),
        number if number > most => Err(format!("may not be above {}", shown(setting, most))),
        number => Ok(number),
    }
}

fn shown(setting: &Setting, number: u64) -> String {
    match setting.unit {
        Unit::Bytes => text::bytes(number),
        _ => number.to_string(),
    }
}

fn wrong(wanted: &str, value: &DeValue<'_>) -> String {
    let given = match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        other => format!("a TOML {}", other.type_str()),
    };
    format!("wants {wanted}, not {given}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Read, String> {
        Read::parse(Path::new("broadsheet.toml"), text.into()).map_err(|faults| faults.to_string())
    }

    fn fault(text: &str) -> String {
        read(text).err().expect("a fault")
    }

    #[test]
    fn what_is_said_is_in_force_and_remembers_its_line() {
        let read = read("name = \"a.b\"\n\n[limits]\narticle_bytes_max = \"1 MiB\"\n").unwrap();
        assert_eq!(read.settings.limits.article_bytes_max, 1 << 20);
        assert_eq!(read.settings.store, Settings::default().store);
        let row = TABLE
            .iter()
            .position(|s| s.key == "article_bytes_max")
            .unwrap();
        let origins: Vec<_> = read.origins().collect();
        assert_eq!(origins[row], Origin::Line(4));
        assert_eq!(origins[row + 1], Origin::Default);
    }

    #[test]
    fn an_unknown_key_names_place_and_nearest() {
        let text = "name = \"a\"\n[limits]\n  article_byte_max = 9000\n";
        let told = "broadsheet.toml:3:3: unknown key `article_byte_max' in [limits]; did you mean article_bytes_max?";
        assert_eq!(fault(text), told);
        assert_eq!(
            fault("[limit]\n"),
            "broadsheet.toml:1:2: unknown section [limit]; did you mean limits?"
        );
        assert_eq!(
            fault("sync = \"each\"\n"),
            "broadsheet.toml:1:1: `sync' belongs in [store]"
        );
        assert_eq!(
            fault("[store]\nname = \"a\"\n"),
            "broadsheet.toml:2:1: `name' stands at the top of the file, before the first section"
        );
    }

    #[test]
    fn wrong_values_say_what_is_wanted() {
        let cases = [
            ("article_bytes_max = \"lots\"", "wants a number of bytes"),
            ("article_bytes_max = -1", "may not be below"),
            ("article_bytes_max = 1", "may not be below 4 KiB"),
            ("article_bytes_max = \"2 GiB\"", "may not be above 1 GiB"),
            (
                "clock_skew_seconds = true",
                "wants a whole number, not a TOML boolean",
            ),
            (
                "clock_skew_seconds = 99999999999999999999",
                "wants a whole number",
            ),
        ];
        for (line, told) in cases {
            let fault = fault(&format!("name = \"a\"\n[limits]\n{line}\n"));
            assert!(fault.contains(told), "{line}: {fault}");
        }
        assert!(
            fault("name = \"a\"\n[store]\nsync = \"comit\"\n").contains("did you mean commit?")
        );
        assert!(fault("name = \"a!b\"\n").contains(":1:1: a site's name may not hold '!'"));
        assert!(fault("limits = 3\n").contains("write [limits]"));
    }

    #[test]
    fn an_article_must_fit_in_a_segment() {
        let told = fault("name = \"a\"\n[store]\nsegment_bytes = \"1 MiB\"\n");
        assert!(
            told.starts_with("broadsheet.toml:3:1: store.segment_bytes is less than twice"),
            "{told}"
        );
        let small = "name = \"a\"\n[limits]\narticle_bytes_max = \"512 KiB\"\n[store]\nsegment_bytes = \"1 MiB\"\n";
        assert!(read(small).is_ok());
    }

    #[test]
    fn all_faults_come_together() {
        let told = fault("nmae = \"a\"\n[store]\nsink = 1\n");
        assert_eq!(told.lines().count(), 2, "{told}");
    }

    #[test]
    fn what_is_not_toml_or_not_text_names_its_place() {
        assert_eq!(
            fault("name = \"a\"\nname = \"b\"\n"),
            "broadsheet.toml:2:1: duplicate key `name'"
        );
        assert_eq!(
            fault("name = \"a\"\n[nntp]\nlisten = \"\"\nlisten = \"\"\n"),
            "broadsheet.toml:4:1: duplicate key `listen'"
        );
        assert!(fault("name = \"a\"\n[limits\n").starts_with("broadsheet.toml:2:"));
        let faults = Read::parse(Path::new("x"), b"name = \"\xe9\"\n".to_vec())
            .err()
            .unwrap();
        assert_eq!(faults.to_string(), "x:1:9: not UTF-8");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Read::parse(Path::new("x"), bytes);
        }

        #[test]
        fn no_values_make_it_panic(key in "name|sync|limits|[a-z_]{1,8}", value in "\\PC{0,12}") {
            let _ = read(&format!("{key} = {value}\n[limits]\narticle_bytes_max = {value}\n"));
        }
    }
}
