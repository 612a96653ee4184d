//! Files that wait in INN's spools: batches that it has not filed, and articles that it has not sent. They are not taken over.

use std::io;
use std::path::{Path, PathBuf};

use crate::inn::installation::Installation;
use crate::moved::files_in;
use crate::report::{Fate, Report};

/// Reports each directory with such files.
///
/// # Errors
/// innfeed.conf cannot be read.
pub(super) fn report_files(inn: &Installation, report: &mut Report) -> io::Result<()> {
    let place = |key: &str, default: &str| match inn.keys.value(key) {
        Some(path) if !path.is_empty() => PathBuf::from(path),
        _ => inn.spool.join(default),
    };
    let incoming = place("pathincoming", "incoming");
    let count = files_in(&incoming, |name| !name.starts_with('.'));
    if count > 0 {
        let why = format!(
            "{count} batches wait: run INN's `rnews -U' before you stop INN, or give the files to `broadsheet rnews' afterwards"
        );
        report.add((&incoming, 0), Fate::Dropped, why);
    }
    outgoing(&place("pathoutgoing", "outgoing"), |_| true, report);
    let innfeed = inn.setting("innfeed.conf")?.groups();
    let backlog = innfeed.value("backlog-directory").unwrap_or("innfeed");
    let is_backlog = |name: &str| name.ends_with(".input") || name.ends_with(".output");
    outgoing(&inn.spool.join(backlog), is_backlog, report);
    Ok(())
}

fn outgoing(dir: &Path, is_meant: fn(&str) -> bool, report: &mut Report) {
    let count = files_in(dir, is_meant);
    if count > 0 {
        let why = format!(
            "articles wait for other sites in {count} files: flush the feeds (`ctlinnd flush \"\"'), and let innfeed or nntpsend send them \
             before you stop INN"
        );
        report.add((dir, 0), Fate::Dropped, why);
    }
}
