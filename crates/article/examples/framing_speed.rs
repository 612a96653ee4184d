//! Measures framing: `framing_speed FILE [BUFFER_BYTES]`, FILE a plain batch.
//! Prints nanoseconds per article, and the share of the reads.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::time::Instant;

use article::batch::{BUFFER_BYTES, Batch, BatchLimits, Item};

fn main() -> io::Result<()> {
    let name = std::env::args_os()
        .nth(1)
        .unwrap_or_else(|| "/dev/stdin".into());
    let buffer_bytes = std::env::args().nth(2).and_then(|size| size.parse().ok());
    let buffer_bytes = buffer_bytes.unwrap_or(BUFFER_BYTES);
    let mut file = File::open(name)?;
    for _ in 0..5 {
        file.rewind()?;
        let start = Instant::now();
        let mut copied = vec![0; buffer_bytes];
        while file.read(&mut copied)? > 0 {}
        let reading = start.elapsed();

        file.rewind()?;
        let start = Instant::now();
        let limits = BatchLimits {
            buffer_bytes,
            ..BatchLimits::default()
        };
        let mut batch = Batch::new(&file, limits);
        let (mut articles, mut held) = (0_u32, 0);
        while let Some(item) = batch.next()? {
            if let Item::Article { bytes, .. } = item {
                articles += 1;
                held += std::hint::black_box(bytes).len();
            }
        }
        let whole = start.elapsed();
        println!(
            "{articles} articles, {held} bytes: {:.1} ns an article, {:.1} ns of it reading",
            whole.as_nanos() as f64 / f64::from(articles),
            reading.as_nanos() as f64 / f64::from(articles),
        );
    }
    Ok(())
}
