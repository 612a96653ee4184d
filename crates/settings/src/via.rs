//! `via` of a `[[site]]`: how its articles travel. It is one of
//!
//! ```toml
//! via = "batchparms"                                    # batches, as that file says
//! via = { batch = "ssh SITE rnews", compress = "zstd" } # batches, each on standard input of the command
//! via = { batch = "uux - -r SITE!rnews", build = "ihave" } # offers ids; the site asks for what it wants
//! via = { directory = "/srv/other/in.coming" }          # batches, dropped into a directory
//! via = { files = "out.going/x/togo", form = "n" }      # a line for each article in a file: f, F, n or I
//! via = { program = "nntpsend -x", gives = "id" }       # a program kept running: "id" or "article"
//! via = { command = "mail -s news admin" }              # a command for each article, its file as %s
//! via = { news = "/srv/other" }                         # into another news directory
//! via = { tree = "/srv/spool", overview = true }        # a file for each article: comp/lang/c/123
//! via = { nntp = "news.example.net", tls = "starttls" }  # a peer, by NNTP; more keys: see `nntp_server`
//! ```
//!
//! `SITE` in a command stands for the name. No shell is run unless the command calls one.

use std::path::{Component, PathBuf};

use groups::nntp_server::{CONNECTIONS, Hours};
use groups::sites::{BatchVia, Build, Compress, Gives, ListForm, NntpVia, Queue, To, Via};
use groups::{CommandLine, When, nearest};
use toml::de::DeValue;

use crate::nntp_server;
use crate::table_reader::TableReader;
use crate::value;

/// The keys that say how articles travel; a table has one of them.
const KINDS: &[&str] = &[
    "batch",
    "directory",
    "files",
    "program",
    "command",
    "news",
    "tree",
    "nntp",
];

const FORMS: &[(&str, ListForm)] = &[
    ("f", ListForm::NameSize),
    ("F", ListForm::Name),
    ("n", ListForm::NameId),
    ("I", ListForm::Id),
];

/// Most connections to one peer.
pub const CONNECTIONS_MAX: u32 = 64;

const GIVES: &[(&str, Gives)] = &[("id", Gives::Id), ("article", Gives::Article)];

/// The smallest batch, bytes: a header of some length should fit.
const BATCH_BYTES_MIN: u64 = 1000;

/// Reads `via` of a site; `None` after an error, or where it is missing.
pub fn read(site: &mut TableReader<'_, '_>, name: &[u8]) -> Option<Via> {
    let offset = site.value_offset("via");
    let table = match site.get("via")?.get_ref() {
        DeValue::String(word) if word == "batchparms" => {
            return Some(Via::Batch(BatchVia::default()));
        }
        DeValue::Table(table) => table,
        other => {
            let example =
                "\"batchparms\", or a table such as { batch = \"uux - -r -z SITE!rnews\" }";
            site.fault(offset, format!("via {}", value::wrong(example, other)));
            return None;
        }
    };
    let mut given = KINDS.iter().filter(|kind| table.contains_key(**kind));
    let kind = match (given.next(), given.next()) {
        (Some(kind), None) => *kind,
        (Some(first), Some(second)) => {
            let what = format!("via has both {first} and {second}; take one");
            site.fault(offset, what);
            return None;
        }
        (None, _) => {
            let mut hints = table
                .iter()
                .map(|(key, _)| nearest::hint(key.get_ref(), "", KINDS.iter().copied()));
            let hint = hints.find(|hint| !hint.is_empty());
            let kinds = KINDS.join(", ");
            let hint = hint.unwrap_or_default();
            site.fault(
                offset,
                format!("via names no transport: use one of {kinds}{hint}"),
            );
            return None;
        }
    };
    let mut via = site.below(table, offset, format!("via with {kind}"));
    let read = of_kind(&mut via, kind, name);
    via.end();
    read
}

fn of_kind(via: &mut TableReader<'_, '_>, kind: &'static str, site: &[u8]) -> Option<Via> {
    match kind {
        "batch" | "directory" => batch(via, kind, site).map(Via::Batch),
        "files" => {
            let path = via.take(kind, path);
            let form = via.take("form", |form| value::word(form, FORMS));
            Some(Via::FileList {
                form: form.unwrap_or(ListForm::NameSize),
                path: path?,
            })
        }
        "program" => {
            let command = via.take(kind, |line| command(line, site));
            let gives = via.take("gives", |gives| value::word(gives, GIVES));
            if !via.has("gives") {
                via.fault(
                    via.offset,
                    "via program has no gives: say \"id\" or \"article\"",
                );
            }
            Some(Via::Program {
                command: command?,
                gives: gives?,
            })
        }
        "command" => {
            let command = via.take(kind, |line| match command(line, site)? {
                command if command.has_one_file() => Ok(command),
                _ => Err("may hold %s (the article's file) once, and %%; no other %".to_owned()),
            });
            command.map(Via::Command)
        }
        "tree" => {
            let directory = via.take(kind, path);
            let overview = via.take("overview", value::truth);
            Some(Via::Tree {
                directory: directory?,
                overview: overview.unwrap_or(false),
            })
        }
        "nntp" => {
            let server = nntp_server::read(via, kind);
            let connections = via.take("connections", |value| match value::count(value)? {
                0 => Err("is at least 1".to_owned()),
                more if more > CONNECTIONS_MAX => Err(format!("is at most {CONNECTIONS_MAX}")),
                number => Ok(number),
            });
            let rate = via.take("rate", nntp_server::rate);
            let hours = via.take("hours", |value| Hours::parse(&value::text(value)?));
            let headfeed = via.take("headfeed", value::truth);
            Some(Via::Nntp(NntpVia {
                server: server?,
                connections: connections.unwrap_or(CONNECTIONS),
                rate,
                hours,
                headfeed: headfeed.unwrap_or(false),
            }))
        }
        _ => via
            .take(kind, path)
            .map(|directory| Via::News { directory }),
    }
}

fn batch(via: &mut TableReader<'_, '_>, kind: &'static str, site: &[u8]) -> Option<BatchVia> {
    // The name of the site must be one that goes with what the batches hold.
    let build = via.take("build", |word| {
        let build = value::word(word, Build::ALL)?;
        match build.peer(site) {
            None if !site.is_empty() => Err(format!(
                "answers messages of another site: the name of this one should be HOST{}",
                build.suffix()
            )),
            _ => Ok(build),
        }
    });
    let peer = build.and_then(|build| build.peer(site)).unwrap_or(site);
    let to = match kind {
        "batch" => via.take(kind, |line| command(line, peer).map(To::Command)),
        _ => via.take(kind, |value| path(value).map(To::Directory)),
    };
    let at_least = |value: &DeValue<'_>| match value::size(value)? {
        small if small < BATCH_BYTES_MIN => Err(format!("may not be below {BATCH_BYTES_MIN}")),
        size => Ok(size),
    };
    let batch = BatchVia {
        size: via.take("size", at_least),
        size_max: via.take("size_max", at_least),
        build,
        compress: via.take("compress", |word| value::word(word, Compress::ALL)),
        queue: via.take("queue", |value| match value {
            DeValue::String(word) if word == "unlimited" => Ok(Queue::Unlimited),
            // The site would never get a batch.
            DeValue::Integer(_) => match value::count(value)? {
                0 => Err("is at least 1; to send nothing for a while, use `feed pause'".to_owned()),
                most => Ok(Queue::Batches(most)),
            },
            _ => Err(value::wrong("a number of batches, or \"unlimited\"", value)),
        }),
        class: via.take("class", |value| match value.as_str().map(str::as_bytes) {
            Some([letter]) if letter.is_ascii_alphabetic() => Ok(*letter),
            _ => Err(value::wrong("one letter", value)),
        }),
        schedule: via.take("schedule", |value| When::parse(&value::text(value)?)),
        to: Some(to?),
    };
    if via.has("size_max") && batch.size_max() < batch.size() {
        let what = format!("size_max is less than size ({})", batch.size());
        via.fault(via.value_offset("size_max"), what);
    }
    Some(batch)
}

fn command(value: &DeValue<'_>, site: &[u8]) -> Result<CommandLine, String> {
    let line = value::text(value)?;
    CommandLine::parse(line.as_bytes())
        .map(|command| command.for_site(site))
        .map_err(|fault| format!("cannot be run: {fault}"))
}

/// A path, if it is relative, below the news directory.
fn path(value: &DeValue<'_>) -> Result<PathBuf, String> {
    let path = value::text(value).map(PathBuf::from)?;
    let mut parts = path
        .components()
        .filter(|part| !matches!(part, Component::CurDir));
    match parts.next() {
        Some(Component::Normal(first)) if OWN.iter().any(|own| first == *own) => Err(format!(
            "names {}, which belongs to the news system itself: use out.going/SITE, for example",
            path.display()
        )),
        _ => Ok(path),
    }
}

/// Files and directories of a news directory that a feed would destroy.
const OWN: [&str; 14] = [
    "active",
    "broadsheet.toml",
    "cancels",
    "expired",
    "explist",
    "feeds",
    "index",
    "index.key",
    "keys",
    "log",
    "newsgroups",
    "segments",
    "sys",
    "users",
];
