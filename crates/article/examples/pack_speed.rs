//! Measures wrapping: `pack_speed FILE [BYTES]`. Prints, for each compression, megabytes of plain batch per second
//! and the compressed share, in batches of BYTES bytes (100,000).

use std::io;
use std::time::Instant;

use article::wrap::WrapFormat;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read(arguments.next().unwrap_or_default())?;
    let bytes = arguments.next().and_then(|word| word.parse().ok());
    let words = [
        "none", "compress", "gzip-1", "gzip", "gzip-9", "bzip2", "xz-0", "xz", "zstd-1", "zstd",
        "zstd-9", "zstd-19",
    ];
    for wrap_format in words.iter().filter_map(|word| WrapFormat::of(word)) {
        let mut best = f64::INFINITY;
        let mut wrapped = 0;
        for _ in 0..3 {
            let start = Instant::now();
            wrapped = 0;
            for batch in text.chunks(bytes.unwrap_or(100_000)) {
                wrapped += wrap_format.wrap(batch)?.len();
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let name = wrap_format
            .kind
            .map_or("none".to_owned(), |kind| kind.to_string());
        println!(
            "{:>8}{:<4} {:7.1} MB/s  {:5.1} %",
            name,
            wrap_format
                .level
                .map(|level| format!("-{level}"))
                .unwrap_or_default(),
            text.len() as f64 / best / 1e6,
            wrapped as f64 * 100.0 / text.len() as f64
        );
    }
    Ok(())
}
