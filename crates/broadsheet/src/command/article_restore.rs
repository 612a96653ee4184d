//! `broadsheet article restore`

use std::io::Write;

use cluster::removal::Removal;
use store::{RemovedBy, Spool};

use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::removed;

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
    exits: &[Meaning {
        status: Status::NO,
        when: "an article could not be restored",
    }],
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
    crate::tell_all(spool.iter().flat_map(|spool| spool.notices().to_vec()));
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
            // Another node may have erased or expired an article before.
            let after = directory.snapshot()?;
            let mut visible = Vec::new();
            for id in restored {
                let line = after.history_line(&id)?;
                if line.is_some_and(|line| after.is_alive(&line)) {
                    visible.push(id);
                    continue;
                }
                eprintln!(
                    "broadsheet: cannot restore {}: another command erased, removed or expired it meanwhile",
                    groups::shown(&id)
                );
                status = Status::NO;
            }
            restored = visible;
        }
        (None, Some(mut spool)) => drop(spool.commit()?),
        (None, None) => {}
    }
    for id in restored {
        writeln!(out, "restored {}", groups::shown(&id))?;
    }
    Ok(status)
}
