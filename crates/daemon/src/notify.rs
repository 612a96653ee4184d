//! Reports the state of the daemon to systemd: `sd_notify(3)`, one datagram.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Timeout of a notification.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sends `state` (`READY=1`) to `$NOTIFY_SOCKET`, if it is set. Errors do not matter to the daemon.
pub fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let send = || -> io::Result<()> {
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&name)?,
        };
        let socket = UnixDatagram::unbound()?;
        // The writer reports a reload; it must not wait for a blocked receiver.
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.send_to_addr(state.as_bytes(), &address).map(drop)
    };
    if let Err(error) = send() {
        super::warn(&format!("cannot notify {}: {error}", name.display()));
    }
}

/// If systemd uses a watchdog (`WATCHDOG_USEC`), reports twice in that interval that the daemon runs, as long as `is_alive` says so within a
/// quarter of it. This is the only thread that wakes up periodically.
pub fn start_watchdog(is_alive: impl Fn(Duration) -> bool + Send + 'static) {
    let variable = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let is_ours = variable("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let Some(every) = variable("WATCHDOG_USEC").filter(|usec| *usec > 0 && is_ours) else {
        return;
    };
    let thread = std::thread::Builder::new().name("watchdog".to_owned());
    let started = thread.spawn(move || {
        loop {
            if is_alive(Duration::from_micros(every / 4)) {
                notify("WATCHDOG=1")
            } else {
                super::warn("a network thread does not answer: systemd may restart the daemon")
            }
            std::thread::sleep(Duration::from_micros(every / 2));
        }
    });
    if let Err(error) = started {
        super::warn(&format!("no watchdog: {error}"));
    }
}
