//! Finds the oldest article that is kept in a hierarchy without reading all kept articles: in the first segment in which the
//! hierarchy keeps anything, the first kept row of each of its groups; and the listed exceptions.

use std::collections::{BTreeMap, HashSet};

use store::{ExpiryState, GroupRows, Position, Snapshot, Survey};

use crate::count::hierarchy;

/// The arrival time of the oldest article kept in each of these hierarchies, seconds since 1970. Hierarchies without kept articles are missing.
pub(crate) fn oldest_kept(
    snapshot: &Snapshot,
    surveys: &[Survey],
    after: &ExpiryState,
    hierarchies: &[Vec<u8>],
) -> BTreeMap<Vec<u8>, i64> {
    let mut oldest_kept = BTreeMap::new();
    let mut unfound: HashSet<&Vec<u8>> = hierarchies.iter().collect();
    for survey in surveys {
        let search = OldestSearch {
            snapshot,
            after,
            survey,
            exceptions: exceptions(snapshot, survey, after, hierarchies, &mut oldest_kept),
        };
        // If the clock was set back between two segments, the later one may contain earlier arrivals.
        let begins = survey
            .boundary(i64::MIN)
            .map_or(i64::MAX, |line| line.arrival);
        let set_back = oldest_kept.values().any(|oldest| begins < *oldest);
        if unfound.is_empty() && !set_back {
            continue;
        }
        for name in hierarchies {
            let earlier = oldest_kept.get(name).is_some_and(|oldest| begins < *oldest);
            if !unfound.contains(name) && !earlier {
                continue;
            }
            let records = survey
                .groups_of(name)
                .filter_map(|rows| search.first_kept(&rows));
            let Some(first) = records.min() else {
                continue;
            };
            unfound.remove(name);
            if let Some(arrival) = survey.arrival_at(first) {
                note(&mut oldest_kept, name, arrival);
            }
        }
    }
    oldest_kept
}

fn note(oldest_kept: &mut BTreeMap<Vec<u8>, i64>, name: &[u8], arrival: i64) {
    match oldest_kept.get_mut(name) {
        Some(oldest) => *oldest = arrival.min(*oldest),
        None => drop(oldest_kept.insert(name.to_vec(), arrival)),
    }
}

/// Notes the kept exceptions, and returns the records of all exceptions.
fn exceptions(
    snapshot: &Snapshot,
    survey: &Survey,
    after: &ExpiryState,
    hierarchies: &[Vec<u8>],
    oldest_kept: &mut BTreeMap<Vec<u8>, i64>,
) -> HashSet<u64> {
    let mut records = HashSet::new();
    for line in survey.exceptions() {
        let Some(position) = line.position else {
            continue;
        };
        records.insert(position.0.saturating_sub(survey.base()));
        for (group, number) in line.links() {
            let name = hierarchy(group);
            let wanted = hierarchies
                .binary_search_by(|known| known.as_slice().cmp(name))
                .is_ok();
            if let Some(arrival) = line.arrival
                && wanted
                && after.keeps(group, number)
                && snapshot.is_alive_in(group, number, position)
            {
                note(oldest_kept, name, arrival);
            }
        }
    }
    records
}

struct OldestSearch<'a> {
    snapshot: &'a Snapshot,
    after: &'a ExpiryState,
    survey: &'a Survey,
    /// Records that are decided one by one.
    exceptions: HashSet<u64>,
}

impl OldestSearch<'_> {
    /// The record of the first kept row of a group that is not an exception.
    fn first_kept(&self, rows: &GroupRows<'_>) -> Option<u64> {
        let stays = |row: &store::Row<'_>| {
            let position = Position(self.survey.base() + u64::from(row.record));
            !self.exceptions.contains(&u64::from(row.record))
                && self.after.keeps(rows.name, row.number)
                && self.snapshot.is_alive_in(rows.name, row.number, position)
        };
        let here = rows.number_at(0)..=rows.last_number();
        let survivor = self
            .after
            .survivors(rows.name)
            .filter(|number| here.contains(number))
            .flat_map(|number| rows.range(number, number))
            .find(|row| stays(row));
        let first = survivor.or_else(|| {
            let cut = self.after.cut(rows.name);
            rows.range(cut, u64::MAX).find(|row| stays(row))
        });
        first.map(|row| u64::from(row.record))
    }
}
