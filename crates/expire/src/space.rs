//! Expiry by space: when the dates have decided and the disk is still too full, all lives are shortened by one factor,
//! the largest that is short enough. So what goes first is what has used up most of its life: age divided by life.
//!
//! Shortened are the default and, for articles with an explicit Expires, the longest life; never below `low`. What never
//! expires stays, and so does what came in the future.
//!
//! Counted is what is alive. Bytes of articles that have expired, but that the disk has not got back yet (a segment in
//! which something is kept), count as free: giving them back is another's work, and nothing more has to go for them.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use groups::GroupId;
use store::{GroupRows, Position, Reader, Survey};

use crate::count::{Link, is_first, room_of};
use crate::decide::{Plan, decide_on};
use crate::life::{Life, Share};
use crate::policy::Policy;
use crate::tables::Space;

/// How many steps of the first attempt to find the share; each next one is twice as wide.
const FIRST_STEPS: u32 = Share::STEPS / 64;

/// The disk that the segments lie on, as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of the file system that are free for us.
    pub free: u64,
    /// Bytes that the segments take up: their blocks.
    pub used: u64,
}

impl Room {
    /// Asks the system about the directory of the segments.
    ///
    /// # Errors
    /// The directory, or the file system, cannot be asked.
    pub fn of(segments: &Path) -> io::Result<Room> {
        let told = rustix::fs::statvfs(segments)?;
        let mut used = 0;
        for entry in std::fs::read_dir(segments)? {
            match entry?.metadata() {
                Ok(told) => used += told.blocks() * 512,
                // It went meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Room {
            free: told.f_bavail.saturating_mul(told.f_frsize),
            used,
        })
    }

    /// Bytes that must be given back, `pending` of them being on their way.
    pub fn missing(&self, space: &Space, pending: u64) -> u64 {
        let free = self.free.saturating_add(pending);
        let used = self.used.saturating_sub(pending);
        let kept_free = space.keep_free.unwrap_or(0).saturating_sub(free);
        let above = used.saturating_sub(space.max_size.unwrap_or(u64::MAX));
        kept_free.max(above)
    }
}

/// What space asked for beyond the dates.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortage {
    /// Bytes that the dates did not give.
    pub wanted: u64,
    /// Bytes that could not be found: what is left is too young, or never goes.
    pub missing: u64,
    /// What is left of every life.
    pub share: Share,
    /// The lines of the policy whose lives became shorter.
    pub shorter: Vec<Shorter>,
}

/// A line of the policy and its lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shorter {
    /// Its patterns.
    pub patterns: Vec<u8>,
    /// The default life as the policy has it.
    pub from: Life,
    /// The default life that is left.
    pub to: Life,
}

/// Decides on, with shorter lives, when what goes by `plan` is not enough. `None`: it is.
pub(crate) fn decide_by_space(
    (reader, surveys): (&Reader, &[Survey]),
    (space, room): (&Space, Room),
    policy: &mut Policy,
    now: i64,
    held: &dyn Fn(GroupId) -> bool,
    plan: &mut Plan,
) -> Option<Shortage> {
    if room.missing(space, 0) <= plan.total.room {
        return None;
    }
    let missing = room.missing(space, pending(reader, surveys));
    let wanted = missing
        .checked_sub(plan.total.room)
        .filter(|wanted| *wanted > 0)?;
    let mut attempt = |steps: u32| {
        policy.shorten(Share::steps(steps));
        decide_on(reader, surveys, policy, now, held)
    };
    let (steps, found) = largest(&mut attempt, |plan| plan.total.room >= missing);
    policy.shorten(Share::WHOLE);
    *plan = found;
    let share = Share::steps(steps);
    let shorter = policy.used_rules().filter_map(|rule| {
        let (from, to) = (rule.dates, rule.dates.shortened(share));
        (from != to).then(|| Shorter {
            patterns: rule.patterns.clone(),
            from: from.default(),
            to: to.default(),
        })
    });
    let shorter = shorter.collect();
    Some(Shortage {
        wanted,
        missing: missing.saturating_sub(plan.total.room),
        share,
        shorter,
    })
}

/// The largest number of steps, below the whole, for which the plan is enough, and that plan; zero if none is. Attempts
/// begin near the whole and go away from it, so that no attempt looks at much more than will go.
fn largest(
    attempt: &mut impl FnMut(u32) -> Plan,
    is_enough: impl Fn(&Plan) -> bool,
) -> (u32, Plan) {
    let mut not_enough = Share::STEPS;
    let mut width = FIRST_STEPS;
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

/// About the bytes of the disk that articles take up which have expired already. Of segments in which nothing has,
/// nothing is looked at.
fn pending(reader: &Reader, surveys: &[Survey]) -> u64 {
    let torn = surveys.iter().filter(|survey| has_dead(reader, survey));
    torn.map(|survey| {
        let (_, on_disk) = reader.art_bytes(survey.base());
        on_disk.saturating_sub(live_bytes(reader, survey))
    })
    .sum()
}

fn has_dead(reader: &Reader, survey: &Survey) -> bool {
    let expired = reader.expired();
    let any_dead = |rows: GroupRows<'_>| {
        let (first, last) = (rows.number_at(0), rows.last_number());
        let mut early = expired.early(rows.name);
        first < expired.cut(rows.name) || early.any(|number| (first..=last).contains(&number))
    };
    // Where something was given back, the rows of all that is dead may be gone.
    let (length, on_disk) = reader.art_bytes(survey.base());
    on_disk < length || survey.groups().any(any_dead)
}

/// About the bytes of what is alive in a segment.
fn live_bytes(reader: &Reader, survey: &Survey) -> u64 {
    let expired = reader.expired();
    let mut bytes = 0;
    for rows in survey.groups() {
        for row in rows.range(expired.low(rows.name), u64::MAX) {
            let position = Position(survey.base() + u64::from(row.record));
            let link = Link {
                group: rows.name,
                row,
                position,
            };
            if reader.is_alive_in(rows.name, row.number, position) && is_first(expired, &link) {
                bytes += room_of(row.text);
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
        let room = Room {
            free: 100,
            used: 1000,
        };
        let missing = |keep_free, max_size, pending| {
            let space = Space {
                keep_free,
                max_size,
                ..Space::default()
            };
            room.missing(&space, pending)
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
            FIRST_STEPS,
            Share::STEPS / 2 + 3,
            Share::STEPS - 1,
        ] {
            let mut attempts = 0;
            let mut attempt = |steps: u32| {
                attempts += 1;
                let mut plan = Plan::default();
                plan.total.room = u64::from(Share::STEPS - steps);
                plan
            };
            let enough = |plan: &Plan| plan.total.room >= u64::from(Share::STEPS - want);
            assert_eq!(largest(&mut attempt, enough).0, want);
            assert!(attempts < 30, "{attempts}");
            assert_eq!(largest(&mut |_| Plan::default(), |_| false).0, 0);
        }
    }
}
