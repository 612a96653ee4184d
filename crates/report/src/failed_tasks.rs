//! The scheduled tasks whose last run failed: the file `schedule.failed` in the news directory, a line `TASK TAB TIME TAB HOW` for each. The daemon
//! writes it.

use std::path::Path;

use serde::Serialize;

/// The file in the news directory.
pub const FILE: &str = "schedule.failed";

/// A task whose last run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedTask {
    /// Its name: a command, and what it is for, as in `pull NAME`.
    pub task: String,
    /// When the run ended, seconds since 1970.
    pub at: i64,
    /// How it ended.
    pub how: String,
}

/// Reads the file. Without one, or if it cannot be read, no task is known to have failed; lines that cannot be understood are skipped.
pub fn read(news_directory: &Path) -> Vec<FailedTask> {
    let text = store::regular::read_to_string(&news_directory.join(FILE)).unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        Some(FailedTask {
            task: fields.next()?.to_owned(),
            at: fields.next()?.parse().ok()?,
            how: fields.next()?.to_owned(),
        })
    });
    lines.collect()
}

/// The content of the file.
pub fn text_of(tasks: &[FailedTask]) -> String {
    let line = |FailedTask { task, at, how }: &FailedTask| format!("{task}\t{at}\t{how}\n");
    tasks.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), []);
        let tasks = ["expire", "pull news.example"].map(|task| FailedTask {
            task: task.to_owned(),
            at: 1_000_000_000,
            how: "exit status: 2".to_owned(),
        });
        let text = text_of(&tasks) + "no line\n";
        std::fs::write(dir.path().join(FILE), text).unwrap();
        assert_eq!(read(dir.path()), tasks);
    }
}
