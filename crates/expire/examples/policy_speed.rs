//! Measures how long it takes to compile a policy over a large active table, and to decide.
//! `cargo run --release -p expire --example policy_speed [groups [rules]]`

use std::hint::black_box;
use std::time::Instant;

use expire::policy::Facts;
use expire::{Explist, Policy, Verdict};
use groups::Active;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().ok());
    let groups: usize = arguments.next().flatten().unwrap_or(45_000);
    let rules: usize = arguments.next().flatten().unwrap_or(100);
    let table: String = (0..groups)
        .map(|n| format!("h{}.part{}.g{n} 0000000000 00001 y\n", n % 120, n % 17))
        .collect();
    let mut policy: String = (0..rules)
        .map(|n| {
            format!(
                "h{}.part{},!h{}.part{}.g5 x 1-{}-90 -\n",
                n % 120,
                n % 17,
                n % 120,
                n % 17,
                n % 30 + 1
            )
        })
        .collect();
    policy.push_str("all x 14 -\n");
    let Ok(active) = Active::parse(table.into_bytes()) else {
        return println!("the active table was refused");
    };

    let start = Instant::now();
    let compiled = Explist::parse(policy.as_bytes(), "explist", None)
        .and_then(|list| Policy::compile(list, &active));
    let spent = start.elapsed();
    let policy = match compiled {
        Ok((policy, _)) => policy,
        Err(error) => return println!("{error}"),
    };
    println!("{groups} groups, {rules} rules: compiled in {spent:?}");

    let now = 1_700_000_000;
    let start = Instant::now();
    let mut cuts = 0i64;
    for id in active.ids() {
        cuts = cuts.wrapping_add(black_box(policy.cutoffs(id, now)).default);
    }
    let spent = start.elapsed();
    println!("cut-offs of all groups in {spent:?} (sum {cuts})");

    let start = Instant::now();
    let (mut gone, mut decided) = (0u64, 0u64);
    for round in 0..100i64 {
        for id in active.ids() {
            let facts = Facts {
                arrival: now - round * 20_000,
                expires: None,
                expires_unreadable: false,
            };
            let decision = policy.decide(black_box(facts), id, now);
            gone += u64::from(decision.verdict != Verdict::Keep);
            decided += 1;
        }
    }
    let spent = start.elapsed();
    let each = spent.as_secs_f64() * 1e9 / decided.max(1) as f64;
    println!("{decided} decisions, {gone} go: {each:.1} ns each");
}
