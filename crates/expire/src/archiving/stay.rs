//! What stays after all: an article whose copy failed, and everything of a group from the first on that was not copied.

use std::collections::HashMap;

use store::{ExpiryDecision, ExpiryState};

use super::going::Link;

/// What is to be taken back from a plan.
#[derive(Debug, Default)]
pub struct Stay {
    /// By group: the first number that stays, and the segment it lies in.
    from: HashMap<Vec<u8>, (u64, u64)>,
    /// One by one, with the segment it lies in.
    single: Vec<(Vec<u8>, u64, u64)>,
}

impl Stay {
    /// This one stays; what comes after it in its group may go.
    pub fn one(&mut self, link: &Link<'_>, base: u64) {
        self.single.push((link.group.to_vec(), link.number, base));
    }

    /// This one stays, and with it everything of its group that comes after it in the log.
    pub fn from(&mut self, link: &Link<'_>, base: u64) {
        match self.from.get_mut(link.group) {
            Some(first) => *first = (*first).min((link.number, base)),
            None => {
                let first = (link.number, base);
                self.from.insert(link.group.to_vec(), first);
            }
        }
    }

    /// Takes it back.
    pub fn change(self, expiry: &mut ExpiryDecision, before: &ExpiryState) {
        let mut bases: HashMap<&[u8], u64> = HashMap::new();
        let singles = self.single.iter().map(|(group, _, base)| (group, base));
        let firsts = self.from.iter().map(|(group, (_, base))| (group, base));
        for (group, base) in singles.chain(firsts) {
            let least = bases.entry(group).or_insert(*base);
            *least = (*least).min(*base);
        }
        unsettle(expiry, before, bases);
        for (group, number, _) in &self.single {
            spare(expiry, before, group, *number);
        }
        stop(expiry, before, &self.from);
    }
}

fn spare(expiry: &mut ExpiryDecision, before: &ExpiryState, group: &[u8], number: u64) {
    expiry
        .gone
        .retain(|(name, known)| name != group || *known != number);
    let cut = expiry.cuts.iter().find(|(name, _)| name == group);
    if number >= before.cut(group) && cut.is_some_and(|(_, cut)| number < *cut) {
        expiry.survivors.push((group.to_vec(), number));
    }
}

/// Numbers and positions grow together in a group, so that below the first number that stays all was seen to.
fn stop(expiry: &mut ExpiryDecision, before: &ExpiryState, from: &HashMap<Vec<u8>, (u64, u64)>) {
    let first = |group: &[u8]| from.get(group).map_or(u64::MAX, |(number, _)| *number);
    for (group, cut) in &mut expiry.cuts {
        *cut = (*cut).min(first(group));
    }
    expiry.cuts.retain(|(group, cut)| *cut > before.cut(group));
    let goes = |(group, number): &(Vec<u8>, u64)| *number < first(group);
    expiry.gone.retain(goes);
    // A survivor at or above the cut would be one for ever.
    expiry.survivors.retain(goes);
}

/// Their default must look at these segments again.
fn unsettle(expiry: &mut ExpiryDecision, before: &ExpiryState, mut bases: HashMap<&[u8], u64>) {
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
