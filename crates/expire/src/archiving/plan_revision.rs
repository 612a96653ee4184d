//! Revises a plan: keeps articles whose copy failed, and the rest of a group from the first article on that was not copied.

use std::collections::HashMap;

use store::{ExpiryDecision, ExpiryState};

use super::archive_links::ArchiveLink;

/// The links to take out of a plan.
#[derive(Debug, Default)]
pub struct PlanRevision {
    /// By group: the first number that is kept, and the base of its segment.
    from: HashMap<Vec<u8>, (u64, u64)>,
    /// Single links, with the base of their segment.
    single: Vec<(Vec<u8>, u64, u64)>,
}

impl PlanRevision {
    /// Keeps single links: groups, numbers, and the bases of their segments.
    pub fn of_links(links: &[(Vec<u8>, u64, u64)]) -> PlanRevision {
        PlanRevision {
            single: links.to_vec(),
            ..PlanRevision::default()
        }
    }

    /// Keeps this link; later ones of its group may be removed.
    pub fn keep_one(&mut self, link: &ArchiveLink<'_>, base: u64) {
        self.single.push((link.group.to_vec(), link.number, base));
    }

    /// Keeps this link and all later ones of its group.
    pub fn keep_from(&mut self, link: &ArchiveLink<'_>, base: u64) {
        match self.from.get_mut(link.group) {
            Some(first) => *first = (*first).min((link.number, base)),
            None => {
                let first = (link.number, base);
                self.from.insert(link.group.to_vec(), first);
            }
        }
    }

    /// Applies the revision to the decision.
    pub fn apply(self, expiry: &mut ExpiryDecision, before: &ExpiryState) {
        let mut bases: HashMap<&[u8], u64> = HashMap::new();
        let singles = self.single.iter().map(|(group, _, base)| (group, base));
        let firsts = self.from.iter().map(|(group, (_, base))| (group, base));
        for (group, base) in singles.chain(firsts) {
            let least = bases.entry(group).or_insert(*base);
            *least = (*least).min(*base);
        }
        reset_settled(expiry, before, bases);
        for (group, number, _) in &self.single {
            keep_link(expiry, before, group, *number);
        }
        keep_rest(expiry, before, &self.from);
    }
}

fn keep_link(expiry: &mut ExpiryDecision, before: &ExpiryState, group: &[u8], number: u64) {
    expiry
        .gone
        .retain(|(name, known)| name != group || *known != number);
    let cut = expiry.cuts.iter().find(|(name, _)| name == group);
    if number >= before.cut(group) && cut.is_some_and(|(_, cut)| number < *cut) {
        expiry.survivors.push((group.to_vec(), number));
    }
}

/// Numbers and positions grow together in a group, so every article below the first kept number has been archived.
fn keep_rest(
    expiry: &mut ExpiryDecision,
    before: &ExpiryState,
    from: &HashMap<Vec<u8>, (u64, u64)>,
) {
    let first = |group: &[u8]| from.get(group).map_or(u64::MAX, |(number, _)| *number);
    for (group, cut) in &mut expiry.cuts {
        *cut = (*cut).min(first(group));
    }
    expiry.cuts.retain(|(group, cut)| *cut > before.cut(group));
    let goes = |(group, number): &(Vec<u8>, u64)| *number < first(group);
    expiry.gone.retain(goes);
    // A survivor at or above the cut would stay in the list for ever.
    expiry.survivors.retain(goes);
}

/// Lets the next run examine these segments again for the groups.
fn reset_settled(
    expiry: &mut ExpiryDecision,
    before: &ExpiryState,
    mut bases: HashMap<&[u8], u64>,
) {
    for (group, position) in &mut expiry.settled {
        if let Some(base) = bases.remove(group.as_slice()) {
            *position = base.min(*position);
        }
    }
    for (group, base) in bases {
        if before.settled(group) > base {
            expiry.settled.push((group.to_vec(), base));
        }
    }
}
