//! `broadsheet article remove`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use article::{Article, Form, Header};
use cluster::removal::Removal;
use groups::sites::Via;
use inject::Draft;
use serde_json::{Value, json};
use store::{
    Erased, Expires, HistoryLine, Lock, Position, REMOVAL_TEXT_BYTES_MAX, RemovalNote, RemovedBy,
    Snapshot, Spool,
};

use crate::answer::Answer;
use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Kind, Operands};
use crate::posting::Posting;
use crate::removal_search;
use crate::removed;
use crate::row_search;
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["article", "remove"],
    also: &[],
    summary: "take articles down",
    about: "\
Removes articles at once: readers and feeds do not see them any more, and copies are refused as
duplicates. `article restore' brings them back for store.restorable_days, unless they are erased.
The id of an article that is not here is remembered, so that the article is refused when it comes.
Other sites hear nothing, unless --cancel is given.

With --erase the record in the log, the overview rows and the files of trees are overwritten, and the
disk is read again. Archives of expire, batches that wait for other sites and backups are not
touched, and what a file system that copies on write, or a flash disk, keeps of old blocks is out of
reach.

Instead of articles, criteria may be given; the articles that meet all of them are removed. Try them
with -n first. Patterns are those of `overview --match': a part of the content, or with `*' a wildmat of
the whole. --path reads each article that meets the others. --login removes posts of this server.

  broadsheet article remove -n --from spammer@example.com --since '2 days'

In a cluster all nodes remove the articles; --erase overwrites them on this node, and on the
others where the command runs, too. The log of the cluster keeps its copy until it is trimmed.",
    operands: Operands {
        shown: "ID|GROUP/NUMBER...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new("from", "Articles with this in From.").value("PATTERN"),
        Flag::new("subject", "Articles with this in Subject.").value("PATTERN"),
        Flag::new("path", "Articles with this in Path.").value("PATTERN"),
        Flag::new("login", "Articles that this login or account posted here, as posts.log tells.")
            .value("LOGIN"),
        Flag::new(
            "group",
            "Articles in these groups: a subscription list or a wildmat.",
        )
        .value("PATTERN"),
        row_search::SINCE,
        row_search::WILDMAT,
        Flag {
            kind: Kind::New,
            ..Flag::classic(
                'n',
                "dry-run",
                "Print the articles that would be removed, and remove nothing.",
            )
        },
        Flag::new("reason", "Why; `article show' and `article removed' tell it.").value("TEXT"),
        Flag::new("erase", "Overwrite the bytes on the disk now. This cannot be undone."),
        Flag::new("cancel", "Post a cancel message, too, so that other sites remove the articles if they accept it."),
    ],
    exits: &[
        Meaning {
            status: Status::NO,
            when: "nothing was found, or an article could not be removed, or no cancel message could be posted for it; the others were removed",
        },
        Meaning {
            status: Status::ATTENTION,
            when: "an error occurred: the message says what was done",
        },
    ],
    run,
};

/// An article to remove.
struct Target {
    id: Vec<u8>,
    position: Option<Position>,
    links: Vec<(Vec<u8>, u64)>,
    was_removed: bool,
}

/// The result of removing an article.
struct Done {
    id: String,
    is_here: bool,
    was_removed: bool,
    erased: Option<Erased>,
    tree_files: usize,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let reason = given
        .value("reason")
        .map(|reason| reason.to_string_lossy().into_owned());
    let reason = reason.unwrap_or_default();
    if reason.len() > REMOVAL_TEXT_BYTES_MAX || reason.chars().any(char::is_control) {
        return Err(given
            .usage(format!(
                "the reason must be one line of at most {REMOVAL_TEXT_BYTES_MAX} bytes"
            ))
            .into());
    }
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let is_erasing = given.has("erase");
    // No segment is rewritten meanwhile.
    let _one = is_erasing
        .then(|| Lock::take_named(directory.root(), "lock.expire", true))
        .transpose()?;
    let snapshot = directory.snapshot()?;
    let mut status = Status::OK;
    let mut ids = Vec::new();
    for name in &given.operands {
        let name = name.as_encoded_bytes();
        let id = removed::id_of(&snapshot, name)?;
        let id = id.filter(|id| article::message_id::check(id).is_ok());
        let Some(id) = id else {
            eprintln!("broadsheet: no such article: {}", groups::shown(name));
            status = Status::NO;
            continue;
        };
        ids.push(id);
    }
    let found = removal_search::run(given, directory.root(), &snapshot)?;
    if given.operands.is_empty() && found.is_empty() {
        eprintln!("broadsheet: no article meets all criteria");
        return Ok(Status::NO);
    }
    if given.has("dry-run") {
        for article in &found {
            given.print(article, out)?;
        }
        for id in &ids {
            writeln!(out, "would remove {}", groups::shown(id))?;
        }
        return Ok(status);
    }
    ids.extend(
        found
            .iter()
            .map(|article| article.value("Message-ID").to_vec()),
    );
    let trees = match is_erasing {
        true => trees(&directory, &settings)?,
        false => Vec::new(),
    };
    let now = relay::Now::read().seconds;
    let note = RemovalNote {
        seconds: now,
        until: now.saturating_add(settings.restorable_seconds()),
        by: RemovedBy::Hand,
        text: reason.as_bytes(),
    };
    let cluster = ClusterLog::of(&directory)?;
    let options = || store::Options {
        follows_log: cluster.is_some(),
        ..settings.store_options()
    };
    let targets = match &cluster {
        Some(log) => match remove_in_cluster((log, directory.root()), ids, (note, is_erasing))? {
            Some(targets) => targets,
            None => return Ok(Status::ATTENTION),
        },
        None => {
            drop(snapshot);
            let spool = Spool::open(directory.root(), options())?;
            crate::tell_all(spool.notices());
            remove_here(spool, ids, note)?
        }
    };
    if given.has("cancel") {
        let posting = Posting::begin(given)?;
        let snapshot = directory.snapshot()?;
        for target in &targets {
            let Some(position) = target.position else {
                eprintln!(
                    "broadsheet: {}: not here, and will be refused; no cancel message was posted, because its groups are unknown",
                    groups::shown(&target.id)
                );
                status = Status::NO;
                continue;
            };
            let mut told = Vec::new();
            let draft = target.cancel(newsgroups(&snapshot, position), &reason, &settings.name);
            let posted = posting.post(draft, &mut told)?;
            if posted != Status::OK {
                eprintln!(
                    "broadsheet: {}: removed here, but the cancel message was not posted",
                    groups::shown(&target.id)
                );
                status = Status::NO;
            }
        }
    }
    let mut spool = match is_erasing {
        true => Some(Spool::open(directory.root(), options())?),
        false => None,
    };
    for target in &targets {
        let mut done = Done {
            id: groups::shown(&target.id),
            is_here: target.position.is_some(),
            was_removed: target.was_removed,
            erased: None,
            tree_files: 0,
        };
        if let (Some(spool), Some(position)) = (&mut spool, target.position) {
            for tree in &trees {
                done.tree_files += target.erase_in_tree(tree)?;
            }
            match spool.erase(position, &target.id, note) {
                Ok(erased) => done.erased = Some(erased),
                Err(error) => {
                    eprintln!(
                        "broadsheet: {}: removed, but not erased: {error}",
                        groups::shown(&target.id)
                    );
                    status = Status::ATTENTION;
                    continue;
                }
            }
        }
        given.print(&done, out)?;
    }
    Ok(status)
}

/// Looks the articles up under the lock, and removes them: whoever had the lock before may have filed them.
fn remove_here(
    mut spool: Spool,
    ids: Vec<Vec<u8>>,
    note: RemovalNote<'_>,
) -> Result<Vec<Target>, store::Error> {
    let mut targets = Vec::new();
    for id in ids {
        let line = spool.find(&id)?;
        let mut target = Target::of(id, line.as_ref());
        match target.position {
            Some(position) => {
                target.was_removed = spool.cancelled().until(position).is_some();
                if !target.was_removed {
                    spool.remove(position, &target.id, note)?;
                }
            }
            None if spool.has(&target.id)? => {}
            None => spool.remember(&target.id, note.seconds, Expires::Absent)?,
        }
        targets.push(target);
    }
    spool.commit()?;
    Ok(targets)
}

/// Removes the articles on all nodes. `None`: this node has not done so in time, which is reported.
fn remove_in_cluster(
    (log, root): (&ClusterLog<'_>, &Path),
    ids: Vec<Vec<u8>>,
    (note, is_erasing): (RemovalNote<'_>, bool),
) -> anyhow::Result<Option<Vec<Target>>> {
    let before = Snapshot::open(root)?;
    let mut were_removed = Vec::new();
    for id in &ids {
        let line = before.history_line(id)?;
        let position = line.and_then(|line| line.position);
        were_removed.push(position.is_some_and(|position| before.is_cancelled(position)));
    }
    let removals: Vec<Removal<'_>> = ids.iter().map(|id| removal(id, note, is_erasing)).collect();
    if !log.remove(&removals)? {
        return Ok(None);
    }
    // The log may have brought the articles meanwhile.
    let after = Snapshot::open(root)?;
    let mut targets = Vec::new();
    for (id, was_removed) in ids.into_iter().zip(were_removed) {
        let line = after.history_line(&id)?;
        targets.push(Target {
            was_removed,
            ..Target::of(id, line.as_ref())
        });
    }
    Ok(Some(targets))
}

fn removal<'a>(id: &'a [u8], note: RemovalNote<'a>, is_erasing: bool) -> Removal<'a> {
    let reason = note.text;
    match is_erasing {
        true => Removal::Erase { id, reason },
        false => Removal::Remove {
            until: note.until,
            id,
            reason,
        },
    }
}

/// The Newsgroups of the article at a position; empty if it cannot be read.
fn newsgroups(snapshot: &Snapshot, position: Position) -> Vec<u8> {
    let mut buffer = Vec::new();
    let record = snapshot.record(position, &mut buffer).ok().flatten();
    let newsgroups = record.and_then(|record| {
        let parsed = Article::parse(record.wire_article(), Form::Wire);
        Some(parsed.value(Header::Newsgroups)?.to_vec())
    });
    newsgroups.unwrap_or_default()
}

impl Target {
    fn of(id: Vec<u8>, line: Option<&HistoryLine<'_>>) -> Target {
        Target {
            position: line.and_then(|line| line.position),
            links: line
                .into_iter()
                .flat_map(HistoryLine::links)
                .map(|(group, number)| (group.to_vec(), number))
                .collect(),
            was_removed: false,
            id,
        }
    }

    /// The cancel message.
    fn cancel(&self, newsgroups: Vec<u8>, reason: &str, host: &str) -> Draft {
        let control = [b"cancel ", self.id.as_slice()].concat();
        let mut draft =
            Draft::of_body(format!("Removed by the news administrator. {reason}\n").into_bytes());
        draft.set("Newsgroups", &newsgroups);
        draft.set("Subject", &[b"cmsg ", control.as_slice()].concat());
        draft.set("Control", &control);
        draft.set("Approved", format!("news@{host}").as_bytes());
        draft
    }

    /// Overwrites and removes the files of the article in a tree. Returns their number.
    fn erase_in_tree(&self, tree: &Path) -> anyhow::Result<usize> {
        let mut paths = Vec::new();
        for (group, number) in &self.links {
            if !groups::name::is_safe(group) {
                continue;
            }
            let path = feed::tree::path_of(tree, group).join(number.to_string());
            if has_article(&path, &self.id)? {
                paths.push(path);
            }
        }
        // All of them may be names of one file.
        for path in &paths {
            overwrite(path).map_err(|error| {
                anyhow::Error::new(error).context(format!("cannot erase {}", path.display()))
            })?;
        }
        Ok(paths.len())
    }
}

/// Whether a file has this article.
fn has_article(path: &Path, id: &[u8]) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(data) if data.is_file() => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(false),
    }
    let bytes = std::fs::read(path)?;
    let parsed = Article::parse(&bytes, Form::Native);
    Ok(parsed.value(Header::MessageId) == Some(id))
}

/// Overwrites and removes a file.
fn overwrite(path: &Path) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    file.write_all(&vec![0; length])?;
    file.sync_all()?;
    std::fs::remove_file(path)
}

/// The directories of the sites that get a tree of files.
fn trees(directory: &NewsDirectory, settings: &settings::Settings) -> anyhow::Result<Vec<PathBuf>> {
    let sites = directory.sys(settings)?;
    let trees = sites.sites().iter().filter_map(|site| match &site.via {
        Via::Tree {
            directory: tree, ..
        } => Some(directory.root().join(tree)),
        _ => None,
    });
    Ok(trees.collect())
}

impl Answer for Done {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let id = &self.id;
        match (self.is_here, &self.erased) {
            (false, _) => writeln!(
                out,
                "remembered {id}: it is not here, and is refused when it comes"
            ),
            (true, None) if self.was_removed => writeln!(
                out,
                "{id} was removed before; the reason given then stays (`broadsheet article removed')"
            ),
            (true, None) => writeln!(out, "removed {id}"),
            (true, Some(erased)) => {
                let verified = match (erased.bytes, erased.is_verified) {
                    (0, _) => "; nothing of it was left in the log",
                    (_, true) => "; the disk was read again and has only zeros there",
                    (_, false) => {
                        "; whether the disk itself has only zeros there is not verified: its file system may read from its cache or its journal, and may keep older \
                         copies"
                    }
                };
                let rows = text::counted(erased.rows, "overview row");
                let files = match self.tree_files {
                    0 => String::new(),
                    files => format!(" and {}", text::counted(files as u64, "file of trees")),
                };
                writeln!(
                    out,
                    "erased {id}: overwrote {} bytes of the log, {rows}{files}{verified}",
                    erased.bytes
                )
            }
        }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "here": self.is_here,
            "removed_before": self.was_removed,
            "erased_bytes": self.erased.map(|erased| erased.bytes),
            "erased_rows": self.erased.map(|erased| erased.rows),
            "verified": self.erased.map(|erased| erased.is_verified),
            "tree_files": self.tree_files,
        })
    }
}
