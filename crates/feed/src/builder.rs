//! What makes batches: of articles, or of messages about them.

use store::Record;

use crate::Error;

/// Makes a batch of what waits.
pub trait Builder {
    /// Begins the next batch.
    fn clear(&mut self);

    /// Puts in what a waiting article comes to. False: it, or the rest of what it comes to, is for the next batch.
    fn put(&mut self, record: &Record<'_>) -> bool;

    /// How many articles are in the batch, or are offered or asked for in it; none: there is nothing to send.
    fn articles(&self) -> u64;

    /// The batch, in native form.
    ///
    /// # Errors
    /// What kept it from being made.
    fn finish(&mut self) -> Result<&[u8], Error>;

    /// The batch was handed over, and [`Togo::delivered`](crate::Togo::delivered) written.
    ///
    /// # Errors
    /// What should be remembered of it cannot be written.
    fn delivered(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
