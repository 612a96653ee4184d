//! Whatever is done to a news directory, in this process and by others that borrow the lock: who reads live sees, when it has
//! caught up, what a reader sees that is opened then; and between, it never fails.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::agree;
use crate::news;

use groups::Flag;
use news::News;
use proptest::prelude::*;
use store::{
    ExpiryDecision, Options, Position, Published, ReclaimPolicy, Snapshot, Spool, reclaim,
};

const GROUPS: [&str; 3] = ["a", "b.c", "d"];

#[derive(Debug, Clone)]
enum Deed {
    /// Bytes of filler, groups, whether a commit follows.
    File(usize, Vec<usize>, bool),
    Cancel(prop::sample::Index),
    /// Below this number of the group's, in hundredths of its high mark.
    Cut(usize, u64),
    Early(usize, prop::sample::Index),
    Reclaim,
    Seal,
    GrowIndex,
    Group(bool),
    /// The lock is lent, and so many articles are filed by another.
    Lend(usize),
    /// The reader looks, and remembers what it sees.
    Look,
}

fn deed() -> impl Strategy<Value = Deed> {
    let groups = prop::sample::subsequence((0..GROUPS.len()).collect::<Vec<_>>(), 1..=3);
    let filler = prop_oneof![4 => 0..300usize, 1 => 20_000..90_000usize];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        12 => (filler, groups, any::<bool>()).prop_map(|(bytes, groups, commit)| Deed::File(bytes, groups, commit)),
        3 => index().prop_map(Deed::Cancel),
        1 => (0..GROUPS.len(), 0..100u64).prop_map(|(group, part)| Deed::Cut(group, part)),
        1 => (0..GROUPS.len(), index()).prop_map(|(group, which)| Deed::Early(group, which)),
        1 => Just(Deed::Reclaim),
        2 => Just(Deed::Seal),
        1 => Just(Deed::GrowIndex),
        1 => any::<bool>().prop_map(Deed::Group),
        1 => (0..20usize).prop_map(Deed::Lend),
        3 => Just(Deed::Look),
    ]
}

struct Town {
    news: News,
    spool: Option<Spool>,
    filed: Vec<(Position, String)>,
}

impl Town {
    fn options() -> Options {
        Options {
            segment_bytes: 1 << 20,
            ..Options::default()
        }
    }

    fn spool(&mut self) -> &mut Spool {
        self.spool.as_mut().unwrap()
    }

    fn file(&mut self, bytes: usize, groups: &[usize]) {
        let id = format!("<{}@x>", self.filed.len());
        let names: Vec<&str> = groups.iter().map(|group| GROUPS[*group]).collect();
        let spool = self.spool.as_mut().unwrap();
        let filler = "x".repeat(bytes);
        let position = self.news.file_with(spool, &id, &names, &filler);
        self.filed.push((position, id));
    }

    fn expire(&mut self, expiry: ExpiryDecision) {
        let spool = self.spool();
        spool.commit().unwrap();
        let reader = Snapshot::open(spool.dir()).unwrap();
        let touched = reader.segments().to_vec();
        self.spool()
            .expire(&ExpiryDecision { touched, ..expiry })
            .unwrap();
    }

    fn high(&mut self, group: usize) -> u64 {
        let active = self.spool().active();
        active.high(active.find(GROUPS[group].as_bytes()).unwrap())
    }

    fn lend(&mut self, published: &std::sync::Arc<Published>, borrow: impl FnOnce(&mut Town)) {
        self.spool().commit().unwrap();
        self.spool = None;
        borrow(self);
        self.spool = None;
        let mut spool = Spool::open(self.news.dir(), Town::options()).unwrap();
        spool.publish_to(published.clone());
        self.spool = Some(spool);
    }

    fn open(&mut self) {
        self.spool = Some(Spool::open(self.news.dir(), Town::options()).unwrap());
    }
}

/// Reads a little of everything; what comes of it does not matter, but that it does not fail.
fn browse(live: &mut Snapshot, filed: &[(Position, String)]) {
    for group in GROUPS {
        agree::rows(live, group.as_bytes(), 1000);
    }
    for (position, id) in filed.iter().rev().step_by(3) {
        live.has(id.as_bytes()).unwrap();
        if let Some(record) = live.record(*position, &mut Vec::new()).unwrap() {
            let wire = String::from_utf8(record.wire().to_vec()).unwrap();
            assert!(wire.contains(id.as_str()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn live_snapshots_agree_with_new_ones(deeds in prop::collection::vec(deed(), 1..120)) {
        let mut town = Town { news: News::new(&GROUPS), spool: None, filed: Vec::new() };
        let published = Published::new();
        town.open();
        town.spool().publish_to(published.clone());
        let mut live = Snapshot::open_live(town.news.dir(), published.clone()).unwrap();
        // It catches up at the very end only.
        let mut late = Snapshot::open_live(town.news.dir(), published.clone()).unwrap();
        for (step, deed) in deeds.into_iter().enumerate() {
            let what = format!("{step}: {deed:?}");
            match deed {
                Deed::File(bytes, groups, commit) => {
                    town.file(bytes, &groups);
                    if commit {
                        town.spool().commit().unwrap();
                    }
                }
                Deed::Cancel(which) if !town.filed.is_empty() => {
                    let (position, id) = which.get(&town.filed).clone();
                    town.spool().cancel(position, id.as_bytes()).unwrap();
                }
                Deed::Cancel(_) => {}
                Deed::Cut(group, part) => {
                    let cut = town.high(group) * part / 100 + 1;
                    let cuts = vec![(GROUPS[group].into(), cut)];
                    town.expire(ExpiryDecision { cuts, ..ExpiryDecision::default() });
                }
                Deed::Early(group, which) => {
                    let high = town.high(group);
                    if high > 0 {
                        let number = which.index(high as usize) as u64 + 1;
                        let gone = vec![(GROUPS[group].into(), number)];
                        town.expire(ExpiryDecision { gone, ..ExpiryDecision::default() });
                    }
                }
                Deed::Reclaim => town.lend(&published, |town| {
                    reclaim(town.news.dir(), Town::options(), ReclaimPolicy::usual(0.1)).unwrap();
                    browse(&mut late, &town.filed);
                }),
                Deed::Seal => {
                    let spool = town.spool();
                    spool.commit().unwrap();
                    spool.seal().unwrap();
                    spool.commit().unwrap();
                }
                Deed::GrowIndex => {
                    town.spool().rebuild_index().unwrap();
                }
                Deed::Group(is_there) => {
                    let spool = town.spool();
                    match is_there {
                        true => spool.set_group(b"guest", Flag::Open).unwrap(),
                        false if spool.active().find(b"guest").is_some() => spool.remove_group(b"guest").unwrap(),
                        false => {}
                    }
                }
                Deed::Lend(articles) => town.lend(&published, |town| {
                    town.open();
                    for _ in 0..articles {
                        town.file(30_000, &[0, 2]);
                        town.spool().commit().unwrap();
                    }
                    live.catch_up().unwrap();
                    browse(&mut live, &town.filed);
                }),
                Deed::Look => {
                    town.spool().commit().unwrap();
                    live.catch_up().unwrap();
                    let reader = Snapshot::open(town.news.dir()).unwrap();
                    agree::agree(&mut live, &reader, &what);
                }
            }
            if step % 5 == 0 {
                browse(&mut late, &town.filed);
            }
        }
        town.spool().commit().unwrap();
        let reader = Snapshot::open(town.news.dir()).unwrap();
        for live in [&mut live, &mut late] {
            live.catch_up().unwrap();
            agree::agree(live, &reader, "at the end");
        }
    }
}
