//! Builders of batches: of articles, or of messages about them.

use store::Record;

use crate::Error;

/// Builds batches of waiting articles.
pub trait Builder {
    /// Starts the next batch.
    fn clear(&mut self);

    /// Adds a waiting article. Returns false if the article, or a part of its content, belongs to the next batch.
    fn put(&mut self, record: &Record<'_>) -> bool;

    /// Number of articles in the batch, or of articles it offers or requests; 0 if there is nothing to send.
    fn articles(&self) -> u64;

    /// The batch, in native form.
    ///
    /// # Errors
    /// The batch could not be built.
    fn finish(&mut self) -> Result<&[u8], Error>;

    /// Notes that the batch was delivered and [`ArticleSource::delivered`](crate::Togo::delivered) was written.
    ///
    /// # Errors
    /// The builder's state cannot be written.
    fn delivered(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
