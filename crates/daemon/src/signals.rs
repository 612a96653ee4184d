//! SIGTERM, SIGINT and SIGHUP, as events of the main thread.

use std::io;
use std::sync::mpsc::Sender;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::event::Event;

/// Handles them from now on.
///
/// # Errors
/// An I/O error.
pub fn start(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || {
        for signal in signals.forever() {
            let event = match signal {
                SIGHUP => Event::Reload,
                _ => Event::Stop,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}
