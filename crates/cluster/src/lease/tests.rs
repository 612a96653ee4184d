//! Nodes that contend for the lease, with requests that are lost, late and repeated, and nodes that sleep.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use proptest::prelude::*;

use super::*;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The value in the servers.
#[derive(Default)]
struct Store {
    claim: Option<Claim>,
    revision: u64,
}

impl Store {
    fn write(&mut self, claim: &Claim, revision: u64) -> Written {
        if revision != self.revision {
            return Written::Overtaken;
        }
        self.claim = Some(claim.clone());
        self.revision += 1;
        Written::Done(self.revision)
    }
}

/// A request of a node on its way.
struct Request {
    node: usize,
    write: Option<(Claim, u64)>,
    sent: u64,
    /// When the servers get it; `None`: never.
    arrives: Option<u64>,
    /// When the node gets the answer, or gives up.
    answered: u64,
    answer: Option<Result<(Option<Claim>, u64), Written>>,
    gives_up: bool,
}

/// The chances of one run.
#[derive(Debug, Clone)]
struct Chances {
    /// For each request: whether it is lost, ms on the way there, and on the way back.
    ways: Vec<(u8, u64, u64)>,
    /// Node, from, to: it does nothing in this time, ms.
    sleeps: Vec<(usize, u64, u64)>,
    /// Node, when: it wants the lease, or wants it no more.
    minds: Vec<(usize, u64)>,
}

fn chances() -> impl Strategy<Value = Chances> {
    let way = (0u8..10, 0u64..4000, 0u64..4000).prop_map(|(kind, there, back)| {
        // Most are fast.
        if kind < 6 {
            (kind, there % 20, back % 20)
        } else {
            (kind, there, back)
        }
    });
    let sleep = (0usize..3, 0u64..60_000, 0u64..25_000);
    (
        prop::collection::vec(way, 1..200),
        prop::collection::vec(
            sleep.prop_map(|(node, from, long)| (node, from, from + long)),
            0..6,
        ),
        prop::collection::vec((0usize..3, 0u64..60_000), 0..4),
    )
        .prop_map(|(ways, sleeps, minds)| Chances {
            ways,
            sleeps,
            minds,
        })
}

/// Three nodes for a minute under faults, and half a minute without; the clocks of the nodes have different beginnings.
fn run(chances: &Chances) -> Result<(), TestCaseError> {
    const PATIENCE: u64 = 1000;
    let clocks = [ms(0), ms(1_000_000), ms(77)];
    let mut nodes: Vec<Lease> = (0..3).map(|node| Lease::new("n", node)).collect();
    let mut wants = [true; 3];
    let mut store = Store::default();
    let mut requests: Vec<Request> = Vec::new();
    let mut ways = chances.ways.iter().cycle();
    let mut holders = 0;
    for now in 0..95_000u64 {
        let is_calm = now >= 60_000;
        for request in &mut requests {
            if request.arrives == Some(now) {
                request.answer = Some(match &request.write {
                    Some((claim, revision)) => Err(store.write(claim, *revision)),
                    None => Ok((store.claim.clone(), store.revision)),
                });
            }
        }
        for (node, lease) in nodes.iter_mut().enumerate() {
            let own = clocks[node] + ms(now);
            let sleeps = chances.sleeps.iter();
            if !is_calm
                && sleeps
                    .clone()
                    .any(|(who, from, to)| *who == node && (*from..*to).contains(&now))
            {
                continue;
            }
            if now == 0 {
                lease.want(true, own);
            }
            if chances.minds.contains(&(node, now)) {
                wants[node] = !wants[node];
                lease.want(wants[node], own);
            }
            if now == 60_000 && node == 0 {
                wants[node] = true;
                lease.want(true, own);
            }
            let waits = |request: &&mut Request| request.node == node && !request.gives_up;
            if let Some(request) = requests.iter_mut().find(waits) {
                if now < request.answered {
                    continue;
                }
                request.gives_up = true;
                // A write may arrive later; its answer is not heard.
                let in_time = request.answered <= request.sent + PATIENCE;
                let answer = request.answer.clone().filter(|_| in_time);
                match (&request.write, answer) {
                    (None, Some(Ok(told))) => lease.read(Some(told), own),
                    (None, _) => lease.read(None, own),
                    (Some((claim, _)), Some(Err(written))) => {
                        lease.wrote(claim.clone(), clocks[node] + ms(request.sent), written, own);
                    }
                    (Some((claim, _)), _) => {
                        lease.wrote(
                            claim.clone(),
                            clocks[node] + ms(request.sent),
                            Written::Unknown,
                            own,
                        );
                    }
                }
            }
            let write = match lease.act(own) {
                Act::Rest(_) => continue,
                Act::Read => None,
                Act::Write(claim, revision) => Some((claim, revision)),
            };
            let (kind, there, back) = if is_calm {
                (0, 2, 2)
            } else {
                *ways.next().unwrap()
            };
            let arrives = (kind != 9).then_some(now + 1 + there);
            let answered = match kind {
                8 | 9 => now + PATIENCE + 1,
                _ => (now + 1 + there + back).min(now + PATIENCE + 1),
            };
            requests.push(Request {
                node,
                write,
                sent: now,
                arrives,
                answered,
                answer: None,
                gives_up: false,
            });
        }
        requests.retain(|request| !request.gives_up || request.arrives.is_some_and(|at| at > now));
        let held = |node: usize| {
            nodes[node]
                .until()
                .is_some_and(|until| until > clocks[node] + ms(now))
        };
        holders = (0..3).filter(|node| held(*node)).count();
        prop_assert!(holders <= 1, "{holders} hold the lease at {now} ms");
    }
    // In the calm, one that wants it has it.
    prop_assert_eq!(holders, 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn at_most_one_holds_it_and_in_the_calm_one_does(chances in chances()) {
        run(&chances)?;
    }
}

#[test]
fn it_is_taken_renewed_and_given_back() {
    let (mut one, mut other) = (Lease::new("a", 1), Lease::new("b", 2));
    let mut store = Store::default();
    one.want(true, ms(0));
    assert_eq!(one.act(ms(0)), Act::Read);
    one.read(Some((None, 0)), ms(5));
    let Act::Write(claim, 0) = one.act(ms(5)) else {
        panic!()
    };
    assert_eq!((claim.term, claim.is_released), (1, false));
    let done = store.write(&claim, 0);
    one.wrote(claim, ms(5), done, ms(9));
    assert_eq!(one.until(), Some(ms(5) + LEASE));
    assert_eq!(one.act(ms(9)), Act::Rest(ms(5) + RENEW));
    // Another one waits for as long as nothing changes.
    other.want(true, ms(100));
    other.read(Some((store.claim.clone(), store.revision)), ms(100));
    assert!(matches!(other.act(ms(100)), Act::Rest(_)));
    let late = ms(100) + LEASE;
    other.read(Some((store.claim.clone(), store.revision)), late - ms(1));
    assert_eq!(other.act(late - ms(1)), Act::Rest(late));
    // A renewal in time keeps it away.
    let Act::Write(claim, 1) = one.act(ms(5) + RENEW) else {
        panic!()
    };
    let done = store.write(&claim, 1);
    one.wrote(claim, ms(5) + RENEW, done, ms(7) + RENEW);
    other.read(Some((store.claim.clone(), store.revision)), late);
    assert!(matches!(other.act(late), Act::Rest(_)));
    // What is given back is free at once, and a new term begins.
    one.want(false, ms(8) + RENEW);
    let Act::Write(claim, 2) = one.act(ms(8) + RENEW) else {
        panic!()
    };
    assert!(claim.is_released);
    let done = store.write(&claim, 2);
    one.wrote(claim, ms(8) + RENEW, done, ms(9) + RENEW);
    assert_eq!(one.until(), None);
    other.read(Some((store.claim.clone(), store.revision)), late + ms(5));
    let Act::Write(claim, 3) = other.act(late + ms(5)) else {
        panic!()
    };
    assert_eq!((claim.term, claim.node.as_str()), (2, "b"));
}

#[test]
fn a_claim_of_another_process_of_the_same_node_is_foreign() {
    let mut again = Lease::new("a", 2);
    again.want(true, ms(0));
    let claim = Claim {
        node: "a".to_owned(),
        process: 1,
        term: 4,
        is_released: false,
    };
    again.read(Some((Some(claim.clone()), 9)), ms(0));
    assert_eq!(again.until(), None);
    assert!(matches!(again.act(ms(0)), Act::Rest(_)));
    again.read(Some((Some(claim), 9)), LEASE);
    assert!(matches!(
        again.act(LEASE),
        Act::Write(Claim { term: 5, .. }, 9)
    ));
}
