//! The single removals, in the form of C News's `expire -t`.

use store::{Snapshot, Survey};

use crate::archive::{Archive, Layout};
use crate::count::RemovedLinks;
use crate::decide::Plan;
use crate::policy::Policy;

/// An article that is removed from a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The group.
    pub group: Vec<u8>,
    /// Its number there.
    pub number: u64,
    /// The archive to which it is copied first.
    pub archive: Option<Archive>,
}

/// `copy group/number DIR ; remove group/number`, or only the second command: the file's name in the classic spool, with slashes
/// for the dots of the group; DIR as in `explist`.
impl std::fmt::Display for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = String::from_utf8_lossy(&self.group).replace('.', "/");
        let number = self.number;
        if let Some(archive) = &self.archive {
            let flat = if archive.layout == Layout::Flat {
                "="
            } else {
                ""
            };
            let path = String::from_utf8_lossy(&archive.path);
            write!(f, "copy {name}/{number} {flat}{path} ; ")?;
        }
        write!(f, "remove {name}/{number}")
    }
}

/// All removals of the plan, in the order of history.
pub(crate) fn removals(
    snapshot: &Snapshot,
    surveys: &[Survey],
    policy: &Policy,
    plan: &Plan,
) -> Vec<Removal> {
    let after = snapshot.expired().after(&plan.expiry);
    let removed = RemovedLinks::new(snapshot, &after, &plan.expiry);
    let mut found = Vec::new();
    for survey in surveys {
        let mut here = Vec::new();
        removed.each(survey, |link| {
            here.push((link.position.0, link.group, link.row.number))
        });
        here.sort_unstable();
        for (_, group, number) in here {
            let rule = match snapshot.active().find(group) {
                Some(id) => policy.rule(id),
                None => policy.rule_of_name(group, false),
            };
            found.push(Removal {
                group: group.to_vec(),
                number,
                archive: rule.and_then(|rule| rule.archive.clone()),
            });
        }
    }
    found
}
