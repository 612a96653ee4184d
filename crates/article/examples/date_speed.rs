//! Measures date parsing: prints nanoseconds for dates of several forms.

use std::hint::black_box;
use std::time::Instant;

use article::date::{Utc, parse, parse_strict};

const ROUNDS: u32 = 1_000_000;

fn main() {
    for text in [
        "Mon, 20 Dec 1993 04:39:21 GMT",
        "20 Dec 93 04:39:21 GMT",
        "Mon, 20 Dec 1993 05:39:21 +0100",
        "Mon, 20 Dec 1993 05:39:21 +0100 (MET)",
        "Sun, 19 Dec 1993 20:39:21 PST",
        "Mon Dec 20 04:39:21 1993",
    ] {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                black_box(parse(black_box(text.as_bytes()), &Utc));
            }
            let parsed = start.elapsed();
            let start = Instant::now();
            for _ in 0..ROUNDS {
                black_box(parse_strict(black_box(text.as_bytes())));
            }
            let strict = start.elapsed();
            for (best, time) in best.iter_mut().zip([parsed, strict]) {
                *best = best.min(time.as_secs_f64() * 1e9 / f64::from(ROUNDS));
            }
        }
        let [parsed, strict] = best;
        println!("{parsed:6.1} ns, strictly {strict:6.1} ns: {text}");
    }
}
