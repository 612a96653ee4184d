//! What the commands of ihave and sendme have in common.

use std::io::{self, BufRead, Read, Write};

use article::{Article, Form, message_id};
use relay::Now;
use relay::control::wanted::{Envelope, IDS_MAX, ids_of};
use store::Reader;

use crate::directory::NewsDirectory;
use crate::flags::Given;
use crate::settings;
use crate::text;

/// Longest line of standard input, in bytes.
const LINE_BYTES_MAX: usize = 4_096;

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

/// Calls `each` for the ids in each control message whose id stands on standard input, and which is here.
///
/// # Errors
/// Those of the store and of `each`.
pub fn each_wanted(
    reader: &Reader,
    mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    each_id(|message| {
        let Some(stored) = reader.article(message)? else {
            return Ok(());
        };
        let mut native = Vec::new();
        stored.record().push_native(&mut native);
        ids_of(&Article::parse(&native, Form::Native)).try_for_each(&mut each)
    })
}

/// Prints messages that name these ids to the site given, as a batch.
///
/// # Errors
/// The site's name is none, or standard output is closed.
pub fn print_messages(
    given: &Given,
    directory: &NewsDirectory,
    kind: &str,
    ids: &[Vec<u8>],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let settings = directory.settings()?.settings;
    let peer = given.operands.first().map(|peer| peer.to_string_lossy());
    let peer = peer.unwrap_or_default();
    settings::check_name(&peer).map_err(|what| given.usage(what))?;
    let seconds = Now::read().seconds;
    let date = text::utc(seconds);
    for (ids, turn) in ids
        .chunks(IDS_MAX)
        .zip(u64::from(std::process::id()) << 20..)
    {
        let envelope = Envelope {
            host: settings.name.as_bytes(),
            peer: peer.as_bytes(),
            seconds,
            turn,
        };
        let ids: Vec<&[u8]> = ids.iter().map(Vec::as_slice).collect();
        let message = envelope.message(kind, &date, &ids);
        writeln!(out, "#! rnews {}", message.len())?;
        out.write_all(&message)?;
    }
    Ok(())
}
