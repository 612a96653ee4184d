//! Reading `accept` and `[[site]]`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Accept, FILE, TableFault, Tables, value};
use crate::nearest;
use crate::pattern::Pattern;
use crate::place::Place;
use crate::site::{Only, SITES_MAX, Site, Start};

/// The keys at the top of `broadsheet.toml` that are read here.
pub const KEYS: &[&str] = &["accept", "site"];

/// The keys of `[[site]]`.
const SITE_KEYS: &[&str] = &[
    "name",
    "groups",
    "distributions",
    "exclude",
    "max_size",
    "only",
    "hops",
    "start",
    "via",
];

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
        match key {
            "accept" => self.accept(offset, value),
            "site" => match value.get_ref() {
                DeValue::Array(sites) if !sites.is_empty() => {
                    for site in sites.iter() {
                        match site.get_ref() {
                            DeValue::Table(table) => self.site(site.span().start, table),
                            _ => self.fault(site.span().start, "a site is a table: write [[site]]"),
                        }
                    }
                }
                _ => self.fault(offset, "a site is written as [[site]], one for each"),
            },
            _ => return false,
        }
        true
    }

    pub(super) fn fault(&mut self, offset: usize, what: impl Into<String>) {
        let what = what.into();
        self.faults.push(TableFault { offset, what });
    }

    /// The value under a key, if it is there and `read` takes it; what `read` says is a fault of that key.
    pub(super) fn take<T>(
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

    /// Tells the keys of a table that are not among `known`; `place` is what the table is called.
    pub(super) fn unknown_keys(&mut self, table: &DeTable<'_>, known: &[&str], place: &str) {
        for (key, _) in table {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let what = match name {
                "accept" => {
                    "`accept' stands at the top of the file, before the first section".into()
                }
                _ => {
                    let hint = nearest::hint(name, "", known.iter().copied());
                    format!("unknown key `{name}' in {place}{hint}")
                }
            };
            self.fault(key.span().start, what);
        }
    }

    fn accept(&mut self, offset: usize, value: &Spanned<DeValue<'_>>) {
        match value::patterns(value.get_ref()) {
            Ok(groups) => {
                self.tables.accept = Some(Accept {
                    place: Place::of(FILE, self.text, offset),
                    groups,
                });
            }
            Err(what) => self.fault(value.span().start, format!("accept {what}")),
        }
    }

    fn site(&mut self, offset: usize, table: &DeTable<'_>) {
        if self.tables.sites.len() >= SITES_MAX {
            return self.fault(offset, format!("more than {SITES_MAX} sites"));
        }
        self.unknown_keys(table, SITE_KEYS, "[[site]]");
        let name = self.take(table, "name", value::name);
        let groups = self.take(table, "groups", value::patterns);
        let distributions = self.take(table, "distributions", value::patterns);
        let exclude = self.take(table, "exclude", value::names);
        let size_max = self.take(table, "max_size", value::size);
        let only = self.take(table, "only", |value| {
            value::word(
                value,
                &[
                    ("moderated", Only::Moderated),
                    ("unmoderated", Only::Unmoderated),
                ],
            )
        });
        let hops_max = self.take(table, "hops", value::count);
        let start = self.take(table, "start", value::start);
        let via = match table.get("via") {
            Some(via) => self.via(via, name.as_deref().unwrap_or_default()),
            None => None,
        };
        for (key, say) in [
            ("name", "the name it has in Path"),
            ("groups", "what it gets"),
            ("via", "how articles travel"),
        ] {
            if !table.contains_key(key) {
                self.fault(offset, format!("this site has no {key}: say {say}"));
            }
        }
        if let (Some(name), Some(subs), Some(via)) = (name, groups, via) {
            let place = table.get("name").map_or(offset, |name| name.span().start);
            self.tables.sites.push(Site {
                place: Place::of(FILE, self.text, place),
                name,
                is_me: false,
                exclusions: exclude.unwrap_or_default(),
                subs,
                dists: Some(distributions.unwrap_or_else(|| Pattern::parse(b"all"))),
                only: only.unwrap_or_default(),
                hops_max,
                size_max,
                start: start.unwrap_or(Start::Now),
                via,
            });
        }
    }
}
