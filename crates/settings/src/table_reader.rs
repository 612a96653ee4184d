//! Reads the keys of one TOML table by name. Errors are collected with their places, and a key that nothing asks for is an error too.

use groups::nearest;
use groups::text_position::TextPosition;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::Fault;
use crate::{FILE, TABLE, value};

/// The text of the file, and the errors found so far.
pub struct Source<'t> {
    /// The whole file.
    pub text: &'t str,
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
}

impl Source<'_> {
    /// Adds an error at a byte offset of the text.
    pub fn fault(&mut self, offset: usize, what: impl Into<String>) {
        self.faults.push(Fault::at(self.text, offset, what.into()));
    }
}

/// One table being read.
pub struct TableReader<'r, 't> {
    source: &'r mut Source<'t>,
    table: &'r DeTable<'r>,
    /// Where the table begins.
    pub offset: usize,
    /// `[section]`, `[[site]]`; empty for the top of the file.
    title: String,
    known: Vec<&'static str>,
}

impl<'r, 't> TableReader<'r, 't> {
    /// The top of the file.
    pub fn top(source: &'r mut Source<'t>, table: &'r DeTable<'r>) -> Self {
        TableReader {
            source,
            table,
            offset: 0,
            title: String::new(),
            known: Vec::new(),
        }
    }

    /// A table below this one.
    pub fn below<'a>(
        &'a mut self,
        table: &'a DeTable<'a>,
        offset: usize,
        title: String,
    ) -> TableReader<'a, 't> {
        TableReader {
            source: self.source,
            table,
            offset,
            title,
            known: Vec::new(),
        }
    }

    /// Adds an error at a byte offset of the text.
    pub fn fault(&mut self, offset: usize, what: impl Into<String>) {
        self.source.fault(offset, what);
    }

    /// Takes the errors away that were found since there were `count` of them.
    pub fn faults_since(&mut self, count: usize) -> Vec<Fault> {
        self.source.faults.split_off(count)
    }

    /// The number of errors found so far.
    pub fn fault_count(&self) -> usize {
        self.source.faults.len()
    }

    /// Returns whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The value of a key.
    pub fn get(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// The byte offset of a key, or of the table where the key is missing.
    pub fn key_offset(&self, key: &str) -> usize {
        let found = self.table.get_key_value(key);
        found.map_or(self.offset, |(key, _)| key.span().start)
    }

    /// The byte offset of a key's value, or of the table where the key is missing.
    pub fn value_offset(&self, key: &str) -> usize {
        let found = self.table.get(key);
        found.map_or(self.offset, |value| value.span().start)
    }

    /// The place of a byte of the file.
    pub fn place(&self, offset: usize) -> TextPosition {
        TextPosition::of(FILE, self.source.text, offset)
    }

    /// The value of a key, read by `read`, which says what is wrong as the rest of a sentence that begins with the key.
    pub fn take<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.get(key)?;
        match read(value.get_ref()) {
            Ok(taken) => Some(taken),
            Err(what) => {
                let section = self.title.strip_prefix('[');
                let section = section.and_then(|title| title.strip_suffix(']'));
                let path = match section.filter(|section| !section.starts_with('[')) {
                    Some(section) => format!("{section}.{key}"),
                    None => key.to_owned(),
                };
                self.fault(value.span().start, format!("{path} {what}"));
                None
            }
        }
    }

    /// Adds an error for each of these keys that is missing. `noun` is the table in words; a key comes with what to write.
    pub fn require(&mut self, noun: &str, keys: &[(&str, &str)]) {
        for (key, write) in keys {
            if !self.has(key) {
                self.fault(self.offset, format!("this {noun} has no {key}: {write}"));
            }
        }
    }

    /// Reads `[key]` with `read`, where it is there.
    pub fn section(&mut self, key: &'static str, read: impl FnOnce(&mut TableReader<'_, 't>)) {
        let offset = self.key_offset(key);
        match self.get(key).map(Spanned::get_ref) {
            None => {}
            Some(DeValue::Table(table)) => {
                let mut below = self.below(table, offset, format!("[{key}]"));
                read(&mut below);
                below.end();
            }
            Some(_) => self.fault(offset, format!("`{key}' is a section: write [{key}]")),
        }
    }

    /// Reads each `[[key]]` with `read`. `noun` is one of them, with its article; more than `max` are an error.
    pub fn each(
        &mut self,
        key: &'static str,
        noun: &str,
        max: usize,
        mut read: impl FnMut(&mut TableReader<'_, 't>),
    ) {
        let offset = self.key_offset(key);
        let items = match self.get(key).map(Spanned::get_ref) {
            None => return,
            Some(DeValue::Array(items)) if !items.is_empty() => items,
            Some(_) => {
                let what = format!("{noun} is written as [[{key}]], one for each");
                return self.fault(offset, what);
            }
        };
        for (index, item) in items.iter().enumerate() {
            let offset = item.span().start;
            match item.get_ref() {
                DeValue::Table(_) if index >= max => {
                    return self.fault(offset, format!("more than {max} tables [[{key}]]"));
                }
                DeValue::Table(table) => {
                    let mut below = self.below(table, offset, format!("[[{key}]]"));
                    read(&mut below);
                    below.end();
                }
                _ => self.fault(offset, format!("{noun} is a table: write [[{key}]]")),
            }
        }
    }

    /// Adds an error for each key that nothing asked for.
    pub fn end(&mut self) {
        for (key, value) in self.table {
            let name: &str = key.get_ref();
            if !self.known.contains(&name) {
                let is_table = matches!(value.get_ref(), DeValue::Table(_));
                let what = unknown(&self.title, name, is_table, &self.known);
                self.fault(key.span().start, what);
            }
        }
    }
}

/// The message for an unknown key. A key of another section is the likeliest mistake.
fn unknown(title: &str, key: &str, is_table: bool, known: &[&'static str]) -> String {
    let is_top = title.is_empty();
    let hint = nearest::hint(key, "", known.iter().copied());
    if is_table && is_top {
        return format!("unknown section [{key}]{hint}");
    }
    let is_section = is_top || title.starts_with('[') && !title.starts_with("[[");
    let elsewhere = TABLE.iter().find(|setting| setting.key == key);
    match elsewhere.filter(|_| is_section).map(|found| found.section) {
        Some("") => value::at_top(key),
        Some(section) => format!("`{key}' belongs in [{section}]"),
        None if key == "accept" => value::at_top(key),
        None if is_top => format!("unknown key `{key}'{hint}"),
        None => format!("unknown key `{key}' in {title}{hint}"),
    }
}
