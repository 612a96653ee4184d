//! The files `figures/DAY` of a news directory: the counts of the daemon in a quarter of an hour, an object of JSON a line.
//!
//! A line is appended with one write and without a sync: figures are for people, as `log` is. A line that cannot be parsed is skipped.
//! Each line counts from the line before, so lines of several runs of the daemon, and of `expire`, add up.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::day::Day;
use crate::lines::each_line;
use crate::ranking::{NAME_BYTES_MAX, Ranking, Row};

/// Their directory.
pub const DIRECTORY: &str = "figures";
/// Longest line, bytes: 1 MiB. The rest of a longer one is skipped, and with it the line.
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Networks, and groups, of a line; the others are added up.
pub const NAMED_MAX: usize = 200;
/// Access entries, and feeds, of a line.
pub const PEERS_MAX: usize = 1000;

/// The counts between two times. Fields without a count are left out of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Begin, seconds since 1970.
    pub from: i64,
    /// End, seconds since 1970: a moment of the same day, or the end of that day.
    pub to: i64,
    /// The counts of the daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonFigures>,
    /// The removals of a run of expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<ExpireFigures>,
    /// The result of a run of backup or fsck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskFigures>,
}

/// The result of a run of backup or fsck.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFigures {
    /// `backup` or `fsck`.
    pub name: String,
    /// The result, a line.
    pub result: String,
    /// Duration, seconds.
    pub seconds: u64,
}

/// The counts of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonFigures {
    /// Articles filed, from all sources.
    pub articles: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Commits by their duration (`store::histogram::EDGES_MICROS`).
    pub commits: Vec<u64>,
    /// NNTP connections.
    pub connected: u64,
    /// Rejected ones.
    pub rejected: u64,
    /// Those closed by a timeout.
    pub timed_out: u64,
    /// Successful logins.
    pub logins: u64,
    /// Failed logins.
    pub logins_failed: u64,
    /// NNTP connections at the end.
    pub connections: u64,
    /// The state of the intake at the end.
    pub intake: String,
    /// Free bytes of the file system at the end.
    pub free_bytes: u64,
    /// Size of the file system, bytes.
    pub disk_bytes: u64,
    /// Received articles, by access entry.
    pub entries: Vec<EntryFigures>,
    /// The feeds.
    pub feeds: Vec<FeedFigures>,
    /// Readers by network.
    pub networks: Vec<NetworkFigures>,
    /// Requests by group.
    pub groups: Vec<GroupFigures>,
}

/// The counts of an access entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryFigures {
    /// Its name.
    pub name: String,
    /// The counts, by the names of `status --json`; those of refusals begin with `refused_`.
    pub counts: BTreeMap<String, u64>,
}

/// A feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedFigures {
    /// Its site.
    pub site: String,
    /// Articles offered by NNTP.
    pub offered: u64,
    /// Articles that the peer accepted.
    pub accepted: u64,
    /// Articles that it did not want.
    pub not_wanted: u64,
    /// Articles that it refused when it had them.
    pub refused: u64,
    /// Answers that it wants an article later.
    pub deferred: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Articles that wait at the end.
    pub waiting: u64,
    /// Age of the oldest of them at the end, seconds.
    pub lag_seconds: u64,
    /// The reason why they wait, if it is known.
    pub why: String,
}

/// Readers of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkFigures {
    /// The network; empty for all others.
    pub name: String,
    /// Articles, headers and bodies that they read.
    pub articles: u64,
    /// Connections that ended.
    pub connections: u64,
    /// Commands.
    pub commands: u64,
    /// Bytes sent to them.
    pub bytes: u64,
}

/// Requests for one group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupFigures {
    /// The group; empty for all others.
    pub name: String,
    /// Selections of the group, and requests for its articles by number.
    pub requests: u64,
}

/// The removals of a run of expire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpireFigures {
    /// Articles that left the last of their groups.
    pub articles: u64,
    /// Articles counted in each group.
    pub links: u64,
    /// Bytes of the articles.
    pub bytes: u64,
    /// Bytes returned to the disk.
    pub returned_bytes: u64,
    /// Articles that stay because they could not be archived, segments that could not be shrunk, and the like.
    pub problems: u64,
    /// Bytes that are missing below the limit on space.
    pub missing_bytes: u64,
    /// Duration, seconds.
    pub seconds: u64,
}

/// Networks with counts: articles, connections, commands, bytes.
pub type Networks = Ranking<4>;
/// Groups with their requests.
pub type Groups = Ranking<1>;

impl DaemonFigures {
    /// Sets the networks.
    pub fn set_networks(&mut self, networks: &Networks) {
        let (rows, others) = networks.largest(NAMED_MAX);
        let others = Row {
            name: String::new(),
            counts: others,
        };
        let all = rows.into_iter().chain([others]);
        let counted = all.filter(|row| row.counts.iter().any(|count| *count > 0));
        self.networks = counted
            .map(|row| {
                let [articles, connections, commands, bytes] = row.counts;
                NetworkFigures {
                    name: row.name,
                    articles,
                    connections,
                    commands,
                    bytes,
                }
            })
            .collect();
    }

    /// Sets the groups.
    pub fn set_groups(&mut self, groups: &Groups) {
        let (rows, [others]) = groups.largest(NAMED_MAX);
        let named = rows.into_iter().map(|row| {
            let [requests] = row.counts;
            (row.name, requests)
        });
        let all = named.chain([(String::new(), others)]);
        let counted = all.filter(|(_, requests)| *requests > 0);
        self.groups = counted
            .map(|(name, requests)| GroupFigures { name, requests })
            .collect();
    }

    /// Bounds the names and lists, so that a line stays short.
    fn bound(&mut self) {
        self.entries.truncate(PEERS_MAX);
        self.feeds.truncate(PEERS_MAX);
        let cut = |name: &mut String| {
            let end = (0..=NAME_BYTES_MAX.min(name.len()))
                .rev()
                .find(|end| name.is_char_boundary(*end));
            name.truncate(end.unwrap_or_default());
        };
        self.entries
            .iter_mut()
            .for_each(|entry| cut(&mut entry.name));
        for feed in &mut self.feeds {
            cut(&mut feed.site);
            cut(&mut feed.why);
        }
    }
}

/// Appends a line to the file of its day.
///
/// # Errors
/// The file cannot be written.
pub fn append(dir: &Path, figures: &Figures) -> io::Result<()> {
    let mut figures = figures.clone();
    if let Some(daemon) = &mut figures.daemon {
        daemon.bound();
    }
    let directory = dir.join(DIRECTORY);
    if !directory.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(&directory)?;
    }
    // A line that ends at midnight belongs to the day before.
    let day = Day::of(figures.from);
    let mut line = serde_json::to_vec(&figures)?;
    line.push(b'\n');
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(directory.join(day.to_string()))?;
    if !ends_with_newline(&mut file)? {
        // A power cut tore the line before.
        line.insert(0, b'\n');
    }
    file.write_all(&line)
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Calls `each` for every line of a day, in the order of the file. Returns false without a file.
///
/// # Errors
/// The file cannot be read.
pub fn read(dir: &Path, day: Day, mut each: impl FnMut(Figures)) -> io::Result<bool> {
    let file = match store::regular::open(&dir.join(DIRECTORY).join(day.to_string())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    each_line(&mut BufReader::new(file), LINE_BYTES_MAX, |line| {
        if let Ok(figures) = serde_json::from_slice(line) {
            each(figures);
        }
        true
    })?;
    Ok(true)
}

/// Removes the files of days before `oldest`. Other files stay.
///
/// # Errors
/// The directory cannot be read, or a file cannot be removed.
pub fn remove_before(dir: &Path, oldest: Day) -> io::Result<()> {
    let entries = match fs::read_dir(dir.join(DIRECTORY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let day = entry.file_name().to_str().and_then(Day::parse);
        if day.is_some_and(|day| day < oldest) {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(from: i64, articles: u64) -> Figures {
        Figures {
            from,
            to: from + 900,
            daemon: Some(DaemonFigures {
                articles,
                ..DaemonFigures::default()
            }),
            expire: None,
            task: None,
        }
    }

    fn all(dir: &Path, day: Day) -> Vec<Figures> {
        let mut all = Vec::new();
        read(dir, day, |figures| all.push(figures)).unwrap();
        all
    }

    #[test]
    fn lines_of_a_day_are_read_back() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        let day = Day::parse("2026-11-22").unwrap();
        assert!(!read(dir, day, |_| ()).unwrap());
        let first = figures(day.start(), 1);
        let last = figures(day.end() - 900, 2);
        append(dir, &first).unwrap();
        append(dir, &last).unwrap();
        append(dir, &figures(day.end(), 3)).unwrap();
        assert_eq!(all(dir, day), [first.clone(), last.clone()]);
        // A torn line loses itself only.
        let path = dir.join(DIRECTORY).join("2026-11-22");
        let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
        torn.write_all(b"{\"from\":17").unwrap();
        append(dir, &first).unwrap();
        assert_eq!(all(dir, day), [first.clone(), last, first]);
        let is_private = fs::metadata(&path).unwrap();
        assert_eq!(
            std::os::unix::fs::MetadataExt::mode(&is_private) & 0o777,
            0o600
        );
        fs::write(dir.join(DIRECTORY).join("README"), "").unwrap();
        remove_before(dir, day.plus(1)).unwrap();
        assert!(!path.exists());
        assert!(dir.join(DIRECTORY).join("README").exists());
        assert_eq!(all(dir, day.plus(1)).len(), 1);
    }

    #[test]
    fn a_line_stays_short() {
        let room = tempfile::tempdir().unwrap();
        let mut daemon = DaemonFigures::default();
        let (mut networks, mut groups) = (Networks::default(), Groups::default());
        for number in 0..5_000u64 {
            networks.add(format!("n{number}").as_bytes(), [number, 1, 1, 1]);
            groups.add(&[b'g'; 9_000], [1]);
            groups.add(format!("g{number}").as_bytes(), [number]);
            daemon.entries.push(EntryFigures {
                name: "\u{e9}".repeat(1_000),
                counts: [("offered".to_owned(), number)].into(),
            });
        }
        daemon.set_networks(&networks);
        daemon.set_groups(&groups);
        let day = Day::parse("2026-11-22").unwrap();
        let line = Figures {
            from: day.start(),
            daemon: Some(daemon),
            ..Figures::default()
        };
        append(room.path(), &line).unwrap();
        let path = room.path().join(DIRECTORY).join("2026-11-22");
        assert!(fs::metadata(&path).unwrap().len() < LINE_BYTES_MAX as u64);
        let lines = all(room.path(), day);
        let daemon = lines.first().unwrap().daemon.clone().unwrap();
        let requests: u64 = daemon.groups.iter().map(|group| group.requests).sum();
        assert_eq!(requests, groups.total()[0]);
        let articles: u64 = daemon.networks.iter().map(|one| one.articles).sum();
        assert_eq!(articles, networks.total()[0]);
        assert_eq!(daemon.entries.len(), PEERS_MAX);
    }
}
