//! Decides which articles are removed. The work is proportional to the removals, not to the stored articles: in each segment
//! a binary search on arrival finds the cut-off of every life, another one the number of every group there; segments after
//! the first kept article are not read, except for their listed exceptions.

use std::collections::{BTreeSet, HashMap, HashSet};

use groups::{Active, GroupId};
use store::{
    Error, ExpiryDecision, ExpiryState, GroupRows, HistoryLine, Position, Snapshot, Survey,
};

use crate::count::{Hierarchies, RemovalCount, count};
use crate::policy::{Cutoffs, Policy};
use crate::unreadable_expires::UnreadableExpires;

/// The decision of a run.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The decision, for the store to apply.
    pub expiry: ExpiryDecision,
    /// The removals by hierarchy.
    pub hierarchies: Hierarchies,
    /// All removals.
    pub total: RemovalCount,
    /// Number of links (an article in a group) before the run: at most this many. Cancelled articles count where they are too few to decide
    /// whether a run may remove so much; expired ones where the run removes nothing.
    pub live: u64,
    /// Overview rows of all segments, of removed articles too.
    pub(crate) rows: u64,
    /// Links of articles with an arrival in the future, which are kept. A sign that the clock was set back.
    pub in_future: u64,
    /// Articles with an unreadable Expires (`-g`), including those of held groups.
    pub unreadable: UnreadableExpires,
}

impl Plan {
    /// Recounts the removals in these segments; the counts follow from the expiry decision alone.
    pub(crate) fn count<'s>(
        &mut self,
        snapshot: &Snapshot,
        surveys: impl Iterator<Item = &'s Survey>,
    ) {
        (self.total, self.hierarchies) = count(snapshot, surveys, &self.expiry);
        if self.live < self.total.links {
            // The marks of `active` are behind the log.
            self.live = self.rows;
        }
    }
}

/// Decides which articles are removed at `now`, seconds since 1970. Groups for which `held` is true do not change.
///
/// # Errors
/// A file of the store cannot be read.
pub fn decide(
    snapshot: &Snapshot,
    policy: &Policy,
    now: i64,
    held: impl Fn(GroupId) -> bool,
) -> Result<Plan, Error> {
    let bases = snapshot.segments().iter();
    let surveys: Result<Vec<Survey>, Error> = bases.map(|&base| snapshot.survey(base)).collect();
    Ok(decide_on(snapshot, &surveys?, policy, now, &held))
}

/// As [`decide`], on existing surveys of all segments.
pub(crate) fn decide_on(
    snapshot: &Snapshot,
    surveys: &[Survey],
    policy: &Policy,
    now: i64,
    held: &dyn Fn(GroupId) -> bool,
) -> Plan {
    let mut decider = Decider::new(snapshot, policy, now, held);
    for survey in surveys {
        decider.decide_by_default(survey);
    }
    decider.keep_future_arrivals(surveys);
    let mut unreadable = UnreadableExpires::default();
    for survey in surveys {
        for line in survey.exceptions() {
            unreadable.examine(snapshot, &line);
            decider.decide_exception(survey.base(), &line);
        }
    }
    let mut plan = decider.finish(surveys);
    plan.unreadable = unreadable;
    let touched = plan.expiry.touched.clone();
    let is_touched = |survey: &&Survey| touched.binary_search(&survey.base()).is_ok();
    plan.count(snapshot, surveys.iter().filter(is_touched));
    plan
}

/// Groups with the same cut-off for articles without Expires.
struct CutoffClass {
    cutoff: i64,
    /// Segments below this position need not be read.
    from: u64,
    settled: Option<u64>,
    /// The base of each segment with arrivals in the future, and the record from which on they occur.
    future: Vec<(u64, u64)>,
}

struct Decider<'r> {
    policy: &'r Policy,
    active: &'r Active,
    expired: &'r ExpiryState,
    now: i64,
    classes: Vec<CutoffClass>,
    by_cutoff: HashMap<i64, usize>,
    /// The class of each group, by group id.
    class_of: Vec<Option<usize>>,
    /// Removed groups, by name.
    others: HashMap<Vec<u8>, (Option<usize>, Cutoffs)>,
    cuts: HashMap<Vec<u8>, u64>,
    kept: HashSet<(Vec<u8>, u64)>,
    gone: HashSet<(Vec<u8>, u64)>,
    /// Segments with removals.
    touched: BTreeSet<u64>,
    in_future: u64,
    known_end: Position,
}

impl<'r> Decider<'r> {
    fn new(
        snapshot: &'r Snapshot,
        policy: &'r Policy,
        now: i64,
        held: &dyn Fn(GroupId) -> bool,
    ) -> Decider<'r> {
        let active = snapshot.active();
        let mut decider = Decider {
            policy,
            active,
            expired: snapshot.expired(),
            now,
            classes: Vec::new(),
            by_cutoff: HashMap::new(),
            class_of: vec![None; active.id_end()],
            others: HashMap::new(),
            cuts: HashMap::new(),
            kept: HashSet::new(),
            gone: HashSet::new(),
            touched: BTreeSet::new(),
            in_future: 0,
            known_end: snapshot.end(),
        };
        for id in active.ids().filter(|id| !held(*id)) {
            let cutoffs = policy.cutoffs(id, now);
            if cutoffs == Cutoffs::KEEP {
                continue;
            }
            let class = decider.class(cutoffs.default);
            let settled = decider.expired.settled(active.name(id));
            if let Some(class) = decider.classes.get_mut(class) {
                class.from = class.from.min(settled);
            }
            if let Some(slot) = decider.class_of.get_mut(id.0 as usize) {
                *slot = Some(class);
            }
        }
        decider
    }

    fn class(&mut self, cutoff: i64) -> usize {
        let fresh = self.classes.len();
        let place = *self.by_cutoff.entry(cutoff).or_insert(fresh);
        if place == fresh {
            self.classes.push(CutoffClass {
                cutoff,
                from: u64::MAX,
                settled: None,
                future: Vec::new(),
            });
        }
        place
    }

    /// The class and the cut-offs of a group, in active or not. `None` if no rule covers it.
    fn rule_of(&mut self, name: &[u8]) -> Option<(usize, Cutoffs)> {
        if let Some(id) = self.active.find(name) {
            let class = self.class_of.get(id.0 as usize).copied().flatten()?;
            return Some((class, self.policy.cutoffs(id, self.now)));
        }
        if let Some((class, cutoffs)) = self.others.get(name) {
            return class.map(|class| (class, *cutoffs));
        }
        // A removed group counts as unmoderated.
        let rule = self.policy.rule_of_name(name, false);
        let cutoffs = rule.map(|rule| self.policy.cutoffs_of(rule, self.now));
        let class = cutoffs.map(|cutoffs| self.class(cutoffs.default));
        let known = (class, cutoffs.unwrap_or(Cutoffs::KEEP));
        if let Some(class) = class.and_then(|class| self.classes.get_mut(class)) {
            class.from = 0;
        }
        self.others.insert(name.to_vec(), known);
        class.map(|class| (class, known.1))
    }

    fn cut(&self, name: &[u8]) -> u64 {
        let fresh = self.cuts.get(name).copied();
        fresh.unwrap_or_else(|| self.expired.cut(name))
    }

    /// Decides the articles without Expires in one segment.
    fn decide_by_default(&mut self, survey: &Survey) {
        let base = survey.base();
        // For each class, the first record that is kept; `None` if the class skips this segment.
        let mut stay: Vec<Option<u64>> = Vec::new();
        for class in &mut self.classes {
            if class.settled.is_some() || class.from > base {
                stay.push(None);
                continue;
            }
            let boundary = survey.boundary(class.cutoff);
            stay.push(Some(
                boundary.map_or_else(|| survey.end(), |found| found.record),
            ));
            match boundary {
                Some(found) if found.arrival > self.now => class.future.push((base, found.record)),
                Some(_) => class.settled = Some(base),
                None => {}
            }
        }
        if stay.iter().all(Option::is_none) {
            return;
        }
        for rows in survey.groups() {
            let Some((class, _)) = self.rule_of(rows.name) else {
                continue;
            };
            while stay.len() < self.classes.len() {
                // The class of a removed group, found just now.
                let cutoff = self
                    .classes
                    .get(stay.len())
                    .map_or(i64::MIN, |class| class.cutoff);
                stay.push(Some(match survey.boundary(cutoff) {
                    None => survey.end(),
                    // Articles from the future are kept until their arrival time.
                    Some(found) if found.arrival > self.now => 0,
                    Some(found) => found.record,
                }));
            }
            let Some(Some(record)) = stay.get(class).copied() else {
                continue;
            };
            self.cut_rows(survey, &rows, record);
        }
    }

    /// Cuts a group behind the last row before a record. Late articles are decided individually.
    fn cut_rows(&mut self, survey: &Survey, rows: &GroupRows<'_>, record: u64) {
        let base = survey.base();
        let is_late = |record| survey.is_late(record);
        let dead = rows.place_of_record(record, is_late);
        let Some(last) = rows.last_ordered(dead, is_late) else {
            return;
        };
        let last = rows.number_at(last);
        if last >= self.cut(rows.name) {
            self.cuts.insert(rows.name.to_vec(), last + 1);
            self.touched.insert(base);
        }
        let first = rows.number_at(rows.first_ordered(is_late));
        for number in self.expired.survivors_in(rows.name, (first, last)) {
            // Kept because its arrival was in the future, which has come. Exceptions are decided after this.
            self.gone.insert((rows.name.to_vec(), number));
            self.touched.insert(base);
        }
    }

    /// Keeps articles from a time when the clock was ahead, even below a cut, until their arrival time.
    fn keep_future_arrivals(&mut self, surveys: &[Survey]) {
        let future: Vec<(usize, u64, u64)> = (0..)
            .zip(&self.classes)
            .flat_map(|(place, class)| {
                class
                    .future
                    .iter()
                    .map(move |(base, record)| (place, *base, *record))
            })
            .collect();
        for (class, base, record) in future {
            let Some(survey) = surveys.iter().find(|survey| survey.base() == base) else {
                continue;
            };
            // Exceptions are decided, and counted, one by one.
            let exceptions: HashSet<u64> = survey
                .exceptions()
                .filter_map(|line| line.position?.0.checked_sub(base))
                .collect();
            for rows in survey.groups() {
                if self.rule_of(rows.name).is_none_or(|(own, _)| own != class) {
                    continue;
                }
                let first = rows.place_of_record(record, |record| survey.is_late(record));
                for row in (first..rows.len()).filter_map(|at| rows.row(at)) {
                    if exceptions.contains(&u64::from(row.record))
                        || !self.expired.keeps(rows.name, row.number)
                    {
                        continue;
                    }
                    self.in_future += 1;
                    if row.number < self.cut(rows.name) {
                        self.kept.insert((rows.name.to_vec(), row.number));
                    }
                }
            }
        }
    }

    /// Decides a single exception: an article with an explicit Expires, out of the order of arrival, or late.
    fn decide_exception(&mut self, base: u64, line: &HistoryLine<'_>) {
        let arrival = line.arrival.unwrap_or(crate::policy::ARRIVAL_UNREADABLE);
        for (group, number) in line.links() {
            if !self.expired.keeps(group, number) {
                continue;
            }
            self.in_future += u64::from(arrival > self.now);
            let link = || (group.to_vec(), number);
            let Some((_, cutoffs)) = self.rule_of(group) else {
                continue;
            };
            if arrival < 0 || cutoffs.remove(arrival, line.expires.date(), self.now) {
                self.kept.remove(&link());
                self.gone.insert(link());
                self.touched.insert(base);
            } else {
                self.gone.remove(&link());
                if number < self.cut(group) {
                    self.kept.insert(link());
                }
            }
        }
    }

    fn finish(mut self, surveys: &[Survey]) -> Plan {
        let mut plan = Plan {
            in_future: self.in_future,
            ..Plan::default()
        };
        let live = |id| (self.active.high(id) + 1).saturating_sub(self.active.low(id).max(1));
        let by_marks: u64 = self.active.ids().map(live).sum();
        let rows = surveys.iter().map(Survey::rows).sum();
        plan.rows = rows;
        // Removed groups have no marks.
        plan.live = if self.others.is_empty() {
            by_marks.min(rows)
        } else {
            rows
        };
        let was_cut = |name: &[u8], number: u64, cuts: &HashMap<Vec<u8>, u64>| {
            cuts.get(name).is_some_and(|cut| number < *cut) && self.expired.cut(name) <= number
        };
        let mut gone: Vec<_> = std::mem::take(&mut self.gone).into_iter().collect();
        gone.retain(|(name, number)| !was_cut(name, *number, &self.cuts));
        let mut survivors: Vec<_> = std::mem::take(&mut self.kept).into_iter().collect();
        survivors.retain(|(name, number)| !self.expired.survives(name, *number));
        let mut cuts: Vec<_> = self.cuts.drain().collect();
        gone.sort_unstable();
        survivors.sort_unstable();
        cuts.sort_unstable();
        let mut settled = Vec::new();
        for id in self.active.ids() {
            let class = self.class_of.get(id.0 as usize).copied().flatten();
            let Some(class) = class.and_then(|class| self.classes.get(class)) else {
                continue;
            };
            let first = class.future.first().map_or(u64::MAX, |(base, _)| *base);
            // If no article is kept, the newest segment may still get some.
            let newest = surveys.last().map_or(0, Survey::base);
            let base = class.settled.unwrap_or(newest).min(first);
            if self.expired.settled(self.active.name(id)) != base {
                settled.push((self.active.name(id).to_vec(), base));
            }
        }
        plan.expiry = ExpiryDecision {
            survivors,
            cuts,
            gone,
            forget_before: None,
            settled,
            known_end: Some(self.known_end),
            touched: self.touched.into_iter().collect(),
        };
        plan
    }
}
