//! The links that the plan removes from groups with an archive, segment by segment.

use std::collections::HashMap;

use store::{ExpiryDecision, ExpiryState, GroupRows, Position, Snapshot, Survey};

use crate::policy::Policy;

/// A link (an article in a group) that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveLink<'s> {
    /// Position of the article.
    pub position: Position,
    /// Article number in the group.
    pub number: u64,
    /// The group.
    pub group: &'s [u8],
    /// Index of the archive of its rule, among the archives of the policy.
    pub target: usize,
    /// Whether the article was cancelled, so that nothing is left to copy.
    pub cancelled: bool,
}

/// The links to archive.
pub struct ArchiveLinks<'r> {
    snapshot: &'r Snapshot,
    policy: &'r Policy,
    expiry: &'r ExpiryDecision,
    after: ExpiryState,
    /// The archive of each rule that has one, by the line number of the rule.
    target_of_rule: &'r HashMap<usize, usize>,
    /// The archive of each group met so far.
    target_of: HashMap<Vec<u8>, Option<usize>>,
}

impl<'r> ArchiveLinks<'r> {
    /// The links that `expiry` removes from groups ruled by one of these lines.
    pub fn new(
        snapshot: &'r Snapshot,
        policy: &'r Policy,
        expiry: &'r ExpiryDecision,
        target_of_rule: &'r HashMap<usize, usize>,
    ) -> ArchiveLinks<'r> {
        ArchiveLinks {
            snapshot,
            policy,
            expiry,
            after: snapshot.expired().after(expiry),
            target_of_rule,
            target_of: HashMap::new(),
        }
    }

    /// The links removed from one segment, in the order of the log.
    pub fn links<'s>(&mut self, survey: &'s Survey) -> Vec<ArchiveLink<'s>> {
        let mut links = Vec::new();
        for rows in survey.groups() {
            self.of_group(survey.base(), &rows, &mut links);
        }
        links.sort_unstable();
        links
    }

    fn of_group<'s>(&mut self, base: u64, rows: &GroupRows<'s>, links: &mut Vec<ArchiveLink<'s>>) {
        let before = self.snapshot.expired();
        let (old, new) = (before.cut(rows.name), self.after.cut(rows.name));
        let (first, last) = (rows.number_at(0), rows.last_number());
        let early = early_of(&self.expiry.gone, rows.name, first, last);
        if (new <= old || new <= first || old > last) && early.is_empty() {
            return;
        }
        let Some(target) = self.target(rows.name) else {
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
            links.push(ArchiveLink {
                position,
                number: row.number,
                group: rows.name,
                target,
                cancelled: !self.snapshot.is_alive_in(rows.name, row.number, position),
            });
        }
    }

    /// The archive of a group. A group that is not in active counts as unmoderated.
    fn target(&mut self, group: &[u8]) -> Option<usize> {
        if let Some(known) = self.target_of.get(group) {
            return *known;
        }
        let rule = match self.snapshot.active().find(group) {
            Some(id) => self.policy.rule(id),
            None => self.policy.rule_of_name(group, false),
        };
        let target = rule.and_then(|rule| self.target_of_rule.get(&rule.line).copied());
        self.target_of.insert(group.to_vec(), target);
        target
    }
}

/// Of the links removed one by one, which are sorted, those of a group with numbers in `first..=last`.
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
