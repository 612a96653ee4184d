//! Imports the articles of a C News: those of its history, then those that only the tree has.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use article::xref::Xref;
use article::{Article, Form, Header, HeaderError, message_id};
use store::seen_hashes::md5_of;
use store::{UsedByGroup, history};

use crate::cnews::history::Line;
use crate::cnews::installation::Installation;
use crate::cnews::tree::{self, Tree};
use crate::error::Error;
use crate::importer::{Importer, LINKS_MAX, OTHER_ARTICLE, Unfiled, text_of};
use crate::run::Source;

/// The articles of a C News.
#[derive(Debug)]
pub struct CnewsSource {
    history: PathBuf,
    tree: Tree,
    article: Vec<u8>,
    now: i64,
    /// The files with the articles of the history.
    accounted: UsedByGroup,
}

impl CnewsSource {
    /// The articles of an installation.
    pub fn of(cnews: &Installation) -> CnewsSource {
        CnewsSource {
            history: cnews.ctl.join("history"),
            tree: Tree::of(&cnews.articles),
            article: Vec::new(),
            now: seconds(SystemTime::now()),
            accounted: UsedByGroup::default(),
        }
    }

    /// Imports the article of a line, if one of its files is there; false otherwise.
    fn filed(
        &mut self,
        line: &Line<'_>,
        importer: &mut Importer<'_>,
    ) -> Result<Result<bool, Unfiled>, Error> {
        let id = line.fields.id;
        let fault = |error| Unfiled(format!("{}: cannot be read: {error}", text_of(id)));
        let mut found: Option<Metadata> = None;
        let mut links: Vec<(&[u8], u64)> = Vec::new();
        for (group, number) in line.fields.links().take(LINKS_MAX) {
            match &found {
                // Its file is gone from this group: expired there, before it is from the others.
                Some(info) if !self.tree.is_same(group, number, info, &self.article) => {}
                Some(_) => links.push((group, number)),
                None => {
                    let (mut file, info) = match self.tree.open(group, number) {
                        Ok(None) => continue,
                        Ok(Some(found)) => found,
                        Err(error) => return Ok(Err(fault(error))),
                    };
                    if let Err(error) = tree::read(&mut file, &info, &mut self.article) {
                        return Ok(Err(fault(error)));
                    }
                    links.push((group, number));
                    found = Some(info);
                }
            }
        }
        let Some(info) = found else {
            return Ok(Ok(false));
        };
        let article = Article::parse(&self.article, Form::Native);
        let own = article.value(Header::MessageId).unwrap_or_default();
        if !message_id::same(own, id) {
            return Ok(Err(Unfiled(format!(
                "{}: the tree has another article in its place: {}",
                text_of(id),
                text_of(own)
            ))));
        }
        self.accounted.note(links.iter().copied());
        // An id of `seen.hashes` does not count: an earlier run may have remembered it because it did not find the article.
        if importer.spool().has_line(own)? {
            if importer.is_another(&article)? {
                let why = format!("{}: {OTHER_ARTICLE}", text_of(id));
                return importer.keep(&article, why).map(Err);
            }
            importer.count_known();
            return Ok(Ok(true));
        }
        let arrived = line.arrived.unwrap_or_else(|| mtime(&info));
        let done = importer.file(&article, arrived, &mut links.into_iter())?;
        Ok(done.map(|()| true))
    }

    /// Imports the article of a file that the history does not have. One whose number is not free is passed over if it is here.
    fn found(
        &mut self,
        (group, number, is_free): (&[u8], u64, bool),
        importer: &mut Importer<'_>,
    ) -> Result<Result<(), Unfiled>, Error> {
        let place = || format!("{}/{number}", text_of(group));
        let fault = |error| Unfiled(format!("{}: cannot be read: {error}", place()));
        let (mut file, info) = match self.tree.open(group, number) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(fault(error))),
        };
        if let Err(error) = tree::read(&mut file, &info, &mut self.article) {
            return Ok(Err(fault(error)));
        }
        let article = Article::parse(&self.article, Form::Native);
        let id = article.value(Header::MessageId).unwrap_or_default();
        let fault = match id {
            b"" => Some(HeaderError::Missing(Header::MessageId).to_string()),
            id => message_id::check(id).err().map(|error| error.to_string()),
        };
        if let Some(fault) = fault {
            return importer
                .keep(&article, format!("{}: {fault}", place()))
                .map(Err);
        }
        if importer.spool().has_line(id)? {
            if importer.is_another(&article)? {
                let why = format!("{}: {}: {OTHER_ARTICLE}", place(), text_of(id));
                return importer.keep(&article, why).map(Err);
            }
            if !is_free {
                // Once, however many of its groups have a file of it.
                let line = importer.spool().find(id)?;
                let is_there = |(group, number): &(&[u8], u64)| {
                    self.tree
                        .file(group, *number)
                        .is_some_and(|file| file.is_file())
                };
                let first = line.and_then(|line| line.links().find(is_there));
                if first == Some((group, number)) {
                    importer.count_known();
                }
                return Ok(Ok(()));
            }
            let why = format!(
                "{}: {} is here already, under other numbers or as an id that is only remembered",
                place(),
                text_of(id)
            );
            return importer.keep(&article, why).map(Err);
        }
        let xref = Xref::parse(article.value(Header::Xref).unwrap_or_default());
        let others = xref.links().filter(|(other, other_number)| {
            *other != group
                && self
                    .tree
                    .is_same(other, *other_number, &info, &self.article)
        });
        let mut links = std::iter::once((group, number)).chain(others);
        importer.file(&article, mtime(&info), &mut links)
    }
}

impl Source for CnewsSource {
    fn history(&self) -> &Path {
        &self.history
    }

    fn may_lack_history(&self) -> bool {
        true
    }

    fn line_bytes_max(&self) -> usize {
        history::LINE_BYTES_MAX
    }

    fn hash_of(&self, line: &[u8]) -> Option<[u8; 16]> {
        let line = Line::parse(line)?;
        line.fields.is_filed().then(|| md5_of(line.fields.id))
    }

    fn may_be_there(&mut self, line: &[u8]) -> bool {
        let is_gone = |(group, number)| matches!(self.tree.open(group, number), Ok(None));
        Line::parse(line).is_some_and(|line| !line.fields.links().take(LINKS_MAX).all(is_gone))
    }

    fn line(&mut self, text: &[u8], importer: &mut Importer<'_>) -> Result<(), Error> {
        let Some(line) = Line::parse(text) else {
            importer.count_garbled();
            return Ok(());
        };
        let arrived = line.arrived.unwrap_or(self.now);
        if !line.fields.is_filed() {
            return importer.remember(line.fields.id, arrived, false);
        }
        match self.filed(&line, importer)? {
            Ok(true) => Ok(()),
            Ok(false) => importer.remember(line.fields.id, arrived, true),
            Err(unfiled) => importer.refuse(&unfiled),
        }
    }

    fn rest(&mut self, importer: &mut Importer<'_>, commit_bytes: usize) -> Result<(), Error> {
        let active = importer.spool().active();
        let groups: Vec<Vec<u8>> = active.ids().map(|id| active.name(id).to_vec()).collect();
        for group in groups {
            let numbers = match self.tree.numbers(&group) {
                Ok(numbers) => numbers,
                Err(error) => {
                    let why = format!("the directory of {}: {error}", text_of(&group));
                    importer.refuse(&Unfiled(why))?;
                    continue;
                }
            };
            for number in numbers {
                if self.accounted.has(&group, number) {
                    continue;
                }
                let is_free = importer.spool_mut().is_free(&group, number)?;
                if let Err(unfiled) = self.found((&group, number, is_free), importer)? {
                    importer.refuse(&unfiled)?;
                }
                if importer.spool().pending_bytes() >= commit_bytes {
                    importer.commit()?;
                }
            }
        }
        let active = importer.spool().active();
        let found = self.tree.unknown(&|group| active.find(group).is_some());
        for why in found {
            importer.refuse(&Unfiled(why))?;
        }
        Ok(())
    }
}

fn mtime(info: &Metadata) -> i64 {
    info.modified().map_or(0, seconds)
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
