//! How fast articles become a batch: `batch_speed NEWSDIR [OUT]`. Every article of the log, lent and put in native form, in
//! pieces of 1 MiB, to OUT if there is one.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

use feed::push_article;
use store::Reader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let news = arguments.next().ok_or("which news directory?")?;
    let out = arguments.next();
    let reader = Reader::open(news.as_ref())?;
    let mut positions = Vec::new();
    let _ = reader.each_article((reader.oldest(), reader.end()), |logged| {
        positions.push(logged.position);
        ControlFlow::<()>::Continue(())
    })?;
    for _ in 0..5 {
        let mut file = out.as_ref().map(File::create).transpose()?;
        let mut lender = reader.lender();
        let (mut bytes, mut total) = (Vec::with_capacity(2 << 20), 0);
        let start = Instant::now();
        for &position in &positions {
            push_article(&mut bytes, &lender.record(position)?);
            if bytes.len() >= 1 << 20 {
                total += bytes.len();
                if let Some(file) = &mut file {
                    file.write_all(&bytes)?;
                }
                bytes.clear();
            }
        }
        total += bytes.len();
        let seconds = start.elapsed().as_secs_f64();
        println!("{total} bytes, {:.0} MB/s", total as f64 / seconds / 1e6);
    }
    Ok(())
}
