//! Where rnews files articles: the filer, or the log of a cluster in front of it.

use std::fmt;

use crate::error::Error;
use crate::file::{Filer, Verdict};
use crate::log::Now;

/// Takes articles to file them.
pub trait Outlet: fmt::Debug {
    /// The filer, for its rules and its log.
    fn filer(&mut self) -> &mut Filer;

    /// Takes one article in native form. `None`: the next commit tells the verdict.
    ///
    /// # Errors
    /// Errors that stop filing.
    fn file(&mut self, bytes: &[u8], now: Now) -> Result<Option<Verdict>, Error>;

    /// Makes all articles durable. Returns the verdicts that were not told, in the order of the articles.
    ///
    /// # Errors
    /// Errors that stop filing.
    fn commit(&mut self) -> Result<Vec<Verdict>, Error>;

    /// Bytes of articles that wait for a commit.
    fn pending_bytes(&self) -> usize;
}

impl Outlet for Filer {
    fn filer(&mut self) -> &mut Filer {
        self
    }

    fn file(&mut self, bytes: &[u8], now: Now) -> Result<Option<Verdict>, Error> {
        self.file_from_batch(bytes, now).map(Some)
    }

    fn commit(&mut self) -> Result<Vec<Verdict>, Error> {
        Filer::commit(self).map(|()| Vec::new())
    }

    fn pending_bytes(&self) -> usize {
        Filer::pending_bytes(self)
    }
}
