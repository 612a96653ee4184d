//! The settings, `broadsheet.toml`. The file is parsed once, and one technique reads all of it: a table is asked for its keys by name,
//! errors are collected with their places, and keys that nothing asked for are errors too.
//!
//! | file | contents |
//! |---|---|
//! | `table` | a row for each single setting: its key, range and help. It feeds the template that `broadsheet init` writes, the reading, `check` and `limits` |
//! | `read` | the whole file |
//! | `table_reader`, `value` | one TOML table; one value |
//! | `sites`, `via` | `accept` and `[[site]]`, as values of `groups` |
//! | `access_entries` | `[[access]]`, as values of `access` |
//! | `pulls`, `nntp_server` | `[[pull]]`, as values of `pull`; how to connect to another server |
//! | `expiry` | `[expiry]` and `[[expire]]`, as values of `expire` |
//! | `deciding_text`, `in_force` | of a node of a cluster: the part of the file by which all nodes decide; the copies of what is in force |
//! | `finding` | a finding in the files of the administrator, as `check` and a reload report it |
//! | `options` | what the other crates are started with |

mod access_entries;
pub mod cluster;
pub mod deciding_text;
mod defaults;
mod directory;
mod expiry;
mod fault;
mod finding;
pub mod in_force;
mod nntp;
mod nntp_server;
mod options;
mod parts;
mod post;
mod pulls;
mod read;
mod sections;
mod setting;
mod site_patterns;
mod sites;
mod system_zone;
mod table;
mod table_reader;
mod template;
mod value;
pub mod via;

pub use crate::cluster::Cluster;
pub use directory::{Error, NewsDirectory};
pub use fault::{Fault, Faults};
pub use finding::{Finding, Remedy, Severity};
pub use nntp::{Auth, Nntp};
pub use options::OBJECTS_LOGIN_FILE;
pub use parts::{access, expiry, sites};
pub use post::Post;
pub use read::{Origin, Read};
pub use sections::{Backup, Control, Incoming, Limits, Offload, Report, Schedule, Store, Sync};
pub use setting::{Setting, Slot, Unit, quoted};
pub use site_patterns::{own_host_for, patterns_of_site};
pub use system_zone::SystemZone;
pub use table::{SECTIONS, TABLE};
pub use template::{template, wrap};

/// The file's name in the news directory.
pub const FILE: &str = "broadsheet.toml";

/// The formats of the daemon's log (`log_format`).
pub const LOG_FORMATS: [&str; 2] = ["text", "json"];

/// Every setting in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// This site's name in Path and Xref.
    pub name: String,
    /// For the Organization header of articles posted here.
    pub organization: String,
    /// How the daemon writes what it says: `text` or `json`.
    pub log_format: String,
    /// Whether the daemon confines its threads.
    pub sandbox: bool,
    /// Whether articles from other sites whose groups are all unknown are filed in `junk`.
    pub junk: bool,
    /// Whether the articles of this news directory lack their bodies.
    pub headers_only: bool,
    /// `[limits]`
    pub limits: Limits,
    /// `[store]`
    pub store: Store,
    /// `[offload]`
    pub offload: Offload,
    /// `[schedule]`
    pub schedule: Schedule,
    /// `[report]`
    pub report: Report,
    /// `[backup]`
    pub backup: Backup,
    /// `[incoming]`
    pub incoming: Incoming,
    /// `accept` and `[[site]]`
    pub sites: groups::Tables,
    /// `[post]`
    pub post: Post,
    /// `[control]`
    pub control: Control,
    /// `[nntp]`
    pub nntp: Nntp,
    /// `[auth]`
    pub auth: Auth,
    /// `[[access]]`
    pub access: access::Tables,
    /// `[[pull]]`
    pub pulls: Vec<pull::Source>,
    /// `[cluster]`
    pub cluster: Cluster,
    /// The file `blocks`.
    pub blocks: std::sync::Arc<relay::Blocks>,
}

/// The errors of settings that depend on each other, and of texts with a form of their own: each with its key.
pub fn check_together(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    // In wire form an article of nothing but empty lines has twice the bytes, and an article
    // must lie in one segment.
    let article = settings.limits.article_bytes_max;
    if article > settings.store.segment_bytes / 2 {
        let told = format!(
            "is less than twice limits.article_bytes_max ({}), so that such an article would not fit in a segment",
            groups::size::bytes(article)
        );
        faults.push(("store.segment_bytes", told));
    }
    faults.extend(settings.offload.faults());
    faults.extend(settings.post.fault());
    faults.extend(settings.report.fault());
    faults.extend(settings.nntp.faults());
    faults.extend(settings.cluster_fault());
    if !LOG_FORMATS.contains(&settings.log_format.as_str()) {
        faults.push(("log_format", "is \"text\" or \"json\"".to_owned()));
    }
    if settings.headers_only && !settings.pulls.is_empty() {
        let told = "is true, so that articles come from header-only feeds alone: remove [[pull]]";
        faults.push(("headers_only", told.to_owned()));
    }
    if let Some(Err(error)) = settings.auth.command() {
        faults.push(("auth.program", format!("cannot be run: {error}")));
    }
    faults
}

/// Checks a site's name. Its characters are those that C News takes as part of a host in Path (`A-Z a-z 0-9 . -`), and `_`, which old
/// sites have.
///
/// # Errors
/// The fault, and advice.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the site has no name: say name = \"news.example.org\"".to_owned());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match name.chars().find(|&c| !allowed(c)) {
        Some(c) => Err(format!(
            "a site's name may not hold {c:?}: it stands in Path, where only letters, digits, `.', `-' and `_' are part of a name"
        )),
        None if name.eq_ignore_ascii_case("ME") => {
            Err("`ME' is how sys names this site; give its real name".to_owned())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_their_ranges() {
        let settings = Settings::default();
        for setting in TABLE {
            if let Some(number) = setting.number(&settings) {
                assert!(
                    (setting.range.0..=setting.range.1).contains(&number),
                    "{}",
                    setting.path()
                );
            }
        }
    }

    #[test]
    fn names_with_path_delimiters_are_refused() {
        assert!(check_name("news.example.org").is_ok());
        assert!(check_name("ihnp4").is_ok());
        for bad in ["", "a!b", "a b", "a:b", "a,b", "ME", "é"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
