//! Expiry by space: if the disk is still too full after the decision by date, one factor shortens all lives,
//! the largest factor that frees enough. So the articles that have used up most of their life go first: age divided by life.
//!
//! It shortens the default and, for articles with an explicit Expires, the longest life; never below `low`. Articles that never
//! expire are kept, and so are articles from the future.
//!
//! Only live articles count. Bytes of expired articles that are not reclaimed yet (in a segment with
//! live articles) count as free: reclaiming is a separate step, and no more articles have to be removed for them.
//!
//! Where an object store has articles, no life is shortened: they are the oldest, would go first, and free nothing here.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use groups::GroupId;
use store::{GroupRows, Position, Snapshot, Survey};

use crate::count::{Link, disk_bytes_of, is_first};
use crate::decide::{Plan, decide_on};
use crate::life::{Lifetime, Share};
use crate::policy::Policy;
use crate::run_error::RunError;
use crate::tables::SpaceLimits;

/// Width of the first step in the search for the factor; each further step is twice as wide.
const FIRST_STEP_WIDTH: u32 = Share::STEPS / 64;

/// The state of the disk with the segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free bytes of the file system, for unprivileged users ([`store::free_bytes`]); `None`: it does not report its size.
    pub free: Option<u64>,
    /// Bytes of the blocks of the segments, without those of the reserve for repacking.
    pub used: u64,
}

impl DiskSpace {
    /// Asks the system about the directory of the segments.
    ///
    /// # Errors
    /// The directory cannot be read, or the file system cannot be examined.
    pub fn of(segments: &Path) -> io::Result<DiskSpace> {
        // Nothing expires for space that is there.
        let free = store::free_bytes_for(segments, u64::MAX)?;
        let mut used = 0;
        for entry in std::fs::read_dir(segments)? {
            let entry = entry?;
            if entry.file_name() == store::REPACK_RESERVE {
                continue;
            }
            match entry.metadata() {
                Ok(info) => used += info.blocks() * 512,
                // Removed in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(DiskSpace { free, used })
    }

    /// Bytes that must be freed; `pending` bytes are being freed already.
    pub fn missing(&self, space: &SpaceLimits, pending: u64) -> u64 {
        let free = self
            .free
            .map_or(u64::MAX, |free| free.saturating_add(pending));
        let used = self.used.saturating_sub(pending);
        let kept_free = space.keep_free.unwrap_or(0).saturating_sub(free);
        let above = used.saturating_sub(space.max_size.unwrap_or(u64::MAX));
        kept_free.max(above)
    }
}

/// The result of a shortage of space.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortage {
    /// Bytes to free besides those freed by date.
    pub wanted: u64,
    /// Bytes that could not be freed, because all other articles are too young, or never expire.
    pub missing: u64,
    /// The factor by which lives were shortened.
    pub share: Share,
    /// The rules whose lives became shorter.
    pub shortened_rules: Vec<ShortenedRule>,
    /// No life was shortened: the articles that would go first are in the object store, and free nothing here.
    pub spares_object_store: bool,
    /// No life was shortened, because one run may not remove so much; articles expired by dates alone.
    pub refusal: Option<String>,
}

/// A rule with shortened lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortenedRule {
    /// Its patterns.
    pub patterns: Vec<u8>,
    /// The default life in the policy.
    pub from: Lifetime,
    /// The shortened default life.
    pub to: Lifetime,
}

impl Shortage {
    /// Lives stay as they are, because one run may not remove so much as their shortening would.
    pub(crate) fn refuse(&mut self, refusal: &RunError) {
        *self = Shortage {
            wanted: self.wanted,
            missing: self.wanted,
            share: Share::WHOLE,
            shortened_rules: Vec::new(),
            spares_object_store: self.spares_object_store,
            refusal: Some(refusal.to_string()),
        };
    }
}

/// Extends the plan, with shorter lives, if it does not free enough. `None`: it does.
pub(crate) fn decide_by_space(
    (snapshot, surveys): (&Snapshot, &[Survey]),
    (space, disk): (&SpaceLimits, DiskSpace),
    policy: &mut Policy,
    now: i64,
    held: &dyn Fn(GroupId) -> bool,
    plan: &mut Plan,
) -> Option<Shortage> {
    if disk.missing(space, 0) <= plan.total.disk_bytes {
        return None;
    }
    let missing = disk.missing(space, pending(snapshot, surveys));
    let wanted = missing
        .checked_sub(plan.total.disk_bytes)
        .filter(|wanted| *wanted > 0)?;
    if surveys.iter().any(Survey::is_in_object_store) {
        return Some(Shortage {
            wanted,
            missing: wanted,
            share: Share::WHOLE,
            shortened_rules: Vec::new(),
            spares_object_store: true,
            refusal: None,
        });
    }
    let mut attempt = |steps: u32| {
        policy.shorten(Share::steps(steps));
        decide_on(snapshot, surveys, policy, now, held)
    };
    let (steps, found) = find_largest(&mut attempt, |plan| plan.total.disk_bytes >= missing);
    policy.shorten(Share::WHOLE);
    *plan = found;
    let share = Share::steps(steps);
    let shortened_rules = policy.used_rules().filter_map(|rule| {
        let (from, to) = (rule.dates, rule.dates.shortened(share));
        (from != to).then(|| ShortenedRule {
            patterns: rule.patterns.clone(),
            from: from.default(),
            to: to.default(),
        })
    });
    let shortened_rules = shortened_rules.collect();
    Some(Shortage {
        wanted,
        missing: missing.saturating_sub(plan.total.disk_bytes),
        share,
        shortened_rules,
        spares_object_store: false,
        refusal: None,
    })
}

/// The largest number of steps, below the whole, whose plan frees enough, and that plan; 0 if none does. The search
/// begins near the whole and moves away from it, so that no attempt reads much more than will be removed.
fn find_largest(
    attempt: &mut impl FnMut(u32) -> Plan,
    is_enough: impl Fn(&Plan) -> bool,
) -> (u32, Plan) {
    let mut not_enough = Share::STEPS;
    let mut width = FIRST_STEP_WIDTH;
    let (mut enough, mut best) = loop {
        let steps = Share::STEPS.saturating_sub(width);
        let plan = attempt(steps);
        if steps == 0 || is_enough(&plan) {
            break (steps, plan);
        }
        not_enough = steps;
        width = width.saturating_mul(2);
    };
    if !is_enough(&best) {
        return (enough, best);
    }
    while not_enough - enough > 1 {
        let middle = enough + (not_enough - enough) / 2;
        let plan = attempt(middle);
        if is_enough(&plan) {
            (enough, best) = (middle, plan);
        } else {
            not_enough = middle;
        }
    }
    (enough, best)
}

/// Approximate disk space of expired articles that is not reclaimed yet, bytes. Segments without expired articles
/// are not read.
fn pending(snapshot: &Snapshot, surveys: &[Survey]) -> u64 {
    // A rewrite that failed may have dropped the rows that show what is dead.
    let unreclaimed = snapshot.unreclaimed();
    let partly_dead = surveys
        .iter()
        .filter(|survey| unreclaimed.contains(&survey.base()) || has_dead(snapshot, survey));
    partly_dead
        .map(|survey| {
            let (_, on_disk) = snapshot.art_bytes(survey.base());
            on_disk.saturating_sub(live_bytes(snapshot, survey))
        })
        .sum()
}

fn has_dead(snapshot: &Snapshot, survey: &Survey) -> bool {
    let expired = snapshot.expired();
    let any_dead = |rows: GroupRows<'_>| {
        let (first, last) = (rows.number_at(0), rows.last_number());
        let mut early = expired.early(rows.name);
        first < expired.cut(rows.name) || early.any(|number| (first..=last).contains(&number))
    };
    // After a partial reclaim the rows of dead articles may be gone.
    let (length, on_disk) = snapshot.art_bytes(survey.base());
    on_disk < length || survey.groups().any(any_dead)
}

/// Approximate disk space of the live articles of a segment, bytes.
fn live_bytes(snapshot: &Snapshot, survey: &Survey) -> u64 {
    let expired = snapshot.expired();
    let mut bytes = 0;
    for rows in survey.groups() {
        for row in rows.range(expired.low(rows.name), u64::MAX) {
            let position = Position(survey.base() + u64::from(row.record));
            let link = Link {
                group: rows.name,
                row,
                position,
            };
            if snapshot.is_alive_in(rows.name, row.number, position) && is_first(expired, &link) {
                bytes += disk_bytes_of(row.text);
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_the_worse_of_both_limits() {
        let disk = DiskSpace {
            free: Some(100),
            used: 1000,
        };
        let missing = |keep_free, max_size, pending| {
            let space = SpaceLimits {
                keep_free,
                max_size,
                ..SpaceLimits::default()
            };
            disk.missing(&space, pending)
        };
        assert_eq!(missing(None, None, 0), 0);
        assert_eq!(missing(Some(90), Some(1000), 0), 0);
        assert_eq!(missing(Some(150), None, 0), 50);
        assert_eq!(missing(Some(150), None, 40), 10);
        assert_eq!(missing(Some(150), Some(900), 0), 100);
        assert_eq!(missing(Some(150), Some(900), 200), 0);
    }

    #[test]
    fn the_largest_share_that_is_enough_is_found() {
        for want in [
            0,
            1,
            77,
            FIRST_STEP_WIDTH,
            Share::STEPS / 2 + 3,
            Share::STEPS - 1,
        ] {
            let mut attempts = 0;
            let mut attempt = |steps: u32| {
                attempts += 1;
                let mut plan = Plan::default();
                plan.total.disk_bytes = u64::from(Share::STEPS - steps);
                plan
            };
            let enough = |plan: &Plan| plan.total.disk_bytes >= u64::from(Share::STEPS - want);
            assert_eq!(find_largest(&mut attempt, enough).0, want);
            assert!(attempts < 30, "{attempts}");
            assert_eq!(find_largest(&mut |_| Plan::default(), |_| false).0, 0);
        }
    }
}
