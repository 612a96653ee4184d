//! `broadsheet article restore`

use std::io::Write;
use std::time::Instant;

use cluster::removal::Removal;
use store::{RemovedBy, Spool};

use crate::cluster_log::{COMMAND_PATIENCE, ClusterLog, LOOK};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::removed::{self, RemovedArticle};

/// The table.
pub static COMMAND: Command = Command {
    words: &["article", "restore"],
    also: &[],
    summary: "bring removed articles back",
    about: "\
Shows cancelled or removed articles again, under their numbers. This works for store.restorable_days
after the removal, and as long as expire keeps the article; an erased article is gone. Feeds that
passed the article while it was removed do not send it.",
    operands: Operands {
        shown: "ID...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR],
    exits: &[
        Meaning {
            status: Status::NO,
            when: "an article could not be restored",
        },
        Meaning {
            status: Status::ATTENTION,
            when: "the log of the cluster has the change, and this node has not applied it yet",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let options = directory.settings()?.settings.store_options();
    let cluster = ClusterLog::of(&directory)?;
    let mut spool = match cluster {
        Some(_) => None,
        None => Some(Spool::open(directory.root(), options)?),
    };
    crate::tell_all(spool.iter().flat_map(|spool| spool.notices()));
    // Under the lock: whoever had it before may have removed, erased or expired the articles.
    let snapshot = match &spool {
        Some(spool) => spool.snapshot()?,
        None => directory.snapshot()?,
    };
    let now = relay::Now::read().seconds;
    let removed = removed::all(&snapshot)?;
    let mut status = Status::OK;
    let mut restored = Vec::new();
    for name in &given.operands {
        let id = removed::id_of(&snapshot, name.as_encoded_bytes())?.unwrap_or_default();
        let mut removed = removed.iter().rev();
        let why = match removed.find(|article| article.id == id) {
            None => "no such removed article; `broadsheet article removed' lists them".to_owned(),
            Some(article) if article.by == Some(RemovedBy::Erasure) => {
                format!("it was {}; nothing of it is left", article.told())
            }
            Some(article) => {
                let mut buffer = Vec::new();
                let is_there = snapshot.record(article.position, &mut buffer)?.is_some();
                let line = snapshot.history_line(&id)?;
                let is_kept = line.is_some_and(|line| snapshot.expired().keeps_any(&line));
                match (is_there, is_kept, article.is_restorable(now)) {
                    (true, true, true) => {
                        if let Some(spool) = &mut spool {
                            spool.restore(article.position, &id)?;
                        }
                        restored.push(id);
                        continue;
                    }
                    (true, true, false) => {
                        "the time in which it could be restored is over (store.restorable_days)"
                            .to_owned()
                    }
                    (true, false, _) => "it has expired".to_owned(),
                    (false, ..) => "its space was returned".to_owned(),
                }
            }
        };
        eprintln!(
            "broadsheet: cannot restore {}: {why}",
            groups::shown(name.as_encoded_bytes())
        );
        status = Status::NO;
    }
    match (cluster, spool) {
        (Some(log), _) => {
            let removals: Vec<Removal<'_>> =
                restored.iter().map(|id| Removal::Restore(id)).collect();
            if !log.remove(&removals)? {
                return Ok(Status::ATTENTION);
            }
            let outcome = outcome_of(&directory, &removed, restored)?;
            for id in outcome.gone {
                eprintln!(
                    "broadsheet: cannot restore {}: another command erased, removed or expired it meanwhile",
                    groups::shown(&id)
                );
                status = Status::NO;
            }
            for id in outcome.awaited {
                eprintln!(
                    "broadsheet: the log of the cluster has the change, but this node does not show {} yet (`broadsheet cluster status')",
                    groups::shown(&id)
                );
                status = Status::ATTENTION;
            }
            restored = outcome.visible;
        }
        (None, Some(mut spool)) => drop(spool.commit()?),
        (None, None) => {}
    }
    for id in restored {
        writeln!(out, "restored {}", groups::shown(&id))?;
    }
    Ok(status)
}

/// The results for articles that all nodes are to restore.
#[derive(Default)]
struct Outcome {
    visible: Vec<Vec<u8>>,
    /// Another command, perhaps on another node, erased, removed or expired them before.
    gone: Vec<Vec<u8>>,
    /// They are still removed as they were.
    awaited: Vec<Vec<u8>>,
}

/// Looks for restored articles until each is visible or gone: a node notes an entry as applied a moment before readers see what it did, and
/// may be killed between. `before`: what was removed when the command began.
fn outcome_of(
    directory: &NewsDirectory,
    before: &[RemovedArticle],
    ids: Vec<Vec<u8>>,
) -> anyhow::Result<Outcome> {
    let until = Instant::now() + COMMAND_PATIENCE;
    loop {
        let mut outcome = Outcome::default();
        let snapshot = directory.snapshot()?;
        let after = removed::all(&snapshot)?;
        let removal = |all: &[RemovedArticle], id: &[u8]| {
            all.iter().rev().find(|article| article.id == id).cloned()
        };
        for id in &ids {
            let line = snapshot.history_line(id)?;
            let is_kept = line.is_some_and(|line| snapshot.expired().keeps_any(&line));
            let list = match is_kept && removal(&after, id) == removal(before, id) {
                true => &mut outcome.awaited,
                false if line.is_some_and(|line| snapshot.is_alive(&line)) => &mut outcome.visible,
                false => &mut outcome.gone,
            };
            list.push(id.clone());
        }
        if outcome.awaited.is_empty() || Instant::now() >= until {
            return Ok(outcome);
        }
        std::thread::sleep(LOOK);
    }
}
