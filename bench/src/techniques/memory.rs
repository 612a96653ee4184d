//! Techniques that save work in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use anyhow::{Result, bail};

use super::{Row, each_way};

/// Number of connections with a timer.
const CONNECTIONS: u64 = 10_000;
/// Number of times that somebody asks for the next due timer.
const LOOKS: usize = 1_000;
/// Size of the text whose lines are counted, bytes.
const TEXT_BYTES: usize = 1 << 20;
/// Length of a line, with its end.
const LINE_BYTES: usize = 61;

/// The next due timer among many: a look at all of them, as the scheduler of 4.2BSD looked at all processes, and at the first of a queue.
pub(super) fn timers() -> Row {
    let times: Vec<u64> = (0..CONNECTIONS)
        .map(|at| 1_000 + at * 7_919 % CONNECTIONS)
        .collect();
    let mut queue: BinaryHeap<Reverse<u64>> = times.iter().copied().map(Reverse).collect();
    let scan = || {
        for now in 0..LOOKS as u64 {
            black_box(black_box(&times).iter().filter(|at| **at <= now).count());
        }
        Ok(())
    };
    let look = || {
        for now in 0..LOOKS as u64 {
            if black_box(&mut queue)
                .peek()
                .is_some_and(|Reverse(at)| *at <= now)
            {
                queue.pop();
            }
        }
        Ok(())
    };
    // Neither way can fail.
    let costs = each_way(LOOKS, scan, look).unwrap_or_default();
    Row {
        what: "only what is due, of 10,000 timers",
        unit: "µs a look",
        without: ("a scan", costs.0),
        with: ("a queue", costs.1),
        paper: "the scan took 20 % of system time",
    }
}

/// The lines of a text: a byte at a time, and with the vector instructions of the machine.
pub(super) fn lines() -> Result<Row> {
    let mut text = vec![b'x'; TEXT_BYTES];
    for end in text.iter_mut().skip(LINE_BYTES - 1).step_by(LINE_BYTES) {
        *end = b'\n';
    }
    let expected = TEXT_BYTES / LINE_BYTES;
    let check = |found: usize| match found == expected {
        true => Ok(()),
        false => bail!("{found} of {expected} lines found"),
    };
    let costs = each_way(
        TEXT_BYTES / 1000,
        || {
            let (mut found, mut rest) = (0, black_box(text.as_slice()));
            while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                found += 1;
                rest = rest.get(at + 1..).unwrap_or_default();
            }
            check(found)
        },
        || check(memchr::memchr_iter(b'\n', black_box(&text)).count()),
    )?;
    Ok(Row {
        what: "string routines of the machine",
        unit: "µs a kilobyte",
        without: ("a byte at a time", costs.0),
        with: ("vectors", costs.1),
        paper: "no figure",
    })
}
