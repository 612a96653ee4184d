//! Which articles go from groups whose rule archives: the plan, article by article, a segment at a time.

use std::collections::HashMap;

use store::{ExpiryDecision, ExpiryState, GroupRows, Position, Reader, Survey};

use crate::policy::Policy;

/// An article that goes from one of its groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link<'s> {
    /// Where it lies.
    pub position: Position,
    /// Its number in the group.
    pub number: u64,
    /// The group.
    pub group: &'s [u8],
    /// Which archive its rule names, counted among those of the policy.
    pub place: usize,
    /// It was cancelled: nothing is left to be copied.
    pub cancelled: bool,
}

/// What goes, seen from the archives.
pub struct Leaving<'r> {
    reader: &'r Reader,
    policy: &'r Policy,
    expiry: &'r ExpiryDecision,
    after: ExpiryState,
    /// The archive of each line of the policy that has one, by its number in the file.
    place_of_rule: &'r HashMap<usize, usize>,
    /// By group, once asked for.
    place_of: HashMap<Vec<u8>, Option<usize>>,
}

impl<'r> Leaving<'r> {
    /// What `expiry` takes from groups whose rule is one of these lines.
    pub fn new(
        reader: &'r Reader,
        policy: &'r Policy,
        expiry: &'r ExpiryDecision,
        place_of_rule: &'r HashMap<usize, usize>,
    ) -> Leaving<'r> {
        Leaving {
            reader,
            policy,
            expiry,
            after: reader.expired().after(expiry),
            place_of_rule,
            place_of: HashMap::new(),
        }
    }

    /// The links of one segment that go, in the order of the log.
    pub fn links<'s>(&mut self, survey: &'s Survey) -> Vec<Link<'s>> {
        let mut links = Vec::new();
        for rows in survey.groups() {
            self.of_group(survey.base(), &rows, &mut links);
        }
        links.sort_unstable();
        links
    }

    fn of_group<'s>(&mut self, base: u64, rows: &GroupRows<'s>, links: &mut Vec<Link<'s>>) {
        let before = self.reader.expired();
        let (old, new) = (before.cut(rows.name), self.after.cut(rows.name));
        let (first, last) = (rows.number_at(0), rows.last_number());
        let early = early_of(&self.expiry.gone, rows.name, first, last);
        if (new <= old || new <= first || old > last) && early.is_empty() {
            return;
        }
        let Some(place) = self.place(rows.name) else {
            return;
        };
        let cut = rows.range(old, new.saturating_sub(1));
        let early = early
            .iter()
            .filter(|(_, number)| *number >= new || *number < old)
            .flat_map(|(_, number)| rows.range(*number, *number));
        for row in cut.chain(early) {
            let keeps = |told: &ExpiryState| told.keeps(rows.name, row.number);
            if !keeps(before) || keeps(&self.after) {
                continue;
            }
            let position = Position(base + u64::from(row.record));
            links.push(Link {
                position,
                number: row.number,
                group: rows.name,
                place,
                cancelled: !self.reader.is_alive_in(rows.name, row.number, position),
            });
        }
    }

    /// The archive of a group. One that is not in active counts as unmoderated.
    fn place(&mut self, group: &[u8]) -> Option<usize> {
        if let Some(known) = self.place_of.get(group) {
            return *known;
        }
        let rule = match self.reader.active().find(group) {
            Some(id) => self.policy.rule(id),
            None => self.policy.rule_of_name(group, false),
        };
        let place = rule.and_then(|rule| self.place_of_rule.get(&rule.line).copied());
        self.place_of.insert(group.to_vec(), place);
        place
    }
}

/// Of the links gone one by one, which are sorted, those of a group with numbers in `first..=last`.
fn early_of<'g>(
    gone: &'g [(Vec<u8>, u64)],
    group: &[u8],
    first: u64,
    last: u64,
) -> &'g [(Vec<u8>, u64)] {
    let until = |number: u64, inclusive: bool| {
        gone.partition_point(|(name, known)| match name.as_slice().cmp(group) {
            std::cmp::Ordering::Equal => *known < number || (inclusive && *known == number),
            order => order.is_lt(),
        })
    };
    gone.get(until(first, false)..until(last, true))
        .unwrap_or_default()
}
