//! The nodes of a cluster: each tells the others how far it is, in a value that the servers keep beside the log.
//!
//! *Invariant:* an entry leaves the log only when every node has it on its disk, except nodes that would let the log run full; and at least two
//! nodes have it, unless the cluster has only one. Nothing here decides about articles: a value that was lost delays the trimming, no more.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::decisions::DecisionRange;

/// Sequence numbers at which nodes compare their outcomes: the multiples of this.
pub const COMPARE_EVERY: u64 = 64;
/// Outcomes that a mark has.
pub const OUTCOMES_TOLD: usize = 16;
/// Part of the log's size down to which entries leave it: the rest serves nodes that join or come back.
const KEEP_PART: u64 = 2;
/// Time for which the log keeps what comes behind a copy of segments, s: each look of the copying program at the other node begins it anew.
const COPY_SECONDS: i64 = 24 * 60 * 60;
/// Time for which nothing leaves the log after the list of the nodes was lost: each node that runs puts its mark seconds after an entry.
const RENEWAL: Duration = Duration::from_secs(10 * 60);

/// The mark of one node: how far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The process: a random number for each start of a daemon; 0 for a command.
    pub process: u64,
    /// The last entry that is on the disk of the node.
    pub durable: u64,
    /// The time of the mark, seconds since 1970.
    pub time: i64,
    /// Hashes of what the node made of the entries up to some sequence numbers (multiples of [`COMPARE_EVERY`]).
    pub outcomes: BTreeMap<u64, String>,
    /// A program copies the segments of another node for this one, beside a daemon perhaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyMark>,
    /// The node applies no more entries, while it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopMark>,
    /// The versions of the decisions that the build of the node can apply.
    #[serde(default, skip_serializing_if = "DecisionRange::is_first")]
    pub decisions: DecisionRange,
}

impl Mark {
    /// The last entry that nobody on the node needs any more.
    fn done(&self) -> u64 {
        let is_out = self.stopped.as_ref().is_some_and(|stop| stop.is_out);
        let durable = if is_out { u64::MAX } else { self.durable };
        self.copy.map_or(durable, |copy| durable.min(copy.durable))
    }

    /// The last entry that the node has on its disk; `None` while a program copies segments and no daemon says what was there before.
    fn held(&self) -> Option<u64> {
        let is_copying = self.process == 0 && self.copy.is_some();
        (!is_copying).then_some(self.durable)
    }
}

/// Why a node applies no more entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopMark {
    /// The reason, and what to do.
    pub why: String,
    /// The time at which it stopped, seconds since 1970.
    pub time: i64,
    /// The first and the last of the entries among which it has filed otherwise than most nodes; 1 as the first if no earlier comparison is
    /// known in which they agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<(u64, u64)>,
    /// The nodes that agree against it, if it differs: their articles are right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The log has forgotten entries that the node lacks, so it does not wait for the node.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_out: bool,
}

impl StopMark {
    /// Whether a node at this entry files otherwise than the others for ever: what it has filed stays until a reseed, whose mark has no such
    /// reason any more.
    fn holds_at(&self, durable: u64) -> bool {
        self.differs.is_some_and(|(first, _)| durable >= first)
    }
}

/// Nodes that agree against another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outvote {
    /// The first and the last of the entries among which it has filed otherwise; 1 as the first if no earlier comparison is known in which they
    /// agreed.
    pub entries: (u64, u64),
    /// The names of the nodes that agree.
    pub others: Vec<String>,
}

/// The version of the decisions that all nodes can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonDecisions {
    /// The newest version that no node is too old for.
    pub version: u16,
    /// Nodes that can apply no newer one, while others can.
    pub held_by: Vec<String>,
    /// Nodes that cannot apply it any more.
    pub too_new: Vec<String>,
}

/// How far a copy of the segments of another node is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyMark {
    /// The last entry that the copy will have.
    pub durable: u64,
    /// The time of the mark, seconds since 1970.
    pub time: i64,
}

/// The marks of all nodes, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// The nodes.
    pub nodes: BTreeMap<String, Mark>,
    /// The time at which this list was begun because the one before was lost, seconds since 1970; 0: none was lost. See [`Renewal`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begun: i64,
}

/// The wait after the list of the nodes was lost, so that no node trims the log before the others have put their marks again. The time
/// counts from the moment at which this process first sees the new list: no two clocks are compared.
#[derive(Debug, Default)]
pub struct Renewal {
    /// The list, and that moment.
    seen: Option<(i64, Instant)>,
}

impl Renewal {
    /// Returns whether the log may be trimmed now by a list that was begun at this time ([`Members::begun`]).
    pub fn may_trim(&mut self, begun: i64, now: Instant) -> bool {
        if begun == 0 {
            return true;
        }
        let since = match self.seen {
            Some((seen, since)) if seen == begun => since,
            _ => now,
        };
        self.seen = Some((begun, since));
        now.saturating_duration_since(since) >= RENEWAL
    }
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The extent of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// The sequence number of the first entry.
    pub first: u64,
    /// That of the last one.
    pub last: u64,
    /// The size of all, bytes.
    pub bytes: u64,
    /// The largest size that the log may have, bytes.
    pub bytes_max: u64,
}

/// What has to go, so that the log does not run full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trim {
    /// The entries before this one.
    pub before: Option<u64>,
    /// Nodes that are so far behind that they would let the log run full: the log does not wait for them any more.
    pub out: Vec<String>,
    /// Nodes that are as far behind, and for which the log waits: without them, fewer than two nodes would have what leaves it.
    pub waits_for: Vec<String>,
}

impl Members {
    /// Puts the mark of a daemon. The mark of a copy stays, until it is too old; and that of a stop, if the node has filed otherwise than the
    /// others, which a restart does not change. Returns the mark of the daemon before.
    pub fn put(&mut self, own: &str, mut mark: Mark) -> Option<Mark> {
        let last = self.nodes.get(own);
        let copy = last.and_then(|last| last.copy);
        mark.copy = copy.filter(|copy| mark.time.saturating_sub(copy.time) < COPY_SECONDS);
        let stopped = last.and_then(|last| last.stopped.clone());
        mark.stopped = stopped.filter(|stop| stop.holds_at(mark.durable));
        let last = self.nodes.insert(own.to_owned(), mark);
        // A command is no daemon.
        last.filter(|last| last.process != 0)
    }

    /// Puts the mark of a command. While it copies segments, it stays noted that the node has filed otherwise than the others: if the copy is
    /// interrupted, that is still so.
    pub fn announce(&mut self, own: &str, mut mark: Mark) {
        if mark.copy.is_some() {
            let last = self.nodes.get(own).and_then(|last| last.stopped.clone());
            mark.stopped = last.filter(|stop| stop.differs.is_some());
        }
        self.nodes.insert(own.to_owned(), mark);
    }

    /// Notes that a node which has applied the entries up to `durable` applies no more. Returns whether that is new. That it has filed
    /// otherwise stays noted, whatever stopped it later.
    pub fn stop(&mut self, own: &str, (process, durable): (u64, u64), stop: &StopMark) -> bool {
        let mark = self.nodes.entry(own.to_owned());
        let mark = mark.or_insert_with(|| Mark {
            process,
            durable,
            time: stop.time,
            ..Mark::default()
        });
        let before = mark.stopped.as_ref();
        let stays = before.is_some_and(|before| {
            before == stop || stop.differs.is_none() && before.holds_at(durable)
        });
        if !stays {
            mark.stopped = Some(stop.clone());
        }
        !stays
    }

    /// The last entry that all nodes have on their disks, and in their copies.
    pub fn lowest(&self) -> Option<u64> {
        self.nodes.values().map(Mark::done).min()
    }

    /// The last entry that at least two nodes have on their disks; of a cluster of one node, the last one that it has.
    fn twice_held(&self) -> Option<u64> {
        let mut held: Vec<u64> = self.nodes.values().filter_map(Mark::held).collect();
        held.sort_unstable_by(|one, other| other.cmp(one));
        held.get(1).or(held.first()).copied()
    }

    /// The part of the log that has to go, as the node `own` finds it.
    pub fn trim(&self, log: Extent, own: &str) -> Trim {
        let mut trim = Trim::default();
        let keep = log.bytes_max / KEEP_PART;
        let Some(excess) = log.bytes.checked_sub(keep).filter(|excess| *excess > 0) else {
            return trim;
        };
        let count = (log.last + 1).saturating_sub(log.first);
        let share = u128::from(count) * u128::from(excess) / u128::from(log.bytes.max(1));
        let goal = log.first + share as u64;
        let is_behind = |mark: &Mark| mark.done().saturating_add(1) < goal;
        // A node that is behind itself puts nobody out.
        let may_put_out = self.nodes.get(own).is_some_and(|mark| !is_behind(mark));
        if log.bytes > keep + keep / 2 && may_put_out {
            let twice = self.twice_held();
            for (name, mark) in self.nodes.iter().filter(|(_, mark)| is_behind(mark)) {
                // What it has not, two others have.
                let is_spare = mark.held().is_none_or(|held| Some(held) < twice);
                let list = if is_spare {
                    &mut trim.out
                } else {
                    &mut trim.waits_for
                };
                list.push(name.clone());
            }
        }
        let stay = self
            .nodes
            .iter()
            .filter(|(name, _)| !trim.out.contains(name));
        let lowest = stay.map(|(_, mark)| mark.done()).min();
        trim.before = lowest
            .map(|lowest| goal.min(lowest.saturating_add(1)))
            .filter(|before| *before > log.first);
        trim
    }

    /// The nodes that made something else of the log than a node with these outcomes, if most nodes agree with each other against it.
    pub fn outvote(&self, own: &str, outcomes: &BTreeMap<u64, String>) -> Option<Outvote> {
        for (sequence, outcome) in outcomes {
            let mut others: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (name, mark) in self.nodes.iter().filter(|(name, _)| *name != own) {
                if let Some(told) = mark.outcomes.get(sequence).filter(|told| *told != outcome) {
                    others.entry(told).or_default().push(name.clone());
                }
            }
            let most = others
                .into_values()
                .max_by_key(Vec::len)
                .unwrap_or_default();
            if most.len() * 2 > self.nodes.len() {
                let agreed = outcomes.range(..sequence).rev();
                let agreed = agreed
                    .filter(|(at, ours)| self.tells(&most, **at, ours))
                    .map(|(at, _)| *at)
                    .next();
                return Some(Outvote {
                    entries: (agreed.map_or(1, |agreed| agreed + 1), *sequence),
                    others: most,
                });
            }
        }
        None
    }

    /// The version of the decisions that all nodes can begin; `None`: the list has no nodes.
    pub fn common_decisions(&self) -> Option<CommonDecisions> {
        let ranges = || self.nodes.iter().map(|(name, mark)| (name, mark.decisions));
        let version = ranges().map(|(_, range)| range.newest).min()?;
        let is_held = ranges().any(|(_, range)| range.newest > version);
        let names = |is_one: &dyn Fn(DecisionRange) -> bool| {
            let of = ranges().filter(|(_, range)| is_one(*range));
            of.map(|(name, _)| name.clone()).collect()
        };
        Some(CommonDecisions {
            version,
            held_by: names(&|range| is_held && range.newest == version),
            too_new: names(&|range| range.oldest > version),
        })
    }

    /// Whether one of these nodes has this outcome at an entry.
    fn tells(&self, names: &[String], sequence: u64, outcome: &str) -> bool {
        let marks = names.iter().filter_map(|name| self.nodes.get(name));
        let mut told = marks.filter_map(|mark| mark.outcomes.get(&sequence));
        told.any(|told| told == outcome)
    }

    /// Whether another node has still to tell what it made of the newest entry for which this one has told it. A node that only copies
    /// segments, or applies no more entries, will not.
    pub fn is_outcome_awaited(&self, own: &str) -> bool {
        let told = self.nodes.get(own);
        let newest = told.and_then(|mark| mark.outcomes.last_key_value());
        let Some((newest, _)) = newest else {
            return false;
        };
        let others = self.nodes.iter().filter(|(name, _)| *name != own);
        let mut running = others.filter(|(_, mark)| mark.process != 0 && mark.stopped.is_none());
        running.any(|(_, mark)| mark.durable < *newest)
    }

    /// The names of nodes that made something else of the log than a node with these outcomes.
    pub fn dissenters(&self, own: &str, outcomes: &BTreeMap<u64, String>) -> Vec<String> {
        let differs = |mark: &Mark| {
            let mut told = mark.outcomes.iter();
            told.any(|(sequence, told)| outcomes.get(sequence).is_some_and(|ours| ours != told))
        };
        let others = self.nodes.iter().filter(|(name, _)| *name != own);
        others
            .filter(|(_, mark)| differs(mark))
            .map(|(name, _)| name.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(marks: &[(&str, u64)]) -> Members {
        let mark = |(name, durable): &(&str, u64)| {
            let mark = Mark {
                durable: *durable,
                ..Mark::default()
            };
            ((*name).to_owned(), mark)
        };
        Members {
            nodes: marks.iter().map(mark).collect(),
            ..Members::default()
        }
    }

    fn log(bytes: u64) -> Extent {
        Extent {
            first: 101,
            last: 200,
            bytes,
            bytes_max: 1000,
        }
    }

    #[test]
    fn outcomes_of_running_nodes_are_awaited() {
        let mut all = members(&[("a", 130), ("b", 127), ("c", 140)]);
        for mark in all.nodes.values_mut() {
            mark.process = 1;
        }
        assert!(!all.is_outcome_awaited("a"), "it has told none");
        let told = BTreeMap::from([(64, "x".to_owned()), (128, "y".to_owned())]);
        all.nodes.get_mut("a").unwrap().outcomes = told;
        assert!(all.is_outcome_awaited("a"));
        let mut copying = all.clone();
        copying.nodes.get_mut("b").unwrap().process = 0;
        assert!(!copying.is_outcome_awaited("a"));
        let mut stopped = all.clone();
        stopped.nodes.get_mut("b").unwrap().stopped = Some(StopMark::default());
        assert!(!stopped.is_outcome_awaited("a"));
        all.nodes.get_mut("b").unwrap().durable = 128;
        assert!(!all.is_outcome_awaited("a"));
    }

    #[test]
    fn entries_that_all_nodes_have_leave_a_log_that_is_half_full() {
        let all = members(&[("a", 200), ("b", 190), ("c", 150)]);
        assert_eq!(all.lowest(), Some(150));
        assert_eq!(all.trim(log(500), "a"), Trim::default());
        // A fifth is too much: 20 entries.
        assert_eq!(all.trim(log(625), "a").before, Some(121));
        // Not those that one lacks.
        let slow = members(&[("a", 200), ("b", 190), ("c", 110)]);
        let trim = slow.trim(log(700), "a");
        assert_eq!((trim.before, trim.out), (Some(111), vec![]));
        // Unless the log would run full.
        let trim = slow.trim(log(800), "a");
        assert_eq!((trim.before, trim.out), (Some(138), vec!["c".to_owned()]));
        // The slow one itself puts nobody out, nor does one that is no member.
        for own in ["c", "d"] {
            let trim = slow.trim(log(800), own);
            assert_eq!((trim.before, trim.out), (Some(111), vec![]));
        }
        let none = members(&[]);
        assert_eq!(none.trim(log(800), "a"), Trim::default());
        let behind = members(&[("a", 100)]);
        assert_eq!(behind.trim(log(1000), "a"), Trim::default());
    }

    #[test]
    fn what_fewer_than_two_nodes_have_stays_in_the_log() {
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        // Two of three are down: one goes, and the log waits for the one that is further.
        let down = members(&[("a", 200), ("b", 115), ("c", 110)]);
        let trim = down.trim(log(1000), "a");
        assert_eq!(trim.before, Some(116));
        assert_eq!((trim.out, trim.waits_for), (names(&["c"]), names(&["b"])));
        // Also if both stopped at the same entry, and of four.
        let equal = members(&[("a", 200), ("b", 110), ("c", 110)]);
        let trim = equal.trim(log(1000), "a");
        assert_eq!(trim.before, Some(111));
        assert_eq!((trim.out, trim.waits_for), (vec![], names(&["b", "c"])));
        let four = members(&[("a", 200), ("b", 101), ("c", 190), ("d", 102)]);
        let trim = four.trim(log(1000), "a");
        assert_eq!(trim.before, Some(151));
        assert_eq!((trim.out, trim.waits_for), (names(&["b", "d"]), vec![]));
        // The other one of two.
        let two = members(&[("a", 200), ("b", 110)]);
        let trim = two.trim(log(1000), "a");
        assert_eq!(trim.before, Some(111));
        assert_eq!((trim.out, trim.waits_for), (vec![], names(&["b"])));
        // `cluster leave' is the way out: a cluster of one node goes by its own mark.
        let one = members(&[("a", 200)]);
        let trim = one.trim(log(1000), "a");
        assert_eq!(trim.before, Some(151));
        assert_eq!((trim.out, trim.waits_for), (vec![], vec![]));
        // A node whose segments are on their way has nothing on its disk yet.
        let mut copying = members(&[("a", 200), ("b", 115), ("c", 180)]);
        let copy = CopyMark {
            durable: 180,
            time: 1000,
        };
        if let Some(mark) = copying.nodes.get_mut("c") {
            mark.copy = Some(copy);
        }
        let trim = copying.trim(log(1000), "a");
        assert_eq!(trim.before, Some(116));
        assert_eq!((trim.out, trim.waits_for), (vec![], names(&["b"])));
        // The only node of a cluster gives its segments to another one.
        copying.nodes.remove("b");
        assert_eq!(copying.trim(log(1000), "a").before, Some(151));
    }

    #[test]
    fn nothing_goes_before_the_nodes_of_a_lost_list_are_back() {
        let mut renewal = Renewal::default();
        let now = Instant::now();
        assert!(renewal.may_trim(0, now));
        assert!(!renewal.may_trim(1000, now));
        let almost = now + RENEWAL - Duration::from_secs(1);
        assert!(!renewal.may_trim(1000, almost));
        // It is lost again.
        assert!(!renewal.may_trim(1600, almost));
        assert!(!renewal.may_trim(1600, now + RENEWAL));
        assert!(renewal.may_trim(1600, almost + RENEWAL));
        // The others write the list again, by its text.
        let mut list = members(&[("a", 5)]);
        assert!(!serde_json::to_string(&list).is_ok_and(|text| text.contains("begun")));
        list.begun = 1600;
        let text = serde_json::to_string(&list).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Members>(&text).ok(), Some(list));
    }

    #[test]
    fn the_log_keeps_what_a_copy_needs_beside_the_daemon() {
        let of_daemon = |durable, time| Mark {
            process: 7,
            durable,
            time,
            ..Mark::default()
        };
        let mut all = members(&[("a", 200), ("b", 200)]);
        // A command looks, while the daemon of the node runs.
        let copy = CopyMark {
            durable: 110,
            time: 1000,
        };
        let of_command = Mark {
            durable: 110,
            time: 1000,
            copy: Some(copy),
            ..Mark::default()
        };
        all.nodes.insert("b".to_owned(), of_command);
        // It is no other node.
        assert_eq!(all.put("b", of_daemon(200, 1001)), None);
        assert_eq!(all.lowest(), Some(110));
        assert_eq!(all.trim(log(700), "a").before, Some(111));
        let again = all.put("b", of_daemon(200, 1000 + COPY_SECONDS - 1));
        assert_eq!(again.map(|last| last.process), Some(7));
        assert_eq!(all.lowest(), Some(110));
        // It was given up.
        all.put("b", of_daemon(200, 1000 + COPY_SECONDS));
        assert_eq!(all.lowest(), Some(200));
    }

    #[test]
    fn a_node_against_most_is_outvoted() {
        let told = |pairs: &[(u64, &str)]| -> BTreeMap<u64, String> {
            let pairs = pairs.iter();
            pairs.map(|(at, text)| (*at, (*text).to_owned())).collect()
        };
        let mut all = members(&[("a", 1), ("b", 1), ("c", 1)]);
        let ours = told(&[(64, "x"), (128, "y")]);
        let mut tell = |name: &str, outcomes| {
            let mark = all.nodes.entry(name.to_owned()).or_default();
            mark.outcomes = outcomes;
            all.clone()
        };
        let all = tell("b", told(&[(64, "x"), (128, "z"), (192, "w")]));
        assert_eq!(all.outvote("a", &ours), None);
        assert_eq!(all.dissenters("a", &ours), ["b"]);
        // Two that disagree with each other too are no majority.
        let all = tell("c", told(&[(128, "v")]));
        assert_eq!(all.outvote("a", &ours), None);
        let all = tell("c", told(&[(128, "z")]));
        let others = vec!["b".to_owned(), "c".to_owned()];
        // They agreed at entry 64.
        let entries = (65, 128);
        let outvote = Outvote { entries, others };
        assert_eq!(all.outvote("a", &ours), Some(outvote.clone()));
        // It is not known whether they did.
        let entries = (1, 128);
        let unknown = Outvote { entries, ..outvote };
        assert_eq!(all.outvote("a", &told(&[(128, "y")])), Some(unknown));
        assert_eq!(all.outvote("a", &told(&[(128, "z")])), None);
    }

    #[test]
    fn new_decisions_wait_for_all_nodes() {
        assert_eq!(members(&[]).common_decisions(), None);
        let with = |ranges: &[(&str, u16, u16)]| {
            let mut all = members(&[]);
            for (name, oldest, newest) in ranges {
                let decisions = DecisionRange {
                    oldest: *oldest,
                    newest: *newest,
                };
                let mark = Mark {
                    decisions,
                    ..Mark::default()
                };
                all.nodes.insert((*name).to_owned(), mark);
            }
            all
        };
        let common = |ranges: &[(&str, u16, u16)]| with(ranges).common_decisions();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let found = |version, held_by: &[&str], too_new: &[&str]| {
            Some(CommonDecisions {
                version,
                held_by: names(held_by),
                too_new: names(too_new),
            })
        };
        assert_eq!(common(&[("a", 1, 1), ("b", 1, 1)]), found(1, &[], &[]));
        let upgrade = [("a", 1, 2), ("b", 1, 1), ("c", 1, 3)];
        assert_eq!(common(&upgrade), found(1, &["b"], &[]));
        let done = [("a", 1, 2), ("b", 1, 2), ("c", 2, 3)];
        assert_eq!(common(&done), found(2, &["a", "b"], &[]));
        let apart = [("a", 1, 1), ("b", 2, 3)];
        assert_eq!(common(&apart), found(1, &["a"], &["b"]));
        // A mark without versions is one of the first.
        let text = serde_json::to_string(&with(&upgrade)).unwrap_or_default();
        assert_eq!(text.matches("decisions").count(), 2, "{text}");
        let read: Option<Members> = serde_json::from_str(&text).ok();
        assert_eq!(
            read.and_then(|all| all.common_decisions()),
            found(1, &["b"], &[])
        );
    }

    #[test]
    fn a_node_that_has_stopped_says_why() {
        let mut all = members(&[("a", 200), ("b", 150)]);
        let stop = StopMark {
            why: "damaged".to_owned(),
            time: 1000,
            ..StopMark::default()
        };
        assert!(all.stop("b", (7, 150), &stop));
        assert!(!all.stop("b", (7, 150), &stop));
        assert_eq!(all.nodes["b"].stopped, Some(stop.clone()));
        // The log keeps what it needs when it is mended.
        assert_eq!(all.lowest(), Some(150));
        let of_daemon = |durable| Mark {
            process: 8,
            durable,
            time: 1001,
            ..Mark::default()
        };
        // A new daemon goes on.
        all.put("b", of_daemon(151));
        assert_eq!(all.nodes["b"].stopped, None);
        // One that has filed otherwise does so after a restart, too.
        let differs = StopMark {
            differs: Some((65, 128)),
            others: vec!["a".to_owned(), "c".to_owned()],
            ..stop.clone()
        };
        all.stop("b", (8, 151), &differs);
        all.put("b", of_daemon(152));
        assert!(!all.stop("b", (8, 152), &stop));
        assert_eq!(all.nodes["b"].stopped.as_ref(), Some(&differs));
        // A command that copies segments may be interrupted.
        let copying = Mark {
            durable: 160,
            copy: Some(CopyMark::default()),
            ..Mark::default()
        };
        let mut whole = all.clone();
        whole.announce("b", copying.clone());
        whole.put("b", of_daemon(152));
        assert_eq!(whole.nodes["b"].stopped.as_ref(), Some(&differs));
        // Its copy is whole.
        whole.announce(
            "b",
            Mark {
                copy: None,
                ..copying
            },
        );
        whole.put("b", of_daemon(161));
        assert_eq!(whole.nodes["b"].stopped, None);
        // Unless its articles are those of an earlier time.
        all.put("b", of_daemon(64));
        assert_eq!(all.nodes["b"].stopped, None);
        // A node that was put out is listed again, and nothing waits for it.
        let out = StopMark {
            is_out: true,
            ..stop
        };
        assert!(all.stop("c", (9, 5), &out));
        assert_eq!((all.nodes["c"].durable, all.lowest()), (5, Some(64)));
        assert_eq!(all.trim(log(700), "a").out, Vec::<String>::new());
        let text = serde_json::to_string(&all).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Members>(&text).ok(), Some(all));
    }
}
