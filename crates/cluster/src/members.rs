//! The nodes of a cluster: each tells the others how far it is, in a value that the servers keep beside the log.
//!
//! *Invariant:* an entry leaves the log only when every node has it on its disk, except nodes that would let the log run full. Nothing here
//! decides about articles: a value that was lost delays the trimming, no more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sequence numbers at which nodes compare their outcomes: the multiples of this.
pub const COMPARE_EVERY: u64 = 64;
/// Outcomes that a mark has.
pub const OUTCOMES_TOLD: usize = 16;
/// Part of the log's size down to which entries leave it: the rest serves nodes that join or come back.
const KEEP_PART: u64 = 2;
/// Time for which the log keeps what comes behind a copy of segments, s: each look of the copying program at the other node begins it anew.
const COPY_SECONDS: i64 = 24 * 60 * 60;

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
}

impl Mark {
    /// The last entry that nobody on the node needs any more.
    fn done(&self) -> u64 {
        let is_out = self.stopped.as_ref().is_some_and(|stop| stop.is_out);
        let durable = if is_out { u64::MAX } else { self.durable };
        self.copy.map_or(durable, |copy| durable.min(copy.durable))
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
            let behind = self.nodes.iter().filter(|(_, mark)| is_behind(mark));
            trim.out = behind.map(|(name, _)| name.clone()).collect();
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

    /// Whether one of these nodes has this outcome at an entry.
    fn tells(&self, names: &[String], sequence: u64, outcome: &str) -> bool {
        let marks = names.iter().filter_map(|name| self.nodes.get(name));
        let mut told = marks.filter_map(|mark| mark.outcomes.get(&sequence));
        told.any(|told| told == outcome)
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
        // A list of an earlier build.
        let text = r#"{"process":7,"durable":9,"time":3,"outcomes":{}}"#;
        let mark: Mark = serde_json::from_str(text).unwrap_or_default();
        assert_eq!(mark, of_daemon(9, 3));
        assert_eq!(serde_json::to_string(&mark).unwrap_or_default(), text);
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
            ..stop.clone()
        };
        all.stop("b", (8, 151), &differs);
        all.put("b", of_daemon(152));
        assert!(!all.stop("b", (8, 152), &stop));
        assert_eq!(all.nodes["b"].stopped, Some(differs));
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
        // Marks of earlier builds have none of this.
        let text = serde_json::to_string(&of_daemon(9)).unwrap_or_default();
        assert!(!text.contains("stopped"), "{text}");
        let text = serde_json::to_string(&all).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Members>(&text).ok(), Some(all));
    }
}
