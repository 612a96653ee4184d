//! Files articles that come without a history: under the next numbers of their groups, or with those of their Xref.
//!
//! Articles that rnews would refuse are refused, except for their age. Control messages have no effect, and are filed in `control`. Articles do
//! not go to peers.
//!
//! *Invariant:* an article that is here is passed over (another one with its id is kept and reported), and a mended article always gets the same id; so an import that was interrupted is run again.

use std::collections::BTreeSet;

use article::date::{self, Utc};
use article::xref::Xref;
use article::{Article, Form, Header, message_id, newsgroups, old};
use groups::{Active, Flag};

use crate::error::Error;
use crate::importer::{Counts, Importer, OTHER_ARTICLE, Unfiled, text_of};
use crate::mend::{Surroundings, mend};

/// Options of an import of articles without the files of a news system.
#[derive(Debug, Clone)]
pub struct ArchiveOptions {
    /// The name of this site.
    pub host: Vec<u8>,
    /// The one group in which all articles are filed; `None`: those of their Newsgroups.
    pub group: Option<Vec<u8>>,
    /// The site whose numbers are kept, by its Xref; articles without them get new ones.
    pub numbers_of: Option<Vec<u8>>,
    /// Whether missing headers are added.
    pub mends: bool,
    /// The limits of articles, without that of their age.
    pub rules: relay::Rules,
    /// The time of arrival, epoch seconds.
    pub arrived: i64,
    /// Number of pending bytes that causes a commit.
    pub commit_bytes: usize,
    /// Most memory for expanding a compressed mailbox, bytes.
    pub expansion_memory_bytes_max: u64,
}

/// The results of an import of archived articles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchiveCounts {
    /// Those of the articles.
    pub counts: Counts,
    /// Articles with added headers.
    pub mended: u64,
    /// Lines that were unquoted.
    pub unquoted: u64,
    /// Lines with `>From ` that stay.
    pub quoted: u64,
    /// Places of text that looks like the beginning of a message.
    pub apparent: u64,
    /// Files and members of archives that could not be read to their end.
    pub unread: u64,
}

/// Files archived articles.
#[derive(Debug)]
pub struct Archived {
    /// Its options; they may change between articles.
    pub options: ArchiveOptions,
    results: ArchiveCounts,
    converted: Vec<u8>,
    mended: Vec<u8>,
}

impl Archived {
    /// Begins an import.
    pub fn new(options: ArchiveOptions) -> Archived {
        Archived {
            options,
            results: ArchiveCounts::default(),
            converted: Vec::new(),
            mended: Vec::new(),
        }
    }

    /// Commits if enough waits.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn commit_if_full(&self, importer: &mut Importer<'_>) -> Result<(), Error> {
        if importer.spool().pending_bytes() >= self.options.commit_bytes {
            importer.commit()
        } else {
            Ok(())
        }
    }

    /// Commits, and returns the results.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn finish(mut self, mut importer: Importer<'_>) -> Result<ArchiveCounts, Error> {
        self.results.counts = importer.finish()?;
        Ok(self.results)
    }

    /// Counts the lines of a mailbox that were unquoted, and those that stay quoted.
    pub fn count_quoted(&mut self, undone: u64, left: u64) {
        self.results.unquoted += undone;
        self.results.quoted += left;
    }

    /// Counts places of text that looks like the beginning of a message.
    pub fn count_apparent(&mut self, count: u64) {
        self.results.apparent += count;
    }

    /// Counts and reports a file that cannot be read to its end.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn unread(
        &mut self,
        name: &str,
        why: &str,
        importer: &mut Importer<'_>,
    ) -> Result<(), Error> {
        self.results.unread += 1;
        importer.note(&format!("{name}: {why}"))
    }

    /// Files an article in native form, or keeps and reports it. `place` is where it lies, `from_line` the line before it in a mailbox.
    ///
    /// # Errors
    /// Errors that are not of one article.
    pub fn message(
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
            let why = match article.value(Header::MessageId) {
                Some(id) if !id.is_empty() => format!("{place}: {}: {why}", text_of(id)),
                _ => format!("{place}: {why}"),
            };
            let unfiled = importer.keep(&article, why)?;
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
            if importer.is_another(article)? {
                return Ok(Err(Unfiled(OTHER_ARTICLE.to_owned())));
            }
            importer.count_known();
            return Ok(Ok(()));
        }
        let xref = Xref::parse(article.value(Header::Xref).unwrap_or_default());
        if self.options.numbers_of.as_deref() == Some(xref.host()) && xref.links().next().is_some()
        {
            let active = importer.spool().active();
            let mut malformed = xref.malformed();
            if let Some((element, _)) = malformed.find(|(_, group)| active.find(group).is_some()) {
                let element = text_of(element);
                return Ok(Err(Unfiled(format!(
                    "`{element}' in its Xref is no group with a number"
                ))));
            }
            return importer.file_archived(article, self.options.arrived, &mut xref.links());
        }
        let groups = match &self.options.group {
            Some(group) => vec![group.clone()],
            None => match groups_of(article, importer.spool().active()) {
                Ok(groups) => groups,
                Err(why) => return Ok(Err(Unfiled(why))),
            },
        };
        importer.file_new(article, &self.options.host, self.options.arrived, &groups)
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
    let (mut found, mut shut) = (BTreeSet::new(), Vec::new());
    for name in newsgroups::split(wanted) {
        match active.find(name).and_then(|id| active.resolve(id)) {
            Some(id) if matches!(active.flag(id), Flag::Excluded | Flag::Junked) => {
                shut.push(text_of(name));
            }
            id => found.extend(id.map(|id| active.name(id).to_vec())),
        }
    }
    match (found.is_empty(), shut.is_empty()) {
        (false, _) => Ok(found.into_iter().collect()),
        (true, false) => Err(format!(
            "its groups take no articles (flag x or j): `{}'; change the flag (`broadsheet group set'), or use --group",
            shut.join(",")
        )),
        (true, true) => Err(format!(
            "none of its groups is in active: `{}'; add one (`broadsheet group add'), or use --group",
            text_of(named)
        )),
    }
}
