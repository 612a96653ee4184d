//! A thread started by a confined one is confined too; so a thread that never was starts those that are not, or are in another way.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};

use server::worker_pool::{Job, Spawn};

use super::{Role, Sandbox};

/// A thread that is not confined, and starts threads for confined ones.
#[derive(Clone)]
pub struct Starter(Sender<Wanted>);

/// The name of a thread, its function, and the channel for the result.
type Wanted = (String, Job, std::sync::mpsc::SyncSender<io::Result<()>>);

impl Starter {
    /// Starts the thread. Call it from a thread that is not confined. It ends with the last clone of this value.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start() -> io::Result<Starter> {
        let (sender, wanted) = channel::<Wanted>();
        let thread = std::thread::Builder::new().name("starter".to_owned());
        thread.spawn(move || {
            for (name, job, told) in wanted {
                let started = std::thread::Builder::new().name(name).spawn(job);
                // The requesting thread waits for the result.
                let _ = told.send(started.map(drop));
            }
        })?;
        Ok(Starter(sender))
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn spawn(&self, name: &str, job: Job) -> io::Result<()> {
        let (tell, told) = sync_channel(1);
        let gone = || io::Error::other("the thread that starts others has ended");
        let sent = self.0.send((name.to_owned(), job, tell));
        sent.map_err(|_| gone())?;
        told.recv().map_err(|_| gone())?
    }

    /// The function for the server.
    pub fn for_server(&self) -> Spawn {
        let starter = self.clone();
        Arc::new(move |name, job| starter.spawn(name, job))
    }

    /// The function for object stores: their threads ask servers over the network, and do nothing else.
    pub fn for_clients(&self, sandbox: &Arc<Sandbox>) -> Spawn {
        let (starter, sandbox) = (self.clone(), sandbox.clone());
        Arc::new(move |name, job| {
            let sandbox = sandbox.clone();
            let confined = move || {
                sandbox.confine(Role::Client);
                job();
            };
            starter.spawn(name, Box::new(confined))
        })
    }
}
