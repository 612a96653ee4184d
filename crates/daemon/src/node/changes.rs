//! Applies what expire has decided on a node, what commands change in the groups, and which articles an administrator removes.

use ::cluster::entry::{Entry, Kind};
use ::cluster::expiry::{self, Line};
use ::cluster::group_change;
use ::cluster::removal::{self, Removal};
use groups::Flag;
use groups::name::is_safe;
use groups::times::GroupCreation;
use relay::file::Filer;
use store::{ExpiryDecision, GroupEdits, RemovalNote, RemovedBy};

/// Bytes of records for each line of an entry, besides twice its own.
const LINE_ADDED_BYTES: usize = 1 << 10;
/// Bytes of records for each entry.
const ENTRY_ADDED_BYTES: usize = 64 << 10;

/// What became of an entry.
pub enum Change {
    /// It is applied.
    Done,
    /// Its bytes are none of such an entry; nothing was changed.
    Damaged,
    /// The state here is not the one in which the entry was made; nothing was changed.
    Impossible(&'static str),
}

/// Applies an entry of expire or of a command.
///
/// # Errors
/// Errors of the store.
pub fn apply(entry: &Entry<'_>, filer: &mut Filer) -> anyhow::Result<Change> {
    let lines = entry.payload.split(|&byte| byte == b'\n').count();
    let bytes = 2 * entry.payload.len() + lines * LINE_ADDED_BYTES + ENTRY_ADDED_BYTES;
    match entry.kind {
        Kind::Expire => expire(entry, filer, bytes as u64),
        Kind::Removal => remove(entry, filer, bytes as u64),
        _ => change_groups(entry, filer, bytes as u64),
    }
}

fn expire(entry: &Entry<'_>, filer: &mut Filer, bytes: u64) -> anyhow::Result<Change> {
    let mut decision = ExpiryDecision::default();
    for line in expiry::lines(entry.payload) {
        match line {
            None => return Ok(Change::Damaged),
            Some(Line::Keep(group, number)) => decision.survivors.push((group.to_vec(), number)),
            Some(Line::Cut(group, number)) => decision.cuts.push((group.to_vec(), number)),
            Some(Line::Gone(group, number)) => decision.gone.push((group.to_vec(), number)),
            Some(Line::Forget(time)) => decision.forget_before = Some(time),
        }
    }
    let active = filer.spool().active();
    let is_above = |(group, cut): &(Vec<u8>, u64)| {
        let group = active.find(group);
        group.is_some_and(|group| *cut > active.high(group).saturating_add(1))
    };
    if decision.cuts.iter().any(is_above) {
        return Ok(Change::Impossible(
            "removes articles that this node has not: it differs from the others; stop it, and run `broadsheet cluster reseed' here",
        ));
    }
    filer.reserve(bytes)?;
    filer.expire_entry(&decision)?;
    Ok(Change::Done)
}

fn change_groups(entry: &Entry<'_>, filer: &mut Filer, bytes: u64) -> anyhow::Result<Change> {
    let changes: Option<Vec<group_change::Change<'_>>> =
        group_change::changes(entry.payload).collect();
    let Some(changes) = changes else {
        return Ok(Change::Damaged);
    };
    let mut edits = GroupEdits::default();
    let (mut set, mut removed) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            group_change::Change::Set(group, flag) => match Flag::parse(flag) {
                Some(flag) if is_safe(group) => set.push((group, flag)),
                _ => return Ok(Change::Damaged),
            },
            group_change::Change::Create(group, creator) => edits.creations.push(GroupCreation {
                group,
                seconds: u64::try_from(entry.seconds()).unwrap_or(0),
                creator,
            }),
            group_change::Change::Describe(group, text) => {
                edits.descriptions.push((group, Some(text)));
            }
            group_change::Change::Remove(group) => {
                edits.descriptions.push((group, None));
                edits.removed.push(group);
                removed.push(group);
            }
        }
    }
    filer.reserve(bytes)?;
    filer.edit_groups(&edits)?;
    for group in removed {
        if filer.spool().active().find(group).is_some() {
            filer.remove_group(group)?;
        }
    }
    for (group, flag) in set {
        filer.set_group(group, flag)?;
    }
    Ok(Change::Done)
}

fn remove(entry: &Entry<'_>, filer: &mut Filer, bytes: u64) -> anyhow::Result<Change> {
    let Some(removals) = removal::removals(entry.payload).collect::<Option<Vec<_>>>() else {
        return Ok(Change::Damaged);
    };
    filer.reserve(bytes)?;
    let note = |until, by, text| RemovalNote {
        seconds: entry.seconds(),
        until,
        by,
        text,
    };
    for removal in removals {
        match removal {
            Removal::Remove { until, id, reason } => {
                filer.remove_article(id, note(until, RemovedBy::Hand, reason))?;
            }
            Removal::Erase { id, reason } => {
                filer.remove_article(id, note(i64::MIN, RemovedBy::Erasure, reason))?;
            }
            Removal::Restore(id) => filer.restore_article(id, entry.seconds())?,
        }
    }
    Ok(Change::Done)
}
