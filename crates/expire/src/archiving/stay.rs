//! What stays after all: an article whose copy failed, and everything of a group from the first on that was not copied.

use std::collections::{BTreeMap, HashMap};

use store::{Expired, Expiry};

use super::going::Link;
use crate::decide::{Going, Plan};

/// What is to be taken back from a plan.
#[derive(Debug, Default)]
pub struct Stay {
    /// By group: the first number that stays, and the segment it lies in.
    from: HashMap<Vec<u8>, (u64, u64)>,
    /// One by one, with the segment it lies in.
    single: Vec<(Vec<u8>, u64, u64)>,
    hierarchies: BTreeMap<Vec<u8>, Going>,
}

impl Stay {
    /// This one stays; what comes after it in its group may go.
    pub fn one(&mut self, link: &Link<'_>, base: u64) {
        self.single.push((link.group.to_vec(), link.number, base));
        self.count(link);
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
        self.count(link);
    }

    fn count(&mut self, link: &Link<'_>) {
        let word = link.group.split(|&b| b == b'.').next().unwrap_or_default();
        let told = self.hierarchies.entry(word.to_vec()).or_default();
        told.links += 1;
        told.bytes += link.bytes;
    }

    /// Takes it back.
    pub fn change(self, plan: &mut Plan, before: &Expired) {
        let mut bases: HashMap<&[u8], u64> = HashMap::new();
        let singles = self.single.iter().map(|(group, _, base)| (group, base));
        let firsts = self.from.iter().map(|(group, (_, base))| (group, base));
        for (group, base) in singles.chain(firsts) {
            let least = bases.entry(group).or_insert(*base);
            *least = (*least).min(*base);
        }
        unsettle(&mut plan.expiry, before, bases);
        for (group, number, _) in &self.single {
            spare(&mut plan.expiry, before, group, *number);
        }
        stop(&mut plan.expiry, before, &self.from);
        for (word, stays) in self.hierarchies {
            plan.going = plan.going.saturating_sub(stays.links);
            plan.bytes = plan.bytes.saturating_sub(stays.bytes);
            if let Some(told) = plan.hierarchies.get_mut(&word) {
                told.links = told.links.saturating_sub(stays.links);
                told.bytes = told.bytes.saturating_sub(stays.bytes);
                if told.links == 0 {
                    plan.hierarchies.remove(&word);
                }
            }
        }
    }
}

fn spare(expiry: &mut Expiry, before: &Expired, group: &[u8], number: u64) {
    expiry
        .gone
        .retain(|(name, known)| name != group || *known != number);
    let cut = expiry.cuts.iter().find(|(name, _)| name == group);
    if number >= before.cut(group) && cut.is_some_and(|(_, cut)| number < *cut) {
        expiry.survivors.push((group.to_vec(), number));
    }
}

/// Numbers and positions grow together in a group, so that below the first number that stays all was seen to.
fn stop(expiry: &mut Expiry, before: &Expired, from: &HashMap<Vec<u8>, (u64, u64)>) {
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
fn unsettle(expiry: &mut Expiry, before: &Expired, mut bases: HashMap<&[u8], u64>) {
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
