//! `broadsheet batcher`, also the classic `batcher`: a batch of the articles of a list.

use std::cell::Cell;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use article::wrap::{WrapFormat, WrapWriter};
use feed::push_article;
use rustix::fs::OFlags;
use store::{HistoryLine, Record, Snapshot};

use super::article::link;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::operand;

/// A longer line of a list is passed over.
const LIST_LINE_BYTES_MAX: usize = 4096;
/// Number of damaged articles that are reported one by one.
const DAMAGED_NAMED_MAX: u64 = 20;
/// A larger file in a list is passed over.
const LISTED_FILE_BYTES_MAX: u64 = 1 << 30;
/// Bytes gathered before they are written: they should still be in the processor's cache then.
const GATHERED_BYTES: usize = 256 << 10;
/// Bytes of the list read at once.
const LIST_BUFFER_BYTES: usize = 256 << 10;

/// The table.
pub static COMMAND: Command = Command {
    words: &["batcher"],
    also: &[],
    summary: "make a batch of the articles in a list",
    about: "\
Reads FILE, or standard input if there is none: the first word of each line names an article. It is
a Message-ID with its brackets; or group and number, as in comp/lang/c/123 or comp.lang.c/123; or
the absolute path of a file with an article. The articles are written to standard output in the
order of the list, each after a line `#! rnews N'.

Articles that do not exist are skipped silently, as in C News: they may have expired. --json prints
their number. Articles that are damaged, or that came without their bodies (headers_only), are left
out, with an error at the end: a batch has whole articles.

  broadsheet batcher --dir news < togo | gzip | ssh news@far.example.org rnews
  broadsheet batcher --dir news --compress zstd togo > batch",
    operands: Operands {
        shown: "FILE",
        least: 0,
        most: 1,
    },
    flags: &[
        DIR,
        Flag::new(
            "json",
            "Print one object on standard error: articles, bytes (before compression), missing, damaged.",
        ),
        Flag::new(
            "compress",
            "Compress the batch, after a `#!' line that makes the receiver expand it: none, compress, gzip, \
            bzip2, xz, zstd, or with a level such as gzip-9.",
        )
        .value("HOW"),
    ],
    exits: &[],
    run,
};

/// What was done.
#[derive(Default)]
struct Counts {
    articles: u64,
    bytes: u64,
    missing: u64,
    bodiless: u64,
    damaged: u64,
}

impl Counts {
    fn add(&mut self, named: Named) {
        match named {
            Named::Pushed => self.articles += 1,
            Named::Missing => self.missing += 1,
            Named::Bodiless => self.bodiless += 1,
        }
    }
}

/// Whether an article, or what tells where it is, cannot be read: those that follow may be whole.
fn is_damage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(store::Error::Damaged { .. }))
}

/// The result of looking up a word of the list.
#[derive(Clone, Copy)]
enum Named {
    Pushed,
    Missing,
    /// The article came without its body.
    Bodiless,
}

/// The error of a batch from which articles without their bodies were left out, if any were.
///
/// # Errors
/// `count` is not 0.
pub fn check_left_out(directory: &NewsDirectory, count: u64) -> anyhow::Result<()> {
    match count {
        0 => Ok(()),
        _ => anyhow::bail!(
            "{}: articles left out of the batch because they came without their bodies (headers_only): {count}; \
            they travel by NNTP alone, to a site with `headfeed = true'",
            directory.root().display()
        ),
    }
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let packing = match given.value("compress") {
        None => WrapFormat::default(),
        Some(word) => word.to_str().and_then(WrapFormat::of).ok_or_else(|| {
            given.usage("--compress needs none, compress, gzip, bzip2, xz, zstd, or one of them with a level, such as gzip-9")
        })?,
    };
    let snapshot = directory.snapshot()?;
    let list: Box<dyn Read> = match given.operands.first().filter(|name| *name != "-") {
        None => Box::new(io::stdin().lock()),
        Some(name) => Box::new(operand::open(name)?),
    };
    let list = BufReader::with_capacity(LIST_BUFFER_BYTES, list);
    let mut packer = WrapWriter::new(out, packing)?;
    let counts = batch(&snapshot, list, &mut packer)?;
    packer.finish()?;
    if given.has("json") {
        let told = serde_json::json!({
            "articles": counts.articles,
            "bytes": counts.bytes,
            "missing": counts.missing,
            "damaged": counts.damaged,
        });
        eprintln!("{told}");
    }
    check_left_out(&directory, counts.bodiless)?;
    anyhow::ensure!(
        counts.damaged == 0,
        "{}: articles left out of the batch because they are damaged: {}; `broadsheet fsck' names them",
        directory.root().display(),
        counts.damaged
    );
    Ok(Status::OK)
}

fn batch(
    snapshot: &Snapshot,
    mut list: impl BufRead,
    out: &mut impl Write,
) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    let mut bytes = Vec::with_capacity(2 * GATHERED_BYTES);
    let mut line = Vec::new();
    while read_line(&mut list, &mut line)? {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let Some(word) = line.split(blank).find(|word| !word.is_empty()) else {
            continue;
        };
        let before = bytes.len();
        match push_named(snapshot, word, &mut bytes) {
            Err(error) if is_damage(&error) => {
                bytes.truncate(before);
                counts.damaged += 1;
                if counts.damaged <= DAMAGED_NAMED_MAX {
                    eprintln!("broadsheet: {}: {error:#}", groups::shown(word));
                }
            }
            named => counts.add(named?),
        }
        counts.bytes += (bytes.len() - before) as u64;
        if bytes.len() >= GATHERED_BYTES {
            out.write_all(&bytes)?;
            bytes.clear();
            bytes.shrink_to(2 * GATHERED_BYTES);
        }
    }
    out.write_all(&bytes)?;
    Ok(counts)
}

/// The next line of the list, empty if it was too long. False: there is none.
fn read_line(list: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = LIST_LINE_BYTES_MAX as u64;
    if list.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.pop_if(|byte| *byte == b'\n').is_none() && line.len() >= LIST_LINE_BYTES_MAX {
        line.clear();
        list.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Appends the article that a word names.
fn push_named(snapshot: &Snapshot, word: &[u8], out: &mut Vec<u8>) -> anyhow::Result<Named> {
    let named = |is_there| match is_there {
        true => Named::Pushed,
        false => Named::Missing,
    };
    let mut place = None;
    let position = match word {
        [b'/', ..] => return Ok(named(push_file(word, out))),
        [b'<', ..] => snapshot.find(word)?.map(|found| found.position),
        _ => {
            place = link(word);
            match &place {
                Some((group, number)) => snapshot.position(group, *number)?,
                None => None,
            }
        }
    };
    let Some(position) = position else {
        return Ok(Named::Missing);
    };
    let is_bodiless = Cell::new(false);
    let checked = Cell::new(Ok(()));
    let push = |out: &mut Vec<u8>, record: &Record<'_>| {
        is_bodiless.set(record.head.header_only);
        if let Some((group, number)) = &place {
            let line = HistoryLine::parse(record.line());
            checked.set(snapshot.check_number((group, *number), line, position));
        }
        if !record.head.header_only {
            push_article(out, record);
        }
    };
    // False: it expired just now.
    let is_there = snapshot.push_record(position, out, push)?;
    checked.into_inner()?;
    match is_there && is_bodiless.get() {
        true => Ok(Named::Bodiless),
        false => Ok(named(is_there)),
    }
}

/// Appends a file. The size is that of the file when it was opened: should it shrink, the batch is filled up, so that the count stays true, as in
/// C News.
fn push_file(name: &[u8], out: &mut Vec<u8>) -> bool {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    let is_article = |told: &Metadata| told.is_file() && told.len() <= LISTED_FILE_BYTES_MAX;
    // A FIFO nobody writes to does not keep us.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .and_then(|file| Ok((file.metadata()?, file)));
    let Some((told, file)) = opened.ok().filter(|(told, _)| is_article(told)) else {
        return false;
    };
    out.extend_from_slice(format!("#! rnews {}\n", told.len()).as_bytes());
    let whole = out
        .len()
        .saturating_add(usize::try_from(told.len()).unwrap_or(usize::MAX));
    let _ = file.take(told.len()).read_to_end(out);
    out.resize(whole, b'\n');
    true
}
