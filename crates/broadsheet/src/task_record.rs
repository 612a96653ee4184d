//! Keeps the results of backup and fsck for the daily report.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use relay::Now;
use report::day::Day;
use report::figures::{self, Figures, TaskFigures};

use crate::directory::NewsDirectory;

/// Keeps the result of a run that began at `from`, seconds since 1970. An error is reported: nothing depends on it. Another user than the owner
/// would leave a file to which the daemon cannot append, so that his runs are not kept.
pub fn record(directory: &NewsDirectory, name: &str, result: &str, from: i64) {
    let root = directory.root();
    let owner = fs::metadata(root).map(|root| root.uid());
    if owner.ok() != Some(rustix::process::geteuid().as_raw()) {
        return;
    }
    let to = Now::read().seconds.max(from);
    let figures = Figures {
        // A run over midnight belongs to the day of its end.
        from: from.max(Day::of(to).start()),
        to,
        task: Some(TaskFigures {
            name: name.to_owned(),
            result: result.to_owned(),
            seconds: u64::try_from(to - from).unwrap_or_default(),
        }),
        ..Figures::default()
    };
    match figures::append(root, &figures) {
        // fsck may look at such a directory, and says so itself.
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => {}
        Err(error) => eprintln!(
            "broadsheet: {}: {error}; the daily report lacks this run",
            directory.file(figures::DIRECTORY).display()
        ),
        Ok(()) => {}
    }
}
