//! The oldest article that stays in a hierarchy, found without looking at all that stay: in the first segment where the
//! hierarchy keeps anything, the first row of each of its groups that is kept; and the exceptions, which are listed.

use std::collections::{BTreeMap, HashSet};

use store::{ExpiryState, GroupRows, Position, Reader, Survey};

use crate::count::hierarchy;

/// When the oldest article arrived that stays in a group of each of these hierarchies. Missing: none stays.
pub(crate) fn oldest_kept(
    reader: &Reader,
    surveys: &[Survey],
    after: &ExpiryState,
    hierarchies: &[Vec<u8>],
) -> BTreeMap<Vec<u8>, i64> {
    let mut told = BTreeMap::new();
    let mut open: HashSet<&Vec<u8>> = hierarchies.iter().collect();
    for survey in surveys {
        let look = Look {
            reader,
            after,
            survey,
            exceptions: exceptions(reader, survey, after, hierarchies, &mut told),
        };
        // Where the clock was set back between two segments, the later one may hold what arrived earlier.
        let begins = survey
            .boundary(i64::MIN)
            .map_or(i64::MAX, |line| line.arrival);
        let set_back = told.values().any(|oldest| begins < *oldest);
        if open.is_empty() && !set_back {
            continue;
        }
        for name in hierarchies {
            let earlier = told.get(name).is_some_and(|oldest| begins < *oldest);
            if !open.contains(name) && !earlier {
                continue;
            }
            let records = survey
                .groups_of(name)
                .filter_map(|rows| look.first_kept(&rows));
            let Some(first) = records.min() else {
                continue;
            };
            open.remove(name);
            if let Some(arrival) = survey.arrival_at(first) {
                note(&mut told, name, arrival);
            }
        }
    }
    told
}

fn note(told: &mut BTreeMap<Vec<u8>, i64>, name: &[u8], arrival: i64) {
    match told.get_mut(name) {
        Some(oldest) => *oldest = arrival.min(*oldest),
        None => drop(told.insert(name.to_vec(), arrival)),
    }
}

/// Notes those of the exceptions that stay, and gives back the records of all.
fn exceptions(
    reader: &Reader,
    survey: &Survey,
    after: &ExpiryState,
    hierarchies: &[Vec<u8>],
    told: &mut BTreeMap<Vec<u8>, i64>,
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
                && reader.is_alive_in(group, number, position)
            {
                note(told, name, arrival);
            }
        }
    }
    records
}

struct Look<'a> {
    reader: &'a Reader,
    after: &'a ExpiryState,
    survey: &'a Survey,
    /// Records that are decided one by one.
    exceptions: HashSet<u64>,
}

impl Look<'_> {
    /// The record of the first row of a group that stays and is no exception.
    fn first_kept(&self, rows: &GroupRows<'_>) -> Option<u64> {
        let stays = |row: &store::Row<'_>| {
            let position = Position(self.survey.base() + u64::from(row.record));
            !self.exceptions.contains(&u64::from(row.record))
                && self.after.keeps(rows.name, row.number)
                && self.reader.is_alive_in(rows.name, row.number, position)
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
