//! Imports by INN's history: reads each article from its spool.

use std::io;
use std::path::{Path, PathBuf};

use article::xref::Xref;
use article::{Article, Header};
use store::seen_hashes;

use crate::error::Error;
use crate::importer::{Importer, OTHER_ARTICLE, Unfiled, form_of, text_of};
use crate::inn::history::{self, Id, Line};
use crate::inn::installation::Installation;
use crate::inn::spools::Spools;
use crate::inn::token::Token;
use crate::run::Source;

/// The articles of an INN, in the order of its history.
#[derive(Debug)]
pub struct InnSource {
    history: PathBuf,
    spools: Spools,
    article: Vec<u8>,
}

impl InnSource {
    /// The articles of an installation.
    ///
    /// # Errors
    /// A file that describes its spools cannot be read.
    pub fn of(inn: &Installation) -> io::Result<InnSource> {
        Ok(InnSource {
            history: inn.db.join("history"),
            spools: Spools::of(inn)?,
            article: Vec::new(),
        })
    }
}

impl Source for InnSource {
    fn history(&self) -> &Path {
        &self.history
    }

    fn line_bytes_max(&self) -> usize {
        history::LINE_BYTES_MAX
    }

    fn hash_of(&self, line: &[u8]) -> Option<[u8; 16]> {
        let line = Line::parse(line)?;
        line.token.map(|_| md5_in(line.id))
    }

    fn may_be_there(&mut self, line: &[u8]) -> bool {
        let token = Line::parse(line).and_then(|line| line.token);
        token.is_some_and(|token| !matches!(self.spools.read(token, &mut self.article), Ok(false)))
    }

    fn line(&mut self, text: &[u8], importer: &mut Importer<'_>) -> Result<(), Error> {
        let Some(line) = Line::parse(text) else {
            importer.count_garbled();
            return Ok(());
        };
        let Some(token) = line.token else {
            return remember(&line, importer, false);
        };
        let done = match self.spools.read(token, &mut self.article) {
            Ok(true) => {
                let link = self.spools.link(token);
                file(&line, (token, link), &self.article, importer)?
            }
            Ok(false) => return remember(&line, importer, true),
            Err(error) => Err(Unfiled(format!(
                "{}: cannot be read: {error}",
                shown(line.id)
            ))),
        };
        done.or_else(|unfiled| importer.refuse(&unfiled))
    }
}

/// The MD5 of the id of a line.
fn md5_in(id: Id<'_>) -> [u8; 16] {
    match id {
        Id::Text(id) => seen_hashes::md5_of(id),
        Id::Hash(hash) => hash,
    }
}

/// Keeps an id, or its hash.
fn remember(line: &Line<'_>, importer: &mut Importer<'_>, is_gone: bool) -> Result<(), Error> {
    match line.id {
        Id::Text(id) => importer.remember(id, line.arrived, is_gone),
        Id::Hash(hash) => importer.remember_hash(&hash, line.arrived, is_gone),
    }
}

fn file(
    line: &Line<'_>,
    (token, link): (Token, Option<(Vec<u8>, u64)>),
    bytes: &[u8],
    importer: &mut Importer<'_>,
) -> Result<Result<(), Unfiled>, Error> {
    let (bytes, form) = form_of(bytes);
    let article = Article::parse(bytes, form);
    let id = article.value(Header::MessageId).unwrap_or_default();
    let is_its_own = match line.id {
        Id::Text(text) => text == id,
        Id::Hash(hash) => seen_hashes::md5_of(id) == hash,
    };
    if !is_its_own || article::message_id::check(id).is_err() {
        return Ok(Err(Unfiled(format!(
            "{}: the {} spool has another article in its place: {}",
            shown(line.id),
            token.method(),
            text_of(id),
        ))));
    }
    // Not of `seen.hashes`: an earlier run may have remembered the id because it did not find the article, such as in a spool that was not
    // mounted.
    if importer.spool().has_line(id)? {
        if importer.is_another(&article)? {
            let why = format!("{}: {OTHER_ARTICLE}", text_of(id));
            return importer.keep(&article, why).map(Err);
        }
        importer.count_known();
        return Ok(Ok(()));
    }
    let xref = Xref::parse(article.value(Header::Xref).unwrap_or_default());
    let own = match (xref.links().next(), &link) {
        (Some(_), _) => None,
        (None, Some((group, number))) => Some((group.as_slice(), *number)),
        (None, None) => {
            let why = format!(
                "{}: it has no Xref, which says its groups and numbers",
                text_of(id)
            );
            return importer.keep(&article, why).map(Err);
        }
    };
    importer.file(&article, line.arrived, &mut xref.links().chain(own))
}

fn shown(id: Id<'_>) -> String {
    match id {
        Id::Text(id) => text_of(id),
        Id::Hash(hash) => {
            let digits = hash.iter().map(|byte| format!("{byte:02X}"));
            format!("[{}]", digits.collect::<String>())
        }
    }
}
