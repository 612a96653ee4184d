//! The events of the main thread.

/// An event of the main thread.
#[derive(Debug)]
pub enum Event {
    /// The writer has opened the spool, or failed to.
    Opened(anyhow::Result<()>),
    /// The writer has ended.
    Ended,
    /// SIGHUP.
    Reload,
    /// A whole copy of the articles of another node waits to take the place of those here.
    CopyIsWhole,
    /// SIGTERM, SIGINT, or `broadsheet stop`.
    Stop,
}
