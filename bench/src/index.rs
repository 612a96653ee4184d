//! `bench index`: bytes per id and time per look-up with ten million ids.
//!
//! Calls the store's library instead of the binary, because starting a process
//! for each look-up would dominate. Needs the feature `index`, so
//! that users who only generate batches need not build a store.

use std::path::Path;

use anyhow::Result;

/// Number of ids of the row in docs/performance.md.
pub const IDS: u64 = 10_000_000;

/// Adds `ids` ids in the news directory `news` (created by `broadsheet
/// init`), looks some up, and returns the rows.
///
/// # Errors
/// The store fails, or a look-up has a wrong result.
#[cfg(feature = "index")]
pub fn rows(news: &Path, ids: u64) -> Result<String> {
    filled::rows(news, ids)
}

/// Returns the reason why there are no rows.
///
/// # Errors
/// None.
#[cfg(not(feature = "index"))]
pub fn rows(_news: &Path, ids: u64) -> Result<String> {
    Ok(format!(
        "index, {ids} ids: this bench was built without its feature `index': skipped\n"
    ))
}

#[cfg(feature = "index")]
mod filled {
    use std::fmt::Write as _;
    use std::io::Write as _;
    use std::path::Path;
    use std::time::Instant;

    use anyhow::{Result, bail};
    use bench::generate::{Random, SEED, mix};
    use store::{Expires, Options, Spool};

    use crate::measure::own_times;
    use crate::report::{Goal, figure};

    const BYTES_AN_ID: Goal = Goal {
        reach: 24.0,
        aim: 16.0,
    };
    const LOOK_UP: Goal = Goal {
        reach: 2.0,
        aim: 0.5,
    };

    /// Number of look-ups of each kind.
    const LOOK_UPS: u64 = 1_000_000;

    /// Uncommitted bytes that trigger a commit, as for a large batch.
    const COMMIT_BYTES: usize = 8 << 20;

    /// Length of every id, so that many fit one buffer.
    const ID_BYTES: usize = 32;

    /// The arrival of all ids; 1 June 2012.
    const ARRIVAL: i64 = 1_338_508_800;

    fn push_id(out: &mut Vec<u8>, number: u64) {
        // Writing to memory does not fail.
        let _ = write!(out, "<{:016x}@index.example>", mix(SEED ^ number));
        debug_assert_eq!(out.len() % ID_BYTES, 0);
    }

    pub fn rows(news: &Path, ids: u64) -> Result<String> {
        let mut text = String::new();
        let mut spool = Spool::open(news, Options::default())?;
        let begin = Instant::now();
        let mut id = Vec::with_capacity(ID_BYTES);
        for number in 0..ids {
            id.clear();
            push_id(&mut id, number);
            spool.remember(&id, ARRIVAL, Expires::Absent)?;
            if spool.pending_bytes() >= COMMIT_BYTES {
                spool.commit()?;
            }
        }
        spool.commit()?;
        let filled = begin.elapsed();
        let (used, slots, bytes) = spool.index_size();
        text.push_str(&figure(
            &format!("index, {ids} ids"),
            bytes as f64 / ids as f64,
            "bytes an id",
            BYTES_AN_ID,
        ));
        let _ = writeln!(
            text,
            "    {used} of {slots} slots, {bytes} bytes; filled in {:.1} s, {:.2} µs an id",
            filled.as_secs_f64(),
            filled.as_secs_f64() * 1e6 / ids as f64,
        );
        let mut random = Random::new(SEED);
        for present in [true, false] {
            let mut asked = Vec::with_capacity(ID_BYTES * LOOK_UPS as usize);
            for _ in 0..LOOK_UPS {
                push_id(
                    &mut asked,
                    random.below(ids) + if present { 0 } else { ids },
                );
            }
            let before = own_times()?;
            let begin = Instant::now();
            let mut found = 0;
            for id in asked.chunks_exact(ID_BYTES) {
                found += u64::from(spool.find(id)?.is_some());
            }
            let real = begin.elapsed();
            let after = own_times()?;
            if found != if present { LOOK_UPS } else { 0 } {
                bail!("{found} of {LOOK_UPS} ids found, present: {present}");
            }
            let cpu = (after.0 + after.1).saturating_sub(before.0 + before.1);
            let what = format!(
                "look-up of an id that is {}",
                if present { "there" } else { "not there" }
            );
            let an_id = |time: std::time::Duration| time.as_secs_f64() * 1e6 / LOOK_UPS as f64;
            text.push_str(&figure(
                &what,
                an_id(cpu),
                &format!("µs cpu, {:.3} real", an_id(real)),
                LOOK_UP,
            ));
        }
        Ok(text)
    }
}
