//! What the commands of ihave and sendme have in common.

use std::io::{self, BufRead, Read, Write};

use article::message_id;
use feed::Builder;
use store::Snapshot;

use crate::directory::NewsDirectory;
use crate::flags::Given;

/// Longest line of standard input, in bytes.
const LINE_BYTES_MAX: usize = 4_096;
/// What is printed at a time, about.
pub const PIECE_BYTES: usize = 1 << 20;

/// Calls `each` for the first id of each line of standard input; lines without one are passed over.
///
/// # Errors
/// Standard input cannot be read, or those of `each`.
pub fn each_id(mut each: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let got = input
            .by_ref()
            .take(LINE_BYTES_MAX as u64)
            .read_until(b'\n', &mut line)?;
        if got == 0 {
            return Ok(());
        }
        let mut words = line.split(u8::is_ascii_whitespace);
        if let Some(id) = words.find(|word| message_id::check(word).is_ok()) {
            each(id)?;
        }
    }
}

/// Prints batches for the ids on standard input. The builder gets each article that is here; `unknown` adds an id without an article to it,
/// and returns false if it belongs in the next batch.
///
/// # Errors
/// Those of the store and of the builder, or standard output is closed.
pub fn print_batches<B: Builder>(
    snapshot: &Snapshot,
    builder: &mut B,
    mut unknown: impl FnMut(&mut B, &[u8]) -> Result<bool, feed::Error>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    each_id(|id| {
        match snapshot.article(id, &mut buffer)? {
            Some(record) => {
                while !builder.put(&record) {
                    print(builder, out)?;
                }
            }
            None => {
                while !unknown(builder, id)? {
                    print(builder, out)?;
                }
            }
        }
        Ok(())
    })?;
    print(builder, out)
}

/// Prints what there is, and begins the next.
///
/// # Errors
/// Those of the builder, or standard output is closed.
pub fn print(builder: &mut dyn Builder, out: &mut dyn Write) -> anyhow::Result<()> {
    if builder.articles() > 0 {
        out.write_all(builder.finish()?)?;
    } else {
        // It may have a fault to tell.
        builder.finish()?;
    }
    builder.clear();
    Ok(())
}

/// Our name, and that of the site given.
///
/// # Errors
/// The site's name is none.
pub fn ends(given: &Given, directory: &NewsDirectory) -> anyhow::Result<(String, String)> {
    let settings = directory.settings()?.settings;
    let peer = given.operands.first().map(|peer| peer.to_string_lossy());
    let peer = peer.unwrap_or_default().into_owned();
    settings::check_name(&peer).map_err(|what| given.usage(what))?;
    Ok((settings.name, peer))
}
