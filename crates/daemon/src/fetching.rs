//! Fetches from an object store for confined threads that may wait: a mount.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use crate::sandbox::{Sandbox, Starter};

/// Lets threads that are not confined fetch articles from the object store for the readers of this process, which wait for them. Call it before
/// they are confined, where there is an object store: it starts a thread.
///
/// # Errors
/// The thread cannot be created.
pub fn fetch_unconfined(sandbox: &Arc<Sandbox>) -> io::Result<()> {
    let starter = Starter::start()?;
    objects::start_threads_by(starter.for_clients(sandbox));
    store::offload::fetch_by(move |fetch| {
        let (tell, told) = sync_channel(1);
        let work = move || {
            let _ = tell.send(fetch.run());
        };
        starter.spawn("fetch", Box::new(work))?;
        told.recv().map_err(io::Error::other)
    });
    Ok(())
}
