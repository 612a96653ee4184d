//! The sites as tables of `broadsheet.toml`: `[[site]]` for each site that something is sent to, and `accept` for
//! what we take ourselves.
//!
//! ```toml
//! accept = "comp,news,!comp.binaries"        # or a list of such texts; above the first section
//!
//! [[site]]
//! name = "news.example.net"
//! groups = ["comp", "sci", "!comp.os"]       # C News patterns, as a text or a list
//! distributions = "world,na"                 # not given: all
//! exclude = ["oldname.example.net"]          # nor articles that have passed there
//! max_size = "100 kB"                        # of an article
//! only = "moderated"                         # or "unmoderated"
//! hops = 3                                   # only articles from so near
//! start = "oldest"                           # or "now", or a date: from where on, when the site is new
//! via = { batch = "uux - -r -z SITE!rnews", size = "100 kB", compress = "gzip", queue = 20, schedule = "every 15 min" }
//! ```
//!
//! `via` is one of
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
//! ```
//!
//! Two things are simpler than in `sys`: without `distributions` there is no condition on Distribution, and a
//! name is written once. `SITE` in a command stands for the name. No shell is run unless the command calls one.

mod read;
pub mod value;
mod via;

use std::fmt;

use crate::pattern::Pattern;
use crate::place::{Place, line_and_column};
use crate::site::Site;

pub use read::{KEYS, Reading};

/// The file's name in the news directory.
pub const FILE: &str = "broadsheet.toml";

/// What `broadsheet.toml` says of sites.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    /// `accept`.
    pub accept: Option<Accept>,
    /// The `[[site]]` tables, in order.
    pub sites: Vec<Site>,
}

/// What we take ourselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// Where it is written.
    pub place: Place,
    /// The groups.
    pub groups: Pattern,
}

/// Something wrong at a place of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFault {
    /// Byte offset in the text.
    pub offset: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

/// All faults of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFaults(Vec<String>);

impl std::error::Error for TableFaults {}

/// A line for each: `broadsheet.toml:3:5: what is wrong`.
impl fmt::Display for TableFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// What is wrong with a text that is no TOML. Of a key that stands twice its name is said.
pub fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    let named = error.span().and_then(|span| text.get(span));
    match named.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) if message == "duplicate key" => format!("{message} `{name}'"),
        _ => message.to_owned(),
    }
}

impl Tables {
    /// Reads `accept` and `[[site]]` out of the text of `broadsheet.toml`; other keys are somebody else's.
    ///
    /// # Errors
    /// All faults together, or that it is no TOML.
    pub fn parse(text: &str) -> Result<Self, TableFaults> {
        let told = |fault: &TableFault| {
            let (line, column) = line_and_column(text, fault.offset);
            format!("{FILE}:{line}:{column}: {}", fault.what)
        };
        let table = match toml::de::DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let fault = TableFault {
                    offset: error.span().unwrap_or_default().start,
                    what: toml_fault(text, &error),
                };
                return Err(TableFaults(vec![told(&fault)]));
            }
        };
        let mut reading = Reading::new(text);
        for (key, value) in table.get_ref() {
            reading.entry(key.get_ref(), key.span().start, value);
        }
        let (tables, faults) = reading.done();
        match faults.is_empty() {
            true => Ok(tables),
            false => Err(TableFaults(faults.iter().map(told).collect())),
        }
    }
}
