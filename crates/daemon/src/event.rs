//! What the main thread waits for.

/// What the main thread waits for.
#[derive(Debug)]
pub enum Event {
    /// The writer has opened the spool, or cannot.
    Opened(anyhow::Result<()>),
    /// The writer has ended.
    Ended,
    /// SIGHUP.
    Reload,
    /// SIGTERM, SIGINT, or `broadsheet stop`.
    Stop,
}
