//! Measures unwrapping: `wrap_speed FILE...`. Prints megabytes of plain batch per second.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

use article::wrap::{self, WrapLimits};

fn main() -> io::Result<()> {
    let print = std::env::var_os("PRINT").is_some();
    for name in std::env::args_os().skip(1) {
        let mut best = f64::INFINITY;
        let mut bytes = 0_usize;
        let mut layers = Vec::new();
        for _ in 0..if print { 1 } else { 5 } {
            let start = Instant::now();
            let mut source =
                wrap::open(File::open(&name)?, WrapLimits::default()).map_err(io::Error::from)?;
            let mut buffer = vec![0; 256 << 10];
            bytes = 0;
            loop {
                let read = source.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                bytes += read;
                if print {
                    io::stdout().write_all(buffer.get(..read).unwrap_or_default())?;
                }
            }
            layers = source.layers().to_vec();
            best = best.min(start.elapsed().as_secs_f64());
        }
        eprintln!(
            "{}: {bytes} bytes, {:.0} MB/s {layers:?}",
            name.display(),
            bytes as f64 / best / 1e6
        );
    }
    Ok(())
}
