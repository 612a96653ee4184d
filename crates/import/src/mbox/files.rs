//! Imports the articles of mailboxes into a news directory. The time of arrival is that of the import.

use std::cell::Cell;
use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;

use article::{Article, Form, Header};

use crate::archived::{ArchiveCounts, ArchiveOptions, Archived};
use crate::error::Error;
use crate::importer::{Importer, Unfiled, text_of};
use crate::mbox::input;
use crate::mbox::mailbox::{Apparent, Item, Mailbox, Quoting, plain};

/// Imports files. `quoting`: the convention of the program that wrote them.
///
/// # Errors
/// Errors that are not of one file or article.
pub fn import(
    files: &[PathBuf],
    quoting: Quoting,
    options: ArchiveOptions,
    mut importer: Importer<'_>,
) -> Result<ArchiveCounts, Error> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |info| info.len());
    let all = files.iter().map(size).sum();
    let read = Rc::new(Cell::new(0));
    let memory_bytes_max = options.expansion_memory_bytes_max;
    let mut run = Archived::new(options);
    for path in files {
        let progress = (&*read, all);
        let mut each = |name: &str, reader: &mut dyn Read| {
            mailbox((name, quoting), reader, progress, &mut run, &mut importer)
        };
        let found = input::mailboxes(path, memory_bytes_max, &read, &mut each)?;
        for (name, why) in &found.unread {
            run.unread(name, why, &mut importer)?;
        }
        for (name, message) in &found.trailers {
            importer.warn(&format!("{name}: {message}"));
        }
        importer.commit()?;
    }
    run.finish(importer)
}

/// Imports one mailbox; `progress` has the bytes read, of all bytes.
fn mailbox(
    (name, quoting): (&str, Quoting),
    reader: &mut dyn Read,
    progress: (&Cell<u64>, u64),
    run: &mut Archived,
    importer: &mut Importer<'_>,
) -> Result<(), Error> {
    let mut mailbox = Mailbox::new(reader, run.options.rules.article_bytes_max);
    let mut text = Vec::new();
    loop {
        let item = match mailbox.next_item() {
            Ok(Some(item)) => item,
            Ok(None) => return apparent(name, mailbox.apparent(), run, importer),
            Err(error) => {
                let why = format!("{error}; the articles before that place are imported");
                apparent(name, mailbox.apparent(), run, importer)?;
                return run.unread(name, &why, importer);
            }
        };
        match item {
            Item::NoMailbox { head } => {
                let why = format!(
                    "not a mailbox: it does not begin with a line `From ...' and a header, but with `{}'",
                    text_of(head)
                );
                return run.unread(name, &why, importer);
            }
            Item::TooLarge { head, size, offset } => {
                let limit = run.options.rules.article_bytes_max;
                let place = format!("{name} byte {offset}");
                refuse_large((&place, limit), head, size, importer)?;
            }
            Item::Message {
                from_line,
                bytes,
                offset,
            } => {
                let quoted = plain(bytes, quoting, &mut text);
                run.count_quoted(quoted.undone, quoted.left);
                let article = if text.is_empty() { bytes } else { &text };
                let limit = run.options.rules.article_bytes_max;
                let place = format!("{name} byte {offset}");
                if article.len() > limit {
                    refuse_large((&place, limit), article, article.len() as u64, importer)?
                } else {
                    run.message(&place, from_line, article, importer)?
                }
            }
        }
        run.commit_if_full(importer)?;
        importer.progress(progress.0.get(), progress.1);
    }
}

/// Reports text that looks like the beginning of a message.
fn apparent(
    name: &str,
    found: &Apparent,
    run: &mut Archived,
    importer: &mut Importer<'_>,
) -> Result<(), Error> {
    for offset in &found.offsets {
        importer.note(&format!(
            "{name} byte {offset}: this `From ' line looks like the beginning of a message, and stays text of the message before it; \
            if a message begins there, put an empty line before it, and a sender and a date into it, and import the file again"
        ))?;
    }
    run.count_apparent(found.count);
    Ok(())
}

/// Reports a message that is larger than the limit; `head` is the beginning of it.
fn refuse_large(
    (place, limit): (&str, usize),
    head: &[u8],
    size: u64,
    importer: &mut Importer<'_>,
) -> Result<(), Error> {
    let article = Article::parse(head, Form::Native);
    let id = article.value(Header::MessageId).unwrap_or_default();
    importer.refuse(&Unfiled(format!(
        "{place}: {}: it has {size} bytes, more than limits.article_bytes_max ({limit})",
        text_of(id)
    )))
}
