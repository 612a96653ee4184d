//! Telling systemd how the daemon does: `sd_notify(3)`, which is one datagram.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How long one waits to be told.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sends `state` (`READY=1`) to `$NOTIFY_SOCKET`, where there is one. Nothing depends on its getting there.
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
        // The thread that files tells of a reload; it must not wait for who does not listen.
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.send_to_addr(state.as_bytes(), &address).map(drop)
    };
    if let Err(error) = send() {
        super::say(&format!("cannot tell {}: {error}", name.display()));
    }
}

/// Where systemd watches (`WATCHDOG_USEC`), tells it twice in that time that the daemon lives. The only thread that ever
/// wakes up by itself.
pub fn start_watchdog() {
    let variable = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let is_ours = variable("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let Some(every) = variable("WATCHDOG_USEC").filter(|usec| *usec > 0 && is_ours) else {
        return;
    };
    let thread = std::thread::Builder::new().name("watchdog".to_owned());
    let started = thread.spawn(move || {
        loop {
            notify("WATCHDOG=1");
            std::thread::sleep(Duration::from_micros(every / 2));
        }
    });
    if let Err(error) = started {
        super::say(&format!("no watchdog: {error}"));
    }
}
