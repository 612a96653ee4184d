//! Telling the readers of this process what was committed.

use std::sync::Arc;

use crate::read::published::{Published, Publisher};
use crate::spool::Spool;

impl Spool {
    /// From now on each commit is told on a board, to the [`crate::Snapshot`] in this process. Who opens the spool again calls this again
    /// with the same board: whatever happened meanwhile is seen then.
    pub fn publish_to(&mut self, published: Arc<Published>) {
        let index = (self.index.used(), self.index.slots());
        self.publisher = Some(Publisher::new(published, self.active(), index));
    }

    /// Tells what was published.
    pub(crate) fn publish_commit(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.tell(&self.active.table);
        }
    }

    /// Readers must open their files anew after the next commit.
    pub(crate) fn publish_files(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.note_files();
        }
    }
}
