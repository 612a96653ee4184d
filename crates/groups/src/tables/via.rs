//! Reading `via`.

use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Reading, value};
use crate::command_line::CommandLine;
use crate::via::{BatchVia, Build, Compress, Gives, ListForm, Queue, To, Via};
use crate::when::When;

/// The keys that say which kind it is, and those that go with each.
const KINDS: &[(&str, &[&str])] = &[
    ("batch", BATCH_KEYS),
    ("directory", BATCH_KEYS),
    ("files", &["files", "form"]),
    ("program", &["program", "gives"]),
    ("command", &["command"]),
    ("news", &["news"]),
];

const BATCH_KEYS: &[&str] = &[
    "batch",
    "directory",
    "size",
    "size_max",
    "build",
    "compress",
    "queue",
    "class",
    "schedule",
];

const FORMS: &[(&str, ListForm)] = &[
    ("f", ListForm::NameSize),
    ("F", ListForm::Name),
    ("n", ListForm::NameId),
    ("I", ListForm::Id),
];

const GIVES: &[(&str, Gives)] = &[("id", Gives::Id), ("article", Gives::Article)];

/// The smallest batch: a header of some length should fit.
const BATCH_BYTES_MIN: u64 = 1000;

impl Reading<'_> {
    /// How the articles of a site travel; `None` after a fault.
    pub(super) fn via(&mut self, via: &Spanned<DeValue<'_>>, site: &[u8]) -> Option<Via> {
        let offset = via.span().start;
        let table = match via.get_ref() {
            DeValue::String(word) if word == "batchparms" => {
                return Some(Via::Batch(BatchVia::default()));
            }
            DeValue::Table(table) => table,
            other => {
                let example =
                    "\"batchparms\", or a table such as { batch = \"uux - -r -z SITE!rnews\" }";
                self.fault(offset, format!("via {}", value::wrong(example, other)));
                return None;
            }
        };
        let mut given = KINDS.iter().filter(|(kind, _)| table.contains_key(*kind));
        let (kind, keys) = match (given.next(), given.next()) {
            (Some(kind), None) => *kind,
            (Some((first, _)), Some((second, _))) => {
                self.fault(
                    offset,
                    format!("via has both {first} and {second}; take one"),
                );
                return None;
            }
            (None, _) => {
                let all: Vec<&str> = KINDS.iter().flat_map(|(_, keys)| *keys).copied().collect();
                self.unknown_keys(table, &all, "via");
                let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
                let what = format!("via says no way to travel: one of {}", kinds.join(", "));
                self.fault(offset, what);
                return None;
            }
        };
        self.unknown_keys(table, keys, &format!("via with {kind}"));
        let build = self.build(table, site);
        let peer = build.and_then(|build| build.peer(site)).unwrap_or(site);
        let command = |value: &DeValue<'_>| command(value, peer);
        match kind {
            "batch" => {
                let to = self.take(table, kind, command)?;
                Some(Via::Batch(self.batch(table, To::Command(to), build)))
            }
            "directory" => {
                let to = self.take(table, kind, path)?;
                Some(Via::Batch(self.batch(table, To::Directory(to), build)))
            }
            "files" => {
                let path = self.take(table, kind, path)?;
                let form = self.take(table, "form", |form| value::word(form, FORMS));
                let form = form.unwrap_or(ListForm::NameSize);
                Some(Via::FileList { form, path })
            }
            "program" => {
                let command = self.take(table, kind, command)?;
                let gives = self.take(table, "gives", |gives| value::word(gives, GIVES));
                if !table.contains_key("gives") {
                    self.fault(
                        offset,
                        "via program has no gives: say \"id\" or \"article\"",
                    );
                }
                let gives = gives?;
                Some(Via::Program { command, gives })
            }
            "command" => {
                let command = self.take(table, kind, |value| match command(value)? {
                    command if command.has_one_file() => Ok(command),
                    _ => {
                        Err("may hold %s (the article's file) once, and %%; no other %".to_owned())
                    }
                })?;
                Some(Via::Command(command))
            }
            _ => {
                let directory = self.take(table, kind, path)?;
                Some(Via::News { directory })
            }
        }
    }

    /// What batches hold; the site's name must be one that goes with it.
    fn build(&mut self, table: &DeTable<'_>, site: &[u8]) -> Option<Build> {
        self.take(table, "build", |word| {
            let build = value::word(word, Build::ALL)?;
            match build.peer(site) {
                None if !site.is_empty() => Err(format!(
                    "answers messages of another site: the name of this one should be HOST{}",
                    build.suffix()
                )),
                _ => Ok(build),
            }
        })
    }

    fn batch(&mut self, table: &DeTable<'_>, to: To, build: Option<Build>) -> BatchVia {
        let at_least = |value: &DeValue<'_>| match value::size(value)? {
            small if small < BATCH_BYTES_MIN => Err(format!("may not be below {BATCH_BYTES_MIN}")),
            size => Ok(size),
        };
        let batch = BatchVia {
            size: self.take(table, "size", at_least),
            size_max: self.take(table, "size_max", at_least),
            build,
            compress: self.take(table, "compress", |word| value::word(word, Compress::ALL)),
            to: Some(to),
            queue: self.take(table, "queue", |value| match value {
                DeValue::String(word) if word == "unlimited" => Ok(Queue::Unlimited),
                DeValue::Integer(_) => value::count(value).map(Queue::Batches),
                _ => Err(value::wrong("a number of batches, or \"unlimited\"", value)),
            }),
            class: self.take(table, "class", |value| {
                match value.as_str().map(str::as_bytes) {
                    Some([letter]) if letter.is_ascii_alphabetic() => Ok(*letter),
                    _ => Err(value::wrong("one letter", value)),
                }
            }),
            schedule: self.take(table, "schedule", |value| When::parse(&value::text(value)?)),
        };
        if batch.size_max() < batch.size()
            && let Some(value) = table.get("size_max")
        {
            let offset = value.span().start;
            self.fault(
                offset,
                format!("size_max is less than size ({})", batch.size()),
            );
        }
        batch
    }
}

fn command(value: &DeValue<'_>, site: &[u8]) -> Result<CommandLine, String> {
    let line = value::text(value)?;
    CommandLine::parse(line.as_bytes())
        .map(|command| command.for_site(site))
        .map_err(|fault| format!("cannot be run: {fault}"))
}

fn path(value: &DeValue<'_>) -> Result<PathBuf, String> {
    value::text(value).map(PathBuf::from)
}
