//! Reading `[[access]]`.

use groups::nearest;
use groups::place::Place;
use groups::tables::{FILE, TableFault, toml_fault, value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fingerprint::fingerprint;
use crate::network::Network;
use crate::tables::{ENTRIES_MAX, Entry, Feature, LIST_MAX, Limits, Tables};
use crate::users::check_name;

/// The keys at the top of `broadsheet.toml` that are read here.
pub const KEYS: &[&str] = &["access"];

/// The keys of `[[access]]`.
const ENTRY_KEYS: &[&str] = &[
    "name",
    "from",
    "users",
    "certificates",
    "tls",
    "read",
    "post",
    "send",
    "approve",
    "without",
    "size_max",
    "connections_max",
    "connections_per_address_max",
    "posts_per_minute_max",
    "articles_per_minute_max",
    "bytes_per_second_max",
];

impl Tables {
    /// Reads the `[[access]]` tables out of the text of `broadsheet.toml`; other keys are somebody else's.
    ///
    /// # Errors
    /// All faults, or the one that makes it no TOML.
    pub fn parse(text: &str) -> Result<Tables, Vec<TableFault>> {
        let table = toml::de::DeTable::parse(text).map_err(|error| {
            vec![TableFault {
                offset: error.span().unwrap_or_default().start,
                what: toml_fault(text, &error),
            }]
        })?;
        let mut reading = Reading::new(text);
        for (key, value) in table.get_ref() {
            reading.entry(key.get_ref(), key.span().start, value);
        }
        match reading.done() {
            (tables, faults) if faults.is_empty() => Ok(tables),
            (_, faults) => Err(faults),
        }
    }
}

/// Tables being read; faults are gathered.
#[derive(Debug)]
pub struct Reading<'t> {
    text: &'t str,
    tables: Tables,
    faults: Vec<TableFault>,
}

impl<'t> Reading<'t> {
    /// Nothing read yet; `text` is the whole file.
    pub fn new(text: &'t str) -> Self {
        Self {
            text,
            tables: Tables::default(),
            faults: Vec::new(),
        }
    }

    /// What was read, and everything that was wrong.
    pub fn done(self) -> (Tables, Vec<TableFault>) {
        (self.tables, self.faults)
    }

    /// Reads a key of the top of the file that begins at `offset`. `false`: it is none of [`KEYS`].
    pub fn entry(&mut self, key: &str, offset: usize, value: &Spanned<DeValue<'_>>) -> bool {
        if key != "access" {
            return false;
        }
        match value.get_ref() {
            DeValue::Array(entries) if !entries.is_empty() => {
                for entry in entries.iter() {
                    let offset = entry.span().start;
                    match entry.get_ref() {
                        DeValue::Table(table) => self.table(offset, table),
                        _ => self.fault(offset, "an entry is a table: write [[access]]"),
                    }
                }
            }
            _ => self.fault(
                offset,
                "access is written as [[access]], one for each entry",
            ),
        }
        true
    }

    fn fault(&mut self, offset: usize, what: impl Into<String>) {
        let what = what.into();
        self.faults.push(TableFault { offset, what });
    }

    /// The value under a key, if it is there and `read` takes it; what `read` says is a fault of that key.
    fn take<T>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let value = table.get(key)?;
        match read(value.get_ref()) {
            Ok(taken) => Some(taken),
            Err(what) => {
                self.fault(value.span().start, format!("{key} {what}"));
                None
            }
        }
    }

    /// The values of a list under a key, each told by itself when it is wrong.
    fn take_list<T>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        self.take(table, key, |value| {
            let texts = match value {
                DeValue::Array(items) if items.is_empty() => {
                    return Err("is an empty list, which would fit everybody; leave it out".into());
                }
                DeValue::Array(items) if items.len() > LIST_MAX => {
                    return Err(format!("has more than {LIST_MAX} items"));
                }
                DeValue::Array(items) => items
                    .iter()
                    .map(|item| value::text(item.get_ref()))
                    .collect::<Result<Vec<_>, _>>()?,
                one => vec![value::text(one)?],
            };
            let told = |text: &String| read(text).map_err(|what| format!("`{text}' {what}"));
            texts.iter().map(told).collect::<Result<Vec<_>, _>>()
        })
        .unwrap_or_default()
    }

    fn table(&mut self, offset: usize, table: &DeTable<'_>) {
        if self.tables.entries.len() >= ENTRIES_MAX {
            return self.fault(
                offset,
                format!("more than {ENTRIES_MAX} entries of [[access]]"),
            );
        }
        for (key, _) in table {
            let name: &str = key.get_ref();
            if !ENTRY_KEYS.contains(&name) {
                let hint = nearest::hint(name, "", ENTRY_KEYS.iter().copied());
                let what = format!("unknown key `{name}' in [[access]]{hint}");
                self.fault(key.span().start, what);
            }
        }
        let name = self.take(table, "name", value::name);
        if !table.contains_key("name") {
            self.fault(
                offset,
                "this entry has no name: say one for the logs, of a peer the name it has in Path",
            );
        }
        let entry = Entry {
            place: Some(Place::of(FILE, self.text, offset)),
            name: String::from_utf8_lossy(&name.unwrap_or_default()).into_owned(),
            from: self.take_list(table, "from", Network::parse),
            users: self.take_list(table, "users", |name| match name {
                "*" => Ok(name.to_owned()),
                name => check_name(name).map(|()| name.to_owned()),
            }),
            certificates: self.take_list(table, "certificates", fingerprint),
            tls: self.take(table, "tls", truth).unwrap_or_default(),
            read: self.wildmat(table, "read", false),
            post: self.wildmat(table, "post", true),
            send: self.wildmat(table, "send", true),
            approve: self.take(table, "approve", truth).unwrap_or_default(),
            without: self.features(table),
            limits: self.limits(table),
        };
        self.tables.entries.push(entry);
    }

    fn limits(&mut self, table: &DeTable<'_>) -> Limits {
        let some = |value: &DeValue<'_>, what: &str| match value::count(value)? {
            0 => Err(format!(
                "is 0, which would let {what}; leave it out for no limit"
            )),
            count => Ok(count),
        };
        let visits = |value: &DeValue<'_>| some(value, "nobody in");
        let posts =
            |value: &DeValue<'_>| some(value, "no post through (for that, leave out `post')");
        let articles =
            |value: &DeValue<'_>| some(value, "no article through (for that, leave out `send')");
        let bytes = |value: &DeValue<'_>| match value::size(value)? {
            0 => Err("is 0; leave it out for no limit".to_owned()),
            bytes => Ok(bytes),
        };
        Limits {
            size_max: self.take(table, "size_max", bytes),
            connections_max: self.take(table, "connections_max", visits),
            connections_per_address_max: self.take(table, "connections_per_address_max", visits),
            posts_per_minute_max: self.take(table, "posts_per_minute_max", posts),
            articles_per_minute_max: self.take(table, "articles_per_minute_max", articles),
            bytes_per_second_max: self.take(table, "bytes_per_second_max", bytes),
        }
    }

    fn features(&mut self, table: &DeTable<'_>) -> Vec<Feature> {
        self.take_list(table, "without", Feature::parse)
    }

    /// A wildmat, or a list of them; empty where there is none.
    fn wildmat(&mut self, table: &DeTable<'_>, key: &str, takes_poison: bool) -> String {
        let read = |value: &DeValue<'_>| {
            let texts = match value {
                DeValue::Array(items) => items
                    .iter()
                    .map(|item| value::text(item.get_ref()))
                    .collect::<Result<Vec<_>, _>>()?,
                one => vec![value::text(one)?],
            };
            let list = texts.join(",");
            if let Some(part) = list
                .split(',')
                .find(|part| part.trim() != *part || part.is_empty())
            {
                return Err(format!(
                    "has blanks or nothing in `{part}'; put only commas between the patterns, or write a list"
                ));
            }
            if !takes_poison && list.split(',').any(|part| part.starts_with('@')) {
                return Err(
                    "has `@', which has a meaning in post and send only; say `!'".to_owned(),
                );
            }
            if list.split(',').all(|part| part.starts_with(['!', '@'])) {
                return Err("only excludes, so that nothing fits; begin with \"*,\"".to_owned());
            }
            Ok(list)
        };
        self.take(table, key, read).unwrap_or_default()
    }
}

fn truth(value: &DeValue<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(truth) => Ok(*truth),
        other => Err(value::wrong("true or false", other)),
    }
}
