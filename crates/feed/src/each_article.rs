//! Sites with a command that runs for each article, as in a line of `sys` without a batch flag.
//!
//! The article is on standard input in native form. For a command with `%s` it is also written to a temporary file in the site's
//! directory, since articles have no files of their own.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use groups::CommandLine;
use store::HistoryLine;

use crate::error::Error;
use crate::limit::Limit;
use crate::sendbatches::ArticleSource;
use crate::transport::Transport;

/// The file's name in the site's directory.
pub const FILE: &str = "article";

/// The command of a site.
#[derive(Debug, Clone)]
pub struct EachArticle<'a> {
    /// The command.
    pub line: &'a CommandLine,
    /// The site's directory.
    pub directory: &'a Path,
    /// The news directory: the command runs there.
    pub news: &'a Path,
    /// Time limit for an article.
    pub limit: Limit,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct EachArticleOutcome {
    /// Number of delivered articles.
    pub articles: u64,
    /// The command's failure, if that ended the run. That article and the later ones still wait.
    pub failed: Option<Error>,
}

impl EachArticle<'_> {
    /// Runs the command for each waiting article until it fails. The cursor passes an article after exit status 0, so after a crash one
    /// article may be delivered twice.
    ///
    /// # Errors
    /// The backlog cannot be read or the cursor written. A failed command is reported in [`EachArticleOutcome::failed`].
    pub fn run(&self, source: &mut dyn ArticleSource) -> Result<EachArticleOutcome, Error> {
        let mut given = EachArticleOutcome::default();
        let (mut article, mut id) = (Vec::new(), String::new());
        while !source.is_paused() {
            let mut is_taken = false;
            article.clear();
            source.offer(&mut |record| {
                if std::mem::replace(&mut is_taken, true) {
                    return false;
                }
                record.push_native(&mut article);
                id = HistoryLine::parse(record.line())
                    .map_or_else(String::new, |line| line.id.escape_ascii().to_string());
                true
            })?;
            if !is_taken {
                source.delivered()?;
                return Ok(given);
            }
            if let Err(mut error) = self.give(&article) {
                if let Error::Refused { what, .. } = &mut error {
                    *what = id;
                }
                given.failed = Some(error);
                return Ok(given);
            }
            source.delivered()?;
            given.articles += 1;
            if self.limit.is_over() {
                return Ok(given);
            }
        }
        Ok(given)
    }

    fn give(&self, article: &[u8]) -> Result<(), Error> {
        let file = self.directory.join(FILE);
        // The command has another working directory.
        let file = std::path::absolute(&file).map_err(Error::io("name", &file))?;
        let wants_file = self.line.wants_file();
        if wants_file {
            std::fs::write(&file, article).map_err(Error::io("write", &file))?;
        }
        let command = Transport::Command {
            line: self.line.with_file(file.as_os_str().as_bytes()),
            limit: self.limit.clone(),
            directory: self.news.to_owned(),
        };
        let sent = command.send(article);
        if wants_file {
            let _ = std::fs::remove_file(&file);
        }
        sent
    }
}
