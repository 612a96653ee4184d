//! Imports the articles of mailboxes into a news directory, under the next numbers of their groups.
//!
//! What rnews would refuse is refused, but for the age of an article, and without any effect of control messages, which are filed in `control`. Articles do
//! not go to peers. The time of arrival is that of the import.
//!
//! *Invariant:* an article whose id is known is passed over, and a mended article always gets the same id; so an import that was interrupted is run again.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;

use article::date::{self, Utc};
use article::{Article, Form, Header, message_id, newsgroups, old};
use groups::{Active, Flag};

use crate::importer::{Counts, Error, Importer, Unfiled, text_of};
use crate::mbox::input;
use crate::mbox::mailbox::{Item, Mailbox, Quoting, plain};
use crate::mbox::mend::{Surroundings, mend};

/// Options of an import of mailboxes.
#[derive(Debug, Clone)]
pub struct MboxOptions {
    /// The name of this site.
    pub host: Vec<u8>,
    /// The one group in which all articles are filed; `None`: those of their Newsgroups.
    pub group: Option<Vec<u8>>,
    /// Whether missing headers are added.
    pub mends: bool,
    /// How the writer of the mailboxes quoted.
    pub quoting: Quoting,
    /// The limits of articles, without that of their age.
    pub rules: relay::Rules,
    /// The time of arrival, epoch seconds.
    pub now: i64,
    /// Number of pending bytes that causes a commit.
    pub commit_bytes: usize,
}

/// The results of an import of mailboxes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MboxCounts {
    /// Those of the articles.
    pub counts: Counts,
    /// Articles with added headers.
    pub mended: u64,
    /// Lines that were unquoted.
    pub unquoted: u64,
    /// Lines with `>From ` that stay.
    pub quoted: u64,
    /// Files and members of archives that could not be read to their end.
    pub unread: u64,
}

/// Imports files.
///
/// # Errors
/// Errors that are not of one file or article.
pub fn import(
    files: &[PathBuf],
    options: &MboxOptions,
    mut importer: Importer<'_>,
) -> Result<MboxCounts, Error> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |info| info.len());
    let all = files.iter().map(size).sum();
    let read = Rc::new(Cell::new(0));
    let mut run = Run {
        options,
        results: MboxCounts::default(),
        progress: (Rc::clone(&read), all),
        converted: Vec::new(),
        mended: Vec::new(),
    };
    for path in files {
        let mut each = |name: &str, reader: &mut dyn Read| run.mailbox(name, reader, &mut importer);
        let opened = input::mailboxes(path, &read, &mut each)?;
        if let Err(error) = opened {
            run.unread(
                &path.display().to_string(),
                &error.to_string(),
                &mut importer,
            )?;
        }
        importer.commit()?;
    }
    run.results.counts = importer.finish()?;
    Ok(run.results)
}

struct Run<'o> {
    options: &'o MboxOptions,
    results: MboxCounts,
    /// Bytes read, of all bytes.
    progress: (Rc<Cell<u64>>, u64),
    converted: Vec<u8>,
    mended: Vec<u8>,
}

impl Run<'_> {
    fn unread(&mut self, name: &str, why: &str, importer: &mut Importer<'_>) -> Result<(), Error> {
        self.results.unread += 1;
        importer.note(&format!("{name}: {why}"))
    }

    fn mailbox(
        &mut self,
        name: &str,
        reader: &mut dyn Read,
        importer: &mut Importer<'_>,
    ) -> Result<(), Error> {
        let mut mailbox = Mailbox::new(reader, self.options.rules.article_bytes_max);
        let mut text = Vec::new();
        loop {
            let item = match mailbox.next_item() {
                Ok(Some(item)) => item,
                Ok(None) => return Ok(()),
                Err(error) => {
                    let why = format!("{error}; the articles before that place are imported");
                    return self.unread(name, &why, importer);
                }
            };
            match item {
                Item::NoMailbox { head } => {
                    let why = format!(
                        "not a mailbox: it does not begin with a line `From ...' and a header, but with `{}'",
                        text_of(head)
                    );
                    return self.unread(name, &why, importer);
                }
                Item::TooLarge { head, size, offset } => {
                    let article = Article::parse(head, Form::Native);
                    let id = article.value(Header::MessageId).unwrap_or_default();
                    let limit = self.options.rules.article_bytes_max;
                    importer.refuse(&Unfiled(format!(
                        "{name} byte {offset}: {}: it has {size} bytes, more than limits.article_bytes_max ({limit})",
                        text_of(id)
                    )))?;
                }
                Item::Message {
                    from_line,
                    bytes,
                    offset,
                } => {
                    let quoted = plain(bytes, self.options.quoting, &mut text);
                    self.results.unquoted += quoted.undone;
                    self.results.quoted += quoted.left;
                    let article = if text.is_empty() { bytes } else { &text };
                    let place = format!("{name} byte {offset}");
                    self.message(&place, from_line, article, importer)?;
                }
            }
            if importer.spool().pending_bytes() >= self.options.commit_bytes {
                importer.commit()?;
            }
            importer.progress(self.progress.0.get(), self.progress.1);
        }
    }

    fn message(
        &mut self,
        place: &str,
        from_line: &[u8],
        bytes: &[u8],
        importer: &mut Importer<'_>,
    ) -> Result<(), Error> {
        let mut converted = std::mem::take(&mut self.converted);
        let mut mended = std::mem::take(&mut self.mended);
        converted.clear();
        let mut article = Article::parse(bytes, Form::Native);
        if article.required().is_err() && old::convert(&article, &mut converted) {
            article = Article::parse(&converted, Form::Native);
        }
        if self.options.mends {
            let with = Surroundings {
                host: &self.options.host,
                from_line,
                group: self.options.group.as_deref(),
            };
            let done = mend(&article, with, &mut mended);
            if !done.is_empty() {
                article = Article::parse(&mended, Form::Native);
                // An article that is here was mended by an earlier run.
                let id = article.value(Header::MessageId).unwrap_or_default();
                if !importer.spool().has(id)? {
                    self.results.mended += 1;
                    importer.note_mended(&format!(
                        "{place}: {}: {}",
                        text_of(id),
                        done.join(", ")
                    ))?;
                }
            }
        }
        let result = self.article(&article, importer);
        if let Err(Unfiled(why)) = result? {
            let id = article.value(Header::MessageId).unwrap_or_default();
            let unfiled = importer.keep(&article, format!("{place}: {}: {why}", text_of(id)))?;
            importer.refuse(&unfiled)?;
        }
        (self.converted, self.mended) = (converted, mended);
        Ok(())
    }

    fn article(
        &self,
        article: &Article<'_>,
        importer: &mut Importer<'_>,
    ) -> Result<Result<(), Unfiled>, Error> {
        if let Err(why) = check(article, &self.options.rules) {
            return Ok(Err(Unfiled(why)));
        }
        let id = article.value(Header::MessageId).unwrap_or_default();
        if importer.spool().has(id)? {
            importer.count_known();
            return Ok(Ok(()));
        }
        let groups = match &self.options.group {
            Some(group) => vec![group.clone()],
            None => match groups_of(article, importer.spool().active()) {
                Ok(groups) => groups,
                Err(why) => return Ok(Err(Unfiled(why))),
            },
        };
        importer.file_new(article, &self.options.host, self.options.now, &groups)
    }
}

/// The tests of rnews that concern the article alone.
fn check(article: &Article<'_>, rules: &relay::Rules) -> Result<(), String> {
    if let Some(error) = article.error() {
        return Err(error.to_string());
    }
    article
        .required()
        .map_err(|error| format!("{error} (--mend adds what can be known)"))?;
    let header = article.header_len();
    if header > rules.header_bytes_max {
        return Err(format!(
            "its header has {header} bytes, more than limits.header_bytes_max ({})",
            rules.header_bytes_max
        ));
    }
    let id = article.value(Header::MessageId).unwrap_or_default();
    message_id::check(id).map_err(|error| error.to_string())?;
    if id.len() > rules.message_id_bytes_max {
        return Err("its Message-ID is longer than limits.message_id_bytes_max".to_owned());
    }
    let date = article.value(Header::Date).unwrap_or_default();
    match date::parse(date, &Utc) {
        Some(_) => Ok(()),
        None => Err(format!("unparsable Date: `{}'", text_of(date))),
    }
}

/// The groups of `active` in which an article is filed, as rnews does it: a control message in `control`, aliases followed, without x'ed groups.
pub fn groups_of(article: &Article<'_>, active: &Active) -> Result<Vec<Vec<u8>>, String> {
    let named = article.value(Header::Newsgroups).unwrap_or_default();
    let control = article.value(Header::Control);
    let is_control = control.is_some_and(|value| !value.is_empty());
    let wanted = if is_control { b"control" } else { named };
    let mut found = BTreeSet::new();
    for name in newsgroups::split(wanted) {
        let id = active
            .find(name.trim_ascii())
            .and_then(|id| active.resolve(id));
        let id = id.filter(|id| !matches!(active.flag(*id), Flag::Excluded | Flag::Junked));
        found.extend(id.map(|id| active.name(id).to_vec()));
    }
    match found.is_empty() {
        false => Ok(found.into_iter().collect()),
        true => Err(format!(
            "none of its groups is in active: `{}'; add one (`broadsheet group add'), or use --group",
            text_of(named)
        )),
    }
}
