//! Lending records of segments, for who reads many articles one after the other.

use crate::log::record::Record;
use crate::read::reader::Reader;
use crate::read::record_reader::RecordReader;
use crate::{Error, Position};

/// Lends the records of a [`Reader`]'s articles. One segment is mapped at a time, so positions in order are cheap.
#[derive(Debug)]
pub struct Lender<'r> {
    reader: &'r Reader,
    articles: RecordReader,
}

impl Reader {
    /// Lends the records of articles, one at a time.
    pub fn lender(&self) -> Lender<'_> {
        Lender {
            reader: self,
            articles: RecordReader::new(1),
        }
    }
}

impl Lender<'_> {
    /// The record of the article at a position, its checksum found right.
    ///
    /// # Errors
    /// [`Error::NoArticle`] where it is gone, [`Error::Damaged`], or the segment cannot be read.
    pub fn record(&mut self, position: Position) -> Result<Record<'_>, Error> {
        self.articles.record(self.reader, position)
    }
}
